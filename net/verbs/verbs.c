/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs.c - the transport of RDMA networks: InfiniBand and RoCE, through libibverbs and librdmacm.  The table of
 * operations; messages and bells.
 *
 * What the fabric promises on one reliable connection (InfiniBand specification, sections 9.4 to 9.7), and how the
 * transport uses it:
 *   - Requests arrive once and are executed in the order in which they were posted.  Hence writes are ordered and fence
 *     does nothing; memory is never registered with relaxed ordering.  A send behind writes completes at the receiver
 *     after they are in memory: messages and notifies need no flush.
 *   - The completion of a write or send says that the other side's *device* has it, not that its memory does.  The
 *     response of a read, or atomic, behind it does: it is executed after them, and on its way to memory pushes them
 *     ahead.  Hence flush is a read of 8 bytes behind the writes, and is not needed where a read or atomic was posted
 *     after them.
 *   - A read may see a write that is posted after it, unless fenced; callers wait (read_wait) before they write.
 *   - An aligned word is written and read whole: the devices' bus transactions, and Soft-RoCE's copies, do not tear it.
 *   - Atomics are atomic to other atomics of the same device (IBV_ATOMIC_HCA), some devices' to the processors' as well
 *     (IBV_ATOMIC_GLOB).  So those on the own node go through the device too, unless it is one of the latter. */
#include "net/transports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "net/verbs/verbs_endpoint.h"

static inline struct verbs *verbs_of(struct tw_net *net)
{
	return net->priv;
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

/* Polling also finds a lost connection for which no operation waits. */
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

/* No TW_NET_COHERENT_ATOMICS, even where the device is coherent: rma_near takes the short cut. */
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
