/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.c - page faults (Cashmere-2L, section 2.4.1), one page or a window of neighbours at a time.
 *
 * A fault goes: lock; publish the right this node wants in the directory; flush; read the local replica.  Another
 * node that races with us does the same, so at least one sees the other (doc/internals/publication.md).  Then: break a foreign
 * exclusive mode, fetch if the copy is too old, make a twin, map, unlock.  The page locks are let go only while a
 * holder is asked to break; then everything starts again.  Every word published is flushed before its page is
 * unlocked, for the next word may come from another endpoint of this node. */
#include <errno.h>
#include <string.h>

#include "protocols/cashmere/cashmere.h"

#define WINDOW_NOTIFIED 0x4000 /* beside a node in cash.holder: the pages' home */

struct window {
	tw_page_t first;
	unsigned count;
	enum tw_rights want;
	bool replay;    /* none of its pages has faulted */
	bool sure;      /* its pages will very probably be used: may take them from other nodes */
	unsigned known; /* so many were, together: may also be written at their home while others have copies */
	unsigned fresh; /* cash_guess */
	uint64_t claimed[CASH_WINDOW_MAX / 64]; /* pages that this round took into exclusive mode */
	uint64_t notified[CASH_WINDOW_MAX / 64];    /* pages, counted from first, whose home was told in an earlier round */
};

/* The directory word this node has published. */
static uint64_t fault_published(struct tw_proc *me, tw_page_t p)
{
	return tw_dir_word(me, p, me->node);
}

/* Is the node's copy too old for this processor?  (Section 2.4.1: older than the last write notice and than its last
 * acquire; exactly, if there was a notice between it and that acquire.)  Never one that was fetched in exclusive
 * mode: a notice that came since was sent before, and the node's writes, of which there is no twin, are newer
 * (tests/models/claim.pml). */
static bool fault_stale(struct tw_proc *me, const struct tw_page *e)
{
	if (cash_is_home(me, e))
		return false;
	if (e->ts_update == 0)
		return true;
	/* A neighbour may have seen a flag, and brought it to the node, whose acquire was later than ours. */
	return !(e->state & CASH_EXCLUSIVE) && e->ts_update < e->ts_notice &&
	       (e->ts_notice < me->acquire_ts || me->polls.fence);
}

/* May @p (locked), which nobody asked for yet, come along with its neighbour?  Only where a wrong guess costs little:
 * a home is claimed only for the window's first pages, behind a run many times as long; no notice is sent for a page not written
 * unless it was the last time; and another node's page is taken only when the guess is sure. */
static bool fault_comes_along(struct tw_proc *me, tw_page_t p, const struct window *w)
{
	struct tw_page *e = &me->page[p];
	enum tw_rights have = cash_rights(me, e);

	if ((e->state & CASH_BUSY) || have >= w->want || tw_polled(me, p))
		return false;
	if (tw_home_get(me, p) < 0)
		return p - w->first < w->fresh;
	if (!e->home)
		return false;
	if (have == TW_NONE && (e->twin || (e->writers & cash_bit(me))))
		return false;
	if (e->state & CASH_EXCLUSIVE)
		return true;
	if (w->want == TW_READ)
		return w->sure || cash_holder(me, p, -1) < 0;
	if (p - w->first < w->known || !cash_shared(me, p))
		return true;
	return !cash_is_home(me, e) && (have == TW_READ || w->sure);
}

static void window_lock(struct tw_proc *me, struct window *w)
{
	unsigned want = (unsigned)TW_MIN(w->count, me->layout.pages - w->first);
	unsigned n = 1;

	cash_lock(me, w->first);
	struct tw_page *e = &me->page[w->first];
	if ((e->writers & cash_bit(me)) && cash_rights(me, e) == TW_NONE) {
		/* Invalidated while it has writes not yet flushed: it is still dirty, and becomes writable again at
		 * once. */
		w->want = TW_WRITE;
		want = 1;
	}
	for (; n < want && tw_page_trylock(me, w->first + n); n++)
		if (!fault_comes_along(me, w->first + n, w)) {
			tw_page_unlock(me, w->first + n);
			break;
		}
	w->count = n;
}

static void window_unlock(struct tw_proc *me, const struct window *w)
{
	cash_unlock_run(me, w->first, w->count);
}

/* Publish one page's wanted right; a lone writer claims exclusive mode, unless the page has a twin: its changes are
 * better flushed than merged with the whole page that a claim fetches.  Returns whether a word was written. */
static bool fault_publish(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct tw_page *e = &me->page[p];
	uint64_t now = fault_published(me, p);

	tw_home_claim(me, p);
	if (e->state & CASH_EXCLUSIVE)
		return false;
	if (want == TW_WRITE && !e->twin && !me->config.race && !cash_shared(me, p) && !tw_polled(me, p))
		tw_dir_publish(me, p, TW_WRITE | TW_DIR_EXCLUSIVE | (uint64_t)(me->local + 1) << TW_DIR_HOLDER_SHIFT);
	else if ((now & TW_DIR_RIGHTS) < want)
		tw_dir_publish(me, p, want);
	else
		return false;
	return true;
}

/* After the flush: is the claim alone?  Returns true when it had to be taken back (and must be flushed). */
static bool fault_confirm(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	if ((e->state & CASH_EXCLUSIVE) || !(fault_published(me, p) & TW_DIR_EXCLUSIVE))
		return false;
	if (cash_shared(me, p)) {
		tw_dir_publish(me, p, TW_WRITE);
		return true;
	}
	e->state |= CASH_EXCLUSIVE;
	/* The break will send the whole page home, so it must miss nothing that others put there: fetch anew
	 * (claim.pml). */
	if (!cash_is_home(me, e))
		e->ts_update = 0;
	me->stats->now.exclusive_transitions++;
	tw_trace_page(me, TW_TRACE_exclusive_enter, p);
	return false;
}

/* Has the home of the window's page @i been told, and owes this node notices ever since?  Not if our word was gone
 * meanwhile, though a neighbour may have published it again: the home may have become exclusive anew
 * (tests/models/put_signal.pml).  Nor if the home moved: who has it now may have taken it together with exclusive mode. */
static bool window_notified(struct tw_proc *me, const struct window *w, unsigned i)
{
	return (w->notified[i / 64] >> i % 64 & 1) && cash_of(me)->notified_home[i] == me->page[w->first + i].home &&
	       cash_of(me)->notified_at[i] == cash_extra(me, w->first + i)->withdrawn;
}

/* The page is still locked. */
static void window_notify(struct tw_proc *me, struct window *w, unsigned i)
{
	w->notified[i / 64] |= (uint64_t)1 << i % 64;
	cash_of(me)->notified_home[i] = me->page[w->first + i].home;
	cash_of(me)->notified_at[i] = cash_extra(me, w->first + i)->withdrawn;
}

/* Where are the homes, now that this node's words are published?  One that is here stays, for we said that we write. */
static void window_homes(struct tw_proc *me, const struct window *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		tw_page_t p = w->first + i;
		if (me->page[p].state & CASH_EXCLUSIVE)
			continue;
		if (w->want == TW_WRITE && cash_is_home(me, &me->page[p]))
			cash_home_settled(me, p);
		else
			tw_home_refresh(me, p);
	}
}

/* Take the homes of the pages about to be written, where that is possible.  A page that was exclusive before this
 * fault stays as it is: its frame is newer than the master. */
static void window_migrate(struct tw_proc *me, const struct window *w)
{
	for (unsigned i = 0; i < w->count; i++)
		if (!(me->page[w->first + i].state & CASH_EXCLUSIVE) || (w->claimed[i / 64] >> i % 64 & 1))
			cash_migrate(me, w->first + i);
}

static void window_publish(struct tw_proc *me, struct window *w)
{
	bool flush = false;

	for (unsigned i = 0; i < w->count; i++)
		flush |= fault_publish(me, w->first + i, w->want);
	if (flush)
		tw_net_flush(me->net, TW_NET_ALL);
	if (cash_migrates(me))
		window_homes(me, w);
	if (!flush)
		return;
	flush = false;
	for (unsigned i = 0; i < w->count; i++) {
		bool before = me->page[w->first + i].state & CASH_EXCLUSIVE;
		flush |= fault_confirm(me, w->first + i);
		if (!before && (me->page[w->first + i].state & CASH_EXCLUSIVE))
			w->claimed[i / 64] |= (uint64_t)1 << i % 64;
	}
	if (flush)
		tw_net_flush(me->net, TW_NET_ALL);
}

/* Give back what this round claimed: the window is unlocked before the pages were fetched, and a break would send
 * home what this node never had. */
static void window_unclaim(struct tw_proc *me, struct window *w)
{
	bool flush = false;

	for (unsigned i = 0; i < w->count; i++) {
		if (!(w->claimed[i / 64] >> i % 64 & 1))
			continue;
		me->page[w->first + i].state &= ~CASH_EXCLUSIVE;
		tw_dir_publish(me, w->first + i, TW_WRITE);
		flush = true;
	}
	if (flush)
		tw_net_flush(me->net, TW_NET_ALL);
	memset(w->claimed, 0, sizeof(w->claimed));
}

/* The foreign node whose exclusive mode must end before we take a copy of the window's page @i; -1: none.  That the
 * home was told says nothing of a holder elsewhere: the home's word may be a claim that it takes back because of that
 * holder. */
static int window_holder(struct tw_proc *me, const struct window *w, unsigned i)
{
	const struct tw_page *e = &me->page[w->first + i];

	if (e->state & CASH_EXCLUSIVE)
		return -1;
	return cash_holder(me, w->first + i, window_notified(me, w, i) ? e->home - 1 : -1);
}

/* Have all foreign holders in the window end exclusive mode, each on its runs of pages.  If there are any, unlocks the window
 * first, and returns true. */
static bool window_break(struct tw_proc *me, struct window *w)
{
	int16_t *holder = cash_of(me)->holder;
	bool any = false, notified = false;

	for (unsigned i = 0; i < w->count; i++) {
		holder[i] = (int16_t)window_holder(me, w, i);
		any |= holder[i] >= 0;
	}
	if (!any)
		return false;
	for (unsigned i = 0; i < w->count; i++)
		if (holder[i] >= 0 && me->page[w->first + i].home == holder[i] + 1) {
			window_notify(me, w, i);
			holder[i] |= WINDOW_NOTIFIED;
			notified = true;
		}
	window_unclaim(me, w);
	window_unlock(me, w);
	for (unsigned i = 0, n; i < w->count; i += n) {
		for (n = 1; i + n < w->count && holder[i + n] == holder[i]; n++)
			;
		if (holder[i] < 0)
			continue;
		if (holder[i] & WINDOW_NOTIFIED)
			cash_notify_home(me, holder[i] & ~WINDOW_NOTIFIED, w->first + i, n);
		else
			cash_break(me, (unsigned)holder[i], w->first + i, n);
	}
	return notified || !tw_planted(me, "no-break-wait");
}

/* Must what the node's processors wrote to the first page of the window be flushed before it is fetched?  Then
 * unlocks the window, does so, and returns true. */
static bool window_shoot(struct tw_proc *me, struct window *w)
{
	if (!cash_shoots(me))
		return false;
	for (unsigned i = 0; i < w->count; i++) {
		struct tw_page *e = &me->page[w->first + i];
		if (!e->twin || cash_is_home(me, e) || (e->ts_update != 0 && cash_rights(me, e) != TW_NONE) ||
		    !fault_stale(me, e))
			continue;
		window_unclaim(me, w);
		window_unlock(me, w);
		cash_flush_neighbours(me, w->first + i);
		return true;
	}
	return false;
}

static bool fault_must_fetch(struct tw_proc *me, struct tw_page *e)
{
	if (cash_is_home(me, e))
		return false;
	if (e->ts_update != 0 && cash_rights(me, e) != TW_NONE)
		return false;
	if (fault_stale(me, e))
		return true;
	me->stats->now.coalesced_fetches++;
	return false;
}

void cash_fetch(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	size_t bytes = me->layout.page_bytes;
	char *scratch = cash_of(me)->scratch;

	e->ts_update = tw_tick(me);
	/* Asked after the stamp: else the home could move, and the new one's first notice be stamped, in between. */
	if (cash_migrates(me))
		tw_home_refresh(me, p);
	me->stats->now.page_transfers++;
	me->stats->now.host_transfers += tw_same_host(me, e->home - 1u);
	tw_trace(me, TW_TRACE_fetch, e->home - 1u, p, bytes, 0);
	tw_net_read(me->net, e->home - 1u, tw_master_offset(me, p), e->twin ? scratch : tw_frame(me, p), bytes);
	if (!e->twin)
		return;
	tw_net_read_wait(me->net);
	if (me->config.race)
		tw_race_check(me, p, scratch);
	size_t changed = 0;
	if (!tw_planted(me, "drop-incoming-diff"))
		changed = tw_diff_in(tw_frame(me, p), tw_twin(me, p), scratch, bytes);
	tw_trace(me, TW_TRACE_diff_in, TW_TRACE_NONE, p, changed, 0);
	me->stats->now.incoming_diffs++;
}

void cash_fetched(struct tw_proc *me)
{
	tw_net_read_wait(me->net);
	tw_trace_page(me, TW_TRACE_fetched, TW_TRACE_NO_PAGE);
}

static void window_fetch(struct tw_proc *me, const struct window *w)
{
	bool fetched = false;

	for (unsigned i = 0; i < w->count; i++) {
		struct cash_extra *x = cash_extra(me, w->first + i);
		if (!fault_must_fetch(me, &me->page[w->first + i]))
			continue;
		cash_fetch(me, w->first + i);
		fetched = true;
		/* Wanted again, and before the notice after the one that unmapped it: an update would have been used.  So
		 * it is worth some, and after those more of them. */
		if (x->fetched && cash_rights(me, &me->page[w->first + i]) == TW_NONE)
			x->left = x->credits = x->missed
			                           ? x->credits / 2
			                           : (uint8_t)TW_MIN(TW_MAX(2u * x->credits, 1u), me->config.updates);
		x->fetched = 1;
		x->missed = 0;
	}
	if (fetched)
		cash_fetched(me);
}

/* Twins isolate local from remote changes: wanted where a page is written away from its home and not exclusively. */
static void window_twin(struct tw_proc *me, const struct window *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		tw_page_t p = w->first + i;
		struct tw_page *e = &me->page[p];
		if (e->state & CASH_EXCLUSIVE) {
			if (e->twin)
				tw_twin_destroy(me, p);
		} else if (!cash_is_home(me, e) && !e->twin && !cash_doubles(me)) {
			memcpy(tw_twin_create(me, p), tw_frame(me, p), me->layout.page_bytes);
		}
	}
}

/* A page (locked) is written.  May releases leave it writable?  At home, where no twin tells whether it was written, it then counts as
 * written, and each notice may fetch it in vain; elsewhere it is compared.  So that is granted to pages that trap again soon after a
 * release took the right, as it would have spared the trap; the more the oftener they do. */
static void fault_written(struct tw_proc *me, tw_page_t p)
{
	struct cash_extra *x = cash_extra(me, p);
	bool again = (uint8_t)(cash_of(me)->releases - x->trapped) < me->config.keep;

	x->granted = again ? (uint8_t)TW_MIN(TW_MAX(2u * x->granted, 1u), me->config.keep) : 0;
	x->patience = (uint8_t)x->granted;
}

static void window_map(struct tw_proc *me, const struct window *w)
{
	uint64_t bit = cash_bit(me);

	for (unsigned i = 0, n; i < w->count; i += n) {
		enum tw_rights have = cash_rights(me, &me->page[w->first + i]);
		for (n = 0; i + n < w->count && cash_rights(me, &me->page[w->first + i + n]) == have; n++)
			;
		if (have < w->want)
			tw_map(me, w->first + i, n, have, w->want);
	}
	for (unsigned i = 0; i < w->count; i++) {
		struct tw_page *e = &me->page[w->first + i];
		cash_migratory_turn(me, w->first + i, w->want);
		e->mapped |= bit;
		cash_of(me)->past[w->first + i].got[w->want == TW_WRITE] = cash_of(me)->releases;
		/* Old, but not too old for us yet; the notice was distributed when we had no mapping: look again at
		 * our next acquire. */
		if (!cash_is_home(me, e) && e->ts_update < e->ts_notice)
			tw_pageset_add(me->notices, w->first + i);
		if (w->want == TW_WRITE) {
			e->writers |= bit;
			if (w->claimed[i / 64] >> i % 64 & 1)
				cash_migratory_taken(me, w->first + i);
			if (e->state & CASH_EXCLUSIVE)
				continue;
			tw_pageset_add(me->dirty, w->first + i);
			if (w->replay)
				cash_extra(me, w->first + i)->patience = 0;
			else
				fault_written(me, w->first + i);
		}
	}
}

/* Give this processor @w->want on the window's pages; shrinks the window to what was done. */
static void fault_window(struct tw_proc *me, struct window *w)
{
	enum tw_rights want = w->want;
	do {
		cash_settle(me, w->first);
		w->want = want;
		window_lock(me, w);
		window_publish(me, w);
	} while (window_break(me, w) || window_shoot(me, w));
	if (cash_migrates(me) && w->want == TW_WRITE)
		window_migrate(me, w);
	window_fetch(me, w);
	if (w->want == TW_WRITE)
		window_twin(me, w);
	window_map(me, w);
	window_unlock(me, w);
}

unsigned cash_prefetch_run(struct tw_proc *me, tw_page_t first, unsigned count, enum tw_rights want, bool replay)
{
	unsigned along = 0;

	for (unsigned done = 0, n; done < count; done += n) {
		struct window w = {.first = first + done,
		                   .count = TW_MIN(count - done, CASH_CHUNK),
		                   .want = want,
		                   .sure = true,
		                   .replay = replay,
		                   .known = CASH_CHUNK};
		n = 1;
		if (!tw_page_trylock(me, w.first))
			continue;
		bool wanted = fault_comes_along(me, w.first, &w);
		tw_page_unlock(me, w.first);
		if (!wanted)
			continue;
		fault_window(me, &w);
		n = w.count;
		along += n;
	}
	return along;
}

/* Returns how many pages came along. */
static unsigned fault_stream(struct tw_proc *me, struct cash_stream *s, tw_page_t p, enum tw_rights want)
{
	struct cash_guess g = cash_guess(me, s, p, want);
	uint32_t last = cash_of(me)->past[p].got[want == TW_WRITE];
	struct window w = {
	    .first = p, .count = g.window, .want = want, .sure = g.sure, .known = g.known, .fresh = g.fresh};

	fault_window(me, &w);
	unsigned done = w.count, along = w.count - 1;
	if (done == g.window && g.probe)
		done++;
	if (done < g.known && w.want == want) {
		along += cash_prefetch_run(me, p + done, g.known - done, want, false);
		done = g.known;
	}
	s->next = p + done;
	s->run += done;
	cash_replay_fault(me, p, done, want, last);
	return along;
}

void cash_read_fault(struct tw_proc *me, tw_page_t p)
{
	me->stats->now.prefetched_reads += fault_stream(me, &cash_of(me)->reads, p, TW_READ);
}

void cash_write_fault(struct tw_proc *me, tw_page_t p)
{
	if (tw_twins_scarce(me) && !(tw_pageset_empty(me->dirty) && tw_pageset_empty(me->nle))) {
		me->stats->now.early_flushes++;
		cash_release(me, TW_SYNC_JOB, 0);
	}
	cash_behind_wrong(me, p);
	me->stats->now.prefetched_writes += fault_stream(me, &cash_of(me)->writes, p, TW_WRITE);
	cash_write_behind(me, p);
}

void cash_prefetch(struct tw_proc *me, tw_page_t first, unsigned count)
{
	me->stats->now.prefetched_reads += cash_prefetch_run(me, first, count, TW_READ, false);
}

/* The home's frame is the master, which no notice makes stale: so its processors can keep a right that releases and
 * acquires need not take (release_pinned).  A home that is writable does not migrate.  Elsewhere there is no such thing. */
int cash_pin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	if (me->config.race)
		return -ENOTSUP;
	for (tw_page_t p = first; p < first + count; p++) {
		tw_page_lock(me, p);
		tw_home_propose(me, p, me->node);
		tw_page_unlock(me, p);
		cash_of(me)->past[p].pins++;
		cash_write_fault(me, p);
		if (tw_home_get(me, p) == (int)me->node)
			continue;
		cash_unpin(me, first, p - first + 1);
		return -ENOTSUP;
	}
	return 0;
}

void cash_unpin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++)
		cash_of(me)->past[p].pins -= cash_of(me)->past[p].pins > 0;
}
