/* SPDX-License-Identifier: BSD-3-Clause */
/* task.h - tasks: what the files that make them, queue them and order them share.
 *
 * A task is carried out at once by its maker, or put into its maker's queue, where the processors of the maker's node find it: they have
 * the node's memory in common, so nothing is sent.  A task begins and ends on one processor, on top of whatever waits there.
 *
 * Who may carry out what.  A processor that waits in a task takes only tasks that descend from it: another one might want a lock that
 * the task waiting holds.  At barriers it takes any.
 *
 * Memory.  Where only one node is at work the hardware's order is all that is needed: queues are locked.  Where several are (th_far), a
 * task in a queue is as what a lock guards: its maker releases before it puts it there, whoever takes it from another's queue acquires,
 * and at its end releases again before those who wait for it are told, who acquire.  So what the maker had seen reaches
 * all that the task tells, on other nodes as well.
 *
 * Records and queues lie in the private memory of the node (layout.tasks); the tasks' data in the shared space,
 * at equal addresses. */
#ifndef TW_RUNTIME_OPENMP_TASK_H
#define TW_RUNTIME_OPENMP_TASK_H

#include "runtime/openmp/team.h"

/* Records of a processor: when they are used up, tasks are carried out at once.  Of a queue, while nobody waits for tasks, and
 * times the node's threads in any case: likewise, but where dependences are to be kept.  Dependences of a task in a queue: one with more
 * is waited for. */
#define OMP_TASKS   255u
#define OMP_QUEUED  4u
#define OMP_DEPENDS 12u

/* The addresses that a task depends on: those that it writes come first. */
struct omp_depends {
	uint32_t outs, n;
	void **address;
};

/* A task that others must know of, or a task group.  0 is no task's number. */
struct omp_task {
	void (*function)(void *data);
	void *data;   /* in the buffer */
	void *buffer; /* shared memory, which stays with the record */
	size_t room;  /* its bytes */
	uint32_t number;
	uint32_t parent, group;      /* numbers */
	uint32_t next, before;       /* in a queue, or next alone among the free ones */
	uint32_t maker, runner;      /* local processors: who made it; who carries it out, or waits for the group */
	_Atomic uint32_t references; /* the task itself, until it has ended, and its children's records */
	_Atomic uint32_t unfinished; /* children of a task, members of a group */
	_Atomic bool away;           /* one of them has ended on another processor than the runner */
	bool final;
	/* Among the children of one parent, under its lock. */
	struct tw_mutex lock;
	uint32_t first_child, last_child; /* those with dependences that have not ended, as they were made */
	uint32_t older, younger;
	uint32_t blocked; /* older ones that must end first */
	uint32_t outs, depends;
	void *depend[OMP_DEPENDS];
};

/* ---- queue.c */
/* omp_task_new - a record, the child of @parent (or NULL), with room for @bytes; NULL: there is none left. */
struct omp_task *omp_task_new(struct omp_task *parent, size_t bytes);
/* omp_task_unref - one reference less: without any the record is free. */
void omp_task_unref(struct omp_task *task);
struct omp_task *omp_task_at(uint32_t number);
/* omp_task_full - does this processor's queue have as many as it should?  Not asked where dependences are to be kept. */
bool omp_task_full(void);
/* omp_task_publish - before others are given a task: what was stored so far is theirs.  omp_task_learn - the other end. */
void omp_task_publish(void);
void omp_task_learn(void);
/* omp_task_put - into this processor's queue, ready. */
void omp_task_put(struct omp_task *task);
/* omp_task_made - count a new task as unfinished. */
void omp_task_made(void);
/* omp_task_wait - carry out tasks that descend from @above (NULL: any) until @done; then see what others did, if there were any:
 * @away, or NULL. */
void omp_task_wait(bool (*done)(void *arg), void *arg, const struct omp_task *above, _Atomic bool *away);
/* omp_task_wake - a condition of processor @local has changed. */
void omp_task_wake(uint32_t local);

/* ---- depend.c */
/* omp_depend_count, omp_depend_read - what the compiler's list holds: how many, and sorted into @d, with as many places. */
uint32_t omp_depend_count(void **depend);
void omp_depend_read(void **depend, struct omp_depends *d);
/* omp_depend_add - @task, a new child of @parent, has these: may it begin?  Else the last one that it waits for puts it into a queue. */
bool omp_depend_add(struct omp_task *parent, struct omp_task *task, const struct omp_depends *d);
/* omp_depend_wait - until no child of @parent stands in the way of @d. */
void omp_depend_wait(struct omp_task *parent, const struct omp_depends *d);
/* omp_depend_end - @task has ended. */
void omp_depend_end(struct omp_task *task);

#endif
