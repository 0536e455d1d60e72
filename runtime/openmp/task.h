/* SPDX-License-Identifier: BSD-3-Clause */
/* task.h - tasks: declarations shared by the files that create, queue and order them.
 *
 * A task is executed at once by its creator, or put into its creator's queue, where the processors of the same node
 * find it: they share the node's memory, so nothing is sent. A task begins and ends on one processor, on top of
 * whatever waits there.
 *
 * Selection. A processor that waits in a task takes only descendants of that task: another task might want a lock that
 * the waiting task holds. At barriers it takes any task.
 *
 * Memory. If only one node is at work, the hardware's order suffices, because queues are locked. With several nodes
 * (th_far), a queued task is treated like data guarded by a lock. Its creator releases before putting it into the
 * queue. A processor that takes it from another's queue acquires, and releases at the task's end before it notifies
 * those that wait for the task, which acquire. So what the creator had seen reaches all waiters, on other nodes as
 * well.
 *
 * A task with an event (the clause detach) ends when its function has returned and the event is fulfilled, in whichever
 * order, and on whichever processor of the node. It always has a record, also if it is executed at once; then it may
 * outlast that. Where threads do not share tasks, those behind the first task with an event are queued, too, and a
 * barrier waits for all tasks of the node. Task groups without a record wait for all events.
 *
 * Records and queues lie in the node's private memory (layout.reserved_private), the tasks' data in the shared space,
 * at equal addresses. */
#ifndef TW_RUNTIME_OPENMP_TASK_H
#define TW_RUNTIME_OPENMP_TASK_H

#include "runtime/openmp/team.h"

/* OMP_TASKS: records of a processor; without a free one, tasks are executed at once. OMP_QUEUED: a queue's limit while
 * no processor waits for tasks; times the node's threads, its limit in any case; beyond it tasks are executed at once,
 * except those with dependences. OMP_DEPENDS: most dependences of a queued task; for a task with more, its creator
 * waits. */
#define OMP_TASKS   255u
#define OMP_QUEUED  4u
#define OMP_DEPENDS 12u

/* The addresses that a task depends on, those that it writes first. */
struct omp_depends {
	uint32_t outs, n;
	void **address;
};

/* A task with a record, which others refer to, or a task group. No task has number 0. */
struct omp_task {
	void (*function)(void *data);
	void *data;   /* in the buffer */
	void *buffer; /* shared memory that stays with the record */
	size_t room;  /* the buffer's bytes */
	uint32_t number;
	uint32_t parent, group;      /* numbers */
	uint32_t next, before;       /* in a queue; next alone in the free list */
	uint32_t maker, runner;      /* local processors: its creator; its executor, or the group's waiter */
	_Atomic uint32_t references; /* one for the task until it ends, one for each child's record */
	_Atomic uint32_t unfinished; /* children of a task, or members of a group */
	_Atomic uint32_t awaited;    /* with an event: of its two ends, those to come; else 0 */
	_Atomic bool away;           /* one of them has ended on a processor other than the runner */
	bool final;
	uintptr_t *reductions; /* as in struct omp_running */
	/* Links among the children of one parent, under its lock. */
	struct tw_mutex lock;
	uint32_t first_child, last_child; /* children with dependences that have not ended, in creation order */
	uint32_t older, younger;
	uint32_t blocked; /* older ones that must end first */
	uint32_t outs, depends;
	void *depend[OMP_DEPENDS];
};

/* What a construct creates tasks from. */
struct omp_work {
	void (*function)(void *data);
	void *data;                         /* the creator's; not needed by it afterwards */
	void (*copy)(void *to, void *from); /* NULL: byte by byte */
	size_t bytes, align;
	bool deferred, final;
};

/* ---- task.c */
/* omp_task_inside - what a task of @w that is executed inside the current one inherits from it.
 * omp_task_included - must a task be executed at once?  @depends: it has dependences.
 * omp_task_copied - create a task with its own copy of the data. Returns NULL when there is no record left.
 * omp_task_give - make it available to other processors; @d: its dependences, or NULL.
 * omp_task_await - wait until no older child of the current task conflicts with @d. */
struct omp_running omp_task_inside(const struct omp_work *w);
bool omp_task_included(const struct omp_work *w, bool depends);
struct omp_task *omp_task_copied(const struct omp_work *w);
void omp_task_give(struct omp_task *t, const struct omp_depends *d);
void omp_task_await(const struct omp_depends *d);
void GOMP_taskgroup_start(void);
void GOMP_taskgroup_end(void);

/* ---- event.c; NULL in programs without events
 * omp_event_task - create a task with an event, to be stored in *@event; @depend: the compiler's list, or NULL. */
void omp_event_task(const struct omp_work *w, void **depend, uint64_t *event) __attribute__((weak));

/* ---- reduction.c */
void GOMP_taskgroup_reduction_register(uintptr_t *data);

/* ---- queue.c */
/* omp_task_new - take a record for a child of @parent (or NULL), with room for @bytes. Returns NULL when there is none
 * left. */
struct omp_task *omp_task_new(struct omp_task *parent, size_t bytes);
/* omp_task_unref - drop a reference. Without references, the record is free. */
void omp_task_unref(struct omp_task *task);
struct omp_task *omp_task_at(uint32_t number);
/* omp_task_full - returns whether this processor's queue is at its limit. Not called where dependences must be kept. */
bool omp_task_full(void);
/* omp_task_publish - release, before others are given a task. omp_task_learn - the matching acquire. */
void omp_task_publish(void);
void omp_task_learn(void);
/* omp_task_put - append a ready task to this processor's queue. */
void omp_task_put(struct omp_task *task);
/* omp_task_made - count @task, a new one, as unfinished. */
void omp_task_made(struct omp_task *task);
/* omp_task_returned - the function of @task has returned, or its event is fulfilled: once for each.  Called on any
 * processor of the node; the caller's stores are released.  The last call ends the task, whose record may be gone. */
void omp_task_returned(struct omp_task *task);
/* omp_task_events_wait - wait until all events of this node are fulfilled; @above: as for omp_task_wait. */
void omp_task_events_wait(const struct omp_task *above);
/* omp_task_call - call @function of @task, whose outer one is the current task. What it sets of the control variables
 * is its own. */
void omp_task_call(struct omp_running *task, void (*function)(void *data), void *data);
/* omp_task_wait - execute descendants of @above (NULL: any tasks) until @done returns true. Then acquire if *@away says
 * that a task ended on another processor; @away may be NULL. */
void omp_task_wait(bool (*done)(void *arg), void *arg, const struct omp_task *above, _Atomic bool *away);
/* omp_task_wake - wake processor @local, because what it waits for has changed. */
void omp_task_wake(uint32_t local);

/* ---- depend.c */
/* omp_depend_count - returns the length of the compiler's list. omp_depend_read - sorts the list into @d, which has as
 * many places. */
uint32_t omp_depend_count(void **depend);
void omp_depend_read(void **depend, struct omp_depends *d);
/* omp_depend_add - record the dependences @d of @task, a new child of @parent. Returns whether it may start. If not,
 * the last task that it waits for puts it into a queue. */
bool omp_depend_add(struct omp_task *parent, struct omp_task *task, const struct omp_depends *d);
/* omp_depend_wait - wait until no child of @parent conflicts with @d. */
void omp_depend_wait(struct omp_task *parent, const struct omp_depends *d);
/* omp_depend_end - @task has ended: release the tasks that depend on it. */
void omp_depend_end(struct omp_task *task);

#endif
