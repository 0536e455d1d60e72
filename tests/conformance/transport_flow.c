/* SPDX-License-Identifier: BSD-3-Clause */
/* transport_flow.c - operations that are started and settled. */
#include "tests/conformance/transport.h"

#include <stdlib.h>
#include <string.h>

#define AREA ((size_t)256 << 10)
#define LONG ((size_t)192 << 10)
#define MUCH ((size_t)3 << 19)

static struct tw_net_flow *flow_new(struct env *env)
{
	struct tw_net_flow *flow = tw_net_flow_new(env->net);

	ENV_CHECK(env, flow, "no flow");
	return flow;
}

static void put(struct env *env, struct tw_net_flow *flow, enum tw_net_kind kind, size_t offset, void *local,
                size_t len)
{
	tw_net_start(env->net, flow,
	             &(struct tw_net_work){.kind = kind, .node = 1, .offset = offset, .len = len, .local = local});
}

static void amo(struct env *env, struct tw_net_flow *flow, enum tw_amo op, size_t offset, size_t len, uint64_t value,
                uint64_t expect, void *old)
{
	tw_net_start(env->net, flow,
	             &(struct tw_net_work){.kind = TW_NET_AMO,
	                                   .node = 1,
	                                   .offset = offset,
	                                   .len = len,
	                                   .local = old,
	                                   .op = op,
	                                   .value = value,
	                                   .expect = expect});
}

/* Without waiting, as often as it takes. */
static void settle_at_last(struct env *env, struct tw_net_flow *flow)
{
	uint64_t until = tw_time_ns() + 20000000000u;

	while (!tw_net_settle(env->net, flow, false))
		ENV_CHECK(env, tw_time_ns() < until, "not settled after 20 s");
	ENV_CHECK(env, !flow->open && tw_net_settle(env->net, flow, false), "a settled flow is open");
}

/* Every length, there and back; settled writes are in the other node's memory. */
static void lengths(struct env *env)
{
	static const size_t lens[] = {1, 3, 4, 8, 9, 100, 4096, 5000, 16383, 16384, 32768, 70001, LONG};
	static unsigned char src[LONG], back[LONG];

	for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
		size_t len = lens[k], at = AREA + k;
		if (env->rank == 0) {
			struct tw_net_flow *flow = flow_new(env);
			enum tw_net_kind kind = k % 2 ? TW_NET_WRITE : TW_NET_PUT;
			for (size_t i = 0; i < len; i++)
				src[i] = (unsigned char)(i * 7 + k);
			put(env, flow, kind, at, src, len);
			if (kind == TW_NET_PUT)
				memset(src, 0xee, len);
			if (k % 3)
				tw_net_settle(env->net, flow, true);
			else
				settle_at_last(env, flow);
			memset(back, 0xee, len);
			put(env, flow, TW_NET_READ, at, back, len);
			if (k % 3)
				settle_at_last(env, flow);
			else
				tw_net_settle(env->net, flow, true);
			for (size_t i = 0; i < len; i++)
				ENV_CHECK(env, back[i] == (unsigned char)(i * 7 + k),
				          "byte %zu of a started read of %zu", i, len);
			free(flow);
		}
		env_barrier(env);
		for (size_t i = 0; env->rank == 1 && i < len; i++)
			ENV_CHECK(env, (unsigned char)env->net->base[at + i] == (unsigned char)(i * 7 + k),
			          "byte %zu of a settled write of %zu", i, len);
		env_barrier(env);
	}
}

/* Atomics of both sizes: each old value once, and to the bytes that it has. */
static void atomics(struct env *env)
{
	enum { N = 500 };
	static uint64_t old[N];
	static uint32_t half[N + 1];
	bool seen[N] = {false};
	unsigned rounds = 4;

	if (env->rank != 0)
		return;
	struct tw_net_flow *flow = flow_new(env);
	for (unsigned round = 0; round < rounds; round++) {
		memset(seen, 0, sizeof(seen));
		half[N] = 0xabcdef01;
		for (unsigned i = 0; i < N; i++) {
			amo(env, flow, TW_AMO_ADD, AREA, 8, 1, 0, &old[i]);
			amo(env, flow, TW_AMO_ADD, AREA + 12, 4, 1, 0, &half[i]);
			amo(env, flow, TW_AMO_XOR, AREA + 8, 4, 1, 0, NULL);
		}
		tw_net_settle(env->net, flow, true);
		ENV_CHECK(env, half[N] == 0xabcdef01, "a word of 4 bytes has stored 8");
		for (unsigned i = 0; i < N; i++) {
			ENV_CHECK(env, old[i] / N == round && !seen[old[i] % N], "fetch-add %u gave %llu", i,
			          (unsigned long long)old[i]);
			seen[old[i] % N] = true;
			ENV_CHECK(env, half[i] / N == round, "fetch-add of 4 bytes gave %u", half[i]);
		}
		amo(env, flow, TW_AMO_CAS, AREA + 16, 8, round + 1, round, &old[0]);
		amo(env, flow, TW_AMO_SWAP, AREA + 24, 8, round + 1, 0, &old[1]);
		amo(env, flow, TW_AMO_FETCH, AREA + 8, 4, 0, 0, &half[0]);
		settle_at_last(env, flow);
		ENV_CHECK(env, old[0] == round && old[1] == round && half[0] == 0,
		          "swap gave %llu, compare-and-swap %llu, fetch %u", (unsigned long long)old[1],
		          (unsigned long long)old[0], half[0]);
	}
	free(flow);
}

/* Started writes before a fence, and before a notify, are visible before later writes. */
static void order(struct env *env)
{
	static uint64_t data[8192];
	unsigned rounds = env_rounds(env, 400);

	for (uint64_t round = 1; env_more(env, (unsigned)round - 1, rounds); round++) {
		if (env->rank == 0) {
			struct tw_net_flow *flow = flow_new(env);
			size_t words = round % 2 ? 8192 : 3;
			for (size_t i = 0; i < words; i++)
				data[i] = round;
			put(env, flow, TW_NET_WRITE, AREA, data, words * 8);
			tw_net_fence(env->net, 1);
			put(env, flow, TW_NET_PUT, AREA + sizeof(data), &round, 8);
			tw_net_notify(env->net, 1, 0);
			tw_net_settle(env->net, flow, true);
			free(flow);
		} else {
			uint64_t until = tw_time_ns() + 20000000000u;
			while (env_load(env, AREA + sizeof(data)) < round)
				ENV_CHECK(env, tw_time_ns() < until, "the word behind the fence does not come");
			size_t words = round % 2 ? 8192 : 3;
			ENV_CHECK(env, env_load(env, AREA) == round && env_load(env, AREA + (words - 1) * 8) == round,
			          "what was started before a fence is not there");
		}
		env_barrier(env);
	}
}

/* Two flows, in turns and at once: each settles its own, with other operations between. */
static void flows(struct env *env)
{
	static unsigned char out[2][LONG], in[2][LONG];
	uint64_t old = 0, word;

	if (env->rank != 0)
		return;
	struct tw_net_flow *flow[2] = {flow_new(env), flow_new(env)};
	for (unsigned round = 0; round < env_rounds(env, 100); round++) {
		for (unsigned f = 0; f < 2; f++) {
			memset(out[f], (int)(round + f + 1), LONG);
			put(env, flow[f], TW_NET_WRITE, AREA + f * LONG, out[f], LONG);
		}
		amo(env, flow[1], TW_AMO_ADD, AREA + 2 * LONG, 8, 1, 0, &old);
		word = tw_net_fadd(env->net, 1, AREA + 2 * LONG + 8, 1);
		ENV_CHECK(env, word == round, "an atomic between gave %llu", (unsigned long long)word);
		tw_net_settle(env->net, flow[1], true);
		ENV_CHECK(env, old == round, "the settled flow's atomic gave %llu", (unsigned long long)old);
		put(env, flow[1], TW_NET_READ, AREA + LONG, in[1], LONG);
		tw_net_settle(env->net, flow[0], true);
		put(env, flow[0], TW_NET_READ, AREA, in[0], LONG);
		settle_at_last(env, flow[1]);
		tw_net_settle(env->net, flow[0], true);
		for (unsigned f = 0; f < 2; f++)
			ENV_CHECK(env, memcmp(in[f], out[f], LONG) == 0, "flow %u read other bytes than it wrote", f);
	}
	free(flow[0]);
	free(flow[1]);
}

/* All read much from the next node, again and again, and all sleep at once: a server that has begun to answer is woken
 * to go on. */
static void crossing(struct env *env)
{
	static unsigned char into[MUCH];
	unsigned next = (env->node + 1) % env->ranks;

	for (unsigned i = 0; i < 100; i++) {
		uint64_t begun = tw_time_ns();

		for (unsigned k = 0; k < 8; k++)
			tw_net_read(env->net, next, AREA, into, MUCH);
		tw_net_read_wait(env->net);
		ENV_CHECK(env, tw_time_ns() - begun < 10000000000u, "a long read took more than 10 s");
	}
	env_barrier(env);
}

const struct env_case flow_cases[] = {
    {.name = "flow-lengths", .run = lengths, .nodes = 2, .ports = 1},
    {.name = "flow-atomics", .run = atomics, .nodes = 2, .ports = 1},
    {.name = "flow-order", .run = order, .nodes = 2, .ports = 1},
    {.name = "flow-flows", .run = flows, .nodes = 2, .ports = 1},
    {.name = "flow-crossing-spin-0", .run = crossing, .nodes = 2, .ports = 1},
    {.name = NULL},
};
