/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c - faults and commits.
 *
 * The *public* copy of a page, in exported memory of the protocol's own, is what other nodes read, and the twin of the frame while
 * processors here write.  It holds committed bytes only, and only newer ones ever replace them: a reader that a notice sends here
 * finds the noticed version or a later one, also in the middle of a merge or a fetch, byte by byte. */
#include "protocols/timestamp/timestamp.h"

#include <string.h>

struct page_race {
	struct tw_proc *me;
	tw_page_t page;
	unsigned other; /* whose version was merged: the last other node that wrote the page */
};

static void page_race(void *ctx, size_t offset, const void *bytes, size_t len)
{
	const struct page_race *r = ctx;
	(void)bytes;
	tw_race_found(r->me, r->page, offset, len, r->other);
}

static enum tw_rights page_rights(const struct tw_proc *me, tw_page_t p)
{
	const struct tw_page *e = &me->page[p];
	return !(e->mapped & ts_bit(me)) ? TW_NONE : e->writers & ts_bit(me) ? TW_WRITE : TW_READ;
}

static bool page_valid(struct tw_proc *me, tw_page_t p)
{
	const struct ts_page *x = ts_page(me, p);
	return x->copy && x->rts >= x->need && x->rts >= atomic_load(&ts_of(me)->own->min_wr_ts);
}

/* Read @node's public copy into the node's own, around what local processors write.  Page locked. */
static void page_read(struct tw_proc *me, tw_page_t p, unsigned node)
{
	struct ts_page *x = ts_page(me, p);
	size_t bytes = me->layout.page_bytes;

	me->stats->now.page_transfers++;
	if (!me->page[p].writers) {
		x->twin = 0;
		tw_net_read(me->net, node, ts_public_offset(me, p), tw_frame(me, p), bytes);
		tw_net_read_wait(me->net);
		return;
	}
	char *incoming = ts_of(me)->scratch;
	tw_net_read(me->net, node, ts_public_offset(me, p), incoming, bytes);
	tw_net_read_wait(me->net);
	if (me->config.race)
		tw_diff_race(tw_frame(me, p), ts_public(me, p), incoming, bytes, page_race,
		             &(struct page_race){me, p, node});
	if (!tw_planted(me, "ts-drop-incoming"))
		tw_diff_in(tw_frame(me, p), ts_public(me, p), incoming, bytes);
	me->stats->now.incoming_diffs++;
}

/* The page's stamp and home, in its section, whose state is at @end. */
static uint64_t page_newest(struct tw_proc *me, tw_page_t p, unsigned end, unsigned *home)
{
	uint64_t words[2];
	size_t at = ts_meta_offset(me, p) + offsetof(struct ts_meta, stamp);

	tw_net_read(me->net, end, at, words, sizeof(words));
	tw_net_read_wait(me->net);
	*home = words[1] ? (unsigned)words[1] - 1 : me->page[p].home - 1u;
	return words[0];
}

/* Is version @wts, which @home has, the one held here? */
static bool page_held(struct tw_proc *me, tw_page_t p, uint64_t wts, unsigned home)
{
	const struct ts_page *x = ts_page(me, p);
	return home == me->node || wts == 0 || (x->copy && x->wts == wts);
}

/* Bring the copy to the newest version, if it is not.  In the section, page locked.  Returns the stamp. */
static uint64_t page_update(struct tw_proc *me, tw_page_t p, unsigned end, unsigned *home)
{
	struct ts_page *x = ts_page(me, p);
	uint64_t stamp = page_newest(me, p, end, home), wts = ts_stamp_wts(stamp);

	if (!page_held(me, p, wts, *home))
		page_read(me, p, *home);
	x->copy = 1;
	x->wts = wts;
	return stamp;
}

/* The newest version and what processors here changed, together, in frame and public copy (table 1).  In the section, page locked
 * and with a twin.  Returns the stamp. */
static uint64_t page_merge(struct tw_proc *me, tw_page_t p, unsigned end, unsigned *home)
{
	uint64_t stamp = page_newest(me, p, end, home);
	size_t bytes = me->layout.page_bytes;
	char *newest = ts_public(me, p); /* which is the twin: nothing new */

	if (!page_held(me, p, ts_stamp_wts(stamp), *home)) {
		newest = ts_of(me)->scratch;
		tw_net_read(me->net, *home, ts_public_offset(me, p), newest, bytes);
		tw_net_read_wait(me->net);
		me->stats->now.page_transfers++;
		me->stats->now.incoming_diffs++;
	}
	tw_diff_merge(tw_frame(me, p), ts_public(me, p), newest, bytes, me->config.race ? page_race : NULL,
	              &(struct page_race){me, p, *home});
	me->stats->now.diffs++;
	me->stats->now.migrations += *home != me->node;
	return stamp;
}

static void page_publish(struct tw_proc *me, tw_page_t p, uint64_t wts, uint64_t rts, unsigned home)
{
	struct ts_meta *m = ts_meta(me, p);
	if (rts - wts >= (uint64_t)1 << TS_LEASE_BITS)
		tw_fatal("TS: page %u was read for too long without a write", p);
	atomic_store(&m->stamp, ts_stamp(wts, rts));
	atomic_store(&m->home, home + 1);
	atomic_store(&ts_page(me, p)->rts, TW_MAX(atomic_load(&ts_page(me, p)->rts), rts));
}

/* A valid copy by the critical section.  No page lock held. */
static void page_fetch(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);
	unsigned home, end = ts_section_enter(me, p);

	tw_page_lock(me, p);
	uint64_t stamp = page_update(me, p, end, &home);
	uint64_t wts = ts_stamp_wts(stamp), now = atomic_load(&ts_of(me)->own->min_wr_ts);
	now = TW_MAX(
	    now, atomic_load(&ts_of(me)->node->clock)); /* a release may learn of later writes than it has acquired */
	uint64_t rts = TW_MAX(now, wts) + me->config.lease;
	rts = TW_MAX(TW_MAX(rts, x->need), ts_stamp_rts(stamp));
	/* No lease can be that long: count a version in which nothing changed. */
	if (rts - wts >= (uint64_t)1 << TS_LEASE_BITS)
		x->wts = wts = TW_MAX(ts_stamp_rts(stamp) + 1, rts - me->config.lease);
	page_publish(me, p, wts, TW_MAX(rts, wts), home);
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}

/* Lock @p with a valid copy. */
static void page_lock_valid(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	for (;;) {
		tw_page_lock(me, p);
		tw_home_claim(me, p);
		if (page_valid(me, p))
			return;
		if (x->need_from && x->need_from != me->node + 1 && x->need > x->rts &&
		    x->need >= atomic_load(&ts_of(me)->own->min_wr_ts)) {
			page_read(me, p, x->need_from - 1u);
			x->copy = 1;
			x->wts = x->need;
			x->rts = x->need_rts;
			return;
		}
		tw_page_unlock(me, p);
		page_fetch(me, p);
	}
}

static void page_map(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	enum tw_rights have = page_rights(me, p);
	if (have < want)
		tw_map(me, p, 1, have, want);
	me->page[p].mapped |= ts_bit(me);
	ts_lease_add(me, p);
}

static void page_map_write(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	if (!x->twin) {
		memcpy(ts_public(me, p), tw_frame(me, p), me->layout.page_bytes);
		x->twin = 1;
		me->stats->now.twins++;
	}
	page_map(me, p, TW_WRITE);
	me->page[p].writers |= ts_bit(me);
	tw_pageset_add(me->dirty, p);
}

void ts_unmap(struct tw_proc *me, tw_page_t p)
{
	tw_map(me, p, 1, page_rights(me, p), TW_NONE);
	me->page[p].mapped &= ~ts_bit(me);
	me->stats->now.invalidations++;
}

void ts_read_fault(struct tw_proc *me, tw_page_t p)
{
	page_lock_valid(me, p);
	if (me->page[p].writers & ts_bit(me))
		page_map_write(me, p); /* was invalid and dirty */
	else
		page_map(me, p, TW_READ);
	tw_page_unlock(me, p);
}

void ts_write_fault(struct tw_proc *me, tw_page_t p)
{
	page_lock_valid(me, p);
	page_map_write(me, p);
	tw_page_unlock(me, p);
}

/* This processor has no writes to @p (locked) any more. */
static void page_clean(struct tw_proc *me, tw_page_t p)
{
	if (page_rights(me, p) == TW_WRITE)
		tw_map(me, p, 1, TW_WRITE, TW_READ);
	me->page[p].writers &= ~ts_bit(me);
}

/* Is there nothing to commit?  Then a neighbour's commit had our writes, and its notice is in the signature. */
static bool page_unchanged(struct tw_proc *me, tw_page_t p)
{
	bool same = !(me->page[p].writers & ts_bit(me));
	if (!same && memcmp(tw_frame(me, p), ts_public(me, p), me->layout.page_bytes) == 0) {
		page_clean(me, p);
		same = true;
	}
	return same;
}

void ts_commit(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);
	unsigned home;

	tw_page_lock(me, p);
	bool done = page_unchanged(me, p);
	tw_page_unlock(me, p);
	if (done)
		return;
	unsigned end = ts_section_enter(me, p);
	tw_page_lock(me, p);
	page_clean(me, p);
	uint64_t stamp =
	    tw_planted(me, "ts-skip-merge") ? page_update(me, p, end, &home) : page_merge(me, p, end, &home);
	uint64_t wts = TW_MAX(ts_stamp_rts(stamp), atomic_load(&ts_of(me)->node->clock)) + 1;
	x->wts = wts;
	page_publish(me, p, wts, wts + me->config.lease, me->node);
	ts_clock_raise(me, wts);
	ts_notice_add(me, &(struct ts_notice){.page = p, .from = me->node, .wts = wts, .rts = wts + me->config.lease});
	me->stats->now.write_notices++;
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}
