/* SPDX-License-Identifier: BSD-3-Clause */
/* baton.h - several threads of a program on one processor.
 *
 * They are threads of the processor's process, and one of them has the baton: it alone runs the program and calls
 * Tweed. It gives the baton to the next thread that can run where it waits, sleeps or yields.  A thread that waits has
 * a condition, which the thread with the baton tests in its place.  When no thread can run, the one that waited last
 * keeps the baton and waits for all of them.
 *
 * A processor that runs program threads has a dispatcher, too, a thread that starts them and waits for their ends. */
#ifndef TW_RUNTIME_THREADS_BATON_H
#define TW_RUNTIME_THREADS_BATON_H

#include <signal.h>

#include "runtime/threads/support.h"

/* th_crowd - threads of the program on this processor. */
extern unsigned th_crowd;

/* th_baton_open - the caller is the first thread of its processor to have the baton.  @dispatcher: and its
 * dispatcher. */
void th_baton_open(bool dispatcher);
/* th_baton_dispatcher - start a dispatcher with a private stack, which runs @work. */
void th_baton_dispatcher(void (*work)(void));
/* th_baton_start - by the dispatcher: start a thread on the stack @stack (th_stack_create), which runs @run(@arg), and
 * at its end, after the destructors of its thread_local variables, @end(@arg).  Then the stack can be used again: the
 * dispatcher continues when the thread is gone. */
struct th_baton_work {
	void (*run)(void *arg);
	void (*end)(void *arg);
};
void th_baton_start(char *stack, const struct th_baton_work *work, void *arg);

/* th_wait - as tw_wait_until: other threads run meanwhile.  @ready may be called in any thread of the processor.
 * th_sleep - wait until @until_ns; returns false when a signal has ended it.
 * th_yield - let others run that can. */
bool th_wait(bool (*ready)(void *arg), void *arg, uint64_t until_ns);
bool th_sleep(uint64_t until_ns);
void th_yield(void);

/* th_spun - the program operates on @at, or on something unknown (NULL).  If it does so again and again, it may be in a
 * loop that waits for another thread: yields now and then. */
void th_spun_often(void);
extern unsigned th_spins;
#define TH_SPINS 64u
#define TH_SPUN  8u
extern const volatile void *th_spun_at[TH_SPUN];
static inline void th_spun(const volatile void *at)
{
	if (__builtin_expect(!th_siblings, 1))
		return;
	const volatile void **last = &th_spun_at[(uintptr_t)at / 4 % TH_SPUN];
	if (*last != at) {
		*last = at;
		th_spins = 0;
	}
	if (++th_spins >= TH_SPINS || th_turn_is_over)
		th_spun_often();
}
/* th_lock_spun - the same before the program takes a lock; @id: the lock's number, or its address. */
void th_lock_spun(uint64_t id);

/* th_away - the calling thread is about to block in the kernel: others run until th_back.  In between it must neither
 * call Tweed nor access shared memory other than its own stack.  th_back preserves errno. */
void th_away(void);
void th_back(void);

/* ---- cancellation points in the kernel
 * th_point_begin, th_point_end - about a call that waits in the kernel, behind th_away and before th_back:
 * pthread_cancel of the calling thread ends it there, even before the wait, and the call does not return.  @mask: the
 * thread's own, where another one is set for the call; NULL: it is not.
 * th_point_look - end it, if it is cancelled; NULL: no thread ever is. */
extern __thread volatile bool th_point;
extern __thread const sigset_t *th_point_mask;
extern void (*th_point_look)(void);
static inline void th_point_begin(const sigset_t *mask)
{
	th_point_mask = mask;
	th_point = true;
	if (th_point_look)
		th_point_look();
}
static inline void th_point_end(void)
{
	th_point = false;
}

/* ---- turns.c
 * th_turns_open - @ordered: are there threads to be started?  Called in any thread of the process.
 * th_turns_take - take the signal.
 * th_turns_begin, th_turns_end - from now on, threads that compute take turns; before the job's end: no more. */
void th_turns_open(bool (*ordered)(void));
void th_turns_take(void);
void th_turns_begin(void);
void th_turns_end(void);
/* th_turns_check - end the job if threads could not take turns in it. */
void th_turns_check(void);
/* th_turn_came - since th_away, the signal of a turn has interrupted the calling thread: it comes late at times. */
extern __thread volatile bool th_turn_came;
/* th_turn_look - called in the handler where it has interrupted the program's code, which it may leave for good; NULL:
 * none. */
extern void (*_Atomic th_turn_look)(const sigset_t *mask);
/* th_turn_cancel - called in the handler of TW_TURN_SIGNAL where another thread has sent it with TH_TURN_CANCEL; NULL:
 * none ever does. */
#define TH_TURN_CANCEL 0x7467
extern void (*th_turn_cancel)(const siginfo_t *si, void *uc);

/* ---- baton.c, atomic.c, for turns.c
 * th_baton_turn - the number of the turn; 0: no thread runs.  *@tid: the thread with the baton.  In any thread.
 * th_baton_interrupt - the calling thread's handler has interrupted the program: if it has the baton, others run; then
 * th_turn_look is called with @mask, the program's; NULL: in the midst of a call.
 * th_atomic_inside - is it inside an atomic instruction of the program's assembler? */
uint64_t th_baton_turn(int32_t *tid);
void th_baton_interrupt(const sigset_t *mask);
bool th_atomic_inside(void);
/* th_turn_point - atomic.c: call the thread's handlers that are due, and end its turn if that is over.  [on the
 * program's stack, reserved] */
void th_turn_point(void);

/* th_atomic_before - is called before the process's next atomic operation; NULL: nothing. */
extern void (*th_atomic_before)(void);

/* For handlers of the program's signals (runtime/process/events/signals.c), all async-signal-safe:
 * th_turn_program - has the signal with this context interrupted the program's own code, outside of such atomics?
 * th_baton_mine - does the calling thread run, with the baton?
 * th_baton_due - th_due is to be called in the calling thread; if it waits, the wait is interrupted for that.
 * th_due - call the thread's handlers that were deferred; returns 0: there was none; 1; 2: one of them makes calls that
 * wait fail with EINTR.  NULL: none ever.
 * th_due_now - the same, if it is due. */
bool th_turn_program(const void *context);
bool th_baton_mine(void);
void th_baton_due(void);
extern unsigned (*th_due)(void);
extern __thread volatile bool th_due_here;
static inline unsigned th_due_now(void)
{
	return __builtin_expect(th_due_here, 0) && th_due ? th_due() : 0;
}

/* th_baton_stacks - call @each for the stacks of all threads; false: this processor's thread does not pass the
 * baton. */
bool th_baton_stacks(void (*each)(char *stack, void *arg), void *arg);

/* th_baton_rest - the calling thread has the baton and gives it away for good.  When *@resting is incremented, it does
 * not use its stack any more, which may be unmapped; it remains until the process ends. */
void th_baton_rest(_Atomic uint32_t *resting) __attribute__((noreturn));

/* th_baton_forget - in a child of fork, which has one thread. */
void th_baton_forget(void);

#endif
