/* SPDX-License-Identifier: BSD-3-Clause */
/* transport_signal.c - messages, bells and sleeping. */
#include "tests/conformance/transport.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define AREA  ((size_t)256 << 10)
#define FLAG  AREA
#define DATA  (AREA + 8192)
#define WORDS 512u
#define PUTS  20000u
#define MS    1000000ull

/* ---- messages ---- */

struct inbox {
	uint64_t next[ENV_RANKS]; /* token expected from each rank */
	uint64_t total;
};

static void fill(struct env *env, struct tw_msg *msg, uint64_t k)
{
	msg->type = (uint16_t)(1 + k % 1000);
	msg->len = (uint16_t)(k * 7 % (TW_MSG_BODY + 1));
	msg->token = k;
	for (unsigned i = 0; i < msg->len; i++)
		msg->body[i] = (uint8_t)(k * 31 + i + env->rank);
}

/* Take all messages that have arrived: each once, whole, in its sender's order. */
static void drain(struct env *env, struct inbox *inbox)
{
	struct tw_msg msg;

	while (tw_net_recv(env->net, &msg)) {
		unsigned from = msg.src_node * env->net->config.ports + msg.src_port;
		uint64_t k = msg.token;

		ENV_CHECK(env, from < env->ranks, "a message from %u.%u", msg.src_node, msg.src_port);
		ENV_CHECK(env, k == inbox->next[from], "message %lu from rank %u instead of %lu", k, from,
		          inbox->next[from]);
		ENV_CHECK(env, msg.type == 1 + k % 1000 && msg.len == k * 7 % (TW_MSG_BODY + 1), "head of %lu", k);
		for (unsigned i = 0; i < msg.len; i++)
			ENV_CHECK(env, msg.body[i] == (uint8_t)(k * 31 + i + from), "body of %lu", k);
		inbox->next[from]++;
		inbox->total++;
	}
}

static void drain_until(struct env *env, struct inbox *inbox, uint64_t total)
{
	for (;;) {
		uint32_t seen = env->net->ops->bell(env->net);

		drain(env, inbox);
		if (inbox->total >= total)
			return;
		env->net->ops->sleep(env->net, seen, 0);
	}
}

/* Every endpoint to every endpoint, itself included; all queues are full most of the time. */
static void all_to_all(struct env *env)
{
	const uint64_t each = env_rounds(env, 1500);
	const unsigned ports = env->net->config.ports;
	struct inbox inbox = {.total = 0};
	struct tw_msg msg;

	for (uint64_t k = 0; k < each; k++) {
		for (unsigned to = 0; to < env->ranks; to++) {
			int error;

			fill(env, &msg, k);
			while ((error = env->net->ops->send(env->net, to / ports, to % ports, &msg)) == -EAGAIN) {
				drain(env, &inbox);
				sched_yield();
			}
			ENV_CHECK(env, error == 0, "send: %d", error);
		}
	}
	drain_until(env, &inbox, each * env->ranks);
	env_barrier(env);
	drain(env, &inbox);
	ENV_CHECK(env, inbox.total == each * env->ranks, "%lu messages too many", inbox.total - each * env->ranks);
}

/* Five senders that wait in tw_net_send, one receiver that is slow at times. */
static void many_senders(struct env *env)
{
	const uint64_t each = env_rounds(env, 4000);
	struct inbox inbox = {.total = 0};
	struct tw_msg msg;

	if (env->rank != 0) {
		for (uint64_t k = 0; k < each; k++) {
			fill(env, &msg, k);
			tw_net_send(env->net, 0, 0, &msg);
		}
		return;
	}
	for (uint64_t wanted = 1; inbox.total < each * (env->ranks - 1); wanted = inbox.total + 1) {
		drain_until(env, &inbox, wanted);
		if (wanted % 64 == 0)
			usleep(200);
	}
}

/* A full queue answers -EAGAIN, and what it accepted before arrives. */
static void ring_full(struct env *env)
{
	struct inbox inbox = {.total = 0};
	struct tw_msg msg;
	uint64_t sent = 0;
	int error = 0;

	for (unsigned round = 0; round < env_rounds(env, 50); round++) {
		while (env->rank == 0 && sent < 1000000) {
			fill(env, &msg, sent);
			error = env->net->ops->send(env->net, 1, 0, &msg);
			if (error)
				break;
			sent++;
		}
		ENV_CHECK(env, env->rank == 1 || error == -EAGAIN, "a full queue answers %d", error);
		atomic_store(&env->shared->word[env->rank], sent);
		env_barrier(env);
		if (env->rank == 1) {
			drain_until(env, &inbox, atomic_load(&env->shared->word[0]));
			sent = inbox.total;
			ENV_CHECK(env, sent == atomic_load(&env->shared->word[0]), "%lu arrived", sent);
		}
		env_barrier(env);
	}
}

static void write_page(struct env *env, unsigned node, uint64_t i)
{
	static uint64_t page[WORDS];

	for (unsigned k = 0; k < WORDS; k++)
		page[k] = i;
	tw_net_write(env->net, node, DATA, page, sizeof(page));
	for (unsigned k = 0; k < 20; k++)
		tw_net_write64(env->net, node, FLAG + 72 * k, i);
}

static void check_page(struct env *env, uint64_t i)
{
	for (unsigned k = 0; k < WORDS; k++)
		ENV_CHECK(env, env_load(env, DATA + 8 * k) == i, "word %u of the page in round %lu", k, i);
	for (unsigned k = 0; k < 20; k++)
		ENV_CHECK(env, env_load(env, FLAG + 72 * k) == i, "word %u in round %lu", k, i);
}

static bool got_message(void *arg)
{
	struct env *env = arg;
	struct tw_msg msg;

	return tw_net_recv(env->net, &msg);
}

/* A message arrives after the writes before it: no fence, no flush. */
static void message_after_writes(struct env *env)
{
	struct tw_msg msg = {.type = 1};

	for (uint64_t i = 1; i <= env_rounds(env, 2000); i++) {
		if (env->rank == 0) {
			write_page(env, 1, i);
			tw_net_send(env->net, 1, 0, &msg);
			tw_net_wait(env->net, got_message, env);
		} else {
			tw_net_wait(env->net, got_message, env);
			check_page(env, i);
			tw_net_send(env->net, 0, 0, &msg);
		}
	}
}

/* ---- bells ---- */

static void wait_bell(struct env *env, uint32_t *seen)
{
	while (env->net->ops->bell(env->net) == *seen)
		env->net->ops->sleep(env->net, *seen, 0);
	*seen = env->net->ops->bell(env->net);
}

/* Once the bell has changed, the writes before the notify are there. */
static void notify_after_writes(struct env *env)
{
	uint32_t seen = env->net->ops->bell(env->net);

	env_barrier(env);
	for (uint64_t i = 1; i <= env_rounds(env, 2000); i++) {
		if (env->rank == 0) {
			write_page(env, 1, i);
			tw_net_notify(env->net, 1, 0);
			wait_bell(env, &seen);
		} else {
			wait_bell(env, &seen);
			check_page(env, i);
			tw_net_notify(env->net, 0, 0);
		}
	}
}

/* Which bells ring, and which do not. */
static void bells(struct env *env)
{
	const unsigned ports = env->net->config.ports;
	struct tw_msg msg = {.type = 1};
	uint32_t before = env->net->ops->bell(env->net), now;

	for (unsigned step = 0; step < 2 * env->ranks + 2; step++) {
		unsigned node = step < 2 * env->ranks ? step / 2 / ports : step % 2, port = step / 2 % ports;

		env_barrier(env);
		if (env->rank == 0) {
			if (step >= 2 * env->ranks)
				tw_net_notify(env->net, node, TW_NET_ALL);
			else if (step % 2)
				tw_net_send(env->net, node, port, &msg);
			else
				tw_net_notify(env->net, node, port);
		}
		env_barrier(env);
		uint64_t until = tw_time_ns() + 5000 * MS;
		bool rung = env->node == node && (env->port == port || step >= 2 * env->ranks);
		while ((now = env->net->ops->bell(env->net)) == before && rung && tw_time_ns() < until)
			sched_yield(); /* it is in flight */
		ENV_CHECK(env, (now != before) == rung, "step %u: %s", step, rung ? "not rung" : "rung");
		before = now;
	}
}

/* sleep returns at once on an old bell, and after its time otherwise. */
static void sleep_times(struct env *env)
{
	uint32_t seen = env->net->ops->bell(env->net);
	uint64_t begun = tw_time_ns();

	tw_net_notify(env->net, env->node, env->port);
	for (unsigned i = 0; i < 1000; i++)
		env->net->ops->sleep(env->net, seen, 0);
	env->net->ops->sleep(env->net, env->net->ops->bell(env->net), 20 * MS);
	ENV_CHECK(env, tw_time_ns() - begun < 10000 * MS, "%lu ns", tw_time_ns() - begun);
}

/* Read the bell, test, sleep: a notify between test and sleep is not missed.  The control reads the bell after the
 * test, and must miss it. */
static uint64_t late_sleep(struct env *env, bool bell_first)
{
	uint32_t seen = env->net->ops->bell(env->net);
	uint64_t begun;

	if (env->rank == 0) {
		ENV_CHECK(env, env_load(env, FLAG) == 0, "a word that was not written");
		env_barrier(env);
		env_barrier(env);
		while (!bell_first && env->net->ops->bell(env->net) == seen)
			sched_yield(); /* it is in flight */
		if (!bell_first)
			seen = env->net->ops->bell(env->net);
		begun = tw_time_ns();
		env->net->ops->sleep(env->net, seen, 1000 * MS);
		return tw_time_ns() - begun;
	}
	env_barrier(env);
	tw_net_write64(env->net, 0, FLAG, 1);
	tw_net_notify(env->net, 0, 0);
	env_barrier(env);
	return 0;
}

static void bell_test_sleep(struct env *env)
{
	ENV_CHECK(env, late_sleep(env, true) < 700 * MS, "the wake-up was lost");
}

static void control_test_bell_sleep(struct env *env)
{
	ENV_CHECK(env, env->rank != 0 || late_sleep(env, false) > 700 * MS, "the wrong order lost no wake-up");
	if (env->rank != 0)
		late_sleep(env, false);
}

struct rings {
	struct tw_net *net;
	_Atomic bool stop;
	uint32_t count;
};

static void *ring(void *arg)
{
	struct rings *r = arg;
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all); /* not the user's processor */
	do
		tw_net_notify(r->net, r->net->config.node, r->net->config.port);
	while (r->count++ < PUTS || !atomic_load(&r->stop));
	return NULL;
}

/* Another thread rings the own bell while the endpoint, which has two users, is used: the user is out at the end. */
static void own_bell(struct env *env)
{
	struct tw_net *net = env->net;
	struct rings rings = {.net = net};
	uint32_t before = net->ops->bell(net);
	unsigned puts = env_rounds(env, PUTS);
	pthread_t thread;

	ENV_CHECK(env, tw_net_share(net) == 0, "not shared");
	ENV_CHECK(env, pthread_create(&thread, NULL, ring, &rings) == 0, "no thread");
	for (uint64_t i = 0; i < puts; i++) {
		tw_net_fadd(net, 1 - env->node, DATA, 1);
		net->ops->progress(net);
	}
	atomic_store(&rings.stop, true);
	ENV_CHECK(env, pthread_join(thread, NULL) == 0, "not joined");
	ENV_CHECK(env, !tw_net_inside(net), "the user has stayed in an operation");
	ENV_CHECK(env, net->ops->bell(net) - before >= rings.count, "rings are lost");
	tw_net_flush(net, TW_NET_ALL);
	env_barrier(env);
	ENV_CHECK(env, env_load(env, DATA) == puts, "operations are lost");
}

struct awaited {
	struct env *env;
	size_t offset;
	uint64_t value;
};

static bool has_arrived(void *arg)
{
	const struct awaited *awaited = arg;

	return env_load(awaited->env, awaited->offset) >= awaited->value;
}

/* Ping-pong of pairs (0, p) and (1, p); a lost wake-up hangs.  Odd rounds wait by hand, even ones in tw_net_wait. */
static void ping_pong(struct env *env)
{
	struct awaited flag = {.env = env, .offset = FLAG + 64 * env->port};
	struct tw_net *net = env->net;

	for (uint64_t i = 1; i <= env_rounds(env, 20000); i++) {
		flag.value = i;
		if (env->node == 0) {
			tw_net_write64(net, 1, flag.offset, i);
			tw_net_notify(net, 1, env->port);
		}
		if (i % 2 == 0)
			tw_net_wait(net, has_arrived, &flag);
		while (!has_arrived(&flag)) {
			uint32_t seen = net->ops->bell(net);

			if (!has_arrived(&flag))
				net->ops->sleep(net, seen, 0);
		}
		if (env->node == 1) {
			tw_net_write64(net, 0, flag.offset, i);
			tw_net_notify(net, 0, env->port);
		}
	}
}

/* Many notifiers of one sleeper, which then rings every port of every node, its own too. */
static void gather_scatter(struct env *env)
{
	struct awaited count = {.env = env, .offset = FLAG}, go = {.env = env, .offset = FLAG + 64};

	for (uint64_t i = 1; i <= env_rounds(env, 3000); i++) {
		count.value = i * (env->ranks - 1);
		go.value = i;
		if (env->rank == 0) {
			tw_net_wait(env->net, has_arrived, &count);
			tw_net_broadcast64(env->net, go.offset, i);
			for (unsigned node = 0; node < env->net->config.nodes; node++)
				tw_net_notify(env->net, node, TW_NET_ALL);
		} else {
			tw_net_fadd(env->net, 0, count.offset, 1);
			tw_net_notify(env->net, 0, 0);
		}
		tw_net_wait(env->net, has_arrived, &go);
	}
}

const struct env_case signal_cases[] = {
    {.name = "messages-all-to-all", .run = all_to_all, .nodes = 3, .ports = 2},
    {.name = "messages-many-senders", .run = many_senders, .nodes = 3, .ports = 2},
    {.name = "messages-full-queue", .run = ring_full, .nodes = 2, .ports = 1},
    {.name = "messages-after-writes", .run = message_after_writes, .nodes = 2, .ports = 1},
    {.name = "notify-after-writes", .run = notify_after_writes, .nodes = 2, .ports = 1},
    {.name = "bells", .run = bells, .nodes = 2, .ports = 2},
    {.name = "own-bell", .run = own_bell, .nodes = 2, .ports = 1},
    {.name = "sleep-times", .run = sleep_times, .nodes = 1, .ports = 1},
    {.name = "bell-test-sleep", .run = bell_test_sleep, .nodes = 2, .ports = 1},
    {.name = "control-test-bell-sleep", .run = control_test_bell_sleep, .nodes = 2, .ports = 1},
    {.name = "ping-pong-spin-0", .run = ping_pong, .nodes = 2, .ports = 1},
    {.name = "ping-pong-spin-5us", .run = ping_pong, .nodes = 2, .ports = 1, .spin_ns = 5000},
    {.name = "ping-pong-two-pairs", .run = ping_pong, .nodes = 2, .ports = 2},
    {.name = "gather-scatter", .run = gather_scatter, .nodes = 3, .ports = 2},
    {.name = "gather-scatter-spin-20us", .run = gather_scatter, .nodes = 3, .ports = 2, .spin_ns = 20000},
    {.name = NULL},
};
