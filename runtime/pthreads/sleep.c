/* SPDX-License-Identifier: BSD-3-Clause */
/* sleep.c - functions by which a thread lets others run: those of its processor, too.  Programs wait for plain
 * variables between sleeps.  So these are a release before the sleep and an acquire after it (th_order). */
#include <errno.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/coherence/shootdown.h"
#include "runtime/pthreads/pthreads.h"
#include "runtime/threads/baton.h"

/* A processor with one thread sleeps in the kernel, where signals end it; not in virtual time. */
static bool sleep_alone(void)
{
	th_order();
	pt_cancel_point();
	return !tw_me || (!th_siblings && !tw_virtual);
}

/* Returns the nanoseconds left when a signal has ended it. */
static uint64_t sleep_for(uint64_t ns)
{
	uint64_t until = tw_time_ns() + ns, now;

	th_stack_reserve();
	if (!pt_cancel_due) {
		bool slept = th_sleep(until);
		th_order();
		return slept || (now = tw_time_ns()) >= until ? 0 : until - now;
	}
	struct tw_wait_queue *queue = tw_wait_queue_lock(&pt_number);
	uint64_t ticket = pt_join(queue, &pt_number);
	tw_wait_queue_unlock(queue);
	tw_wait_queue_wait(&pt_number, ticket, until);
	th_order();
	pt_cancel_point();
	return 0;
}

/* In the kernel.  Returns 0 or the error; @left: the rest of a time that a signal of the program has ended. */
static int sleep_here(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct timespec rest = *time;
	int result, error = errno;

	do {
		tw_shootdown_came = false;
		th_point_begin(NULL);
		result = clock_nanosleep(clock, flags, &rest, &rest); /* an absolute time stays */
		th_point_end();
	} while (result == EINTR && tw_shootdown_came && !th_due_here);
	if (result == EINTR && left && !(flags & TIMER_ABSTIME))
		*left = rest;
	th_due_now();
	th_order();
	errno = error;
	return result;
}

/* Returns the nanoseconds left when a signal has ended it. */
static uint64_t sleep_here_for(uint64_t ns)
{
	struct timespec rest = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	return sleep_here(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR
	           ? (uint64_t)rest.tv_sec * 1000000000 + (uint64_t)rest.tv_nsec
	           : 0;
}

PT_OWN int tw_sched_yield(void)
{
	if (!sleep_alone()) {
		th_stack_reserve();
		th_yield();
	}
	tw_yield();
	return 0;
}

static int sleep_until(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct timespec now = {0, 0};

	if (time->tv_nsec < 0 || time->tv_nsec >= 1000000000 || time->tv_sec < 0)
		return EINVAL;
	if ((flags & TIMER_ABSTIME) && clock_gettime(clock, &now) < 0)
		return errno;
	int64_t s = time->tv_sec - now.tv_sec;
	int64_t ns = s > 1000000000 ? INT64_MAX / 4 : s * 1000000000 + (time->tv_nsec - now.tv_nsec);
	uint64_t rest = ns > 0 ? sleep_for((uint64_t)ns) : 0;
	if (rest && left && !(flags & TIMER_ABSTIME))
		*left = (struct timespec){(time_t)(rest / 1000000000), (long)(rest % 1000000000)};
	return rest ? EINTR : 0;
}

PT_OWN int tw_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	return sleep_alone() ? sleep_here(clock, flags, time, left) : sleep_until(clock, flags, time, left);
}

PT_OWN int tw_nanosleep(const struct timespec *time, struct timespec *left)
{
	int error =
	    sleep_alone() ? sleep_here(CLOCK_MONOTONIC, 0, time, left) : sleep_until(CLOCK_MONOTONIC, 0, time, left);
	if (error)
		errno = error;
	return error ? -1 : 0;
}

PT_OWN int tw_usleep(useconds_t us)
{
	uint64_t ns = (uint64_t)us * 1000;

	if (!(sleep_alone() ? sleep_here_for(ns) : sleep_for(ns)))
		return 0;
	errno = EINTR;
	return -1;
}

PT_OWN unsigned tw_sleep(unsigned s)
{
	uint64_t ns = (uint64_t)s * 1000000000, left = sleep_alone() ? sleep_here_for(ns) : sleep_for(ns);

	return (unsigned)((left + 500000000) / 1000000000);
}
