/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/poll.h"

#include "core/job.h"

static const _Atomic uint32_t poll_never;
static struct tw_proc *poll_me;

const _Atomic uint32_t *tw_poll_flag = &poll_never;

void tw_poll_open(struct tw_proc *me)
{
	bool polls = me && me->protocol->poll && me->poll_flag;
	poll_me = me;
	tw_poll_flag = polls ? me->poll_flag : &poll_never;
}

void tw_poll(void)
{
	struct tw_proc *me = poll_me;

	if (!me || me->hooks)
		return;
	tw_protocol_enter(me);
	uint64_t t = tw_time_begin(me);
	me->protocol->poll(me);
	tw_time_end(me, &me->stats->now.polling_ns, t);
	tw_protocol_leave(me);
}
