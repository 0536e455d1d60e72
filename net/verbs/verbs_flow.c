/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_flow.c - started operations over verbs: a flow's mark of a node is the position behind its last request; a
 * small read behind that settles it, as in flush.
 *
 * All operations are really started, through the ring, and wait only when that is full; atomics that the device lacks
 * are loops (verbs_loop.c). */
#include "net/flow.h"
#include "net/verbs/verbs_endpoint.h"

static bool verbs_has(const struct tw_net_work *w)
{
	return w->len == 8 && (w->op == TW_AMO_ADD || w->op == TW_AMO_CAS || w->op == TW_AMO_FETCH);
}

void verbs_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *w)
{
	struct verbs *v = net->priv;

	if (w->kind == TW_NET_READ) {
		verbs_read(net, w->node, w->offset, w->local, w->len);
	} else if (w->kind != TW_NET_AMO) {
		verbs_write(net, w->node, w->offset, w->local, w->len);
	} else if (!verbs_has(w)) {
		verbs_loop_start(net, flow, w);
		return;
	} else {
		bool cas = w->op == TW_AMO_CAS;

		tw_flow_count_amo(net, w);
		verbs_atomic_queue(net, w->node, w->offset,
		                   cas ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
		                   cas                     ? w->expect
		                   : w->op == TW_AMO_FETCH ? 0
		                                           : w->value,
		                   w->value, w->local);
	}
	flow->mark[w->node] = v->peer[w->node].queued;
}

bool verbs_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait)
{
	struct verbs *v = net->priv;
	bool settled = true;

	if (wait)
		verbs_loops_end(net, flow, TW_NET_ALL);
	else
		verbs_loops_push(net);
	for (unsigned i = 0; i < net->config.nodes; i++) {
		if (v->peer[i].settled >= flow->mark[i] || v->peer[i].proof >= flow->mark[i])
			continue;
		verbs_behind(net, i);
		v->peer[i].proof = v->peer[i].queued;
	}
	if (!wait) {
		verbs_poll(v);
		verbs_loops_advance(net);
		settled = !verbs_loops_any(v, flow, TW_NET_ALL);
	}
	for (unsigned i = 0; i < net->config.nodes; i++) {
		if (wait && v->peer[i].settled < flow->mark[i])
			verbs_wait(net, i, v->peer[i].proof);
		settled = settled && v->peer[i].settled >= flow->mark[i];
	}
	atomic_thread_fence(memory_order_seq_cst);
	return settled;
}
