/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_queue.c - an endpoint's send queues and rings (net/verbs/verbs_endpoint.h), and waiting for completions. */
#include "core/base/word_copy.h"

#include <string.h>

#include "net/verbs/verbs_endpoint.h"

#define VERBS_POSITION_BITS 48
#define VERBS_POLLS         16 /* between two reads of the clock */

void verbs_post(struct verbs *v, unsigned node, bool report)
{
	struct verbs_peer *p = &v->peer[node];
	unsigned count = (unsigned)(p->queued - p->posted);
	struct ibv_send_wr *bad;

	if (count == 0)
		return;
	struct ibv_send_wr *last = &p->wr[count - 1];
	last->next = NULL;
	if (report || p->queued - p->reported >= v->depth / 8 || p->taken - p->answered_taken >= v->ring_bytes / 8) {
		last->send_flags |= IBV_SEND_SIGNALED;
		p->reported = p->queued;
		p->answered_taken = p->taken;
	}
	p->posted = p->queued;
	p->posted_taken = p->taken;
	int error = ibv_post_send(p->id->qp, p->wr, &bad);
	if (error && !v->closing)
		tw_fatal("the connection to %s is lost: %s; the job is ended", tw_log_node(node), strerror(error));
	p->lost |= error != 0;
}

void verbs_post_all(struct tw_net *net)
{
	struct verbs *v = net->priv;

	for (unsigned node = 0; v->batches && node < net->config.nodes; node++)
		verbs_post(v, node, false);
	v->batches = 0;
}

/* Request @done - 1 and all before it are complete: store what arrived, and free the ring. */
static void queue_retire(struct verbs *v, struct verbs_peer *p, uint64_t done)
{
	for (; p->done < done; p->done++) {
		const struct verbs_slot *slot = &p->slot[p->done % v->depth];

		if (slot->dst)
			tw_words_store(slot->dst, p->ring + slot->at, slot->len);
		p->freed = slot->taken;
	}
}

bool verbs_poll(struct verbs *v)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(v->cq, 16, wc);

	for (int i = 0; i < n; i++) {
		unsigned node = (unsigned)(wc[i].wr_id >> VERBS_POSITION_BITS);
		uint64_t done = wc[i].wr_id & (((uint64_t)1 << VERBS_POSITION_BITS) - 1);
		struct verbs_peer *p = &v->peer[node];

		if (wc[i].status != IBV_WC_SUCCESS) {
			if (!v->closing)
				tw_fatal("the connection to %s is lost: %s; the job is ended", tw_log_node(node),
				         verbs.ibv_wc_status_str(wc[i].status));
			p->lost = true;
			continue;
		}
		queue_retire(v, p, done);
		if (wc[i].opcode != IBV_WC_RDMA_WRITE && wc[i].opcode != IBV_WC_SEND)
			p->settled = done;
	}
	return n > 0;
}

/* Poll for a while.  If there was no completion and the time is up, arm the channel, and in the next call sleep: the
 * polls between see completions from before the arming.  @until_ns: 0 at first, so that a wait that ends at once never
 * reads the clock. */
static void queue_await(struct tw_net *net, uint64_t *until_ns)
{
	struct verbs *v = net->priv;
	struct ibv_cq *cq;
	void *context;

	for (unsigned i = 0; i < VERBS_POLLS; i++) {
		if (verbs_poll(v))
			return;
	}
	uint64_t now = tw_time_ns();
	if (*until_ns == 0)
		*until_ns = now + net->config.spin_ns;
	if (now < *until_ns)
		return;
	if (!v->armed) {
		if (ibv_req_notify_cq(v->cq, 0) != 0)
			tw_fatal("transport verbs: cannot wait for completions");
		v->armed = true;
	} else if (verbs.ibv_get_cq_event(v->channel, &cq, &context) == 0) {
		verbs.ibv_ack_cq_events(cq, 1);
		v->armed = false;
	}
}

void verbs_wait(struct tw_net *net, unsigned node, uint64_t position)
{
	struct verbs_peer *p = &((struct verbs *)net->priv)->peer[node];
	uint64_t until = 0;

	while (p->done < position)
		queue_await(net, &until);
}

/* The ring's end is left out if a piece does not fit before it. */
bool verbs_fits(const struct verbs *v, struct verbs_peer *p, size_t bytes)
{
	size_t at = p->taken % v->ring_bytes, skip = at + bytes > v->ring_bytes ? v->ring_bytes - at : 0;

	if (p->queued - p->done >= v->depth || p->taken + skip + bytes - p->freed > v->ring_bytes)
		return false;
	p->taken += skip;
	return true;
}

char *verbs_queue(struct verbs *v, unsigned node, enum ibv_wr_opcode opcode, size_t offset, size_t len, void *dst)
{
	struct verbs_peer *p = &v->peer[node];

	if (p->queued - p->posted == VERBS_BATCH)
		verbs_post(v, node, false);
	unsigned i = (unsigned)(p->queued - p->posted);
	uint32_t at = (uint32_t)(p->taken % v->ring_bytes);
	struct ibv_send_wr *wr = &p->wr[i];

	v->batches += i == 0;
	p->taken += TW_ALIGN_UP(len, (size_t)8);
	p->slot[p->queued % v->depth] =
	    (struct verbs_slot){.dst = dst, .at = at, .len = (uint32_t)len, .taken = p->taken};
	wr->wr_id = (uint64_t)node << VERBS_POSITION_BITS |
	            ++p->queued; /* a request that fails without reporting also says its node */
	p->sge[i] = (struct ibv_sge){.addr = (uintptr_t)p->ring + at, .length = (uint32_t)len, .lkey = v->rings->lkey};
	wr->next = &p->wr[(i + 1) % VERBS_BATCH];
	wr->sg_list = &p->sge[i];
	wr->num_sge = len != 0;
	wr->opcode = opcode;
	bool carries = (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_SEND_WITH_IMM) && len > 0;
	wr->send_flags = carries && len <= v->inline_bytes ? IBV_SEND_INLINE : 0;
	wr->wr.rdma.remote_addr = p->base + offset;
	wr->wr.rdma.rkey = p->rkey;
	return p->ring + at;
}

void verbs_room(struct tw_net *net, unsigned node, size_t len)
{
	struct verbs *v = net->priv;
	struct verbs_peer *p = &v->peer[node];

	if (verbs_fits(v, p, TW_ALIGN_UP(len, (size_t)8)))
		return;
	verbs_post(v, node, false);
	uint64_t until = 0;
	while (!p->lost && !verbs_fits(v, p, TW_ALIGN_UP(len, (size_t)8)))
		queue_await(net, &until);
}

void verbs_behind(struct tw_net *net, unsigned node)
{
	struct verbs *v = net->priv;

	verbs_room(net, node, sizeof(uint64_t));
	if (v->peer[node].lost)
		return;
	verbs_queue(v, node, IBV_WR_RDMA_READ, net->config.control_offset, sizeof(uint64_t), NULL);
	verbs_post(v, node, true);
}

void verbs_atomic_queue(struct tw_net *net, unsigned node, size_t offset, enum ibv_wr_opcode opcode, uint64_t one,
                        uint64_t two, void *old)
{
	struct verbs *v = net->priv;
	struct verbs_peer *p = &v->peer[node];

	atomic_thread_fence(memory_order_seq_cst); /* own stores before */
	verbs_room(net, node, sizeof(uint64_t));
	verbs_queue(v, node, opcode, offset, sizeof(uint64_t), old);
	struct ibv_send_wr *wr = &p->wr[p->queued - p->posted - 1];
	wr->wr.atomic.remote_addr = p->base + offset;
	wr->wr.atomic.compare_add = one;
	wr->wr.atomic.swap = two;
	wr->wr.atomic.rkey = p->rkey;
}
