/* SPDX-License-Identifier: BSD-3-Clause */
/* transport.h - the harness of the transport conformance tests: a case is a function that every endpoint of a small job
 * runs in a process of its own. */
#ifndef TW_TESTS_TRANSPORT_H
#define TW_TESTS_TRANSPORT_H

#include "core/base/base.h"
#include "tweed/driver/transport.h"

#define ENV_RANKS 8

/* Memory that all processes of a case share beside the transport: the oracle's. */
struct env_shared {
	_Atomic uint32_t failed; /* the first to set it owns why */
	char why[256];
	_Atomic uint32_t arrived[2], generation[2];
	_Atomic uint64_t stop;
	_Atomic uint64_t word[16];
	_Atomic uint64_t saw[ENV_RANKS][ENV_RANKS];
	_Atomic uint32_t serving; /* servers whose address is known */
	struct tw_net_address address[ENV_RANKS];
	struct tw_net_counts counts[ENV_RANKS]; /* of the servers, when they have ended */
};

struct env {
	struct tw_net *net;
	struct env_shared *shared;
	unsigned node, port, rank, ranks; /* rank: node * ports + port */
	unsigned gate; /* which of two barriers env_barrier means; a copy with fewer ranks takes the other */
};

struct env_case {
	const char *name;
	void (*run)(struct env *env);
	unsigned nodes, ports;
	const char *only;    /* transport that the case is about, or NULL */
	const char *profile; /* instead of none */
	unsigned spin_ns;
	bool huge;
	unsigned refused; /* connections that servers must have refused */
};

/* The cases of each file, ended by a NULL name. */
extern const struct env_case memory_cases[], order_cases[], signal_cases[], flow_cases[], put_signal_cases[];

/* env_fail - the case fails with these words; ends this process. */
void env_fail(struct env *env, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
#define ENV_CHECK(env, c, ...) ((c) ? (void)0 : env_fail(env, __VA_ARGS__))

/* env_barrier - the first @ranks processes of the case (of a copy: its ranks), without the transport. */
void env_barrier(struct env *env);
/* env_more - collective: whether to do another round; false after @rounds, or when a second has passed since round
 * 0. */
bool env_more(struct env *env, unsigned round, unsigned rounds);

/* env_rounds - @rounds, or a twentieth of it where every operation crosses a network. */
static inline unsigned env_rounds(const struct env *env, unsigned rounds)
{
	return env->net->ops->serve ? rounds / 20 : rounds;
}

static inline _Atomic uint64_t *env_word(struct env *env, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(env->net->base + offset);
}
static inline uint64_t env_load(struct env *env, size_t offset)
{
	return atomic_load_explicit(env_word(env, offset), memory_order_acquire);
}

#endif
