/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_loop.c - started atomics that devices lack: swaps, bitwise ones, those of 4 bytes.
 *
 * Each is a compare-and-swap of the 8 bytes around its word, repeated until it succeeds.  The first try assumes the
 * value that this endpoint wrote there last; a wrong guess costs no more than a read, because the found value is
 * returned.  So several on one word follow each other without waiting for an answer.
 *
 * To fence, flush, notify and send they are writes, which must not be overtaken: those operations wait until the loops
 * have ended. */
#include "net/amo.h"
#include "net/flow.h"
#include "net/verbs/verbs_endpoint.h"

static bool loop_of(const struct verbs_loop *l, const struct tw_net_flow *flow, unsigned node)
{
	return l->flow && (!flow || l->flow == flow) && (node == TW_NET_ALL || l->node == node);
}

static void loop_try(struct tw_net *net, struct verbs_loop *l, uint64_t seen)
{
	struct verbs *v = net->priv;
	uint64_t word = tw_amo_extract(seen, l->offset, l->bytes);
	uint64_t next =
	    tw_amo_insert(seen, l->offset, l->bytes, tw_amo_result(l->op, l->bytes, word, l->value, l->expect));

	l->seen = seen;
	verbs_atomic_queue(net, l->node, l->offset / 8 * 8, IBV_WR_ATOMIC_CMP_AND_SWP, seen, next, &l->was);
	l->position = v->peer[l->node].queued;
	v->wrote = (struct verbs_wrote){.node = l->node, .offset = l->offset / 8 * 8, .value = next, .fresh = true};
}

static bool loop_wrote(const struct verbs *v, const struct verbs_loop *l)
{
	return v->wrote.node == l->node && v->wrote.offset == l->offset / 8 * 8;
}

/* The answer has arrived: try again, or end. */
static void loop_step(struct tw_net *net, struct verbs_loop *l)
{
	struct verbs *v = net->priv;

	if (l->was != l->seen && l->op != TW_AMO_FETCH) {
		loop_try(net, l, v->wrote.fresh && loop_wrote(v, l) ? v->wrote.value : l->was);
		return;
	}
	uint64_t old = tw_amo_extract(l->was, l->offset, l->bytes);
	if (l->old)
		memcpy(l->old, &old, l->bytes); /* its lower bytes, which are first */
	l->flow = NULL;
	v->loops--;
}

void verbs_loops_advance(struct tw_net *net)
{
	struct verbs *v = net->priv;

	v->wrote.fresh = false;
	for (unsigned i = 0; v->loops && i < VERBS_LOOPS; i++)
		if (v->loop[i].flow && v->peer[v->loop[i].node].done >= v->loop[i].position)
			loop_step(net, &v->loop[i]);
}

bool verbs_loops_any(const struct verbs *v, const struct tw_net_flow *flow, unsigned node)
{
	for (unsigned i = 0; v->loops && i < VERBS_LOOPS; i++)
		if (loop_of(&v->loop[i], flow, node))
			return true;
	return false;
}

void verbs_loops_push(struct tw_net *net)
{
	struct verbs *v = net->priv;

	for (unsigned i = 0; v->loops && i < VERBS_LOOPS; i++) {
		const struct verbs_loop *l = &v->loop[i];

		if (!l->flow || v->peer[l->node].reported >= l->position)
			continue;
		verbs_post(v, l->node, true);
		if (v->peer[l->node].reported < l->position)
			verbs_behind(net, l->node);
	}
}

void verbs_loops_end(struct tw_net *net, const struct tw_net_flow *flow, unsigned node)
{
	struct verbs *v = net->priv;

	while (verbs_loops_any(v, flow, node)) {
		verbs_loops_push(net);
		for (unsigned i = 0; i < VERBS_LOOPS; i++)
			if (loop_of(&v->loop[i], flow, node))
				verbs_wait(net, v->loop[i].node, v->loop[i].position);
		verbs_loops_advance(net);
	}
}

void verbs_loop_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *w)
{
	struct verbs *v = net->priv;
	struct verbs_loop *l = v->loop;

	if (v->loops == VERBS_LOOPS)
		verbs_loops_end(net, NULL, TW_NET_ALL);
	while (l->flow)
		l++;
	tw_flow_count_amo(net, w);
	*l = (struct verbs_loop){.flow = flow,
	                         .node = w->node,
	                         .bytes = (unsigned)w->len,
	                         .op = w->op,
	                         .offset = w->offset,
	                         .value = w->len == 4 ? (uint32_t)w->value : w->value,
	                         .expect = w->len == 4 ? (uint32_t)w->expect : w->expect,
	                         .old = w->local};
	v->loops++;
	loop_try(net, l, loop_wrote(v, l) ? v->wrote.value : 0);
}
