/* SPDX-License-Identifier: BSD-3-Clause */
/* timers.c - alarm, setitimer and timer_create: the kernel keeps them in the process that runs main, whose time their
 * clocks may count, but those that call a function in a thread (th_timers). */
#include <dlfcn.h>
#include <errno.h>
#include <mqueue.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "runtime/process/events/events.h"
#include "runtime/process/events/far.h"
#include "runtime/threads/baton.h"

#define TIMER_NEXT(name) ((__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name))

const struct th_timers *th_timers;

/* A call with up to two arguments in memory: @in, read, and @out, written; either may be NULL. */
struct timer_memory {
	const void *in;
	void *out;
	size_t bytes;
};

static long timer_call_far(long number, const long a[6], unsigned in, unsigned out, const struct timer_memory *m)
{
	struct far_call c = {.number = number, .in = in, .out = out, .bytes = (uint32_t)m->bytes};

	memcpy(c.argument, a, sizeof(c.argument));
	if (m->in)
		memcpy(c.data, m->in, m->bytes);
	long result = far_call(&c);
	if (result >= 0 && m->out)
		memcpy(m->out, c.data, m->bytes);
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

/* @a: the arguments; those at @at_in and @at_out become addresses.  Returns as a system call does. */
static long timer_call(long number, long a[6], unsigned at_in, unsigned at_out, const struct timer_memory *m)
{
	char copy[HOST_DATA / 2];
	sigset_t before;

	if (far_here())
		return timer_call_far(number, a, m->in ? at_in : 6, m->out ? at_out : 6, m);
	if (m->in)
		memcpy(copy, m->in, m->bytes); /* shared memory may fault: not under the lock */
	host_lock(&before);
	char *in = host->data, *out = host->data + HOST_DATA / 2;
	if (m->in) {
		memcpy(in, copy, m->bytes);
		a[at_in] = (long)(uintptr_t)in;
	}
	if (m->out)
		a[at_out] = (long)(uintptr_t)out;
	long result = host_call(host->main, number, a);
	memcpy(copy, out, m->bytes);
	host_unlock(&before);
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	if (m->out)
		memcpy(m->out, copy, m->bytes);
	return result;
}

#pragma GCC visibility push(default)

TH_WEAK int setitimer(__itimer_which_t which, const struct itimerval *restrict now, struct itimerval *restrict old)
{
	struct itimerval was;
	long a[6] = {(long)which};

	if (!host_shared() || which != ITIMER_REAL)
		return TIMER_NEXT(setitimer)(which, now, old);
	if (timer_call(SYS_setitimer, a, 1, 2, &(struct timer_memory){now, &was, sizeof(was)}) < 0)
		return -1;
	if (old)
		*old = was;
	th_due_now();
	return 0;
}

TH_WEAK int getitimer(__itimer_which_t which, struct itimerval *now)
{
	long a[6] = {(long)which};

	if (!host_shared() || which != ITIMER_REAL)
		return TIMER_NEXT(getitimer)(which, now);
	return (int)timer_call(SYS_getitimer, a, 0, 1, &(struct timer_memory){NULL, now, sizeof(*now)});
}

TH_WEAK unsigned alarm(unsigned seconds)
{
	struct itimerval now = {{0, 0}, {(time_t)seconds, 0}}, old;

	if (setitimer(ITIMER_REAL, &now, &old) < 0)
		return 0;
	bool up = old.it_value.tv_usec >= 500000 || (!old.it_value.tv_sec && old.it_value.tv_usec);
	return (unsigned)old.it_value.tv_sec + up;
}

TH_WEAK useconds_t ualarm(useconds_t first, useconds_t interval)
{
	struct itimerval now = {{interval / 1000000, interval % 1000000}, {first / 1000000, first % 1000000}}, old;

	if (setitimer(ITIMER_REAL, &now, &old) < 0)
		return 0;
	return (useconds_t)(old.it_value.tv_sec * 1000000 + old.it_value.tv_usec);
}

/* The number of the kernel's timer is its name. */
TH_WEAK int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
	struct sigevent copy = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	long a[6] = {clock};
	struct sigevent made;
	int number;

	if (!host_shared())
		return TIMER_NEXT(timer_create)(clock, event, timer);
	if (event)
		copy = *event;
	if (copy.sigev_notify == SIGEV_THREAD && th_timers)
		return th_timers->create(clock, &copy, timer);
	if (copy.sigev_notify != SIGEV_SIGNAL && copy.sigev_notify != SIGEV_NONE)
		th_refuse("timer_create: only SIGEV_SIGNAL, SIGEV_THREAD and SIGEV_NONE are supported: let a thread of "
		          "the program call sigwait");
	if (timer_call(SYS_timer_create, a, 1, 2, &(struct timer_memory){&copy, &made, sizeof(copy)}) < 0)
		return -1;
	memcpy(&number, &made, sizeof(number));
	*timer = (timer_t)(intptr_t)number;
	return 0;
}

TH_WEAK int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict now,
                          struct itimerspec *restrict old)
{
	struct itimerspec was;
	long a[6] = {(long)(intptr_t)timer, flags};

	if (!host_shared())
		return TIMER_NEXT(timer_settime)(timer, flags, now, old);
	if (th_timers && th_timers->owns(timer))
		return th_timers->set(timer, flags, now, old);
	if (timer_call(SYS_timer_settime, a, 2, 3, &(struct timer_memory){now, &was, sizeof(was)}) < 0)
		return -1;
	if (old)
		*old = was;
	return 0;
}

TH_WEAK int timer_gettime(timer_t timer, struct itimerspec *now)
{
	long a[6] = {(long)(intptr_t)timer};

	if (!host_shared())
		return TIMER_NEXT(timer_gettime)(timer, now);
	if (th_timers && th_timers->owns(timer))
		return th_timers->get(timer, now);
	return (int)timer_call(SYS_timer_gettime, a, 0, 1, &(struct timer_memory){NULL, now, sizeof(*now)});
}

#define TIMER_PLAIN(name, own)                                                                                         \
	TH_WEAK int name(timer_t timer)                                                                                \
	{                                                                                                              \
		long a[6] = {(long)(intptr_t)timer};                                                                   \
		if (!host_shared())                                                                                    \
			return TIMER_NEXT(name)(timer);                                                                \
		if (th_timers && th_timers->owns(timer))                                                               \
			return th_timers->own(timer);                                                                  \
		return (int)timer_call(SYS_##name, a, 0, 0, &(struct timer_memory){NULL, NULL, 0});                    \
	}
TIMER_PLAIN(timer_delete, remove)
TIMER_PLAIN(timer_getoverrun, overrun)

/* The C library's thread would call the function. */
TH_WEAK int mq_notify(mqd_t queue, const struct sigevent *event)
{
	if (host_shared() && event && event->sigev_notify == SIGEV_THREAD)
		th_refuse("mq_notify: SIGEV_THREAD is not supported: let a thread of the program call mq_receive");
	return TIMER_NEXT(mq_notify)(queue, event);
}

#pragma GCC visibility pop
