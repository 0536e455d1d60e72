/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi.c - the transport of clusters without a driver of Tweed's own: libfabric, over TCP by default.  The table of
 * operations; messages and bells.
 *
 * An operation on another node is an entry in a batch, which goes to the node's server as one message
 * (net/ofi/port/ofi_port.h) when it is full or when something needs it: a read, an atomic, a flush, a message, a
 * notify, progress or sleep.  The server executes batches in order.  This keeps every promise of the contract: fence
 * has nothing to do; flush, read and atomics wait for an answer, which follows all that was sent before; messages and
 * notifies are entries themselves.
 *
 * The provider's remote writes and atomics are not used for all: over TCP they are software at the target as well,
 * where words are torn and atomics are not atomic towards the CPU's; and batches make many small writes cheap.  Long
 * writes and reads, which promise nothing about single words, are the provider's: they save two copies.  They start
 * after earlier batches are executed; later batches arrive behind them (FI_ORDER_SAW), hence so do answers.
 *
 * libfabric makes progress only when it is called: an endpoint that has sent a message without an answer calls it
 * until the provider has sent that. */
#include "net/ofi/ofi_endpoint.h"

#include <errno.h>
#include <string.h>

#include "net/mailbox.h"
#include "net/ofi/server/ofi_memory.h"
#include "net/transports.h"

#if TW_ASAN
/* A job has ended with an object left that libfabric had allocated for itself. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfabric.so\n";
}
#endif

#define OFI_CHECK_NS ((uint64_t)1000000000) /* a sleeping endpoint checks its connections after that time */

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
	uint16_t bells = (uint16_t)(port == TW_NET_ALL ? OFI_ALL_PORTS : port);

	if (!ofi_own(net, node)) {
		ofi_add(net, node, (struct ofi_entry){.op = OFI_RING, .port = bells}, 0);
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

/* For messages that the provider still holds, and credits for mailboxes. */
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

/* Returns now and then, after a check of the connections: what is waited for may be lost with one of them. */
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
    .cas_wide = ofi_cas_wide,
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
