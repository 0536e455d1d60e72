/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_flow.c - started operations over ofi.
 *
 * A flow's mark of a node is the number of the batch whose answer says that everything is done: the batch that has the
 * operation, or for the provider's writes the next one, which arrives behind them.  The provider's transfers are
 * counted: their local memory belongs to the provider until they are complete. */
#include "net/flow.h"
#include "net/ofi/ofi_endpoint.h"

#define FLOW_EVENTS 16u /* handled by a poll that does not wait */

void ofi_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *w)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[w->node];
	bool direct = w->len >= OFI_DIRECT && link->memory.direct;

	if (w->kind == TW_NET_AMO) {
		tw_flow_count_amo(net, w);
		if (w->local)
			ofi_amo_result(net, w->node, w->offset, w->op, (unsigned)w->len, w->value, w->expect, w->local,
			               (uint32_t)w->len);
		else
			ofi_amo_post(net, w->node, w->offset, w->op, (unsigned)w->len, w->value, w->expect);
	} else if (direct && w->kind != TW_NET_PUT) {
		ofi_direct(net, w->node, w->kind == TW_NET_WRITE, w->offset, w->local, w->len, &flow->in_flight);
		if (w->kind == TW_NET_READ)
			return;
	} else if (w->kind == TW_NET_READ) {
		ofi_read(net, w->node, w->offset, w->local, w->len);
	} else {
		ofi_write(net, w->node, w->offset, w->local, w->len);
	}
	flow->mark[w->node] = link->sent + 1;
}

bool ofi_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait)
{
	struct ofi *o = net->priv;
	bool settled = true;

	for (unsigned i = 0; i < net->config.nodes; i++)
		if (flow->mark[i] > o->link[i].asked) {
			if (wait)
				ofi_answer_batch(net, i);
			else
				ofi_close_batch(net, i, true);
		}
	for (unsigned i = 0; !wait && i < FLOW_EVENTS && ofi_advance(net); i++)
		continue;
	for (unsigned i = 0; i < net->config.nodes; i++) {
		if (wait)
			ofi_wait(net, i, &o->link[i].answered, flow->mark[i]);
		settled = settled && (o->link[i].answered >= flow->mark[i] || tw_net_lost(&net->config, i));
	}
	if (wait)
		ofi_wait_none(net, net->config.node, &flow->in_flight);
	atomic_thread_fence(memory_order_seq_cst);
	return settled && !flow->in_flight;
}
