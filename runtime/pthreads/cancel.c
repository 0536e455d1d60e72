/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel.c - pthread_cancel.  Linked to programs that call it; only their threads look whether they are cancelled.
 *
 * A cancelled thread ends where it waits by a queue.  First it is marked, then its entry is searched in each queue,
 * under the queue's lock, and woken.  A thread looks at its mark with the lock of a queue before it enters itself
 * there: either it sees the mark, or the search finds the entry. */
#include <errno.h>

#include "runtime/pthreads/posix.h"
#include "runtime/pthreads/thread.h"

bool pt_cancel_due(void)
{
	return pt_own.thread && pt_own.thread->cancelled && pt_cancel_state == PTHREAD_CANCEL_ENABLE;
}

void pt_cancel_end(void)
{
	pt_cancel_state = PTHREAD_CANCEL_DISABLE;
	tw_pthread_exit(PTHREAD_CANCELED);
}

void pt_cancel_look(void)
{
	if (!pt_own.thread || !pt_enter())
		return;
	struct tw_wait_queue *queue = tw_wait_queue_lock(pt_own.thread);
	bool due = pt_cancel_due();
	tw_wait_queue_unlock(queue);
	if (due)
		pt_cancel_end();
}

int tw_pthread_cancel(pthread_t thread)
{
	if (!pt_enter())
		return ESRCH;
	pt_threads_open();
	struct thread *t = pt_thread_find(thread);
	if (!t)
		return ESRCH;
	struct tw_wait_queue *queue = pt_threads_lock();
	if (t->live && !t->ended)
		t->cancelled = true;
	tw_wait_queue_unlock(queue);
	tw_wait_queue_end(t->waits);
	return 0;
}
