/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - functions for all objects. */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "runtime/pthreads/pthreads.h"

__thread uint32_t pt_number;

void pt_objects_open(void)
{
	struct tw_wait_queues *queues = tw_malloc_all(tw_wait_queues_bytes(tw_me));

	if (!queues)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	if (tw_id() == 0)
		tw_wait_queues_make(queues);
	tw_wait_queues_open(queues);
	pt_keys_open();
	pt_semaphores_open();
	pt_notify_open();
}

void pt_alone(const char *call)
{
	if (tw_forked())
		th_refuse("%s: a child of fork() would wait for ever, for it has one thread and shares no memory with "
		          "its parent: let them use a pipe",
		          call);
}

int pt_alone_until(const char *call, uint64_t until)
{
	struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};

	if (!until) {
		pt_alone(call);
		return 0;
	}
	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) < 0 ? errno : ETIMEDOUT;
}

uint64_t pt_until(clockid_t clock, const struct timespec *at)
{
	struct timespec now;

	if (at->tv_nsec < 0 || at->tv_nsec >= 1000000000 || clock_gettime(clock, &now) < 0)
		return 0;
	int64_t left = (at->tv_sec - now.tv_sec) * 1000000000 + (at->tv_nsec - now.tv_nsec);
	if (at->tv_sec - now.tv_sec > 1000000000)
		left = INT64_MAX / 4;
	return left > 0 ? tw_time_ns() + (uint64_t)left : 1;
}
