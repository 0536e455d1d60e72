/* SPDX-License-Identifier: BSD-3-Clause */
/* window.c - rights on a page, or on a window of neighbouring pages (Cashmere-2L, section 2.4.1).
 *
 * Steps: lock; publish the right that this node wants in the directory; flush; read the local replica.  Another node
 * that races does the same, so at least one sees the other (doc/internals/publication.md).  Then: end another node's
 * exclusive mode, fetch if the copy is too old, make a twin, map, unlock.  The page locks are released only while a
 * holder is asked to end exclusive mode, or for a shootdown; then all steps start again.  Every published word is
 * flushed before its page is unlocked, because the next word may be written through another endpoint of this node.
 *
 * Over a network each of these steps would be a round trip.  But a read is performed behind earlier writes to the same
 * node.  So the breaks that notify a home go along with the read of its pages.  So does, where there are but two nodes,
 * the word that this node wants to read a page: with a break, whatever the replica says, for the home may become
 * exclusive until the word arrives there (TOGETHER in tests/models/home_notice.pml). */
#include <string.h>

#include "protocols/cashmere/cashmere.h"

#define WINDOW_NOTIFIED 0x4000 /* beside a node in cash.holder: that node is the pages' home */

/* Is the page @n behind the window's page @i its neighbour in memory, too? */
static bool window_runs_on(const struct cash_window *w, unsigned i, unsigned n)
{
	return i + n < w->count && w->page[i + n] == w->page[i] + n;
}

/* The directory word that this node has published. */
static uint64_t window_published(struct tw_proc *me, tw_page_t p)
{
	return tw_dir_word(me, p, me->node);
}

/* Is the node's copy too old for this processor?  Section 2.4.1: older than the last write notice and than the
 * processor's last acquire; exactly, if there was a notice between copy and acquire.  A copy fetched in exclusive
 * mode never is: a notice received since was sent before, and the node's writes, which have no twin, are newer
 * (tests/models/claim.pml). */
static bool window_stale(struct tw_proc *me, const struct tw_page *e)
{
	if (cash_is_home(me, e))
		return false;
	if (e->ts_update == 0)
		return true;
	/* With fences, a neighbour may have read a flag and so brought it to the node; its acquire was later. */
	return !(e->state & CASH_EXCLUSIVE) && e->ts_update < e->ts_notice &&
	       (e->ts_notice < me->acquire_ts || cash_fences(me));
}

/* May page @i of the window (locked), which has not faulted, come along?  Only where a wrong guess costs little.  A
 * home is claimed only for the window's first pages (cash_guess.fresh).  A page whose write would send notices is
 * taken only if it was written the last time.  A page that another node holds exclusively is taken only when the
 * guess is sure. */
static bool window_admits(struct tw_proc *me, unsigned i, const struct cash_window *w)
{
	tw_page_t p = w->page[i];
	struct tw_page *e = &me->page[p];
	enum tw_rights have = cash_rights(me, e);

	if ((e->state & CASH_BUSY) || have >= w->want || !cash_ordinary(me, p))
		return false;
	if (tw_home_get(me, p) < 0)
		return i < w->fresh;
	if (!e->home)
		return false;
	if (have == TW_NONE && (e->twin || (e->writers & cash_bit(me))))
		return false;
	if (e->state & CASH_EXCLUSIVE)
		return true;
	if (w->want == TW_READ)
		return w->sure || cash_holder(me, p, -1) < 0;
	if (i < w->known || !cash_shared(me, p))
		return true;
	return !cash_is_home(me, e) && (have == TW_READ || w->sure);
}

/* Lock the pages of the window, and leave out those that may not come along.  A list of neighbours ends before the
 * first of these.  So does any list in later rounds, which know pages by their number in the list. */
static void window_lock(struct tw_proc *me, struct cash_window *w)
{
	unsigned n = 0;

	if (w->faulted) {
		cash_lock(me, w->page[n++]);
		struct tw_page *e = &me->page[w->page[0]];
		if (!w->enter && (e->writers & cash_bit(me)) && cash_rights(me, e) == TW_NONE) {
			/* Invalidated with unflushed writes: still dirty, it becomes writable again at once. */
			w->want = TW_WRITE;
			w->count = 1;
		}
	}
	for (unsigned i = n; i < w->count; i++) {
		bool locked = tw_page_trylock(me, w->page[i]);
		if (locked && window_admits(me, i, w)) {
			w->page[n++] = w->page[i];
			continue;
		}
		if (locked)
			tw_page_unlock(me, w->page[i]);
		if (!w->scattered || w->locked)
			break;
	}
	w->count = n;
	w->locked = true;
}

static void window_unlock(struct tw_proc *me, const struct cash_window *w)
{
	for (unsigned i = 0; i < w->count; i++)
		tw_page_unlock(me, w->page[i]);
}

/* Publish the wanted right for one page.  A lone writer claims exclusive mode, unless the page has a twin: flushing
 * its changes costs less than the merge with the whole page that a claim fetches.  Returns whether a word was
 * written. */
static bool window_publish_page(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct tw_page *e = &me->page[p];
	uint64_t now = window_published(me, p);

	tw_home_claim(me, p);
	if (e->state & CASH_EXCLUSIVE)
		return false;
	if (want == TW_WRITE && !e->twin && !me->config.race && !cash_shared(me, p) && cash_ordinary(me, p))
		cash_publish(me, p, TW_WRITE | TW_DIR_EXCLUSIVE | (uint64_t)(me->local + 1) << TW_DIR_HOLDER_SHIFT);
	else if ((now & TW_DIR_RIGHTS) < want)
		cash_publish(me, p, want);
	else
		return false;
	return true;
}

/* After the flush: is the claim alone?  Returns true when it was withdrawn, by a word that must be flushed. */
static bool window_confirm_page(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	if ((e->state & CASH_EXCLUSIVE) || !(window_published(me, p) & TW_DIR_EXCLUSIVE))
		return false;
	if (cash_shared(me, p)) {
		cash_publish(me, p, TW_WRITE);
		return true;
	}
	cash_peeked_ends(e); /* the master gets old */
	e->state |= CASH_EXCLUSIVE;
	/* A break will send the whole page home, so the copy must lack nothing that others sent there: fetch anew
	 * (claim.pml). */
	if (!cash_is_home(me, e))
		e->ts_update = 0;
	me->stats->now.exclusive_transitions++;
	tw_trace_page(me, TW_TRACE_exclusive_enter, p);
	return false;
}

/* Read the homes, after this node's words are published.  A home that is here stays here, because the words say that
 * it writes. */
static void window_homes(struct tw_proc *me, const struct cash_window *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		tw_page_t p = w->page[i];
		if (me->page[p].state & CASH_EXCLUSIVE)
			continue;
		if (w->want == TW_WRITE && cash_is_home(me, &me->page[p]))
			cash_home_settled(me, p);
		else
			tw_home_refresh(me, p);
	}
}

/* Take the homes of the pages about to be written, where possible.  A page that was exclusive before this fault
 * stays as it is: its frame is newer than the master. */
static void window_migrate(struct tw_proc *me, const struct cash_window *w)
{
	for (unsigned i = 0; i < w->count; i++)
		if (!(me->page[w->page[i]].state & CASH_EXCLUSIVE) || (w->claimed[i / 64] >> i % 64 & 1))
			cash_migrate(me, w->page[i]);
}

/* Was the home of the window's page @i notified, so that it sends this node notices from then on?  Not if this
 * node's word was withdrawn since, even if a neighbour has published it again: the home may have become exclusive
 * anew (tests/models/home_notice.pml).  Nor if the home moved: the new home may have become so in exclusive mode. */
static bool window_notified(struct tw_proc *me, const struct cash_window *w, unsigned i)
{
	return (w->notified[i / 64] >> i % 64 & 1) && cash_of(me)->notified_home[i] == me->page[w->page[i]].home &&
	       cash_of(me)->notified_at[i] == cash_extra(me, w->page[i])->withdrawn;
}

/* Page locked. */
static void window_notify(struct tw_proc *me, struct cash_window *w, unsigned i)
{
	w->notified[i / 64] |= (uint64_t)1 << i % 64;
	cash_of(me)->notified_home[i] = me->page[w->page[i]].home;
	cash_of(me)->notified_at[i] = cash_extra(me, w->page[i])->withdrawn;
}

/* The one home, + 1, at which all pages of the window are to be read; 0: there is none, or reads are no messages.  A
 * claim of exclusive mode is confirmed before the page is read. */
static unsigned window_one_home(struct tw_proc *me, const struct cash_window *w)
{
	unsigned home = me->page[w->page[0]].home;

	if (w->enter || home == me->node + 1 || me->net->ops->direct || cash_migrates(me) || cash_shoots(me) ||
	    me->config.race)
		return 0;
	for (unsigned i = 0; i < w->count; i++)
		if (me->page[w->page[i]].home != home ||
		    (w->want == TW_WRITE && (window_published(me, w->page[i]) & TW_DIR_EXCLUSIVE)))
			return 0;
	return home;
}

/* Have the home's exclusive mode of these pages end along with the read of the window.  Returns whether that is
 * possible. */
static bool window_break_along(struct tw_proc *me, struct cash_window *w, const uint64_t *pages)
{
	unsigned home = window_one_home(me, w);

	if (!home || !tw_notice_room(me, home - 1, w->count) || tw_planted(me, "no-break-wait"))
		return false;
	for (unsigned i = 0; i < w->count; i++)
		if (pages[i / 64] >> i % 64 & 1) {
			window_notify(me, w, i);
			tw_notice_break(me, home - 1, w->page[i]);
		}
	tw_notice_follow(me, home - 1);
	w->along = true;
	return true;
}

static void window_publish(struct tw_proc *me, struct cash_window *w)
{
	uint64_t pages[CASH_WINDOW_MAX / 64] = {0};
	bool flush = false;

	w->along = false;
	for (unsigned i = 0; i < w->count; i++) {
		bool absent = !(window_published(me, w->page[i]) & TW_DIR_RIGHTS);

		if (!window_publish_page(me, w->page[i], w->want))
			continue;
		pages[i / 64] |= (uint64_t)absent << i % 64;
		flush = true;
	}
	if (flush && me->nodes == 2 && window_break_along(me, w, pages))
		return;
	if (flush)
		tw_net_flush(me->net, TW_NET_ALL);
	if (cash_migrates(me))
		window_homes(me, w);
	if (!flush)
		return;
	flush = false;
	for (unsigned i = 0; i < w->count; i++) {
		bool before = me->page[w->page[i]].state & CASH_EXCLUSIVE;
		flush |= window_confirm_page(me, w->page[i]);
		if (!before && (me->page[w->page[i]].state & CASH_EXCLUSIVE))
			w->claimed[i / 64] |= (uint64_t)1 << i % 64;
	}
	if (flush)
		tw_net_flush(me->net, TW_NET_ALL);
}

/* Withdraw the claims of this round: the window is unlocked before the pages are fetched, and a break would send
 * home contents that this node never had. */
static void window_unclaim(struct tw_proc *me, struct cash_window *w)
{
	bool flush = false;

	for (unsigned i = 0; i < w->count; i++) {
		if (!(w->claimed[i / 64] >> i % 64 & 1))
			continue;
		me->page[w->page[i]].state &= ~CASH_EXCLUSIVE;
		cash_publish(me, w->page[i], TW_WRITE);
		flush = true;
	}
	if (flush)
		tw_net_flush(me->net, TW_NET_ALL);
	memset(w->claimed, 0, sizeof(w->claimed));
}

/* The other node whose exclusive mode must end before this node copies the window's page @i; -1: none.  A notified
 * home does not exclude a holder elsewhere: the home's word may be a claim that it withdraws because of that holder. */
static int window_holder(struct tw_proc *me, const struct cash_window *w, unsigned i)
{
	const struct tw_page *e = &me->page[w->page[i]];

	if (e->state & CASH_EXCLUSIVE)
		return -1;
	return cash_holder(me, w->page[i], window_notified(me, w, i) ? e->home - 1 : -1);
}

/* Have all holders in the window end exclusive mode, each on its runs of pages.  Returns true, with the window
 * unlocked, if there were any, unless that goes along with the read. */
static bool window_break(struct tw_proc *me, struct cash_window *w)
{
	int16_t *holder = cash_of(me)->holder;
	uint64_t homes[CASH_WINDOW_MAX / 64] = {0};
	bool others = false, notified = false;

	for (unsigned i = 0; i < w->count; i++) {
		holder[i] = (int16_t)window_holder(me, w, i);
		if (holder[i] < 0)
			continue;
		if (me->page[w->page[i]].home != holder[i] + 1) {
			others = true;
			continue;
		}
		/* The home's word may be a claim that it withdraws because of a holder elsewhere. */
		others |= cash_holder(me, w->page[i], holder[i]) >= 0;
		homes[i / 64] |= (uint64_t)1 << i % 64;
		notified = true;
	}
	if (!others && (!notified || window_break_along(me, w, homes)))
		return false;
	if (w->along)
		tw_net_flush(me->net, TW_NET_ALL);
	for (unsigned i = 0; i < w->count; i++)
		if (homes[i / 64] >> i % 64 & 1) {
			window_notify(me, w, i);
			holder[i] |= WINDOW_NOTIFIED;
		}
	window_unclaim(me, w);
	window_unlock(me, w);
	for (unsigned i = 0, n; i < w->count; i += n) {
		for (n = 1; window_runs_on(w, i, n) && holder[i + n] == holder[i]; n++)
			;
		if (holder[i] < 0)
			continue;
		if (holder[i] & WINDOW_NOTIFIED)
			cash_notify_home(me, holder[i] & ~WINDOW_NOTIFIED, w->page[i], n);
		else
			cash_break(me, (unsigned)holder[i], w->page[i], n);
	}
	return notified || !tw_planted(me, "no-break-wait");
}

/* With shootdown: must the writes of the node's processors to a page of the window be flushed before the page is
 * fetched?  If so, does it and returns true, with the window unlocked. */
static bool window_shoot(struct tw_proc *me, struct cash_window *w)
{
	if (!cash_shoots(me))
		return false;
	for (unsigned i = 0; i < w->count; i++) {
		struct tw_page *e = &me->page[w->page[i]];
		if (!e->twin || cash_is_home(me, e) || (e->ts_update != 0 && cash_rights(me, e) != TW_NONE) ||
		    !window_stale(me, e))
			continue;
		window_unclaim(me, w);
		window_unlock(me, w);
		cash_flush_neighbours(me, w->page[i]);
		return true;
	}
	return false;
}

static bool window_must_fetch(struct tw_proc *me, struct tw_page *e)
{
	if (cash_is_home(me, e))
		return false;
	if (e->ts_update != 0 && cash_rights(me, e) != TW_NONE)
		return false;
	if (window_stale(me, e))
		return true;
	me->stats->now.coalesced_fetches++;
	return false;
}

/* Returns whether something was read. */
static bool window_fetch(struct tw_proc *me, const struct cash_window *w)
{
	bool fetched = false;

	for (unsigned i = 0; i < w->count; i++) {
		struct cash_extra *x = cash_extra(me, w->page[i]);
		if (!window_must_fetch(me, &me->page[w->page[i]]))
			continue;
		cash_fetch(me, w->page[i]);
		fetched = true;
		/* It is wanted again, before a second notice: an update in place would have been used.  So it gets
		 * credits for updates, more each time. */
		if (x->fetched && cash_rights(me, &me->page[w->page[i]]) == TW_NONE)
			x->left = x->credits =
			    x->missed ? x->credits / 2
			              : (uint8_t)TW_MIN(TW_MAX(2u * x->credits, 1u), cash_parameters(me)->refresh);
		x->fetched = 1;
		x->missed = 0;
	}
	if (fetched)
		cash_fetched(me);
	return fetched;
}

/* Twins separate local from remote changes: needed where a page is written away from its home and not exclusively. */
static void window_twin(struct tw_proc *me, const struct cash_window *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		tw_page_t p = w->page[i];
		struct tw_page *e = &me->page[p];
		if (e->state & CASH_EXCLUSIVE) {
			if (e->twin)
				tw_twin_destroy(me, p);
		} else if (!cash_is_home(me, e) && !e->twin && !cash_doubles(me)) {
			memcpy(tw_twin_create(me, p), tw_frame(me, p), me->layout.page_bytes);
		}
	}
}

/* Retention: a page (locked) is written; how many releases may leave it writable?  At home, where no twin shows
 * whether it was written, it then counts as written, and each notice may cause a useless fetch; elsewhere it is
 * compared.  So only pages that trap again soon after a release took the right are granted it, which would have
 * spared the trap; more each time. */
static void window_retention(struct tw_proc *me, tw_page_t p)
{
	struct cash_extra *x = cash_extra(me, p);
	bool again = (uint8_t)(cash_of(me)->releases - x->trapped) < cash_retention(me);

	x->granted = again ? (uint8_t)TW_MIN(TW_MAX(2u * x->granted, 1u), cash_retention(me)) : 0;
	x->patience = (uint8_t)x->granted;
}

static void window_map(struct tw_proc *me, const struct cash_window *w)
{
	uint64_t bit = cash_bit(me);

	for (unsigned i = 0, n; i < w->count; i += n) {
		enum tw_rights have = cash_rights(me, &me->page[w->page[i]]);
		for (n = 1; window_runs_on(w, i, n) && cash_rights(me, &me->page[w->page[i + n]]) == have; n++)
			;
		if (have < w->want)
			tw_map(me, w->page[i], n, have, w->want);
	}
	for (unsigned i = 0; i < w->count; i++) {
		struct tw_page *e = &me->page[w->page[i]];
		cash_migratory_turn(me, w->page[i], w->want);
		e->mapped |= bit;
		cash_of(me)->past[w->page[i]].got[w->want == TW_WRITE] = cash_of(me)->releases;
		/* The copy is old, but not yet too old for this processor.  The notice was distributed while it had
		 * no mapping: check again at its next acquire. */
		if (!cash_is_home(me, e) && e->ts_update < e->ts_notice)
			tw_pageset_add(me->notices, w->page[i]);
		if (w->want == TW_WRITE) {
			e->writers |= bit;
			if (w->claimed[i / 64] >> i % 64 & 1)
				cash_migratory_taken(me, w->page[i]);
			if (e->state & CASH_EXCLUSIVE)
				continue;
			tw_pageset_add(me->dirty, w->page[i]);
			if (w->replay)
				cash_extra(me, w->page[i])->patience = 0;
			else
				window_retention(me, w->page[i]);
		}
	}
}

/* The node is in the directory: keep the page's home where it is, as flush_announce does for a diff. */
static void window_steady(struct tw_proc *me, tw_page_t p)
{
	if (!cash_migrates(me))
		return;
	cash_extra(me, p)->steady = 1;
	cash_publish(me, p, window_published(me, p) & TW_DIR_RIGHTS);
	tw_net_flush(me->net, TW_NET_ALL);
	cash_home_settled(me, p);
}

void cash_window_take(struct tw_proc *me, struct cash_window *w)
{
	enum tw_rights want = w->want;

	if (me->trails)
		tw_trail_settle(me); /* in the acquire behind a barrier */
	w->locked = false;
	if (w->count > 1)
		tw_home_learn(me, w->page, w->count);
	do {
		if (w->faulted)
			cash_settle(me, w->page[0]);
		w->want = want;
		window_lock(me, w);
		if (!w->count)
			return;
		window_publish(me, w);
	} while (window_break(me, w) || (!w->enter && window_shoot(me, w)));
	for (unsigned i = 0; i < w->count; i++)
		cash_extra(me, w->page[i])->entered = 1;
	if (w->enter) {
		window_steady(me, w->page[0]);
		window_unlock(me, w);
		return;
	}
	if (cash_migrates(me) && w->want == TW_WRITE)
		window_migrate(me, w);
	if (!window_fetch(me, w) && w->along)
		tw_net_flush(me->net, TW_NET_ALL);
	if (w->want == TW_WRITE)
		window_twin(me, w);
	window_map(me, w);
	window_unlock(me, w);
}

void cash_window_enter(struct tw_proc *me, tw_page_t p)
{
	struct cash_window w = {.page = &p, .count = 1, .want = TW_READ, .faulted = true, .enter = true};

	cash_window_take(me, &w);
}

unsigned cash_prefetch_list(struct tw_proc *me, unsigned count, enum tw_rights want, bool replay)
{
	struct cash_window w = {.page = cash_of(me)->window,
	                        .count = count,
	                        .want = want,
	                        .scattered = true,
	                        .replay = replay,
	                        .sure = true,
	                        .known = CASH_WINDOW_MAX};

	if (!count)
		return 0;
	cash_window_take(me, &w);
	return w.count;
}

unsigned cash_prefetch_run(struct tw_proc *me, tw_page_t first, unsigned count, enum tw_rights want)
{
	unsigned along = 0;

	count = (unsigned)TW_MIN(count, me->layout.pages - first);
	for (unsigned done = 0, n; done < count; done += n) {
		for (n = 0; n < CASH_WINDOW_MAX && done + n < count; n++)
			cash_of(me)->window[n] = first + done + n;
		along += cash_prefetch_list(me, n, want, false);
	}
	return along;
}
