/* SPDX-License-Identifier: BSD-3-Clause */
/* commit.c - releases of a page: own changes and the newest version are merged here, and this node is the page's home
 * (table 1).
 *
 * Exclusive mode.  While nobody else comes for a page, commits are work for nobody.  A commit may enter exclusive
 * mode: then the home's processors leave the page writable, and later releases have nothing to do for it.  No other
 * node has a copy that is valid at the version's time or later, and all who learn of any of these releases learn of
 * the version, by notice or min_wr_ts: so they come.  Whoever comes by a notice or a look reads the home's mark
 * before the public copy: not set, the public copy has all that was released while it was.  Whoever comes by the
 * section sees the mark with the stamp, and commits for the home, as that same version:
 *
 *     marks it busy, counts that, copies the frame to the public copy, takes the mark away.        (ts_break)
 *
 * The home's processors store, then look at the count, and the mark if that has changed, in their release, with a
 * fence between; the other node marks and counts, then reads the frame.  So who saw no busy mark has its stores in
 * the copy, and who saw one, or none at all, commits in the section, after it.  A look at frame and public copy must
 * not stand for that while the mark is busy: the copy on its way may undo what it saw.  A mark goes in this way only:
 * a commit that finds its page exclusive, once it is in the section, has nothing to do.
 *
 * Stores that change nothing would trap in every interval.  So a page that only such stores go to enters exclusive mode as
 * well, by a commit that has nothing new.  That one makes a version all the same: to who has a copy of the version before, nothing would
 * say that the copy ends. */
#include "protocols/timestamp/timestamp.h"

#include <string.h>

#define PATIENCE_MOST 62u

void ts_race(void *ctx, size_t offset, const void *bytes, size_t len)
{
	const struct ts_race *r = ctx;
	(void)bytes;
	tw_race_found(r->me, r->page, offset, len, r->other);
}

/* This processor has no writes to @p (locked) any more. */
static void commit_clean(struct tw_proc *me, tw_page_t p)
{
	if (ts_rights(me, p) == TW_WRITE)
		tw_map(me, p, 1, TW_WRITE, TW_READ);
	me->page[p].writers &= ~ts_bit(me);
}

/* The page (locked) stays writable and dirty over this release. */
static void commit_keep(struct tw_proc *me, tw_page_t p)
{
	tw_pageset_add(me->dirty, p);
	me->stats->now.kept_writable++;
}

/* The same in exclusive mode, over all releases until it ends. */
static void commit_keep_alone(struct tw_proc *me, tw_page_t p)
{
	struct ts *t = ts_of(me);
	if (t->listed[p] & TS_LISTED_ALONE)
		return;
	t->listed[p] |= TS_LISTED_ALONE;
	t->alone_next[p] = t->alone[ts_group(p)];
	t->alone[ts_group(p)] = p + 1;
}

/* Pages of the group that are not exclusive any more are dirty. */
static void commit_look(struct tw_proc *me, unsigned group)
{
	struct ts *t = ts_of(me);

	for (tw_page_t *link = &t->alone[group]; *link;) {
		tw_page_t p = *link - 1;
		if (atomic_load_explicit(&ts_meta(me, p)->home, memory_order_relaxed) & TS_EXCLUSIVE) {
			link = &t->alone_next[p];
			continue;
		}
		*link = t->alone_next[p];
		t->listed[p] &= ~TS_LISTED_ALONE;
		tw_pageset_add(me->dirty, p);
	}
}

void ts_alone_look(struct tw_proc *me)
{
	struct ts *t = ts_of(me);
	_Atomic uint64_t *ended = (void *)(me->net->base + ts_ended_offset(me, 0));

	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned g = 0; g < TS_GROUPS; g++) {
		uint64_t now = atomic_load_explicit(&ended[g], memory_order_acquire);
		if (now == t->ended[g])
			continue;
		t->ended[g] = now;
		commit_look(me, g);
	}
}

/* One more release of the page (locked), to which was stored.  @came: others came for it since the last one, as it seems.
 * Returns whether it is time for exclusive mode. */
static bool commit_quiet(struct tw_proc *me, tw_page_t p, bool came)
{
	struct ts_page *x = ts_page(me, p);

	came |= x->alone; /* it was ended */
	x->alone = 0;
	if (came && x->quiet > x->patience)
		x->patience = (uint8_t)TW_MIN(2u * x->patience + 2u, PATIENCE_MOST);
	x->quiet = came ? 0 : (uint8_t)TW_MIN(x->quiet + 1, UINT8_MAX);
	return !me->config.race && !tw_polled(me, p) && x->quiet > x->patience;
}

/* Is there nothing to commit?  Where frame and public copy are equal, a neighbour's commit had our writes, and its
 * notice is in the signature; or stores changed nothing, and that counts as a commit. */
static bool commit_needless(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	if (!(me->page[p].writers & ts_bit(me)))
		return true;
	uint64_t home = atomic_load(&ts_meta(me, p)->home); /* the page lock was the fence */
	if (home & TS_EXCLUSIVE) {
		commit_keep_alone(me, p);
		return true;
	}
	if ((home & TS_BUSY) || memcmp(tw_frame(me, p), ts_public(me, p), me->layout.page_bytes) != 0)
		return false;
	if (x->silent && ts_rights(me, p) == TW_WRITE && commit_quiet(me, p, atomic_exchange(&ts_meta(me, p)->read, 0)))
		return false;
	if (ts_of(me)->pins[p] || (x->keep && !tw_polled(me, p))) {
		x->keep -= x->keep != 0;
		commit_keep(me, p);
	} else {
		commit_clean(me, p);
	}
	return true;
}

/* In the section, page locked and with a twin. */
static void commit_merge(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	size_t bytes = me->layout.page_bytes;
	char *newest = ts_public(me, p); /* which is the twin: nothing new */

	if (!ts_held(me, p, n)) {
		newest = ts_of(me)->scratch;
		tw_trace(me, TW_TRACE_fetch, n->home, p, bytes, 0);
		tw_net_read(me->net, n->home, ts_public_offset(me, p), newest, bytes);
		tw_net_read_wait(me->net);
		tw_trace_page(me, TW_TRACE_fetched, p);
		tw_trace(me, TW_TRACE_diff_in, TW_TRACE_NONE, p, TW_TRACE_UNKNOWN, 0);
		me->stats->now.page_transfers++;
		me->stats->now.incoming_diffs++;
	}
	if (tw_planted(me, "ts-skip-merge"))
		return;
	tw_trace_diff(me, TW_TRACE_diff_out, n->home, p, tw_frame(me, p), ts_public(me, p));
	tw_diff_merge(tw_frame(me, p), ts_public(me, p), newest, bytes, me->config.race ? ts_race : NULL,
	              &(struct ts_race){me, p, n->home});
	me->stats->now.diffs++;
	if (n->home != me->node) {
		me->stats->now.migrations++;
		tw_trace_page(me, TW_TRACE_migration, p);
	}
}

/* Shall this commit enter exclusive mode?  Page locked. */
static bool commit_alone(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	struct ts_page *x = ts_page(me, p);
	bool read = atomic_exchange(&ts_meta(me, p)->read, 0);

	x->alone = commit_quiet(me, p, read || n->end != me->node);
	if (x->alone) {
		me->stats->now.exclusive_transitions++;
		tw_trace_page(me, TW_TRACE_exclusive_enter, p);
	}
	return x->alone;
}

/* The version after @n.  In the section, page locked. */
static void commit_version(struct tw_proc *me, tw_page_t p, const struct ts_newest *n, bool exclusive)
{
	uint64_t wts = TW_MAX(n->rts, ts_of(me)->released) + 1, rts = wts + me->config.lease;

	ts_page(me, p)->lease = 0;
	ts_publish(me, p, wts, rts, me->node | (exclusive ? TS_EXCLUSIVE : 0));
	ts_clock_raise(me, wts);
	ts_notice_add(me, &(struct ts_notice){.page = p, .from = me->node, .wts = wts, .rts = rts});
	me->stats->now.write_notices++;
	tw_trace_page(me, TW_TRACE_notice_out, p);
}

/* In the section, page locked and not exclusive. */
static void commit_here(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	struct ts_page *x = ts_page(me, p);
	bool exclusive = commit_alone(me, p, n);

	if (exclusive && tw_planted(me, "ts-no-version") &&
	    !memcmp(tw_frame(me, p), ts_public(me, p), me->layout.page_bytes)) {
		commit_keep_alone(me, p);
		ts_publish(me, p, n->wts, n->rts, me->node | TS_EXCLUSIVE);
		return;
	}
	x->silent = 0;
	x->keep = me->config.race || tw_polled(me, p) ? 0 : (uint8_t)me->config.keep;
	if (exclusive)
		commit_keep_alone(me, p);
	else if (x->keep || ts_of(me)->pins[p])
		commit_keep(me, p);
	else
		commit_clean(me, p);
	commit_merge(me, p, n);
	commit_version(me, p, n, exclusive);
}

void ts_commit(struct tw_proc *me, tw_page_t p)
{
	struct ts_newest n;

	tw_page_lock(me, p);
	bool done = commit_needless(me, p);
	tw_page_unlock(me, p);
	if (done)
		return;
	ts_newest_read(me, p, ts_section_enter(me, p), &n);
	tw_page_lock(me, p);
	if (atomic_load(&ts_meta(me, p)->home) & TS_EXCLUSIVE)
		commit_keep_alone(me, p); /* a neighbour's commit entered it meanwhile; then the chain ends here */
	else
		commit_here(me, p, &n);
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}

void ts_break(struct tw_proc *me, tw_page_t p, unsigned home)
{
	size_t at = ts_meta_offset(me, p) + offsetof(struct ts_meta, home), bytes = me->layout.page_bytes;
	char *copy = ts_of(me)->scratch;

	tw_net_swap(me->net, home, at, (home + 1) | TS_BUSY);
	tw_net_fadd(me->net, home, ts_ended_offset(me, ts_group(p)), 1);
	tw_net_read(me->net, home, tw_frame_offset(me, p), copy, bytes);
	tw_net_read_wait(me->net);
	tw_net_write(me->net, home, ts_public_offset(me, p), copy, bytes);
	tw_net_flush(me->net, home);
	tw_net_swap(me->net, home, at, home + 1);
	me->stats->now.exclusive_breaks++;
	tw_trace_page(me, TW_TRACE_exclusive_break, p);
}
