/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_progress.c - what an endpoint receives, and how it waits.
 *
 * libfabric makes progress only when it is called.  So every wait handles the port's events, whatever they are for. */
#include <errno.h>
#include <time.h>

#include "net/ofi/ofi_endpoint.h"

#define OFI_ANSWER_NS 30000000000u /* servers never block: without an answer after that time the connection is lost */
#define OFI_SLEEP_NS  10000000u    /* longest sleep: not everything that ends a wait wakes it */
#define OFI_PUSH_NS   1000000u     /* a peer that does not read can keep the system from taking messages for so long */

/* ---- losses ---- */

void ofi_lost(const struct tw_net *net, unsigned node, const char *why)
{
	tw_fatal("the connection to %s is lost: %s%s", tw_log_node(node), why,
	         net->config.survive ? "" : "; the job is ended");
}

/* Mostly the process at the other end has died, and the job is ending: its launcher then reports the cause and ends
 * this process during the pause.  A job that survives its nodes waits elsewhere, until the node is known to be lost or
 * no answer comes. */
void ofi_broken(const struct tw_net *net, unsigned node, ssize_t error)
{
	struct timespec rest = {.tv_sec = OFI_LOST_NS / 1000000000u};

	if (net->config.survive)
		return;
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		continue;
	ofi_lost(net, node, ofi_text(error));
}

/* Either the peer has ended, and the job is ending; or the connection is broken, and a processor waits in vain. */
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

/* ---- events ---- */

static void progress_peer(struct tw_net *net, struct ofi_buffer *buffer)
{
	struct ofi *o = net->priv;
	const struct ofi_head *head = buffer->head;
	int outcome = ofi_peer_receive(o->peers, net, head, buffer->bytes);

	if (outcome < 0)
		ofi_lost(net, head->node, "a processor sends what makes no sense");
	if (outcome == OFI_PEER_SIGNALED) {
		o->signaled = true;
		tw_mailbox_ring(o->self);
	} else if (outcome == OFI_PEER_CONNECTED) {
		o->upcalls->introduced(net, buffer);
	} else if (outcome == OFI_PEER_DELEGATED) {
		o->upcalls->delegated(net, (const void *)head);
	} else if (outcome == OFI_PEER_REPLIED && o->upcalls->delegate_reply(net, (const void *)head) < 0) {
		ofi_lost(net, head->node, "a processor answers what was not asked");
	}
	if (outcome > 0)
		ofi_delegate_seen(&o->link[head->node].delegation, head->port, outcome != OFI_PEER_INACTIVE);
}

static void progress_received(struct tw_net *net, struct ofi_buffer *buffer)
{
	struct ofi *o = net->priv;
	const struct ofi_head *head = buffer->head;

	if (head->kind < OFI_INTRODUCE) {
		if (ofi_link_take(o->link, &net->config, head, buffer->bytes) < 0)
			ofi_lost(net, head->node, "it answers what was not asked");
	} else if (o->peers) {
		progress_peer(net, buffer);
	}
}

/* A server's broken connection is found by the waits for it, or matters when messages to it may be lost; it may have
 * ended because the job does. */
static void progress_disconnected(struct tw_net *net, fi_addr_t to)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (!ofi_own(net, node) && o->link[node].to == to) {
			o->link[node].broken = true;
			if (!net->config.survive && o->link[node].sent > o->link[node].answered)
				ofi_signal_lost(o, node);
		}
	if (o->peers)
		o->upcalls->disconnected(net, to);
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
		progress_received(net, buffer);
		ofi_again(&o->port, buffer);
		return true;
	case OFI_FAILED:
		if (buffer && buffer->use == OFI_SIGNALS)
			ofi_signal_lost(o, buffer->peer);
		else if (buffer && buffer->use != OFI_RECEIVES)
			ofi_broken(net, buffer->peer, failure);
		return true;
	case OFI_BROKEN:
		progress_disconnected(net, (fi_addr_t)failure);
		return true;
	}
	return false;
}

/* ---- waits ---- */

void ofi_relax(struct tw_net *net, unsigned node, uint64_t begun)
{
	struct ofi *o = net->priv;
	uint64_t now = tw_time_ns();

	if (now - begun > OFI_ANSWER_NS)
		ofi_lost(net, node, "no answer for 30 s");
	if (o->link[node].broken)
		ofi_broken(net, node, -FI_ENOTCONN);
	if (o->link[node].delegation.batch && o->upcalls->delegate_wait(net, node, now))
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

struct ofi_buffer *ofi_idle_buffer(struct tw_net *net, unsigned node, struct ofi_pool *idle)
{
	uint64_t begun = idle->count ? 0 : tw_time_ns();

	while (!idle->count)
		if (!ofi_advance(net))
			ofi_relax(net, node, begun);
	return ofi_take(idle);
}

void ofi_signals_push(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = o->port.signals.count < o->port.signals.all ? tw_time_ns() + OFI_PUSH_NS : 0;

	while (o->port.signals.count < o->port.signals.all && tw_time_ns() < until)
		if (!ofi_advance(net))
			sched_yield();
}

void ofi_delegate_push(struct tw_net *net)
{
	struct ofi *o = net->priv;

	if (!o->delegate_push)
		return;
	o->delegate_push = false;
	ofi_signals_push(net);
}
