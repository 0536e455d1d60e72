/* SPDX-License-Identifier: BSD-3-Clause */
/* acquire.c - acquires: a page with a notice is unmapped or updated (Cashmere-2L, section 2.4.2). */
#include "protocols/cashmere/cashmere.h"

/* Must this processor drop its mapping of @p (locked), which has a notice?  Not when the node has fetched the page
 * since.  The home is never stale: there migratory.c decides. */
static bool acquire_drops(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	if (!(e->mapped & cash_bit(me)) || (e->state & CASH_EXCLUSIVE))
		return false;
	if (cash_is_home(me, e))
		return cash_migratory_home(me, p);
	return e->ts_update < e->ts_notice;
}

static bool acquire_forget(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	bool leaves = cash_migratory_leaves(me, p);

	e->mapped &= ~cash_bit(me);
	if (cash_is_home(me, e))
		e->writers &= ~cash_bit(me);
	cash_migratory_ended(me, p);
	me->stats->now.invalidations++;
	tw_trace_page(me, TW_TRACE_invalidation, p);
	/* A node with unflushed writes stays in the directory: a node that becomes exclusive must see it.  So does a
	 * node that may want updates, until the next notice: a fault before that shows that it does.  If the
	 * processor's turn is over (migratory.c) it leaves at once. */
	if (e->mapped || e->writers || (cash_parameters(me)->refresh && !leaves) || cash_extra(me, p)->operated)
		return false;
	cash_extra(me, p)->missed |= leaves;
	cash_withdraw(me, p);
	return true;
}

/* A notice arrived for a page (locked): a node that has not operated on its words for some notices lets the home move.
 * Returns whether a word was published. */
static bool acquire_unsteady(struct tw_proc *me, tw_page_t p)
{
	struct cash_extra *x = cash_extra(me, p);

	x->operated -= x->operated > 0;
	if (!x->steady || x->operated || (me->page[p].state & CASH_EXCLUSIVE))
		return false;
	x->steady = 0;
	cash_peeked_ends(&me->page[p]);
	cash_publish(me, p, tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS);
	tw_net_fence(me->net, TW_NET_ALL); /* the node may leave the directory, too */
	return true;
}

/* A second notice arrived for a page (locked) that the first one unmapped, without a fault in between: leave the
 * directory.  Returns whether the node left. */
static bool acquire_leave(struct tw_proc *me, tw_page_t p)
{
	const struct tw_page *e = &me->page[p];
	const struct cash_extra *x = cash_extra(me, p);

	if (!x->missed || e->mapped || e->writers || x->operated || cash_is_home(me, e) ||
	    !(tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS))
		return false;
	cash_withdraw(me, p);
	return true;
}

/* The agent's set is never drained: its pages stay there until a processor collects their next notice. */
void cash_noticed(struct tw_proc *me, tw_page_t p)
{
	cash_extra(me, p)->missed = 1;
	if (!me->agent)
		tw_pageset_add(me->notices, p);
}

/* Bring the copy up to date in place.  Page locked. */
static void acquire_update(struct tw_proc *me, tw_page_t p)
{
	struct cash_extra *x = cash_extra(me, p);
	x->left -= x->left > 0;
	cash_fetch(me, p);
	me->stats->now.updates++;
	tw_trace_page(me, TW_TRACE_update, p);
}

/* Is the page (locked), which has a notice, worth an update in place?  A retained page is in use. */
static bool acquire_updates(struct tw_proc *me, tw_page_t p)
{
	const struct tw_page *e = &me->page[p];
	const struct cash_extra *x = cash_extra(me, p);
	if (cash_is_home(me, e) || (cash_shoots(me) && e->twin) || !cash_ordinary(me, p))
		return false;
	return x->left || (cash_parameters(me)->refresh && x->patience && e->twin && (e->writers & cash_bit(me)));
}

/* Sort the pages of a chunk, locked: one bit in @drop or @update, or neither. */
static void acquire_sort(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t *drop, uint64_t *update)
{
	_Static_assert(CASH_CHUNK <= 64, "one bit a page");
	*drop = *update = 0;
	for (unsigned i = 0; i < count; i++)
		if (acquire_drops(me, first + i))
			*(acquire_updates(me, first + i) ? update : drop) |= (uint64_t)1 << i;
}

static bool freshen_wants(struct tw_proc *me, tw_page_t p)
{
	const struct tw_page *e = &me->page[p];
	return e->mapped && e->ts_update < e->ts_notice && !(e->state & CASH_EXCLUSIVE) && !cash_is_home(me, e) &&
	       cash_ordinary(me, p);
}

/* Update @p in place for a neighbour that has a notice of it. */
static void freshen_page(void *ctx, tw_page_t p)
{
	struct tw_proc *me = ctx;

	cash_lock(me, p);
	if (cash_migrates(me))
		tw_home_refresh(me, p);
	if (cash_shoots(me) && me->page[p].twin && freshen_wants(me, p)) {
		tw_page_unlock(me, p);
		cash_flush_neighbours(me, p);
		cash_lock(me, p);
	}
	if (freshen_wants(me, p) && !(cash_shoots(me) && me->page[p].twin)) {
		acquire_update(me, p);
		cash_fetched(me);
	}
	tw_page_unlock(me, p);
}

/* Other nodes' diffs go into the frame of a page whose home is here. */
void cash_hide(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	cash_lock(me, p);
	if (cash_is_home(me, e) && cash_rights(me, e) == TW_READ && !(e->writers & cash_bit(me))) {
		tw_map(me, p, 1, TW_READ, TW_NONE);
		e->mapped &= ~cash_bit(me);
	}
	tw_page_unlock(me, p);
}

void cash_freshen(struct tw_proc *me)
{
	for (unsigned l = 0; l < me->locals; l++)
		if (l != me->local)
			tw_pageset_look(tw_notices_of(me, l), freshen_page, me);
}

/* Wait for the words and the copies of the pages that are held, and unlock these. */
static void acquire_finish(struct tw_proc *me)
{
	struct cash *c = cash_of(me);

	cash_fetch_begin(me);
	if (c->held_flush)
		tw_net_flush(me->net, TW_NET_ALL);
	if (c->held_fetch)
		cash_fetched(me);
	c->held_flush = c->held_fetch = false;
	while (c->helds)
		tw_page_unlock(me, c->held[--c->helds]);
}

/* Lock pages from @first.  While some are held, none is waited for: their number is returned, at least one. */
static unsigned acquire_lock(struct tw_proc *me, tw_page_t first, unsigned most)
{
	unsigned n = 0;

	if (cash_of(me)->helds + most > CASH_WINDOW_MAX)
		acquire_finish(me);
	for (; n < most && tw_page_trylock(me, first + n); n++)
		if (me->page[first + n].state & CASH_BUSY) {
			tw_page_unlock(me, first + n);
			break;
		}
	if (n)
		return n;
	acquire_finish(me);
	return cash_lock_run(me, first, most);
}

static unsigned acquire_chunk(void *ctx, tw_page_t first, unsigned most)
{
	struct tw_proc *me = ctx;
	struct cash *c = cash_of(me);
	unsigned count = acquire_lock(me, first, most);
	uint64_t drop, update;
	bool flush = false;

	for (unsigned i = 0; cash_migrates(me) && i < count; i++)
		tw_home_refresh(me, first + i);
	for (unsigned i = 0; i < count; i++) {
		flush |= acquire_unsteady(me, first + i);
		flush |= acquire_leave(me, first + i);
	}
	acquire_sort(me, first, count, &drop, &update);
	for (uint64_t u = update; u; u &= u - 1)
		acquire_update(me, first + (unsigned)__builtin_ctzll(u));
	if (drop)
		cash_unmap(me, first, count, drop);
	for (; drop; drop &= drop - 1)
		flush |= acquire_forget(me, first + (unsigned)__builtin_ctzll(drop));
	if (!flush && !update) {
		cash_unlock_run(me, first, count);
		return count;
	}
	c->held_flush |= flush;
	c->held_fetch |= update != 0;
	for (unsigned i = 0; i < count; i++)
		c->held[c->helds++] = first + i;
	return count;
}

static void acquire_run(void *ctx, tw_page_t first, unsigned count)
{
	cash_by_chunks(acquire_chunk, ctx, first, count);
}

/* The time of an acquire after a barrier of all, whose notices are collected.  It is one time for the node: when its
 * first processor had collected them.  A notice collected later was sent after the barrier, by a node that is ahead;
 * it does not make stale what a faster neighbour has fetched since.  The low bits hold the barrier's number, modulo
 * 4: each word is used by every second barrier, and no processor passes a barrier before all of the node have passed
 * the one before the last (tests/models/barrier.pml). */
static uint64_t acquire_passed(struct tw_proc *me)
{
	uint64_t round = atomic_load(&me->n->arrivals[me->local]), number = (round / 2 + 1) % 4;
	_Atomic uint64_t *passed = &me->n->passed[round % 2];
	uint64_t was = atomic_load(passed), now = tw_tick(me);

	while (was % 4 != number || was < 4)
		if (atomic_compare_exchange_weak(passed, &was, now << 2 | number))
			return now;
	return was >> 2;
}

void cash_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)kind;
	(void)object;
	cash_doubled(me); /* what is fetched from here on has this processor's stores */
	tw_notice_collect(me);
	me->acquire_ts = cash_of(me)->arrived ? acquire_passed(me) : tw_tick(me);
	if (!tw_pageset_empty(me->notices))
		tw_pageset_drain(me->notices, acquire_run, me);
	acquire_finish(me);
	if (cash_of(me)->arrived) {
		cash_of(me)->arrived = false;
		cash_replay(me);
	}
}
