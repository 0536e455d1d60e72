/* SPDX-License-Identifier: BSD-3-Clause */
/* local_epoch.c - LocalEpochManager: for the threads of one process.
 *
 * There is one epoch, G, without copies.  A section stores G into its token's slot.  An object is tagged with G after
 * its unlink.  G is incremented when all slots are 0 or G.  Bags three below G are freed.
 *
 * Neither pin nor retire has a fence.  Instead, an advancing thread first makes every thread of the process execute
 * one, by membarrier(2), and then reads the slots.  So a slot whose store it does not see is stored after that fence,
 * and its section's reads follow it; and an unlink that was not yet visible is seen by all sections that begin after
 * it.  The tag may be read before the unlink is visible, but the unlink is visible by the next fence: hence three
 * epochs, where two would do with a fence in retire (tests/models/epoch.pml).  Where the system has no membarrier(2),
 * pin and retire have fences.  When only one token exists, the advancing thread is its owner, and its own fence is
 * enough. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/base.h"
#include "pgas/global/epoch.h"
#include "pgas/global/local_pool.h"

#define BAGS          4u
#define EPOCH_DIST    3u
#define GARBAGE_MOST  ((size_t)1 << 20)
#define ADVANCE_EVERY 128u
#define STAMPED       UINT64_C(1) /* in an object's address: it belongs to local_pool.c */

/* Objects that a token has retired in one epoch. */
struct bag {
	uint64_t tag;
	void **object;
	size_t n, room;
};

struct tw_local_bag {
	struct tw_local_token token; /* the first member: a token is this */
	struct bag bag[BAGS];
	size_t garbage;
	uint64_t retired; /* since the last attempt to advance */
	uint64_t advance_every;
	bool registered;
	struct tw_local_bag *next; /* of all tokens ever created */
};

struct tw_local_epoch {
	uint64_t now;
	struct tw_local_epoch_options options;
	pthread_mutex_t mutex; /* protects the list's growth, and registered */
	bool fence;
	struct tw_local_bag *first;
	_Atomic unsigned registered; /* tokens */
	struct local_pool stamped;
	_Atomic bool advancing; /* a gate that saves work: a thread that finds it closed does not advance */
};

static bool local_membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

int tw_local_epoch_create(const struct tw_local_epoch_options *options, struct tw_local_epoch **epoch)
{
	struct tw_local_epoch *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	if (options)
		e->options = *options;
	if (!e->options.advance_every)
		e->options.advance_every = ADVANCE_EVERY;
	if (!e->options.garbage_most)
		e->options.garbage_most = GARBAGE_MOST;
	if (!e->options.free)
		e->options.free = free;
	e->now = 8;
	e->fence = TW_TSAN || !local_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	pthread_mutex_init(&e->mutex, NULL);
	local_pool_init(&e->stamped);
	*epoch = e;
	return 0;
}

struct tw_local_token *tw_local_epoch_register(struct tw_local_epoch *epoch)
{
	struct tw_local_bag *b;

	pthread_mutex_lock(&epoch->mutex);
	for (b = epoch->first; b && b->registered; b = b->next)
		;
	if (!b && (b = aligned_alloc(64, TW_ALIGN_UP(sizeof(*b), 64)))) {
		memset(b, 0, sizeof(*b));
		b->token = (struct tw_local_token){.fence = epoch->fence, .now = &epoch->now, .bag = b, .epoch = epoch};
		b->advance_every =
		    epoch->options.advance_every == UINT32_MAX ? UINT64_MAX : epoch->options.advance_every;
		b->next = epoch->first;
		atomic_store_explicit((_Atomic(struct tw_local_bag *) *)&epoch->first, b, memory_order_release);
	}
	if (b) {
		b->registered = true;
		atomic_fetch_add(&epoch->registered, 1);
		atomic_thread_fence(memory_order_seq_cst); /* its sections come after */
	}
	pthread_mutex_unlock(&epoch->mutex);
	return b ? &b->token : NULL;
}

void tw_local_token_unregister(struct tw_local_token *token)
{
	if (!token)
		return;
	if (token->nest)
		tw_fatal("tw_local_token_unregister: the token is pinned");
	pthread_mutex_lock(&token->epoch->mutex);
	token->bag->registered = false;
	atomic_fetch_sub(&token->epoch->registered, 1);
	pthread_mutex_unlock(&token->epoch->mutex);
}

static int64_t bag_free(struct tw_local_bag *b, struct bag *bag)
{
	void (*release)(void *) = b->token.epoch->options.free;
	int64_t n = (int64_t)bag->n;

	for (size_t i = 0; i < bag->n; i++) {
		if (__builtin_expect((uintptr_t)bag->object[i] & STAMPED, false))
			local_pool_delete(&b->token.epoch->stamped, (uintptr_t)bag->object[i]);
		else
			release(bag->object[i]);
	}
	b->garbage -= bag->n;
	bag->n = 0;
	return n;
}

static int64_t local_free(struct tw_local_bag *b)
{
	uint64_t now = __atomic_load_n(&b->token.epoch->now, __ATOMIC_ACQUIRE);
	int64_t n = 0;

	for (unsigned i = 0; i < BAGS; i++)
		if (b->bag[i].n && now - b->bag[i].tag >= EPOCH_DIST)
			n += bag_free(b, &b->bag[i]);
	return n;
}

/* A thread that stops here blocks no operations: the others find the gate closed. */
static void local_advance(struct tw_local_epoch *epoch)
{
	uint64_t now = __atomic_load_n(&epoch->now, __ATOMIC_ACQUIRE);

	if (atomic_exchange_explicit(&epoch->advancing, true, memory_order_acquire))
		return;
	/* A token that is registered after the count was read as one sees all unlinks. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!epoch->fence && atomic_load(&epoch->registered) > 1)
		local_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	struct tw_local_bag *b =
	    atomic_load_explicit((_Atomic(struct tw_local_bag *) *)&epoch->first, memory_order_acquire);
	for (; b; b = b->next) {
		uint64_t slot = __atomic_load_n(&b->token.slot, __ATOMIC_ACQUIRE);
		if (slot && slot != (now << 1 | 1))
			goto open;
	}
	__atomic_compare_exchange_n(&epoch->now, &now, now + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
open:
	atomic_store_explicit(&epoch->advancing, false, memory_order_release);
}

int64_t tw_local_token_try_reclaim(struct tw_local_token *token)
{
	token->bag->retired = 0;
	local_advance(token->epoch);
	return local_free(token->bag);
}

static void bag_grow(struct bag *bag)
{
	bag->room = bag->room ? 2 * bag->room : 256;
	bag->object = realloc(bag->object, bag->room * sizeof(bag->object[0]));
	if (!bag->object)
		tw_fatal("no memory for the list of retired objects");
}

int tw_local_token_room(struct tw_local_token *token)
{
	struct tw_local_bag *b = token->bag;

	if (__builtin_expect(b->garbage < token->epoch->options.garbage_most, true) || local_free(b) ||
	    tw_local_token_try_reclaim(token))
		return 0;
	return -EAGAIN;
}

/* A bag with an old tag is empty or old enough: it was filled four epochs ago. */
static void local_begin(struct tw_local_bag *b, struct bag *bag, uint64_t now)
{
	local_free(b);
	bag->tag = now;
}

void tw_local_token_retire(struct tw_local_token *token, void *object)
{
	struct tw_local_bag *b = token->bag;

	if (token->fence)
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	uint64_t now = __atomic_load_n(token->now, __ATOMIC_ACQUIRE);
	struct bag *bag = &b->bag[now % BAGS];
	if (__builtin_expect(bag->tag != now, false))
		local_begin(b, bag, now);
	if (__builtin_expect(bag->n == bag->room, false))
		bag_grow(bag);
	bag->object[bag->n++] = object;
	b->garbage++;
	if (++b->retired >= b->advance_every)
		tw_local_token_try_reclaim(token);
}

int tw_local_token_defer_delete(struct tw_local_token *token, void *object)
{
	int error = tw_local_token_room(token);

	if (!error)
		tw_local_token_retire(token, object);
	return error;
}

uint64_t tw_local_token_new_stamped(struct tw_local_token *token)
{
	return local_pool_new(&token->epoch->stamped);
}

void tw_local_token_delete_stamped(struct tw_local_token *token, uint64_t object)
{
	local_pool_delete(&token->epoch->stamped, object);
}

void tw_local_token_retire_stamped(struct tw_local_token *token, uint64_t object)
{
	tw_local_token_retire(token, (void *)(uintptr_t)(object | STAMPED));
}

uint64_t tw_local_token_stamp(struct tw_local_token *token)
{
	return atomic_fetch_add_explicit(&token->epoch->stamped.stamps, 1, memory_order_relaxed) + 1;
}

void tw_local_epoch_clear(struct tw_local_epoch *epoch)
{
	for (struct tw_local_bag *b = epoch->first; b; b = b->next) {
		if (b->token.nest)
			tw_fatal("tw_local_epoch_clear: a token is pinned");
		for (unsigned i = 0; i < BAGS; i++)
			bag_free(b, &b->bag[i]);
	}
}

uint64_t tw_local_epoch_garbage(struct tw_local_epoch *epoch)
{
	uint64_t n = 0;

	for (struct tw_local_bag *b = epoch->first; b; b = b->next)
		n += b->garbage;
	return n;
}

void tw_local_epoch_destroy(struct tw_local_epoch *epoch)
{
	struct tw_local_bag *b, *next;

	tw_local_epoch_clear(epoch);
	for (b = epoch->first; b; b = next) {
		next = b->next;
		for (unsigned i = 0; i < BAGS; i++)
			free(b->bag[i].object);
		free(b);
	}
	local_pool_fini(&epoch->stamped);
	pthread_mutex_destroy(&epoch->mutex);
	free(epoch);
}
