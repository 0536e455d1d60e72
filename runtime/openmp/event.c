/* SPDX-License-Identifier: BSD-3-Clause */
/* event.c - tasks with an event, the clause detach: linked to programs that fulfill events. */
#include <alloca.h>
#include <string.h>

#include "runtime/openmp/task.h"

/* An event: node + 1 << 32 | the record's number. */
static uint64_t event_of(const struct omp_task *t)
{
	return (uint64_t)(tw_me->node + 1) << 32 | t->number;
}

static bool event_over(void *arg)
{
	return !atomic_load(&((struct omp_task *)arg)->awaited);
}

/* Execute @t, which has an event and the dependences @d, at once. */
static void event_at_once(struct omp_task *t, const struct omp_work *w, const struct omp_depends *d)
{
	struct omp_running now = omp_task_inside(w);

	now.record = t;
	if (d->n)
		omp_task_await(d);
	omp_task_made(t);
	if (d->n && d->n <= OMP_DEPENDS)
		omp_depend_add(now.outer->record, t, d); /* later ones wait for the event */
	if (!w->deferred)
		atomic_fetch_add(&t->references, 1);
	omp_task_call(&now, w->function, t->data);
	omp_task_returned(t);
	if (w->deferred)
		return;
	omp_task_wait(event_over, t, t, NULL);
	omp_task_learn();
	omp_task_unref(t);
}

void omp_event_task(const struct omp_work *w, void **depend, uint64_t *event)
{
	struct omp_depends d = {.address = alloca((depend ? omp_depend_count(depend) : 0) * sizeof(void *))};
	struct omp_task *t = omp_task_copied(w);

	if (!t)
		th_refuse("more than %u tasks of a thread wait for an omp_fulfill_event: let fewer wait at a time",
		          OMP_TASKS - 1);
	atomic_store(&t->awaited, 2);
	*event = event_of(t);
	if (w->bytes)
		memcpy(t->data, event, sizeof(*event)); /* the task's copy comes first */
	omp_team->events = true;
	if (depend)
		omp_depend_read(depend, &d);
	if (!omp_task_included(w, depend) && d.n <= OMP_DEPENDS) {
		omp_task_give(t, depend ? &d : NULL);
		return;
	}
	event_at_once(t, w, &d);
}

void omp_fulfill_event(uintptr_t event)
{
	struct omp_task *t = omp_task_at((uint32_t)event);

	th_stack_reserve();
	if (event >> 32 != tw_me->node + 1)
		th_refuse("omp_fulfill_event: the task is one of another node's: call it in a task of the same "
		          "thread's, or on one node");
	if (!atomic_load(&t->awaited))
		th_refuse("omp_fulfill_event: the event was fulfilled before");
	omp_task_returned(t);
}
