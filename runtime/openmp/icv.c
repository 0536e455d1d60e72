/* SPDX-License-Identifier: BSD-3-Clause */
/* icv.c - the environment variables OMP_..., and the functions of omp.h that read and set control variables. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "runtime/openmp/team.h"

static void __attribute__((noreturn)) icv_bad(const char *name, const char *text, const char *wanted)
{
	th_refuse("%s is '%s', but must be %s", name, text, wanted);
}

/* Parse the first number of a list. */
static uint32_t icv_number(const char *name, uint32_t otherwise, uint32_t least)
{
	const char *text = getenv(name);
	char *end;

	if (!text)
		return otherwise;
	errno = 0;
	unsigned long v = strtoul(text, &end, 10);
	while (isspace((unsigned char)*end))
		end++;
	if (errno || end == text || (*end && *end != ',') || v < least || v > INT32_MAX || strchr(text, '-'))
		icv_bad(name, text, "a whole number");
	return (uint32_t)v;
}

static bool icv_switch(const char *name, bool otherwise)
{
	const char *text = getenv(name);

	if (!text)
		return otherwise;
	if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0)
		icv_bad(name, text, "true or false");
	return strcasecmp(text, "true") == 0;
}

static void icv_schedule(struct omp_icv *icv)
{
	static const char *const names[] = {
	    [OMP_STATIC] = "static", [OMP_DYNAMIC] = "dynamic", [OMP_GUIDED] = "guided", [OMP_AUTO] = "auto"};
	const char *text = getenv("OMP_SCHEDULE"), *kind = text, *colon;
	char *end;

	icv->schedule = OMP_DYNAMIC; /* gcc's default */
	icv->chunk = 1;
	if (!text)
		return;
	if ((colon = strchr(text, ':')))
		kind = colon + 1;
	kind += strspn(kind, " \t");
	const char *modifier = text + strspn(text, " \t");
	uint32_t monotonic = colon && strncasecmp(modifier, "monotonic", 9) == 0 ? OMP_MONOTONIC : 0;
	for (uint32_t k = OMP_STATIC; k <= OMP_AUTO; k++) {
		size_t n = strlen(names[k]);
		if (strncasecmp(kind, names[k], n) != 0)
			continue;
		const char *rest = kind + n + strspn(kind + n, " \t");
		/* As gcc has it, static is monotonic unless there is a modifier. */
		icv->schedule = k | (k == OMP_STATIC && !colon ? OMP_MONOTONIC : monotonic);
		icv->chunk = k != OMP_STATIC;
		if (!*rest)
			return;
		long chunk = strtol(rest + 1, &end, 10);
		end += strspn(end, " \t");
		if (*rest == ',' && end > rest + 1 && !*end && chunk > 0) {
			icv->chunk = (uint64_t)chunk;
			return;
		}
	}
	icv_bad("OMP_SCHEDULE", text, "static, dynamic, guided or auto, and perhaps ',' and a chunk's size");
}

void omp_icv_read(struct omp_icv *icv)
{
	uint32_t count = (uint32_t)tw_count();

	icv->limit = icv_number("OMP_THREAD_LIMIT", INT32_MAX, 1);
	icv->threads = TW_MIN(icv_number("OMP_NUM_THREADS", count, 1), icv->limit);
	icv->max_active = TW_MIN(icv_number("OMP_MAX_ACTIVE_LEVELS", 1, 0), 1u);
	icv->dynamic = icv_switch("OMP_DYNAMIC", false);
	icv_schedule(icv);
	icv->allocator = OMP_ALLOCATOR;
	icv->cancellation = icv_switch("OMP_CANCELLATION", false);
	icv->teams = 1;
	icv->most_teams = icv_number("OMP_NUM_TEAMS", 0, 1);
	icv->teams_limit = icv_number("OMP_TEAMS_THREAD_LIMIT", 0, 1);
}

size_t omp_stack_bytes(void)
{
	const char *text = getenv("OMP_STACKSIZE");
	char *end;

	if (!text)
		return 0;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);
	end += strspn(end, " \t");
	static const char units[] = "bkmg";
	const char *unit = *end ? strchr(units, tolower((unsigned char)*end)) : units + 1;
	if (errno || end == text || !unit || (*end && end[1 + strspn(end + 1, " \t")]) || strchr(text, '-') ||
	    v > (1ull << 40) >> 10 * (unit - units))
		icv_bad("OMP_STACKSIZE", text, "a size such as 16M");
	return (size_t)v << 10 * (unit - units);
}

/* ---- omp.h ------------------------------------------------------------------------------------------------------ */

static struct omp_team *icv_level(int level)
{
	struct omp_team *t = omp_team;

	if (level < 0 || (unsigned)level > t->level)
		return NULL;
	while (t->level > (unsigned)level)
		t = t->outer;
	return t;
}

#define ICV_GET(name, value)                                                                                           \
	int name(void)                                                                                                 \
	{                                                                                                              \
		return (int)(value);                                                                                   \
	}
#define ICV_SET(name, stored)                                                                                          \
	void name(int value)                                                                                           \
	{                                                                                                              \
		stored;                                                                                                \
	}

ICV_GET(omp_get_thread_num, omp_team->id)
ICV_GET(omp_get_num_threads, omp_team->n)
/* A library whose regions have one thread must know, since its threads may wait for each other. */
ICV_GET(omp_get_max_threads,
        omp_team->other || th_library_private(__builtin_return_address(0)) ? 1 : omp_most(omp_team->icv.threads))
ICV_GET(omp_get_num_procs, !tw_me || th_library_private(__builtin_return_address(0)) ? 1 : tw_count())
ICV_GET(omp_in_parallel, omp_team->active > 0)
ICV_GET(omp_get_dynamic, omp_team->icv.dynamic)
ICV_GET(omp_get_nested, omp_team->icv.max_active > 1)
ICV_GET(omp_get_max_active_levels, omp_team->icv.max_active)
ICV_GET(omp_get_supported_active_levels, 1)
ICV_GET(omp_get_thread_limit, omp_team->icv.limit)
ICV_GET(omp_get_level, omp_team->level)
ICV_GET(omp_get_active_level, omp_team->active)
ICV_GET(omp_in_final, omp_team->task->final)
ICV_GET(omp_get_cancellation, omp_team->icv.cancellation)
ICV_GET(omp_get_max_task_priority, icv_number("OMP_MAX_TASK_PRIORITY", 0, 0))
ICV_GET(omp_get_num_places, 0)
ICV_GET(omp_get_place_num, -1)
ICV_GET(omp_get_partition_num_places, 0)
ICV_GET(omp_get_num_devices, 0)
ICV_GET(omp_get_default_device, 0)
ICV_GET(omp_get_initial_device, 0)
ICV_GET(omp_get_device_num, 0)
ICV_GET(omp_is_initial_device, 1)
ICV_GET(omp_get_num_teams, omp_team->icv.teams)
ICV_GET(omp_get_team_num, omp_team->icv.team)
ICV_GET(omp_get_max_teams, omp_team->icv.most_teams)
ICV_GET(omp_get_teams_thread_limit, omp_team->icv.teams_limit)

ICV_SET(omp_set_num_threads, if (value > 0) omp_team->icv.threads = (uint32_t)value)
ICV_SET(omp_set_dynamic, omp_team->icv.dynamic = value != 0)
ICV_SET(omp_set_nested, (void)value)
ICV_SET(omp_set_max_active_levels, if (value >= 0) omp_team->icv.max_active = value > 0)
ICV_SET(omp_set_default_device, (void)value)
ICV_SET(omp_set_num_teams, if (value > 0) omp_team->icv.most_teams = (uint32_t)value)
ICV_SET(omp_set_teams_thread_limit, if (value > 0) omp_team->icv.teams_limit = (uint32_t)value)

ICV_GET(omp_get_proc_bind, 0)

void omp_set_schedule(unsigned kind, int chunk)
{
	unsigned k = kind & ~OMP_MONOTONIC;

	if (k < OMP_STATIC || k > OMP_AUTO)
		return;
	omp_team->icv.schedule = kind;
	if (k != OMP_AUTO)
		omp_team->icv.chunk = chunk > 0 ? (uint64_t)chunk : k != OMP_STATIC;
}

void omp_get_schedule(unsigned *kind, int *chunk)
{
	*kind = omp_team->icv.schedule;
	*chunk = (int)omp_team->icv.chunk;
}

int omp_get_ancestor_thread_num(int level)
{
	const struct omp_team *t = icv_level(level);
	return t ? (int)t->id : -1;
}

int omp_get_team_size(int level)
{
	const struct omp_team *t = icv_level(level);
	return t ? (int)t->n : -1;
}

double omp_get_wtime(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double omp_get_wtick(void)
{
	return 1e-9;
}

/* There is one place, all processors, without a number. */
int omp_get_place_num_procs(int place)
{
	(void)place;
	return 0;
}

void omp_get_place_proc_ids(int place, int *ids)
{
	(void)place, (void)ids;
}

void omp_get_partition_place_nums(int *numbers)
{
	(void)numbers;
}

/* There are no resources to give back. */
int omp_pause_resource(int kind, int device)
{
	return kind < 1 || kind > 2 || device != 0 ? -1 : 0;
}

int omp_pause_resource_all(int kind)
{
	return omp_pause_resource(kind, 0);
}
