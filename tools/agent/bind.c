/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/agent/bind.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tools/tools.h"

/* The host's topology, restricted to what this process may use; NULL on an error, which is printed. */
static hwloc_topology_t bind_topology(void)
{
	hwloc_topology_t t;
	hwloc_bitmap_t mine = hwloc_bitmap_alloc();

	if (!mine || hwloc_topology_init(&t) < 0) {
		tool_say("cannot find the host's cores: %s; use --bind none", strerror(errno));
		return NULL;
	}
	if (hwloc_topology_load(t) < 0 || hwloc_get_cpubind(t, mine, HWLOC_CPUBIND_PROCESS) < 0 ||
	    hwloc_topology_restrict(t, mine, 0) < 0) {
		tool_say("cannot find the host's cores: %s; use --bind none", strerror(errno));
		hwloc_topology_destroy(t);
		t = NULL;
	}
	hwloc_bitmap_free(mine);
	return t;
}

/* The cpus of the part of the host around @core that @bind names. */
static hwloc_const_bitmap_t bind_around(hwloc_topology_t t, hwloc_obj_t core, const char *bind)
{
	hwloc_obj_t object = NULL;

	if (strcmp(bind, "core") == 0)
		return core->cpuset;
	if (strcmp(bind, "package") == 0)
		object = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, core);
	else
		while ((object = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, object)))
			if (hwloc_bitmap_isincluded(core->cpuset, object->cpuset))
				break;
	return object ? object->cpuset : hwloc_topology_get_topology_cpuset(t);
}

static void bind_show(unsigned node, unsigned k, hwloc_topology_t t, hwloc_const_bitmap_t set)
{
	char cpus[256] = "all";

	if (t)
		hwloc_bitmap_list_snprintf(cpus, sizeof(cpus), set);
	tool_say("processor %u.%u may run on cpu %s", node, k, cpus);
}

static void bind_fill(hwloc_const_bitmap_t set, struct tool_cpus *cpus)
{
	for (int cpu = hwloc_bitmap_first(set); cpu >= 0 && cpu < BIND_CPUS; cpu = hwloc_bitmap_next(set, cpu))
		CPU_SET_S((size_t)cpu, sizeof(cpus->set), cpus->set);
}

static int bind_to(const struct tw_settings *settings, const char *bind, hwloc_topology_t t, unsigned node,
                   unsigned first, unsigned all, struct tool_cpus **cpus)
{
	unsigned processors = (unsigned)settings->config.processors;
	int cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);

	*cpus = calloc(processors, sizeof(**cpus));
	if (!*cpus) {
		tool_say("out of memory");
		return -ENOMEM;
	}
	for (unsigned k = 0; k < settings->config.processors; k++) {
		unsigned number = (unsigned)((uint64_t)(first + k) * (unsigned)cores / all);
		hwloc_obj_t core = hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, number);
		hwloc_const_bitmap_t set = bind_around(t, core, bind);
		bind_fill(set, &(*cpus)[k]);
		if (settings->launch.show_binding)
			bind_show(node, k, t, set);
	}
	return 0;
}

/* What auto means. */
static const char *bind_meant(const struct tw_launch *launch, bool *choose)
{
	*choose = strcmp(launch->bind, "auto") == 0;
	if (*choose)
		return launch->several_hosts ? "core" : "none";
	return launch->bind;
}

int bind_choose_in(hwloc_topology_t t, const struct tw_settings *settings, unsigned node, unsigned first, unsigned all,
                   struct tool_cpus **cpus)
{
	bool choose;
	const char *bind = bind_meant(&settings->launch, &choose);
	int status = 0;

	*cpus = NULL;
	if (strcmp(bind, "none") == 0)
		t = NULL;
	int cores = t ? hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE) : 0;
	if (t && cores > 0 && (all <= (unsigned)cores || (!choose && strcmp(bind, "core") != 0))) {
		status = bind_to(settings, bind, t, node, first, all, cpus);
	} else if (t && !choose) {
		tool_say("--bind core wants a core for each processor, but %u processors share %d cores here; start "
		         "fewer, or use "
		         "--bind none",
		         all, cores);
		status = -EINVAL;
	} else if (settings->launch.show_binding) {
		for (unsigned k = 0; k < settings->config.processors; k++)
			bind_show(node, k, NULL, NULL);
	}
	return status;
}

int bind_choose(const struct tw_settings *settings, unsigned node, unsigned first, unsigned all,
                struct tool_cpus **cpus)
{
	bool choose;
	hwloc_topology_t t = NULL;

	if (strcmp(bind_meant(&settings->launch, &choose), "none") != 0 && !(t = bind_topology()))
		return -ENOTSUP;
	int status = bind_choose_in(t, settings, node, first, all, cpus);
	if (t)
		hwloc_topology_destroy(t);
	return status;
}

void bind_apply_all(const struct tool_cpus *cpus, unsigned count)
{
	struct tool_cpus all = {0};

	for (unsigned k = 0; k < count; k++)
		CPU_OR_S(sizeof(all.set), all.set, all.set, cpus[k].set);
	bind_apply(&all);
}

void bind_apply(const struct tool_cpus *cpus)
{
	sched_setaffinity(0, sizeof(cpus->set), cpus->set);
}
