/* SPDX-License-Identifier: BSD-3-Clause */
/* commit.c - releases of a page: own changes and the newest version are merged here, and this node becomes the
 * page's home (table 1).
 *
 * While no other node requests a page, its commits are useless: a commit may enter exclusive mode (exclusive.c).
 * Stores that change nothing would trap in every interval.  So a page that only such stores go to enters exclusive
 * mode as well, by a commit that has nothing new.  That commit makes a version all the same: else nothing would end
 * the copies of the version before. */
#include "protocols/timestamp/timestamp.h"

#define PATIENCE_MOST 62u

/* This processor has no writes to @p (locked) any more. */
static void commit_clean(struct tw_proc *me, tw_page_t p)
{
	if (ts_rights(me, p) == TW_WRITE)
		tw_map(me, p, 1, TW_WRITE, TW_READ);
	me->page[p].writers &= ~ts_bit(me);
}

/* The page (locked) stays writable and dirty over this release. */
static void commit_retain(struct tw_proc *me, tw_page_t p)
{
	tw_pageset_add(me->dirty, p);
	me->stats->now.kept_writable++;
}

/* Count one more release of the page (locked), which was stored to.  @requested: there are signs that another node
 * requested it since the last one.  Returns whether it is time for exclusive mode. */
static bool commit_quiet(struct tw_proc *me, tw_page_t p, bool requested)
{
	struct ts_page *x = ts_page(me, p);

	requested |= x->alone; /* exclusive mode was ended, by a request */
	x->alone = 0;
	if (requested && x->quiet > x->patience)
		x->patience = (uint8_t)TW_MIN(2u * x->patience + 2u, PATIENCE_MOST);
	x->quiet = requested ? 0 : (uint8_t)TW_MIN(x->quiet + 1, UINT8_MAX);
	return !me->config.race && ts_ordinary(me, p) && x->quiet > x->patience;
}

/* Is there nothing to commit?  Where frame and public copy are equal, a neighbour's commit had the writes, and its
 * notice is in the signature; or the stores changed nothing, and that counts as a commit. */
static bool commit_needless(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	if (!(me->page[p].writers & ts_bit(me)))
		return true;
	uint64_t home = atomic_load(&ts_meta(me, p)->home); /* the page lock was the fence */
	if (home & TS_EXCLUSIVE) {
		ts_alone_add(me, p);
		return true;
	}
	if ((home & TS_BUSY) || x->announce || tw_diff_any(tw_frame(me, p), ts_public(me, p), me->layout.page_bytes))
		return false;
	if (ts_of(me)->demanded) {
		commit_retain(me, p);
		return true;
	}
	if (x->silent && ts_rights(me, p) == TW_WRITE && commit_quiet(me, p, atomic_exchange(&ts_meta(me, p)->read, 0)))
		return false;
	if (ts_of(me)->pins[p] || (x->retention && ts_ordinary(me, p))) {
		x->retention -= x->retention != 0;
		commit_retain(me, p);
	} else {
		commit_clean(me, p);
	}
	return true;
}

/* In the section, page locked and with a twin. */
static void commit_merge(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	size_t bytes = me->layout.page_bytes;
	char *newest = ts_public(me, p); /* the twin: nothing new */

	if (!ts_held(me, p, n)) {
		newest = ts_of(me)->scratch;
		tw_trace(me, TW_TRACE_fetch, n->home, p, bytes, 0);
		if (!n->ended)
			tw_net_read(me->net, n->home, ts_copy_offset(me, p, n->shared), newest, bytes);
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

struct commit_send {
	struct tw_proc *me;
	unsigned node;
	size_t page; /* offset of the shared copy */
};

static void commit_send_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	const struct commit_send *s = ctx;

	tw_net_write(s->me->net, s->node, s->page + offset, bytes, len);
}

/* The same where the newest version is a shared copy, which stays that: word.c.  A run is compared once, so what a
 * neighbour stores meanwhile is sent, or differs from the twin. */
static void commit_send(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	bool held = ts_held(me, p, n);

	tw_trace_diff(me, TW_TRACE_diff_out, n->home, p, tw_frame(me, p), ts_public(me, p));
	tw_diff_out(tw_frame(me, p), ts_public(me, p), me->layout.page_bytes, 1, commit_send_run,
	            &(struct commit_send){me, n->home, ts_shared_offset(me, p)});
	tw_net_flush(me->net, n->home);
	me->stats->now.diffs++;
	if (!held)
		ts_read(me, p, n->home, true);
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

/* Publish the version after @n, which is in the shared copy if @n is, else here.  @has: this node's copy has it.  In
 * the section, page locked. */
static void commit_version(struct tw_proc *me, tw_page_t p, const struct ts_newest *n, bool exclusive, bool has)
{
	struct ts_page *x = ts_page(me, p);
	uint64_t wts = TW_MAX(n->rts, ts_of(me)->released) + 1, rts = wts + ts_parameters(me)->lease;
	unsigned home = n->shared ? n->home : me->node;
	uint32_t from = n->shared ? home | TS_SHARED_COPY : home;

	x->lease = 0;
	x->announce = 0;
	ts_publish(me, p, wts, rts, home | (n->shared ? TS_SHARED : exclusive ? TS_EXCLUSIVE : 0));
	if (has) {
		ts_has(me, p, wts, rts);
	} else { /* a fetch of less would lose what this node has done */
		x->need = wts;
		x->need_rts = rts;
		x->need_from = (uint16_t)(from + 1);
	}
	ts_clock_raise(me, wts);
	ts_notice_add(me, &(struct ts_notice){.page = p, .from = from, .wts = wts, .rts = rts});
	me->stats->now.write_notices++;
	tw_trace_page(me, TW_TRACE_notice_out, p);
}

/* In the section, page locked and not exclusive. */
static void commit_here(struct tw_proc *me, tw_page_t p, struct ts_newest *n)
{
	struct ts_page *x = ts_page(me, p);
	bool stays = ts_shared_stays(me, p, n), exclusive = !stays && commit_alone(me, p, n);

	if (exclusive && tw_planted(me, "ts-no-version") &&
	    !tw_diff_any(tw_frame(me, p), ts_public(me, p), me->layout.page_bytes)) {
		ts_alone_add(me, p);
		ts_publish(me, p, n->wts, n->rts, me->node | TS_EXCLUSIVE);
		return;
	}
	x->silent = 0;
	x->retention = me->config.race || !ts_ordinary(me, p) ? 0 : (uint8_t)ts_parameters(me)->retention;
	if (exclusive)
		ts_alone_add(me, p);
	else if (x->retention || ts_of(me)->pins[p])
		commit_retain(me, p);
	else
		commit_clean(me, p);
	if (stays) {
		commit_send(me, p, n);
	} else {
		commit_merge(me, p, n);
		n->shared = false;
	}
	commit_version(me, p, n, exclusive, true);
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
		ts_alone_add(me, p); /* a neighbour's commit has entered exclusive mode; then the chain ends here */
	else
		commit_here(me, p, &n);
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}

void ts_announce(struct tw_proc *me, tw_page_t p)
{
	const struct ts_page *x = ts_page(me, p);
	struct ts_newest n;

	tw_page_lock(me, p);
	bool done = !x->announce;
	tw_page_unlock(me, p);
	if (done)
		return;
	ts_newest_read(me, p, ts_section_enter(me, p), &n);
	tw_page_lock(me, p);
	if (x->announce)
		commit_version(me, p, &n, false, x->copy && x->wts == n.wts);
	else
		ts_publish_again(me, p, &n); /* a neighbour's version has announced them */
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}
