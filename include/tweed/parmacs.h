/* SPDX-License-Identifier: BSD-3-Clause */
/* parmacs.h - what the PARMACS macros of share/tweed/tweed.m4 expand to (doc/guide/splash.md).
 *
 * A program that uses them is linked by `tweed cc --parmacs`.  It joins the job before main().  Only processor 0 runs
 * main(); the other processors are workers that run the functions passed to CREATE.
 *
 * Context: as in tweed.h.  Workers of one CREATE start their function one after another: the first synchronization
 * macro in a worker's function lets the next worker start.  So a program that numbers its processors by a shared
 * counter gets the job's order. */
#ifndef TWEED_PARMACS_H
#define TWEED_PARMACS_H

#ifdef bool
#include <tweed/tweed.h>
#else
#include <tweed/tweed.h>
#ifndef __cplusplus
/* Programs older than C99 define these names themselves; other programs may include <stdbool.h> after this header. */
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

/* BARDEC and PAUSEDEC.  A lock is a tw_lock_t.  A condition variable is a long, the number of waiters, because some
 * programs declare it before they include this header. */
typedef struct tw_parmacs_barrier {
	tw_barrier_t barrier;
	long n;                          /* 0: not known yet */
	struct tw_parmacs_barrier *more; /* barriers for other counts */
} tw_parmacs_barrier_t;
typedef struct {
	tw_lock_t lock;
	tw_flag_t posted;
	uint64_t posts, waits;
} tw_parmacs_pause_t;

/* tw_parmacs_create - CREATE.  Processor 0 only; on others, the job ends with a sentence.
 * @n > 0: run @function on processors 0 to n - 1 and return when processor 0's call has returned.  First waits for
 * workers among them that still run an earlier function.  @n = 0: start @function on an idle processor and return at
 * once.
 * Each worker sees the program's global variables as they are at this call, or shares them (`tweed cc
 * --shared-globals`).  When the job has too few processors, it ends with a sentence. */
TW_API void tw_parmacs_create(void (*function)(void), long n);
/* tw_parmacs_join - WAIT_FOR_END: wait until every worker has returned; an acquire.  Processor 0 only. */
TW_API void tw_parmacs_join(void);

/* tw_parmacs_malloc - G_MALLOC: @bytes of zeroed shared memory, on any processor.  When none is left, the job ends with
 * a sentence. */
TW_API void *tw_parmacs_malloc(size_t bytes) __attribute__((malloc));

/* tw_parmacs_locks_init - ALOCKINIT: create @n locks.  tw_parmacs_unlock - UNLOCK. */
TW_API void tw_parmacs_locks_init(tw_lock_t *locks, long n);
TW_API void tw_parmacs_unlock(tw_lock_t lock);

/* tw_parmacs_barrier_init, tw_parmacs_barrier_wait - BARINIT and BARRIER.  The @n of the wait counts.  Where it differs
 * from the @n of the initialization, or that was 0, the barrier must be in shared memory, and each wait takes one more
 * lock. */
TW_API void tw_parmacs_barrier_init(tw_parmacs_barrier_t *barrier, long n);
TW_API void tw_parmacs_barrier_wait(tw_parmacs_barrier_t *barrier, long n);

/* tw_parmacs_pause_init, tw_parmacs_pause_set, tw_parmacs_pause_wait - PAUSEINIT, SETPAUSE and WAITPAUSE: a counting
 * semaphore in shared memory.  A set is a release.  A wait is an acquire and consumes one set. */
TW_API void tw_parmacs_pause_init(tw_parmacs_pause_t *pause);
TW_API void tw_parmacs_pause_set(tw_parmacs_pause_t *pause);
TW_API void tw_parmacs_pause_wait(tw_parmacs_pause_t *pause);

/* tw_parmacs_condition_init, tw_parmacs_condition_wait, tw_parmacs_condition_signal, tw_parmacs_condition_broadcast -
 * CONDVARINIT, CONDVARWAIT, CONDVARSIGNAL and CONDVARBCAST.  @waiting is in shared memory.  Callers of the last three
 * hold the lock that belongs to the variable.  A signal wakes one wait for this variable, a broadcast all of them;
 * there are no spurious wakeups. */
TW_API void tw_parmacs_condition_init(long *waiting);
TW_API void tw_parmacs_condition_wait(long *waiting, tw_lock_t lock);
TW_API void tw_parmacs_condition_signal(long *waiting);
TW_API void tw_parmacs_condition_broadcast(long *waiting);

/* tw_parmacs_atomic - an operation of FETCH_ADD and its kin on the aligned word of @bytes bytes, 4 or 8, in shared
 * memory: a release and an acquire.  @expect: of TW_PARMACS_COMPARE_EXCHANGE.  TW_PARMACS_ADD_REAL: of floating point.
 * Words have their value in the low bytes.  Returns the previous value. */
enum tw_parmacs_op {
	TW_PARMACS_LOAD,
	TW_PARMACS_STORE,
	TW_PARMACS_ADD,
	TW_PARMACS_ADD_REAL,
	TW_PARMACS_COMPARE_EXCHANGE
};
TW_API unsigned long tw_parmacs_atomic(volatile void *word, size_t bytes, enum tw_parmacs_op op, unsigned long value,
                                       unsigned long expect);

/* tw_parmacs_clock - CLOCK: the time of day in microseconds. */
TW_API unsigned long tw_parmacs_clock(void);
/* tw_parmacs_measure - SPLASH3_ROI_BEGIN (1) and SPLASH3_ROI_END (0): limit the statistics to what processor 0 does
 * between the two, and to the functions that workers start in that time. */
TW_API void tw_parmacs_measure(int begin);

#ifdef __cplusplus
}
#endif
#endif
