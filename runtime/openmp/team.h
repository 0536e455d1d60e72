/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h - declarations shared by the files of the OpenMP run-time.
 *
 * Thread i of a program is processor i of the job, or, if there are more threads than processors, one of processor
 * i % tw_count(). Processor 0 runs main(); the others wait for orders at the job's barrier. A parallel region is an
 * order that is written to every node before processor 0 enters that barrier, and ends at the next one. Both barriers
 * are a release and an acquire of all processors, so memory is consistent as OpenMP requires at the start and end of
 * regions. All barriers in between are Tweed's barriers.
 *
 * The program may have other threads (runtime/pthreads/). From the first on, each processor's thread of OpenMP is one
 * of those that pass the baton (runtime/threads/baton.h): others run where it waits. Regions of other threads have one
 * thread.
 *
 * Everything here is private to the process. */
#ifndef TW_RUNTIME_OPENMP_TEAM_H
#define TW_RUNTIME_OPENMP_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/threads/support.h"

/* Internal control variables, as the master had them when the region started. */
struct omp_icv {
	uint32_t threads; /* of the next parallel region */
	uint32_t limit;   /* most threads */
	uint32_t max_active;
	uint32_t schedule; /* of schedule(runtime): enum omp_kind, and OMP_MONOTONIC */
	uint64_t chunk;
	uintptr_t allocator; /* the default one */
	bool dynamic, cancellation;
	uint32_t teams, team; /* of the league that the thread belongs to, and its own */
	uint32_t most_teams;  /* of a construct without num_teams; 0: not set */
	uint32_t teams_limit; /* threads of each of its teams; 0: any */
};
#define OMP_ALLOCATOR 1u /* omp_default_mem_alloc */

enum omp_kind { OMP_NONE, OMP_STATIC, OMP_DYNAMIC, OMP_GUIDED, OMP_AUTO }; /* OpenMP's numbers */
#define OMP_MONOTONIC 0x80000000u                                          /* the modifier: all loops are */

/* A worksharing loop. Iteration k, from 0, has the value start + k * step modulo 2^64, which serves both signs. */
struct omp_loop {
	enum omp_kind kind;
	bool ordered;
	uint64_t start, step, n, chunk;
	/* this thread's state */
	uint64_t share;      /* number of the worksharing construct in the job */
	uint64_t turn;       /* static schedule: chunks executed */
	uint64_t first, end; /* the current chunk; empty: none */
	bool inside;         /* an ordered region was entered in this chunk */
};

/* A loop whose iterations wait for others, and all before it (doacross.c). */
#define OMP_DIMENSIONS 16u
struct omp_doacross {
	uint64_t before, after;  /* iterations of such loops before this one, and with it, and one for each loop */
	struct omp_flags *flags; /* of each thread */
	unsigned dimensions;     /* nested loops; 0: no iteration waits */
	uint64_t count[OMP_DIMENSIONS]; /* of their iterations */
};

/* The master's order, at layout.reserved[TW_RESERVED_THREADS] of every node. */
struct omp_order {
	void (*function)(void *data); /* NULL: leave the job, or: */
	bool crowd;                   /* get ready for other threads */
	void *data;
	unsigned n;
	uint64_t region;  /* number, from 1 */
	uint64_t shares;  /* worksharing constructs before this one */
	uint64_t barrier; /* the team's barrier; 0: all processors of the job */
	struct omp_doacross doacross;
	struct omp_icv icv;
	struct omp_loop loop;  /* of a combined construct */
	uintptr_t *reductions; /* over tasks; NULL: none */
};

/* Words behind the order. OMP_CROWD: at every node; in a region, a processor has got other threads. The others: at node
 * 0 (cancel.c). */
enum omp_team_word { OMP_CROWD, OMP_CANCELLED_REGION, OMP_CANCELLED_CONSTRUCT, OMP_ARRIVED, OMP_TEAM_WORDS };

/* A task that this thread executes, or that waits beneath it. */
struct omp_running {
	struct omp_running *outer;
	struct omp_task *record;   /* NULL: no other task refers to it yet (task.h) */
	struct omp_task *group;    /* innermost task group; NULL: none */
	unsigned groups_at_once;   /* task groups begun without a record: all their tasks are executed at once */
	struct omp_group *cancels; /* innermost task group that may be cancelled (cancel.c) */
	uintptr_t *reductions;     /* over tasks, the innermost ones' description (reduction.c) */
	bool final;
};

/* A thread's place in a parallel region, or outside of all. */
struct omp_team {
	struct omp_team *outer;
	unsigned id, n;
	unsigned level, active;                     /* enclosing regions; those of more than one thread */
	bool other;                                 /* begun by a thread of the program's own */
	uint64_t shares;                            /* worksharing constructs begun in the job */
	unsigned open;                              /* of these, begun since the last barrier */
	uint64_t region;                            /* number */
	uint64_t stage;                             /* barriers of the region */
	bool cancelled_region, cancelled_construct; /* by this thread */
	uint64_t barrier;
	struct omp_doacross doacross;
	struct omp_icv icv;
	struct omp_loop loop;
	unsigned members; /* threads of the team on this processor */
	unsigned peers;   /* those on this node, which may execute each other's tasks */
	bool events;      /* the thread has created a task with an event */
	struct omp_running *task, implicit;
};

extern __thread struct omp_team *omp_team; /* the calling thread's innermost */

/* ---- team.c */
/* omp_barrier - a barrier of the program. omp_meet - an internal one, at which no tasks are executed. */
void omp_barrier(void);
void omp_meet(void);
/* omp_single_left - the thread begins another construct, or meets the team (share.c). */
void omp_single_left(bool meets);
/* omp_most - how many of @n threads a region of main() gets. */
unsigned omp_most(unsigned n);
/* omp_team_word - the word's offset in exported memory. */
size_t omp_team_word(enum omp_team_word word);
/* omp_run - run @order as a parallel region. Its n is the number of threads that the program wants, or 0. */
void omp_run(struct omp_order *order);

/* ---- icv.c: from the environment */
void omp_icv_read(struct omp_icv *icv);
/* omp_stack_bytes - returns the size in OMP_STACKSIZE; 0 when it is not set. */
size_t omp_stack_bytes(void);

/* ---- share.c: worksharing constructs
 *
 * Constructs are numbered, and all threads of a team execute the same ones in the same order. Construct number s uses
 * the words of slot s % OMP_SHARES at node 0. A word without the construct's tag counts as 0. A slot is reused only
 * after a barrier. */
#define OMP_SHARES 64u
enum omp_word { OMP_NEXT, OMP_VALUE, OMP_TURN, OMP_WORDS = 8 };

/* omp_share - begin the next construct. Returns its number. */
uint64_t omp_share(void);
/* omp_share_take - add 1 to the construct's word. Returns the old value. */
uint64_t omp_share_take(uint64_t share, enum omp_word word);
/* omp_share_get - returns the word. omp_share_raise - changes it from @was to @now if it is still @was; returns the old
 * value. */
uint64_t omp_share_get(uint64_t share, enum omp_word word);
uint64_t omp_share_raise(uint64_t share, enum omp_word word, uint64_t was, uint64_t now);
/* omp_share_wait - wait until the word is @value, or until @until_ns (tw_time_ns; 0: without end). */
void omp_share_wait(uint64_t share, enum omp_word word, uint64_t value, uint64_t until_ns);
/* omp_share_put, omp_share_pointer - a pointer in a whole word, written by one thread and read after a barrier. */
void omp_share_put(uint64_t share, void *value);
void *omp_share_pointer(uint64_t share);

/* ---- loop.c */
/* omp_loop_make - a loop of @n iterations. @kind OMP_NONE: with the schedule and the chunk that schedule(runtime) has.
 * omp_loop_begin - begin this thread's part of the team's next loop. omp_loop_end - the last chunk has ended. */
struct omp_loop omp_loop_make(uint64_t start, uint64_t step, uint64_t n, unsigned kind, uint64_t chunk, bool ordered);
void omp_loop_begin(const struct omp_loop *loop);
bool omp_loop_next(uint64_t *first, uint64_t *end);
void omp_loop_end(void);
/* omp_loop_memory - allocate zeroed memory for the team's next loop: *@memory is the number of bytes, then their
 * address. Collective.
 * omp_loop_prepare - what a worksharing construct's clauses need: its reductions over tasks, and its memory; either may
 * be NULL. Collective. */
void omp_loop_memory(void **memory);
void omp_loop_prepare(uintptr_t *reductions, void **memory);

/* ---- lock.c */
/* omp_locks_open - called by all processors before the first order. omp_locks_crowd - main is about to get other
 * threads beside it: take the locks of the critical regions that it is in. */
struct omp_locks {
	tw_lock_t critical, atomic, ordered;
};
extern struct omp_locks omp_locks;
void omp_locks_open(void);
void omp_locks_crowd(void);
void GOMP_atomic_start(void);
void GOMP_atomic_end(void);

/* ---- queue.c: linked to programs that create tasks; NULL in other programs
 * omp_tasks_open - called by each processor, before all orders.
 * omp_tasks_finish - the node's part of a barrier: execute tasks until all of the node's threads have arrived and all
 * of their tasks have ended; of a thread that shares no tasks, until its events are fulfilled. */
void omp_tasks_open(void) __attribute__((weak));
void omp_tasks_finish(void) __attribute__((weak));

/* ---- display.c
 * omp_display_open - by all processors, with team_initial's control variables: reads its part of the environment. */
void omp_display_open(void);

/* ---- cancel.c
 * omp_cancel_group - a task group of the current task begins or ends. Returns whether it may be cancelled: then its
 * tasks are executed at once.
 * omp_cancel_task - must the current task's next child not be executed? */
bool omp_cancel_group(bool begins);
bool omp_cancel_task(void);

/* ---- reduction.c: linked to programs with reductions over tasks
 * omp_reductions_share - at the beginning of a worksharing construct with such reductions. Collective.
 * omp_reductions_region - of a region; its n is known. */
void omp_reductions_share(uintptr_t *data) __attribute__((weak));
void omp_reductions_region(struct omp_order *order) __attribute__((weak));

#endif
