/* SPDX-License-Identifier: BSD-3-Clause */
/* self.c - functions that only affect the caller's own thread. */
#include "runtime/pthreads/pthreads.h"

/* `tweed run` decides where and how threads run: for other threads, such hints have no effect. */
#define HINT(name, parameters, ...)                                                                                    \
	int tw_##name parameters                                                                                       \
	{                                                                                                              \
		return thread == pthread_self() ? name(__VA_ARGS__) : 0;                                               \
	}
HINT(pthread_setaffinity_np, (pthread_t thread, size_t bytes, const cpu_set_t *set), thread, bytes, set)
HINT(pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *how), thread, policy, how)
HINT(pthread_setschedprio, (pthread_t thread, int priority), thread, priority)
HINT(pthread_setname_np, (pthread_t thread, const char *name), thread, name)

/* Queries about other threads return the caller's values. */
#define ASK(name, parameters, ...)                                                                                     \
	int tw_##name parameters                                                                                       \
	{                                                                                                              \
		(void)thread;                                                                                          \
		return name(__VA_ARGS__);                                                                              \
	}
ASK(pthread_getaffinity_np, (pthread_t thread, size_t bytes, cpu_set_t *set), pthread_self(), bytes, set)
ASK(pthread_getschedparam, (pthread_t thread, int *policy, struct sched_param *how), pthread_self(), policy, how)
ASK(pthread_getname_np, (pthread_t thread, char *name, size_t bytes), pthread_self(), name, bytes)
ASK(pthread_getcpuclockid, (pthread_t thread, clockid_t *clock), pthread_self(), clock)
ASK(pthread_getattr_np, (pthread_t thread, pthread_attr_t *attr), pthread_self(), attr)
