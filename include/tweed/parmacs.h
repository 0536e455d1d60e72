/* SPDX-License-Identifier: BSD-3-Clause */
/* parmacs.h - what the PARMACS macros of share/tweed/tweed.m4 expand to (doc/guide/splash.md).
 *
 * A program that uses them is linked by `tweed cc --parmacs`.  It joins the job before main(), which only processor 0
 * runs; the other processors are workers, and call the functions that CREATE names.
 *
 * Context: as in tweed.h.  The first synchronization by a macro in a function that CREATE started lets the next worker
 * begin it: so processors take their numbers from a shared counter in the order of the job. */
#ifndef TWEED_PARMACS_H
#define TWEED_PARMACS_H

#ifdef bool
#include <tweed/tweed.h>
#else
#include <tweed/tweed.h>
#ifndef __cplusplus
/* Programs older than C99 have types and constants of these names; others include the header later. */
#undef bool
#undef true
#undef false
#undef __bool_true_false_are_defined
#undef _STDBOOL_H
#undef __STDBOOL_H
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* BARDEC and PAUSEDEC.  A lock is a tw_lock_t; a condition variable a long, for there are programs that declare it before
 * they have this header: how many wait. */
typedef struct tw_parmacs_barrier {
	tw_barrier_t barrier;
	long n;                          /* 0: not known yet */
	struct tw_parmacs_barrier *more; /* for other counts */
} tw_parmacs_barrier_t;
typedef struct {
	tw_lock_t lock;
	tw_flag_t posted;
	uint64_t posts, waits;
} tw_parmacs_pause_t;

/* tw_parmacs_create - CREATE.  Processor 0 only.
 * @n > 0: run @function on processors 0 to n - 1, and return when processor 0's has returned; waits for those of them that
 * still run an earlier one.  0: start it on a processor that runs none, and return at once.
 * Each sees the program's global variables as they are in this call, or shares them (`tweed cc --shared-globals`).
 * When the job has too few processors, it ends with a sentence. */
TW_API void tw_parmacs_create(void (*function)(void), long n);
/* tw_parmacs_join - WAIT_FOR_END: wait until every worker has returned; an acquire. */
TW_API void tw_parmacs_join(void);

/* tw_parmacs_malloc - G_MALLOC: zeroed shared memory, by any processor.  When there is no more, the job ends with a
 * sentence. */
TW_API void *tw_parmacs_malloc(size_t bytes) __attribute__((malloc));

/* tw_parmacs_locks_init - ALOCKINIT.  tw_parmacs_unlock - UNLOCK. */
TW_API void tw_parmacs_locks_init(tw_lock_t *locks, long n);
TW_API void tw_parmacs_unlock(tw_lock_t lock);

/* tw_parmacs_barrier_init, tw_parmacs_barrier_wait - BARINIT and BARRIER.  @n of the latter counts; where it differs from
 * the former's, or that was 0, the barrier must be in shared memory, and waiting costs a lock more. */
TW_API void tw_parmacs_barrier_init(tw_parmacs_barrier_t *barrier, long n);
TW_API void tw_parmacs_barrier_wait(tw_parmacs_barrier_t *barrier, long n);

/* tw_parmacs_pause_init, tw_parmacs_pause_set, tw_parmacs_pause_wait - PAUSEINIT, SETPAUSE and WAITPAUSE: a counting
 * semaphore in shared memory.  A set is a release; a wait is an acquire, and takes one set away. */
TW_API void tw_parmacs_pause_init(tw_parmacs_pause_t *pause);
TW_API void tw_parmacs_pause_set(tw_parmacs_pause_t *pause);
TW_API void tw_parmacs_pause_wait(tw_parmacs_pause_t *pause);

/* tw_parmacs_condition_init, tw_parmacs_condition_wait, tw_parmacs_condition_signal, tw_parmacs_condition_broadcast - CONDVARINIT,
 * CONDVARWAIT, CONDVARSIGNAL and CONDVARBCAST.  In shared memory; the callers of the latter three hold the lock that goes with it.  A signal
 * wakes one wait for this variable, a broadcast all of them; nothing else does. */
TW_API void tw_parmacs_condition_init(long *waiting);
TW_API void tw_parmacs_condition_wait(long *waiting, tw_lock_t lock);
TW_API void tw_parmacs_condition_signal(long *waiting);
TW_API void tw_parmacs_condition_broadcast(long *waiting);

/* tw_parmacs_atomic_begin, tw_parmacs_atomic_end - around an access to the shared word at @ptr by FETCH_ADD and its kin,
 * which then is atomic among these, an acquire and a release.  Not to be nested. */
TW_API void tw_parmacs_atomic_begin(const volatile void *ptr);
TW_API void tw_parmacs_atomic_end(const volatile void *ptr);

/* tw_parmacs_clock - CLOCK: the time of day in microseconds. */
TW_API unsigned long tw_parmacs_clock(void);
/* tw_parmacs_measure - SPLASH3_ROI_BEGIN (1) and SPLASH3_ROI_END (0): statistics are of what processor 0 does between them, and
 * of the functions that workers begin there. */
TW_API void tw_parmacs_measure(int begin);

#ifdef __cplusplus
}
#endif
#endif
