/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_help.c - an endpoint that waits helps its node's server: it does what another one asks of that, and waits for.
 *
 * A processor that waits looks at its port again and again, and its node's server, which shares a core with it, would have to be scheduled in
 * between.  So whoever waits for reads, writes or atomics lends the batch to the endpoint of that node which it has heard last, if it seems to wait.  Nobody knows whether it
 * does: who has no answer after LENT_NS sends the batch to the server, and lends no more until it hears of that endpoint again.
 * Then both may have it, and an atomic is done once: whoever begins claims the batch, in a word of the node's memory for each endpoint of
 * the job, by raising it to the batch's number, and who comes second does nothing (tests/models/lent.pml).  The first answers.
 *
 * Nothing else of the borrower's is under way then, to that node or in its batch, so that no order is lost. */
#include <string.h>

#include "net/ofi_endpoint.h"
#include "net/ofi_memory.h"

#define LENT_NS    60000u /* some round trips: who waits is away for a short while at times */
#define LENT_MOST  4096u  /* bytes of a batch */
#define LENT_VAIN  256u   /* penalty at most */
#define LENT_HEADS (sizeof(struct ofi_ask) - sizeof(struct ofi_head))

bool ofi_lend(struct tw_net *net, unsigned node, struct ofi_buffer *batch)
{
	struct ofi *o = net->priv;
	struct ofi_peer *peer = &o->peer[node];
	struct ofi_lent *lent = &peer->lent;
	size_t bytes = batch->head->bytes + LENT_HEADS;

	if (!lent->near || peer->rings || batch->head->bytes > LENT_MOST || peer->sent == 1 ||
	    peer->answered + 1 != peer->sent || peer->transferred > peer->answered || !o->spin.most_ns ||
	    net->config.nodes > OFI_LENDERS)
		return false;
	struct ofi_mate *mate = ofi_mate_of(o->mates, &net->config, node, lent->near - 1, OFI_LENDING);
	if (mate->way != OFI_GREETED || !ofi_mate_may(mate, bytes) || (lent->skip && lent->skip--))
		return false;
	struct ofi_buffer *buffer = ofi_take(&o->port.tells);
	if (!buffer)
		return false;
	struct ofi_ask *ask = (void *)buffer->head;
	ask->head.bytes = (uint16_t)bytes;
	ask->batch = peer->sent;
	memcpy(ask + 1, batch->head + 1, batch->head->bytes - sizeof(struct ofi_head));
	if (!ofi_tell_give(net, mate, buffer, OFI_ASK))
		return false;
	lent->batch = batch;
	lent->since = tw_time_ns();
	return true;
}

bool ofi_lent_rest(struct tw_net *net, unsigned node, uint64_t now)
{
	struct ofi *o = net->priv;
	struct ofi_peer *peer = &o->peer[node];
	struct ofi_lent *lent = &peer->lent;
	struct ofi_buffer *batch = lent->batch;

	if (!batch)
		return false;
	if (now - lent->since < LENT_NS) {
		ofi_spin_yield(&o->spin, now);
		return true;
	}
	lent->batch = NULL;
	lent->near = 0;
	lent->skip = lent->penalty;
	lent->penalty = TW_MIN(2 * lent->penalty + 1, LENT_VAIN);
	batch->head->ask = OFI_AGAIN;
	ofi_seal(&peer->key, batch->head);
	ofi_give(net, node, batch, true);
	return false;
}

int ofi_given(struct tw_net *net, const struct ofi_ask *give)
{
	struct ofi *o = net->priv;
	struct ofi_peer *peer = &o->peer[give->head.node];
	struct ofi_lent *lent = &peer->lent;
	int error = ofi_peer_given(peer, give);

	if (!error && lent->batch) {
		ofi_again(&o->port, lent->batch);
		lent->batch = NULL;
		lent->penalty /= 2;
	}
	return error;
}

/* Do the batch; returns how many bytes of results are at @out. */
static size_t help_work(struct tw_net *net, const struct ofi_ask *ask, char *out)
{
	const char *at = (const char *)(ask + 1), *end = (const char *)ask + ask->head.bytes;
	const struct ofi_entry *entry;
	size_t used = 0;

	while ((entry = ofi_entry_next(&at, end)) && ofi_memory_do(&net->config, net->base, entry, out, &used))
		continue;
	atomic_thread_fence(memory_order_seq_cst);
	return used;
}

void ofi_help(struct tw_net *net, const struct ofi_ask *ask)
{
	struct ofi *o = net->priv;
	struct ofi_mate *mate = ofi_mate_of(o->mates, &net->config, ask->head.node, ask->head.port, OFI_LENDING);
	struct ofi_buffer *buffer = NULL;

	if (mate->way == OFI_GREETED && ofi_mate_may(mate, OFI_MESSAGE))
		buffer = ofi_take(&o->port.tells);
	if (!buffer)
		return;
	o->told = true; /* who waits is to look again soon */
	if (!ofi_claim(&net->config, net->base, ask->head.node, ask->head.port, ask->batch)) {
		buffer->head->bytes = sizeof(*buffer->head); /* too late, but here */
		ofi_tell_give(net, mate, buffer, OFI_HEARD);
		return;
	}
	struct ofi_ask *give = (void *)buffer->head;
	give->batch = ask->batch;
	give->head.bytes = (uint16_t)(sizeof(*give) + help_work(net, ask, (char *)(give + 1)));
	o->helped |= give->head.bytes > o->port.inject;
	if (!ofi_tell_give(net, mate, buffer, OFI_GIVE))
		ofi_untold(o, ask->head.node);
}

void ofi_help_end(struct tw_net *net)
{
	struct ofi *o = net->priv;

	if (!o->helped)
		return;
	o->helped = false;
	ofi_tells_push(net);
}
