/* SPDX-License-Identifier: BSD-3-Clause */
/* release.c - releases, and arrivals at barriers, which are releases (Cashmere-2L, sections 2.4.3 and 2.5). */
#include "protocols/cashmere/cashmere.h"

static void release_run(void *ctx, tw_page_t first, unsigned count)
{
	cash_flush_pages(ctx, first, count);
}

static void release_perform(void *ctx)
{
	cash_flush_end(ctx);
}

static void release_merge_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;
	for (unsigned i = 0; i < count; i++)
		tw_pageset_add(me->dirty, first + i);
}

static void release_all(struct tw_proc *me, bool at_barrier, bool demanded)
{
	struct cash_flush f = {.me = me, .at_barrier = at_barrier, .demanded = demanded, .retention = true};

	cash_of(me)->releases++;
	cash_replay_begins(cash_of(me));

	/* This processor's stores before its reads of queues and no-longer-exclusive set: exclusive.c. */
	atomic_thread_fence(memory_order_seq_cst);
	tw_notice_collect(me);
	if (!tw_pageset_empty(me->nle))
		tw_pageset_drain(me->nle, release_merge_run, me);
	cash_doubled(me);
	cash_migratory(me);
	if (tw_pageset_empty(me->dirty) && tw_pageset_empty(me->noticing))
		return;
	f.started = tw_tick(me);
	tw_dirty_drain(me, release_run, release_perform, &f);
}

void cash_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)object;
	release_all(me, false, kind == TW_SYNC_DEMAND);
}

void cash_arrive(struct tw_proc *me, uint64_t object)
{
	(void)object;
	atomic_fetch_add(&me->n->arrivals[me->local], 1);
	/* In a crowd the next acquire may be another one than the barrier's. Others see this arrival, and leave none of
	 * their pages to this processor. */
	cash_of(me)->arrived = !me->crowd;
	release_all(me, !me->crowd, false);
}
