/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_submit.c - messages are given to the provider, which may send them later. */
#include "net/ofi/ofi_endpoint.h"

void ofi_submit(struct tw_net *net, unsigned node, struct ofi_buffer *buffer, bool answered)
{
	struct ofi *o = net->priv;
	uint64_t begun = tw_time_ns();
	ssize_t error;

	buffer->peer = node;
	buffer->away = true;
	while ((error = tw_net_lost(&net->config, node)
	                    ? -FI_ECANCELED
	                    : ofi_send(&o->port, o->link[node].to, buffer, answered)) == -FI_EAGAIN)
		if (!ofi_advance(net))
			ofi_relax(net, node, begun);
	if (!error)
		return;
	ofi_broken(net, node, error);
	ofi_again(&o->port, buffer);
}

/* Messages to lost nodes, which the provider may keep for ever. */
static unsigned submit_stuck(const struct tw_net *net)
{
	const struct ofi *o = net->priv;
	unsigned stuck = 0;

	for (unsigned i = 0; net->config.lost && i < o->port.sends.all; i++) {
		const struct ofi_buffer *buffer = &o->port.buffer[o->port.receives + i];
		stuck += buffer->away && tw_net_lost(&net->config, buffer->peer);
	}
	return stuck;
}

void ofi_push(struct tw_net *net, unsigned node)
{
	struct ofi *o = net->priv;
	uint64_t begun = o->port.sends.count < o->port.sends.all - o->opens ? tw_time_ns() : 0;

	while (o->port.sends.count < o->port.sends.all - o->opens - submit_stuck(net))
		if (!ofi_advance(net))
			ofi_relax(net, node, begun);
}

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
	ofi_peer_sent(o->peers, peer, head); /* the buffer may be idle, but not in use again */
	return true;
}
