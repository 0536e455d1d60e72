/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c - parallel regions and barriers. */
#include "runtime/openmp/team.h"

#include <sched.h>
#include <string.h>

#include "core/memory/globals.h"
#include "core/process/fork.h"
#include "runtime/pthreads/thread.h"
#include "runtime/threads/baton.h"

static struct omp_team team_initial = {
    .n = 1, .members = 1, .peers = 1, .task = &team_initial.implicit}; /* of a processor's first */
static struct omp_icv team_icv;                                        /* from the environment */
__thread struct omp_team *omp_team = &team_initial;

static tw_barrier_t team_barrier[TW_MAX_NODES * TW_MAX_PROCESSORS]; /* created by the master, by number of threads */

/* Execute the outstanding tasks before a barrier of the program. */
static void team_tasks(void)
{
	if ((omp_team->peers > 1 || omp_team->events) && omp_tasks_finish)
		omp_tasks_finish();
}

/* At the barrier, the last one of a processor's threads arrives for all. They pass the baton (runtime/threads/baton.h),
 * so that this needs no lock. */
static struct {
	unsigned arrived;
	uint32_t round;
} team_meeting;

static bool team_met(void *round)
{
	return team_meeting.round != *(uint32_t *)round;
}

void omp_meet(void)
{
	uint32_t round = team_meeting.round;

	th_stack_reserve();
	omp_single_left(true);
	omp_team->open = 0;
	omp_team->stage++;
	omp_team->cancelled_construct = false;
	if (omp_team->n == 1)
		return;
	if (omp_team->members > 1 && ++team_meeting.arrived < omp_team->members) {
		th_wait(team_met, &round, 0);
		return;
	}
	team_meeting.arrived = 0;
	if (omp_team->barrier)
		tw_barrier_wait((tw_barrier_t){omp_team->barrier});
	else
		tw_barrier_all();
	team_meeting.round++;
}

void omp_barrier(void)
{
	th_stack_reserve();
	team_tasks();
	omp_meet();
}

/* Returns the number of threads of a team of @n on this processor. */
static unsigned team_members(unsigned n)
{
	unsigned count = n == 1 ? 1 : (unsigned)tw_count();
	return n <= count ? 1 : n / count + (tw_me->id < n % count);
}

/* Returns how many of them, on this node, may execute each other's tasks: a processor has one queue, and cancelled
 * regions leave no tasks. */
static unsigned team_peers(const struct omp_order *order)
{
	unsigned before = tw_me->node * tw_me->locals;
	bool alone = order->n == 1 || order->n > (unsigned)tw_count() || order->icv.cancellation;

	return alone ? 1 : TW_MIN(order->n - before, tw_me->locals);
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
	                                       .other = outer->other,
	                                       .region = order->region,
	                                       .shares = order->shares,
	                                       .doacross = order->doacross,
	                                       .barrier = order->barrier,
	                                       .icv = order->icv,
	                                       .members = team_members(order->n),
	                                       .peers = team_peers(order),
	                                   };

	bool far = th_far, others = th_others;

	team.task = &team.implicit;
	team.implicit.reductions = order->reductions;
	omp_team = &team;
	if (order->n > 1) {
		th_far = tw_me->nodes > 1;
		th_others = true;
	}
	if (order->loop.kind)
		omp_loop_begin(&order->loop);
	th_call(TH_CALLED(order->function), order->data, NULL, NULL);
	team_tasks();
	if (!outer->active) { /* also where regions of several threads were inside this one */
		outer->shares = team.shares;
		outer->doacross = team.doacross;
	}
	omp_team = outer;
	if (!th_siblings) {
		th_far = far;
		th_others = others;
	}
}

static void team_publish(const struct omp_order *order)
{
	struct tw_proc *me = tw_me_checked("a parallel region");

	for (unsigned node = 0; node < me->nodes; node++)
		tw_net_write(me->net, node, me->layout.reserved[TW_RESERVED_THREADS], order, sizeof(*order));
}

/* ---- other threads ----------------------------------------------------------------------------------------------- */

size_t omp_team_word(enum omp_team_word word)
{
	return tw_me->layout.reserved[TW_RESERVED_THREADS] + sizeof(struct omp_order) + word * sizeof(uint64_t);
}

/* At the end of a region: other processors' threads may go on. */
static void team_follow(void)
{
	if (__atomic_load_n((uint64_t *)(void *)(tw_me->net->base + omp_team_word(OMP_CROWD)), __ATOMIC_ACQUIRE))
		pt_threads_follow();
}

/* In a region, its threads are busy: each follows at the region's end. */
bool th_kind_crowd(void)
{
	if (!omp_team->active) {
		omp_locks_crowd();
		team_publish(&(struct omp_order){.crowd = true});
		tw_barrier_all();
		tw_barrier_all(); /* the order has been read */
		return true;
	}
	tw_net_broadcast64(tw_me->net, omp_team_word(OMP_CROWD), 1);
	tw_net_flush(tw_me->net, TW_NET_ALL);
	return false;
}

void th_kind_thread(void)
{
	static __thread struct omp_team own;

	own =
	    (struct omp_team){.n = 1, .members = 1, .peers = 1, .other = true, .icv = team_icv, .task = &own.implicit};
	omp_team = &own;
}

/* ---- more threads than processors --------------------------------------------------------------------------------
 * The others of a processor's threads wait for the next region in between; so threadprivate variables keep their
 * values. All pass the baton, and what they share here needs no lock. */

#define TEAM_EXTRA 255u /* of each processor */
static struct {
	const struct omp_order *order;
	unsigned threads;            /* that exist, numbered from 1 */
	unsigned at_work;            /* have not ended their part of the region */
	_Atomic uint32_t resting;    /* have ended */
	bool called[1 + TEAM_EXTRA]; /* is to take its part */
} team_extra;

static bool team_called(void *called)
{
	return *(bool *)called;
}

static void *team_extra_run(void *arg)
{
	uintptr_t number = (uintptr_t)arg;

	omp_team->other = false;
	for (;;) {
		th_stack_reserve();
		th_wait(team_called, &team_extra.called[number], 0);
		team_extra.called[number] = false;
		if (team_extra.order)
			team_enter(team_extra.order, (unsigned)(tw_me->id + number * (unsigned)tw_count()));
		team_extra.at_work--;
		if (!team_extra.order)
			th_baton_rest(&team_extra.resting);
	}
	return NULL;
}

/* @order NULL: they end. */
static void team_extra_call(const struct omp_order *order, unsigned n)
{
	team_extra.order = order;
	team_extra.at_work = n;
	for (unsigned k = 1; k <= n; k++)
		team_extra.called[k] = true;
}

static bool team_ended(void *arg)
{
	(void)arg;
	return !team_extra.at_work;
}

/* Execute this processor's part of a region of all processors. */
static void team_all(const struct omp_order *order)
{
	unsigned extra = team_members(order->n) - 1;

	while (team_extra.threads < extra)
		pt_thread_here(team_extra_run, (void *)(uintptr_t)++team_extra.threads);
	team_extra_call(order, extra);
	team_enter(order, tw_me->id);
	if (extra)
		th_wait(team_ended, NULL, 0);
}

/* Before the shared memory is gone, which has their stacks. */
static void team_extra_end(void)
{
	if (!team_extra.threads)
		return;
	team_extra_call(NULL, team_extra.threads);
	th_wait(team_ended, NULL, 0);
	while (atomic_load(&team_extra.resting) < team_extra.threads)
		sched_yield();
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

unsigned omp_most(unsigned n)
{
	unsigned count = tw_me ? (unsigned)tw_count() : 1u;
	unsigned most = !tw_me || omp_team->icv.dynamic ? count : count * (1 + TEAM_EXTRA);

	return TW_MIN(TW_MIN(n, omp_team->icv.limit), most);
}

/* Nested regions have one thread, and so do those of other threads, and of libraries with variables of their own. */
static unsigned team_size(const struct omp_order *order)
{
	unsigned n = order->n ? order->n : omp_team->icv.threads;

	if (!tw_me && tw_forked())
		th_refuse("a child of fork() has one thread: let it begin no parallel region, or call exec");
	if (omp_team->active || omp_team->other || !omp_team->icv.max_active ||
	    th_library_private((void *)(uintptr_t)order->function))
		return 1;
	return omp_most(n);
}

void omp_run(struct omp_order *order)
{
	th_stack_reserve();
	order->n = team_size(order);
	if (order->n > 1 && order->n > (unsigned)tw_count())
		pt_threads_open(); /* each processor gets several */
	static uint64_t regions;
	order->region = ++regions;
	order->shares = omp_team->shares;
	order->doacross = omp_team->doacross;
	order->icv = omp_team->icv;
	order->barrier = 0;
	if (order->reductions)
		omp_reductions_region(order);
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
	team_all(order);
	tw_barrier_all();
	team_follow();
}

void th_kind_work(void)
{
	struct tw_proc *me = tw_me_checked("a parallel region");

	for (;;) {
		struct omp_order order;
		tw_barrier_all();
		memcpy(&order, me->net->base + me->layout.reserved[TW_RESERVED_THREADS], sizeof(order));
		if (order.crowd)
			pt_threads_follow();
		else if (!order.function)
			break;
		else if (me->id < order.n)
			team_all(&order);
		tw_barrier_all();
		team_follow();
	}
	team_extra_end();
	th_turns_end();
}

size_t th_kind_open(void)
{
	if (!tw_globals_shared && tw_id() == 0)
		th_refuse("this program uses OpenMP: link it with 'tweed omp cc'");
	omp_icv_read(&team_icv);
	team_initial.icv = team_icv;
	omp_display_open();
	omp_locks_open();
	if (omp_tasks_open)
		omp_tasks_open();
	pt_objects_open();
	pt_threads_prepare();
	return omp_stack_bytes();
}

void th_kind_exit(int status)
{
	th_stack_reserve();
	if (omp_team->active || tw_id() || pt_threads_alive())
		th_end_job(status & 255);
	team_extra_end();
	team_publish(&(struct omp_order){0});
	tw_barrier_all();
	th_turns_end();
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
