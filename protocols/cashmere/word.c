/* SPDX-License-Identifier: BSD-3-Clause */
/* word.c - atomic operations on words: in the frame where the node holds the page exclusively or is its home, else in
 * the home's frame, which is the master.
 *
 * One place. The node must be in the directory, and no other node may be in exclusive mode: so it enters the directory
 * as a reader does, without a copy, and ends another node's mode (cash_extra.entered).  From then on no node can enter
 * exclusive mode until this one leaves, which takes the page lock.  The home may still be in that mode, but its frame
 * is the master.  So while the page is locked, the newest copy is this node's frame in exclusive mode, and the home's
 * frame otherwise; all nodes that operate choose the same.  Where nodes share no memory, the operation on another
 * node's frame is a compare-and-swap of the transport (core/coherence/word.c).
 *
 * Other accesses.  What the node's processors have stored to the word, and what no release has sent yet, goes to the
 * master before the operation.  Behind it, the frame and the twin have the new value: the word is in no diff, and the
 * node's processors load what they have stored.  Other nodes get a notice with the next release of this processor; a
 * node that becomes a sharer later fetches the value, because the operation was performed before that release reads the
 * directory.  Bytes around the word may be treated as the word: what differs between frame and twin are stores that
 * may be sent at any time before the release, and what differs between master and twin are stores of others.
 *
 * Homes that migrate. The node publishes its diff bit and keeps it (cash_extra.steady), as for a diff that lasts: then
 * it waits until no migration is in progress (migrate.c). The home does not move until a node has received some notices
 * of the page without an operation of its own in between.
 *
 * Loads without the lock (cash_word_peek), which order nothing else.  An operation that found the node in the directory
 * and the home steady has marked the page (CASH_PEEKED).  Exclusive mode of this node ends the mark, as leaving the
 * directory does.  Where the mark is found twice, around the load, and has not ended in between, the home was the same
 * throughout, no node was exclusive, and its frame was the newest copy.  The node's own stores that no release has
 * sent are in a twin: then there is no such load.
 *
 * A plain load that follows must not find an older value.  It finds what this node's frame has, so that must have the
 * value, too; else the load takes the lock, and stores the value to the frame.  A fetch by a neighbour may be about to
 * store an older value there.  It has the page busy or locked: so that is looked at first.  What is fetched later is
 * not older.
 *
 * tests/models/word.pml and peek.pml check it. */
#include "protocols/cashmere/cashmere.h"

#include <string.h>

#define WORD_MOST     16u /* bytes */
#define WORD_ACQUIRES 3u

static bool word_here(const struct tw_proc *me, const struct tw_page *e)
{
	return (e->state & CASH_EXCLUSIVE) || cash_is_home(me, e);
}

/* Is the node exclusive; or can no other one become so, and does the home stay?  Page locked. */
static bool word_ready(struct tw_proc *me, tw_page_t p)
{
	const struct cash_extra *x = cash_extra(me, p);

	return (me->page[p].state & CASH_EXCLUSIVE) || (x->entered && (x->steady || !cash_migrates(me)));
}

static struct tw_location word_master(struct tw_proc *me, tw_page_t p, size_t at)
{
	struct tw_location master = {.node = me->page[p].home - 1u, .offset = tw_master_offset(me, p) + at};

	if (me->net->ops->direct)
		master.at = tw_net_direct(me->net, master.node, master.offset);
	return master;
}

/* Lock @p, in which the node can operate. */
static void word_lock(struct tw_proc *me, tw_page_t p)
{
	cash_lock(me, p);
	while (!word_ready(me, p)) {
		tw_page_unlock(me, p);
		cash_window_enter(me, p);
		cash_lock(me, p);
	}
}

/* The same where this needs no waiting; returns whether. */
static bool word_trylock(struct tw_proc *me, tw_page_t p)
{
	if (!tw_page_trylock(me, p))
		return false;
	if (!(me->page[p].state & CASH_BUSY) && word_ready(me, p))
		return true;
	tw_page_unlock(me, p);
	return false;
}

bool cash_word(struct tw_proc *me, size_t offset, size_t bytes, bool loads, bool wait, struct tw_location *where)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	size_t at = offset & (me->layout.page_bytes - 1);
	struct tw_page *e = &me->page[p];

	(void)loads;
	if (wait)
		word_lock(me, p);
	else if (!word_trylock(me, p))
		return false;
	cash_extra(me, p)->operated = WORD_ACQUIRES;
	if (!(e->state & (CASH_EXCLUSIVE | CASH_PEEKED)))
		__atomic_store_n(&e->state, e->state | CASH_PEEKED, __ATOMIC_RELEASE);
	if (word_here(me, e)) {
		*where = (struct tw_location){.at = tw_frame(me, p) + at};
		return true;
	}
	*where = word_master(me, p, at);
	if (e->twin) { /* stores that no release has sent yet */
		char now[WORD_MOST];
		tw_diff_load(now, tw_frame(me, p) + at, bytes);
		if (tw_word_merge(me, *where, now, tw_twin(me, p) + at, bytes))
			tw_pageset_add(me->noticing, p);
	}
	return true;
}

static void word_copy(void *to, const char *from, size_t bytes)
{
	const void *word = from;

	switch (bytes) {
	case 1:
		*(uint8_t *)to = __atomic_load_n((const uint8_t *)word, __ATOMIC_RELAXED);
		break;
	case 2:
		*(uint16_t *)to = __atomic_load_n((const uint16_t *)word, __ATOMIC_RELAXED);
		break;
	case 4:
		*(uint32_t *)to = __atomic_load_n((const uint32_t *)word, __ATOMIC_RELAXED);
		break;
	default:
		*(uint64_t *)to = __atomic_load_n((const uint64_t *)word, __ATOMIC_RELAXED);
	}
}

bool cash_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	const struct tw_page *e = &me->page[p];
	uint32_t state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);
	unsigned home = __atomic_load_n(&e->home, __ATOMIC_ACQUIRE);

	/* A node that only loads leaves the directory after some notices: the lock's way renews that. */
	if (!(state & CASH_PEEKED) || cash_extra(me, p)->operated < WORD_ACQUIRES ||
	    (__atomic_load_n(&e->twin, __ATOMIC_ACQUIRE) && home != me->node + 1u))
		return false;
	size_t at = offset & (me->layout.page_bytes - 1);
	bool here = home == me->node + 1u;
	char own[WORD_MOST];

	word_copy(value, here ? tw_frame(me, p) + at : tw_net_direct(me->net, home - 1u, tw_master_offset(me, p) + at),
	          bytes);
	atomic_thread_fence(memory_order_acquire);
	if (__atomic_load_n(&e->state, __ATOMIC_RELAXED) != state ||
	    __atomic_load_n(&e->home, __ATOMIC_RELAXED) != home)
		return false;
	if (here)
		return true;
	if ((state & CASH_BUSY) || tw_page_locked(me, p))
		return false;
	word_copy(own, tw_frame(me, p) + at, bytes);
	return memcmp(own, value, bytes) == 0;
}

/* Without a twin no neighbour stores to the page meanwhile. */
static void word_update(struct tw_proc *me, tw_page_t p, size_t at, size_t bytes, const void *value)
{
	char *frame = tw_frame(me, p) + at, now[WORD_MOST];

	if (value)
		memcpy(now, value, bytes);
	else
		tw_diff_load(now, word_master(me, p, at).at, bytes);
	if (me->page[p].twin)
		tw_word_merge(me, (struct tw_location){.at = frame}, now, tw_twin(me, p) + at, bytes);
	else
		tw_diff_apply(frame, now, bytes);
}

void cash_word_done(struct tw_proc *me, size_t offset, size_t bytes, bool changed, const void *now)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	struct tw_page *e = &me->page[p];

	/* Where the node has no copy, the frame keeps the value for the next load without the lock, and @now as the
	 * next operation's guess (core/coherence/word.c). */
	if (!word_here(me, e) && (e->twin || e->ts_update || now || !changed))
		word_update(me, p, offset & (me->layout.page_bytes - 1), bytes, now);
	if (changed)
		tw_pageset_add_fenced(me->noticing, p);
	tw_page_unlock(me, p);
}
