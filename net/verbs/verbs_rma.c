/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_rma.c - remote memory access and atomics. */
#include "core/base/word_copy.h"

#include <limits.h>
#include <string.h>

#include "net/verbs/verbs_endpoint.h"

/* Long batches are posted at once, so that the device works while the next one is filled. */
static void rma_post_long(struct verbs *v, unsigned node, bool report)
{
	struct verbs_peer *p = &v->peer[node];

	if (p->taken - p->posted_taken >= v->ring_bytes / 16)
		verbs_post(v, node, report);
}

void verbs_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	struct verbs *v = net->priv;
	const char *from = src;

	if (verbs_own(net, node)) {
		tw_words_store(net->base + offset, src, len);
		return;
	}
	while (len > 0) {
		size_t part = TW_MIN(len, v->chunk_bytes - offset % 8); /* words stay whole */

		verbs_room(net, node, part);
		memcpy(verbs_queue(v, node, IBV_WR_RDMA_WRITE, offset, part, NULL), from, part);
		rma_post_long(v, node, false);
		from += part;
		offset += part;
		len -= part;
	}
	v->peer[node].written = v->peer[node].queued;
}

void verbs_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	struct verbs *v = net->priv;
	char *to = dst;

	if (verbs_own(net, node)) {
		tw_words_load(dst, net->base + offset, len);
		return;
	}
	while (len > 0) {
		size_t part = TW_MIN(len, v->chunk_bytes - offset % 8); /* words stay whole */

		verbs_room(net, node, part);
		verbs_queue(v, node, IBV_WR_RDMA_READ, offset, part, to);
		rma_post_long(v, node, part == len);
		to += part;
		offset += part;
		len -= part;
	}
	v->peer[node].reading = v->peer[node].queued;
	v->read_first = TW_MIN(v->read_first, node);
	v->read_end = TW_MAX(v->read_end, node + 1);
}

/* Most reads are in a batch, or were posted to report; behind the others a small one is posted that reports. */
void verbs_read_wait(struct tw_net *net)
{
	struct verbs *v = net->priv;

	for (unsigned node = v->read_first; node < v->read_end; node++) {
		struct verbs_peer *p = &v->peer[node];

		if (p->reading <= p->done)
			continue;
		verbs_post(v, node, true);
		if (p->reported < p->reading)
			verbs_behind(net, node);
	}
	for (unsigned node = v->read_first; node < v->read_end; node++)
		verbs_wait(net, node, v->peer[node].reading);
	v->read_first = UINT_MAX;
	v->read_end = 0;
	atomic_thread_fence(memory_order_acquire);
}

static uint64_t rma_atomic(struct tw_net *net, unsigned node, size_t offset, enum ibv_wr_opcode opcode, uint64_t one,
                           uint64_t two)
{
	struct verbs *v = net->priv;
	uint64_t old;

	verbs_atomic_queue(net, node, offset, opcode, one, two, &old);
	verbs_post(v, node, true);
	verbs_wait(net, node, v->peer[node].queued);
	atomic_thread_fence(memory_order_seq_cst);
	return old;
}

static inline _Atomic uint64_t *rma_word(struct tw_net *net, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(net->base + offset);
}

/* May the processor's atomics be used, which are faster? */
static inline bool rma_near(struct tw_net *net, unsigned node)
{
	return verbs_own(net, node) && ((struct verbs *)net->priv)->coherent;
}

uint64_t verbs_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	if (!rma_near(net, node))
		return rma_atomic(net, node, offset, IBV_WR_ATOMIC_CMP_AND_SWP, expect, value);
	atomic_compare_exchange_strong(rma_word(net, offset), &expect, value);
	return expect;
}

uint64_t verbs_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	if (!rma_near(net, node))
		return rma_atomic(net, node, offset, IBV_WR_ATOMIC_FETCH_AND_ADD, value, 0);
	return atomic_fetch_add(rma_word(net, offset), value);
}

uint64_t verbs_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	uint64_t expect = 0, old; /* the value of free locks */

	if (rma_near(net, node))
		return atomic_exchange(rma_word(net, offset), value);
	while ((old = verbs_cas(net, node, offset, expect, value)) != expect)
		expect = old;
	return old;
}

void verbs_fence(struct tw_net *net, unsigned node)
{
	verbs_loops_end(net, NULL, node);
	atomic_thread_fence(memory_order_release);
}

void verbs_flush(struct tw_net *net, unsigned node)
{
	struct verbs *v = net->priv;
	unsigned first = node == TW_NET_ALL ? 0 : node, end = node == TW_NET_ALL ? net->config.nodes : node + 1;

	verbs_loops_end(net, NULL, node);
	for (unsigned i = first; i < end; i++)
		if (v->peer[i].settled < v->peer[i].written)
			verbs_behind(net, i);
	for (unsigned i = first; i < end; i++)
		if (v->peer[i].settled < v->peer[i].written)
			verbs_wait(net, i, v->peer[i].reported);
	atomic_thread_fence(memory_order_seq_cst);
}
