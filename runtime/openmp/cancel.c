/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel.c - cancel, and cancellation points: without effect, unless OMP_CANCELLATION is true.
 *
 * Two words at node 0 say what was cancelled last: the region, or the construct between two barriers of it. Where
 * constructs can be cancelled, barriers count arrivals in a third word, which a thread that leaves the region does not
 * wait for; and tasks are executed at once. */
#include "core/base/base.h"
#include "runtime/openmp/team.h"
#include "runtime/threads/baton.h"

/* The compiler's constants. */
enum { CANCEL_PARALLEL = 1, CANCEL_LOOP = 2, CANCEL_SECTIONS = 4, CANCEL_TASKGROUP = 8 };

struct omp_group {
	struct omp_group *outer;
	bool cancelled;
};

static uint64_t cancel_read(enum omp_team_word word)
{
	return tw_net_read64(tw_me->net, 0, omp_team_word(word));
}

static void cancel_write(enum omp_team_word word, uint64_t value)
{
	tw_net_write64(tw_me->net, 0, omp_team_word(word), value);
	tw_net_flush(tw_me->net, 0);
}

/* Of this region, between its last barrier and the next. 16 bits remain for a number of threads. */
#define CANCEL_THREADS 16
static uint64_t cancel_stage(void)
{
	return (omp_team->region << 20 | omp_team->stage) << CANCEL_THREADS;
}

static bool cancel_effective(void)
{
	return omp_team->icv.cancellation;
}

static bool cancelled_region(void)
{
	return omp_team->n > 1 ? cancel_read(OMP_CANCELLED_REGION) == omp_team->region : omp_team->cancelled_region;
}

static bool cancelled_construct(void)
{
	return omp_team->n > 1 ? cancel_read(OMP_CANCELLED_CONSTRUCT) == cancel_stage() : omp_team->cancelled_construct;
}

static bool cancelled_group(void)
{
	const struct omp_group *g = omp_team->task->cancels;
	return g && g->cancelled;
}

bool GOMP_cancellation_point(int which)
{
	th_stack_reserve();
	if (!cancel_effective())
		return false;
	if (which & (CANCEL_LOOP | CANCEL_SECTIONS))
		return cancelled_construct();
	return (which & CANCEL_TASKGROUP && cancelled_group()) || cancelled_region();
}

bool GOMP_cancel(int which, bool does)
{
	struct omp_group *g = omp_team->task->cancels;

	th_stack_reserve();
	if (!does || !cancel_effective())
		return GOMP_cancellation_point(which);
	if (which & (CANCEL_LOOP | CANCEL_SECTIONS)) {
		omp_team->cancelled_construct = true;
		if (omp_team->n > 1)
			cancel_write(OMP_CANCELLED_CONSTRUCT, cancel_stage());
	} else if (which & CANCEL_TASKGROUP) {
		if (g)
			g->cancelled = true;
	} else {
		omp_team->cancelled_region = true;
		if (omp_team->n > 1)
			cancel_write(OMP_CANCELLED_REGION, omp_team->region);
	}
	return true;
}

/* ---- task groups ------------------------------------------------------------------------------------------------- */

bool omp_cancel_group(bool begins)
{
	struct omp_running *now = omp_team->task;
	struct omp_group *g = now->cancels;

	if (!cancel_effective())
		return false;
	if (begins) {
		g = tw_malloc(sizeof(*g));
		if (!g)
			th_refuse("no memory is left of TWEED_MEMORY: raise it");
		*g = (struct omp_group){.outer = now->cancels};
		now->cancels = g;
	} else {
		now->cancels = g->outer;
		tw_free(g);
	}
	return true;
}

bool omp_cancel_task(void)
{
	return cancel_effective() && (cancelled_group() || cancelled_region());
}

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

/* Returns whether the region was cancelled. */
bool GOMP_barrier_cancel(void)
{
	th_stack_reserve();
	if (!cancel_effective() || omp_team->n == 1) {
		omp_barrier();
		return cancel_effective() && omp_team->cancelled_region;
	}
	uint64_t stage = cancel_stage(), seen, arrived;
	th_order();
	do {
		seen = cancel_read(OMP_ARRIVED);
		arrived = seen >> CANCEL_THREADS == stage >> CANCEL_THREADS ? seen + 1 : stage + 1;
	} while (tw_net_cas(tw_me->net, 0, omp_team_word(OMP_ARRIVED), seen, arrived) != seen);
	bool cancelled;
	while (!(cancelled = cancelled_region())) {
		seen = cancel_read(OMP_ARRIVED);
		if (seen >> CANCEL_THREADS != stage >> CANCEL_THREADS || seen - stage == omp_team->n)
			break;
		th_yield();
		tw_yield();
	}
	th_order();
	omp_team->stage++;
	omp_team->open = 0;
	return cancelled;
}

bool GOMP_loop_end_cancel(void)
{
	omp_loop_end();
	return GOMP_barrier_cancel();
}

bool GOMP_sections_end_cancel(void)
{
	return GOMP_loop_end_cancel();
}
