/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_delegate.c - delegation: an endpoint that waits executes a batch in place of its node's server.
 *
 * A waiting processor polls its port all the time, and its node's server, which shares a core with it, would have to
 * be scheduled in between.  So an endpoint that waits for reads, writes or atomics sends the batch to the endpoint of
 * that node from which it received the last message, if that one seems to wait.  This is a guess: after DELEGATE_NS
 * without a reply the batch goes to the server, and delegation stops until that endpoint sends again.  Then both may
 * have the batch, and its atomics must be executed once: an executor first claims the batch, by raising a word of the
 * node's memory, one for each endpoint of the job, to the batch's number; the second one finds it claimed and does
 * nothing (tests/models/delegate.pml).  The one that claimed it answers.
 *
 * The batch is the delegating endpoint's only message in flight to that node, and holds neither messages nor notifies,
 * so no order is lost. */
#include <string.h>

#include "net/ofi/ofi_endpoint.h"
#include "net/ofi/server/ofi_memory.h"

#define DELEGATE_NS      60000u /* some round trips: a waiting endpoint does not poll for short whiles */
#define DELEGATE_MOST    4096u  /* bytes of a batch */
#define DELEGATE_PENALTY 256u   /* most batches that are not delegated after one in vain */
#define DELEGATE_HEADS   (sizeof(struct ofi_delegated) - sizeof(struct ofi_head))

bool ofi_delegate(struct tw_net *net, unsigned node, struct ofi_buffer *batch)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	struct ofi_delegation *delegation = &link->delegation;
	size_t bytes = batch->head->bytes + DELEGATE_HEADS;

	if (!delegation->candidate || link->rings || batch->head->bytes > DELEGATE_MOST || link->sent == 1 ||
	    link->answered + 1 != link->sent || link->transferred > link->answered || !o->spin.most_ns ||
	    net->config.nodes > OFI_DELEGATORS)
		return false;
	struct ofi_peer *peer =
	    ofi_peer_of(o->peers, &net->config, node, delegation->candidate - 1, OFI_LANE_DELEGATION);
	if (peer->state != OFI_CONNECTED || !ofi_peer_may_send(peer, bytes) || (delegation->skip && delegation->skip--))
		return false;
	struct ofi_buffer *buffer = ofi_take(&o->port.signals);
	if (!buffer)
		return false;
	struct ofi_delegated *request = (void *)buffer->head;
	request->head.bytes = (uint16_t)bytes;
	request->batch = link->sent;
	memcpy(request + 1, batch->head + 1, batch->head->bytes - sizeof(struct ofi_head));
	if (!ofi_peer_send(net, peer, buffer, OFI_DELEGATE))
		return false;
	delegation->batch = batch;
	delegation->since = tw_time_ns();
	return true;
}

bool ofi_delegate_wait(struct tw_net *net, unsigned node, uint64_t now)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	struct ofi_delegation *delegation = &link->delegation;
	struct ofi_buffer *batch = delegation->batch;

	if (now - delegation->since < DELEGATE_NS) {
		ofi_spin_yield(&o->spin, now);
		return true;
	}
	delegation->batch = NULL;
	delegation->candidate = 0;
	delegation->skip = delegation->penalty;
	delegation->penalty = TW_MIN(2 * delegation->penalty + 1, DELEGATE_PENALTY);
	batch->head->ask = OFI_AGAIN;
	ofi_seal(&link->key, batch->head);
	ofi_submit(net, node, batch, true);
	return false;
}

int ofi_delegate_reply(struct tw_net *net, const struct ofi_delegated *reply)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[reply->head.node];
	struct ofi_delegation *delegation = &link->delegation;
	int error = ofi_link_delegated(link, reply);

	if (!error && delegation->batch) {
		ofi_again(&o->port, delegation->batch);
		delegation->batch = NULL;
		delegation->penalty /= 2;
	}
	return error;
}

/* Execute the batch; returns the number of bytes of results at @out. */
static size_t delegate_work(struct tw_net *net, const struct ofi_delegated *request, char *out)
{
	const char *at = (const char *)(request + 1), *end = (const char *)request + request->head.bytes;
	const struct ofi_entry *entry;
	size_t used = 0;

	while ((entry = ofi_entry_next(&at, end)) && ofi_memory_do(&net->config, net->base, entry, out, &used))
		continue;
	atomic_thread_fence(memory_order_seq_cst);
	return used;
}

void ofi_delegate_serve(struct tw_net *net, const struct ofi_delegated *request)
{
	struct ofi *o = net->priv;
	struct ofi_peer *peer =
	    ofi_peer_of(o->peers, &net->config, request->head.node, request->head.port, OFI_LANE_DELEGATION);
	struct ofi_buffer *buffer = NULL;

	if (peer->state == OFI_CONNECTED && ofi_peer_may_send(peer, OFI_MESSAGE))
		buffer = ofi_take(&o->port.signals);
	if (!buffer)
		return;
	o->signaled = true; /* the waiting user should poll again soon */
	if (!ofi_claim(&net->config, net->base, request->head.node, request->head.port, request->batch)) {
		buffer->head->bytes = sizeof(*buffer->head); /* too late, but it shows that this endpoint polls */
		ofi_peer_send(net, peer, buffer, OFI_ACK);
		return;
	}
	struct ofi_delegated *reply = (void *)buffer->head;
	reply->batch = request->batch;
	reply->head.bytes = (uint16_t)(sizeof(*reply) + delegate_work(net, request, (char *)(reply + 1)));
	o->delegate_push |= reply->head.bytes > o->port.inject;
	if (!ofi_peer_send(net, peer, buffer, OFI_DELEGATE_REPLY))
		ofi_signal_lost(o, request->head.node);
}
