/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/sim/sim_flow.h"

#include <string.h>

#include "net/flow.h"

static void started_do_one(struct tw_net *net, const struct tw_net_work *w)
{
	if (w->kind == TW_NET_AMO)
		tw_flow_amo(net, w);
	else if (w->kind == TW_NET_READ)
		net->ops->read(net, w->node, w->offset, w->local, w->len);
	else
		net->ops->write(net, w->node, w->offset, w->local, w->len);
}

void sim_started_do(struct tw_net *net, struct sim_started *s, unsigned node, const struct tw_net_flow *flow)
{
	unsigned kept = 0;

	if (s->doing)
		return;
	s->doing = true;
	for (unsigned i = 0; i < s->count; i++) {
		struct sim_start *start = &s->start[i];
		if ((node == TW_NET_ALL || start->work.node == node) && (!flow || start->flow == flow))
			started_do_one(net, &start->work);
		else
			s->start[kept++] = *start;
	}
	s->count = kept;
	s->doing = false;
}

void sim_started_add(struct tw_net *net, struct sim_started *s, struct tw_net_flow *flow,
                     const struct tw_net_work *work)
{
	if (s->count == SIM_STARTED)
		sim_started_do(net, s, TW_NET_ALL, NULL);
	s->start[s->count++] = (struct sim_start){flow, *work};
	flow->mark[work->node] = 1;
}

void sim_started_settle(struct tw_net *net, struct sim_started *s, struct tw_net_flow *flow)
{
	sim_started_do(net, s, TW_NET_ALL, flow);
	net->ops->read_wait(net);
	for (unsigned i = 0; i < net->config.nodes; i++) {
		if (flow->mark[i])
			net->ops->flush(net, i);
		flow->mark[i] = 0;
	}
}
