/* SPDX-License-Identifier: BSD-3-Clause */
/* transport_memory.c - where bytes go, what is counted, atomics, opening and closing. */
#include "net/transports.h"
#include "tests/conformance/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AREA ((size_t)256 << 10) /* the area of a case at offset AREA of a node's memory */

/* Writes of every length and alignment change their bytes alone, and nothing on another node. */
static void placement(struct env *env)
{
	static const size_t lens[] = {0,  1,  2,   3,   4,   5,   6,   7,   8,    9,    15,   16,   17,   31,    63,
	                              64, 65, 127, 128, 129, 255, 256, 257, 1000, 4095, 4096, 4097, 8192, 16384, 65536};
	static unsigned char src[65536 + 64], back[65536 + 256];
	const size_t guard = 64;

	if (env->rank != 0)
		return;
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (unsigned char)(i * 7 + 1) | 1;
	for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
		for (size_t shift = 0; shift < 16; shift++) {
			size_t len = lens[k], all = len + 2 * guard + 16;
			const unsigned char *from = src + (shift * 5) % 16;

			memset(back, 0, all);
			tw_net_write(env->net, 1, AREA, back, all);
			tw_net_fence(env->net, 1);
			tw_net_write(env->net, 1, AREA + guard + shift, from, len);
			memset(back, 0xee, all);
			tw_net_read(env->net, 1, AREA, back, all);
			tw_net_read_wait(env->net);
			for (size_t i = 0; i < all; i++) {
				bool inside = i >= guard + shift && i < guard + shift + len;

				ENV_CHECK(env, back[i] == (inside ? from[i - guard - shift] : 0),
				          "byte %zu is wrong after a write of %zu at %zu", i, len, guard + shift);
			}
		}
	}
	for (size_t i = 0; i < 2 * AREA; i++)
		ENV_CHECK(env, env->net->base[i] == 0, "the own node's memory changed at %zu", i);
}

/* A store to the address of another node's memory, if it has one, is as a write: flushed, and read back. */
static void direct(struct env *env)
{
	if (env->rank != 0)
		return;
	for (size_t i = 0; i < 1000; i++) {
		char *to = tw_net_direct(env->net, 1, AREA + i);
		uint64_t sent = env->net->traffic->bytes_out;
		char back = 0;

		if (!to)
			return;
		*to = (char)(i * 3 + 1);
		tw_net_stored(env->net, 1);
		ENV_CHECK(env, env->net->traffic->bytes_out == sent + 1, "%lu bytes counted",
		          env->net->traffic->bytes_out - sent);
		if (i % 2)
			tw_net_flush(env->net, 1);
		tw_net_read(env->net, 1, AREA + i, &back, 1);
		tw_net_read_wait(env->net);
		ENV_CHECK(env, back == (char)(i * 3 + 1), "byte %zu is wrong", i);
	}
	ENV_CHECK(env, !tw_net_direct(env->net, env->node, AREA), "the own node's memory is no other's");
}

/* A read returns any length from any alignment, and no more. */
static void read_lengths(struct env *env)
{
	static unsigned char back[8192 + 64];

	if (env->rank == 1)
		for (size_t i = 0; i < AREA; i++)
			env->net->base[AREA + i] = (char)(i * 13 + (i >> 8));
	env_barrier(env);
	if (env->rank != 0)
		return;
	for (size_t len = 0; len <= 8192; len += len < 300 ? 1 : 997) {
		size_t from = AREA + (len * 3) % 64, at = len % 9;

		memset(back, 0xee, sizeof(back));
		tw_net_read(env->net, 1, from, back + at, len);
		tw_net_read_wait(env->net);
		for (size_t i = 0; i < len; i++)
			ENV_CHECK(env,
			          back[at + i] == (unsigned char)((from - AREA + i) * 13 + ((from - AREA + i) >> 8)),
			          "byte %zu of %zu read", i, len);
		ENV_CHECK(env, back[at + len] == 0xee, "a read of %zu wrote more", len);
	}
}

/* More reads in flight than any queue holds. */
static void many_reads(struct env *env)
{
	static uint64_t back[1000];

	for (size_t i = 0; i < 1000; i++)
		tw_net_write64(env->net, env->node, AREA + 8 * i, i * 3 + env->node);
	env_barrier(env);
	for (unsigned round = 0; round < env_rounds(env, 100); round++) {
		memset(back, 0xee, sizeof(back));
		for (size_t i = 0; i < 1000; i++)
			tw_net_read(env->net, (unsigned)(i % 3), AREA + 8 * i, &back[i], 8);
		tw_net_read_wait(env->net);
		for (size_t i = 0; i < 1000; i++)
			ENV_CHECK(env, back[i] == i * 3 + i % 3, "read %zu", i);
	}
}

/* Own node: plain memory, at base. */
static void own_node(struct env *env)
{
	struct tw_net *net = env->net;
	uint64_t value = 7, back = 0;

	tw_net_write64(net, env->node, AREA, 5);
	ENV_CHECK(env, env_load(env, AREA) == 5, "write64 to the own node");
	tw_net_write(net, env->node, AREA + 3, &value, 1);
	ENV_CHECK(env, net->base[AREA + 3] == 7, "a byte to the own node");
	*env_word(env, AREA) = 6;
	tw_net_read(net, env->node, AREA, &back, 8);
	tw_net_read_wait(net);
	ENV_CHECK(env, back == 6 && tw_net_read64(net, env->node, AREA) == 6, "read of the own node");
	ENV_CHECK(env,
	          tw_net_cas(net, env->node, AREA, 1, 2) == 6 && tw_net_cas(net, env->node, AREA, 6, 8) == 6 &&
	              tw_net_fadd(net, env->node, AREA, 2) == 8 && tw_net_swap(net, env->node, AREA, 1) == 10 &&
	              env_load(env, AREA) == 1,
	          "atomics on the own node");
	net->ops->write(net, env->node, AREA, &value, 8);
	net->ops->flush(net, env->node);
	ENV_CHECK(env, env_load(env, AREA) == 7, "the transport's own write to the own node");
}

static void broadcast(struct env *env)
{
	for (uint64_t i = 1; i <= env_rounds(env, 200); i++) {
		tw_net_broadcast64(env->net, AREA + 64 * env->rank, i);
		tw_net_flush(env->net, TW_NET_ALL);
		env_barrier(env);
		for (unsigned rank = 0; rank < env->ranks; rank++)
			ENV_CHECK(env, env_load(env, AREA + 64 * rank) == i, "the word of rank %u in round %lu", rank,
			          i);
		env_barrier(env);
	}
}

static void counters(struct env *env)
{
	struct tw_net *net = env->net;
	struct tw_msg msg = {.type = 1, .len = 10};
	char bytes[100] = {0};

	if (env->rank != 0)
		return;
	tw_net_write(net, 0, AREA, bytes, 100);
	tw_net_write64(net, 0, AREA, 1);
	tw_net_read(net, 0, AREA, bytes, 100);
	tw_net_fadd(net, 0, AREA, 1);
	ENV_CHECK(env, net->traffic->bytes_out == 0 && net->traffic->bytes_in == 0,
	          "the own node's memory is no traffic");
	tw_net_write(net, 1, AREA, bytes, 100);
	tw_net_write64(net, 1, AREA, 1);
	ENV_CHECK(env, net->traffic->bytes_out == 108 && net->traffic->bytes_in == 0, "bytes written: %lu",
	          net->traffic->bytes_out);
	tw_net_read(net, 1, AREA, bytes, 50);
	tw_net_read_wait(net);
	tw_net_read64(net, 1, AREA);
	ENV_CHECK(env, net->traffic->bytes_out == 108 && net->traffic->bytes_in == 58, "bytes read: %lu",
	          net->traffic->bytes_in);
	tw_net_send(net, 1, 0, &msg);
	tw_net_send(net, 0, 0, &msg);
	ENV_CHECK(env, net->traffic->messages == 2, "messages: %lu", net->traffic->messages);
}

/* All kinds of atomics by all endpoints at once: nothing is lost, nothing happens twice. */
static void atomics(struct env *env)
{
	const unsigned rounds = env_rounds(env, 3000);
	const size_t sum = AREA, count = AREA + 64, chain = AREA + 128;
	uint64_t taken = 0, put = 0;

	for (unsigned i = 1; i <= rounds; i++) {
		for (unsigned node = 0; node < 3; node++) {
			tw_net_fadd(env->net, node, sum, i);
			uint64_t old = tw_net_read64(env->net, node, count), was;
			while ((was = tw_net_cas(env->net, node, count, old, old + 1)) != old)
				old = was;
			uint64_t token = (uint64_t)i * env->ranks + env->rank;
			taken += tw_net_swap(env->net, node, chain, token);
			put += token;
		}
	}
	atomic_fetch_add(&env->shared->word[0], put - taken);
	env_barrier(env);
	ENV_CHECK(env, env_load(env, sum) == (uint64_t)env->ranks * rounds * (rounds + 1) / 2, "a lost addition");
	ENV_CHECK(env, env_load(env, count) == (uint64_t)env->ranks * rounds, "a lost compare-and-swap");
	if (env->port == 0)
		atomic_fetch_sub(&env->shared->word[0], env_load(env, chain));
	env_barrier(env);
	ENV_CHECK(env, atomic_load(&env->shared->word[0]) == 0, "swap lost a value, or gave one out twice");
}

/* Both halves of a word by all endpoints at once: neither disturbs the other; atomics without a result are performed
 * at flush, and in order with those that have one. */
static void halves(struct env *env)
{
	const unsigned rounds = env_rounds(env, 1000);
	const size_t low = AREA, high = AREA + 4, own = AREA + 64 + 64 * env->rank;

	for (unsigned i = 1; i <= rounds; i++)
		for (unsigned node = 0; node < 3; node++) {
			tw_net_amo_post(env->net, node, low, TW_AMO_ADD, 4, UINT32_MAX, 0);
			tw_net_amo(env->net, node, high, TW_AMO_ADD, 4, i, 0);
			tw_net_amo_post(env->net, node, own, TW_AMO_OR, 4, 6, 0);
			uint64_t old = tw_net_amo(env->net, node, own, TW_AMO_AND, 4, 3, 0);
			ENV_CHECK(env, old == 6, "and after or: %lu", old);
			old = tw_net_amo(env->net, node, own, TW_AMO_CAS, 4, 9, 2);
			ENV_CHECK(env, old == 2, "compare-and-swap after and: %lu", old);
			old = tw_net_amo(env->net, node, own, TW_AMO_XOR, 4, 9, 0);
			ENV_CHECK(env, old == 9, "exclusive or after compare-and-swap: %lu", old);
		}
	tw_net_flush(env->net, TW_NET_ALL);
	env_barrier(env);
	uint32_t all = env->ranks * rounds;
	ENV_CHECK(env, (uint32_t)env_load(env, low) == 0u - all, "a lost addition to the low half");
	ENV_CHECK(env, env_load(env, low) >> 32 == (uint64_t)all * (rounds + 1) / 2,
	          "a lost addition to the high half");
}

/* TW_NET_COHERENT_ATOMICS: CPU atomics at the target on the same words. */
static void atomics_mixed(struct env *env)
{
	const unsigned rounds = 50000;

	if (!(env->net->ops->caps & TW_NET_COHERENT_ATOMICS))
		return;
	for (unsigned i = 0; i < rounds; i++) {
		if (env->node == 1)
			atomic_fetch_add(env_word(env, AREA), 1);
		else
			tw_net_fadd(env->net, 1, AREA, 1);
	}
	env_barrier(env);
	ENV_CHECK(env, tw_net_read64(env->net, 1, AREA) == (uint64_t)rounds * env->ranks, "a lost addition");
}

/* Compare-and-swap of 16 bytes, beside additions to their halves. */
static void atomics_wide(struct env *env)
{
	const unsigned rounds = 2000;
	uint64_t seen[2] = {0, 0}, next[2];

	for (unsigned i = 0; i < rounds; i++) {
		uint64_t was[2];

		do {
			memcpy(was, seen, sizeof(was));
			next[0] = seen[0] + 1;
			next[1] = seen[1] + 1;
			if (!tw_net_cas_wide(env->net, 1, AREA, seen, next))
				return;
		} while (was[0] != seen[0] || was[1] != seen[1]);
		tw_net_fadd(env->net, 1, AREA + 8 * (i % 2), 1);
	}
	env_barrier(env);
	uint64_t both = (uint64_t)rounds * env->ranks;
	for (unsigned half = 0; half < 2; half++)
		ENV_CHECK(env, tw_net_read64(env->net, 1, AREA + 8 * half) == both + both / 2, "half %u", half);
}

/* TW_NET_REMOTE_READ: no process of the target runs transport code meanwhile (each waits in a barrier). */
static void remote_read(struct env *env)
{
	static char page[65536];

	if (!(env->net->ops->caps & TW_NET_REMOTE_READ))
		return;
	if (env->node == 1)
		memset(env->net->base + AREA, 0x5a, sizeof(page));
	env_barrier(env);
	if (env->node == 0) {
		tw_net_read(env->net, 1, AREA, page, sizeof(page));
		tw_net_read_wait(env->net);
		for (size_t i = 0; i < sizeof(page); i++)
			ENV_CHECK(env, page[i] == 0x5a, "byte %zu", i);
	}
}

/* Each defect of a configuration is refused with -EINVAL, and *net stays as it was. */
static void refusals(struct env *env)
{
	const struct tw_transport *ops = env->net->ops;
	const struct tw_net_config good = env->net->config;
	struct tw_net *net = env->net;
	int small = memfd_create("transport-small", MFD_CLOEXEC), silent = open("/dev/null", O_WRONLY);
	int fds[2] = {small, small};
	struct tw_net_config bad[5] = {good, good, good, good, good};
	struct tw_net_config nowhere = good;

	bad[0].node = good.nodes;
	bad[1].port = good.ports;
	bad[2].control_offset = good.bytes - 64;
	bad[3].fd = NULL;
	bad[4].fd = fds;
	dup2(silent, STDERR_FILENO); /* the reasons are not checked here */
	for (unsigned i = 0; i < 5; i++)
		ENV_CHECK(env, tw_net_open(ops, &bad[i], &net) == -EINVAL && net == env->net, "defect %u passes", i);
	nowhere.address = NULL;
	ENV_CHECK(env, !ops->serve || (tw_net_open(ops, &nowhere, &net) == -EINVAL && net == env->net), "no addresses");
	static const char *const events[] = {"sim:lose=2@1", "sim:lose=1@1+1", "sim:stall=1@1"};
	for (unsigned i = 0; ops == &tw_transport_sim && i < 3; i++)
		ENV_CHECK(env,
		          tw_transport_find(events[i]) && tw_net_open(ops, &good, &net) == -EINVAL && net == env->net,
		          "%s passes", events[i]);
	close(small);
	close(silent);
}

/* Endpoints that do not hold the secret, or are connected already, are refused; the others are not disturbed. */
static void strangers(struct env *env)
{
	struct tw_net_config config = env->net->config;
	int silent = open("/dev/null", O_WRONLY), said = dup(STDERR_FILENO);
	struct tw_net *net = NULL;

	dup2(silent, STDERR_FILENO);
	int again = tw_net_open(env->net->ops, &config, &net);
	config.secret[TW_NET_SECRET_BYTES - 1] ^= 1;
	int other = tw_net_open(env->net->ops, &config, &net);
	dup2(said, STDERR_FILENO);
	ENV_CHECK(env, again < 0 && other < 0 && !net, "opened without the secret (%d), or twice (%d)", other, again);
	tw_net_fadd(env->net, 0, AREA, 1);
	env_barrier(env);
	ENV_CHECK(env, tw_net_read64(env->net, 0, AREA) == env->ranks, "a lost addition");
	close(silent);
	close(said);
}

/* What was written is not lost when its endpoint closes, and a node can open the endpoint again. */
static void reopen(struct env *env)
{
	const struct tw_net_config config = env->net->config;
	const struct tw_transport *ops = env->net->ops;
	struct tw_msg msg = {.type = 9, .token = 0};

	for (uint64_t i = 1; i <= 30; i++) {
		for (unsigned k = 0; k < 40; k++)
			tw_net_write64(env->net, 1 - env->node, AREA + 8 * k, i);
		msg.token = i;
		tw_net_send(env->net, 1 - env->node, 0, &msg);
		for (unsigned k = 40; k < 80; k++)
			tw_net_write64(env->net, 1 - env->node, AREA + 8 * k, i);
		tw_net_close(env->net);
		env_barrier(env);
		ENV_CHECK(env, tw_net_open(ops, &config, &env->net) == 0, "cannot open again");
		for (unsigned k = 0; k < 80; k++)
			ENV_CHECK(env, env_load(env, AREA + 8 * k) == i, "a write before close was lost");
		ENV_CHECK(env, tw_net_recv(env->net, &msg) && msg.token == i, "a message before close was lost");
		env_barrier(env);
	}
}

/* A profile costs at least its latency and bandwidth. */
static void profile_costs(struct env *env, uint64_t one_way_ns, uint64_t bytes_per_us)
{
	static char page[65536];
	uint64_t begun = tw_time_ns(), wire = sizeof(page) * 1000 / bytes_per_us;
	struct tw_msg msg = {.type = 1};

	if (env->rank != 0)
		return;
	tw_net_read64(env->net, 1, AREA);
	tw_net_fadd(env->net, 1, AREA, 1);
	tw_net_write64(env->net, 1, AREA, 1);
	tw_net_flush(env->net, 1);
	tw_net_send(env->net, 1, 0, &msg);
	ENV_CHECK(env, tw_time_ns() - begun >= 7 * one_way_ns, "latency: %lu ns", tw_time_ns() - begun);
	begun = tw_time_ns();
	tw_net_read(env->net, 1, AREA, page, sizeof(page));
	tw_net_read_wait(env->net);
	ENV_CHECK(env, tw_time_ns() - begun >= wire + 2 * one_way_ns, "read: %lu ns", tw_time_ns() - begun);
	begun = tw_time_ns();
	tw_net_write(env->net, 1, AREA, page, sizeof(page));
	tw_net_flush(env->net, TW_NET_ALL);
	ENV_CHECK(env, tw_time_ns() - begun >= wire + 2 * one_way_ns, "write: %lu ns", tw_time_ns() - begun);
}

static void profile_memory_channel(struct env *env)
{
	profile_costs(env, 5200, 29);
}

static void profile_10gbe(struct env *env)
{
	profile_costs(env, 12000, 1150);
}

static void profile_hdr(struct env *env)
{
	profile_costs(env, 800, 24000);
}

static void profile_memory_channel_2(struct env *env)
{
	profile_costs(env, 2200, 66);
}

static void profile_1gbe(struct env *env)
{
	profile_costs(env, 25000, 117);
}

/* All but node 0's endpoints write to it at once: a host's endpoints share its link, and all share the network. */
static void profile_shared(struct env *env)
{
	static char page[65536];
	uint64_t mb = env->ranks / env->net->config.nodes == 2 ? 29 : 60;
	uint64_t writers = env->ranks - env->ranks / env->net->config.nodes;

	uint64_t begun = tw_time_ns();
	env_barrier(env);
	if (env->node != 0) {
		tw_net_write(env->net, 0, AREA + env->rank * sizeof(page), page, sizeof(page));
		tw_net_flush(env->net, 0);
	}
	env_barrier(env);
	uint64_t took = tw_time_ns() - begun, wire = writers * sizeof(page) * 1000 / mb;
	ENV_CHECK(env, took >= wire, "%lu writers took %lu ns, less than %lu", writers, took, wire);
}

/* While a node stands still nothing reaches it; afterwards everything does. */
static void sim_stall(struct env *env)
{
	struct tw_net_config config = env->net->config;

	tw_net_close(env->net);
	env_barrier(env);
	uint64_t begun = tw_time_ns();
	tw_transport_find("sim:stall=1@0.0+0.3");
	ENV_CHECK(env, tw_net_open(&tw_transport_sim, &config, &env->net) == 0, "it does not open");
	if (env->node == 0) {
		tw_net_write64(env->net, 1, AREA, 7);
		tw_net_flush(env->net, 1);
		ENV_CHECK(env, tw_time_ns() - begun >= 300000000, "a flush did not wait");
	}
	env_barrier(env);
	ENV_CHECK(env, env->node == 0 || env_load(env, AREA) == 7, "the write was lost");
}

/* A lost node: writes vanish, and a process that waits for it ends with a sentence. */
static void sim_lose(struct env *env)
{
	struct tw_net_config config = env->net->config;
	int status, silent = open("/dev/null", O_WRONLY);

	tw_transport_find("sim:lose=1@0");
	struct tw_net *net;
	ENV_CHECK(env, tw_net_open(&tw_transport_sim, &config, &net) == 0, "it does not open");
	if (env->node == 0) {
		tw_net_write64(net, 1, AREA, 7);
		pid_t child = fork();
		if (child == 0) {
			dup2(silent, STDERR_FILENO);
			tw_net_flush(net, 1);
			_exit(77);
		}
		waitpid(child, &status, 0);
		ENV_CHECK(env, WIFEXITED(status) && WEXITSTATUS(status) != 77, "a flush returned");
	}
	env_barrier(env);
	ENV_CHECK(env, env->node == 0 || env_load(env, AREA) == 0, "the write arrived");
	close(silent);
}

const struct env_case memory_cases[] = {
    {.name = "placement", .run = placement, .nodes = 2, .ports = 1},
    {.name = "placement-huge", .run = placement, .nodes = 2, .ports = 1, .huge = true},
    {.name = "direct", .run = direct, .nodes = 2, .ports = 1},
    {.name = "read-lengths", .run = read_lengths, .nodes = 2, .ports = 1},
    {.name = "many-reads", .run = many_reads, .nodes = 3, .ports = 1},
    {.name = "own-node", .run = own_node, .nodes = 2, .ports = 1},
    {.name = "broadcast", .run = broadcast, .nodes = 3, .ports = 1},
    {.name = "counters", .run = counters, .nodes = 2, .ports = 1},
    {.name = "atomics", .run = atomics, .nodes = 3, .ports = 2},
    {.name = "atomics-halves", .run = halves, .nodes = 3, .ports = 2},
    {.name = "cap-coherent-atomics", .run = atomics_mixed, .nodes = 2, .ports = 2},
    {.name = "atomics-wide", .run = atomics_wide, .nodes = 3, .ports = 2},
    {.name = "cap-remote-read", .run = remote_read, .nodes = 2, .ports = 2},
    {.name = "refusals", .run = refusals, .nodes = 2, .ports = 1},
    {.name = "strangers", .run = strangers, .nodes = 2, .ports = 1, .only = "verbs", .refused = 4},
    {.name = "reopen", .run = reopen, .nodes = 2, .ports = 1},
    {.name = "profile-memory-channel",
     .run = profile_memory_channel,
     .nodes = 2,
     .ports = 1,
     .only = "sim",
     .profile = "memory-channel"},
    {.name = "profile-10gbe", .run = profile_10gbe, .nodes = 2, .ports = 1, .only = "sim", .profile = "10gbe"},
    {.name = "profile-hdr", .run = profile_hdr, .nodes = 2, .ports = 1, .only = "sim", .profile = "hdr"},
    {.name = "profile-memory-channel-2",
     .run = profile_memory_channel_2,
     .nodes = 2,
     .ports = 1,
     .only = "sim",
     .profile = "memory-channel-2"},
    {.name = "profile-1gbe", .run = profile_1gbe, .nodes = 2, .ports = 1, .only = "sim", .profile = "1gbe"},
    {.name = "profile-link", .run = profile_shared, .nodes = 2, .ports = 2, .only = "sim", .profile = "memory-channel"},
    {.name = "profile-network",
     .run = profile_shared,
     .nodes = 4,
     .ports = 1,
     .only = "sim",
     .profile = "memory-channel"},
    {.name = "sim-stall", .run = sim_stall, .nodes = 2, .ports = 1, .only = "sim"},
    {.name = "sim-lose", .run = sim_lose, .nodes = 2, .ports = 1, .only = "sim"},
    {.name = NULL},
};
