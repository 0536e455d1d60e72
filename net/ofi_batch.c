/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_batch.c - an endpoint's batches on their way, and its waits (the reasons are in ofi.c). */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "net/ofi_endpoint.h"

#define OFI_ANSWER_NS 30000000000u /* a server waits for nobody: who takes longer is lost */
#define OFI_DOZE_NS   10000000u    /* at most, as not all that ends a wait wakes us */

void ofi_lost(const struct tw_net *net, unsigned node, const char *why)
{
	tw_fatal("the connection to %s is lost: %s%s", tw_log_node(node), why,
	         net->config.survive ? "" : "; the job is ended");
}

/* Who was there has ended, mostly, and so does the job: then its launcher says why, and ends us while we wait here.  A job that survives its nodes
 * waits elsewhere, until it is known that this one is lost, or no answer comes. */
static void ofi_broken(const struct tw_net *net, unsigned node, ssize_t error)
{
	struct timespec rest = {.tv_sec = OFI_LOST_NS / 1000000000u};

	if (net->config.survive)
		return;
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		continue;
	ofi_lost(net, node, ofi_text(error));
}

/* ---- waiting ---- */

static void ofi_received(struct tw_net *net, struct ofi_buffer *buffer)
{
	struct ofi *o = net->priv;
	const struct ofi_head *head = buffer->head;

	if (head->kind < OFI_GREET) {
		if (ofi_peer_take(o->peer, &net->config, head, buffer->bytes) < 0)
			ofi_lost(net, head->node, "it answers what was not asked");
	} else if (o->mates) {
		int told = ofi_mate_take(o->mates, net, head, buffer->bytes);
		if (told < 0)
			ofi_lost(net, head->node, "a processor tells what makes no sense");
		if (told == OFI_MATE_TOLD) {
			o->told = true;
			tw_mailbox_ring(o->self);
		} else if (told == OFI_MATE_GREETED) {
			ofi_mate_back(net, buffer);
		} else if (told == OFI_MATE_ASKED) {
			ofi_help(net, (const void *)head);
		} else if (told == OFI_MATE_GIVEN && ofi_given(net, (const void *)head) < 0) {
			ofi_lost(net, head->node, "a processor gives what was not asked");
		}
		if (told > 0)
			ofi_lent_heard(&o->peer[head->node].lent, head->port, told != OFI_MATE_RESTS);
	}
}

/* Whoever it was for has ended, and so does the job; or its connection is broken, and somebody waits in vain. */
void ofi_untold(struct ofi *o, unsigned node)
{
	if (o->untold)
		return;
	o->untold = tw_time_ns();
	o->untold_node = node;
}

void ofi_untold_end(const struct tw_net *net)
{
	const struct ofi *o = net->priv;

	if (o->untold && tw_time_ns() - o->untold > OFI_LOST_NS)
		ofi_lost(net, o->untold_node, "a message from or to one of its processors did not arrive");
}

/* A server's is noticed by who waits for it, or when what it was sent may be lost; it may have ended as the job
 * does. */
static void ofi_unconnected(struct tw_net *net, fi_addr_t to)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (!ofi_own(net, node) && o->peer[node].to == to) {
			o->peer[node].broken = true;
			if (!net->config.survive && o->peer[node].sent > o->peer[node].answered)
				ofi_untold(o, node);
		}
	if (o->mates)
		ofi_mate_broken(net, to);
}

bool ofi_advance(struct tw_net *net)
{
	struct ofi *o = net->priv;
	struct ofi_buffer *buffer;
	ssize_t failure;

	switch (ofi_poll(&o->port, &buffer, &failure)) {
	case OFI_NOTHING:
		return false;
	case OFI_SENT:
		if (buffer->use == OFI_TRANSFERS)
			--*buffer->under_way;
		return true;
	case OFI_RECEIVED:
		ofi_received(net, buffer);
		ofi_again(&o->port, buffer);
		return true;
	case OFI_FAILED:
		if (buffer && buffer->use == OFI_TELLS)
			ofi_untold(o, buffer->peer);
		else if (buffer && buffer->use != OFI_RECEIVES)
			ofi_broken(net, buffer->peer, failure);
		return true;
	case OFI_BROKEN:
		ofi_unconnected(net, (fi_addr_t)failure);
		return true;
	}
	return false;
}

/* Nothing to advance, and waiting for @node since @begun: spin, then sleep, and at last give up. */
void ofi_rest(struct tw_net *net, unsigned node, uint64_t begun)
{
	struct ofi *o = net->priv;
	uint64_t now = tw_time_ns();

	if (now - begun > OFI_ANSWER_NS)
		ofi_lost(net, node, "no answer for 30 s");
	if (o->peer[node].broken)
		ofi_broken(net, node, -FI_ENOTCONN);
	if (ofi_lent_rest(net, node, now))
		return;
	if (ofi_spin_on(&o->spin, begun, now))
		ofi_spin_yield(&o->spin, now);
	else if (ofi_sleep(&o->port, -1, OFI_DOZE_NS) && o->spin.most_ns)
		o->spin.woken = tw_time_ns();
}

void ofi_wait(struct tw_net *net, unsigned node, const uint64_t *done, uint64_t number)
{
	struct ofi *o = net->priv;

	if (*done >= number)
		return;
	uint64_t begun = tw_time_ns();
	while (*done < number && !tw_net_lost(&net->config, node))
		if (!ofi_advance(net))
			ofi_rest(net, node, begun);
	ofi_spin_end(&o->spin, tw_time_ns() - begun);
	ofi_help_end(net);
}

void ofi_wait_none(struct tw_net *net, unsigned node, const unsigned *under_way)
{
	struct ofi *o = net->priv;

	if (!*under_way)
		return;
	uint64_t begun = tw_time_ns();
	while (*under_way)
		if (!ofi_advance(net))
			ofi_rest(net, node, begun);
	ofi_spin_end(&o->spin, tw_time_ns() - begun);
}

/* Until at least @count are idle; @node is whom we want to send to. */
static void ofi_wait_idle(struct tw_net *net, unsigned node, const struct ofi_idle *idle, unsigned count)
{
	uint64_t begun = idle->count < count ? tw_time_ns() : 0;

	while (idle->count < count)
		if (!ofi_advance(net))
			ofi_rest(net, node, begun);
}

/* ---- batches ---- */

/* Give a message to the provider; @answered: it will be, and we wait for that. */
void ofi_give(struct tw_net *net, unsigned node, struct ofi_buffer *buffer, bool answered)
{
	struct ofi *o = net->priv;
	uint64_t begun = tw_time_ns();
	ssize_t error;

	buffer->peer = node;
	buffer->away = true;
	while ((error = tw_net_lost(&net->config, node)
	                    ? -FI_ECANCELED
	                    : ofi_send(&o->port, o->peer[node].to, buffer, answered)) == -FI_EAGAIN)
		if (!ofi_advance(net))
			ofi_rest(net, node, begun);
	if (!error)
		return;
	ofi_broken(net, node, error);
	ofi_again(&o->port, buffer);
}

struct ofi_buffer *ofi_idle(struct tw_net *net, unsigned node, struct ofi_idle *idle)
{
	ofi_wait_idle(net, node, idle, 1);
	return ofi_take(idle);
}

static void batch_close(struct tw_net *net, unsigned node, bool ask, bool lend)
{
	struct ofi *o = net->priv;
	struct ofi_peer *peer = &o->peer[node];
	struct ofi_buffer *buffer = peer->open;

	if (!buffer) {
		if (!ask)
			return;
		buffer = ofi_idle(net, node, &o->port.sends);
		buffer->head->bytes = sizeof(*buffer->head);
	} else {
		peer->open = NULL;
		o->opens--;
	}
	ask = ask || peer->results || peer->ask;
	peer->ask = false;
	*buffer->head = (struct ofi_head){.number = ++peer->sent,
	                                  .bytes = buffer->head->bytes,
	                                  .kind = OFI_WORK,
	                                  .ask = ask ? OFI_ANSWER : OFI_SILENT,
	                                  .node = (uint16_t)net->config.node,
	                                  .port = (uint8_t)net->config.port};
	if (ask)
		peer->asked = peer->sent;
	peer->results = 0;
	if (lend && ofi_lend(net, node, buffer))
		return;
	ofi_seal(&peer->key, buffer->head);
	ofi_give(net, node, buffer, ask);
}

void ofi_close_batch(struct tw_net *net, unsigned node, bool ask)
{
	batch_close(net, node, ask, false);
}

void ofi_ask_batch(struct tw_net *net, unsigned node)
{
	batch_close(net, node, true, true);
}

struct ofi_entry *ofi_add(struct tw_net *net, unsigned node, struct ofi_entry entry, size_t results)
{
	struct ofi *o = net->priv;
	struct ofi_peer *peer = &o->peer[node];
	size_t bytes = ofi_entry_bytes(entry.op, entry.bytes);

	if (peer->open && (peer->open->head->bytes + bytes > OFI_MESSAGE || peer->results + results > OFI_ROOM))
		ofi_close_batch(net, node, false);
	if (!peer->open) {
		peer->open = ofi_idle(net, node, &o->port.sends);
		peer->open->head->bytes = sizeof(struct ofi_head);
		peer->rings = false;
		o->opens++;
	}
	peer->rings |= entry.op == OFI_PUT || entry.op == OFI_RING;
	struct ofi_entry *at = (void *)((char *)peer->open->head + peer->open->head->bytes);
	*at = entry;
	peer->open->head->bytes = (uint16_t)(peer->open->head->bytes + bytes);
	peer->results += results;
	return at;
}

void ofi_close_all(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; o->opens; node++)
		ofi_close_batch(net, node, false);
}

/* Messages to lost nodes, which the provider may keep. */
static unsigned ofi_stuck(const struct tw_net *net)
{
	const struct ofi *o = net->priv;
	unsigned stuck = 0;

	for (unsigned i = 0; net->config.lost && i < o->port.sends.all; i++) {
		const struct ofi_buffer *buffer = &o->port.buffer[o->port.receives + i];
		stuck += buffer->away && tw_net_lost(&net->config, buffer->peer);
	}
	return stuck;
}

/* Until the provider has given away all that was sent, to @node at last. */
void ofi_push(struct tw_net *net, unsigned node)
{
	struct ofi *o = net->priv;
	uint64_t begun = o->port.sends.count < o->port.sends.all - o->opens ? tw_time_ns() : 0;

	while (o->port.sends.count < o->port.sends.all - o->opens - ofi_stuck(net))
		if (!ofi_advance(net))
			ofi_rest(net, node, begun);
}
