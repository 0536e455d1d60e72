/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/coherence/polled.h"

#include "core/base/base.h"
#include "core/memory/regions.h"

#define POLLED_NEAR_NS  2000u /* longest time between two fences of a waiting loop, */
#define POLLED_FAULT_NS 5000u /* plus this for each fault's trap, besides the time to serve it */

void tw_polled_open(struct tw_proc *me)
{
	me->polls.page = (void *)(me->net->base + me->layout.polled);
	me->polls.list = (void *)(me->net->base + me->layout.polled_list);
}

/* Mark @p as polled at all nodes. Node 0 counts the pages found, behind the list. */
static void polled_found(struct tw_proc *me, tw_page_t p)
{
	size_t list = me->layout.polled_list;
	uint64_t n = tw_net_fadd(me->net, 0, list + (TW_POLLED_MOST + 1) * sizeof(uint64_t), 1);

	if (n >= TW_POLLED_MOST)
		return;
	for (unsigned node = 0; node < me->nodes; node++) {
		tw_net_write64(me->net, node, list + n * sizeof(uint64_t), (uint64_t)p + 1);
		tw_net_write(me->net, node, me->layout.polled + p, "\1", 1);
	}
	tw_net_flush(me->net, TW_NET_ALL);
}

/* If the program waits for @flag, make its page polled. */
static void polled_look(struct tw_proc *me, const void *flag)
{
	const struct tw_polls *s = &me->polls;
	size_t offset = (size_t)((const char *)flag - me->app);

	if (!flag || flag != s->flag || offset >= me->config.memory ||
	    tw_time_ns() - s->since > POLLED_NEAR_NS + s->faults * POLLED_FAULT_NS)
		return;
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	if (!tw_polled(me, p))
		polled_found(me, p);
}

void tw_polled_fence(struct tw_proc *me, const struct tw_fence *fence, const void *flag)
{
	struct tw_polls *s = &me->polls;

	polled_look(me, flag);
	s->fence = fence;
	s->held = true;
	fence->enter();
	fence->leave();
	for (const _Atomic uint64_t *page = s->list; me->protocol->hide && atomic_load(page); page++)
		me->protocol->hide(me, (tw_page_t)(atomic_load(page) - 1));
	s->held = false;
	s->flag = flag;
	s->faults = 0;
	s->since = tw_time_ns();
}

/* Returns true when the page is polled. Then this processor holds the fences' lock and has acquired. */
static bool polled_enter(struct tw_proc *me, tw_page_t p)
{
	struct tw_polls *s = &me->polls;

	s->faults++;
	if (!s->fence || s->held || !tw_polled(me, p))
		return false;
	const void *flag = s->flag;
	s->held = s->in_fault = true;
	s->fence->enter();
	s->flag = flag;
	return true;
}

void tw_polled_stepped(void *ctx)
{
	struct tw_proc *me = ctx;

	me->polls.fence->leave();
	me->polls.held = me->polls.in_fault = false;
}

bool tw_polled_serve(struct tw_proc *me, tw_page_t p, bool write,
                     void (*serve)(struct tw_proc *me, tw_page_t p, bool write))
{
	if (!polled_enter(me, p))
		return false;
	if (!write || !(me->page[p].mapped & (uint64_t)1 << me->local)) /* the acquire may have unmapped it */
		serve(me, p, false);
	if (!write && (me->fault.ops->caps & TW_FAULT_STEP))
		me->fault.step = true;
	else
		tw_polled_stepped(me);
	return !write;
}
