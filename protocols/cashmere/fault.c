/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.c - the hooks of faults, prefetch and pins.  window.c does the work, prefetch.c guesses how much. */
#include <errno.h>

#include "protocols/cashmere/cashmere.h"

/* Serve a fault on @p.  Returns how many further pages were taken along. */
static unsigned fault_take(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct cash_guess g = cash_guess(me, p, want);
	uint32_t last = cash_of(me)->past[p].got[want == TW_WRITE];
	struct cash_window w = {.page = cash_of(me)->window,
	                        .count = g.window,
	                        .want = want,
	                        .faulted = true,
	                        .sure = g.sure,
	                        .known = g.known,
	                        .fresh = g.fresh};

	for (unsigned i = 0; i < g.window; i++)
		w.page[i] = p + i * g.stride;
	cash_window_take(me, &w);
	if (g.stride != 1) {
		cash_guessed(cash_of(me), p, want, &g, w.count);
		for (unsigned i = 0; i < w.count; i++)
			cash_replay_fault(me, w.page[i], 1, want, last);
		return w.count - 1;
	}
	unsigned done = w.count, along = w.count - 1;
	if (done == g.window && g.probe)
		done++;
	if (done < g.known && w.want == want) {
		along += cash_prefetch_run(me, p + done, g.known - done, want);
		done = g.known;
	}
	cash_guessed(cash_of(me), p, want, &g, done);
	cash_replay_fault(me, p, done, want, last);
	return along;
}

void cash_read_fault(struct tw_proc *me, tw_page_t p)
{
	me->stats->now.prefetched_reads += fault_take(me, p, TW_READ);
}

void cash_write_fault(struct tw_proc *me, tw_page_t p)
{
	if (tw_twins_scarce(me) && !(tw_pageset_empty(me->dirty) && tw_pageset_empty(me->nle))) {
		me->stats->now.early_flushes++;
		cash_release(me, TW_SYNC_JOB, 0);
	}
	cash_behind_wrong(me, p);
	me->stats->now.prefetched_writes += fault_take(me, p, TW_WRITE);
	cash_write_behind(me, p);
}

void cash_prefetch(struct tw_proc *me, tw_page_t first, unsigned count)
{
	me->stats->now.prefetched_reads += cash_prefetch_run(me, first, count, TW_READ);
}

/* The home's frame is the master, which no notice makes stale.  So the home's processors can retain a right that
 * releases and acquires need not take (flush_pinned).  A writable home does not migrate.  Away from home pages
 * cannot be pinned. */
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
