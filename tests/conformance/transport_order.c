/* SPDX-License-Identifier: BSD-3-Clause */
/* transport_order.c - when writes are visible, and in what order; with controls that must fail: what is not promised
 * does happen under sim, so the cases can fail. */
#include "tests/conformance/transport.h"

#include <string.h>
#include <unistd.h>

#define AREA   ((size_t)256 << 10)
#define FLAG   AREA              /* words, a line apart */
#define DATA   (AREA + 8192)     /* a page */
#define OTHER  (AREA + 2 * 8192) /* scattered words */
#define WORDS  512u              /* of a page */
#define SPOTS  100u
#define SECOND 1000000000u

/* A round's writes to @node: a page and scattered words, all of value @i. */
static void write_round(struct env *env, unsigned node, uint64_t i)
{
	static uint64_t page[WORDS];

	for (unsigned k = 0; k < WORDS; k++)
		page[k] = i;
	for (unsigned k = 0; k < SPOTS; k++)
		tw_net_write64(env->net, node, OTHER + 72 * k, i);
	tw_net_write(env->net, node, DATA, page, sizeof(page));
}

/* Every word of the local copy is at least @i (exactly, when the writer waits). */
static void check_round(struct env *env, uint64_t i, const char *what)
{
	for (unsigned k = 0; k < SPOTS; k++)
		ENV_CHECK(env, env_load(env, OTHER + 72 * k) >= i, "%s: word %u is older than round %lu", what, k, i);
	for (unsigned k = 0; k < WORDS; k++)
		ENV_CHECK(env, env_load(env, DATA + 8 * k) >= i, "%s: word %u of the page is older than round %lu",
		          what, k, i);
}

/* After flush, every process of the target sees all. */
static void flush_visible(struct env *env)
{
	for (unsigned i = 1; env_more(env, i - 1, 500); i++) {
		if (env->rank == 0) {
			write_round(env, 1, i);
			tw_net_flush(env->net, i % 2 ? 1 : TW_NET_ALL);
		}
		env_barrier(env);
		if (env->node == 1)
			check_round(env, i, "flush");
		env_barrier(env);
	}
}

/* With asynchronous progress, writes and bells arrive though no call follows; operations work beside its thread. */
static void async_visible(struct env *env)
{
	ENV_CHECK(env, tw_net_async(env->net) == 0, "no thread");
	for (unsigned i = 1; env->net->async && env_more(env, i - 1, 300); i++) {
		uint64_t until = tw_time_ns() + 20 * (uint64_t)SECOND;

		if (env->rank == 0) {
			tw_net_write64(env->net, 1, FLAG, i);
			if (i % 3 == 0)
				ENV_CHECK(env, tw_net_fadd(env->net, 1, FLAG + 64, 1) == i / 3 - 1, "an atomic");
		}
		while (env->node == 1 && env_load(env, FLAG) < i)
			ENV_CHECK(env, tw_time_ns() < until, "write %u does not arrive without a call", i);
		env_barrier(env);
	}
}

/* Message passing: data, fence, flag; no flush.  The readers of the target sample while the writer runs. */
static void fence_passing(struct env *env)
{
	const uint64_t rounds = env_rounds(env, 3000);

	if (env->node == 0 && env->port == 0) {
		for (uint64_t i = 1; i <= rounds; i++) {
			write_round(env, 1, i);
			tw_net_fence(env->net, i % 2 ? 1 : TW_NET_ALL);
			tw_net_write64(env->net, 1, FLAG, i);
			env->net->ops->progress(env->net);
		}
		tw_net_flush(env->net, 1);
	} else if (env->node == 1) {
		for (uint64_t i = 0; i < rounds;) {
			i = env_load(env, FLAG);
			check_round(env, i, "fence");
		}
	}
}

/* An atomic is performed after the writes before it: data, then fetch-and-add of the flag. */
static void atomic_passing(struct env *env)
{
	const uint64_t rounds = env_rounds(env, 3000);

	if (env->node == 0 && env->port == 0) {
		for (uint64_t i = 1; i <= rounds; i++) {
			write_round(env, 1, i);
			if (i % 3 == 0)
				tw_net_fadd(env->net, 1, FLAG, 1);
			else if (i % 3 == 1)
				tw_net_cas(env->net, 1, FLAG, i - 1, i);
			else
				tw_net_swap(env->net, 1, FLAG, i);
		}
	} else if (env->node == 1) {
		for (uint64_t i = 0; i < rounds;) {
			i = env_load(env, FLAG);
			check_round(env, i, "atomic");
		}
	}
}

/* An aligned 8-byte write is whole to local loads, to remote reads, and inside a longer copy. */
static void untorn(struct env *env)
{
	static char bytes[16];
	uint64_t until = tw_time_ns() + 2 * SECOND;

	if (env->rank == 0) {
		for (unsigned i = 0; i < 200000 && tw_time_ns() < until; i++) {
			char *src = bytes + i % 8;

			memset(src, i & 1 ? 0xff : 0, 8);
			tw_net_write(env->net, 1, FLAG, src, 8);
			tw_net_write64(env->net, 1, FLAG + 8, i & 1 ? ~0ull : 0);
			env->net->ops->progress(env->net);
		}
		atomic_store(&env->shared->word[0], 1);
		return;
	}
	while (!atomic_load(&env->shared->word[0])) {
		for (unsigned k = 0; k < 2; k++) {
			uint64_t v =
			    env->node == 1 ? env_load(env, FLAG + 8 * k) : tw_net_read64(env->net, 1, FLAG + 8 * k);

			ENV_CHECK(env, v == 0 || v == ~0ull, "a torn word: %lx", v);
		}
	}
}

/* A read, and every atomic, sees this endpoint's own writes without a flush. */
static void own_writes(struct env *env)
{
	struct tw_net *net = env->net;
	const size_t at = FLAG + 64 * env->rank;

	for (uint64_t i = 1; i <= env_rounds(env, 2000); i++) {
		unsigned node = 1 - env->node;

		tw_net_write64(net, node, at, 10 * i);
		ENV_CHECK(env, tw_net_read64(net, node, at) == 10 * i, "read in round %lu", i);
		tw_net_write64(net, node, at, 10 * i + 1);
		ENV_CHECK(env, tw_net_fadd(net, node, at, 1) == 10 * i + 1, "fetch-and-add in round %lu", i);
		tw_net_write64(net, node, at, 10 * i + 3);
		ENV_CHECK(env, tw_net_cas(net, node, at, 10 * i + 3, 10 * i + 4) == 10 * i + 3, "cas in round %lu", i);
		tw_net_write64(net, node, at, 10 * i + 5);
		ENV_CHECK(env, tw_net_swap(net, node, at, 10 * i + 6) == 10 * i + 5, "swap in round %lu", i);
		ENV_CHECK(env, tw_net_read64(net, node, at) == 10 * i + 6, "after swap in round %lu", i);
	}
}

/* ---- store buffering: each rank publishes its word, then observes the others' ---- */

enum sb { SB_FLUSH, SB_FLUSH_ONE, SB_READ, SB_ATOMIC, SB_OWN, SB_NO_FLUSH };

static uint64_t sb_round(struct env *env, enum sb how, uint64_t i, unsigned other)
{
	struct tw_net *net = env->net;
	const size_t mine = FLAG + 64 * env->rank, theirs = FLAG + 64 * other;

	switch (how) {
	case SB_FLUSH: /* the paper's directory words: write everywhere, flush, read the local copy */
		tw_net_broadcast64(net, mine, i);
		tw_net_flush(net, TW_NET_ALL);
		return env_load(env, theirs);
	case SB_FLUSH_ONE:
		tw_net_write64(net, 1 - env->node, mine, i);
		tw_net_flush(net, 1 - env->node);
		return env_load(env, theirs);
	case SB_READ: /* both words on a third node */
		tw_net_write64(net, 2, mine, i);
		return tw_net_read64(net, 2, theirs);
	case SB_ATOMIC:
		tw_net_write64(net, 2, mine, i);
		return i % 2 ? tw_net_fadd(net, 2, theirs, 0) : tw_net_cas(net, 2, theirs, 0, 0);
	case SB_OWN: /* two processors of one node: flush is a full barrier */
		tw_net_write64(net, env->node, mine, i);
		tw_net_flush(net, env->node);
		return env_load(env, theirs);
	case SB_NO_FLUSH:
		tw_net_write64(net, 1 - env->node, mine, i);
		return env_load(env, theirs);
	}
	return 0;
}

/* Ranks 0 and 1 race; how often neither saw the other.  Values keep rising from race to race. */
static uint64_t sb_race(struct env *env, enum sb how)
{
	static uint64_t value;
	struct env racer = *env;
	uint64_t both = 0;

	if (env->rank > 1)
		return 0;
	racer.ranks = 2; /* two that spin are nearer in time than three that yield */
	racer.gate = 1;
	for (unsigned round = 0; env_more(&racer, round, 50000); round++) {
		uint64_t saw = sb_round(env, how, ++value, 1 - env->rank);

		atomic_store(&env->shared->saw[env->rank][0], saw);
		env_barrier(&racer);
		both += atomic_load(&env->shared->saw[0][0]) < value && atomic_load(&env->shared->saw[1][0]) < value;
	}
	return both;
}

static void sb_never(struct env *env, enum sb how)
{
	uint64_t both = sb_race(env, how);

	ENV_CHECK(env, both == 0, "neither saw the other, %lu times", both);
}

static void sb_flush(struct env *env)
{
	sb_never(env, SB_FLUSH);
}

static void sb_flush_one(struct env *env)
{
	sb_never(env, SB_FLUSH_ONE);
}

static void sb_read(struct env *env)
{
	sb_never(env, SB_READ);
}

static void sb_atomic(struct env *env)
{
	sb_never(env, SB_ATOMIC);
}

static void sb_own(struct env *env)
{
	sb_never(env, SB_OWN);
}

/* Three nodes at once: of each pair at least one sees the other. */
static void sb_three(struct env *env)
{
	for (unsigned i = 1; env_more(env, i - 1, 20000); i++) {
		tw_net_broadcast64(env->net, FLAG + 64 * env->rank, i);
		tw_net_flush(env->net, TW_NET_ALL);
		for (unsigned k = 0; k < 3; k++)
			atomic_store(&env->shared->saw[env->rank][k], env_load(env, FLAG + 64 * k));
		env_barrier(env);
		for (unsigned k = 0; k < 3; k++)
			ENV_CHECK(env,
			          atomic_load(&env->shared->saw[env->rank][k]) >= i ||
			              atomic_load(&env->shared->saw[k][env->rank]) >= i,
			          "neither of %u and %u saw the other", env->rank, k);
	}
}

/* ---- what is not promised ---- */

/* Two writes without a fence between them: how often a reader sees the second without the first. */
static uint64_t unfenced(struct env *env)
{
	uint64_t seen = 0, rounds = 100000, until = tw_time_ns() + 2 * SECOND;

	if (env->node == 0) {
		for (uint64_t i = 1; i <= rounds && tw_time_ns() < until && !atomic_load(&env->shared->word[0]); i++) {
			tw_net_write64(env->net, 1, FLAG, i);
			tw_net_write64(env->net, 1, FLAG + 64, i);
			env->net->ops->progress(env->net);
		}
		tw_net_flush(env->net, 1);
		atomic_store(&env->shared->word[0], 1);
		return 0;
	}
	while (!atomic_load(&env->shared->word[0])) {
		uint64_t second = env_load(env, FLAG + 64);

		seen += env_load(env, FLAG) < second;
	}
	return seen;
}

static void cap_ordered(struct env *env)
{
	if (!(env->net->ops->caps & TW_NET_ORDERED_WRITES))
		return;
	uint64_t seen = unfenced(env);
	ENV_CHECK(env, seen == 0, "reordered %lu times", seen);
}

/* The target increments its words from the last to the first; a read in rising order finds none below the one before
 * it. */
static void cap_ascending(struct env *env)
{
	const unsigned n = 16; /* 128 bytes */
	uint64_t until = tw_time_ns() + SECOND, word[16];

	if (!(env->net->ops->caps & TW_NET_ASCENDING_READS))
		return;
	if (env->rank == 1) {
		for (uint64_t i = 1; !atomic_load(&env->shared->word[0]); i++)
			for (unsigned k = n; k-- > 0;)
				atomic_store_explicit(env_word(env, DATA + 8 * k), i, memory_order_release);
		return;
	}
	for (unsigned i = 0; i < env_rounds(env, 200000) && tw_time_ns() < until; i++) {
		tw_net_read(env->net, 1, DATA, word, sizeof(word));
		tw_net_read_wait(env->net);
		for (unsigned k = 1; k < n; k++)
			ENV_CHECK(env, word[k] >= word[k - 1], "word %u was read before word %u", k, k - 1);
	}
	atomic_store(&env->shared->word[0], 1);
}

static void cap_total_order(struct env *env)
{
	ENV_CHECK(env, !(env->net->ops->caps & TW_NET_TOTAL_ORDER), "claimed, but there is no test for it here");
}

static void control_reorder(struct env *env)
{
	uint64_t seen = unfenced(env);

	ENV_CHECK(env, env->node == 0 || seen > 0, "unfenced writes were never seen out of order");
}

static void control_no_flush(struct env *env)
{
	uint64_t late = 0;

	for (unsigned i = 1; i <= 200; i++) {
		if (env->rank == 0)
			tw_net_write64(env->net, 1, FLAG, i);
		env_barrier(env);
		late += env->rank == 1 && env_load(env, FLAG) < i;
		env_barrier(env);
	}
	ENV_CHECK(env, env->rank == 0 || late > 0, "a write without a flush was always seen at once");
}

static void control_sb(struct env *env)
{
	uint64_t both = 0;

	/* shm shows the processors' store buffers, which tsan's bookkeeping between two accesses empties. */
	if (strcmp(env->net->ops->name, "shm") == 0 && (TW_TSAN || sysconf(_SC_NPROCESSORS_ONLN) < 2))
		return;
	for (unsigned i = 0; i < 20 && !both; i++)
		both = sb_race(env, SB_NO_FLUSH);
	ENV_CHECK(env, both > 0, "store buffering without a flush never showed");
}

static void control_read_wait(struct env *env)
{
	unsigned early = 0;

	*env_word(env, DATA) = 7;
	env_barrier(env);
	for (unsigned i = 0; i < 200 && env->rank == 0; i++) {
		volatile uint64_t value = 0;

		tw_net_read(env->net, 1, DATA, (void *)(uintptr_t)&value, 8);
		early += value == 0;
		tw_net_read_wait(env->net);
		ENV_CHECK(env, value == 7, "read_wait returned too early");
	}
	ENV_CHECK(env, env->rank != 0 || early > 0, "every read was complete before read_wait");
}

const struct env_case order_cases[] = {
    {.name = "flush-visible", .run = flush_visible, .nodes = 2, .ports = 2},
    {.name = "async-visible", .run = async_visible, .nodes = 2, .ports = 1},
    {.name = "fence-message-passing", .run = fence_passing, .nodes = 2, .ports = 2},
    {.name = "atomic-message-passing", .run = atomic_passing, .nodes = 2, .ports = 2},
    {.name = "write8-untorn", .run = untorn, .nodes = 3, .ports = 1},
    {.name = "own-writes-seen", .run = own_writes, .nodes = 2, .ports = 2},
    {.name = "store-buffering-broadcast", .run = sb_flush, .nodes = 2, .ports = 1},
    {.name = "store-buffering-flush", .run = sb_flush_one, .nodes = 2, .ports = 1},
    {.name = "store-buffering-read", .run = sb_read, .nodes = 3, .ports = 1},
    {.name = "store-buffering-atomic", .run = sb_atomic, .nodes = 3, .ports = 1},
    {.name = "store-buffering-one-node", .run = sb_own, .nodes = 1, .ports = 2},
    {.name = "store-buffering-three", .run = sb_three, .nodes = 3, .ports = 1},
    {.name = "cap-ordered-writes", .run = cap_ordered, .nodes = 2, .ports = 1},
    {.name = "cap-ascending-reads", .run = cap_ascending, .nodes = 2, .ports = 1},
    {.name = "cap-total-order", .run = cap_total_order, .nodes = 2, .ports = 1},
    {.name = "control-reorder", .run = control_reorder, .nodes = 2, .ports = 1, .only = "sim"},
    {.name = "control-no-flush", .run = control_no_flush, .nodes = 2, .ports = 1, .only = "sim"},
    {.name = "control-store-buffering", .run = control_sb, .nodes = 2, .ports = 1},
    {.name = "control-no-read-wait", .run = control_read_wait, .nodes = 2, .ports = 1, .only = "sim"},
    {.name = NULL},
};
