/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c - parallel regions and barriers. */
#include "openmp/team.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

static struct omp_team omp_initial = {.n = 1};
struct omp_team *omp_team = &omp_initial;

static tw_barrier_t team_barrier[TW_MAX_NODES * TW_MAX_PROCESSORS]; /* the master's, by how many threads */

void omp_refuse(const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fflush(NULL);
	tw_abort(2, text);
}

/* What was printed before is seen before what others print from now on. */
static void team_flush(void)
{
	if (__fpending(stdout))
		fflush(stdout);
}

void omp_barrier(void)
{
	omp_stack_reserve();
	omp_team->open = 0;
	if (omp_team->n == 1)
		return;
	if (omp_team->barrier)
		tw_barrier_wait((tw_barrier_t){omp_team->barrier});
	else
		tw_barrier_all();
}

/* This thread's part of a region. */
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
	                                   };

	omp_team = &team;
	if (order->loop.kind)
		omp_loop_begin(&order->loop);
	order->function(order->data);
	if (order->n > 1)
		outer->shares = team.shares;
	omp_team = outer;
}

static void team_publish(const struct omp_order *order)
{
	struct tw_proc *me = tw_me_checked("a parallel region");

	for (unsigned node = 0; node < me->nodes; node++)
		tw_net_write(me->net, node, me->layout.team, order, sizeof(*order));
}

/* Regions inside others have one thread. */
static unsigned team_size(unsigned wanted)
{
	unsigned n = wanted ? wanted : omp_team->icv.threads;

	if (omp_team->active || !omp_team->icv.max_active)
		return 1;
	n = TW_MIN(n, omp_team->icv.limit);
	return TW_MIN(n, (unsigned)tw_count());
}

void omp_run(struct omp_order *order)
{
	omp_stack_reserve();
	order->n = team_size(order->n);
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
	team_flush();
	team_publish(order);
	tw_barrier_all();
	team_enter(order, 0);
	tw_barrier_all();
}

void omp_work(void)
{
	struct tw_proc *me = tw_me_checked("a parallel region");

	for (;;) {
		struct omp_order order;
		tw_barrier_all();
		memcpy(&order, me->net->base + me->layout.team, sizeof(order));
		if (!order.function)
			return;
		if (me->id < order.n) {
			team_enter(&order, me->id);
			team_flush();
		}
		tw_barrier_all();
	}
}

void omp_leave(void)
{
	team_publish(&(struct omp_order){0});
	tw_barrier_all();
}

/* ---- what the compiler calls ----------------------------------------------------------------------------------- */

void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
	(void)flags; /* where they should run */
	omp_run(&(struct omp_order){.function = function, .data = data, .n = threads});
}

void GOMP_barrier(void)
{
	omp_barrier();
}
