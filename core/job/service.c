/* SPDX-License-Identifier: BSD-3-Clause */
/* service.c - the agent's service thread: other nodes' requests, and the beats. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/coherence/lazy.h"
#include "core/job/job.h"
#include "core/job/message.h"
#include "core/memory/wide.h"
#include "net/mailbox.h"

static struct tw_proc service_proc;
static pthread_t service_thread;
static _Atomic bool service_stopping;

/* tw_message_agent: the core's own requests. */
static bool service_message(struct tw_proc *me, const struct tw_msg *msg)
{
	if (msg->type == TW_MSG_COLLECT)
		tw_notice_collect(me);
	else if (msg->type == TW_MSG_WIDE)
		tw_wide_serve(me, msg);
	else if (msg->type == TW_MSG_LOCK_RELEASE && tw_message_lock)
		tw_message_lock(me, msg);
	else if (msg->type == TW_MSG_RELEASES)
		tw_lazy_demanded(me, msg);
	else
		return false;
	return true;
}

struct service_wait {
	struct tw_proc *me;
	struct tw_msg *msg;
};

static bool service_ready(void *arg)
{
	struct service_wait *w = arg;
	return tw_message_take(w->me, w->msg) || atomic_load(&service_stopping);
}

/* Beats. Each agent increments its word in every node's memory, four times per watch period (TWEED_WATCH) and at least
 * once a second. A notification follows, because a write alone need not arrive. The sender waits for nothing. A word
 * that stops changing shows that its sender or the link is gone. A processor that is stopped while it holds a page lock
 * can delay the service, so the launcher is asked before a node is given up. */
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

/* Send a beat if it is due. Returns the time until the next one; 0: this transport has none. */
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

/* tw_net_wait that also sends beats. */
static void service_wait(struct tw_proc *me, struct service_wait *wait)
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

/* In virtual time, on a machine whose processors serve what its network does not, a message takes their time. */
static void service_serve(struct tw_proc *me, struct tw_msg *msg)
{
	bool steals = me->config.virtual_time && me->config.costs.of[TW_COST_serve];
	uint64_t begun_ns = steals ? tw_time_ns() : 0;

	tw_charge(TW_COST_message, 1);
	tw_message_dispatch(me, msg);
	if (steals)
		tw_gate_steal(me->node * me->locals, me->locals, tw_time_ns() - begun_ns);
}

static void *service_run(void *arg)
{
	struct tw_proc *me = arg;
	struct tw_msg msg;
	struct service_wait wait = {.me = me, .msg = &msg};

	tw_proc_clock(me);
	for (;;) {
		msg.type = 0;
		service_wait(me, &wait);
		if (msg.type) {
			service_serve(me, &msg);
		} else if (atomic_load(&service_stopping)) {
			tw_gate_leave();
			return NULL;
		}
	}
}

int tw_service_start(const struct tw_boot *boot)
{
	sigset_t all, old;
	int err = tw_proc_open(&service_proc, boot, (unsigned)boot->config.processors, true);
	if (err)
		return err;
	tw_message_agent = service_message;
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
	const struct tw_proc *me = &service_proc;

	atomic_store(&service_stopping, true);
	for (unsigned k = 0; me->config.virtual_time && k < me->locals; k++)
		tw_gate_remove(me->node * me->locals + k); /* some may have died while they ran */
	/* Rings only the agent's own bell, by plain memory and a futex, which is safe beside the service thread. */
	tw_net_notify(service_proc.net, service_proc.node, service_proc.local);
	pthread_join(service_thread, NULL);
	service_proc.stats->now.messages = service_proc.stats->traffic.messages;
	tw_proc_close(&service_proc);
}
