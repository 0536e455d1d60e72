/* SPDX-License-Identifier: BSD-3-Clause */
/* rwlock.c - read-write locks.  Readers have priority, as in the C library, unless the lock is of the kind that prefers
 * writers and does not let a reader lock again. */
#include <errno.h>
#include <stddef.h>

#include "runtime/pthreads/pthreads.h"
#include "runtime/threads/baton.h"

struct pt_rwlock {
	uint32_t readers; /* all fields: under the lock of its wait queue */
	uint32_t writer;  /* pt_self(); 0: none */
	uint32_t writers; /* that wait */
	char unused[offsetof(pthread_rwlock_t, __data.__flags) - 3 * sizeof(uint32_t)];
	uint32_t kind; /* at the same place as in the C library's type */
};
_Static_assert(sizeof(struct pt_rwlock) <= sizeof(pthread_rwlock_t), "it fits");
_Static_assert(offsetof(struct pt_rwlock, kind) == offsetof(pthread_rwlock_t, __data.__flags),
               "the static initialisers' place");

int tw_pthread_rwlock_init(pthread_rwlock_t *rwlock, const pthread_rwlockattr_t *attr)
{
	int kind = PTHREAD_RWLOCK_DEFAULT_NP;

	if (attr)
		pthread_rwlockattr_getkind_np(attr, &kind);
	*(struct pt_rwlock *)rwlock = (struct pt_rwlock){.kind = (uint32_t)kind};
	return 0;
}

int tw_pthread_rwlock_destroy(pthread_rwlock_t *rwlock)
{
	(void)rwlock;
	return 0;
}

static bool rwlock_try(struct pt_rwlock *l, bool write)
{
	if (l->writer || (write && l->readers))
		return false;
	if (!write && l->writers && l->kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
		return false;
	if (write)
		l->writer = pt_self();
	else
		l->readers++;
	return true;
}

static int rwlock_take(pthread_rwlock_t *rwlock, bool write, bool wait, uint64_t until)
{
	struct pt_rwlock *l = (struct pt_rwlock *)rwlock;
	int error = wait ? 0 : EBUSY;
	bool taken;

	if (!pt_enter())
		return 0;
	th_lock_spun((uintptr_t)l);
	struct tw_wait_queue *queue = tw_wait_queue_lock(l);
	if (wait && l->writer == pt_self())
		error = EDEADLK;
	while (!(taken = rwlock_try(l, write)) && !error) {
		uint64_t ticket = tw_wait_queue_join(queue, l);
		l->writers += write;
		tw_wait_queue_unlock(queue);
		error = tw_wait_queue_wait(l, ticket, until) ? 0 : ETIMEDOUT;
		queue = tw_wait_queue_lock(l);
		l->writers -= write;
	}
	if (!taken && write && !l->writers && !l->writer)
		tw_wait_queue_wake(queue, l, TW_WAKE_ALL); /* readers that waited behind it */
	else
		tw_wait_queue_unlock(queue);
	return taken ? 0 : error;
}

int tw_pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
	struct pt_rwlock *l = (struct pt_rwlock *)rwlock;

	if (!pt_enter())
		return 0;
	struct tw_wait_queue *queue = tw_wait_queue_lock(l);
	int error = l->writer ? l->writer == pt_self() ? 0 : EPERM : l->readers ? 0 : EPERM;
	if (!error && l->writer)
		l->writer = 0;
	else if (!error)
		l->readers--;
	if (l->readers)
		tw_wait_queue_unlock(queue);
	else
		tw_wait_queue_wake(queue, l, TW_WAKE_ALL);
	return error;
}

#define RWLOCK(name, write)                                                                                            \
	int tw_pthread_rwlock_##name(pthread_rwlock_t *rwlock)                                                         \
	{                                                                                                              \
		return rwlock_take(rwlock, write, true, 0);                                                            \
	}                                                                                                              \
	int tw_pthread_rwlock_try##name(pthread_rwlock_t *rwlock)                                                      \
	{                                                                                                              \
		return rwlock_take(rwlock, write, false, 0);                                                           \
	}                                                                                                              \
	int tw_pthread_rwlock_clock##name(pthread_rwlock_t *rwlock, clockid_t clock, const struct timespec *at)        \
	{                                                                                                              \
		uint64_t until = pt_until(clock, at);                                                                  \
		return until ? rwlock_take(rwlock, write, true, until) : EINVAL;                                       \
	}                                                                                                              \
	int tw_pthread_rwlock_timed##name(pthread_rwlock_t *rwlock, const struct timespec *at)                         \
	{                                                                                                              \
		return tw_pthread_rwlock_clock##name(rwlock, CLOCK_REALTIME, at);                                      \
	}
RWLOCK(rdlock, false)
RWLOCK(wrlock, true)
