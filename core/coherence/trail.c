/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/coherence/trail.h"

bool tw_trails(const struct tw_proc *me)
{
	return me->locals == 1 && !me->net->ops->direct && !me->config.race && !me->config.survive;
}

void tw_trail_begin(struct tw_proc *me, unsigned node)
{
	if (tw_trails(me) && node != me->node)
		me->successor = node + 1;
}

void tw_trail_leave(struct tw_proc *me)
{
	me->successor = 0;
	tw_net_flush(me->net, TW_NET_ALL);
}

void tw_trail_end(struct tw_proc *me)
{
	unsigned successor = me->successor;

	if (!successor) {
		tw_net_flush(me->net, TW_NET_ALL);
		return;
	}
	for (unsigned node = 0; node < me->nodes; node++)
		if (node + 1 != successor)
			tw_net_flush(me->net, node);
	tw_net_fence(me->net, successor - 1);
	me->successor = 0;
	me->trails = true;
}

void tw_trail_settle(struct tw_proc *me)
{
	me->trails = false;
	tw_net_flush(me->net, TW_NET_ALL);
}
