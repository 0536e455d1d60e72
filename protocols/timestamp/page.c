/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c - faults, and how a copy becomes valid: by a notice, by a look at the chain, or in the critical section.
 *
 * The *public* copy of a page, in exported memory of the protocol's own, is what other nodes read, and the twin of
 * the frame while processors here write.  It holds committed bytes only, and only newer ones ever replace them: a
 * reader that a notice sends here finds the noticed version or a later one, also in the middle of a merge or a fetch,
 * byte by byte.
 *
 * A look takes a stamp (w, r) wherever one is found.  "Version w is the newest up to time r" stays true for ever, so
 * it is of use while r is late enough, whether the chain still ends there or not.  The home is written before the
 * stamp and read after it: so what is read there is w or later, complete. */
#include "protocols/timestamp/timestamp.h"

#include <string.h>

#define LOOK_HOPS  4u /* links followed by a look */
#define LEASE_MOST ((uint64_t)1 << 20)

#define STREAM_BEGINS  4u  /* from so many sequential faults on, as many pages again are read ahead */
#define STREAM_SURE    8u  /* a run so long may disturb other nodes for pages ahead */
#define STREAM_TRUSTED 2u  /* runs in a row of one length: the next one is read at once */
#define STREAM_AGAIN   32u /* runs until the length is measured anew */

/* A copy must be valid up to this time. */
static uint64_t page_until(struct tw_proc *me, tw_page_t p)
{
	uint64_t min = atomic_load(&ts_of(me)->own->min_wr_ts);
	return TW_MAX(ts_page(me, p)->need, min);
}

static bool page_valid(struct tw_proc *me, tw_page_t p)
{
	const struct ts_page *x = ts_page(me, p);
	return x->copy && atomic_load(&x->rts) >= page_until(me, p);
}

static uint64_t page_word(struct tw_proc *me, tw_page_t p, unsigned node, size_t field)
{
	return tw_net_read64(me->net, node, ts_meta_offset(me, p) + field);
}

/* Read @node's public copy into the node's own, around what local processors write.  Page locked. */
static void page_read(struct tw_proc *me, tw_page_t p, unsigned node)
{
	struct ts_page *x = ts_page(me, p);
	size_t bytes = me->layout.page_bytes;
	char *to = me->page[p].writers ? ts_of(me)->scratch : tw_frame(me, p);

	me->stats->now.page_transfers++;
	tw_net_write64(me->net, node, ts_meta_offset(me, p) + offsetof(struct ts_meta, read), 1);
	tw_trace(me, TW_TRACE_fetch, node, p, bytes, 0);
	tw_net_read(me->net, node, ts_public_offset(me, p), to, bytes);
	tw_net_read_wait(me->net);
	tw_trace_page(me, TW_TRACE_fetched, p);
	if (!me->page[p].writers) {
		x->twin = 0;
		return;
	}
	if (me->config.race)
		tw_diff_race(tw_frame(me, p), ts_public(me, p), to, bytes, ts_race, &(struct ts_race){me, p, node});
	size_t changed = 0;
	if (!tw_planted(me, "ts-drop-incoming"))
		changed = tw_diff_in(tw_frame(me, p), ts_public(me, p), to, bytes);
	tw_trace(me, TW_TRACE_diff_in, TW_TRACE_NONE, p, changed, 0);
	me->stats->now.incoming_diffs++;
}

/* The copy now has version @wts, which is the newest up to @rts.  Page locked. */
static void page_has(struct tw_proc *me, tw_page_t p, uint64_t wts, uint64_t rts)
{
	struct ts_page *x = ts_page(me, p);
	x->copy = 1;
	x->wts = wts;
	if (atomic_load(&x->rts) < rts)
		atomic_store(&x->rts, rts);
}

/* ---- in the section ---------------------------------------------------------------------------------------------- */

void ts_newest_read(struct tw_proc *me, tw_page_t p, unsigned end, struct ts_newest *n)
{
	uint64_t stamp = page_word(me, p, end, offsetof(struct ts_meta, stamp));
	uint64_t home = page_word(me, p, end, offsetof(struct ts_meta, home));

	n->wts = ts_stamp_wts(stamp);
	n->rts = ts_stamp_rts(stamp);
	n->end = end;
	n->home = (home ? (unsigned)(uint32_t)home : me->page[p].home) - 1u;
	if ((home & TS_EXCLUSIVE) && n->home != me->node && !tw_planted(me, "ts-no-break"))
		ts_break(me, p, n->home);
}

bool ts_held(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	const struct ts_page *x = ts_page(me, p);
	return n->home == me->node || n->wts == 0 || (x->copy && x->wts == n->wts);
}

void ts_publish(struct tw_proc *me, tw_page_t p, uint64_t wts, uint64_t rts, uint64_t home)
{
	struct ts_meta *m = ts_meta(me, p);
	if (rts - wts >= (uint64_t)1 << TS_LEASE_BITS)
		tw_fatal("TS: page %u was read for too long without a write", p);
	atomic_store(&m->home, home + 1);
	atomic_store(&m->stamp, ts_stamp(wts, rts));
	page_has(me, p, wts, rts);
}

/* Grant this node's copy, which is @n, more time.  In the section, page locked. */
static void page_grant(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	uint64_t now = atomic_load(&ts_of(me)->own->min_wr_ts), wts = n->wts;
	uint64_t clock =
	    atomic_load(&ts_of(me)->node->clock); /* a release may learn of later writes than it has acquired */
	uint64_t lease = TW_MIN(me->config.lease << ts_page(me, p)->lease, LEASE_MOST);
	uint64_t rts = TW_MAX(TW_MAX(now, clock), wts) + lease;

	rts = TW_MAX(TW_MAX(rts, ts_page(me, p)->need), n->rts);
	/* No lease can be that long: count a version in which nothing changed. */
	if (rts - wts >= (uint64_t)1 << TS_LEASE_BITS)
		wts = TW_MAX(n->rts + 1, rts - lease);
	uint64_t exclusive = n->home == me->node ? atomic_load(&ts_meta(me, p)->home) & TS_EXCLUSIVE : 0;
	ts_publish(me, p, wts, TW_MAX(rts, wts), n->home | exclusive);
}

/* A valid copy, in the section, whose state is at @end; leaves it.  No page lock held. */
static void page_fetch(struct tw_proc *me, tw_page_t p, unsigned end)
{
	struct ts_page *x = ts_page(me, p);
	struct ts_newest n;

	ts_newest_read(me, p, end, &n);
	tw_page_lock(me, p);
	bool held = ts_held(me, p, &n);
	if (!held)
		page_read(me, p, n.home);
	x->lease = held && x->copy ? (uint8_t)TW_MIN(x->lease + 1u, me->config.lease_doublings) : 0;
	page_grant(me, p, &n);
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}

void ts_renew(struct tw_proc *me, tw_page_t p)
{
	if (ts_section_try(me, p))
		page_fetch(me, p, me->node);
}

/* ---- without it -------------------------------------------------------------------------------------------------- */

/* From the writer that a notice named, if that is enough.  Page locked. */
static bool page_by_notice(struct tw_proc *me, tw_page_t p)
{
	const struct ts_page *x = ts_page(me, p);
	unsigned from = x->need_from - 1u;

	if (!x->need_from || from == me->node || x->need <= atomic_load(&x->rts) || x->need < page_until(me, p))
		return false;
	if (page_word(me, p, from, offsetof(struct ts_meta, home)) & TS_ALONE)
		return false;
	page_read(me, p, from);
	page_has(me, p, x->need, x->need_rts);
	return true;
}

/* By the stamp at @node, if that is late enough.  Page locked. */
static bool page_by_stamp(struct tw_proc *me, tw_page_t p, unsigned node)
{
	struct ts_page *x = ts_page(me, p);
	uint64_t stamp = page_word(me, p, node, offsetof(struct ts_meta, stamp));
	struct ts_newest n = {.wts = ts_stamp_wts(stamp), .rts = ts_stamp_rts(stamp)};

	if (n.rts < page_until(me, p) || (x->copy && n.wts < x->wts))
		return false;
	uint64_t home = page_word(me, p, node, offsetof(struct ts_meta, home));
	n.home = (home ? (unsigned)(uint32_t)home : me->page[p].home) - 1u;
	if (!ts_held(me, p, &n)) {
		if (page_word(me, p, n.home, offsetof(struct ts_meta, home)) & TS_ALONE)
			return false;
		page_read(me, p, n.home);
	}
	page_has(me, p, n.wts, n.rts);
	return true;
}

static bool page_by_look(struct tw_proc *me, tw_page_t p)
{
	unsigned node = me->node, next;

	for (unsigned hops = 0; hops <= LOOK_HOPS; hops++, node = next) {
		if (page_by_stamp(me, p, node)) {
			me->stats->now.coalesced_fetches++;
			return true;
		}
		next = ts_section_next(me, p, node);
		if (next == node)
			break;
	}
	return false;
}

/* Is the copy valid, or made so without the section?  Page locked. */
static bool page_valid_cheaply(struct tw_proc *me, tw_page_t p)
{
	return page_valid(me, p) || page_by_notice(me, p) || page_by_look(me, p);
}

/* Lock @p with a valid copy. */
static void page_lock_valid(struct tw_proc *me, tw_page_t p)
{
	for (;;) {
		tw_page_lock(me, p);
		tw_home_claim(me, p);
		if (page_valid_cheaply(me, p))
			return;
		tw_page_unlock(me, p);
		page_fetch(me, p, ts_section_enter(me, p));
	}
}

bool ts_updates(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);
	bool credit = x->left > 0;

	x->left -= credit;
	return (credit && !tw_polled(me, p)) || ts_of(me)->pins[p];
}

void ts_refresh(struct tw_proc *me, tw_page_t p)
{
	page_lock_valid(me, p);
	tw_page_unlock(me, p);
	me->stats->now.updates++;
	tw_trace_page(me, TW_TRACE_update, p);
}

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

static void page_map(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	enum tw_rights have = ts_rights(me, p);
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
		tw_trace_page(me, TW_TRACE_twin, p);
	}
	if (ts_rights(me, p) != TW_WRITE) {
		x->silent = 1;
		x->keep = me->config.race ? 0 : (uint8_t)me->config.keep;
	}
	page_map(me, p, TW_WRITE);
	me->page[p].writers |= ts_bit(me);
	tw_pageset_add(me->dirty, p);
}

void ts_unmap(struct tw_proc *me, tw_page_t p)
{
	tw_map(me, p, 1, ts_rights(me, p), TW_NONE);
	me->page[p].mapped &= ~ts_bit(me);
	ts_page(me, p)->unmapped = 1;
	me->stats->now.invalidations++;
	tw_trace_page(me, TW_TRACE_invalidation, p);
}

/* The same for a fault.  Wanted again after it was unmapped: it is worth updates in place, and after those more of
 * them. */
static void page_lock_fault(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	page_lock_valid(me, p);
	if (x->unmapped)
		x->left = x->credits = (uint8_t)TW_MIN(TW_MAX(2u * x->credits, 1u), me->config.updates);
	x->unmapped = 0;
}

/* @p is locked, with a valid copy. */
static void page_map_read(struct tw_proc *me, tw_page_t p)
{
	if (me->page[p].writers & ts_bit(me))
		page_map_write(me, p); /* was invalid and dirty */
	else
		page_map(me, p, TW_READ);
}

/* Read @p, if it is not mapped and has a home: also by its section, that is at another node's cost, only if @sure.
 * Returns whether. */
static bool page_ahead(struct tw_proc *me, tw_page_t p, bool sure)
{
	tw_page_lock(me, p);
	bool wanted = !tw_polled(me, p) && !(me->page[p].mapped & ts_bit(me)) && tw_home_get(me, p) >= 0 &&
	              tw_home_tentative(me, p) < 0;
	if (!wanted || (!sure && !page_valid_cheaply(me, p))) {
		tw_page_unlock(me, p);
		return false;
	}
	tw_page_unlock(me, p);
	page_lock_fault(me, p);
	page_map_read(me, p);
	tw_page_unlock(me, p);
	me->stats->now.prefetched_reads++;
	return true;
}

void ts_prefetch(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++)
		page_ahead(me, p, true);
}

/* How many pages to read at a fault on @p: runs of sequential faults double, or have the length that the runs before
 * had. */
static unsigned stream_window(struct tw_proc *me, struct ts_stream *s, tw_page_t p)
{
	unsigned window = 1;

	if (p != s->next) {
		s->same = s->run == s->last && s->same < STREAM_AGAIN ? s->same + 1 : 0;
		s->last = s->run;
		s->run = 0;
	}
	if (s->same >= STREAM_TRUSTED && s->run < s->last)
		window = s->last - s->run;
	else if (s->run >= STREAM_BEGINS)
		window = s->run;
	window = TW_MAX(TW_MIN(window, (unsigned)me->config.prefetch), 1u);
	return (unsigned)TW_MIN(window, me->layout.pages - p);
}

void ts_read_fault(struct tw_proc *me, tw_page_t p)
{
	struct ts_stream *s = &ts_of(me)->reads;
	unsigned window = stream_window(me, s, p), n = 1;
	bool sure = s->run >= STREAM_SURE || s->same >= STREAM_TRUSTED;

	page_lock_fault(me, p);
	page_map_read(me, p);
	tw_page_unlock(me, p);
	while (n < window && page_ahead(me, p + n, sure))
		n++;
	s->next = p + n;
	s->run += n;
}

void ts_write_fault(struct tw_proc *me, tw_page_t p)
{
	/* A polled page was fetched when that was right; the commit merges, whatever the copy's age. */
	if (tw_polled(me, p) && (me->page[p].mapped & ts_bit(me)))
		tw_page_lock(me, p);
	else
		page_lock_fault(me, p);
	page_map_write(me, p);
	tw_page_unlock(me, p);
}

int ts_pin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++) {
		if (ts_of(me)->pins[p]++ == 0)
			ts_write_fault(me, p);
	}
	return 0;
}

void ts_unpin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++)
		if (ts_of(me)->pins[p])
			ts_of(me)->pins[p]--;
}
