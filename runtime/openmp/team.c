/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c - parallel regions and barriers. */
#include "runtime/openmp/team.h"

#include <string.h>

#include "core/memory/globals.h"
#include "core/process/fork.h"
#include "runtime/pthreads/pthreads.h"

static struct omp_team omp_initial = {.n = 1, .peers = 1, .task = &omp_initial.implicit};
struct omp_team *omp_team = &omp_initial;

static tw_barrier_t team_barrier[TW_MAX_NODES * TW_MAX_PROCESSORS]; /* created by the master, by number of threads */

/* Execute the outstanding tasks before a barrier of the program. */
static void team_tasks(void)
{
	if (omp_team->peers > 1 && omp_tasks_finish)
		omp_tasks_finish();
}

void omp_meet(void)
{
	th_stack_reserve();
	omp_team->open = 0;
	if (omp_team->n == 1)
		return;
	if (omp_team->barrier)
		tw_barrier_wait((tw_barrier_t){omp_team->barrier});
	else
		tw_barrier_all();
}

void omp_barrier(void)
{
	th_stack_reserve();
	team_tasks();
	omp_meet();
}

/* Returns the number of threads of a team of @n on this node. */
static unsigned team_members(unsigned n)
{
	unsigned before = tw_me->node * tw_me->locals;
	return n == 1 ? 1 : TW_MIN(n - before, tw_me->locals);
}

/* Execute this thread's part of a region. */
static void team_enter(const struct omp_order *order, unsigned id)
{
	struct omp_team *outer = omp_team, team = {
	                                       .outer = outer,
	                                       .id = id,
	                                       .n = order->n,
	                                       .level = outer->level + 1,
	                                       .active = outer->active + (order->n > 1),
	                                       .shares = order->shares,
	                                       .barrier = order->barrier,
	                                       .icv = order->icv,
	                                       .peers = team_members(order->n),
	                                   };

	bool far = th_far, others = th_others;

	team.task = &team.implicit;
	omp_team = &team;
	th_far = order->n > 1 && tw_me->nodes > 1;
	th_others = order->n > 1;
	if (order->loop.kind)
		omp_loop_begin(&order->loop);
	th_call(TH_CALLED(order->function), order->data, NULL, NULL);
	team_tasks();
	if (order->n > 1)
		outer->shares = team.shares;
	omp_team = outer;
	th_far = far;
	th_others = others;
}

static void team_publish(const struct omp_order *order)
{
	struct tw_proc *me = tw_me_checked("a parallel region");

	for (unsigned node = 0; node < me->nodes; node++)
		tw_net_write(me->net, node, me->layout.reserved[TW_RESERVED_THREADS], order, sizeof(*order));
}

/* Nested regions have one thread, and so do those of libraries with variables of their own. */
static unsigned team_size(const struct omp_order *order)
{
	unsigned n = order->n ? order->n : omp_team->icv.threads;

	if (!tw_me && tw_forked())
		th_refuse("a child of fork() has one thread: let it begin no parallel region, or call exec");
	if (omp_team->active || !omp_team->icv.max_active || th_library_private((void *)(uintptr_t)order->function))
		return 1;
	n = TW_MIN(n, omp_team->icv.limit);
	return TW_MIN(n, (unsigned)tw_count());
}

void omp_run(struct omp_order *order)
{
	th_stack_reserve();
	order->n = team_size(order);
	order->shares = omp_team->shares;
	order->icv = omp_team->icv;
	order->barrier = 0;
	if (order->n == 1) {
		team_enter(order, 0);
		return;
	}
	if (order->n < (unsigned)tw_count()) {
		tw_barrier_t *some = &team_barrier[order->n];
		if (!some->id)
			*some = tw_barrier_create((int)order->n);
		order->barrier = some->id;
	}
	team_publish(order);
	tw_barrier_all();
	team_enter(order, 0);
	tw_barrier_all();
}

void th_kind_work(void)
{
	struct tw_proc *me = tw_me_checked("a parallel region");

	for (;;) {
		struct omp_order order;
		tw_barrier_all();
		memcpy(&order, me->net->base + me->layout.reserved[TW_RESERVED_THREADS], sizeof(order));
		if (!order.function)
			return;
		if (me->id < order.n)
			team_enter(&order, me->id);
		tw_barrier_all();
	}
}

size_t th_kind_open(void)
{
	if (!tw_globals_shared && tw_id() == 0)
		th_refuse("this program uses OpenMP: link it with 'tweed omp cc'");
	omp_icv_read(&omp_team->icv);
	omp_locks_open();
	if (omp_tasks_open)
		omp_tasks_open();
	pt_objects_open();
	return omp_stack_bytes();
}

void th_kind_exit(int status)
{
	if (omp_team->active || tw_id()) {
		char text[96];
		tw_format(text, sizeof(text), "exit(%d) was called in a parallel region, which ends the job", status);
		tw_abort(status & 255, text);
	}
	team_publish(&(struct omp_order){0});
	tw_barrier_all();
}

/* ---- what the compiler calls ------------------------------------------------------------------------------------ */

void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
	(void)flags; /* the binding policy */
	omp_run(&(struct omp_order){.function = function, .data = data, .n = threads});
}

void GOMP_barrier(void)
{
	omp_barrier();
}
