/* SPDX-License-Identifier: BSD-3-Clause */
/* task.c - tasks and task groups, as the compiler calls them. */
#include "runtime/openmp/task.h"

#include <alloca.h>
#include <string.h>

/* The compiler's flags. */
enum {
	TASK_FINAL = 1 << 1,
	TASK_DEPEND = 1 << 3,
	TASK_UP = 1 << 8,
	TASK_GRAINSIZE = 1 << 9,
	TASK_IF = 1 << 10,
	TASK_NOGROUP = 1 << 11,
	TASK_REDUCTION = 1 << 12,
	TASK_DETACH = 1 << 13
};

/* ---- at once ---------------------------------------------------------------------------------------------------- */

struct omp_running omp_task_inside(const struct omp_work *w)
{
	struct omp_running *outer = omp_team->task;

	return (struct omp_running){.outer = outer,
	                            .group = outer->group,
	                            .groups_at_once = outer->groups_at_once,
	                            .cancels = outer->cancels,
	                            .reductions = outer->reductions,
	                            .final = outer->final || w->final};
}

/* @range: for a task of a loop, the first two words of its data; or NULL. */
static void task_at_once(const struct omp_work *w, const uint64_t *range)
{
	struct omp_running now = omp_task_inside(w);
	uint64_t *own = w->data;

	if (omp_cancel_task())
		return;
	if (w->copy) {
		own = (void *)TW_ALIGN_UP((uintptr_t)alloca(w->bytes + w->align), w->align);
		th_call(TH_CALLED(w->copy), own, w->data, NULL);
	}
	if (range)
		memcpy(own, range, 2 * sizeof(*range));
	omp_task_call(&now, w->function, own);
	if (now.record)
		omp_task_unref(now.record);
}

/* ---- deferred --------------------------------------------------------------------------------------------------- */

/* Returns the record of the current task, or NULL when there is none left. */
static struct omp_task *task_record(void)
{
	struct omp_running *now = omp_team->task, *outer = now->outer;

	while (!now->record && outer && !outer->record)
		outer = outer->outer; /* it has no tasks to wait for */
	if (!now->record)
		now->record = omp_task_new(outer ? outer->record : NULL, 0);
	return now->record;
}

bool omp_task_included(const struct omp_work *w, bool depends)
{
	const struct omp_running *now = omp_team->task;

	return !w->deferred || (omp_team->peers == 1 && !omp_team->events) || now->final || now->groups_at_once ||
	       (!depends && omp_task_full());
}

struct omp_task *omp_task_copied(const struct omp_work *w)
{
	const struct omp_running *now = omp_team->task;
	struct omp_task *parent, *t;

	if (!(parent = task_record()) || !(t = omp_task_new(parent, w->bytes + w->align)))
		return NULL;
	t->function = w->function;
	t->data = (void *)TW_ALIGN_UP((uintptr_t)t->buffer, w->align);
	t->final = w->final;
	t->group = now->group ? now->group->number : 0;
	t->reductions = now->reductions;
	if (w->copy)
		th_call(TH_CALLED(w->copy), t->data, w->data, NULL);
	else
		memcpy(t->data, w->data, w->bytes);
	return t;
}

/* Create a task for the queue. Returns NULL when it must be executed at once. */
static struct omp_task *task_make(const struct omp_work *w, bool depends)
{
	return omp_task_included(w, depends) ? NULL : omp_task_copied(w);
}

void omp_task_give(struct omp_task *t, const struct omp_depends *d)
{
	omp_task_made(t);
	omp_task_publish();
	if (!d || omp_depend_add(omp_team->task->record, t, d))
		omp_task_put(t);
}

/* ---- task ------------------------------------------------------------------------------------------------------- */

void omp_task_await(const struct omp_depends *d)
{
	if (omp_team->task->record)
		omp_depend_wait(omp_team->task->record, d);
}

#define TASK_DEPENDS(depend)                                                                                           \
	{                                                                                                              \
		.address = alloca(omp_depend_count(depend) * sizeof(void *))                                           \
	}

static void task_depends(const struct omp_work *w, void **depend)
{
	struct omp_depends d = TASK_DEPENDS(depend);
	struct omp_task *t;

	omp_depend_read(depend, &d);
	if (d.n <= OMP_DEPENDS && (t = task_make(w, true))) {
		omp_task_give(t, &d);
		return;
	}
	omp_task_await(&d);
	task_at_once(w, NULL);
}

void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
               bool parallel, unsigned flags, void **depend, int priority, void *detach)
{
	struct omp_work w = {function, data, copy, (size_t)bytes, (size_t)align, parallel, flags & TASK_FINAL};
	struct omp_task *t;

	(void)priority;
	th_stack_reserve();
	if ((flags & TASK_DETACH) && !omp_event_task)
		th_refuse("a task has the clause detach, but the program does not call omp_fulfill_event");
	if (flags & TASK_DETACH)
		omp_event_task(&w, flags & TASK_DEPEND ? depend : NULL, detach);
	else if (flags & TASK_DEPEND)
		task_depends(&w, depend);
	else if ((t = task_make(&w, false)))
		omp_task_give(t, NULL);
	else
		task_at_once(&w, NULL);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static bool task_alone(void *arg)
{
	const struct omp_task *t = arg;
	return !atomic_load(&t->unfinished);
}

void GOMP_taskwait(void)
{
	struct omp_task *mine = omp_team->task->record;

	th_stack_reserve();
	if (mine)
		omp_task_wait(task_alone, mine, mine, &mine->away);
}

void GOMP_taskwait_depend(void **depend)
{
	struct omp_depends d = TASK_DEPENDS(depend);

	th_stack_reserve();
	omp_depend_read(depend, &d);
	omp_task_await(&d);
}

void GOMP_taskyield(void) {}

/* Has every task ended when it was created? */
static bool task_groups_end(void)
{
	return omp_team->peers == 1 && !omp_event_task;
}

void GOMP_taskgroup_start(void)
{
	struct omp_running *now = omp_team->task;
	struct omp_task *group = NULL;

	th_stack_reserve();
	if (omp_cancel_group(true) || task_groups_end())
		return;
	if (!now->groups_at_once && task_record())
		group = omp_task_new(now->group, 0);
	if (group)
		now->group = group;
	else
		now->groups_at_once++;
}

void GOMP_taskgroup_end(void)
{
	struct omp_running *now = omp_team->task;
	struct omp_task *group = now->group;

	th_stack_reserve();
	if (omp_cancel_group(false) || task_groups_end())
		return;
	if (now->groups_at_once) {
		now->groups_at_once--;
		if (omp_team->events)
			omp_task_events_wait(now->record);
		return;
	}
	omp_task_wait(task_alone, group, now->record, &group->away);
	now->group = omp_task_at(group->parent);
	omp_task_unref(group);
}

/* ---- loops ------------------------------------------------------------------------------------------------------ */

static void task_loop(const struct omp_work *w, unsigned flags, uint64_t tasks, uint64_t start, uint64_t step,
                      uint64_t n)
{
	uint64_t at = 0;

	th_stack_reserve();
	if (!tasks)
		tasks = omp_team->n;
	else if (flags & TASK_GRAINSIZE)
		tasks = TW_MAX(n / tasks, (uint64_t)1);
	tasks = TW_MIN(tasks, n);
	if (!(flags & TASK_NOGROUP))
		GOMP_taskgroup_start();
	if (flags & TASK_REDUCTION) /* behind the range */
		GOMP_taskgroup_reduction_register(((uintptr_t **)w->data)[2]);
	for (uint64_t k = 0; k < tasks; k++) {
		uint64_t end = at + n / tasks + (k < n % tasks);
		uint64_t range[] = {start + at * step, start + end * step};
		struct omp_task *t = task_make(w, false);
		if (t) {
			memcpy(t->data, range, sizeof(range));
			omp_task_give(t, NULL);
		} else {
			task_at_once(w, range);
		}
		at = end;
	}
	if (!(flags & TASK_NOGROUP))
		GOMP_taskgroup_end();
}

void GOMP_taskloop(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
                   unsigned flags, unsigned long tasks, int priority, long start, long end, long step)
{
	struct omp_work w = {function, data, copy, (size_t)bytes, (size_t)align, flags & TASK_IF, flags & TASK_FINAL};
	uint64_t span = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
	uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;

	(void)priority;
	bool some = step > 0 ? start < end : start > end;
	task_loop(&w, flags, tasks, (uint64_t)start, (uint64_t)step, some ? (span - 1) / stride + 1 : 0);
}

void GOMP_taskloop_ull(void (*function)(void *), void *data, void (*copy)(void *, void *), long bytes, long align,
                       unsigned flags, unsigned long tasks, int priority, unsigned long long start,
                       unsigned long long end, unsigned long long step)
{
	struct omp_work w = {function, data, copy, (size_t)bytes, (size_t)align, flags & TASK_IF, flags & TASK_FINAL};

	(void)priority;
	bool some = flags & TASK_UP ? start < end : start > end;
	uint64_t n = flags & TASK_UP ? (end - start - 1) / step + 1 : (start - end - 1) / -step + 1;
	task_loop(&w, flags, tasks, start, step, some ? n : 0);
}
