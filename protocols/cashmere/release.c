/* SPDX-License-Identifier: BSD-3-Clause */
/* release.c - releases, and arrivals at barriers, which are releases (Cashmere-2L, sections 2.4.3 and 2.5). */
#include "protocols/cashmere/cashmere.h"

struct release {
	struct cash_flush flush;
	unsigned lates; /* pages flushed last (tw_polled_late); those beyond the limit are not */
	tw_page_t late[TW_POLLED_MOST];
};

static void release_run(void *ctx, tw_page_t first, unsigned count)
{
	struct release *r = ctx;

	for (tw_page_t p = first; r->flush.me->polls.fence && p < first + count; p++)
		if (tw_polled_late(r->flush.me, p) && r->lates < TW_POLLED_MOST) {
			cash_flush_pages(&r->flush, first, p - first);
			r->late[r->lates++] = p;
			count -= p + 1 - first;
			first = p + 1;
		}
	cash_flush_pages(&r->flush, first, count);
}

static void release_merge_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;
	for (unsigned i = 0; i < count; i++)
		tw_pageset_add(me->dirty, first + i);
}

/* One page after the other, and the page stored to last at the end: the flag in it may announce data in the others. */
static void release_late(struct release *r)
{
	for (unsigned last = 0; last < 2; last++)
		for (unsigned i = 0; i < r->lates; i++)
			if ((r->late[i] == r->flush.me->polls.stored) == last) {
				cash_flush_pages(&r->flush, r->late[i], 1);
				cash_flush_end(&r->flush);
			}
}

static void release_all(struct tw_proc *me, bool at_barrier)
{
	struct release r = {.flush = {.me = me, .at_barrier = at_barrier, .retention = true}};

	cash_of(me)->releases++;
	cash_replay_begins(cash_of(me));

	/* This processor's stores before its reads of queues and no-longer-exclusive set: exclusive.c. */
	atomic_thread_fence(memory_order_seq_cst);
	tw_notice_collect(me);
	if (!tw_pageset_empty(me->nle))
		tw_pageset_drain(me->nle, release_merge_run, me);
	cash_doubled(me);
	cash_migratory(me);
	if (tw_pageset_empty(me->dirty))
		return;
	r.flush.started = tw_tick(me);
	tw_pageset_drain(me->dirty, release_run, &r);
	cash_flush_end(&r.flush);
	release_late(&r);
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
