/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs.c - the transport of RDMA networks: InfiniBand and RoCE, through libibverbs and librdmacm.
 *
 * What the fabric promises on one reliable connection (InfiniBand specification, sections 9.4 to 9.7), and what
 * is made of it:
 *   - Requests arrive once and are executed in the order in which they were posted.  Hence writes are ordered and
 *     fence does nothing; nobody asks for relaxed ordering when memory is registered.  A send behind writes completes
 *     at the receiver after they are in memory: messages and notifies need no flush.
 *   - The completion of a write or send says that the other side's *device* has it, not that its memory does.  The
 *     response of a read, or atomic, behind it does: it is executed after them, and on its way to memory pushes them
 *     ahead. Hence flush is a read of 8 bytes behind the writes, and is not needed where a read or atomic came after
 *     them.
 *   - A read may see a write that is posted after it, unless fenced; our callers wait (read_wait) before they write.
 *   - An aligned word is written and read whole: the devices' bus transactions, and Soft-RoCE's copies, do not tear it.
 *   - Atomics are atomic to other atomics of the same device (IBV_ATOMIC_HCA), some devices' to the processors' as
 *     well (IBV_ATOMIC_GLOB).  So those of the own node go through the device too, unless it is one of the latter. */
#include "net/transports.h"

#include "core/base/word_copy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "net/verbs/verbs_endpoint.h"

#define VERBS_POSITION_BITS 48
#define VERBS_POLLS         16 /* between two looks at the clock */

static inline struct verbs *verbs_of(struct tw_net *net)
{
	return net->priv;
}

static inline bool verbs_own(const struct tw_net *net, unsigned node)
{
	return node == net->config.node;
}

/* ---- the send queue ---- */

void verbs_post(struct verbs *v, unsigned node, bool report)
{
	struct verbs_peer *p = &v->peer[node];
	unsigned count = (unsigned)(p->queued - p->posted);
	struct ibv_send_wr *bad;

	if (count == 0)
		return;
	struct ibv_send_wr *last = &p->wr[count - 1];
	last->next = NULL;
	if (report || p->queued - p->told >= v->depth / 8 || p->taken - p->answered_taken >= v->ring_bytes / 8) {
		last->send_flags |= IBV_SEND_SIGNALED;
		p->told = p->queued;
		p->answered_taken = p->taken;
	}
	p->posted = p->queued;
	p->posted_taken = p->taken;
	int error = ibv_post_send(p->id->qp, p->wr, &bad);
	if (error && !v->closing)
		tw_fatal("the connection to %s is lost: %s; the job is ended", tw_log_node(node), strerror(error));
	p->lost |= error != 0;
}

static void verbs_post_all(struct tw_net *net)
{
	struct verbs *v = verbs_of(net);

	for (unsigned node = 0; v->batches && node < net->config.nodes; node++)
		verbs_post(v, node, false);
	v->batches = 0;
}

/* Request @done - 1 and all before it are complete. */
static void verbs_retire(struct verbs *v, struct verbs_peer *p, uint64_t done)
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
		verbs_retire(v, p, done);
		if (wc[i].opcode != IBV_WC_RDMA_WRITE && wc[i].opcode != IBV_WC_SEND)
			p->settled = done;
	}
	return n > 0;
}

/* Poll for a while; when nothing comes and time is up, arm, and the next time sleep: the polls between see what came
 * before the arming.  @until_ns: 0 at first, so that who finds all there never looks at the clock. */
static void verbs_await(struct tw_net *net, uint64_t *until_ns)
{
	struct verbs *v = verbs_of(net);
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
	struct verbs_peer *p = &verbs_of(net)->peer[node];
	uint64_t until = 0;

	while (p->done < position)
		verbs_await(net, &until);
}

/* Is there room for one more request of @bytes?  The ring's end is left out when a piece does not fit before it. */
static bool verbs_fits(const struct verbs *v, struct verbs_peer *p, size_t bytes)
{
	size_t at = p->taken % v->ring_bytes, skip = at + bytes > v->ring_bytes ? v->ring_bytes - at : 0;

	if (p->queued - p->done >= v->depth || p->taken + skip + bytes - p->freed > v->ring_bytes)
		return false;
	p->taken += skip;
	return true;
}

char *verbs_queue(struct verbs *v, unsigned node, enum ibv_wr_opcode opcode, size_t offset, size_t len,
                         void *dst)
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
	            ++p->queued; /* also what fails without being asked says whose it is */
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
	struct verbs *v = verbs_of(net);
	struct verbs_peer *p = &v->peer[node];

	if (verbs_fits(v, p, TW_ALIGN_UP(len, (size_t)8)))
		return;
	verbs_post(v, node, false);
	uint64_t until = 0;
	while (!p->lost && !verbs_fits(v, p, TW_ALIGN_UP(len, (size_t)8)))
		verbs_await(net, &until);
}

/* Long batches go out at once, so that the device works while we fill the next. */
static void verbs_post_long(struct verbs *v, unsigned node, bool report)
{
	struct verbs_peer *p = &v->peer[node];

	if (p->taken - p->posted_taken >= v->ring_bytes / 16)
		verbs_post(v, node, report);
}

/* ---- memory ---- */

void verbs_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	struct verbs *v = verbs_of(net);
	const char *from = src;

	if (verbs_own(net, node)) {
		tw_words_store(net->base + offset, src, len);
		return;
	}
	while (len > 0) {
		size_t part = TW_MIN(len, v->chunk_bytes - offset % 8); /* words stay whole */

		verbs_room(net, node, part);
		memcpy(verbs_queue(v, node, IBV_WR_RDMA_WRITE, offset, part, NULL), from, part);
		verbs_post_long(v, node, false);
		from += part;
		offset += part;
		len -= part;
	}
	v->peer[node].written = v->peer[node].queued;
}

void verbs_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	struct verbs *v = verbs_of(net);
	char *to = dst;

	if (verbs_own(net, node)) {
		tw_words_load(dst, net->base + offset, len);
		return;
	}
	while (len > 0) {
		size_t part = TW_MIN(len, v->chunk_bytes - offset % 8); /* words stay whole */

		verbs_room(net, node, part);
		verbs_queue(v, node, IBV_WR_RDMA_READ, offset, part, to);
		verbs_post_long(v, node, part == len);
		to += part;
		offset += part;
		len -= part;
	}
	v->peer[node].reading = v->peer[node].queued;
	v->read_first = TW_MIN(v->read_first, node);
	v->read_end = TW_MAX(v->read_end, node + 1);
}

/* Most reads are in a batch, or were posted to report; behind others goes a small one that does. */
static void verbs_read_wait(struct tw_net *net)
{
	struct verbs *v = verbs_of(net);

	for (unsigned node = v->read_first; node < v->read_end; node++) {
		struct verbs_peer *p = &v->peer[node];

		if (p->reading <= p->done)
			continue;
		verbs_post(v, node, true);
		if (p->told < p->reading)
			verbs_behind(net, node);
	}
	for (unsigned node = v->read_first; node < v->read_end; node++)
		verbs_wait(net, node, v->peer[node].reading);
	v->read_first = UINT_MAX;
	v->read_end = 0;
	atomic_thread_fence(memory_order_acquire);
}

void verbs_behind(struct tw_net *net, unsigned node)
{
	struct verbs *v = verbs_of(net);

	verbs_room(net, node, sizeof(uint64_t));
	if (v->peer[node].lost)
		return;
	verbs_queue(v, node, IBV_WR_RDMA_READ, net->config.control_offset, sizeof(uint64_t), NULL);
	verbs_post(v, node, true);
}

void verbs_atomic_queue(struct tw_net *net, unsigned node, size_t offset, enum ibv_wr_opcode opcode, uint64_t one,
                        uint64_t two, void *old)
{
	struct verbs *v = verbs_of(net);
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

static uint64_t verbs_atomic(struct tw_net *net, unsigned node, size_t offset, enum ibv_wr_opcode opcode, uint64_t one,
                             uint64_t two)
{
	struct verbs *v = verbs_of(net);
	uint64_t old;

	verbs_atomic_queue(net, node, offset, opcode, one, two, &old);
	verbs_post(v, node, true);
	verbs_wait(net, node, v->peer[node].queued);
	atomic_thread_fence(memory_order_seq_cst);
	return old;
}

static inline _Atomic uint64_t *verbs_word(struct tw_net *net, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(net->base + offset);
}

/* Atomics of the processor may be used, and are nearer. */
static inline bool verbs_near(struct tw_net *net, unsigned node)
{
	return verbs_own(net, node) && verbs_of(net)->coherent;
}

static uint64_t verbs_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	if (!verbs_near(net, node))
		return verbs_atomic(net, node, offset, IBV_WR_ATOMIC_CMP_AND_SWP, expect, value);
	atomic_compare_exchange_strong(verbs_word(net, offset), &expect, value);
	return expect;
}

static uint64_t verbs_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	if (!verbs_near(net, node))
		return verbs_atomic(net, node, offset, IBV_WR_ATOMIC_FETCH_AND_ADD, value, 0);
	return atomic_fetch_add(verbs_word(net, offset), value);
}

static uint64_t verbs_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	uint64_t expect = 0, old; /* what free locks hold */

	if (verbs_near(net, node))
		return atomic_exchange(verbs_word(net, offset), value);
	while ((old = verbs_cas(net, node, offset, expect, value)) != expect)
		expect = old;
	return old;
}

static void verbs_fence(struct tw_net *net, unsigned node)
{
	verbs_loops_end(net, NULL, node);
	atomic_thread_fence(memory_order_release);
}

static void verbs_flush(struct tw_net *net, unsigned node)
{
	struct verbs *v = verbs_of(net);
	unsigned first = node == TW_NET_ALL ? 0 : node, end = node == TW_NET_ALL ? net->config.nodes : node + 1;

	verbs_loops_end(net, NULL, node);
	for (unsigned i = first; i < end; i++)
		if (v->peer[i].settled < v->peer[i].written)
			verbs_behind(net, i);
	for (unsigned i = first; i < end; i++)
		if (v->peer[i].settled < v->peer[i].written)
			verbs_wait(net, i, v->peer[i].told);
	atomic_thread_fence(memory_order_seq_cst);
}

/* ---- messages ---- */

static int verbs_send(struct tw_net *net, unsigned node, unsigned port, const struct tw_msg *msg)
{
	struct verbs *v = verbs_of(net);
	size_t len = offsetof(struct tw_msg, body) + msg->len;

	TW_ASSERT(node < net->config.nodes && port < net->config.ports && msg->len <= TW_MSG_BODY);
	if (verbs_own(net, node))
		return tw_mailbox_put(tw_mailbox_of(&net->config, net->base, port), msg, node, net->config.port);
	verbs_loops_end(net, NULL, node);
	struct verbs_peer *p = &v->peer[node];
	if (!verbs_fits(v, p, TW_ALIGN_UP(len, (size_t)8))) {
		verbs_post(v, node, false);
		verbs_poll(v);
		if (!verbs_fits(v, p, TW_ALIGN_UP(len, (size_t)8)))
			return -EAGAIN;
	}
	struct tw_msg *out = (struct tw_msg *)(void *)verbs_queue(v, node, IBV_WR_SEND_WITH_IMM, 0, len, NULL);
	memcpy(out, msg, len);
	out->src_node = (uint16_t)net->config.node;
	out->src_port = (uint16_t)net->config.port;
	p->wr[p->queued - p->posted - 1].imm_data = htonl(port);
	verbs_post(v, node, false);
	return 0;
}

static void verbs_notify(struct tw_net *net, unsigned node, unsigned port)
{
	struct verbs *v = verbs_of(net);
	struct verbs_peer *p = &v->peer[node];

	if (verbs_own(net, node)) {
		for (unsigned i = 0; i < net->config.ports; i++)
			if (port == TW_NET_ALL || port == i)
				tw_mailbox_ring(tw_mailbox_of(&net->config, net->base, i));
		return;
	}
	verbs_loops_end(net, NULL, node);
	verbs_room(net, node, 0);
	verbs_queue(v, node, IBV_WR_SEND_WITH_IMM, 0, 0, NULL);
	p->wr[p->queued - p->posted - 1].imm_data = htonl(port == TW_NET_ALL ? VERBS_ALL_PORTS : port);
	verbs_post(v, node, false);
}

static bool verbs_recv(struct tw_net *net, struct tw_msg *msg)
{
	return tw_mailbox_take(verbs_of(net)->self, &net->config, msg);
}

static uint32_t verbs_bell(struct tw_net *net)
{
	return tw_mailbox_bell(verbs_of(net)->self);
}

static void verbs_sleep(struct tw_net *net, uint32_t seen, uint64_t timeout_ns)
{
	verbs_post_all(net);
	tw_mailbox_sleep(verbs_of(net)->self, seen, timeout_ns);
}

/* Also finds a lost connection that nobody waits for. */
static void verbs_progress(struct tw_net *net)
{
	verbs_post_all(net);
	verbs_poll(verbs_of(net));
	if (verbs_of(net)->loops) {
		verbs_loops_advance(net);
		verbs_loops_push(net);
	}
}

static bool verbs_pending(struct tw_net *net)
{
	return verbs_of(net)->batches || verbs_of(net)->loops;
}

static int verbs_probe(char *why, size_t why_bytes)
{
	int count = 0, error = verbs_load(why, why_bytes);

	if (error)
		return error;
	struct ibv_device **list = verbs.ibv_get_device_list(&count);
	if (list)
		verbs.ibv_free_device_list(list);
	if (count > 0)
		return 0;
	tw_format(why, why_bytes, "this host has no RDMA device");
	return -ENODEV;
}

/* No TW_NET_COHERENT_ATOMICS, also where the device is coherent: verbs_near takes the short cut. */
const struct tw_transport tw_transport_verbs = {
    .name = "verbs",
    .help = "InfiniBand and RoCE: one-sided operations over reliable connections",
    .caps = TW_NET_ORDERED_WRITES | TW_NET_REMOTE_READ | TW_NET_PINNED,
    .probe = verbs_probe,
    .control_bytes = tw_mailbox_bytes,
    .serve = verbs_serve,
    .serve_end = verbs_serve_end,
    .shut_out = verbs_shut_out,
    .open = verbs_open,
    .close = verbs_close,
    .write = verbs_write,
    .read = verbs_read,
    .read_wait = verbs_read_wait,
    .cas = verbs_cas,
    .fadd = verbs_fadd,
    .swap = verbs_swap,
    .start = verbs_start,
    .settle = verbs_settle,
    .fence = verbs_fence,
    .flush = verbs_flush,
    .send = verbs_send,
    .recv = verbs_recv,
    .notify = verbs_notify,
    .bell = verbs_bell,
    .sleep = verbs_sleep,
    .progress = verbs_progress,
    .pending = verbs_pending,
};
