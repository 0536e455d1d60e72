/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/coherence/polled.h"

#include "core/base/base.h"
#include "core/memory/regions.h"

#define POLLED_NEAR_NS  2000u /* fences of a loop that waits are not further apart, */
#define POLLED_FAULT_NS 5000u /* and so much further for the trap of a fault, besides what it takes to serve it */

/* All nodes are told.  How many there are is counted at node 0, behind the list. */
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

/* Does the program wait for @flag? */
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

bool tw_polled_fault(struct tw_proc *me, tw_page_t p)
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

void tw_polled_fetched(struct tw_proc *me)
{
	me->polls.fence->leave();
	me->polls.held = me->polls.in_fault = false;
}
