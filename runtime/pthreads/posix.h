/* SPDX-License-Identifier: BSD-3-Clause */
/* posix.h - POSIX's functions as the program's calls are renamed (include/tweed/threads.h), for those of C11 and C++,
 * which are made of them. */
#ifndef TW_RUNTIME_PTHREADS_POSIX_H
#define TW_RUNTIME_PTHREADS_POSIX_H

#include <pthread.h>
#include <time.h>

int tw_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *arg), void *arg);
int tw_pthread_join(pthread_t thread, void **result);
int tw_pthread_detach(pthread_t thread);
void tw_pthread_exit(void *result) __attribute__((noreturn));
int tw_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int tw_pthread_mutex_destroy(pthread_mutex_t *mutex);
int tw_pthread_mutex_lock(pthread_mutex_t *mutex);
int tw_pthread_mutex_trylock(pthread_mutex_t *mutex);
int tw_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *at);
int tw_pthread_mutex_unlock(pthread_mutex_t *mutex);
int tw_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attr);
int tw_pthread_cond_destroy(pthread_cond_t *condition);
int tw_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int tw_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *at);
int tw_pthread_cond_signal(pthread_cond_t *condition);
int tw_pthread_cond_broadcast(pthread_cond_t *condition);
int tw_pthread_key_create(pthread_key_t *key, void (*destructor)(void *value));
int tw_pthread_key_delete(pthread_key_t key);
void *tw_pthread_getspecific(pthread_key_t key);
int tw_pthread_setspecific(pthread_key_t key, const void *value);
int tw_pthread_once(pthread_once_t *once, void (*function)(void));
int tw_sched_yield(void);
int tw_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left);

#endif
