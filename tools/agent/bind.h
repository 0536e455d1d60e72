/* SPDX-License-Identifier: BSD-3-Clause */
/* bind.h - the cores of a node's processors.
 *
 * The processors of a job that share a host's cores are numbered.  Of n processors on C cores, number i gets core i * C
 * / n: a core for each while there are enough, spread over the whole host, with neighbours close together. */
#ifndef TW_TOOLS_AGENT_BIND_H
#define TW_TOOLS_AGENT_BIND_H

#include <sched.h>

#include "core/job/settings.h"

#define BIND_CPUS 8192

struct tool_cpus {
	cpu_set_t set[BIND_CPUS / CPU_SETSIZE];
};

/* bind_choose - choose cpus by TWEED_BIND for the processors of @node, the first of which is number @first of @all on
 * these cores; TWEED_SHOW_BINDING prints them.
 * @*cpus: [processors], the caller's to free, or NULL when they are not bound.
 * Returns 0, or -errno, printed. */
int bind_choose(const struct tw_settings *settings, unsigned node, unsigned first, unsigned all,
                struct tool_cpus **cpus);
/* bind_choose_in - the same in this topology, which is restricted to what may be used; NULL where nothing is to be
 * bound. */
struct hwloc_topology;
int bind_choose_in(struct hwloc_topology *topology, const struct tw_settings *settings, unsigned node, unsigned first,
                   unsigned all, struct tool_cpus **cpus);
/* bind_apply - bind this process.  Async-signal-safe. */
void bind_apply(const struct tool_cpus *cpus);

/* bind_apply_all - bind this process to the cores of all @count of them. */
void bind_apply_all(const struct tool_cpus *cpus, unsigned count);

#endif
