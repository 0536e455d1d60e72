/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h - what the files of the OpenMP run-time share.
 *
 * Thread i of a program is processor i of the job.  Processor 0 runs main(); the others wait for orders at the job's
 * barrier.  A parallel region is an order, written to every node before processor 0 comes to that barrier, and ends at
 * the next one.  Both are a release and an acquire of everybody, so memory is as OpenMP wants it at the beginning and the end
 * of regions, and all barriers in between are barriers of Tweed.
 *
 * Everything here is private to the process, and used by the one thread that runs the program (runtime/threads/support.h). */
#ifndef TW_RUNTIME_OPENMP_TEAM_H
#define TW_RUNTIME_OPENMP_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/threads/support.h"

/* Internal control variables, as the master had them when the region began. */
struct omp_icv {
	uint32_t threads; /* of the next parallel region */
	uint32_t limit;   /* most threads */
	uint32_t max_active;
	uint32_t schedule; /* enum omp_kind of schedule(runtime) */
	uint64_t chunk;
	bool dynamic;
};

enum omp_kind { OMP_NONE, OMP_STATIC, OMP_DYNAMIC, OMP_GUIDED, OMP_AUTO }; /* OpenMP's numbers */

/* A worksharing loop.  Iteration k, from 0, has the value start + k * step, modulo 2^64: so both signs are the same. */
struct omp_loop {
	enum omp_kind kind;
	bool ordered;
	uint64_t start, step, n, chunk;
	/* this thread's */
	uint64_t share;      /* which worksharing construct of the job */
	uint64_t turn;       /* static: chunks had */
	uint64_t first, end; /* the chunk at work; empty: none */
	bool inside;         /* an ordered region was entered in this chunk */
};

/* What the master tells the others: at layout.team of every node. */
struct omp_order {
	void (*function)(void *data); /* NULL: leave */
	void *data;
	unsigned n;
	uint64_t shares;  /* worksharing constructs before this one */
	uint64_t barrier; /* of the team's threads; 0: they are all of the job */
	struct omp_icv icv;
	struct omp_loop loop; /* of a combined construct */
};

/* A task that this thread carries out, or which waits beneath. */
struct omp_running {
	struct omp_running *outer;
	struct omp_task *record; /* NULL: nobody need know of it yet (task.h) */
	struct omp_task *group;  /* innermost task group; NULL: none */
	unsigned
	    groups_at_once; /* task groups begun for which there was no record: all their tasks are carried out at once */
	bool final;
};

/* A thread's place in a parallel region, or outside of all. */
struct omp_team {
	struct omp_team *outer;
	unsigned id, n;
	unsigned level, active; /* regions around; those of more than one thread */
	uint64_t shares;        /* worksharing constructs begun in the job */
	unsigned open;          /* of them, since the last barrier */
	uint64_t barrier;
	struct omp_icv icv;
	struct omp_loop loop;
	unsigned mates; /* threads of the team on this node, which may carry out each other's tasks */
	struct omp_running *task, implicit;
};

extern struct omp_team *omp_team; /* the innermost */

/* ---- team.c */
/* omp_barrier - one of the program's; omp_meet - one that it does not know of, at which no tasks are carried out. */
void omp_barrier(void);
void omp_meet(void);
/* omp_run - run @order as a parallel region; n in it is what the program wants, or 0. */
void omp_run(struct omp_order *order);

/* ---- icv.c: from the environment */
void omp_icv_read(struct omp_icv *icv);
/* What OMP_STACKSIZE asks for; 0 without it. */
size_t omp_stack_bytes(void);

/* ---- share.c: worksharing constructs
 *
 * Constructs are numbered, and each thread of a team comes to the same ones in the same order.  Construct number s has the
 * words of slot s % OMP_SHARES, at node 0; a word that does not show the construct's tag counts as 0.  A slot is used
 * again only after a barrier. */
#define OMP_SHARES 64u
enum omp_word { OMP_NEXT, OMP_VALUE, OMP_TURN, OMP_WORDS = 8 };

/* omp_share - begin the next construct. */
uint64_t omp_share(void);
/* omp_share_take - add 1 to the construct's word; the value before. */
uint64_t omp_share_take(uint64_t share, enum omp_word word);
/* omp_share_get - the word, and omp_share_raise - from @was to @now, if it is @was still: what it was. */
uint64_t omp_share_get(uint64_t share, enum omp_word word);
uint64_t omp_share_raise(uint64_t share, enum omp_word word, uint64_t was, uint64_t now);
/* omp_share_wait - until the word is @value. */
void omp_share_wait(uint64_t share, enum omp_word word, uint64_t value);
/* A whole word for a pointer, written by one thread, and read after a barrier. */
void omp_share_put(uint64_t share, void *value);
void *omp_share_pointer(uint64_t share);

/* ---- loop.c */
/* omp_loop_begin - this thread's part of the team's next loop; omp_loop_end - its last chunk is done. */
void omp_loop_begin(const struct omp_loop *loop);
bool omp_loop_next(uint64_t *first, uint64_t *end);
void omp_loop_end(void);
/* omp_loop_memory - memory for the team's next loop, zeroed: *@memory bytes, then at *@memory.  Collective. */
void omp_loop_memory(void **memory);

/* ---- lock.c */
/* omp_locks_open - by the master, before all orders; omp_locks_take - by the others, with the first order. */
struct omp_locks {
	tw_lock_t critical, atomic, ordered;
};
extern struct omp_locks omp_locks;
void omp_locks_open(void);

/* ---- queue.c: linked to programs that make tasks, and NULL in others
 * omp_tasks_open - by each processor, before all orders.  omp_tasks_finish - the node's part of a barrier: carry out what is there until all
 * its threads have come and all their tasks have ended. */
void omp_tasks_open(void) __attribute__((weak));
void omp_tasks_finish(void) __attribute__((weak));

/* ---- refused.c */
/* GOMP_scope_start - refuses reductions over tasks. */
void GOMP_scope_start(uintptr_t *reductions);

#endif
