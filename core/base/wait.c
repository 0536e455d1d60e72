/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - time, sleeps and locks between processes, in real time or in virtual time. */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/clock.h"

#define DELAY_SPIN_NS 5000u
#define YIELD_NS      200u /* in virtual time */

unsigned tw_mutex_spin = 200;

uint64_t tw_kernel_ns(void)
{
	struct timespec t;

	if (tw_virtual) /* whose function gives virtual time (core/process/time.c) */
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	else
		clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t tw_time_ns(void)
{
	return tw_virtual ? tw_gate_now() : tw_kernel_ns();
}

void tw_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
	if (!tw_virtual)
		tw_kernel_wait(word, seen, timeout_ns);
	else
		tw_gate_wait(word, seen, timeout_ns);
}

void tw_futex_wake(_Atomic uint32_t *word, int how_many)
{
	if (tw_gate_here())
		tw_gate_wake(word, how_many);
	if (!tw_virtual)
		tw_kernel_wake(word, how_many);
}

void tw_delay(uint64_t ns)
{
	uint64_t until = tw_time_ns() + ns;

	tw_clock_until(until);
	if (ns > DELAY_SPIN_NS && !tw_virtual)
		nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)},
		          NULL);
	while (tw_time_ns() < until)
		tw_pause();
}

void tw_yield(void)
{
	if (tw_virtual)
		tw_gate_look(YIELD_NS);
	else
		sched_yield();
}

/* The word: 0 free, 1 held, 2 held and possibly waited for. */
void tw_mutex_lock_slow(struct tw_mutex *m)
{
	int saved = errno;
	for (unsigned i = 0; i < tw_mutex_spin; i++) {
		if (atomic_load_explicit(&m->word, memory_order_relaxed) == 0 && tw_mutex_trylock(m))
			return;
		tw_pause();
	}
	while (atomic_exchange_explicit(&m->word, 2, memory_order_acquire) != 0)
		tw_futex_wait(&m->word, 2, 0);
	errno = saved;
}

void tw_mutex_wake(struct tw_mutex *m)
{
	tw_futex_wake(&m->word, 1);
}
