/* SPDX-License-Identifier: BSD-3-Clause */
/* c11.c - the objects of C11's <threads.h>: those of POSIX, by other names. */
#include <errno.h>
#include <threads.h>

#include "runtime/pthreads/pthreads.h"
#include "runtime/pthreads/posix.h"

_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && sizeof(cnd_t) >= sizeof(pthread_cond_t) &&
                   sizeof(once_flag) >= sizeof(pthread_once_t) && sizeof(tss_t) == sizeof(pthread_key_t),
               "as in the C library");

static int c11_result(int error)
{
	return error == 0           ? thrd_success
	       : error == EBUSY     ? thrd_busy
	       : error == ETIMEDOUT ? thrd_timedout
	       : error == ENOMEM    ? thrd_nomem
	                            : thrd_error;
}

static pthread_mutex_t *c11_mutex(mtx_t *mutex)
{
	return (pthread_mutex_t *)(void *)mutex;
}

static pthread_cond_t *c11_condition(cnd_t *condition)
{
	return (pthread_cond_t *)(void *)condition;
}

PT_OWN int tw_mtx_init(mtx_t *mutex, int type)
{
	pthread_mutexattr_t attr;

	if (type & ~(mtx_recursive | mtx_timed))
		return thrd_error;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
	return c11_result(tw_pthread_mutex_init(c11_mutex(mutex), &attr));
}

PT_OWN void tw_mtx_destroy(mtx_t *mutex)
{
	tw_pthread_mutex_destroy(c11_mutex(mutex));
}

PT_OWN int tw_mtx_lock(mtx_t *mutex)
{
	return c11_result(tw_pthread_mutex_lock(c11_mutex(mutex)));
}

PT_OWN int tw_mtx_trylock(mtx_t *mutex)
{
	return c11_result(tw_pthread_mutex_trylock(c11_mutex(mutex)));
}

PT_OWN int tw_mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict at)
{
	return c11_result(tw_pthread_mutex_timedlock(c11_mutex(mutex), at));
}

PT_OWN int tw_mtx_unlock(mtx_t *mutex)
{
	return c11_result(tw_pthread_mutex_unlock(c11_mutex(mutex)));
}

PT_OWN int tw_cnd_init(cnd_t *condition)
{
	return c11_result(tw_pthread_cond_init(c11_condition(condition), NULL));
}

PT_OWN void tw_cnd_destroy(cnd_t *condition)
{
	tw_pthread_cond_destroy(c11_condition(condition));
}

PT_OWN int tw_cnd_wait(cnd_t *condition, mtx_t *mutex)
{
	return c11_result(tw_pthread_cond_wait(c11_condition(condition), c11_mutex(mutex)));
}

PT_OWN int tw_cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict at)
{
	return c11_result(tw_pthread_cond_timedwait(c11_condition(condition), c11_mutex(mutex), at));
}

PT_OWN int tw_cnd_signal(cnd_t *condition)
{
	return c11_result(tw_pthread_cond_signal(c11_condition(condition)));
}

PT_OWN int tw_cnd_broadcast(cnd_t *condition)
{
	return c11_result(tw_pthread_cond_broadcast(c11_condition(condition)));
}

PT_OWN int tw_tss_create(tss_t *key, tss_dtor_t destructor)
{
	return c11_result(tw_pthread_key_create(key, destructor));
}

PT_OWN void tw_tss_delete(tss_t key)
{
	tw_pthread_key_delete(key);
}

PT_OWN void *tw_tss_get(tss_t key)
{
	return tw_pthread_getspecific(key);
}

PT_OWN int tw_tss_set(tss_t key, void *value)
{
	return c11_result(tw_pthread_setspecific(key, value));
}

PT_OWN void tw_call_once(once_flag *flag, void (*function)(void))
{
	tw_pthread_once((pthread_once_t *)(void *)flag, function);
}

PT_OWN void tw_thrd_yield(void)
{
	tw_sched_yield();
}

PT_OWN int tw_thrd_sleep(const struct timespec *time, struct timespec *left)
{
	int error = tw_clock_nanosleep(CLOCK_REALTIME, 0, time, left);
	return error == EINTR ? -1 : error ? -2 : 0;
}
