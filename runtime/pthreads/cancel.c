/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel.c - pthread_cancel.  Linked to programs that call it; only their threads look whether they are cancelled.
 *
 * A cancelled thread ends where it waits by a queue.  First it is marked, then its entry is searched in each queue,
 * under the queue's lock, and woken.  A thread looks at its mark with the lock of a queue before it enters itself
 * there: either it sees the mark, or the search finds the entry.
 *
 * In the kernel it ends by a signal, whose handler notes that it came.  The thread first stores that its call may be
 * ended, then looks at the note: so either it finds the note, or the handler finds that store.  Both are volatile
 * variables of one thread, so their order is the program's. */
#include <errno.h>

#include "core/base/signals.h"
#include "core/coherence/shootdown.h"
#include "core/process/syscalls.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/frame.h"
#include "runtime/process/streams/stdio.h"
#include "runtime/pthreads/posix.h"
#include "runtime/pthreads/thread.h"

static __thread volatile bool cancel_came;

static bool cancel_may(void)
{
	return pt_own.thread && pt_cancel_state == PTHREAD_CANCEL_ENABLE;
}

bool pt_cancel_due(void)
{
	return cancel_may() && pt_own.thread->cancelled;
}

void pt_cancel_end(void)
{
	pt_cancel_state = PTHREAD_CANCEL_DISABLE;
	tw_pthread_exit(PTHREAD_CANCELED);
}

/* Perhaps in the midst of a call in the kernel. */
static void __attribute__((noreturn)) cancel_now(void)
{
	th_point = tw_syscalls_blocked = false;
	th_back();
	th_stack_reserve();
	th_signals_wait_with(NULL);
	th_stdio_abandon();
	pt_cancel_end();
}

/* In a call that is made without the baton, too. */
static void cancel_look(void)
{
	if (!cancel_came || !cancel_may() || !tw_me)
		return;
	if (th_point && th_point_mask)
		pthread_sigmask(SIG_SETMASK, th_point_mask, NULL);
	cancel_now();
}

/* The signal may be on its way where the thread knows by other means that it was sent. */
void pt_cancel_look(void)
{
	if (tw_me && pt_cancel_due())
		cancel_came = true;
	cancel_look();
}

void pt_cancel_begin(void)
{
	cancel_came = true;
}

/* On the thread's stack. */
static void cancel_here(int signal, siginfo_t *info, void *uc)
{
	const ucontext_t *context = uc;

	(void)signal, (void)info;
	pthread_sigmask(SIG_SETMASK, th_point && th_point_mask ? th_point_mask : &context->uc_sigmask, NULL);
	cancel_now();
}

/* In a handler. */
static void cancel_signalled(const siginfo_t *info, void *uc)
{
	cancel_came = th_turn_came = tw_shootdown_came = true;
	if ((th_point || tw_syscalls_blocked) && cancel_may())
		th_frame_call(uc, info, cancel_here);
}

void pt_cancel_open(void)
{
	th_turn_cancel = cancel_signalled;
	th_point_look = tw_syscalls_look = cancel_look;
}

int tw_pthread_cancel(pthread_t thread)
{
	pid_t pid, tid = 0;

	if (!pt_enter())
		return ESRCH;
	pt_threads_open();
	struct thread *t = pt_thread_find(thread);
	if (!t)
		return ESRCH;
	struct tw_wait_queue *queue = pt_threads_lock();
	bool live = t->live && !t->ended;
	t->cancelled |= live;
	if (live)
		tid = t->tid; /* 0: it has not begun, and looks at its mark then */
	pid = t->pid;
	tw_wait_queue_unlock(queue);
	if (thread == pthread_self()) {
		cancel_came = true;
		pt_cancel_at_once();
		return 0;
	}
	tw_wait_queue_end(t->waits);
	if (tid)
		pt_cancel_send(t, pid, tid);
	return 0;
}
