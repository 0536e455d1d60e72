/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c - how a copy becomes valid: by a notice, by a look at the chain, or in the critical section.
 *
 * The *public* copy of a page, in exported memory of the protocol's own, is what other nodes read; it is also the
 * twin of the frame while processors here write.  It holds committed bytes only, and only newer ones ever replace
 * them.  So a reader that a notice sends here finds the noticed version or a later one, byte by byte, also in the
 * middle of a merge or a fetch.
 *
 * A look takes a stamp (w, r) wherever one is found.  "Version w is the newest up to time r" stays true for ever, so
 * it is of use while r is late enough, whether the chain still ends there or not.  The home is written before the
 * stamp and read after it: so what is read there is w or later, complete. */
#include "protocols/timestamp/timestamp.h"

#include <string.h>

#define LOOK_HOPS  4u /* links followed by a look */
#define LEASE_MOST ((uint64_t)1 << 20)

void ts_race(void *ctx, size_t offset, const void *bytes, size_t len)
{
	const struct ts_race *r = ctx;
	(void)bytes;
	tw_race_found(r->me, r->page, offset, len, r->other);
}

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

/* What @node's ts_meta says.  The home is read behind the stamp: a stamp is published behind its home. */
struct page_words {
	uint64_t link, hand, stamp, home;
};
_Static_assert(offsetof(struct ts_meta, home) == offsetof(struct page_words, home), "they are its first words");

static void page_words(struct tw_proc *me, tw_page_t p, unsigned node, struct page_words *w)
{
	bool ascends = me->net->ops->caps & TW_NET_ASCENDING_READS;

	tw_net_read(me->net, node, ts_meta_offset(me, p), w, ascends ? sizeof(*w) : offsetof(struct page_words, home));
	tw_net_read_wait(me->net);
	if (!ascends)
		w->home = page_word(me, p, node, offsetof(struct ts_meta, home));
}

static void page_mark_read(struct tw_proc *me, tw_page_t p, unsigned node)
{
	tw_net_write64(me->net, node, ts_meta_offset(me, p) + offsetof(struct ts_meta, read), 1);
}

/* Ask for the public or the shared copy that @node has, or for the shared copy that this node has entered.  Returns
 * where it goes: the frame, if no processor here writes to it. */
static char *page_ask(struct tw_proc *me, tw_page_t p, unsigned node, bool shared)
{
	int entered = ts_entered(ts_page(me, p));
	char *to = me->page[p].writers ? ts_of(me)->scratch : tw_frame(me, p);

	if (entered >= 0) {
		node = (unsigned)entered;
		shared = true;
	}
	me->stats->now.page_transfers++;
	page_mark_read(me, p, node);
	tw_trace(me, TW_TRACE_fetch, node, p, me->layout.page_bytes, 0);
	tw_net_read(me->net, node, ts_copy_offset(me, p, shared), to, me->layout.page_bytes);
	return to;
}

/* What was read from @node is at @to. */
static void page_came(struct tw_proc *me, tw_page_t p, unsigned node, const char *to)
{
	size_t bytes = me->layout.page_bytes;

	tw_trace_page(me, TW_TRACE_fetched, p);
	if (!me->page[p].writers) {
		ts_page(me, p)->twin = 0;
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

void ts_read(struct tw_proc *me, tw_page_t p, unsigned node, bool shared)
{
	const char *to = page_ask(me, p, node, shared);

	tw_net_read_wait(me->net);
	page_came(me, p, node, to);
}

/* Read the newest version, or take it where it was read when its exclusive mode was ended. */
static void page_read_newest(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	const char *scratch = ts_of(me)->scratch;

	if (!n->ended || ts_entered(ts_page(me, p)) >= 0) {
		ts_read(me, p, n->home, n->shared);
		return;
	}
	me->stats->now.page_transfers++;
	tw_trace(me, TW_TRACE_fetch, n->home, p, me->layout.page_bytes, 0);
	page_mark_read(me, p, n->home);
	if (!me->page[p].writers)
		memcpy(tw_frame(me, p), scratch, me->layout.page_bytes);
	page_came(me, p, n->home, scratch);
}

void ts_has(struct tw_proc *me, tw_page_t p, uint64_t wts, uint64_t rts)
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
	struct page_words w;

	/* Nobody changes them outside the section. */
	page_words(me, p, end, &w);
	uint64_t stamp = w.stamp, home = w.home;

	n->wts = ts_stamp_wts(stamp);
	n->rts = ts_stamp_rts(stamp);
	n->end = end;
	n->home = ts_home_node(me, p, home);
	n->shared = home & TS_SHARED;
	n->ended = (home & TS_EXCLUSIVE) && n->home != me->node && !tw_planted(me, "ts-no-break");
	if (n->ended)
		ts_break(me, p, n->home);
}

bool ts_held(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	const struct ts_page *x = ts_page(me, p);
	/* Version 0 is zeros, and what this node has done to the shared copy. */
	return (n->home == me->node && !n->shared) || (x->copy && x->wts == n->wts) ||
	       (n->wts == 0 && ts_entered(x) < 0);
}

void ts_publish(struct tw_proc *me, tw_page_t p, uint64_t wts, uint64_t rts, uint64_t home)
{
	struct ts_meta *m = ts_meta(me, p);
	if (rts - wts >= (uint64_t)1 << TS_LEASE_BITS)
		tw_fatal("TS: page %u was read for too long without a write", p);
	atomic_store(&m->home, home + 1);
	atomic_store(&m->stamp, ts_stamp(wts, rts));
}

void ts_twin(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	if (x->twin)
		return;
	memcpy(ts_public(me, p), tw_frame(me, p), me->layout.page_bytes);
	x->twin = 1;
	me->stats->now.twins++;
	tw_trace_page(me, TW_TRACE_twin, p);
}

/* The same where the newest version is @n, and remains where it is. */
static void page_publish(struct tw_proc *me, tw_page_t p, const struct ts_newest *n, uint64_t wts, uint64_t rts)
{
	uint64_t mode = n->shared ? TS_SHARED : 0;

	if (n->home == me->node)
		mode |= atomic_load(&ts_meta(me, p)->home) & TS_EXCLUSIVE;
	ts_publish(me, p, wts, rts, n->home | mode);
}

void ts_publish_again(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	page_publish(me, p, n, n->wts, n->rts);
}

/* Grant this node's copy, which is @n, more time.  In the section, page locked. */
static void page_grant(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	uint64_t now = atomic_load(&ts_of(me)->own->min_wr_ts), wts = n->wts;
	/* The clock may be ahead: a release may merge notices of later writes than it has acquired. */
	uint64_t clock = atomic_load(&ts_of(me)->node->clock);
	uint64_t lease = TW_MIN(ts_parameters(me)->lease << ts_page(me, p)->lease, LEASE_MOST);
	uint64_t rts = TW_MAX(TW_MAX(now, clock), wts) + lease;

	rts = TW_MAX(TW_MAX(rts, ts_page(me, p)->need), n->rts);
	/* No lease can be that long: count a version in which nothing changed. */
	if (rts - wts >= (uint64_t)1 << TS_LEASE_BITS)
		wts = TW_MAX(n->rts + 1, rts - lease);
	page_publish(me, p, n, wts, TW_MAX(rts, wts));
	ts_has(me, p, wts, TW_MAX(rts, wts));
}

/* In the section, whose state is at @end: get a valid copy, and leave the section.  No page lock held. */
static void page_fetch(struct tw_proc *me, tw_page_t p, unsigned end)
{
	struct ts_page *x = ts_page(me, p);
	struct ts_newest n;

	ts_newest_read(me, p, end, &n);
	tw_page_lock(me, p);
	bool held = ts_held(me, p, &n);
	if (!held)
		page_read_newest(me, p, &n);
	x->lease = held && x->copy ? (uint8_t)TW_MIN(x->lease + 1u, ts_parameters(me)->doublings) : 0;
	page_grant(me, p, &n);
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}

void ts_renew(struct tw_proc *me, tw_page_t p)
{
	if (ts_section_try(me, p))
		page_fetch(me, p, me->node);
}

/* ---- without the section ----------------------------------------------------------------------------------------- */

/* Is it enough to fetch the page (locked) from where the notice says? */
static bool page_noticed(struct tw_proc *me, tw_page_t p)
{
	const struct ts_page *x = ts_page(me, p);

	return x->need_from && x->need_from - 1u != me->node && x->need > atomic_load(&x->rts) &&
	       x->need >= page_until(me, p);
}

static unsigned page_notice_node(const struct ts_page *x)
{
	return (x->need_from - 1u) & ~TS_SHARED_COPY;
}

static bool page_notice_shared(const struct ts_page *x)
{
	return (x->need_from - 1u) & TS_SHARED_COPY;
}

/* Fetch from where the notice says, if that is enough.  Page locked. */
static bool page_by_notice(struct tw_proc *me, tw_page_t p)
{
	const struct ts_page *x = ts_page(me, p);
	unsigned node = page_notice_node(x);
	bool shared = page_notice_shared(x);

	if (!page_noticed(me, p))
		return false;
	if (!shared && (page_word(me, p, node, offsetof(struct ts_meta, home)) & TS_ALONE))
		return false;
	ts_read(me, p, node, shared);
	ts_has(me, p, x->need, x->need_rts);
	return true;
}

/* page_by_notice of several pages, locked, in two round trips.  The copies are asked for when the homes' words are
 * here: reads of one endpoint have no order, and a word read behind the copy says nothing of it (MARK_AFTER in
 * tests/models/timestamp.pml). */
static void page_by_notices(struct tw_proc *me, const tw_page_t *page, unsigned count)
{
	uint64_t home[TS_TOGETHER] = {0};
	bool asked[TS_TOGETHER];

	for (unsigned i = 0; i < count; i++) {
		const struct ts_page *x = ts_page(me, page[i]);
		if (!page_notice_shared(x))
			tw_net_read(me->net, page_notice_node(x),
			            ts_meta_offset(me, page[i]) + offsetof(struct ts_meta, home), &home[i],
			            sizeof(home[i]));
	}
	tw_net_read_wait(me->net);
	for (unsigned i = 0; i < count; i++) {
		const struct ts_page *x = ts_page(me, page[i]);
		asked[i] = !(home[i] & TS_ALONE);
		if (asked[i])
			page_ask(me, page[i], page_notice_node(x), page_notice_shared(x));
	}
	tw_net_read_wait(me->net);
	for (unsigned i = 0; i < count; i++) {
		struct ts_page *x = ts_page(me, page[i]);
		if (!asked[i])
			continue;
		tw_trace_page(me, TW_TRACE_fetched, page[i]);
		x->twin = 0;
		ts_has(me, page[i], x->need, x->need_rts);
	}
}

void ts_fetch_noticed(struct tw_proc *me, const tw_page_t *page, unsigned count)
{
	tw_page_t locked[TS_TOGETHER];
	unsigned n = 0;

	TW_ASSERT(count <= TS_TOGETHER);
	for (unsigned i = 0; i < count; i++) {
		if (!tw_page_trylock(me, page[i]))
			continue;
		if (ts_ordinary(me, page[i]) && page_noticed(me, page[i]) && !me->page[page[i]].writers)
			locked[n++] = page[i];
		else
			tw_page_unlock(me, page[i]);
	}
	if (n > 1)
		page_by_notices(me, locked, n);
	for (unsigned i = 0; i < n; i++)
		tw_page_unlock(me, locked[i]);
}

/* Use the stamp at @node, whose words are @w, if it is late enough.  Page locked. */
static bool page_by_stamp(struct tw_proc *me, tw_page_t p, unsigned node, const struct page_words *w)
{
	struct ts_page *x = ts_page(me, p);
	struct ts_newest n = {.wts = ts_stamp_wts(w->stamp), .rts = ts_stamp_rts(w->stamp)};

	if (n.rts < page_until(me, p) || (x->copy && n.wts < x->wts))
		return false;
	n.home = ts_home_node(me, p, w->home);
	n.shared = w->home & TS_SHARED;
	if (!ts_held(me, p, &n)) {
		uint64_t home = n.home == node ? w->home : page_word(me, p, n.home, offsetof(struct ts_meta, home));
		if (!n.shared && (home & TS_ALONE))
			return false;
		ts_read(me, p, n.home, n.shared);
	}
	ts_has(me, p, n.wts, n.rts);
	return true;
}

static bool page_by_look(struct tw_proc *me, tw_page_t p)
{
	unsigned node = me->node, next;
	struct page_words w;

	for (unsigned hops = 0; hops <= LOOK_HOPS; hops++, node = next) {
		page_words(me, p, node, &w);
		if (page_by_stamp(me, p, node, &w)) {
			me->stats->now.coalesced_fetches++;
			return true;
		}
		next = ts_section_next(me, p, node, w.link);
		if (next == node)
			break;
	}
	return false;
}

bool ts_valid_cheaply(struct tw_proc *me, tw_page_t p)
{
	return page_valid(me, p) || page_by_notice(me, p) || page_by_look(me, p);
}

void ts_lock_valid(struct tw_proc *me, tw_page_t p)
{
	for (;;) {
		tw_page_lock(me, p);
		tw_home_claim(me, p);
		if (ts_valid_cheaply(me, p))
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
	return (credit && ts_ordinary(me, p)) || ts_of(me)->pins[p];
}

void ts_refresh(struct tw_proc *me, tw_page_t p)
{
	ts_lock_valid(me, p);
	tw_page_unlock(me, p);
	me->stats->now.updates++;
	tw_trace_page(me, TW_TRACE_update, p);
}

void ts_unmap(struct tw_proc *me, tw_page_t p)
{
	tw_map(me, p, 1, ts_rights(me, p), TW_NONE);
	me->page[p].mapped &= ~ts_bit(me);
	ts_page(me, p)->unmapped = 1;
	me->stats->now.invalidations++;
	tw_trace_page(me, TW_TRACE_invalidation, p);
}
