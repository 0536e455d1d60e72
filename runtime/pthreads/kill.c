/* SPDX-License-Identifier: BSD-3-Clause */
/* kill.c - signals to a thread. */
#include <errno.h>

#include "core/base/signals.h"
#include "runtime/process/events/events.h"
#include "runtime/process/hosts/first_host.h"
#include "runtime/pthreads/thread.h"

/* The identity of a thread that has begun; *@tid 0: it has ended, and is not joined yet.  Returns an error's number. */
static int kill_identity(struct thread *t, pid_t *pid, pid_t *tid)
{
	unsigned round = 0;

	for (;;) {
		struct tw_wait_queue *queue = pt_threads_lock();
		bool live = t->live, ended = t->ended;
		*pid = t->pid;
		*tid = ended ? 0 : t->tid;
		tw_wait_queue_unlock(queue);
		if (!live || ended || *tid)
			return live ? 0 : ESRCH;
		pt_poll(&round, 0);
	}
}

static int kill_send(const struct thread *t, pid_t pid, pid_t tid, int number, int code, const union sigval *value)
{
	unsigned node = t->processor / (unsigned)tw_me->config.processors;

	return th_signals_send(th_hosts_of(node), pid, tid, number, code, value);
}

void pt_cancel_send(const struct thread *t, pid_t pid, pid_t tid)
{
	kill_send(t, pid, tid, TW_TURN_SIGNAL, SI_QUEUE, &(union sigval){.sival_int = TH_TURN_CANCEL});
}

static int kill_thread(pthread_t thread, int number, int code, const union sigval *value)
{
	pid_t pid, tid;

	if (number < 0 || number >= NSIG)
		return EINVAL;
	if (!pt_enter())
		return thread == pthread_self() ? pthread_kill(thread, number) : ESRCH;
	pt_threads_open();
	struct thread *t = pt_thread_find(thread);
	int error = t ? kill_identity(t, &pid, &tid) : ESRCH;
	if (error)
		return error;
	if (!tid) /* as the C library has it */
		return code == SI_TKILL ? 0 : ESRCH;
	return kill_send(t, pid, tid, number, code, value);
}

int tw_pthread_kill(pthread_t thread, int number)
{
	return kill_thread(thread, number, SI_TKILL, NULL);
}

int tw_pthread_sigqueue(pthread_t thread, int number, const union sigval value)
{
	return kill_thread(thread, number, SI_QUEUE, &value);
}
