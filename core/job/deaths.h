/* SPDX-License-Identifier: BSD-3-Clause */
/* deaths.h - which processors and nodes are dead in a job that survives deaths (TWEED_SURVIVE): words in each node's
 * private memory.
 *
 * The node's agent writes them after all agents have made sure that the processor can reach no memory: its process is
 * reaped, and every server has shut out its endpoint (tools/wire/wire.h). Hence a reader that finds a processor dead
 * may use what that processor was using. When a node is lost, its processors are dead and its memory is gone. */
#ifndef TW_CORE_JOB_DEATHS_H
#define TW_CORE_JOB_DEATHS_H

#include "core/base/base.h"
#include "tweed/driver/config.h"

struct tw_deaths {
	_Atomic uint64_t count;
	_Atomic uint64_t dead[TW_MAX_NODES * TW_MAX_PROCESSORS / 64]; /* a bit for each processor of the job */
	_Atomic uint64_t lost[TW_MAX_NODES / 64];                     /* a bit for each node */
};

/* tw_deaths_add - the agent records that @processor is dead. tw_deaths_lose - the agent records that @node is lost,
 * before it adds the node's processors. */
static inline void tw_deaths_add(struct tw_deaths *d, unsigned processor)
{
	atomic_fetch_or(&d->dead[processor / 64], (uint64_t)1 << processor % 64);
	atomic_fetch_add(&d->count, 1);
}

static inline void tw_deaths_lose(struct tw_deaths *d, unsigned node)
{
	atomic_fetch_or(&d->lost[node / 64], (uint64_t)1 << node % 64);
}

/* tw_deaths_has - returns whether @processor is dead. @d NULL: the job does not survive deaths. */
static inline bool tw_deaths_has(const struct tw_deaths *d, unsigned processor)
{
	return d && atomic_load_explicit(&d->dead[processor / 64], memory_order_acquire) >> processor % 64 & 1;
}

/* tw_deaths_lost - returns whether @node is lost. @d as above. */
static inline bool tw_deaths_lost(const struct tw_deaths *d, unsigned node)
{
	return d && atomic_load_explicit(&d->lost[node / 64], memory_order_acquire) >> node % 64 & 1;
}

/* tw_deaths_count - returns the number of dead processors. @d as above. */
static inline uint64_t tw_deaths_count(const struct tw_deaths *d)
{
	return d ? atomic_load_explicit(&d->count, memory_order_acquire) : 0;
}

#endif
