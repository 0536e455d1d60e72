/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - waits for the network: accounted, and ready for shootdowns. */
#include "core/coherence/shootdown.h"
#include "core/job/job.h"

bool tw_wait_until(struct tw_proc *me, bool (*ready)(void *arg), void *arg, uint64_t until_ns)
{
	if (ready(arg))
		return true;
	uint64_t t = tw_time_begin(me);
	tw_shootdown_enter(me);
	bool done = tw_net_wait_until(me->net, ready, arg, until_ns);
	tw_shootdown_leave(me);
	tw_time_end(me, &me->stats->now.comm_wait_ns, t);
	return done;
}

void tw_wait(struct tw_proc *me, bool (*ready)(void *arg), void *arg)
{
	tw_wait_until(me, ready, arg, 0);
}
