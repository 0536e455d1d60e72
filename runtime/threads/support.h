/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.h - programs that were written for the threads of one process, on the processors of a job: what OpenMP's run-time
 * (openmp/) and that of POSIX threads (pthreads/) have in common.
 *
 * Processor 0 runs main(), the others what their run-time finds for them.  Global variables, the heap and all stacks are shared memory.
 * What is declared here is private to the process: the linker's script leaves it out of the shared variables.  It is used by
 * the one thread that runs the program (stack.c). */
#ifndef TW_RUNTIME_THREADS_SUPPORT_H
#define TW_RUNTIME_THREADS_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job/job.h"
#include "tweed/tweed.h"

/* ---- what each run-time provides */
/* th_kind_open - by each processor, when it has joined the job and before anything of the program runs.  Returns the bytes that a stack
 * should have; 0: what the shell's limit says. */
size_t th_kind_open(void);
/* th_kind_work - by processors other than 0: do what is there to do, until the program ends. */
void th_kind_work(void);
/* th_kind_exit - exit(@status) was called.  Let the others return from th_kind_work; or end the job, where that cannot be. */
void th_kind_exit(int status);

/* ---- threads.c */
/* Locks, the same in all processors; made by th_open, collectively. */
struct th_locks {
	tw_lock_t name, fence;
	tw_lock_t word[64]; /* of atomic operations, by address */
};
extern struct th_locks th_locks;
void th_open(void);
/* th_far - may another node be at work on the same data?  Else the processor's own atomics do.  Kept by the run-time. */
extern bool th_far;
/* th_lock_in - the lock whose number the program's variable @word holds, in shared memory.  0: there is none yet, and it is made.
 * The word's highest bit is the caller's. */
tw_lock_t th_lock_in(uint32_t *word);
/* th_flush - what was printed before is seen before what others print from now on. */
void th_flush(void);
/* th_end_job - the program's end, with other processors at work: everything ends, with that status. */
void th_end_job(int status) __attribute__((noreturn));
void th_refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- atomic.c */
/* th_fence - a release and an acquire of everything.  The program's next instruction looks at @ptr; NULL: not known, or none. */
void th_fence(const void *ptr);

/* ---- files.c */
/* th_files_open - from now on, a call that is given another processor's descriptor ends the job with a sentence. */
void th_files_open(void);

/* ---- stack.c */
/* th_stack_reserve - let the pinned part of the stack reach well below the caller's frame: called before everything that
 * may call Tweed. */
#define TH_STACK_SLACK ((size_t)64 << 10)
extern char *th_stack_pinned; /* lowest byte; NULL: not on such a stack */
void th_stack_extend(char *below);
static inline void th_stack_reserve(void)
{
	char *here = __builtin_frame_address(0);
	if (here - TH_STACK_SLACK < th_stack_pinned)
		th_stack_extend(here - TH_STACK_SLACK);
}
/* th_stack_bytes - how large each stack is. */
size_t th_stack_bytes(void);

#endif
