/* SPDX-License-Identifier: BSD-3-Clause */
/* bind_test.c - where processors may run, on invented machines: each on its part of the machine, within the CPUs that
 * the job may use, and as --show-binding prints it. */
#include "tools/agent/bind.h"
#include "unit.h"

#include <errno.h>
#include <hwloc.h>
#include <stdarg.h>
#include <string.h>

#include "tools/tools.h"

static char said[8192];

void tool_say(const char *format, ...)
{
	size_t n = strlen(said);
	va_list ap;

	va_start(ap, format);
	n += (size_t)vsnprintf(said + n, sizeof(said) - n, format, ap);
	va_end(ap);
	snprintf(said + n, sizeof(said) - n, "\n");
}

/* A machine of this description, of which the job may use these CPUs; NULL: all. */
static hwloc_topology_t machine(const char *description, const char *cpus)
{
	hwloc_topology_t t;
	hwloc_bitmap_t mine = hwloc_bitmap_alloc();

	if (hwloc_topology_init(&t) < 0 || hwloc_topology_set_synthetic(t, description) < 0 ||
	    hwloc_topology_load(t) < 0)
		abort();
	if (cpus && (hwloc_bitmap_list_sscanf(mine, cpus) < 0 || hwloc_topology_restrict(t, mine, 0) < 0))
		abort();
	hwloc_bitmap_free(mine);
	return t;
}

static struct tw_settings configuration(const char *bind, unsigned processors)
{
	struct tw_settings c;

	memset(&c, 0, sizeof(c));
	snprintf(c.launch.bind, sizeof(c.launch.bind), "%s", bind);
	c.config.processors = processors;
	c.launch.show_binding = true;
	said[0] = '\0';
	return c;
}

/* The line of --show-binding for a node of that machine, compared with what was chosen. NULL: nothing was bound. */
static const char *chosen(hwloc_topology_t t, const struct tw_settings *c, unsigned node, unsigned first, unsigned all)
{
	static char list[8192];
	struct tool_cpus *cpus;
	size_t n = 0;

	CU_ASSERT_EQUAL(bind_choose_in(t, c, node, first, all, &cpus), 0);
	list[0] = '\0';
	for (unsigned k = 0; cpus && k < c->config.processors; k++) {
		hwloc_bitmap_t set = hwloc_bitmap_alloc();
		char text[256];
		for (size_t cpu = 0; cpu < BIND_CPUS; cpu++)
			if (CPU_ISSET_S(cpu, sizeof(cpus[k].set), cpus[k].set))
				hwloc_bitmap_set(set, (unsigned)cpu);
		hwloc_bitmap_list_snprintf(text, sizeof(text), set);
		n += (size_t)snprintf(list + n, sizeof(list) - n, "processor %u.%u may run on cpu %s\n", node, k, text);
		hwloc_bitmap_free(set);
	}
	if (!cpus)
		return NULL;
	free(cpus);
	CU_ASSERT_STRING_EQUAL(said, list);
	return list;
}

#define BINDS(t, bind, node, processors, first, all, text)                                                             \
	do {                                                                                                           \
		struct tw_settings c_ = configuration(bind, processors);                                               \
		const char *list_ = chosen(t, &c_, node, first, all);                                                  \
		CU_ASSERT_PTR_NOT_NULL_FATAL(list_);                                                                   \
		CU_ASSERT_STRING_EQUAL(list_, text);                                                                   \
	} while (0)

static void test_cores(void)
{
	hwloc_topology_t t = machine("package:2 core:4 pu:2", NULL);

	/* spread over the whole machine; both threads of a core */
	BINDS(t, "core", 0, 2, 0, 2, "processor 0.0 may run on cpu 0-1\nprocessor 0.1 may run on cpu 8-9\n");
	/* a job of two nodes on this host: the second node's processors follow the first node's */
	BINDS(t, "core", 1, 2, 2, 4, "processor 1.0 may run on cpu 8-9\nprocessor 1.1 may run on cpu 12-13\n");
	BINDS(t, "core", 3, 1, 7, 8, "processor 3.0 may run on cpu 14-15\n");
	hwloc_topology_destroy(t);
}

static void test_surroundings(void)
{
	hwloc_topology_t t = machine("package:2 numa:2 core:2 pu:1", NULL);

	BINDS(t, "numa", 0, 2, 0, 2, "processor 0.0 may run on cpu 0-1\nprocessor 0.1 may run on cpu 4-5\n");
	BINDS(t, "package", 0, 2, 0, 2, "processor 0.0 may run on cpu 0-3\nprocessor 0.1 may run on cpu 4-7\n");
	/* more processors than cores */
	BINDS(t, "package", 1, 2, 14, 16, "processor 1.0 may run on cpu 4-7\nprocessor 1.1 may run on cpu 4-7\n");
	hwloc_topology_destroy(t);
	t = machine("core:3 pu:1", NULL); /* without packages */
	BINDS(t, "package", 0, 1, 0, 1, "processor 0.0 may run on cpu 0-2\n");
	hwloc_topology_destroy(t);
}

static void test_part_of_a_machine(void)
{
	/* one thread of core 1, all of core 2, and cores 6 and 7 */
	hwloc_topology_t t = machine("package:2 core:4 pu:2", "3-5,12-15");

	BINDS(t, "core", 0, 4, 0, 4,
	      "processor 0.0 may run on cpu 3\nprocessor 0.1 may run on cpu 4-5\nprocessor 0.2 may run on cpu 12-13\n"
	      "processor 0.3 may run on cpu 14-15\n");
	BINDS(t, "package", 0, 2, 0, 2, "processor 0.0 may run on cpu 3-5\nprocessor 0.1 may run on cpu 12-15\n");
	BINDS(t, "numa", 0, 1, 1, 2, "processor 0.0 may run on cpu 3-5,12-15\n");
	struct tw_settings c = configuration("core", 5);
	struct tool_cpus *cpus;
	CU_ASSERT_EQUAL(bind_choose_in(t, &c, 0, 0, 5, &cpus), -EINVAL);
	CU_ASSERT_PTR_NULL(cpus);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "5 processors share 4 cores here"));
	hwloc_topology_destroy(t);
}

static void test_auto(void)
{
	hwloc_topology_t t = machine("core:4 pu:1", NULL);
	struct tw_settings c = configuration("auto", 2);

	CU_ASSERT_PTR_NULL(chosen(t, &c, 0, 0, 2));
	CU_ASSERT_STRING_EQUAL(said, "processor 0.0 may run on cpu all\nprocessor 0.1 may run on cpu all\n");
	c.launch.several_hosts = true;
	said[0] = '\0';
	CU_ASSERT_STRING_EQUAL(chosen(t, &c, 0, 2, 4),
	                       "processor 0.0 may run on cpu 2\nprocessor 0.1 may run on cpu 3\n");
	said[0] = '\0';
	CU_ASSERT_PTR_NULL(chosen(t, &c, 0, 2, 5)); /* more processors than cores */
	CU_ASSERT_STRING_EQUAL(said, "processor 0.0 may run on cpu all\nprocessor 0.1 may run on cpu all\n");
	c = configuration("none", 1);
	CU_ASSERT_PTR_NULL(chosen(NULL, &c, 2, 0, 1));
	CU_ASSERT_STRING_EQUAL(said, "processor 2.0 may run on cpu all\n");
	hwloc_topology_destroy(t);
}

static void test_large(void)
{
	hwloc_topology_t t = machine("package:16 core:256 pu:2", NULL);

	BINDS(t, "core", 0, 1, 4095, 4096, "processor 0.0 may run on cpu 8190-8191\n");
	hwloc_topology_destroy(t);
}

/* On any part of a machine: while there are enough cores, each processor has one of its own. */
static void test_any(void)
{
	uint64_t seed = 42;

	for (unsigned round = 0; round < 200; round++) {
		char description[64], cpus[32];
		unsigned packages = 1 + unit_random(&seed) % 4, cores = 1 + unit_random(&seed) % 8,
		         threads = 1 + unit_random(&seed) % 2;
		unsigned end = packages * cores * threads, low = (unsigned)(unit_random(&seed) % end);
		snprintf(description, sizeof(description), "package:%u core:%u pu:%u", packages, cores, threads);
		snprintf(cpus, sizeof(cpus), "%u-%u", low, end - 1);
		hwloc_topology_t t = machine(description, cpus);
		unsigned have = (unsigned)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
		unsigned all = 1 + (unsigned)(unit_random(&seed) % have), first = (unsigned)(unit_random(&seed) % all);
		struct tw_settings c = configuration("core", all - first);
		struct tool_cpus *bound;
		CU_ASSERT_EQUAL_FATAL(bind_choose_in(t, &c, 0, first, all, &bound), 0);
		cpu_set_t before[BIND_CPUS / CPU_SETSIZE], both[BIND_CPUS / CPU_SETSIZE];
		memset(before, 0, sizeof(before));
		for (unsigned k = 0; k < all - first; k++) {
			CPU_AND_S(sizeof(both), both, before, bound[k].set);
			CU_ASSERT_EQUAL(CPU_COUNT_S(sizeof(both), both), 0);
			CU_ASSERT(CPU_COUNT_S(sizeof(both), bound[k].set) >= 1);
			CPU_OR_S(sizeof(both), before, before, bound[k].set);
		}
		for (unsigned cpu = 0; cpu < BIND_CPUS; cpu++)
			if (CPU_ISSET_S(cpu, sizeof(before), before))
				CU_ASSERT(cpu >= low && cpu < end);
		free(bound);
		hwloc_topology_destroy(t);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {{"cores", test_cores},
	                       {"surroundings", test_surroundings},
	                       {"part of a machine", test_part_of_a_machine},
	                       {"auto", test_auto},
	                       {"large", test_large},
	                       {"any", test_any},
	                       CU_TEST_INFO_NULL};
	return unit_main("bind", tests);
}
