/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_put_signal.c - from endpoint to endpoint, without a server: it spares the time of a process that must be scheduled, but is heard only
 * when the other one looks.  Each finds the other by its card, and greets it, on both lanes; they are connected when both look.  Of connected endpoints one
 * finds the other, who greets it back on the same connection; when both ask, the one that comes first in the job keeps its own. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "net/ofi/ofi_endpoint.h"
#include "net/ofi/server/ofi_memory.h"

#define SIGNAL_EVENTS   16u    /* taken by a look */
#define SIGNAL_FRESH_NS 50000u /* who has not looked for so long may be waited for by a sleeper */
#define SIGNAL_LONG     131072u     /* the most that is told; the system takes about so much before the other one reads */
#define SIGNAL_PUSH_NS  1000000u    /* until the system has taken a message; who does not read may keep it from that */
#define SIGNAL_LEAVE_NS 100000000u
#define SIGNAL_SLEEPS    128u        /* messages that may be unheard when we say that we sleep */

size_t ofi_cards_bytes(unsigned ports)
{
	return TW_ALIGN_UP(ports * sizeof(struct ofi_card), (size_t)4096);
}

static size_t peer_card(const struct tw_net_config *config, unsigned port)
{
	return config->control_offset + ofi_closed_bytes(config->ports) + port * sizeof(struct ofi_card);
}

int ofi_peers_open(struct tw_net *net)
{
	struct ofi *o = net->priv;

	if (net->config.survive)
		return 0;
	o->peers = ofi_peers_create(&net->config);
	if (!o->peers) {
		tw_log("transport ofi: out of memory");
		return -ENOMEM;
	}
	ofi_port_export(&o->port, net->base, net->config.bytes, &o->peers->memory);
	o->peers->card.address = o->port.address;
	ofi_card_prove(net->config.secret, &o->peers->card);
	memcpy(net->base + peer_card(&net->config, net->config.port), &o->peers->card, sizeof(o->peers->card));
	return 0;
}

/* ---- the way to another one ---- */

bool ofi_peer_send(struct tw_net *net, struct ofi_peer *peer, struct ofi_buffer *buffer, enum ofi_kind kind)
{
	struct ofi *o = net->priv;
	struct ofi_head *head = buffer->head;

	ofi_peer_head(o->peers, peer, &net->config, kind, head);
	buffer->peer = peer->node;
	if (ofi_send(&o->port, peer->to, buffer, true)) {
		ofi_again(&o->port, buffer);
		return false;
	}
	ofi_peer_sent(o->peers, peer, head); /* which nobody has taken again meanwhile */
	return true;
}

/* A message that is nothing but its head, or a greeting. */
static bool peer_send_head(struct tw_net *net, struct ofi_peer *peer, enum ofi_kind kind)
{
	struct ofi *o = net->priv;
	struct ofi_buffer *buffer = ofi_take(&o->port.signals);

	if (!buffer)
		return false;
	buffer->head->bytes = kind == OFI_INTRODUCE ? sizeof(struct ofi_introduction) : sizeof(*buffer->head);
	if (kind == OFI_INTRODUCE)
		((struct ofi_introduction *)buffer->head)->memory = o->peers->memory;
	return ofi_peer_send(net, peer, buffer, kind);
}

/* Greet @peer, whose card that is. */
static void peer_introduce(struct tw_net *net, struct ofi_peer *peer, const struct ofi_card *card)
{
	struct ofi *o = net->priv;

	if (peer->state == OFI_UNKNOWN && ofi_peer_know(o->peers, &net->config, peer, card))
		peer->state = ofi_port_peer(&o->port, &card->address, &peer->to) ? OFI_CLOSED : OFI_KNOWN;
	if (peer->state == OFI_KNOWN && peer_send_head(net, peer, OFI_INTRODUCE))
		peer->state = OFI_CONNECTED;
}

/* Is there a way to @peer?  Else both lanes are sought. */
static bool peer_connect(struct tw_net *net, struct ofi_peer *peer)
{
	struct ofi *o = net->priv;
	struct ofi_card card;

	if (peer->state == OFI_UNKNOWN || peer->state == OFI_KNOWN) {
		ofi_read(net, peer->node, peer_card(&net->config, peer->port), &card, sizeof(card));
		ofi_read_wait(net); /* it may greet us meanwhile */
		for (unsigned lane = 0; lane < OFI_LANES; lane++)
			peer_introduce(net, ofi_peer_of(o->peers, &net->config, peer->node, peer->port, lane), &card);
	}
	return peer->state == OFI_CONNECTED;
}

void ofi_peer_accept(struct tw_net *net, struct ofi_buffer *first)
{
	const struct tw_net_config *config = &net->config;
	struct ofi *o = net->priv;
	const struct ofi_head *head = first->head;
	struct ofi_peer *peer = ofi_peer_of(o->peers, config, head->node, head->port, head->lane);

	if (!first->request ||
	    (peer->state == OFI_CONNECTED && peer > ofi_peer_of(o->peers, config, config->node, config->port, head->lane)))
		return;
	if (peer->state == OFI_CONNECTED || peer->state == OFI_KNOWN)
		ofi_port_forget(&o->port, peer->to);
	peer->state = OFI_CLOSED;
	if (ofi_port_back(&o->port, first, NULL, &peer->to))
		return;
	ofi_peer_know_back(o->peers, config, peer);
	if (peer_send_head(net, peer, OFI_INTRODUCE))
		peer->state = OFI_CONNECTED;
	else
		ofi_port_forget(&o->port, peer->to);
}

/* Who was refused is greeted by the other; what breaks before it was used is missed by nobody. */
void ofi_peer_broken(struct tw_net *net, fi_addr_t to)
{
	struct ofi *o = net->priv;

	for (unsigned i = 0; i < o->peers->peers; i++) {
		struct ofi_peer *peer = &o->peers->peer[i];

		if (peer->state != OFI_CONNECTED || peer->to != to)
			continue;
		peer->state = OFI_CLOSED;
		if (!peer->left && (peer->sent || peer->received))
			ofi_signal_lost(o, peer->node);
	}
}

/* Is there a connection that was asked for, and not answered? */
static bool peer_opening(const struct ofi_port *port)
{
	for (unsigned i = 0; i < port->connections; i++)
		if (port->connection[i].state == OFI_OPENING)
			return true;
	return false;
}

/* libfabric forgets no request that has not come whole: who asks stays for a while, to say it. */
void ofi_peers_leave(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = tw_time_ns() + SIGNAL_LEAVE_NS;

	if (!o->peers || !o->port.connection)
		return;
	do {
		o->port.eq_polls = 0;
		while (ofi_advance(net))
			continue;
		sched_yield();
	} while (peer_opening(&o->port) && tw_time_ns() < until);
	for (unsigned i = 0; i < o->peers->peers; i++)
		if (o->peers->peer[i].state == OFI_CONNECTED)
			peer_send_head(net, &o->peers->peer[i], OFI_LEAVES);
}

/* ---- operations ---- */

/* Tell those who have told much, and been told nothing, that they are heard. */
static void peer_send_acks(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned i = 0; o->peers->unacked && i < o->peers->peers; i++) {
		struct ofi_peer *peer = &o->peers->peer[i];

		if (ofi_peer_unacked(peer) && peer_connect(net, peer))
			peer_send_head(net, peer, OFI_ACK);
	}
}

/* Take what has come; @soon: no more than what the caller may wait for, as each look costs a microsecond. */
static void signal_progress(struct tw_net *net, bool soon)
{
	struct ofi *o = net->priv;

	o->signaled = false;
	for (unsigned i = 0; i < SIGNAL_EVENTS && !(soon && o->signaled) && ofi_advance(net); i++)
		continue;
	ofi_delegate_push(net);
	peer_send_acks(net);
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

void ofi_signals_push(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = o->port.signals.count < o->port.signals.all ? tw_time_ns() + SIGNAL_PUSH_NS : 0;

	while (o->port.signals.count < o->port.signals.all && tw_time_ns() < until)
		if (!ofi_advance(net))
			sched_yield();
}

/* A few messages the provider gives away at once, for the system has room for them: then we do not look. */
static void signal_push(struct tw_net *net, const struct ofi_peer *peer)
{
	const struct ofi *o = net->priv;

	if (peer->sent - peer->acked > OFI_UNACKED / 2 || o->port.signals.count <= o->port.signals.all / 2)
		ofi_signals_push(net);
}

/* Is anything under way to the server of @node, be it a write or an atomic whose result was asked for? */
static bool signal_behind(struct tw_net *net, unsigned node)
{
	const struct ofi_link *link = &((struct ofi *)net->priv)->link[node];

	return link->open || TW_MAX(TW_MAX(link->wrote, link->transferred), link->asked) > link->answered;
}

/* Write long data to where @peer keeps them, until they are given away: it reads them while it looks.  False: nothing was done. */
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
	    peer_connect(net, peer) && (len == put->len || signal_long(net, node, peer, put)))
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
	o->link[node].ask = true; /* else what is written now would stand in the way of the next */
	return false;
}

void ofi_announce_sleep(struct tw_net *net, unsigned node, unsigned port)
{
	struct ofi *o = net->priv;

	if (!o->peers)
		return;
	struct ofi_peer *peer = ofi_peer_of(o->peers, &net->config, node, port, OFI_LANE_SIGNALS);
	if (peer->sent - peer->acked < SIGNAL_SLEEPS && peer_connect(net, peer))
		peer_send_head(net, peer, OFI_ASLEEP);
}
