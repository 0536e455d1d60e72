/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.c - releases and acquires (section 3.3).
 *
 * Each object has a word at its home: the node that released it last, with a count against ABA.  Before a releaser
 * enters itself there, it merges the signature of the node named there.  So the last one's signature has all that
 * was released at the object.
 *
 * A node that releases again and again only needs to enter itself, and is faster than one that has to merge first.  So
 * one that has failed often marks the word as wanted, which needs no merge.  Others that find the mark wait for it to
 * go, but not for long, since its owner may have died. */
#include "protocols/timestamp/timestamp.h"

#define OBJECT_NODE   0x7fffu /* of an object's word: the node + 1; 0: none */
#define OBJECT_WANTED 0x8000u
#define OBJECT_COUNT  16  /* shift */
#define OBJECT_TRIES  16u /* then it is marked */
#define OBJECT_LOOKS  16u
#define OBJECT_NAP_NS 20000u /* between the later looks */

static unsigned object_home(const struct tw_proc *me, uint64_t object)
{
	return (unsigned)(object >> 52 & 0xff) % me->nodes;
}

static void release_run(void *ctx, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++)
		ts_commit(ctx, p);
}

static void announce_run(void *ctx, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++)
		ts_announce(ctx, p);
}

/* Merge the signature of @node, which released the object last, and leave it in ts.seen.  @acquires: it is needed if
 * this processor has not acted on it; else, if it is not in the own signature.  Returns whether it was. */
static bool object_learn(struct tw_proc *me, unsigned node, enum tw_sync_kind kind, bool acquires)
{
	struct ts_known *known = &ts_of(me)->known[node % TS_KNOWN];

	if (known->node != node + 1)
		*known = (struct ts_known){TS_NOTHING, TS_NOTHING, node + 1};
	uint64_t until = acquires ? known->acquired : known->merged;
	if (until != TS_NOTHING && until == ts_signature_seq(me, node))
		return false;
	ts_signature_read(me, node);
	if (node != me->node)
		ts_signature_merge(me, kind != TW_SYNC_FLAG || !tw_planted(me, "ts-not-transitive"));
	known->merged = atomic_load(&ts_of(me)->seen->seq);
	return true;
}

static void release_pages(struct tw_proc *me, enum tw_sync_kind kind)
{
	ts_of(me)->demanded = kind == TW_SYNC_DEMAND;
	ts_of(me)->released = atomic_load(&ts_of(me)->node->clock);
	ts_alone_look(me);
	tw_dirty_drain(me, release_run, NULL, me);
	tw_pageset_drain(me->noticing, announce_run, me);
}

/* Another node wants the object.  Returns its word. */
static uint64_t object_concede(struct tw_proc *me, unsigned home, size_t at, uint64_t word)
{
	_Atomic uint32_t nobody = 0;

	for (unsigned i = 0; (word & OBJECT_WANTED) && i < OBJECT_LOOKS; i++) {
		if (i > OBJECT_LOOKS / 2)
			tw_futex_wait(&nobody, 0, OBJECT_NAP_NS);
		word = tw_net_read64(me->net, home, at);
	}
	return word;
}

/* Make this node the object's last releaser: its signature has all that was released there. */
static void release_object(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	size_t at = ts_object_offset(me, object);
	unsigned home = object_home(me, object);
	struct ts_released *last = &ts_of(me)->last;
	bool again = last->object == object, marked = false;
	uint64_t word, old;

	/* Whoever has replaced this node's name in the word has merged its signature before, and so on. */
	if (again && last->seq == atomic_load(&ts_of(me)->own->seq))
		return;
	word = again ? last->word : tw_net_read64(me->net, home, at);

	for (unsigned tries = 0;; word = old, tries++) {
		if (!marked)
			word = object_concede(me, home, at, word);
		if (tries >= OBJECT_TRIES && !(word & OBJECT_WANTED)) {
			old = tw_net_cas(me->net, home, at, word, word | OBJECT_WANTED);
			marked = old == word;
			if (!marked)
				continue;
			word |= OBJECT_WANTED;
		}
		unsigned node = (unsigned)(word & OBJECT_NODE);
		if (node && node != me->node + 1)
			object_learn(me, node - 1, kind, false);
		uint64_t seq = atomic_load(&ts_of(me)->own->seq);
		uint64_t next = ((word >> OBJECT_COUNT) + 1) << OBJECT_COUNT | (me->node + 1);
		old = tw_net_cas(me->net, home, at, word, next);
		if (old == word) {
			*last = (struct ts_released){.object = object, .word = next, .seq = seq};
			return;
		}
		marked &= (old & OBJECT_WANTED) != 0;
	}
}

void ts_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	release_pages(me, kind);
	if (kind != TW_SYNC_NODE && kind != TW_SYNC_DEMAND)
		release_object(me, kind, object);
}

/* All processors arrive equally often, at the same barriers.  The last one of the node releases the object for all:
 * their notices are in the signature. */
void ts_arrive(struct tw_proc *me, uint64_t object)
{
	release_pages(me, TW_SYNC_BARRIER);
	if ((atomic_fetch_add(&ts_of(me)->node->arrived, 1) + 1) % me->locals == 0)
		release_object(me, TW_SYNC_BARRIER, object);
}

/* Pages with a notice that are to be updated. */
struct acquire_updates {
	tw_page_t page[TS_TOGETHER];
	unsigned count;
};

static void acquire_update(struct tw_proc *me, struct acquire_updates *u)
{
	ts_fetch_noticed(me, u->page, u->count);
	for (unsigned i = 0; i < u->count; i++)
		ts_refresh(me, u->page[i]);
	u->count = 0;
}

/* The copy may lack the write that @n announces: unmap it, or have it updated. */
static void acquire_notice(struct tw_proc *me, const struct ts_notice *n, struct acquire_updates *u)
{
	struct ts_page *x = ts_page(me, n->page);
	bool update = false;

	if (atomic_load(&x->rts) >= n->wts)
		return;
	tw_page_lock(me, n->page);
	if (atomic_load(&x->rts) < n->wts) {
		tw_trace(me, TW_TRACE_notice_in, n->from & ~TS_SHARED_COPY, n->page, 0, 0);
		if (x->need < n->wts) {
			x->need = n->wts;
			x->need_rts = n->rts;
			x->need_from = (uint16_t)(n->from + 1);
		}
		ts_shared_unused(me, n->page);
		bool mapped = me->page[n->page].mapped & ts_bit(me);
		/* A flag that this processor fetches is visible to its neighbours as well, before their own
		 * acquires. */
		bool beside = !mapped && me->fences && me->page[n->page].mapped && ts_ordinary(me, n->page);
		update = mapped ? ts_updates(me, n->page) : beside;
		if (mapped && !update)
			ts_unmap(me, n->page);
	}
	tw_page_unlock(me, n->page);
	if (!update)
		return;
	if (u->count == TS_TOGETHER)
		acquire_update(me, u);
	u->page[u->count++] = n->page;
}

void ts_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	struct ts_signature *s = ts_of(me)->seen;
	struct acquire_updates updates = {.count = 0};

	ts_of(me)->reads.next = (tw_page_t)-1; /* pages from here on may not be written yet: another run */
	uint64_t word = kind == TW_SYNC_NODE
	                    ? object + 1
	                    : tw_net_read64(me->net, object_home(me, object), ts_object_offset(me, object));
	unsigned node = (unsigned)(word & OBJECT_NODE) - 1;
	if (!(word & OBJECT_NODE) || !object_learn(me, node, kind, true))
		return;
	uint64_t count = atomic_load(&s->count), latest = atomic_load(&s->min_wr_ts);
	for (uint64_t i = 0; i < count; i++)
		latest = TW_MAX(latest, s->notice[i].wts);
	ts_clock_raise(me, latest);
	for (uint64_t i = 0; i < count; i++)
		acquire_notice(me, &s->notice[i], &updates);
	acquire_update(me, &updates);
	ts_lease_expire(me, atomic_load(&s->min_wr_ts));
	ts_of(me)->known[node % TS_KNOWN].acquired = atomic_load(&s->seq);
}
