/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_batch.c - an endpoint's batches on their way, and its waits (the reasons are in ofi.c). */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "net/ofi/ofi_endpoint.h"

#define OFI_ANSWER_NS 30000000000u /* a server waits for nobody: who takes longer is lost */
#define OFI_SLEEP_NS   10000000u    /* at most, as not all that ends a wait wakes us */

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

	if (head->kind < OFI_INTRODUCE) {
		if (ofi_link_take(o->link, &net->config, head, buffer->bytes) < 0)
			ofi_lost(net, head->node, "it answers what was not asked");
	} else if (o->peers) {
		int outcome = ofi_peer_receive(o->peers, net, head, buffer->bytes);
		if (outcome < 0)
			ofi_lost(net, head->node, "a processor tells what makes no sense");
		if (outcome == OFI_PEER_SIGNALED) {
			o->signaled = true;
			tw_mailbox_ring(o->self);
		} else if (outcome == OFI_PEER_CONNECTED) {
			ofi_peer_accept(net, buffer);
		} else if (outcome == OFI_PEER_DELEGATED) {
			ofi_delegate_serve(net, (const void *)head);
		} else if (outcome == OFI_PEER_REPLIED && ofi_delegate_reply(net, (const void *)head) < 0) {
			ofi_lost(net, head->node, "a processor gives what was not asked");
		}
		if (outcome > 0)
			ofi_delegate_seen(&o->link[head->node].delegation, head->port, outcome != OFI_PEER_INACTIVE);
	}
}

/* Whoever it was for has ended, and so does the job; or its connection is broken, and somebody waits in vain. */
void ofi_signal_lost(struct ofi *o, unsigned node)
{
	if (o->lost_since)
		return;
	o->lost_since = tw_time_ns();
	o->lost_node = node;
}

void ofi_signal_lost_end(const struct tw_net *net)
{
	const struct ofi *o = net->priv;

	if (o->lost_since && tw_time_ns() - o->lost_since > OFI_LOST_NS)
		ofi_lost(net, o->lost_node, "a message from or to one of its processors did not arrive");
}

/* A server's is noticed by who waits for it, or when what it was sent may be lost; it may have ended as the job
 * does. */
static void ofi_unconnected(struct tw_net *net, fi_addr_t to)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (!ofi_own(net, node) && o->link[node].to == to) {
			o->link[node].broken = true;
			if (!net->config.survive && o->link[node].sent > o->link[node].answered)
				ofi_signal_lost(o, node);
		}
	if (o->peers)
		ofi_peer_broken(net, to);
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
			--*buffer->in_flight;
		return true;
	case OFI_RECEIVED:
		ofi_received(net, buffer);
		ofi_again(&o->port, buffer);
		return true;
	case OFI_FAILED:
		if (buffer && buffer->use == OFI_SIGNALS)
			ofi_signal_lost(o, buffer->peer);
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
void ofi_relax(struct tw_net *net, unsigned node, uint64_t begun)
{
	struct ofi *o = net->priv;
	uint64_t now = tw_time_ns();

	if (now - begun > OFI_ANSWER_NS)
		ofi_lost(net, node, "no answer for 30 s");
	if (o->link[node].broken)
		ofi_broken(net, node, -FI_ENOTCONN);
	if (ofi_delegate_wait(net, node, now))
		return;
	if (ofi_spin_on(&o->spin, begun, now))
		ofi_spin_yield(&o->spin, now);
	else if (ofi_sleep(&o->port, -1, OFI_SLEEP_NS) && o->spin.most_ns)
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
			ofi_relax(net, node, begun);
	ofi_spin_end(&o->spin, tw_time_ns() - begun);
	ofi_delegate_push(net);
}

void ofi_wait_none(struct tw_net *net, unsigned node, const unsigned *in_flight)
{
	struct ofi *o = net->priv;

	if (!*in_flight)
		return;
	uint64_t begun = tw_time_ns();
	while (*in_flight)
		if (!ofi_advance(net))
			ofi_relax(net, node, begun);
	ofi_spin_end(&o->spin, tw_time_ns() - begun);
}

/* Until at least @count are idle; @node is whom we want to send to. */
static void ofi_wait_pool(struct tw_net *net, unsigned node, const struct ofi_pool *idle, unsigned count)
{
	uint64_t begun = idle->count < count ? tw_time_ns() : 0;

	while (idle->count < count)
		if (!ofi_advance(net))
			ofi_relax(net, node, begun);
}

/* ---- batches ---- */

/* Give a message to the provider; @answered: it will be, and we wait for that. */
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

struct ofi_buffer *ofi_idle_buffer(struct tw_net *net, unsigned node, struct ofi_pool *idle)
{
	ofi_wait_pool(net, node, idle, 1);
	return ofi_take(idle);
}

static void batch_close(struct tw_net *net, unsigned node, bool ask, bool lend)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	struct ofi_buffer *buffer = link->open;

	if (!buffer) {
		if (!ask)
			return;
		buffer = ofi_idle_buffer(net, node, &o->port.sends);
		buffer->head->bytes = sizeof(*buffer->head);
	} else {
		link->open = NULL;
		o->opens--;
	}
	ask = ask || link->results || link->ask;
	link->ask = false;
	*buffer->head = (struct ofi_head){.number = ++link->sent,
	                                  .bytes = buffer->head->bytes,
	                                  .kind = OFI_WORK,
	                                  .ask = ask ? OFI_ANSWER : OFI_SILENT,
	                                  .node = (uint16_t)net->config.node,
	                                  .port = (uint8_t)net->config.port};
	if (ask)
		link->asked = link->sent;
	link->results = 0;
	if (lend && ofi_delegate(net, node, buffer))
		return;
	ofi_seal(&link->key, buffer->head);
	ofi_submit(net, node, buffer, ask);
}

void ofi_close_batch(struct tw_net *net, unsigned node, bool ask)
{
	batch_close(net, node, ask, false);
}

void ofi_answer_batch(struct tw_net *net, unsigned node)
{
	batch_close(net, node, true, true);
}

struct ofi_entry *ofi_add(struct tw_net *net, unsigned node, struct ofi_entry entry, size_t results)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	size_t bytes = ofi_entry_bytes(entry.op, entry.bytes);

	if (link->open && (link->open->head->bytes + bytes > OFI_MESSAGE || link->results + results > OFI_ROOM))
		ofi_close_batch(net, node, false);
	if (!link->open) {
		link->open = ofi_idle_buffer(net, node, &o->port.sends);
		link->open->head->bytes = sizeof(struct ofi_head);
		link->rings = false;
		o->opens++;
	}
	link->rings |= entry.op == OFI_PUT || entry.op == OFI_RING;
	struct ofi_entry *at = (void *)((char *)link->open->head + link->open->head->bytes);
	*at = entry;
	link->open->head->bytes = (uint16_t)(link->open->head->bytes + bytes);
	link->results += results;
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
			ofi_relax(net, node, begun);
}
