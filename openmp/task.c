/* SPDX-License-Identifier: BSD-3-Clause */
/* task.c - tasks, and what is refused.
 *
 * A task is carried out where and when it is made, by the thread that makes it, which OpenMP allows: so its dependences have been
 * met, and there is never one to wait for. */
#include <alloca.h>
#include <string.h>

#include "openmp/team.h"

/* The compiler's flags. */
enum {
	TASK_FINAL = 1 << 1,
	TASK_UP = 1 << 8,
	TASK_GRAINSIZE = 1 << 9,
	TASK_REDUCTION = 1 << 12,
	TASK_DETACH = 1 << 13
};

static void task_run(void (*function)(void *), void *data, bool final)
{
	bool outer = omp_team->final;

	omp_team->final = outer || final;
	function(data);
	omp_team->final = outer;
}

/* Room for a task's own copy of its data, which is made there. */
#define TASK_ROOM(bytes, align) alloca((size_t)(bytes) + (size_t)(align))
static void *task_copy(void *room, void *data, void (*copy)(void *, void *), long bytes, long align)
{
	void *own = (void *)TW_ALIGN_UP((uintptr_t)room, (uintptr_t)align);

	if (copy)
		copy(own, data);
	else
		memcpy(own, data, (size_t)bytes);
	return own;
}

void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
               bool parallel, unsigned flags, void **depend, int priority, void *detach)
{
	(void)parallel;
	(void)depend;
	(void)priority;
	(void)detach;
	if (flags & TASK_DETACH)
		th_refuse("tasks with the clause detach are not supported");
	task_run(function, task_copy(TASK_ROOM(bytes, align), data, copy, bytes, align), flags & TASK_FINAL);
}

/* The loop's values are the first two words of the data. */
static void task_loop(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
                      unsigned flags, unsigned long tasks, uint64_t start, uint64_t step, uint64_t n)
{
	if (flags & TASK_REDUCTION)
		GOMP_scope_start(data);
	if (!tasks)
		tasks = omp_team->n;
	else if (flags & TASK_GRAINSIZE)
		tasks = TW_MAX(n / tasks, 1ul);
	tasks = TW_MIN(tasks, n);
	void *room = TASK_ROOM(bytes, align);
	for (uint64_t k = 0, at = 0; k < tasks; k++) {
		uint64_t end = at + n / tasks + (k < n % tasks);
		uint64_t *own = task_copy(room, data, copy, bytes, align);
		own[0] = start + at * step;
		own[1] = start + end * step;
		task_run(function, own, flags & TASK_FINAL);
		at = end;
	}
}

void GOMP_taskloop(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
                   unsigned flags, unsigned long tasks, int priority, long start, long end, long step)
{
	uint64_t span = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
	uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;

	(void)priority;
	if (step > 0 ? start < end : start > end)
		task_loop(function, data, copy, bytes, align, flags, tasks, (uint64_t)start, (uint64_t)step,
		          (span - 1) / stride + 1);
}

void GOMP_taskloop_ull(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
                       unsigned flags, unsigned long tasks, int priority, unsigned long long start,
                       unsigned long long end, unsigned long long step)
{
	(void)priority;
	if (flags & TASK_UP ? start < end : start > end)
		task_loop(function, data, copy, bytes, align, flags, tasks, start, step,
		          flags & TASK_UP ? (end - start - 1) / step + 1 : (start - end - 1) / -step + 1);
}

void GOMP_taskwait(void) {}
void GOMP_taskyield(void) {}
void GOMP_taskgroup_start(void) {}
void GOMP_taskgroup_end(void) {}

void GOMP_taskwait_depend(void **depend)
{
	(void)depend;
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

void GOMP_scope_start(uintptr_t *reductions)
{
	if (reductions)
		th_refuse("reductions over tasks (reduction with the modifier task, task_reduction) are not supported");
}

#define REFUSE(name, what)                                                                                             \
	void name(void)                                                                                                \
	{                                                                                                              \
		th_refuse("%s not supported", what);                                                                   \
	}
REFUSE(tw_pthread_create, "an OpenMP program that makes threads of its own (pthread_create) is")
REFUSE(GOMP_cancel, "cancel is")
REFUSE(GOMP_cancellation_point, "cancellation point is")
REFUSE(GOMP_barrier_cancel, "cancel is")
REFUSE(GOMP_loop_end_cancel, "cancel is")
REFUSE(GOMP_sections_end_cancel, "cancel is")
REFUSE(GOMP_taskgroup_reduction_register, "task_reduction is")
REFUSE(GOMP_taskgroup_reduction_unregister, "task_reduction is")
REFUSE(GOMP_task_reduction_remap, "in_reduction is")
REFUSE(GOMP_workshare_task_reduction_unregister, "reduction with the modifier task is")
REFUSE(GOMP_parallel_reductions, "reduction with the modifier task is")
REFUSE(GOMP_doacross_post, "ordered with the clause depend is")
REFUSE(GOMP_doacross_wait, "ordered with the clause depend is")
REFUSE(GOMP_doacross_ull_post, "ordered with the clause depend is")
REFUSE(GOMP_doacross_ull_wait, "ordered with the clause depend is")
REFUSE(tw_thrd_create, "an OpenMP program that makes threads of its own (thrd_create) is")
extern void tw_omp_cxx_thread(void) __asm__(
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
REFUSE(tw_omp_cxx_thread, "an OpenMP program that makes threads of its own (std::thread) is")
#define REFUSE_DOACROSS(name)                                                                                          \
	REFUSE(GOMP_loop_##name##start, "ordered with the clause depend is")                                           \
	REFUSE(GOMP_loop_ull_##name##start, "ordered with the clause depend is")
REFUSE_DOACROSS(doacross_)
REFUSE_DOACROSS(doacross_static_)
REFUSE_DOACROSS(doacross_dynamic_)
REFUSE_DOACROSS(doacross_guided_)
REFUSE_DOACROSS(doacross_runtime_)
REFUSE(GOMP_target_ext, "target is")
REFUSE(GOMP_target_data_ext, "target data is")
REFUSE(GOMP_target_end_data, "target data is")
REFUSE(GOMP_target_update_ext, "target update is")
REFUSE(GOMP_target_enter_exit_data, "target data is")
REFUSE(GOMP_teams, "teams is")
REFUSE(GOMP_teams4, "teams is")
REFUSE(GOMP_teams_reg, "teams is")
