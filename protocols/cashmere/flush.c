/* SPDX-License-Identifier: BSD-3-Clause */
/* flush.c - written pages: diffs to the homes, then notices to the sharers (Cashmere-2L, sections 2.4.3 and 2.5).
 *
 * Releases and arrivals at barriers flush the dirty set (release.c); a long run of writes and a shootdown flush
 * single pages early. */
#include "protocols/cashmere/cashmere.h"

struct flush_runs {
	struct tw_proc *me;
	unsigned home;
	size_t frame;
};

static void flush_send_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	struct flush_runs *r = ctx;
	tw_net_write(r->me->net, r->home, r->frame + offset, bytes, len);
}

/* Outgoing diff, by remote write or into messages.  Page locked.  Returns whether anything had changed. */
static bool flush_diff(struct tw_proc *me, tw_page_t p, bool update)
{
	struct flush_runs to = {.me = me, .home = me->page[p].home - 1u, .frame = tw_master_offset(me, p)};
	char *frame = tw_frame(me, p), *twin = tw_twin(me, p);

	if (cash_messages(me)) {
		cash_message_begin(me, p);
		tw_diff_out(frame, twin, me->layout.page_bytes, update, cash_message_run, me);
		return cash_message_end(me);
	}
	if (me->config.race) {
		tw_race_lock(me, to.home, p);
		cash_fetch(me, p);
		cash_fetched(me);
	}
	char *master = tw_net_direct(me->net, to.home, to.frame);
	size_t changed = master ? tw_diff_store(frame, twin, me->layout.page_bytes, update, master)
	                        : tw_diff_out(frame, twin, me->layout.page_bytes, update, flush_send_run, &to);
	if (master)
		tw_net_stored(me->net, changed);
	if (me->config.race)
		tw_race_unlock(me, to.home, p);
	return changed;
}

/* Outgoing diff; a flush-update when others on the node still write.  Page locked.  Returns whether anything had
 * changed; only then this is the page's last flush. */
static bool flush_changes(struct tw_proc *me, tw_page_t p, bool others)
{
	struct tw_page *e = &me->page[p];

	e->state &= ~CASH_DEFERRED;
	bool update = others && !tw_planted(me, "no-flush-update");

	uint64_t began = tw_tick(me);

	me->stats->now.diffs++;
	me->stats->now.flush_updates += others;
	tw_trace_diff(me, others ? TW_TRACE_diff_update : TW_TRACE_diff_out, e->home - 1u, p, tw_frame(me, p),
	              tw_twin(me, p));
	if (!tw_planted(me, "skip-flush") && !flush_diff(me, p, update))
		return false;
	e->ts_flush = began;
	e->flusher = (uint16_t)me->local;
	return true;
}

/* Has a local writer of the page (locked) not yet arrived at this barrier?  It reads its sets after it has counted
 * its arrival, so it will find the page.  A writer that has arrived may have read them already. */
static bool flush_others_come(struct tw_proc *me, const struct tw_page *e)
{
	uint64_t round = atomic_load(&me->n->arrivals[me->local]);

	for (uint64_t w = e->writers; w; w &= w - 1)
		if (atomic_load(&me->n->arrivals[__builtin_ctzll(w)]) < round)
			return true;
	return false;
}

/* The page's last flush had this processor's writes, and another processor may have made it: this flush must not end
 * before the notices of that one are performed. */
static void flush_stands_for_ours(struct cash_flush *f, const struct tw_page *e)
{
	if (e->ts_flush && e->flusher != f->me->local)
		f->wait_for[e->flusher] = TW_MAX(f->wait_for[e->flusher], e->ts_flush);
}

/* Take the write right on the page (locked) from all other local processors.  Their changes are flushed with this
 * processor's. */
static void flush_shoot(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	uint64_t victims = e->writers & e->mapped & ~cash_bit(me);

	if (victims && !tw_planted(me, "no-shootdown"))
		tw_shootdown(me, p, 1, victims);
	e->writers = 0;
}

/* Flush one page of the dirty set, locked.  This processor's mapping is read-only already, unless the page may stay
 * writable (@keep).  Returns whether this processor is no longer a writer of the page. */
static bool flush_page(struct cash_flush *f, tw_page_t p, bool keep)
{
	struct tw_proc *me = f->me;
	struct tw_page *e = &me->page[p];
	struct cash_extra *x = cash_extra(me, p);

	e->writers &= ~cash_bit(me);
	bool others = e->writers != 0;
	if (f->at_barrier && flush_others_come(me, e)) {
		/* The last local writer to arrive flushes for this one as well: no earlier flush can stand for that
		 * one. */
		e->state |= CASH_DEFERRED;
		return !keep;
	}
	if (cash_is_home(me, e)) {
		/* No twin shows whether a page that stayed writable was written.  Other nodes read the master at any
		 * time, so a value that was restored since counts as well. */
		if (keep)
			x->patience -= x->patience > 0;
		e->state &= ~CASH_DEFERRED;
		tw_pageset_add(me->noticing, p);
		tw_trace_page(me, TW_TRACE_home_flush, p);
		if (cash_migrates(me) && !others && !keep) {
			/* No processor writes here any more: a writer elsewhere may take the home (migrate.c). */
			cash_publish(me, p, TW_READ);
			f->published = true;
		}
		return !keep;
	}
	if (cash_doubles(me)) {
		tw_pageset_add(me->noticing, p);
		return true;
	}
	bool shoot = cash_shoots(me);
	if (shoot) {
		flush_shoot(me, p);
		others = false;
	}
	if (e->ts_flush > f->started && e->flusher != me->local && !(e->state & CASH_DEFERRED) && !shoot &&
	    !f->demanded) {
		/* Overlapping releases: that flush began after this one, so it had this processor's writes, if it does
		 * not store meanwhile. */
		flush_stands_for_ours(f, e);
		me->stats->now.coalesced_flushes++;
	} else if (flush_changes(me, p, others || keep)) {
		f->sent = true;
		x->patience = (uint8_t)x->granted;
		tw_pageset_add(me->noticing, p);
	} else {
		/* No change.  Either another processor's flush had the writes, and its notices may still be in
		 * flight; or nothing was written, and the page was taken along in vain. */
		flush_stands_for_ours(f, e);
		if (cash_of(me)->past[p].got[1] == cash_of(me)->releases - 1 &&
		    !(e->ts_flush && e->flusher != me->local))
			cash_of(me)->past[p].got[1] = 0;
		keep = keep && (f->demanded || --x->patience);
		if (!e->mapped)
			tw_pageset_add(me->noticing, p);
	}
	if (!others && !keep)
		tw_twin_destroy(me, p);
	return !keep;
}

/* Does the page of the dirty set need a flush?  Page locked. */
static bool flush_wants(const struct cash_flush *f, tw_page_t p)
{
	struct tw_proc *me = f->me;
	struct tw_page *e = &me->page[p];
	return (f->for_all ? e->twin != 0 : (e->writers & cash_bit(me)) != 0) && !(e->state & CASH_EXCLUSIVE);
}

/* Retention: may a page that its node rewrites in every interval, while others have copies, stay writable and dirty,
 * so that the first write of the next interval does not trap?  Away from home its twin shows whether it was written;
 * at home it counts as written, for a few releases.  Not where a notice would unmap it.  Page locked. */
static bool flush_may_retain(const struct cash_flush *f, tw_page_t p)
{
	struct tw_proc *me = f->me;
	const struct tw_page *e = &me->page[p];
	const struct cash_extra *x = cash_extra(me, p);

	if ((cash_shoots(me) && !cash_is_home(me, e)) || !cash_ordinary(me, p) || me->fences)
		return false;
	return f->retention && x->patience && (cash_is_home(me, e) || (e->twin && cash_parameters(me)->refresh)) &&
	       cash_rights(me, e) == TW_WRITE && cash_shared(me, p) && !tw_twins_scarce(me);
}

/* A pinned page whose home is here is the master: it needs neither fetch nor diff, and stays writable.  It counts as
 * written at every release while others have copies.  Page locked. */
static bool flush_pinned(struct tw_proc *me, tw_page_t p)
{
	return cash_of(me)->past[p].pins && cash_is_home(me, &me->page[p]);
}

/* Further writes to the pages of @mask, which are writable, must trap again. */
static void flush_protect(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	while (mask) {
		unsigned low = (unsigned)__builtin_ctzll(mask);
		uint64_t rest = ~(mask >> low);
		unsigned n = rest ? (unsigned)__builtin_ctzll(rest) : 64;
		tw_map(me, first + low, n, TW_WRITE, TW_READ);
		mask &= low + n < 64 ? ~0ull << (low + n) : 0;
	}
}

/* Publish that diffs of these pages are in flight, and wait until no home of them is moving.  All locked. */
static void flush_announce(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	for (uint64_t m = mask; m; m &= m - 1) {
		tw_page_t p = first + (unsigned)__builtin_ctzll(m);
		cash_publish(me, p, (tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS) | TW_DIR_DIFF);
	}
	tw_net_flush(me->net, TW_NET_ALL);
	for (uint64_t m = mask; m; m &= m - 1)
		if (!tw_planted(me, "no-settling"))
			cash_home_settled(me, first + (unsigned)__builtin_ctzll(m));
}

static void flush_denounce(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	for (; mask; mask &= mask - 1) {
		tw_page_t p = first + (unsigned)__builtin_ctzll(mask);
		cash_publish(me, p, tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS);
	}
	tw_net_flush(me->net, TW_NET_ALL);
}

/* Send the diffs of the @busy pages as messages.  All pages of the chunk are locked, and unlocked meanwhile. */
static void flush_messages(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t busy)
{
	tw_net_flush(me->net, TW_NET_ALL); /* the words published before */
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

/* Sort the pages of a chunk, all locked: @wanted need a flush; @keep of these may stay writable; @protect lose the
 * write right before the flush. */
static void flush_sort(struct cash_flush *f, tw_page_t first, unsigned count, uint64_t *wanted, uint64_t *keep,
                       uint64_t *protect)
{
	struct tw_proc *me = f->me;

	_Static_assert(CASH_CHUNK <= 64, "one bit a page");
	*wanted = *keep = *protect = 0;
	for (unsigned i = 0; i < count; i++) {
		uint64_t bit = (uint64_t)1 << i;
		if (!flush_wants(f, first + i)) {
			if (cash_shoots(me)) /* the processor that shot this one down flushed its writes */
				flush_stands_for_ours(f, &me->page[first + i]);
			continue;
		}
		*wanted |= bit;
		if (flush_pinned(me, first + i) || flush_may_retain(f, first + i))
			*keep |= bit;
		else if (cash_rights(me, &me->page[first + i]) == TW_WRITE)
			*protect |= bit;
	}
}

/* Flush the pages @wanted, locked.  Returns those whose diff is in flight. */
static uint64_t flush_pages(struct cash_flush *f, tw_page_t first, uint64_t wanted, uint64_t keep)
{
	struct tw_proc *me = f->me;
	uint64_t flushed = 0, protect = 0;

	for (; wanted; wanted &= wanted - 1) {
		unsigned i = (unsigned)__builtin_ctzll(wanted);
		uint64_t bit = (uint64_t)1 << i;

		f->sent = false;
		bool over = flush_page(f, first + i, keep & bit);
		if (over && f->retention)
			cash_extra(me, first + i)->trapped = (uint8_t)cash_of(me)->releases;
		if (f->sent)
			flushed |= bit;
		if (over) {
			protect |= keep & bit;
			continue;
		}
		me->page[first + i].writers |= cash_bit(me);
		tw_pageset_add(me->dirty, first + i);
		me->stats->now.kept_writable++;
	}
	flush_protect(me, first, protect);
	return flushed;
}

/* The diffs of the pages @flushed, locked, must be performed before others have notices, or fetch the pages. */
static void flush_perform(struct tw_proc *me, tw_page_t first, uint64_t flushed)
{
	for (; flushed && me->page[first + (unsigned)__builtin_ctzll(flushed)].home == me->successor;
	     flushed &= flushed - 1)
		continue;
	if (flushed)
		tw_net_flush(me->net, TW_NET_ALL);
}

static uint64_t flush_away(struct tw_proc *me, tw_page_t first, uint64_t mask)
{
	uint64_t away = 0;
	for (; mask; mask &= mask - 1)
		if (!cash_is_home(me, &me->page[first + (unsigned)__builtin_ctzll(mask)]))
			away |= mask & -mask;
	return away;
}

/* Returns how many pages were done: fewer than @most where one is busy. */
static unsigned flush_chunk(void *ctx, tw_page_t first, unsigned most)
{
	struct cash_flush *f = ctx;
	struct tw_proc *me = f->me;
	bool messages = cash_messages(me);
	unsigned count = cash_lock_run(me, first, messages ? TW_MIN(most, cash_message_pages(me)) : most);
	uint64_t wanted, keep, protect, announced = 0;

	flush_sort(f, first, count, &wanted, &keep, &protect);
	flush_protect(me, first, protect);
	if (cash_migrates(me) && (announced = flush_away(me, first, wanted)))
		flush_announce(me, first, announced);
	uint64_t flushed = flush_pages(f, first, wanted, keep);
	/* Another processor of the node may fetch the page as soon as it is unlocked: by then the master must have
	 * the diff. */
	if (flushed && messages) {
		/* While the other pages are unlocked a neighbour may flush or claim them: their words are no longer
		 * this processor's. */
		flush_denounce(me, first, announced & ~flushed);
		announced &= flushed;
		flush_messages(me, first, count, flushed);
	} else if (flushed && announced) {
		tw_net_flush(me->net, TW_NET_ALL);
	} else {
		flush_perform(me, first, flushed);
	}
	if (announced || f->published)
		flush_denounce(me, first, announced);
	f->published = false;
	cash_unlock_run(me, first, count);
	return count;
}

void cash_flush_pages(struct cash_flush *f, tw_page_t first, unsigned count)
{
	cash_by_chunks(flush_chunk, f, first, count);
}

/* The page was flushed: send notices to its sharers, to the home only if it may want to leave (migratory.c) or with
 * TWEED_RACE.  Leave the directory if nothing is mapped any more. */
static void flush_notify(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	unsigned home = e->home - 1u;

	if (!tw_planted(me, "skip-notice"))
		for (unsigned n = 0; n < me->nodes; n++)
			if (n != me->node && (n != home || me->config.race || cash_of(me)->past[p].migratory) &&
			    (tw_dir_word(me, p, n) & TW_DIR_RIGHTS))
				tw_notice_send(me, n, p);
	if (e->mapped)
		return;
	cash_lock(me, p);
	if (!e->mapped && !e->writers && !cash_extra(me, p)->operated &&
	    (tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS)) {
		cash_withdraw(me, p);
		tw_net_flush(me->net, TW_NET_ALL);
	}
	tw_page_unlock(me, p);
}

static void flush_notify_run(void *ctx, tw_page_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		flush_notify(ctx, first + i);
}

struct flush_wait {
	_Atomic uint64_t *done;
	uint64_t after;
};

static bool flush_is_done(void *arg)
{
	struct flush_wait *w = arg;
	return atomic_load(w->done) > w->after;
}

/* The diffs are performed at the homes, so a node that becomes a sharer too late to be seen in the directory fetches
 * them. */
void cash_flush_end(struct cash_flush *f)
{
	struct tw_proc *me = f->me;

	if (!tw_pageset_empty(me->noticing)) {
		tw_pageset_drain(me->noticing, flush_notify_run, me);
		tw_notice_flush(me);
	}
	atomic_store(&me->n->release_done[me->local], tw_tick(me));
	for (unsigned l = 0; l < me->locals; l++)
		if (l != me->local)
			tw_net_notify(me->net, me->node, l);
	for (unsigned l = 0; l < me->locals; l++) {
		struct flush_wait w = {.done = &me->n->release_done[l], .after = f->wait_for[l]};
		if (f->wait_for[l])
			tw_net_wait(me->net, flush_is_done, &w);
	}
}

void cash_flush_neighbours(struct tw_proc *me, tw_page_t p)
{
	struct cash_flush f = {.me = me, .for_all = true};

	f.started = tw_tick(me);
	cash_flush_pages(&f, p, 1);
	cash_flush_end(&f);
}

void cash_flush_range(struct tw_proc *me, tw_page_t first, unsigned count)
{
	struct cash_flush f = {.me = me};

	atomic_thread_fence(memory_order_seq_cst);
	f.started = tw_tick(me);
	cash_flush_pages(&f, first, count);
	cash_flush_end(&f);
	me->stats->now.early_flushes += count;
}
