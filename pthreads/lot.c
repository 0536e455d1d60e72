/* SPDX-License-Identifier: BSD-3-Clause */
/* lot.c - where threads wait for what others will do to an object: condition variables, semaphores, read-write locks.
 *
 * No lost wake-up.  A ticket is the number of wakes so far, read under the lot's lock; a wake counts one more under that lock, and then raises the
 * lot's flag to the count.  A wait ends when the flag has passed the ticket. */
#include <errno.h>

#include "pthreads/pthreads.h"

#define LOTS 64u

struct pt_lot {
	_Alignas(64) uint64_t wakes;
	uint64_t waiting; /* since the last wake */
};

static struct pt_lot *lots; /* shared */
static struct {
	tw_lock_t lock;
	tw_flag_t woken;
} lot_handles[LOTS]; /* the same in all processors */

void pt_objects_open(void)
{
	lots = tw_malloc_all(LOTS * sizeof(*lots));
	if (!lots)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	for (unsigned i = 0; i < LOTS && tw_id() == 0; i++) {
		lot_handles[i].lock = tw_lock_create();
		lot_handles[i].woken = tw_flag_create();
	}
	tw_bcast(lot_handles, sizeof(lot_handles), 0);
	pt_keys_open();
}

struct pt_lot *pt_lot_lock(const volatile void *address)
{
	unsigned i = (unsigned)(((uintptr_t)address / 8 * 0x9e3779b97f4a7c15u) >> 58);

	tw_lock_acquire(lot_handles[i].lock);
	return &lots[i];
}

void pt_lot_unlock(struct pt_lot *lot, bool wake)
{
	uint64_t wakes = 0;

	if (wake && lot->waiting) {
		lot->waiting = 0;
		wakes = ++lot->wakes;
	}
	tw_lock_release(lot_handles[lot - lots].lock);
	if (wakes)
		tw_flag_set(lot_handles[lot - lots].woken, wakes);
}

uint64_t pt_lot_ticket(struct pt_lot *lot)
{
	lot->waiting++;
	return lot->wakes;
}

struct flag_wait {
	tw_flag_t flag;
	uint64_t number;
};

static bool flag_reached(void *arg)
{
	const struct flag_wait *w = arg;
	return tw_flag_get(w->flag) >= w->number;
}

bool pt_flag_wait(tw_flag_t flag, uint64_t number, uint64_t until)
{
	struct flag_wait wait = {flag, number};

	if (until && !tw_wait_until(tw_me, flag_reached, &wait, until))
		return false;
	tw_flag_wait(flag, number);
	return true;
}

int pt_lot_wait(struct pt_lot *lot, uint64_t ticket, uint64_t until)
{
	if (pt_flag_wait(lot_handles[lot - lots].woken, ticket + 1, until))
		return 0;
	tw_lock_acquire(lot_handles[lot - lots].lock);
	if (lot->wakes == ticket)
		lot->waiting--;
	tw_lock_release(lot_handles[lot - lots].lock);
	return ETIMEDOUT;
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
