/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c - requests to agents, and their replies. */
#include "core/job/message.h"

#include "core/job/job.h"

bool (*tw_message_agent)(struct tw_proc *me, const struct tw_msg *msg);
void (*tw_message_lock)(struct tw_proc *me, const struct tw_msg *msg);

struct message_wait {
	struct tw_proc *me;
	struct tw_msg *msg;
	uint64_t token;
	unsigned node; /* a call's: the node that replies */
};

void tw_send(struct tw_proc *me, unsigned node, unsigned port, struct tw_msg *msg)
{
	tw_trace(me, TW_TRACE_message_out, node, TW_TRACE_NO_PAGE, msg->type, 0);
	tw_net_send(me->net, node, port, msg);
}

bool tw_message_take(struct tw_proc *me, struct tw_msg *msg)
{
	if (!tw_net_recv(me->net, msg))
		return false;
	tw_trace(me, TW_TRACE_message_in, msg->src_node, TW_TRACE_NO_PAGE, msg->type, 0);
	return true;
}

void tw_message_dispatch(struct tw_proc *me, const struct tw_msg *msg)
{
	if (me->agent && tw_message_agent && tw_message_agent(me, msg))
		return;
	if (msg->type >= TW_MSG_PROTOCOL && me->protocol->message)
		me->protocol->message(me, msg);
	else
		tw_fatal("node %u sent a message of type %u, which nobody here understands", msg->src_node, msg->type);
}

static bool message_replied(void *arg)
{
	struct message_wait *w = arg;
	while (tw_message_take(w->me, w->msg)) {
		if (w->msg->type == TW_MSG_REPLY && w->msg->token == w->token)
			return true;
		tw_message_dispatch(w->me, w->msg);
	}
	return tw_net_lost(&w->me->net->config, w->node);
}

void tw_call(struct tw_proc *me, unsigned node, struct tw_msg *msg)
{
	static uint64_t last_token;
	struct message_wait wait = {.me = me, .msg = msg, .token = ++last_token, .node = node};

	msg->token = wait.token;
	tw_send(me, node, me->layout.ports - 1, msg);
	me->net->traffic->round_trips += node != me->node;
	tw_wait(me, message_replied, &wait);
}

void tw_reply(struct tw_proc *me, const struct tw_msg *request, struct tw_msg *reply)
{
	reply->type = TW_MSG_REPLY;
	reply->token = request->token;
	tw_send(me, request->src_node, request->src_port, reply);
}
