/* SPDX-License-Identifier: BSD-3-Clause */
/* deaths.h - which processors and nodes of a job that survives them (TWEED_SURVIVE) are dead: words in each node's private memory.
 *
 * The node's agent writes them, when all agents have seen to it that the processor reaches no memory any more: its process is
 * reaped, its endpoint shut out by every server (tools/wire/wire.h).  So whoever reads here that a processor is dead may use what that
 * was using.  A lost node's processors are dead, and its memory is gone. */
#ifndef TW_CORE_JOB_DEATHS_H
#define TW_CORE_JOB_DEATHS_H

#include "core/base/base.h"
#include "tweed/driver/config.h"

struct tw_deaths {
	_Atomic uint64_t count;
	_Atomic uint64_t dead[TW_MAX_NODES * TW_MAX_PROCESSORS / 64]; /* a bit for each processor of the job */
	_Atomic uint64_t lost[TW_MAX_NODES / 64];                     /* and for each node */
};

/* tw_deaths_add, tw_deaths_lose - by the agent: a processor; a node, before its processors are added. */
static inline void tw_deaths_add(struct tw_deaths *d, unsigned processor)
{
	atomic_fetch_or(&d->dead[processor / 64], (uint64_t)1 << processor % 64);
	atomic_fetch_add(&d->count, 1);
}

static inline void tw_deaths_lose(struct tw_deaths *d, unsigned node)
{
	atomic_fetch_or(&d->lost[node / 64], (uint64_t)1 << node % 64);
}

/* tw_deaths_has - is that processor dead?  NULL: no such job. */
static inline bool tw_deaths_has(const struct tw_deaths *d, unsigned processor)
{
	return d && atomic_load_explicit(&d->dead[processor / 64], memory_order_acquire) >> processor % 64 & 1;
}

/* tw_deaths_lost - is that node lost?  NULL: no such job. */
static inline bool tw_deaths_lost(const struct tw_deaths *d, unsigned node)
{
	return d && atomic_load_explicit(&d->lost[node / 64], memory_order_acquire) >> node % 64 & 1;
}

/* tw_deaths_count - so many processors are dead. */
static inline uint64_t tw_deaths_count(const struct tw_deaths *d)
{
	return d ? atomic_load_explicit(&d->count, memory_order_acquire) : 0;
}

#endif
