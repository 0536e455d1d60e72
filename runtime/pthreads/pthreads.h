/* SPDX-License-Identifier: BSD-3-Clause */
/* pthreads.h - what the files of POSIX threads share.
 *
 * A program's calls have the names of POSIX behind tw_ (include/tweed/threads.h renames them), and return what POSIX says.  An object (mutex,
 * semaphore, ...) is in shared memory, in the bytes that the C library's type has; its initial value is the C library's as well: zeros
 * but for a mutex's kind.  Each call is a release or an acquire, as POSIX's memory synchronization wants it. */
#ifndef TW_RUNTIME_PTHREADS_PTHREADS_H
#define TW_RUNTIME_PTHREADS_PTHREADS_H

#include <pthread.h>
#include <time.h>

#include "sync/wait_queue.h"
#include "runtime/threads/support.h"

/* pt_enter - at the beginning of each call that may wait or talk to others.  False after the end of the job, when there are no others;
 * pt_leave - the same before a release: what was printed is seen before what others print after it. */
static inline bool pt_enter(void)
{
	if (!tw_me)
		return false;
	th_stack_reserve();
	return true;
}
static inline bool pt_leave(void)
{
	th_flush();
	return pt_enter();
}

/* pt_until - the moment @at of @clock, for tw_wait_until.  0: it is no time. */
uint64_t pt_until(clockid_t clock, const struct timespec *at);

/* ---- wait.c
 * pt_objects_open - make what all objects need: wait queues, and the table of keys.  Collective. */
void pt_objects_open(void);
/* pt_flag_wait - until @flag is at least @number, an acquire; or false, @until has passed (0: no limit). */
bool pt_flag_wait(tw_flag_t flag, uint64_t number, uint64_t until);

/* ---- mutex.c */
/* pt_mutex_give - unlock wholly, for a wait; how often it was locked.  pt_mutex_take - lock it again, as often. */
uint32_t pt_mutex_give(pthread_mutex_t *mutex);
void pt_mutex_take(pthread_mutex_t *mutex, uint32_t count);
/* pt_poll - give way for a short time, which grows with *@round: in a loop that nobody wakes.  False when @until (0: never) has passed. */
bool pt_poll(unsigned *round, uint64_t until);

/* ---- key.c */
/* pt_keys_open - collective. */
void pt_keys_open(void);
/* pt_keys_end - call the destructors of the thread's values, and forget the values. */
void pt_keys_end(void);

#endif
