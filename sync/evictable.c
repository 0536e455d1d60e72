/* SPDX-License-Identifier: BSD-3-Clause */
/* evictable.c - locks whose slot another lock may take while nobody holds them.
 *
 * A mutex of C++ is in the program's memory, which may be freed without a call that destroys the mutex.  So Tweed
 * cannot know which slots are still in use.  When all of a node's are, the node takes one that is not held.  A program
 * may also have more mutexes than there are slots.
 *
 * Why it excludes.  The holder of a slot's lock alone changes its generation, on all nodes before it releases.  A mutex
 * names a slot and a generation.  A thread that has got the slot's lock tests the generation: if it is the mutex' own,
 * it stays so until the release; if not, the lock is released, and the mutex gets another slot, by a compare-and-swap
 * from the old name.  No generation returns, so that succeeds once, and no thread finds the old name valid again.
 *
 * A thread that gives a mutex another slot holds its lock, and has acquired from the former slot's record, before
 * others learn of it: so its release, and each later one, hands on what was released with the former slot.
 *
 * Why nobody waits for a mutex that is none of its own.  A processor that is about to wait for a slot's lock counts
 * itself in, in a word of its own that others read, and tests the generation then.  An evicted slot becomes another
 * mutex' only if behind the new generation nobody is counted in.  Each stores before it reads: so either the processor
 * sees the new generation, or the evicting one sees the count.  Counts are for the slots of one hash, which may be
 * more.
 *
 * The slot's words are not reset: processors that know the old generation may be about to take the lock.  For these,
 * the slot remains a lock for ever; so its free list is another one.  Slots are evicted many at once, since each
 * processor's counts are read.  tests/models/evictable.pml checks all this. */
#include "sync/object.h"

#include <string.h>

#define EVICTABLE_BATCH  64u
#define EVICTABLE_ROUNDS 64u

static size_t evictable_list(const struct tw_proc *me)
{
	return sync_at(me) + 2 * sizeof(uint64_t);
}

static size_t evictable_counts(const struct tw_proc *me, unsigned local)
{
	return sync_counts(me) + local * sizeof(struct sync_counts);
}

static unsigned evictable_hash(uint64_t id)
{
	return tw_sync_slot_hash(tw_sync_slot(id));
}

/* A new generation, on all nodes, when the caller flushes.  The caller holds the lock. */
static void evictable_renew(struct tw_proc *me, const struct sync_object *o)
{
	uint64_t gen = atomic_load_explicit(&o->own->gen, memory_order_relaxed) + 1;

	tw_net_broadcast64(me->net, SYNC_WORD(o, gen), gen & (SYNC_EVICTABLE - 1));
}

static uint64_t evictable_id(const struct tw_proc *me, uint64_t index)
{
	return (uint64_t)SYNC_LOCK << 60 | (uint64_t)me->node << 52 | index << 28 | SYNC_EVICTABLE;
}

/* Take the lock of a slot that a mutex has, if nobody holds it. */
static bool evictable_take(struct tw_proc *me, struct sync_object *o)
{
	if (atomic_load(&o->own->local) != SYNC_IN_USE || !sync_lock_try(me, o))
		return false;
	if (atomic_load(&o->own->local) == SYNC_IN_USE)
		return true;
	sync_lock_leave(me, o);
	return false;
}

/* Which hashes of slots have processors that may be about to wait? */
static void evictable_waits(struct tw_proc *me, struct sync_counts *all)
{
	struct sync_counts one;

	memset(all, 0, sizeof(*all));
	for (unsigned node = 0; node < me->nodes; node++)
		for (unsigned local = 0; local < me->locals; local++) {
			tw_net_read(me->net, node, evictable_counts(me, local), &one, sizeof(one));
			tw_net_read_wait(me->net);
			for (size_t i = 0; i < TW_SYNC_HASHES; i++)
				all->of[i] |= one.of[i];
		}
}

/* Evict locks that nobody holds, and list their slots, or those of them that nobody may wait for. */
static void evictable_evict(struct tw_proc *me)
{
	_Atomic uint64_t *hand = &sync_private(me)->hand;
	uint64_t batch[EVICTABLE_BATCH];
	struct sync_counts waits;
	unsigned found = 0;

	for (size_t i = 0; i < me->config.sync_objects && found < EVICTABLE_BATCH; i++) {
		uint64_t id = evictable_id(me, atomic_fetch_add(hand, 1) % me->config.sync_objects);
		struct sync_object o = sync_place(me, id);
		if (!evictable_take(me, &o))
			continue;
		evictable_renew(me, &o);
		batch[found++] = id;
	}
	tw_net_flush(me->net, TW_NET_ALL);
	evictable_waits(me, &waits);
	while (found-- > 0) {
		struct sync_object o = sync_place(me, batch[found]);
		bool listed = !waits.of[evictable_hash(batch[found])];
		if (listed)
			atomic_store(&o.own->local, 0);
		sync_lock_leave(me, &o);
		if (listed)
			sync_push(me, &o, evictable_list(me));
	}
}

uint64_t tw_sync_evictable_create(struct tw_proc *me)
{
	uint64_t limit = me->config.sync_objects / 4 * 3, index; /* the rest is for what cannot be evicted */

	for (size_t n = 0; !(index = sync_pop(me, evictable_list(me))) && !(index = sync_unused(me, limit)); n++) {
		if (n == EVICTABLE_ROUNDS)
			sync_full(me, "pthread_mutex_lock");
		evictable_evict(me);
	}
	uint64_t id = evictable_id(me, index - 1);
	struct sync_object o = sync_place(me, id);
	id |= atomic_load(&o.own->gen);
	atomic_store(&o.own->local, SYNC_IN_USE);
	return id;
}

bool tw_sync_evictable_lives(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = sync_place(me, id);

	return atomic_load_explicit(&o.own->gen, memory_order_acquire) == o.gen;
}

bool tw_sync_evictable_take(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = sync_place(me, id);

	if (!sync_lock_retake(me, &o))
		return false;
	if (__builtin_expect(tw_sync_evictable_lives(me, id), 1))
		return true;
	sync_lock_release(me, &o);
	return false;
}

void tw_sync_evictable_follow(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = sync_place(me, id);

	sync_lock_follow(me, &o);
}

void tw_sync_evictable_release(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = sync_place(me, id);

	sync_lock_release(me, &o);
}

bool tw_sync_evictable_await(struct tw_proc *me, uint64_t id)
{
	struct sync_counts *own = (void *)(me->net->base + evictable_counts(me, me->local));

	own->of[evictable_hash(id)]++;
	atomic_thread_fence(memory_order_seq_cst);
	return tw_sync_evictable_lives(me, id);
}

void tw_sync_evictable_got(struct tw_proc *me, uint64_t id)
{
	struct sync_counts *own = (void *)(me->net->base + evictable_counts(me, me->local));

	own->of[evictable_hash(id)]--;
}

void tw_sync_evictable_destroy(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = sync_place(me, id);

	tw_net_write64(me->net, o.home, SYNC_WORD(&o, local), 0);
	evictable_renew(me, &o);
	tw_net_flush(me->net, TW_NET_ALL);
	sync_lock_release(me, &o);
	sync_push(me, &o, evictable_list(me));
}
