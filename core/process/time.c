/* SPDX-License-Identifier: BSD-3-Clause */
/* time.c - the C library's time for programs: in virtual time, the processor's clock, from 0; else the kernel's.
 * Processor time (clock, CLOCK_PROCESS_CPUTIME_ID) is the kernel's in both.  Sleeps end in nanosleep, which
 * core/process/arguments.c has. */
#include "core/process/time.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/process/fork.h"

#define TIME_S       1000000000u           /* ns */
#define TIME_LOOK_NS 25                    /* what a look at the clock takes */
#define TIME_WEAK    __attribute__((weak)) /* the program's own, and those of run-times of threads, come first */

/* NULL before it is looked up, when jemalloc asks for the time. */
static __typeof__(clock_gettime) *time_next;

__attribute__((constructor)) static void time_look_up(void)
{
	*(void **)&time_next = dlsym(RTLD_NEXT, "clock_gettime");
}

/* A child of fork() has a copy of its parent's clock, but no part in the gate. */
bool tw_time_virtual(clockid_t clock, struct timespec *t)
{
	if (!tw_virtual || clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID ||
	    tw_forked())
		return false;
	if (clock != CLOCK_MONOTONIC_COARSE) /* jemalloc's, no look of the program's */
		tw_gate_look(TIME_LOOK_NS);
	uint64_t ns = tw_time_ns();
	*t = (struct timespec){.tv_sec = (time_t)(ns / TIME_S), .tv_nsec = (long)(ns % TIME_S)};
	return true;
}

#pragma GCC visibility push(default)

TIME_WEAK int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (tw_time_virtual(clock, t))
		return 0;
	return time_next ? time_next(clock, t) : (int)syscall(SYS_clock_gettime, clock, t);
}

TIME_WEAK int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;
	struct timeval *to = t; /* NULL is allowed, whatever the header says */

	__asm__("" : "+r"(to));
	if (zone)
		memset(zone, 0, sizeof(struct timezone));
	if (!to)
		return 0;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	*to = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}

TIME_WEAK time_t time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}

TIME_WEAK int usleep(useconds_t us)
{
	return nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L}, NULL);
}

TIME_WEAK unsigned sleep(unsigned s)
{
	struct timespec left = {0};

	return nanosleep(&(struct timespec){.tv_sec = s}, &left) == 0
	           ? 0
	           : (unsigned)left.tv_sec + (left.tv_nsec >= (long)TIME_S / 2);
}

#pragma GCC visibility pop
