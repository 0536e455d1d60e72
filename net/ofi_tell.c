/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_tell.c - from endpoint to endpoint, without a server: it spares the time of a process that must be scheduled, but is heard only
 * when the other one looks.  Each finds the other by its card, and greets it, on both lanes; they are connected when both look.  Of connected endpoints one
 * finds the other, who greets it back on the same connection; when both ask, the one that comes first in the job keeps its own. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "net/ofi_endpoint.h"
#include "net/ofi_memory.h"

#define TELL_EVENTS   16u    /* taken by a look */
#define TELL_FRESH_NS 50000u /* who has not looked for so long may be waited for by a sleeper */
#define TELL_LONG     131072u     /* the most that is told; the system takes about so much before the other one reads */
#define TELL_PUSH_NS  1000000u    /* until the system has taken a message; who does not read may keep it from that */
#define TELL_LEAVE_NS 100000000u
#define TELL_DOZES    128u        /* messages that may be unheard when we say that we sleep */

size_t ofi_cards_bytes(unsigned ports)
{
	return TW_ALIGN_UP(ports * sizeof(struct ofi_card), (size_t)4096);
}

static size_t tell_card(const struct tw_net_config *config, unsigned port)
{
	return config->control_offset + ofi_closed_bytes(config->ports) + port * sizeof(struct ofi_card);
}

int ofi_mates_open(struct tw_net *net)
{
	struct ofi *o = net->priv;

	if (net->config.survive)
		return 0;
	o->mates = ofi_mates_create(&net->config);
	if (!o->mates) {
		tw_log("transport ofi: out of memory");
		return -ENOMEM;
	}
	ofi_port_export(&o->port, net->base, net->config.bytes, &o->mates->memory);
	o->mates->card.address = o->port.address;
	ofi_card_prove(net->config.secret, &o->mates->card);
	memcpy(net->base + tell_card(&net->config, net->config.port), &o->mates->card, sizeof(o->mates->card));
	return 0;
}

/* ---- the way to another one ---- */

bool ofi_tell_give(struct tw_net *net, struct ofi_mate *mate, struct ofi_buffer *buffer, enum ofi_kind kind)
{
	struct ofi *o = net->priv;
	struct ofi_head *head = buffer->head;

	ofi_mate_head(o->mates, mate, &net->config, kind, head);
	buffer->peer = mate->node;
	if (ofi_send(&o->port, mate->to, buffer, true)) {
		ofi_again(&o->port, buffer);
		return false;
	}
	ofi_mate_sent(o->mates, mate, head); /* which nobody has taken again meanwhile */
	return true;
}

/* A message that is nothing but its head, or a greeting. */
static bool tell_head(struct tw_net *net, struct ofi_mate *mate, enum ofi_kind kind)
{
	struct ofi *o = net->priv;
	struct ofi_buffer *buffer = ofi_take(&o->port.tells);

	if (!buffer)
		return false;
	buffer->head->bytes = kind == OFI_GREET ? sizeof(struct ofi_greet) : sizeof(*buffer->head);
	if (kind == OFI_GREET)
		((struct ofi_greet *)buffer->head)->memory = o->mates->memory;
	return ofi_tell_give(net, mate, buffer, kind);
}

/* Greet @mate, whose card that is. */
static void tell_greet(struct tw_net *net, struct ofi_mate *mate, const struct ofi_card *card)
{
	struct ofi *o = net->priv;

	if (mate->way == OFI_UNKNOWN && ofi_mate_know(o->mates, &net->config, mate, card))
		mate->way = ofi_port_peer(&o->port, &card->address, &mate->to) ? OFI_CLOSED : OFI_KNOWN;
	if (mate->way == OFI_KNOWN && tell_head(net, mate, OFI_GREET))
		mate->way = OFI_GREETED;
}

/* Is there a way to @mate?  Else both lanes are sought. */
static bool tell_way(struct tw_net *net, struct ofi_mate *mate)
{
	struct ofi *o = net->priv;
	struct ofi_card card;

	if (mate->way == OFI_UNKNOWN || mate->way == OFI_KNOWN) {
		ofi_read(net, mate->node, tell_card(&net->config, mate->port), &card, sizeof(card));
		ofi_read_wait(net); /* it may greet us meanwhile */
		for (unsigned lane = 0; lane < OFI_LANES; lane++)
			tell_greet(net, ofi_mate_of(o->mates, &net->config, mate->node, mate->port, lane), &card);
	}
	return mate->way == OFI_GREETED;
}

void ofi_mate_back(struct tw_net *net, struct ofi_buffer *first)
{
	const struct tw_net_config *config = &net->config;
	struct ofi *o = net->priv;
	const struct ofi_head *head = first->head;
	struct ofi_mate *mate = ofi_mate_of(o->mates, config, head->node, head->port, head->lane);

	if (!first->request ||
	    (mate->way == OFI_GREETED && mate > ofi_mate_of(o->mates, config, config->node, config->port, head->lane)))
		return;
	if (mate->way == OFI_GREETED || mate->way == OFI_KNOWN)
		ofi_port_forget(&o->port, mate->to);
	mate->way = OFI_CLOSED;
	if (ofi_port_back(&o->port, first, NULL, &mate->to))
		return;
	ofi_mate_meet(o->mates, config, mate);
	if (tell_head(net, mate, OFI_GREET))
		mate->way = OFI_GREETED;
	else
		ofi_port_forget(&o->port, mate->to);
}

/* Who was refused is greeted by the other; what breaks before it was used is missed by nobody. */
void ofi_mate_broken(struct tw_net *net, fi_addr_t to)
{
	struct ofi *o = net->priv;

	for (unsigned i = 0; i < o->mates->mates; i++) {
		struct ofi_mate *mate = &o->mates->mate[i];

		if (mate->way != OFI_GREETED || mate->to != to)
			continue;
		mate->way = OFI_CLOSED;
		if (!mate->left && (mate->told || mate->its_told))
			ofi_untold(o, mate->node);
	}
}

/* Is there a connection that was asked for, and not answered? */
static bool tell_opens(const struct ofi_port *port)
{
	for (unsigned i = 0; i < port->ways; i++)
		if (port->way[i].state == OFI_OPENING)
			return true;
	return false;
}

/* libfabric forgets no request that has not come whole: who asks stays for a while, to say it. */
void ofi_mates_leave(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = tw_time_ns() + TELL_LEAVE_NS;

	if (!o->mates || !o->port.way)
		return;
	do {
		o->port.looks = 0;
		while (ofi_advance(net))
			continue;
		sched_yield();
	} while (tell_opens(&o->port) && tw_time_ns() < until);
	for (unsigned i = 0; i < o->mates->mates; i++)
		if (o->mates->mate[i].way == OFI_GREETED)
			tell_head(net, &o->mates->mate[i], OFI_LEAVES);
}

/* ---- operations ---- */

/* Tell those who have told much, and been told nothing, that they are heard. */
static void tell_owed(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned i = 0; o->mates->owed && i < o->mates->mates; i++) {
		struct ofi_mate *mate = &o->mates->mate[i];

		if (ofi_mate_owed(mate) && tell_way(net, mate))
			tell_head(net, mate, OFI_HEARD);
	}
}

/* Take what has come; @soon: no more than what the caller may wait for, as each look costs a microsecond. */
static void tell_listen(struct tw_net *net, bool soon)
{
	struct ofi *o = net->priv;

	o->told = false;
	for (unsigned i = 0; i < TELL_EVENTS && !(soon && o->told) && ofi_advance(net); i++)
		continue;
	ofi_help_end(net);
	tell_owed(net);
	o->listened = tw_time_ns();
	ofi_untold_end(net);
}

bool ofi_hear(struct tw_net *net)
{
	struct ofi *o = net->priv;

	if (o->mates)
		tell_listen(net, true);
	return o->mates && o->told;
}

void ofi_tells_push(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = o->port.tells.count < o->port.tells.all ? tw_time_ns() + TELL_PUSH_NS : 0;

	while (o->port.tells.count < o->port.tells.all && tw_time_ns() < until)
		if (!ofi_advance(net))
			sched_yield();
}

/* A few messages the provider gives away at once, for the system has room for them: then we do not look. */
static void tell_push(struct tw_net *net, const struct ofi_mate *mate)
{
	const struct ofi *o = net->priv;

	if (mate->told - mate->heard > OFI_UNHEARD / 2 || o->port.tells.count <= o->port.tells.all / 2)
		ofi_tells_push(net);
}

/* Is anything under way to the server of @node, be it a write or an atomic whose result was asked for? */
static bool tell_behind(struct tw_net *net, unsigned node)
{
	const struct ofi_peer *peer = &((struct ofi *)net->priv)->peer[node];

	return peer->open || TW_MAX(TW_MAX(peer->wrote, peer->transferred), peer->asked) > peer->answered;
}

/* Write long data to where @mate keeps them, until they are given away: it reads them while it looks.  False: nothing was done. */
static bool tell_long(struct tw_net *net, unsigned node, struct ofi_mate *mate, const struct tw_net_told *told)
{
	struct ofi *o = net->priv;
	struct ofi_buffer *transfer = mate->memory.direct ? ofi_take(&o->port.transfers) : NULL;
	unsigned under_way = 1;

	if (!transfer)
		return false;
	transfer->peer = node;
	transfer->under_way = &under_way;
	if (ofi_transfer(&o->port, mate->to, transfer, true, (void *)(uintptr_t)told->local, told->len,
	                 mate->memory.base + told->offset, mate->memory.key)) {
		ofi_again(&o->port, transfer);
		return false;
	}
	while (under_way)
		if (!ofi_advance(net))
			ofi_rest(net, node, tw_time_ns());
	return true;
}

bool ofi_tell(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_told *told)
{
	struct ofi *o = net->priv;

	if (!o->mates)
		return false;
	if (tw_time_ns() - o->listened > TELL_FRESH_NS)
		tell_listen(net, false);
	struct ofi_mate *mate = ofi_mate_of(o->mates, &net->config, node, port, OFI_TELLING);
	size_t len = told->len <= OFI_TELL_MOST ? told->len : 0, bytes = sizeof(struct ofi_tell) + len;
	struct ofi_buffer *buffer = NULL;
	if (told->len <= TELL_LONG && !tell_behind(net, node) && !mate->asleep && ofi_mate_may(mate, bytes) &&
	    tell_way(net, mate) && (len == told->len || tell_long(net, node, mate, told)))
		buffer = ofi_take(&o->port.tells);
	if (buffer) {
		struct ofi_tell *tell = (void *)buffer->head;
		*tell = (struct ofi_tell){
		    .head.bytes = (uint16_t)bytes, .word = told->word, .value = told->value, .offset = told->offset};
		if (len)
			memcpy(tell + 1, told->local, len);
		if (ofi_tell_give(net, mate, buffer, OFI_TELL)) {
			tell_push(net, mate);
			return true;
		}
	}
	mate->asleep = false;
	o->peer[node].ask = true; /* else what is written now would stand in the way of the next */
	return false;
}

void ofi_doze(struct tw_net *net, unsigned node, unsigned port)
{
	struct ofi *o = net->priv;

	if (!o->mates)
		return;
	struct ofi_mate *mate = ofi_mate_of(o->mates, &net->config, node, port, OFI_TELLING);
	if (mate->told - mate->heard < TELL_DOZES && tell_way(net, mate))
		tell_head(net, mate, OFI_ASLEEP);
}
