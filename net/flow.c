/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.c - started operations: those on the own node, and of transports without started operations, are performed at
 * once. */
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "net/flow.h"

struct tw_net_flow *tw_net_flow_new(const struct tw_net *net)
{
	struct tw_net_flow *flow;

	return calloc(1, sizeof(*flow) + net->config.nodes * sizeof(flow->mark[0]));
}

void tw_flow_amo(struct tw_net *net, const struct tw_net_work *w)
{
	if (!w->local) {
		tw_net_amo_post(net, w->node, w->offset, w->op, (unsigned)w->len, w->value, w->expect);
		return;
	}
	uint64_t old = tw_net_amo(net, w->node, w->offset, w->op, (unsigned)w->len, w->value, w->expect);
	memcpy(w->local, &old, w->len); /* its lower bytes, which are first */
}

static void flow_do(struct tw_net *net, const struct tw_net_work *w)
{
	if (w->kind == TW_NET_AMO)
		tw_flow_amo(net, w);
	else if (w->kind == TW_NET_READ)
		tw_net_read(net, w->node, w->offset, w->local, w->len);
	else
		tw_net_write(net, w->node, w->offset, w->local, w->len);
}

void tw_net_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work)
{
	if (work->node == net->config.node || !net->ops->start) {
		flow->open |= work->node != net->config.node;
		flow_do(net, work);
		return;
	}
	if (work->kind == TW_NET_READ)
		net->traffic->bytes_in += work->len;
	else if (work->kind != TW_NET_AMO) /* which tw_flow_amo or tw_flow_count_amo counts */
		net->traffic->bytes_out += work->len;
	flow->open = true;
	net->ops->start(net, flow, work);
}

bool tw_net_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait)
{
	if (!flow->open)
		return true;
	if (!net->ops->settle) {
		net->ops->read_wait(net);
		net->ops->flush(net, TW_NET_ALL);
	} else if (!net->ops->settle(net, flow, wait)) {
		return false;
	}
	net->traffic->round_trips += wait;
	flow->open = false;
	return true;
}
