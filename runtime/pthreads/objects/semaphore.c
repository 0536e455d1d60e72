/* SPDX-License-Identifier: BSD-3-Clause */
/* semaphore.c - unnamed semaphores. */
#include <errno.h>
#include <limits.h>
#include <semaphore.h>

#include "runtime/pthreads/pthreads.h"

struct pt_semaphore {
	unsigned value; /* under its wait queue's lock */
};
_Static_assert(sizeof(struct pt_semaphore) <= sizeof(sem_t), "it fits");

static int semaphore_fail(int error)
{
	errno = error;
	return -1;
}

int tw_sem_init(sem_t *semaphore, int shared, unsigned value)
{
	(void)shared;
	if (value > SEM_VALUE_MAX)
		return semaphore_fail(EINVAL);
	((struct pt_semaphore *)semaphore)->value = value;
	return 0;
}

int tw_sem_destroy(sem_t *semaphore)
{
	(void)semaphore;
	return 0;
}

sem_t *tw_sem_open(const char *name, int flags, ...)
{
	(void)name;
	(void)flags;
	th_refuse("sem_open: named semaphores are not supported: use sem_init");
}

/* 0, or an error. */
static int semaphore_take(sem_t *semaphore, bool wait, uint64_t until)
{
	struct pt_semaphore *s = (struct pt_semaphore *)semaphore;
	int error = wait ? 0 : EAGAIN;

	if (!pt_enter())
		return 0;
	struct tw_wait_queue *queue = tw_wait_queue_lock(s);
	while (!s->value && !error) {
		uint64_t ticket = pt_join(queue, s);
		tw_wait_queue_unlock(queue);
		error = tw_wait_queue_wait(s, ticket, until) ? 0 : ETIMEDOUT;
		queue = tw_wait_queue_lock(s);
	}
	if (s->value) {
		s->value--;
		error = 0;
	}
	tw_wait_queue_unlock(queue);
	return error;
}

static int semaphore_result(int error)
{
	return error ? semaphore_fail(error) : 0;
}

int tw_sem_wait(sem_t *semaphore)
{
	return semaphore_result(semaphore_take(semaphore, true, 0));
}

int tw_sem_trywait(sem_t *semaphore)
{
	return semaphore_result(semaphore_take(semaphore, false, 0));
}

int tw_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *at)
{
	uint64_t until = pt_until(clock, at);
	return semaphore_result(until ? semaphore_take(semaphore, true, until) : EINVAL);
}

int tw_sem_timedwait(sem_t *semaphore, const struct timespec *at)
{
	return tw_sem_clockwait(semaphore, CLOCK_REALTIME, at);
}

int tw_sem_post(sem_t *semaphore)
{
	struct pt_semaphore *s = (struct pt_semaphore *)semaphore;

	if (!pt_enter())
		return 0;
	struct tw_wait_queue *queue = tw_wait_queue_lock(s);
	bool full = s->value == SEM_VALUE_MAX;
	s->value += !full;
	tw_wait_queue_wake(queue, s, 1);
	return full ? semaphore_fail(EOVERFLOW) : 0;
}

int tw_sem_getvalue(sem_t *semaphore, int *value)
{
	struct pt_semaphore *s = (struct pt_semaphore *)semaphore;

	if (!pt_enter())
		return 0;
	struct tw_wait_queue *queue = tw_wait_queue_lock(s);
	*value = (int)s->value;
	tw_wait_queue_unlock(queue);
	return 0;
}
