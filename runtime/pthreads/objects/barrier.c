/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier.c - barriers: those of Tweed. */
#include <errno.h>

#include "core/process/fork.h"
#include "runtime/pthreads/pthreads.h"
#include "sync/sync.h"

struct pt_barrier {
	tw_barrier_t barrier;
	unsigned count;
};
_Static_assert(sizeof(struct pt_barrier) <= sizeof(pthread_barrier_t), "it fits");

int tw_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, unsigned count)
{
	(void)attr;
	pt_enter();
	if (!count)
		return EINVAL;
	if (count > TW_SYNC_BARRIER_MOST)
		return EAGAIN;
	*(struct pt_barrier *)barrier = (struct pt_barrier){.count = count};
	if (!tw_forked()) /* a child of fork has one thread */
		((struct pt_barrier *)barrier)->barrier = tw_sync_barrier_threads(tw_me, count);
	return 0;
}

int tw_pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	if (pt_enter())
		tw_barrier_destroy(((struct pt_barrier *)barrier)->barrier);
	return 0;
}

int tw_pthread_barrier_wait(pthread_barrier_t *barrier)
{
	if (!pt_enter()) {
		if (((struct pt_barrier *)barrier)->count > 1)
			pt_alone("pthread_barrier_wait");
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	return tw_sync_barrier_wait(tw_me, ((struct pt_barrier *)barrier)->barrier.id) ? PTHREAD_BARRIER_SERIAL_THREAD
	                                                                               : 0;
}
