/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h - a program's threads, for the files that start and end them. */
#ifndef TW_RUNTIME_PTHREADS_THREAD_H
#define TW_RUNTIME_PTHREADS_THREAD_H

#include <setjmp.h>
#include <signal.h>

#include "runtime/pthreads/pthreads.h"

struct thread_schedule {
	bool own; /* this policy and priority; otherwise its processor's */
	int policy;
	struct sched_param how;
};

/* On its stack (th_stack_room), in shared memory; zero before its first use.  Under the lock of all threads, which is
 * also what joins wait for. */
struct thread {
	_Alignas(64) char entry[TW_WAIT_ENTRY];
	void *waits;    /* entry for waits: the above, or a better one */
	pthread_t self; /* written once */
	char *stack;    /* its end; NULL: of the processor's first thread */
	unsigned processor;
	struct thread *next;       /* in its processor's list of unused stacks */
	void *(*start)(void *arg); /* NULL: the program ends */
	void *arg, *result;
	sigset_t mask;  /* of its creator */
	char name[16];  /* as its creator's at first; empty: the program's */
	pid_t pid, tid; /* the system's; 0 until it begins */
	bool live;      /* was not joined, nor detached and ended */
	bool ended, detached;
	struct thread_schedule schedule;
	bool cancelled; /* written before all wait queues were locked (cancel.c) */
};
_Static_assert(sizeof(struct thread) <= TH_ROOM - 64, "it fits");

/* The calling thread's. */
extern __thread struct pt_own {
	struct thread *thread; /* NULL: a processor's first before other threads exist */
	void *result;
	void *frame; /* of the caller of the thread's function; NULL in a processor's first */
	jmp_buf end;
	__pthread_unwind_buf_t *cleanup; /* pthread_cleanup_push, in C */
} pt_own;

/* ---- thread.c
 * pt_threads_lock - lock all threads.
 * pt_thread_find - NULL: @thread is not one of the program's.
 * pt_thread_stack - the end of its stack; NULL: not one of the program's.
 * pt_threads_prepare - by all processors, at the beginning.
 * pt_threads_open - before anything that knows threads: the first call makes this processor ready for several.
 * pt_threads_follow - the same, after another processor has called th_kind_crowd.
 * pt_threads_serve - by the first thread of a processor that runs nothing else: start threads until pt_threads_stop.
 * pt_thread_here - start a thread of the run-time's own on this processor: it runs @start(@arg), which never returns,
 * and does not count as one of the program's.  After pt_threads_open or pt_threads_follow.
 * pt_threads_alive - is the caller another thread than its processor's first, or does such a thread run?
 * pt_threads_stop - let the other processors return from pt_threads_serve.
 * pt_main_end - end main's thread.
 * pt_cancel_send - (kill.c) send the thread @tid of the process @pid, that is @t, the signal that ends a call in the
 * kernel.
 * pt_notices_end - (cxx.c, in programs in C++) what std::notify_all_at_thread_exit has promised. */
struct tw_wait_queue *pt_threads_lock(void);
struct thread *pt_thread_find(pthread_t thread);
char *pt_thread_stack(pthread_t thread, bool *detached) __attribute__((weak));
void pt_threads_prepare(void);
void pt_threads_open(void);
void pt_threads_follow(void);
void pt_threads_serve(void);
void pt_thread_here(void *(*start)(void *arg), void *arg);
bool pt_threads_alive(void);
void pt_threads_stop(void);
void pt_main_end(void) __attribute__((noreturn));
void pt_cancel_send(const struct thread *t, pid_t pid, pid_t tid);
void pt_notices_end(void) __attribute__((weak));

#endif
