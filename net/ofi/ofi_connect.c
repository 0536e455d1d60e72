/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_connect.c - connections between endpoints, without a server.
 *
 * An endpoint finds a peer by its card, and sends an introduction on both lanes; the connection is up when both
 * endpoints poll.  Where endpoints are connected (net/ofi/port/ofi_msg.c), the peer sends its introduction back on the
 * same connection.  When both request one, the endpoint that comes first in the job keeps its own. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "net/ofi/ofi_endpoint.h"
#include "net/ofi/server/ofi_memory.h"

#define CONNECT_LEAVE_NS 100000000u /* longest wait at the end for connections that are being opened */

size_t ofi_cards_bytes(unsigned ports)
{
	return TW_ALIGN_UP(ports * sizeof(struct ofi_card), (size_t)4096);
}

static size_t connect_card(const struct tw_net_config *config, unsigned port)
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
	memcpy(net->base + connect_card(&net->config, net->config.port), &o->peers->card, sizeof(o->peers->card));
	return 0;
}

/* ---- connecting ---- */

bool ofi_peer_send_head(struct tw_net *net, struct ofi_peer *peer, enum ofi_kind kind)
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

/* Send an introduction to @peer, whose card is @card. */
static void connect_introduce(struct tw_net *net, struct ofi_peer *peer, const struct ofi_card *card)
{
	struct ofi *o = net->priv;

	if (peer->state == OFI_UNKNOWN && ofi_peer_know(o->peers, &net->config, peer, card))
		peer->state = ofi_port_peer(&o->port, &card->address, &peer->to) ? OFI_CLOSED : OFI_KNOWN;
	if (peer->state == OFI_KNOWN && ofi_peer_send_head(net, peer, OFI_INTRODUCE))
		peer->state = OFI_CONNECTED;
}

bool ofi_peer_connect(struct tw_net *net, struct ofi_peer *peer)
{
	struct ofi *o = net->priv;
	struct ofi_card card;

	if (peer->state == OFI_UNKNOWN || peer->state == OFI_KNOWN) {
		ofi_read(net, peer->node, connect_card(&net->config, peer->port), &card, sizeof(card));
		ofi_read_wait(net); /* its introduction may arrive meanwhile */
		for (unsigned lane = 0; lane < OFI_LANES; lane++)
			connect_introduce(net, ofi_peer_of(o->peers, &net->config, peer->node, peer->port, lane),
			                  &card);
	}
	return peer->state == OFI_CONNECTED;
}

void ofi_peer_accept(struct tw_net *net, struct ofi_buffer *first)
{
	const struct tw_net_config *config = &net->config;
	struct ofi *o = net->priv;
	const struct ofi_head *head = first->head;
	struct ofi_peer *peer = ofi_peer_of(o->peers, config, head->node, head->port, head->lane);

	if (!first->request || (peer->state == OFI_CONNECTED &&
	                        peer > ofi_peer_of(o->peers, config, config->node, config->port, head->lane)))
		return;
	if (peer->state == OFI_CONNECTED || peer->state == OFI_KNOWN)
		ofi_port_forget(&o->port, peer->to);
	peer->state = OFI_CLOSED;
	if (ofi_port_back(&o->port, first, NULL, &peer->to))
		return;
	ofi_peer_know_back(o->peers, config, peer);
	if (ofi_peer_send_head(net, peer, OFI_INTRODUCE))
		peer->state = OFI_CONNECTED;
	else
		ofi_port_forget(&o->port, peer->to);
}

/* A refused endpoint gets an introduction from the peer; a connection that was not used before it broke is not
 * missed. */
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

/* Is there a connection that was requested, and is neither up nor refused? */
static bool connect_opening(const struct ofi_port *port)
{
	for (unsigned i = 0; i < port->connections; i++)
		if (port->connection[i].state == OFI_OPENING)
			return true;
	return false;
}

/* libfabric keeps a request of which a part is missing for ever, so an endpoint stays until its own are complete. */
void ofi_peers_leave(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = tw_time_ns() + CONNECT_LEAVE_NS;

	if (!o->peers || !o->port.connection)
		return;
	do {
		o->port.eq_polls = 0;
		while (ofi_advance(net))
			continue;
		sched_yield();
	} while (connect_opening(&o->port) && tw_time_ns() < until);
	for (unsigned i = 0; i < o->peers->peers; i++)
		if (o->peers->peer[i].state == OFI_CONNECTED)
			ofi_peer_send_head(net, &o->peers->peer[i], OFI_LEAVES);
}
