/* SPDX-License-Identifier: BSD-3-Clause */
/* epoch.c - EpochManager: epoch-based reclamation over all PEs, without an election.
 *
 * There is one epoch, G, at PE 0; a copy of it at each PE; and a slot for each token, which is 0 or the epoch of its
 * pin.
 *
 *     pin      e = copy; slot = e; fence; repeat if copy is no longer e
 *     retire   after the unlink is performed: fence; into the bag of epoch `copy`
 *     advance  e = own copy; for each PE: set its copy to e if it is lower, then read its slots;
 *              if all slots are 0 or e: compare-and-swap G from e to e + 1
 *     free     own bags that are three epochs below copy
 *
 * Why freed objects are not in use.  Let an object be retired at PE p with tag t: after the unlink, p's copy was t.  It
 * is freed when p's copy is t + 3.  By then G went from t + 1 to t + 2, and before that t + 1 was stored in every copy;
 * and G went from t + 2 to t + 3.  A section that can have found the object began, with its slot visible, before the
 * unlink.  Copies are at most one behind G, so its slot is at most t + 1.  Each later advance reads its slot: the
 * advance from t + 2 finds that it is neither 0 nor t + 2, and fails.
 *
 * Both parts are necessary.  If advance did not raise the copies first, a section could begin with an epoch long past,
 * and two readings of slots would miss each other.  With two epochs instead of three, the tag could be one behind.
 * tests/models/epoch.pml proves the algorithm by exhaustion and shows that these variants fail.
 *
 * Any number of PEs may advance concurrently: repeated steps have no effect.  A stopped PE that is pinned keeps the
 * epoch within one of its own.  That delays frees, but no operations.
 *
 * Bags are private to their PE, so they need no synchronization (tests/models/limbo.pml). */
#include <errno.h>
#include <stdlib.h>

#include "pgas/global/epoch.h"
#include "pgas/global/pool.h"

#define BAGS          4u /* by tag modulo this: three epochs wait, one is filled */
#define EPOCH_DIST    3u
#define GARBAGE_MOST  ((size_t)1 << 20)
#define ADVANCE_EVERY 128u
#define EPOCH_BEGIN   UINT64_C(8)

struct bag {
	uint64_t tag;
	tw_gptr *object;
	size_t n, room;
};

struct tw_token {
	struct tw_epoch *epoch;
	_Atomic uint64_t *slot;
	unsigned nest;
	bool registered;
};

struct tw_epoch {
	unsigned number;
	struct tw_epoch_options options;
	struct epoch_words *own;
	struct bag bag[BAGS];
	size_t garbage;
	unsigned retired; /* since the last attempt to advance */
	uint64_t *helped; /* [pes] a lower bound of that PE's copy */
	uint64_t (*slots)[EPOCH_TOKENS];
	struct tw_token token[EPOCH_TOKENS];
};

static uint32_t epoch_used; /* a bit for each of EPOCHS; the same on all PEs */

static size_t epoch_at(const struct tw_epoch *epoch, size_t member)
{
	return POOL_CONTROL(epoch) + epoch->number * sizeof(struct epoch_words) + member;
}

#define EPOCH_AT(epoch, member) epoch_at(epoch, offsetof(struct epoch_words, member))

static uint64_t epoch_copy(const struct tw_epoch *epoch)
{
	return atomic_load_explicit((_Atomic uint64_t *)&epoch->own->copy, memory_order_acquire);
}

int tw_epoch_create(const struct tw_epoch_options *options, struct tw_epoch **epoch)
{
	struct tw_epoch_options o = options ? *options : (struct tw_epoch_options){0};
	unsigned number = (unsigned)__builtin_ctz(~epoch_used);

	if (o.tokens > EPOCH_TOKENS || number >= EPOCHS) {
		if (tw_segment.pe == 0)
			tw_log("tw_epoch_create: %u tokens and %u managers; at most %u and %u", o.tokens, number + 1,
			       EPOCH_TOKENS, EPOCHS);
		return -EINVAL;
	}
	struct tw_epoch *e = aligned_alloc(64, TW_ALIGN_UP(sizeof(*e), 64));
	if (!e)
		return -ENOMEM;
	memset(e, 0, sizeof(*e));
	e->helped = calloc(tw_segment.pes, sizeof(e->helped[0]));
	e->slots = calloc(tw_segment.pes, sizeof(e->slots[0]));
	if (!e->helped || !e->slots) {
		free(e->helped);
		free(e->slots);
		free(e);
		return -ENOMEM;
	}
	epoch_used |= 1u << number;
	e->number = number;
	o.tokens = o.tokens ? o.tokens : 16;
	o.advance_every = o.advance_every ? o.advance_every : ADVANCE_EVERY;
	o.garbage_most = o.garbage_most ? o.garbage_most : GARBAGE_MOST;
	e->options = o;
	e->own = &pool_own()->epoch[number];
	memset(e->own, 0, sizeof(*e->own));
	e->own->global = e->own->copy = EPOCH_BEGIN;
	for (unsigned i = 0; i < EPOCH_TOKENS; i++)
		e->token[i] = (struct tw_token){.epoch = e, .slot = (_Atomic uint64_t *)&e->own->slot[i]};
	*epoch = e;
	tw_control_barrier();
	return 0;
}

/* ---- tokens ---- */

struct tw_token *tw_epoch_register(struct tw_epoch *epoch)
{
	for (unsigned i = 0; i < epoch->options.tokens; i++) {
		struct tw_token *token = &epoch->token[i];
		if (!token->registered) {
			token->registered = true;
			token->nest = 0;
			return token;
		}
	}
	errno = EAGAIN;
	return NULL;
}

void tw_token_unregister(struct tw_token *token)
{
	if (!token)
		return;
	if (!token->registered || token->nest)
		tw_fatal("tw_token_unregister: the token is %s", token->nest ? "pinned" : "not registered");
	token->registered = false;
}

void tw_token_pin(struct tw_token *token)
{
	if (token->nest++)
		return;
	uint64_t copy = epoch_copy(token->epoch), again;

	if (!token->registered)
		tw_fatal("tw_token_pin: the token is not registered");
	/* The exchange is the fence: the section's reads follow the visible slot. */
	while (atomic_exchange(token->slot, copy << 1 | 1), (again = epoch_copy(token->epoch)) != copy)
		copy = again;
}

void tw_token_unpin(struct tw_token *token)
{
	if (token->nest == 0)
		tw_fatal("tw_token_unpin: the token is not pinned");
	if (--token->nest)
		return;
	/* An access in flight still uses its object. */
	if (tw_pgas.reading || tw_pgas.put_pe != ACCESS_NONE)
		access_remote_quiet();
	atomic_store_explicit(token->slot, 0, memory_order_release);
}

/* ---- bags ---- */

static int64_t bag_free(struct tw_epoch *epoch, struct bag *bag)
{
	int64_t n = (int64_t)bag->n;

	for (size_t i = 0; i < bag->n; i++)
		tw_delete(bag->object[i]);
	epoch->garbage -= bag->n;
	tw_pgas.stats.garbage -= bag->n;
	tw_pgas.stats.freed += bag->n;
	bag->n = 0;
	return n;
}

/* Free the bags that are old enough. */
static int64_t epoch_free(struct tw_epoch *epoch)
{
	uint64_t copy = epoch_copy(epoch);
	int64_t n = 0;

	for (unsigned i = 0; i < BAGS; i++)
		if (epoch->bag[i].n && copy - epoch->bag[i].tag >= EPOCH_DIST)
			n += bag_free(epoch, &epoch->bag[i]);
	return n;
}

static void bag_add(struct bag *bag, tw_gptr p)
{
	if (bag->n == bag->room) {
		bag->room = bag->room ? 2 * bag->room : 256;
		bag->object = realloc(bag->object, bag->room * sizeof(bag->object[0]));
		if (!bag->object)
			tw_fatal("no memory for the list of retired objects");
	}
	bag->object[bag->n++] = p;
}

/* ---- advance ---- */

/* Raise the copy of @pe to @e. */
static void epoch_help(struct tw_epoch *epoch, unsigned pe, uint64_t e)
{
	if (epoch->helped[pe] >= e)
		return;
	/* No copy is more than one behind: before G became e, all copies were raised to e - 1. */
	access_cas_post(pe, EPOCH_AT(epoch, copy), e - 1, e);
}

/* Is @pe ignored after tw_epoch_fence()?  @dead: as read from PE 0. */
static bool dead_pe(const uint64_t *dead, unsigned pe)
{
	return dead[pe / 64] >> (pe % 64) & 1;
}

/* The first PE from @pe on with a section that began before @e; the number of PEs: none.  PEs that the launcher reports
 * dead have no sections. */
static unsigned epoch_blocker(const struct tw_epoch *epoch, uint64_t e, unsigned pe)
{
	for (; pe < tw_segment.pes; pe++)
		for (unsigned i = 0; i < epoch->options.tokens && !tw_segment_dead(pe); i++)
			if (epoch->slots[pe][i] && epoch->slots[pe][i] != (e << 1 | 1))
				return pe;
	return pe;
}

/* Does no section block the advance from @e?  Raises each PE's copy, then reads its slots; all PEs in one round.  Reads
 * the list of fenced PEs only when a section blocks. */
static bool epoch_scan(struct tw_epoch *epoch, uint64_t e)
{
	uint64_t dead[256];
	unsigned pe;

	access_pardon();
	for (pe = 0; pe < tw_segment.pes; pe++) {
		if (tw_segment_lost(pe))
			continue;
		if (pe != tw_segment.pe) /* @e is this PE's copy */
			epoch_help(epoch, pe, e);
		access_get(pe, EPOCH_AT(epoch, slot), epoch->slots[pe], epoch->options.tokens * sizeof(uint64_t),
		           false);
	}
	access_quiet();
	access_pardon_end();
	for (pe = 0; pe < tw_segment.pes; pe++)
		epoch->helped[pe] = e;
	if ((pe = epoch_blocker(epoch, e, 0)) == tw_segment.pes)
		return true;
	if (!access_load(0, EPOCH_AT(epoch, dead)))
		return false;
	access_get(0, POOL_CONTROL(dead), dead, (tw_segment.pes + 63) / 64 * sizeof(dead[0]), true);
	for (; pe < tw_segment.pes; pe = epoch_blocker(epoch, e, pe + 1))
		if (!dead_pe(dead, pe))
			return false;
	return true;
}

/* Takes the own copy for G.  If it is behind, the compare-and-swap fails and only this attempt is lost. */
static void epoch_advance(struct tw_epoch *epoch)
{
	uint64_t e = epoch_copy(epoch), seen;

	epoch->retired = 0;
	if (!epoch_scan(epoch, e))
		return;
	seen = access_cas(0, EPOCH_AT(epoch, global), e, e + 1);
	if (seen == e)
		tw_pgas.stats.advances++;
	/* Raise the own copy without waiting for the next advance of another PE. */
	access_cas(tw_segment.pe, EPOCH_AT(epoch, copy), e, e + 1);
}

int64_t tw_epoch_try_reclaim(struct tw_epoch *epoch)
{
	epoch_advance(epoch);
	return epoch_free(epoch);
}

int64_t tw_token_try_reclaim(struct tw_token *token)
{
	return tw_epoch_try_reclaim(token->epoch);
}

int tw_token_room(struct tw_token *token)
{
	struct tw_epoch *epoch = token->epoch;

	if (epoch->garbage < epoch->options.garbage_most || epoch_free(epoch) || tw_epoch_try_reclaim(epoch))
		return 0;
	return -EAGAIN;
}

void tw_token_retire(struct tw_token *token, tw_gptr p)
{
	struct tw_epoch *epoch = token->epoch;

	access_check(tw_gptr_pe(p), tw_gptr_offset(p), 16);
	access_quiet(); /* the unlink is performed, and the copy is read after it */
	uint64_t copy = epoch_copy(epoch);
	struct bag *bag = &epoch->bag[copy % BAGS];
	if (bag->tag != copy) {
		/* Advances of other PEs have made the bag old, perhaps other bags, too. */
		epoch_free(epoch);
		epoch->retired = 0;
		bag->tag = copy;
	}
	bag_add(bag, p);
	epoch->garbage++;
	tw_pgas.stats.retired++;
	tw_pgas.stats.garbage++;
	tw_pgas.stats.garbage_most = TW_MAX(tw_pgas.stats.garbage_most, tw_pgas.stats.garbage);
	if (epoch->options.advance_every != UINT32_MAX && ++epoch->retired >= epoch->options.advance_every)
		tw_epoch_try_reclaim(epoch);
}

int tw_token_defer_delete(struct tw_token *token, tw_gptr p)
{
	int error = tw_token_room(token);

	if (!error)
		tw_token_retire(token, tw_unmarked(p));
	return error;
}

tw_gptr tw_token_new_stamped(struct tw_token *token, unsigned pe)
{
	return pool_new_stamped(token->epoch->number, pe);
}

void tw_epoch_clear(struct tw_epoch *epoch)
{
	for (unsigned i = 0; i < EPOCH_TOKENS; i++)
		if (epoch->token[i].nest)
			tw_fatal("tw_epoch_clear: a token is pinned");
	tw_control_barrier();
	if (tw_segment.deaths) {
		pool_mend();
		tw_control_barrier();
	}
	for (unsigned i = 0; i < BAGS; i++)
		bag_free(epoch, &epoch->bag[i]);
	tw_control_barrier();
}

void tw_epoch_destroy(struct tw_epoch *epoch)
{
	tw_epoch_clear(epoch);
	for (unsigned i = 0; i < BAGS; i++)
		free(epoch->bag[i].object);
	epoch_used &= ~(1u << epoch->number);
	free(epoch->helped);
	free(epoch->slots);
	free(epoch);
}

void tw_epoch_fence(struct tw_epoch *epoch, unsigned pe)
{
	if (pe >= tw_segment.pes || pe == tw_segment.pe)
		tw_fatal("tw_epoch_fence: PE %u is %s", pe, pe == tw_segment.pe ? "this one" : "none of the job");
	access_amo(0, POOL_CONTROL(dead) + pe / 64 * sizeof(uint64_t), TW_AMO_OR, UINT64_C(1) << (pe % 64), 0);
	access_amo(0, EPOCH_AT(epoch, dead), TW_AMO_ADD, 1, 0);
}

uint64_t tw_epoch_now(struct tw_epoch *epoch)
{
	return epoch_copy(epoch);
}
