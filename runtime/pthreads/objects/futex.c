/* SPDX-License-Identifier: BSD-3-Clause */
/* futex.c - SYS_futex on shared memory, as in the headers of C++20's std::atomic::wait: a wait queue of the word. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "runtime/pthreads/pthreads.h"

#define FUTEX_LOOK_NS 20000000u

/* std::__atomic_wait_address_bare of std::__atomic_semaphore::_M_acquire, which programs with these semaphores have. */
extern const char
    futex_semaphores[] __asm__("_ZSt26__atomic_wait_address_bareIZNSt18__atomic_semaphore10_M_acquireEvEUlvE_EvPKiT_")
        __attribute__((weak));

int pt_futex_wait(unsigned *word, unsigned mask, unsigned value, uint64_t until)
{
	pt_interruptible();
	struct tw_wait_queue *queue = tw_wait_queue_lock(word);
	bool changed = (*word & mask) != (value & mask);
	uint64_t ticket = changed ? 0 : tw_wait_queue_join(queue, word);

	tw_wait_queue_unlock(queue);
	if (changed)
		return EAGAIN;
	return tw_wait_queue_wait(word, ticket, until) ? 0 : ETIMEDOUT;
}

/* FUTEX_WAIT without end.  The semaphores of C++20's library by gcc 12 lose wakes: they wait for a change from a value
 * that they have read before they found none left, and a release in between makes that the present value again (its
 * bug 104928).  Threads of one processor, which run in turns, meet that often.  So there such a wait ends once without
 * a wake, as the call may, and the caller looks again; the next of the same word, if no wake ended it, has no end.
 * Other programs may take the return for a wake (GLib's condition variables, whose caller may not wait in a loop). */
static int futex_wait_endless(unsigned *word, unsigned value)
{
	static __thread const unsigned *looked;
	bool once = futex_semaphores && looked != word;
	int error = pt_futex_wait(word, ~0u, value, once ? tw_time_ns() + FUTEX_LOOK_NS : 0);

	looked = error == ETIMEDOUT ? word : NULL;
	return error == ETIMEDOUT ? 0 : error;
}

/* @time: of FUTEX_WAIT how long, otherwise until when. */
static uint64_t futex_until(int op, const struct timespec *time)
{
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT)
		return tw_time_ns() + (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
	return pt_until(op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, time);
}

/* The waiters that would move to another word are woken: a wait may end without a wake, so they look at it. */
static long futex_requeue(unsigned *word, unsigned wake, unsigned long move, const unsigned *expected)
{
	struct tw_wait_queue *queue = tw_wait_queue_lock(word);

	if (expected && *word != *expected) {
		tw_wait_queue_unlock(queue);
		return th_result(EAGAIN);
	}
	return tw_wait_queue_wake(queue, word, (unsigned)TW_MIN(wake + move, (unsigned long)INT_MAX));
}

long pt_futex(unsigned *word, int op, unsigned value, long fourth, unsigned expected)
{
	const struct timespec *time = (void *)fourth;

	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return th_result(time ? pt_futex_wait(word, ~0u, value, futex_until(op, time))
		                      : futex_wait_endless(word, value));
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return tw_wait_queue_wake(tw_wait_queue_lock(word), word, value);
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		return futex_requeue(word, value, (unsigned long)fourth,
		                     (op & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE ? &expected : NULL);
	default:
		th_refuse("syscall(SYS_futex): operation %d is not supported: use FUTEX_WAIT, FUTEX_WAKE and "
		          "FUTEX_REQUEUE",
		          op & FUTEX_CMD_MASK);
	}
}
