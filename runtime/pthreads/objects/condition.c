/* SPDX-License-Identifier: BSD-3-Clause */
/* condition.c - condition variables.  There are no spurious wakeups: POSIX allows them, but some programs rely on their
 * absence. */
#include <errno.h>

#include "runtime/pthreads/pthreads.h"
#include "sync/sync.h"

struct pt_condition {
	clockid_t clock;
};
_Static_assert(sizeof(struct pt_condition) <= sizeof(pthread_cond_t) && CLOCK_REALTIME == 0,
               "it fits, and zeros are one");

int tw_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attr)
{
	struct pt_condition c = {CLOCK_REALTIME};

	if (attr)
		pthread_condattr_getclock(attr, &c.clock);
	*(struct pt_condition *)condition = c;
	return 0;
}

int tw_pthread_cond_destroy(pthread_cond_t *condition)
{
	(void)condition;
	return 0;
}

static int condition_wake(pthread_cond_t *condition, unsigned most)
{
	if (pt_enter() && !tw_wait_queue_none(condition))
		tw_wait_queue_wake(tw_wait_queue_lock(condition), condition, most);
	return 0;
}

static int condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until)
{
	if (!pt_enter())
		return pt_alone_until("pthread_cond_wait", until) == ETIMEDOUT ? ETIMEDOUT : 0;
	if (!pt_mutex_mine(mutex))
		return EPERM;
	pt_interruptible();
	struct tw_wait_queue *queue = tw_wait_queue_lock(condition);
	uint64_t ticket = pt_join(queue, condition);
	tw_sync_waits_next = true;
	tw_wait_queue_unlock(queue);
	uint32_t count = pt_mutex_give(mutex);
	tw_sync_waits_next = false;
	int error = tw_wait_queue_wait(condition, ticket, until) ? 0 : ETIMEDOUT;
	if (error)
		th_order(); /* a sleep: the thread may then read a plain variable, which others have stored */
	int taken = pt_mutex_take(mutex, count);
	if (pt_cancel_due && pt_cancel_due()) {
		condition_wake(condition, 1); /* the wake may have been a signal, which is another thread's then */
		pt_cancel_end();
	}
	return taken ? taken : error;
}

int tw_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	return condition_wait(condition, mutex, 0);
}

int tw_pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                              const struct timespec *at)
{
	uint64_t until = pt_until(clock, at);
	return until ? condition_wait(condition, mutex, until) : EINVAL;
}

int tw_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *at)
{
	return tw_pthread_cond_clockwait(condition, mutex, ((struct pt_condition *)condition)->clock, at);
}

int tw_pthread_cond_signal(pthread_cond_t *condition)
{
	return condition_wake(condition, 1);
}

int tw_pthread_cond_broadcast(pthread_cond_t *condition)
{
	return condition_wake(condition, TW_WAKE_ALL);
}
