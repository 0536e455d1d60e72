/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c - requests to agents, their replies, and the agent's service thread. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "core/memory/wide.h"
#include "net/mailbox.h"

struct message_wait {
	struct tw_proc *me;
	struct tw_msg *msg;
	uint64_t token;
	unsigned node; /* a call's: whose answer it is */
};

void tw_send(struct tw_proc *me, unsigned node, unsigned port, struct tw_msg *msg)
{
	tw_trace(me, TW_TRACE_message_out, node, TW_TRACE_NO_PAGE, msg->type, 0);
	tw_net_send(me->net, node, port, msg);
}

/* The next message, if there is one. */
static bool message_take(struct tw_proc *me, struct tw_msg *msg)
{
	if (!tw_net_recv(me->net, msg))
		return false;
	tw_trace(me, TW_TRACE_message_in, msg->src_node, TW_TRACE_NO_PAGE, msg->type, 0);
	return true;
}

static void message_dispatch(struct tw_proc *me, const struct tw_msg *msg)
{
	if (msg->type == TW_MSG_COLLECT && me->agent)
		tw_notice_collect(me);
	else if (msg->type == TW_MSG_WIDE && me->agent)
		tw_wide_serve(me, msg);
	else if (msg->type >= TW_MSG_PROTOCOL && me->protocol->message)
		me->protocol->message(me, msg);
	else
		tw_fatal("node %u sent a message of type %u, which nobody here understands", msg->src_node, msg->type);
}

static bool message_replied(void *arg)
{
	struct message_wait *w = arg;
	while (message_take(w->me, w->msg)) {
		if (w->msg->type == TW_MSG_REPLY && w->msg->token == w->token)
			return true;
		message_dispatch(w->me, w->msg);
	}
	return tw_net_lost(&w->me->net->config, w->node);
}

void tw_call(struct tw_proc *me, unsigned node, struct tw_msg *msg)
{
	static uint64_t last_token;
	struct message_wait wait = {.me = me, .msg = msg, .token = ++last_token, .node = node};

	msg->token = wait.token;
	tw_send(me, node, me->layout.ports - 1, msg);
	tw_wait(me, message_replied, &wait);
}

void tw_reply(struct tw_proc *me, const struct tw_msg *request, struct tw_msg *reply)
{
	reply->type = TW_MSG_REPLY;
	reply->token = request->token;
	tw_send(me, request->src_node, request->src_port, reply);
}

/* ---- the agent ---- */

static struct tw_proc service_proc;
static pthread_t service_thread;
static _Atomic bool service_stopping;

static bool service_ready(void *arg)
{
	struct message_wait *w = arg;
	return message_take(w->me, w->msg) || atomic_load(&service_stopping);
}

/* The beats: a word for each sender in every node's memory, four times in the time after which silence counts, or once
 * a second.  Behind it goes a notify, for a write alone need not arrive; nothing is waited for.  A receiver whose word
 * stands still has lost the sender or the link.  A processor that is stopped with a page lock can hold the service up,
 * so the launcher is asked before anybody is given up. */
static uint64_t service_beat_ns(const struct tw_proc *me)
{
	const uint64_t second = 1000000000;
	return me->config.watch ? TW_MIN(second, me->config.watch * second / 4) : second;
}

uint64_t tw_service_beat(unsigned node)
{
	const char *word = service_proc.net->base + service_proc.layout.beats + node * sizeof(uint64_t);
	return atomic_load((const _Atomic uint64_t *)(const void *)word);
}

void tw_service_ring(void)
{
	const struct tw_net *net = service_proc.net;

	for (unsigned port = 0; port < net->config.ports; port++)
		tw_mailbox_ring(tw_mailbox_of(&net->config, net->base, port));
}

/* Beat if it is time; returns how long it is until the next one. */
static uint64_t service_beat(struct tw_proc *me)
{
	static uint64_t beats, next_ns;
	uint64_t now = tw_time_ns(), every_ns = service_beat_ns(me);

	if (me->net->ops->caps & TW_NET_ONE_HOST)
		return 0;
	if (now < next_ns)
		return next_ns - now;
	next_ns = now + every_ns;
	beats++;
	tw_net_broadcast64(me->net, me->layout.beats + me->node * sizeof(uint64_t), beats);
	for (unsigned node = 0; node < me->nodes; node++)
		if (node != me->node)
			tw_net_notify(me->net, node, me->local);
	return every_ns;
}

/* As tw_net_wait, but beats meanwhile. */
static void service_wait(struct tw_proc *me, struct message_wait *wait)
{
	for (;;) {
		uint32_t seen = me->net->ops->bell(me->net);
		uint64_t next_ns = service_beat(me);

		me->net->ops->progress(me->net);
		if (service_ready(wait))
			return;
		me->net->ops->sleep(me->net, seen, next_ns); /* 0: no limit */
	}
}

static void *service_run(void *arg)
{
	struct tw_proc *me = arg;
	struct tw_msg msg;
	struct message_wait wait = {.me = me, .msg = &msg};

	for (;;) {
		msg.type = 0;
		service_wait(me, &wait);
		if (msg.type)
			message_dispatch(me, &msg);
		else if (atomic_load(&service_stopping))
			return NULL;
	}
}

int tw_service_start(const struct tw_boot *boot)
{
	sigset_t all, old;
	int err = tw_proc_open(&service_proc, boot, (unsigned)boot->config.processors, true);
	if (err)
		return err;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&service_thread, NULL, service_run, &service_proc);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		tw_log("cannot start the agent's service thread: %s", strerror(err));
	return -err;
}

void tw_service_stop(void)
{
	atomic_store(&service_stopping, true);
	/* Only rings the agent's own bell: plain memory and a futex, safe beside the service thread. */
	tw_net_notify(service_proc.net, service_proc.node, service_proc.local);
	pthread_join(service_thread, NULL);
	service_proc.stats->now.messages = service_proc.net->messages;
	tw_proc_close(&service_proc);
}
