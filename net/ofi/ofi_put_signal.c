/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_put_signal.c - puts with signal, from endpoint to endpoint without a server: they save the time until a server's
 * process is scheduled, but are executed only when the peer polls. */
#include <string.h>

#include "net/ofi/ofi_endpoint.h"

#define SIGNAL_EVENTS   16u     /* handled by one poll */
#define SIGNAL_FRESH_NS 50000u  /* after so long without a poll, a put polls first: an ASLEEP may have arrived */
#define SIGNAL_LONG     131072u /* most bytes of data: about what the system takes before the peer reads */
#define SIGNAL_SLEEPS   128u    /* sleep is announced while fewer messages are unacknowledged */

/* Acknowledge messages of peers to which nothing else was sent for long. */
static void signal_send_acks(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned i = 0; o->peers->unacked && i < o->peers->peers; i++) {
		struct ofi_peer *peer = &o->peers->peer[i];

		if (ofi_peer_unacked(peer) && ofi_peer_connect(net, peer))
			ofi_peer_send_head(net, peer, OFI_ACK);
	}
}

/* Handle what has arrived; @soon: stop at the first signal, which the caller may wait for: each poll costs a
 * microsecond. */
static void signal_progress(struct tw_net *net, bool soon)
{
	struct ofi *o = net->priv;

	o->signaled = false;
	for (unsigned i = 0; i < SIGNAL_EVENTS && !(soon && o->signaled) && ofi_advance(net); i++)
		continue;
	ofi_delegate_push(net);
	signal_send_acks(net);
	o->polled = tw_time_ns();
	ofi_signal_lost_end(net);
}

bool ofi_poll_signals(struct tw_net *net)
{
	struct ofi *o = net->priv;

	if (o->peers)
		signal_progress(net, true);
	return o->peers && o->signaled;
}

/* A few messages are sent at once, because the system has room for them: then polling is not needed. */
static void signal_push(struct tw_net *net, const struct ofi_peer *peer)
{
	const struct ofi *o = net->priv;

	if (peer->sent - peer->acked > OFI_UNACKED / 2 || o->port.signals.count <= o->port.signals.all / 2)
		ofi_signals_push(net);
}

/* Is a write, or an atomic with a result, in flight to the server of @node? */
static bool signal_behind(struct tw_net *net, unsigned node)
{
	const struct ofi_link *link = &((struct ofi *)net->priv)->link[node];

	return link->open || TW_MAX(TW_MAX(link->wrote, link->transferred), link->asked) > link->answered;
}

/* Write long data into the memory of @peer's node, by the connection to @peer, until the provider has sent them: @peer
 * takes them while it polls.  False: nothing was done. */
static bool signal_long(struct tw_net *net, unsigned node, struct ofi_peer *peer, const struct tw_net_signal *put)
{
	struct ofi *o = net->priv;
	struct ofi_buffer *transfer = peer->memory.direct ? ofi_take(&o->port.transfers) : NULL;
	unsigned in_flight = 1;

	if (!transfer)
		return false;
	transfer->peer = node;
	transfer->in_flight = &in_flight;
	if (ofi_transfer(&o->port, peer->to, transfer, true, (void *)(uintptr_t)put->local, put->len,
	                 peer->memory.base + put->offset, peer->memory.key)) {
		ofi_again(&o->port, transfer);
		return false;
	}
	while (in_flight)
		if (!ofi_advance(net))
			ofi_relax(net, node, tw_time_ns());
	return true;
}

bool ofi_put_signal(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *put)
{
	struct ofi *o = net->priv;

	if (!o->peers)
		return false;
	if (tw_time_ns() - o->polled > SIGNAL_FRESH_NS)
		signal_progress(net, false);
	struct ofi_peer *peer = ofi_peer_of(o->peers, &net->config, node, port, OFI_LANE_SIGNALS);
	size_t len = put->len <= OFI_SIGNAL_MOST ? put->len : 0, bytes = sizeof(struct ofi_signal) + len;
	struct ofi_buffer *buffer = NULL;
	if (put->len <= SIGNAL_LONG && !signal_behind(net, node) && !peer->asleep && ofi_peer_may_send(peer, bytes) &&
	    ofi_peer_connect(net, peer) && (len == put->len || signal_long(net, node, peer, put)))
		buffer = ofi_take(&o->port.signals);
	if (buffer) {
		struct ofi_signal *signal = (void *)buffer->head;
		*signal = (struct ofi_signal){
		    .head.bytes = (uint16_t)bytes, .word = put->word, .value = put->value, .offset = put->offset};
		if (len)
			memcpy(signal + 1, put->local, len);
		if (ofi_peer_send(net, peer, buffer, OFI_PUT_SIGNAL)) {
			signal_push(net, peer);
			return true;
		}
	}
	peer->asleep = false;
	o->link[node].ask = true; /* else the write in its place would keep later puts with signal from being sent */
	return false;
}

void ofi_announce_sleep(struct tw_net *net, unsigned node, unsigned port)
{
	struct ofi *o = net->priv;

	if (!o->peers)
		return;
	struct ofi_peer *peer = ofi_peer_of(o->peers, &net->config, node, port, OFI_LANE_SIGNALS);
	if (peer->sent - peer->acked < SIGNAL_SLEEPS && ofi_peer_connect(net, peer))
		ofi_peer_send_head(net, peer, OFI_ASLEEP);
}
