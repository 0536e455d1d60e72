/* SPDX-License-Identifier: BSD-3-Clause */
/* transport_put_signal.c - puts with signal, from endpoint to endpoint without a server. */
#include "tests/conformance/transport.h"

#include <sched.h>
#include <string.h>

#define AREA     ((size_t)256 << 10)
#define SIGNALED AREA        /* the word that a put with signal stores */
#define WRITTEN  (AREA + 8)  /* the word that is written in its place if it is refused */
#define BEFORE   (AREA + 16) /* a word that is written before either of them */
#define DATA     (AREA + 4096)
#define MOST     ((size_t)32768)
#define LATE_NS  20000000000u

static unsigned char data[MOST];

/* Let puts with signal change the area.  False: the transport has none. */
static bool open_area(struct env *env)
{
	env->net->signal_at = AREA;
	env->net->signal_bytes = 4096 + MOST;
	env_barrier(env);
	return env->net->ops->put_signal;
}

static bool put(struct env *env, uint64_t value, size_t len)
{
	return tw_net_put_signal(
	    env->net, 1, 0,
	    &(struct tw_net_signal){.offset = DATA, .len = len, .local = data, .word = SIGNALED, .value = value});
}

/* Until a put is accepted: the connection to rank 1 is made when both poll. */
static void signal_at_last(struct env *env, uint64_t value, size_t len)
{
	uint64_t until = tw_time_ns() + LATE_NS;

	while (!put(env, value, len)) {
		env->net->ops->poll_signals(env->net);
		tw_net_flush(env->net, 1);
		ENV_CHECK(env, tw_time_ns() < until, "%zu bytes are refused for 20 s", len);
	}
}

static void poll_until(struct env *env, uint64_t value)
{
	uint64_t until = tw_time_ns() + LATE_NS;

	while (env_load(env, SIGNALED) < value) {
		env->net->ops->poll_signals(env->net);
		ENV_CHECK(env, tw_time_ns() < until, "%lu did not arrive for 20 s", value);
		sched_yield();
	}
}

static void fill(uint64_t round, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[i] = (unsigned char)(i * 3 + round);
}

/* open_area, and the first put has arrived; false: the transport has no puts with signal. */
static bool begin(struct env *env)
{
	if (!open_area(env))
		return false;
	if (env->rank == 0)
		signal_at_last(env, 1, 0);
	else
		poll_until(env, 1);
	return true;
}

/* Put or written, in any mixture: data arrive before the word, and earlier writes before a put. */
static void order(struct env *env)
{
	static const size_t lens[] = {0, 8, 1, 64, 4096, 100, 16000, 0, MOST};
	unsigned rounds = 400;
	uint64_t arrived = 0;

	if (!begin(env))
		return;
	for (uint64_t round = 2; env_more(env, (unsigned)round - 2, rounds); round++) {
		size_t len = lens[round % (sizeof(lens) / sizeof(lens[0]))];
		fill(round, len);
		if (env->rank == 0 && round % 5 == 0)
			tw_net_write64(env->net, 1, BEFORE, round);
		if (env->rank == 0 && !put(env, round, len)) {
			if (len)
				tw_net_write(env->net, 1, DATA, data, len);
			tw_net_fence(env->net, 1);
			tw_net_write64(env->net, 1, WRITTEN, round);
			tw_net_notify(env->net, 1, 0);
		}
		while (env->rank == 1 && env_load(env, SIGNALED) < round && env_load(env, WRITTEN) < round)
			env->net->ops->poll_signals(env->net);
		if (env->rank == 1) {
			arrived += env_load(env, SIGNALED) == round;
			ENV_CHECK(env, env_load(env, BEFORE) == round / 5 * 5,
			          "an earlier write is missing in round %lu", round);
			ENV_CHECK(env, !memcmp(env->net->base + DATA, data, len), "data of round %lu, %zu bytes", round,
			          len);
		}
		env_barrier(env);
	}
	ENV_CHECK(env, env->rank == 0 || arrived > 10, "only %lu rounds were puts with signal", arrived);
}

/* A peer that does not poll gets a limited number of puts, and does not delay the sender; then all arrive, in order. */
static void busy_peer(struct env *env)
{
	if (!begin(env))
		return;
	for (unsigned round = 0; round < 20; round++) {
		size_t len = round % 2 ? 4000 : 8;
		uint64_t sent = 1 + round * 1000ul;

		env_barrier(env);
		if (env->rank == 0) {
			uint64_t begun = tw_time_ns();
			while (sent < 1000 * (round + 1ul) && put(env, sent + 1, len))
				sent++;
			ENV_CHECK(env, sent < 500 + round * 1000ul, "%lu unacknowledged messages", sent);
			ENV_CHECK(env, tw_time_ns() - begun < 5000000000u,
			          "a put has waited for a peer that does not poll");
			atomic_store(&env->shared->word[0], sent);
		}
		env_barrier(env);
		if (env->rank == 1)
			poll_until(env, atomic_load(&env->shared->word[0]));
		env_barrier(env);
		if (env->rank == 0)
			signal_at_last(env, 1 + (round + 1) * 1000ul, len);
		else
			poll_until(env, 1 + (round + 1) * 1000ul);
	}
}

/* An endpoint that sleeps is woken, though it announced that only after the last poll of the other. */
static void sleeper(struct env *env)
{
	if (!begin(env))
		return;
	for (uint64_t round = 2; round < 50; round++) {
		env_barrier(env);
		if (env->rank == 1) {
			uint32_t seen = env->net->ops->bell(env->net);
			env->net->ops->announce_sleep(env->net, 0, 0);
			atomic_store(&env->shared->word[1], round);
			uint64_t begun = tw_time_ns();
			while (env_load(env, WRITTEN) < round) {
				ENV_CHECK(env, tw_time_ns() - begun < LATE_NS, "a sleeper is not woken");
				env->net->ops->sleep(env->net, seen, LATE_NS);
				seen = env->net->ops->bell(env->net);
			}
			continue;
		}
		while (atomic_load(&env->shared->word[1]) < round)
			sched_yield();
		for (uint64_t begun = tw_time_ns(); tw_time_ns() - begun < 300000;)
			continue;
		ENV_CHECK(env, !put(env, round, 0), "a put to a sleeper was accepted in round %lu", round);
		tw_net_write64(env->net, 1, WRITTEN, round);
		tw_net_notify(env->net, 1, 0);
		tw_net_flush(env->net, 1);
	}
}

const struct env_case put_signal_cases[] = {
    {.name = "put-signal-in-order", .run = order, .nodes = 2, .ports = 1},
    {.name = "put-signal-in-order-spin-20us", .run = order, .nodes = 2, .ports = 1, .spin_ns = 20000},
    {.name = "put-signal-to-busy-peer", .run = busy_peer, .nodes = 2, .ports = 1, .spin_ns = 20000},
    {.name = "put-signal-to-sleeper", .run = sleeper, .nodes = 2, .ports = 1, .spin_ns = 20000},
    {0},
};
