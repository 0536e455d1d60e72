/* SPDX-License-Identifier: BSD-3-Clause */
/* release.c - releases, and arrivals at barriers, which are (Cashmere-2L, sections 2.4.3 and 2.5). */
#include "protocols/cashmere/cashmere.h"

struct release {
	struct tw_proc *me;
	uint64_t started;                     /* node time when this release began */
	bool sent;                            /* a diff is on its way */
	bool published;                       /* a directory word is on its way */
	bool at_barrier;                      /* all processors take part: leave pages to later local writers */
	bool may_keep;                        /* pages written in every interval may stay writable */
	bool for_all;                         /* flush what any processor of the node wrote */
	unsigned lates; /* pages that come last (tw_polled_late); those that are too many do not */
	tw_page_t late[TW_POLLED_MOST];
	uint64_t wait_for[TW_MAX_PROCESSORS]; /* node times of flushes by others that stand for ours */
};

struct release_runs {
	struct tw_proc *me;
	unsigned home;
	size_t frame;
};

static void release_send_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	struct release_runs *r = ctx;
	tw_net_write(r->me->net, r->home, r->frame + offset, bytes, len);
}

/* Outgoing diff, by remote write or into messages.  Page locked.  Returns whether anything had changed. */
static bool release_diff(struct tw_proc *me, tw_page_t p, bool update)
{
	struct release_runs to = {.me = me, .home = me->page[p].home - 1u, .frame = tw_master_offset(me, p)};
	char *frame = tw_frame(me, p), *twin = tw_twin(me, p);

	if (cash_messages(me)) {
		cash_message_begin(me, p);
		tw_diff_out(frame, twin, me->layout.page_bytes, update, cash_message_run, me);
		return cash_message_end(me);
	}
	if (me->config.race) {
		tw_race_lock(me, to.home, p);
		cash_fetch(me, p);
	}
	char *master = tw_net_direct(me->net, to.home, to.frame);
	size_t changed = master ? tw_diff_store(frame, twin, me->layout.page_bytes, update, master)
	                        : tw_diff_out(frame, twin, me->layout.page_bytes, update, release_send_run, &to);
	if (master)
		tw_net_stored(me->net, changed);
	if (me->config.race)
		tw_race_unlock(me, to.home, p);
	return changed;
}

/* Outgoing diff; a flush-update when others on the node still write.  Page locked.  Returns whether anything had
 * changed; only then this is the page's last flush. */
static bool release_flush(struct tw_proc *me, tw_page_t p, bool others)
{
	struct tw_page *e = &me->page[p];

	e->state &= ~CASH_DEFERRED;
	bool update = others && !tw_planted(me, "no-flush-update");

	uint64_t began = tw_tick(me);

	me->stats->now.diffs++;
	me->stats->now.flush_updates += others;
	tw_trace_diff(me, others ? TW_TRACE_diff_update : TW_TRACE_diff_out, e->home - 1u, p, tw_frame(me, p),
	              tw_twin(me, p));
	if (!tw_planted(me, "skip-flush") && !release_diff(me, p, update))
		return false;
	e->ts_flush = began;
	e->flusher = (uint16_t)me->local;
	return true;
}

/* Is there a local writer of the page (locked) that has not yet arrived at this barrier?  It will look into its sets
 * after it has told that it arrives, so it will find the page.  One that has arrived may have looked already. */
static bool release_others_come(struct tw_proc *me, const struct tw_page *e)
{
	uint64_t round = atomic_load(&me->n->arrivals[me->local]);

	for (uint64_t w = e->writers; w; w &= w - 1)
		if (atomic_load(&me->n->arrivals[__builtin_ctzll(w)]) < round)
			return true;
	return false;
}

/* The page's last flush, perhaps another processor's, had our writes: do not end this release before its notices are
 * out. */
static void release_stands_for_ours(struct release *r, const struct tw_page *e)
{
	if (e->ts_flush && e->flusher != r->me->local)
		r->wait_for[e->flusher] = TW_MAX(r->wait_for[e->flusher], e->ts_flush);
}

/* No other local processor writes the page (locked) any more.  Its changes are flushed with ours. */
static void release_shoot(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	uint64_t victims = e->writers & e->mapped & ~cash_bit(me);

	if (victims && !tw_planted(me, "no-shootdown"))
		tw_shootdown(me, p, 1, victims);
	e->writers = 0;
}

/* One page of the dirty set, locked.  Its mapping by this processor is read-only already, unless it may @keep it
 * writable. Returns whether this processor is a writer of the page no longer. */
static bool release_page(struct release *r, tw_page_t p, bool keep)
{
	struct tw_proc *me = r->me;
	struct tw_page *e = &me->page[p];
	struct cash_extra *x = cash_extra(me, p);

	e->writers &= ~cash_bit(me);
	bool others = e->writers != 0;
	if (r->at_barrier && release_others_come(me, e)) {
		/* The last local writer will flush, for us as well: no flush made so far can stand for that one. */
		e->state |= CASH_DEFERRED;
		return !keep;
	}
	if (cash_is_home(me, e)) {
		/* A twin could not tell whether a page that stayed writable was written: other nodes read the master
		 * at any time, so also what was put back to its old value since. */
		if (keep)
			x->patience -= x->patience > 0;
		e->state &= ~CASH_DEFERRED;
		tw_pageset_add(me->noticing, p);
		tw_trace_page(me, TW_TRACE_home_flush, p);
		if (cash_migrates(me) && !others && !keep) {
			/* Nobody writes here any more: who wants may take the home (migrate.c). */
			tw_dir_publish(me, p, TW_READ);
			r->published = true;
		}
		return !keep;
	}
	if (cash_doubles(me)) {
		tw_pageset_add(me->noticing, p);
		return true;
	}
	bool shoot = cash_shoots(me);
	if (shoot) {
		release_shoot(me, p);
		others = false;
	}
	if (e->ts_flush > r->started && e->flusher != me->local && !(e->state & CASH_DEFERRED) && !shoot) {
		/* Overlapping releases: that flush began after this release did, so it had our writes. */
		release_stands_for_ours(r, e);
		me->stats->now.coalesced_flushes++;
	} else if (release_flush(me, p, others || keep)) {
		r->sent = true;
		x->patience = (uint8_t)x->granted;
		tw_pageset_add(me->noticing, p);
	} else {
		/* Nothing new: what we wrote was in another's flush, whose notices may still be under way; or nothing, and the page
		 * came along in vain. */
		release_stands_for_ours(r, e);
		if (cash_of(me)->past[p].got[1] == cash_of(me)->releases - 1 &&
		    !(e->ts_flush && e->flusher != me->local))
			cash_of(me)->past[p].got[1] = 0;
		keep = keep && --x->patience;
		if (!e->mapped)
			tw_pageset_add(me->noticing, p);
	}
	if (!others && !keep)
		tw_twin_destroy(me, p);
	return !keep;
}

/* Does the page of the dirty set need anything?  Page locked. */
static bool release_wants(const struct release *r, tw_page_t p)
{
	struct tw_proc *me = r->me;
	struct tw_page *e = &me->page[p];
	return (r->for_all ? e->twin != 0 : (e->writers & cash_bit(me)) != 0) && !(e->state & CASH_EXCLUSIVE);
}

/* May a page that its node rewrites in every interval, while others have copies, stay writable and dirty, so that the
 * first write of the next interval need not trap?  Away from home its twin tells whether it was written; at home it
 * counts as written, for a few releases.  Not where a notice would unmap it.  Page locked. */
static bool release_may_keep(const struct release *r, tw_page_t p)
{
	struct tw_proc *me = r->me;
	const struct tw_page *e = &me->page[p];
	const struct cash_extra *x = cash_extra(me, p);

	if ((cash_shoots(me) && !cash_is_home(me, e)) || tw_polled(me, p))
		return false;
	return r->may_keep && x->patience && (cash_is_home(me, e) || (e->twin && me->config.updates)) &&
	       cash_rights(me, e) == TW_WRITE && cash_shared(me, p) && !tw_twins_scarce(me);
}

/* A pinned page, whose home is here, is the master: it needs neither a fetch nor a diff, and stays as it is.  It counts as
 * written at every release while others have copies.  Page locked. */
static bool release_pinned(struct tw_proc *me, tw_page_t p)
{
	return cash_of(me)->past[p].pins && cash_is_home(me, &me->page[p]);
}

/* Further writes to the pages of @mask, which are writable, must trap again. */
static void release_protect(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	while (mask) {
		unsigned low = (unsigned)__builtin_ctzll(mask);
		uint64_t rest = ~(mask >> low);
		unsigned n = rest ? (unsigned)__builtin_ctzll(rest) : 64;
		tw_map(me, first + low, n, TW_WRITE, TW_READ);
		mask &= low + n < 64 ? ~0ull << (low + n) : 0;
	}
}

/* Say in the directory that diffs of these pages are under way, and wait until no home of them is moving.  All
 * locked. */
static void release_announce(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	for (uint64_t m = mask; m; m &= m - 1) {
		tw_page_t p = first + (unsigned)__builtin_ctzll(m);
		tw_dir_publish(me, p, (tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS) | TW_DIR_DIFF);
	}
	tw_net_flush(me->net, TW_NET_ALL);
	for (uint64_t m = mask; m; m &= m - 1)
		if (!tw_planted(me, "no-settling"))
			cash_home_settled(me, first + (unsigned)__builtin_ctzll(m));
}

static void release_denounce(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	for (; mask; mask &= mask - 1) {
		tw_page_t p = first + (unsigned)__builtin_ctzll(mask);
		tw_dir_publish(me, p, tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS);
	}
	tw_net_flush(me->net, TW_NET_ALL);
}

/* The diffs of @busy pages, locked as all pages of the chunk, go in messages: with the pages unlocked meanwhile. */
static void release_messages(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t busy)
{
	tw_net_flush(me->net, TW_NET_ALL); /* words that were published */
	for (unsigned i = 0; i < count; i++) {
		if ((busy >> i & 1) && !tw_planted(me, "not-busy"))
			me->page[first + i].state |= CASH_BUSY;
		tw_page_unlock(me, first + i);
	}
	cash_message_send(me);
	for (unsigned i = 0; i < count; i++) {
		tw_page_lock(me, first + i);
		if (busy >> i & 1)
			cash_idle(me, first + i);
	}
}

/* Sort the pages of a chunk, locked: those whose right must go before the flush are in @protect. */
static void release_sort(struct release *r, tw_page_t first, unsigned count, uint64_t *wanted, uint64_t *keep,
                         uint64_t *protect)
{
	struct tw_proc *me = r->me;

	_Static_assert(CASH_CHUNK <= 64, "one bit a page");
	*wanted = *keep = *protect = 0;
	for (unsigned i = 0; i < count; i++) {
		uint64_t bit = (uint64_t)1 << i;
		if (!release_wants(r, first + i)) {
			if (cash_shoots(me)) /* whoever shot this processor down flushed its writes */
				release_stands_for_ours(r, &me->page[first + i]);
			continue;
		}
		*wanted |= bit;
		if (release_pinned(me, first + i) || release_may_keep(r, first + i))
			*keep |= bit;
		else if (cash_rights(me, &me->page[first + i]) == TW_WRITE)
			*protect |= bit;
	}
}

/* The pages @wanted, locked.  Returns those that were flushed. */
static uint64_t release_pages(struct release *r, tw_page_t first, uint64_t wanted, uint64_t keep)
{
	struct tw_proc *me = r->me;
	uint64_t flushed = 0, protect = 0;

	for (; wanted; wanted &= wanted - 1) {
		unsigned i = (unsigned)__builtin_ctzll(wanted);
		uint64_t bit = (uint64_t)1 << i;

		r->sent = false;
		bool over = release_page(r, first + i, keep & bit);
		if (over && r->may_keep)
			cash_extra(me, first + i)->trapped = (uint8_t)cash_of(me)->releases;
		if (r->sent)
			flushed |= bit;
		if (over) {
			protect |= keep & bit;
			continue;
		}
		me->page[first + i].writers |= cash_bit(me);
		tw_pageset_add(me->dirty, first + i);
		me->stats->now.kept_writable++;
	}
	release_protect(me, first, protect);
	return flushed;
}

static uint64_t release_away(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	uint64_t away = 0;
	for (; mask; mask &= mask - 1)
		if (!cash_is_home(me, &me->page[first + (unsigned)__builtin_ctzll(mask)]))
			away |= mask & -mask;
	return away;
}

/* Returns how many pages were done: fewer than @most where one is busy. */
static unsigned release_chunk(void *ctx, tw_page_t first, unsigned most)
{
	struct release *r = ctx;
	struct tw_proc *me = r->me;
	bool messages = cash_messages(me);
	unsigned count = cash_lock_run(me, first, messages ? TW_MIN(most, cash_message_pages(me)) : most);
	uint64_t wanted, keep, protect, announced = 0;

	release_sort(r, first, count, &wanted, &keep, &protect);
	release_protect(me, first, protect);
	if (cash_migrates(me) && (announced = release_away(me, first, wanted)))
		release_announce(me, first, announced);
	uint64_t flushed = release_pages(r, first, wanted, keep);
	/* Another processor of the node may fetch the page as soon as it is unlocked: the master must have our
	 * bytes. */
	if (flushed && messages) {
		/* While the others are unlocked a neighbour may flush or claim them: their words are no longer ours. */
		release_denounce(me, first, announced & ~flushed);
		announced &= flushed;
		release_messages(me, first, count, flushed);
	} else if (flushed) {
		tw_net_flush(me->net, TW_NET_ALL);
	}
	if (announced || r->published)
		release_denounce(me, first, announced);
	r->published = false;
	cash_unlock_run(me, first, count);
	return count;
}

static void release_now(struct release *r, tw_page_t first, unsigned count)
{
	cash_by_chunks(release_chunk, r, first, count);
}

static void release_run(void *ctx, tw_page_t first, unsigned count)
{
	struct release *r = ctx;

	for (tw_page_t p = first; r->me->polls.fence && p < first + count; p++)
		if (tw_polled_late(r->me, p) && r->lates < TW_POLLED_MOST) {
			release_now(r, first, p - first);
			r->late[r->lates++] = p;
			count -= p + 1 - first;
			first = p + 1;
		}
	release_now(r, first, count);
}

void cash_withdraw(struct tw_proc *me, tw_page_t p)
{
	me->page[p].ts_update = 0;
	cash_extra(me, p)->withdrawn++;
	tw_dir_publish(me, p, TW_NONE | (uint64_t)(cash_extra(me, p)->withdrawn & 255) << CASH_LEFT_SHIFT);
}

/* The page was flushed: tell its sharers, the home only where it may want to leave; and leave the directory where nothing is mapped any more. */
static void release_notify(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	unsigned home = e->home - 1u;

	if (!tw_planted(me, "skip-notice"))
		for (unsigned n = 0; n < me->nodes; n++)
			if (n != me->node && (n != home || me->config.race || cash_of(me)->past[p].wanders) &&
			    (tw_dir_word(me, p, n) & TW_DIR_RIGHTS))
				tw_notice_send(me, n, p);
	if (e->mapped)
		return;
	cash_lock(me, p);
	if (!e->mapped && !e->writers && (tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS)) {
		cash_withdraw(me, p);
		tw_net_flush(me->net, TW_NET_ALL);
	}
	tw_page_unlock(me, p);
}

static void release_notify_run(void *ctx, tw_page_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		release_notify(ctx, first + i);
}

static void release_merge_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;
	for (unsigned i = 0; i < count; i++)
		tw_pageset_add(me->dirty, first + i);
}

struct release_wait {
	_Atomic uint64_t *done;
	uint64_t after;
};

static bool release_is_done(void *arg)
{
	struct release_wait *w = arg;
	return atomic_load(w->done) > w->after;
}

/* The diffs are performed at the homes: a node that becomes a sharer too late to be seen in the directory now fetches
 * them.  Send the notices, say so, and wait for those who flushed in our place. */
static void release_end(struct release *r)
{
	struct tw_proc *me = r->me;

	if (!tw_pageset_empty(me->noticing)) {
		tw_pageset_drain(me->noticing, release_notify_run, me);
		tw_notice_flush(me);
	}
	atomic_store(&me->n->release_done[me->local], tw_tick(me));
	for (unsigned l = 0; l < me->locals; l++)
		if (l != me->local)
			tw_net_notify(me->net, me->node, l);
	for (unsigned l = 0; l < me->locals; l++) {
		struct release_wait w = {.done = &me->n->release_done[l], .after = r->wait_for[l]};
		if (r->wait_for[l])
			tw_net_wait(me->net, release_is_done, &w);
	}
}

/* One after the other, the one stored to last at the end: what it announces may lie in the others. */
static void release_late(struct release *r)
{
	for (unsigned last = 0; last < 2; last++)
		for (unsigned i = 0; i < r->lates; i++)
			if ((r->late[i] == r->me->polls.stored) == last) {
				release_now(r, r->late[i], 1);
				release_end(r);
			}
}

static void release_all(struct tw_proc *me, bool at_barrier)
{
	struct release r = {.me = me, .at_barrier = at_barrier, .may_keep = true};

	cash_of(me)->releases++;
	cash_replay_begins(cash_of(me));

	/* Our stores before our look into queues and the no-longer-exclusive set: see exclusive.c. */
	atomic_thread_fence(memory_order_seq_cst);
	tw_notice_collect(me);
	if (!tw_pageset_empty(me->nle))
		tw_pageset_drain(me->nle, release_merge_run, me);
	cash_doubled(me);
	cash_migratory(me);
	if (tw_pageset_empty(me->dirty))
		return;
	r.started = tw_tick(me);
	tw_pageset_drain(me->dirty, release_run, &r);
	release_end(&r);
	release_late(&r);
}

void cash_flush_neighbours(struct tw_proc *me, tw_page_t p)
{
	struct release r = {.me = me, .for_all = true};

	r.started = tw_tick(me);
	release_now(&r, p, 1);
	release_end(&r);
}

void cash_flush_range(struct tw_proc *me, tw_page_t first, unsigned count)
{
	struct release r = {.me = me};

	atomic_thread_fence(memory_order_seq_cst);
	r.started = tw_tick(me);
	release_now(&r, first, count);
	release_end(&r);
	me->stats->now.early_flushes += count;
}

void cash_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)kind;
	(void)object;
	release_all(me, false);
}

void cash_arrive(struct tw_proc *me, uint64_t object)
{
	(void)object;
	atomic_fetch_add(&me->n->arrivals[me->local], 1);
	cash_of(me)->arrived = true;
	release_all(me, true);
}
