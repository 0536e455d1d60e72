/* SPDX-License-Identifier: BSD-3-Clause */
/* pthreads.h - shared by the files of POSIX threads.
 *
 * Calls of the program have POSIX's names with the prefix tw_ (include/tweed/threads.h renames them), and return what
 * POSIX specifies.  An object (mutex, semaphore, ...) is in shared memory, within the size of the C library's type, and
 * has the C library's initial value: zeros except for a mutex's kind.  Each call is a release or an acquire, as POSIX's
 * memory synchronization requires. */
#ifndef TW_RUNTIME_PTHREADS_PTHREADS_H
#define TW_RUNTIME_PTHREADS_PTHREADS_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "sync/wait_queue.h"
#include "runtime/threads/baton.h"
#include "runtime/threads/support.h"

/* pt_create - pthread_create of a thread that runs @code: on the caller's processor if that belongs to a library whose
 * variables each process has for itself. */
int pt_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *arg), void *arg, const void *code);

/* pt_enter - at the start of each call that may wait or communicate.  False after the end of the job, when no other
 * processors exist. */
static inline bool pt_enter(void)
{
	if (!tw_me)
		return false;
	th_stack_reserve();
	if (__builtin_expect(th_turn_is_over > 1, 0))
		th_turn_end();
	th_due_now();
	return true;
}
/* pt_several - may the program's threads be in several processes? */
static inline bool pt_several(void)
{
	return pt_enter() && tw_count() > 1;
}

/* pt_interruptible - before a wait, without locks: handlers of the program's signals can interrupt it. */
void pt_interruptible(void);

/* pt_exit_bare - the system call exit of a thread: no handler nor destructor of the program's frames runs.  @status: of
 * the process, if there is no other thread. */
void pt_exit_bare(int status) __attribute__((noreturn));

/* pt_alone - where pt_enter() has returned false: @call of a child of fork() would wait for another thread, for ever.
 * It ends with a sentence.  Does nothing in another process. */
void pt_alone(const char *call);
/* pt_alone_until - there, a wait that no other thread can end: until @until (pt_until); 0: as pt_alone.  Returns
 * ETIMEDOUT, or EINTR after a handler; 0 if @until is 0. */
int pt_alone_until(const char *call, uint64_t until);

/* PT_OWN - before the definition of a function whose name a program in C may give to one of its own. */
#define PT_OWN __attribute__((weak))

/* pt_self - a number of the calling thread, not 0, that no other living thread of the job has. */
extern __thread uint32_t pt_number;
static inline uint32_t pt_self(void)
{
	return pt_number ? pt_number : tw_me->id + 1;
}

/* pt_until - the time @at of @clock, for tw_wait_until.  0: not a valid time. */
uint64_t pt_until(clockid_t clock, const struct timespec *at);

/* ---- cancel.c, which only programs that call pthread_cancel have
 * pt_cancel_open - by each process, before it has threads.
 * pt_cancel_due - is the calling thread to end?  With the lock of any wait queue.
 * pt_cancel_end - end it.
 * pt_cancel_look - both, without a lock.
 * pt_cancel_begin - by a thread that begins and was cancelled before. */
void pt_cancel_open(void) __attribute__((weak));
bool pt_cancel_due(void) __attribute__((weak));
void pt_cancel_end(void) __attribute__((weak, noreturn));
void pt_cancel_look(void) __attribute__((weak));
void pt_cancel_begin(void) __attribute__((weak));
/* self.c
 * pt_cancel_at_once - end the thread if it is cancelled, and may be at any time. */
void pt_cancel_at_once(void);
extern __thread int pt_cancel_state; /* self.c: pthread_setcancelstate's */
static inline void pt_cancel_point(void)
{
	if (pt_cancel_look)
		pt_cancel_look();
}
/* pt_join - tw_wait_queue_join, where a cancelled thread ends. */
static inline uint64_t pt_join(struct tw_wait_queue *queue, const volatile void *object)
{
	if (pt_cancel_due && pt_cancel_due()) {
		tw_wait_queue_unlock(queue);
		pt_cancel_end();
	}
	return tw_wait_queue_join(queue, object);
}

/* ---- objects/wait.c
 * pt_objects_open - create what all objects need: wait queues, and the table of keys.  Collective. */
void pt_objects_open(void);

/* ---- objects/mutex.c */
/* pt_mutex_give - unlock completely, before a wait; returns how often it was locked.  pt_mutex_take - lock it again, as
 * often: what pthread_mutex_lock returns. */
uint32_t pt_mutex_give(pthread_mutex_t *mutex);
int pt_mutex_take(pthread_mutex_t *mutex, uint32_t count);
/* pt_mutexes_end - release the robust mutexes that the ending thread holds. */
void pt_mutexes_end(void);
/* pt_mutex_mine - does the caller hold it, as far as its kind lets one know? */
bool pt_mutex_mine(const pthread_mutex_t *mutex);
/* pt_poll - yield for a short time, which grows with *@round: for a loop without a wakeup.  False when @until (0:
 * never) has passed. */
bool pt_poll(unsigned *round, uint64_t until);

/* ---- objects/spin.c
 * pt_spin_take, pt_spin_try, pt_spin_give, pt_spin_end - lock, try to lock, unlock, and destroy the lock in @word, in
 * the program's memory.  The word is 0 at first, but for its highest bit, which is the caller's.  Any thread may unlock
 * it.  A thread that waits lets others of its processor run.  After th_stack_reserve. */
void pt_spin_take(uint32_t *word);
bool pt_spin_try(uint32_t *word);
void pt_spin_give(uint32_t *word);
void pt_spin_end(uint32_t *word);

/* ---- kernel_aio.c
 * pt_kernel_aio - the system call @number, io_setup to io_cancel or io_pgetevents, with arguments @a, for a program of
 * several processes.  Returns its result or -errno.  io_getevents may wait.  io_pgetevents leaves the mask alone. */
long pt_kernel_aio(long number, const long a[6]);

/* ---- objects/futex.c
 * pt_futex_wait - wait for a wake of @word, until @until as in tw_wait_until, if its bits of @mask are those of @value.
 * 0, EAGAIN or ETIMEDOUT. */
int pt_futex_wait(unsigned *word, unsigned mask, unsigned value, uint64_t until);
/* pt_futex - the system call futex on @word of shared memory.  @fourth: a time, or of FUTEX_REQUEUE how many waiters
 * move; @expected: of FUTEX_CMP_REQUEUE.  Other operations than waits, wakes and these end the job. */
long pt_futex(unsigned *word, int op, unsigned value, long fourth, unsigned expected);

/* ---- blocking.c: tw_syscalls_block, tw_syscalls_wait, tw_syscalls_again. */
bool pt_block_again(void);
int pt_block(int fd, short events, const void *caller);
bool pt_wait(const struct pollfd *fds, nfds_t n, int *ms, const void *caller);

/* ---- notify.c
 * pt_notify_open - collective.
 * pt_notify - start a thread that calls @event's function.  0 or an error.
 * pt_notify_runs - does a thread of the run-time wait for timers? */
void pt_notify_open(void);
int pt_notify(const struct sigevent *event);
bool pt_notify_runs(void);

/* ---- objects/semaphore.c
 * pt_semaphores_open - create the list of those with names.  Collective. */
void pt_semaphores_open(void);

/* ---- objects/key.c */
/* pt_keys_open - collective. */
void pt_keys_open(void);
/* pt_keys_end - call the destructors of the thread's values, and drop the values. */
void pt_keys_end(void);

#endif
