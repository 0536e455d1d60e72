/* SPDX-License-Identifier: BSD-3-Clause */
/* bind.h - where a node's processors may run.
 *
 * The processors of a job that share a host's cores are numbered through; of n processors on C cores, number i gets core i * C / n: one
 * core each while there are enough, spread over the whole host, neighbours near each other. */
#ifndef TW_TOOLS_AGENT_BIND_H
#define TW_TOOLS_AGENT_BIND_H

#include <sched.h>

#include "core/job/settings.h"

#define BIND_CPUS 8192

struct tool_cpus {
	cpu_set_t set[BIND_CPUS / CPU_SETSIZE];
};

/* bind_choose - as config->bind says, for the processors of @node, the first of which is number @first of @all on these cores;
 * config->show_binding prints it.  @*cpus: [processors], the caller's to free, or NULL when they are not bound.
 * Returns 0, or -errno, printed. */
int bind_choose(const struct tw_config *config, unsigned node, unsigned first, unsigned all, struct tool_cpus **cpus);
/* bind_choose_in - the same in this topology, reduced to what may be used; NULL where nothing is to be bound. */
struct hwloc_topology;
int bind_choose_in(struct hwloc_topology *topology, const struct tw_config *config, unsigned node, unsigned first,
                   unsigned all, struct tool_cpus **cpus);
/* bind_apply - to this process.  Async-signal-safe. */
void bind_apply(const struct tool_cpus *cpus);

/* bind_apply_all - to the cores of all @count of them. */
void bind_apply_all(const struct tool_cpus *cpus, unsigned count);

#endif
