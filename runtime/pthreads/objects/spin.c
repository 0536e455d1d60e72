/* SPDX-License-Identifier: BSD-3-Clause */
/* spin.c - the locks that have four bytes: spin locks, and those of omp.h.
 *
 * The word has the number of a lock of Tweed, which is created at the first use, since programs make millions of locks.
 * Once half of a node's slots have been used, the word itself is the lock.  A thread that has to wait sets SPIN_WAITED,
 * and waits as for a futex.  The release of such a word wakes one thread.  That thread sets SPIN_WAITED again, because
 * it does not know of others (Drepper, Futexes Are Tricky, 2011, Mutex 2). */
#include <errno.h>

#include "runtime/pthreads/pthreads.h"
#include "runtime/threads/baton.h"
#include "sync/wait_queue.h"

enum { SPIN_FREE = TH_WORD_FREE, SPIN_HELD, SPIN_WAITED };

/* Of atomic.c. */
bool spin_compare_exchange(volatile uint32_t *p, uint32_t *expected, uint32_t v, int success,
                           int failure) __asm__("__atomic_compare_exchange_4");
uint32_t spin_exchange(volatile uint32_t *p, uint32_t v, int order) __asm__("__atomic_exchange_4");

/* The caller's bit. */
static uint32_t spin_rest(const uint32_t *word)
{
	return *word & ~TH_NUMBER;
}

static bool word_try(uint32_t *word)
{
	uint32_t rest = spin_rest(word), seen = rest | SPIN_FREE;

	return spin_compare_exchange(word, &seen, rest | SPIN_HELD, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
}

static void word_take(uint32_t *word)
{
	uint32_t rest = spin_rest(word);

	if (word_try(word))
		return;
	while (spin_exchange(word, rest | SPIN_WAITED, __ATOMIC_ACQUIRE) != (rest | SPIN_FREE))
		pt_futex_wait(word, ~0u, rest | SPIN_WAITED, 0);
}

static void word_give(uint32_t *word)
{
	uint32_t rest = spin_rest(word);

	if (spin_exchange(word, rest | SPIN_FREE, __ATOMIC_RELEASE) == (rest | SPIN_WAITED))
		tw_wait_queue_wake(tw_wait_queue_lock(word), word, 1);
}

void pt_spin_take(uint32_t *word)
{
	tw_lock_t lock = th_lock_in_some(word);

	lock.id ? th_lock_acquire(lock) : word_take(word);
}

bool pt_spin_try(uint32_t *word)
{
	tw_lock_t lock = th_lock_in_some(word);

	return lock.id ? th_lock_try(lock) : word_try(word);
}

void pt_spin_give(uint32_t *word)
{
	tw_lock_t lock = th_lock_in_some(word);

	lock.id ? th_lock_release(lock) : word_give(word);
	if (__builtin_expect(th_turn_is_over, 0))
		th_turn_end();
}

void pt_spin_end(uint32_t *word)
{
	tw_lock_t lock = *word & TH_NUMBER ? th_lock_in_some(word) : (tw_lock_t){0};

	if (lock.id)
		tw_lock_destroy(lock);
}

int tw_pthread_spin_init(pthread_spinlock_t *spin, int shared)
{
	(void)shared;
	*spin = 0;
	return 0;
}

int tw_pthread_spin_destroy(pthread_spinlock_t *spin)
{
	if (pt_enter())
		pt_spin_end((uint32_t *)(uintptr_t)spin);
	*spin = 0;
	return 0;
}

int tw_pthread_spin_lock(pthread_spinlock_t *spin)
{
	if (pt_enter())
		pt_spin_take((uint32_t *)(uintptr_t)spin);
	return 0;
}

int tw_pthread_spin_trylock(pthread_spinlock_t *spin)
{
	return !pt_enter() || pt_spin_try((uint32_t *)(uintptr_t)spin) ? 0 : EBUSY;
}

int tw_pthread_spin_unlock(pthread_spinlock_t *spin)
{
	if (pt_enter())
		pt_spin_give((uint32_t *)(uintptr_t)spin);
	return 0;
}
