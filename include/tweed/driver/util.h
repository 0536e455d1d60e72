/* SPDX-License-Identifier: BSD-3-Clause */
/* util.h - used by every layer and every driver: log messages, the fatal path, locks between processes, time. */
#ifndef TWEED_DRIVER_UTIL_H
#define TWEED_DRIVER_UTIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tweed/driver/costs.h"

#define TW_ALIGN_UP(x, a) (((x) + (a)-1) / (a) * (a))
#define TW_MIN(a, b)      ((a) < (b) ? (a) : (b))
#define TW_MAX(a, b)      ((a) > (b) ? (a) : (b))
#define TW_LINE_ALIGNED   _Alignas(64)

/* tw_log - one line "tweed: [who: ]..." on standard error, with one write(2).  Any context, also fault handlers
 * (formatting supports %s %d %u %x %zu %ld %lu %lx %llu %c %% %p only, without widths). */
void tw_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* tw_fatal - tw_log, then the end of the process, and with it of the job.  Any context. */
void tw_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define TW_ASSERT(c) ((c) ? (void)0 : tw_fatal("internal error: %s at %s:%d", #c, __FILE__, __LINE__))

/* Time in nanoseconds, CLOCK_MONOTONIC; of a processor or agent in virtual time its clock (core/base/clock.h). */
uint64_t tw_time_ns(void);

static inline void tw_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* A lock in memory that processes share.  Zero is unlocked.  Spins for tw_mutex_spin rounds, then sleeps (futex).
 * Not recursive.  Held only by protocol code, never while application code runs. */
struct tw_mutex {
	_Atomic uint32_t word;
};
extern unsigned tw_mutex_spin; /* rounds of pause; 0 when processes outnumber cores */
void tw_mutex_lock_slow(struct tw_mutex *m);
void tw_mutex_wake(struct tw_mutex *m);

static inline bool tw_mutex_trylock(struct tw_mutex *m)
{
	uint32_t free = 0;
	return atomic_compare_exchange_strong_explicit(&m->word, &free, 1, memory_order_acquire, memory_order_relaxed);
}
static inline void tw_mutex_lock(struct tw_mutex *m)
{
	if (!tw_mutex_trylock(m))
		tw_mutex_lock_slow(m);
}
static inline void tw_mutex_unlock(struct tw_mutex *m)
{
	if (atomic_exchange_explicit(&m->word, 0, memory_order_release) == 2)
		tw_mutex_wake(m);
}

/* tw_virtual - this thread's clock in virtual time (core/base/clock.h); NULL: its time is real. */
extern _Thread_local struct tw_gate_member *tw_virtual;

/* tw_charge - this processor did @n times what @cost says, in virtual time; nothing in real time.  For costs per KiB @n
 * counts bytes.  [all contexts] */
void tw_charge_virtual(enum tw_cost cost, uint64_t n);
static inline void tw_charge(enum tw_cost cost, uint64_t n)
{
	if (__builtin_expect(tw_virtual != NULL, 0))
		tw_charge_virtual(cost, n);
}

/* tw_delay - let @ns pass: up to 5000 busily, longer ones asleep. */
void tw_delay(uint64_t ns);

/* tw_futex_wait - sleep while *word == @seen, at most @timeout_ns (0: no limit); shared between processes. */
void tw_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void tw_futex_wake(_Atomic uint32_t *word, int how_many);

#endif
