/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi.c - the transport of clusters without a driver of our own: libfabric, over TCP when nothing else is said.
 *
 * What an endpoint wants of another node is an entry in a batch, which goes to the node's server as one message (net/ofi/port/ofi_port.h)
 * when it is full or when something needs it: a read, an atomic, a flush, a message, a notify, progress or sleep.  The server
 * executes batches in order.  Hence every promise of the contract: fence has nothing to do; flush, read and atomics wait
 * for an answer, which follows all that was sent before; messages and notifies are entries themselves.
 *
 * Why not the provider's remote writes and atomics for all: over TCP they are software at the target as well, where words are
 * torn and atomics are not atomic towards the CPU's; and batches are what makes many small writes cheap.  Long
 * writes and reads, which promise nothing about single words, are the provider's: they spare two copies.  They wait until
 * batches before them are executed; those after them arrive behind them (FI_ORDER_SAW), hence so do answers.
 *
 * libfabric makes progress only when it is called: whoever has sent something that nobody answers pushes it until the
 * provider has given it away. */
#include "net/ofi/ofi_endpoint.h"

#include <errno.h>
#include <string.h>

#include "net/mailbox.h"
#include "net/ofi/server/ofi_memory.h"
#include "net/transports.h"
#include "core/base/word_copy.h"

#define OFI_CHECK_NS ((uint64_t)1000000000) /* between looks of a sleeper at its connections */

/* ---- memory ---- */

/* A batch is executed later than it arrives, so those before it must be done. */
void ofi_direct(struct tw_net *net, unsigned node, bool write, size_t offset, void *local, size_t bytes,
                unsigned *in_flight)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	struct ofi_buffer *transfer = ofi_idle_buffer(net, node, &o->port.transfers);
	uint64_t begun = tw_time_ns();
	ssize_t error;

	if (link->wrote > link->asked)
		ofi_close_batch(net, node, true);
	ofi_wait(net, node, &link->answered, link->wrote);
	transfer->peer = node;
	transfer->in_flight = in_flight;
	while ((error = ofi_transfer(&o->port, link->to, transfer, write, local, bytes, link->memory.base + offset,
	                             link->memory.key)) == -FI_EAGAIN)
		if (!ofi_advance(net))
			ofi_relax(net, node, begun);
	if (error)
		ofi_lost(net, node, ofi_text(error));
	++*in_flight;
	if (write)
		link->transferred = link->sent + 1;
}

void ofi_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	const char *from = src;

	if (ofi_own(net, node)) {
		tw_words_store(net->base + offset, src, len);
		return;
	}
	if (len >= OFI_DIRECT && link->memory.direct) {
		unsigned in_flight = 0;
		ofi_direct(net, node, true, offset, (void *)(uintptr_t)src, len, &in_flight);
		ofi_wait_none(net, node, &in_flight);
		return;
	}
	while (len) {
		/* A batch is cut where a word of the target ends, so that words stay whole. */
		size_t part = TW_MIN(len, OFI_ROOM - sizeof(struct ofi_entry) - offset % 8);
		struct ofi_entry *entry = ofi_add(
		    net, node, (struct ofi_entry){.offset = offset, .bytes = (uint32_t)part, .op = OFI_WRITE}, 0);

		memcpy(entry + 1, from, part);
		link->wrote = link->sent + 1;
		offset += part;
		from += part;
		len -= part;
	}
}

struct ofi_entry *ofi_add_result(struct tw_net *net, unsigned node, struct ofi_entry entry, void *to, uint32_t bytes,
                          uint32_t stored)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];

	if (link->reads == OFI_READS) {
		ofi_close_batch(net, node, false);
		ofi_wait(net, node, &link->answered, link->asked);
	}
	struct ofi_entry *at = ofi_add(net, node, entry, bytes);
	link->read[(link->first + link->reads++) % OFI_READS] = (struct ofi_result){.to = to, .bytes = bytes, .stored = stored};
	return at;
}

void ofi_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	struct ofi *o = net->priv;
	char *to = dst;

	if (ofi_own(net, node)) {
		tw_words_load(dst, net->base + offset, len);
		return;
	}
	if (len >= OFI_DIRECT && o->link[node].memory.direct) {
		ofi_direct(net, node, false, offset, dst, len, &o->reading);
		o->reading_node = node;
		return;
	}
	while (len) {
		uint32_t part = (uint32_t)TW_MIN(len, OFI_ROOM - offset % 8);

		ofi_add_result(net, node, (struct ofi_entry){.offset = offset, .bytes = part, .op = OFI_READ}, to, part, part);
		offset += part;
		to += part;
		len -= part;
	}
}

void ofi_read_wait(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (o->link[node].reads && o->link[node].open)
			ofi_answer_batch(net, node);
	for (unsigned node = 0; node < net->config.nodes; node++)
		if (o->link[node].reads)
			ofi_wait(net, node, &o->link[node].answered, o->link[node].asked);
	ofi_wait_none(net, o->reading_node, &o->reading);
}

/* An atomic is a read with side effects. */
static uint64_t ofi_atomic(struct tw_net *net, unsigned node, size_t offset, uint16_t op, uint64_t first,
                           uint64_t second)
{
	struct ofi *o = net->priv;
	struct ofi_entry entry = {.offset = offset, .bytes = op == OFI_CAS ? 16 : 8, .op = op};
	uint64_t old = 0;
	uint64_t *value = (void *)(ofi_add_result(net, node, entry, &old, 8, 8) + 1);

	value[0] = first;
	if (op == OFI_CAS)
		value[1] = second;
	ofi_answer_batch(net, node);
	ofi_wait(net, node, &o->link[node].answered, o->link[node].asked);
	return old;
}

static uint64_t ofi_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	return ofi_atomic(net, node, offset, OFI_CAS, expect, value);
}

static uint64_t ofi_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	return ofi_atomic(net, node, offset, OFI_FADD, value, 0);
}

static uint64_t ofi_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	return ofi_atomic(net, node, offset, OFI_SWAP, value, 0);
}

void ofi_amo_result(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                 uint64_t expect, void *old, uint32_t stored)
{
	struct ofi_entry entry = {
	    .offset = offset, .bytes = 16, .op = OFI_AMO, .port = (uint16_t)(8u * op + bytes / 4)};
	uint64_t *operand = (void *)(ofi_add_result(net, node, entry, old, 8, stored) + 1);

	operand[0] = value;
	operand[1] = expect;
}

static uint64_t ofi_amo(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes,
                        uint64_t value, uint64_t expect)
{
	struct ofi *o = net->priv;
	uint64_t old = 0;

	ofi_amo_result(net, node, offset, op, bytes, value, expect, &old, 8);
	ofi_answer_batch(net, node);
	ofi_wait(net, node, &o->link[node].answered, o->link[node].asked);
	return old;
}

void ofi_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes,
                         uint64_t value, uint64_t expect)
{
	struct ofi *o = net->priv;
	struct ofi_entry entry = {
	    .offset = offset, .bytes = 16, .op = OFI_AMO_POST, .port = (uint16_t)(8u * op + bytes / 4)};
	uint64_t *operand = (void *)(ofi_add(net, node, entry, 0) + 1);

	operand[0] = value;
	operand[1] = expect;
	o->link[node].wrote = o->link[node].sent + 1;
}

static void ofi_fence(struct tw_net *net, unsigned node)
{
	(void)net;
	(void)node;
	atomic_thread_fence(memory_order_release);
}

static void ofi_flush(struct tw_net *net, unsigned node)
{
	struct ofi *o = net->priv;
	unsigned first = node == TW_NET_ALL ? 0 : node, end = node == TW_NET_ALL ? net->config.nodes : node + 1;

	for (unsigned i = first; i < end; i++)
		if (TW_MAX(o->link[i].wrote, o->link[i].transferred) > o->link[i].asked)
			ofi_answer_batch(net, i);
	for (unsigned i = first; i < end; i++)
		ofi_wait(net, i, &o->link[i].answered, TW_MAX(o->link[i].wrote, o->link[i].transferred));
	atomic_thread_fence(memory_order_seq_cst);
}

/* ---- messages and bells ---- */

static int ofi_send_message(struct tw_net *net, unsigned node, unsigned port, const struct tw_msg *msg)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	uint32_t bytes = (uint32_t)offsetof(struct tw_msg, body) + msg->len;

	TW_ASSERT(msg->len <= TW_MSG_BODY);
	if (ofi_own(net, node))
		return tw_mailbox_put(ofi_mailbox(net, port), msg, net->config.node, net->config.port);
	while (link->puts - link->placed == OFI_CREDITS)
		if (!ofi_advance(net))
			return -EAGAIN;
	memcpy(ofi_add(net, node, (struct ofi_entry){.bytes = bytes, .op = OFI_PUT, .port = (uint16_t)port}, 0) + 1,
	       msg, bytes);
	link->puts++;
	ofi_close_batch(net, node, false);
	ofi_push(net, node);
	return 0;
}

static bool ofi_recv_message(struct tw_net *net, struct tw_msg *msg)
{
	return tw_mailbox_take(((struct ofi *)net->priv)->self, &net->config, msg);
}

static void ofi_notify(struct tw_net *net, unsigned node, unsigned port)
{
	uint16_t whom = (uint16_t)(port == TW_NET_ALL ? OFI_ALL_PORTS : port);

	if (!ofi_own(net, node)) {
		ofi_add(net, node, (struct ofi_entry){.op = OFI_RING, .port = whom}, 0);
		ofi_close_batch(net, node, false);
		ofi_push(net, node);
		return;
	}
	for (unsigned i = 0; i < net->config.ports; i++)
		if (port == TW_NET_ALL || port == i)
			tw_mailbox_ring(ofi_mailbox(net, i));
}

static uint32_t ofi_bell(struct tw_net *net)
{
	return tw_mailbox_bell(((struct ofi *)net->priv)->self);
}

/* Credits that come back, and what the provider still has to give away. */
static void ofi_progress(struct tw_net *net)
{
	struct ofi *o = net->priv;

	ofi_close_all(net);
	if (o->port.sends.count < o->port.sends.all || o->port.transfers.count < o->port.transfers.all ||
	    o->port.signals.count < o->port.signals.all)
		ofi_advance(net);
}

static bool ofi_pending(struct tw_net *net)
{
	const struct ofi *o = net->priv;
	const struct ofi_port *port = &o->port;
	bool pending = o->opens || port->sends.count < port->sends.all || port->transfers.count < port->transfers.all ||
	               port->signals.count < port->signals.all;

	for (unsigned i = 0; !pending && i < net->config.nodes; i++)
		pending = o->link[i].answered < o->link[i].asked && !tw_net_lost(&net->config, i);
	return pending;
}

/* Now and then a sleeper looks whether its connections hold: what it waits for may be lost with one of them. */
static void ofi_sleep_bell(struct tw_net *net, uint32_t seen, uint64_t timeout_ns)
{
	struct ofi *o = net->priv;

	ofi_close_all(net);
	ofi_push(net, net->config.node);
	tw_mailbox_sleep(o->self, seen, timeout_ns ? TW_MIN(timeout_ns, OFI_CHECK_NS) : OFI_CHECK_NS);
	if (tw_mailbox_bell(o->self) != seen)
		return;
	o->port.eq_polls = 0;
	ofi_advance(net);
	ofi_signal_lost_end(net);
}

/* ---- the table ---- */

static int ofi_probe(char *why, size_t why_bytes)
{
	return ofi_works("", why, why_bytes);
}

static size_t ofi_control_bytes(unsigned ports)
{
	return ofi_closed_bytes(ports) + ofi_cards_bytes(ports);
}

const struct tw_transport tw_transport_ofi = {
    .name = "ofi",
    .help = "libfabric: connections over TCP, or reliable datagrams of what TWEED_NET_PROVIDER names: clusters",
    .caps = TW_NET_COHERENT_ATOMICS | TW_NET_ORDERED_WRITES | TW_NET_REMOTE_READ | TW_NET_ASCENDING_READS |
            TW_NET_LOSES_NODES,
    .probe = ofi_probe,
    .control_bytes = ofi_control_bytes,
    .serve = ofi_serve,
    .serve_end = ofi_serve_end,
    .shut_out = ofi_shut_out,
    .open = ofi_open,
    .close = ofi_close,
    .write = ofi_write,
    .read = ofi_read,
    .read_wait = ofi_read_wait,
    .cas = ofi_cas,
    .fadd = ofi_fadd,
    .swap = ofi_swap,
    .amo = ofi_amo,
    .amo_post = ofi_amo_post,
    .start = ofi_start,
    .settle = ofi_settle,
    .fence = ofi_fence,
    .flush = ofi_flush,
    .send = ofi_send_message,
    .recv = ofi_recv_message,
    .notify = ofi_notify,
    .bell = ofi_bell,
    .sleep = ofi_sleep_bell,
    .progress = ofi_progress,
    .pending = ofi_pending,
    .put_signal = ofi_put_signal,
    .poll_signals = ofi_poll_signals,
    .announce_sleep = ofi_announce_sleep,
};
