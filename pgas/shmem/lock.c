/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - fair locks in one symmetric long: a queue whose waiters spin on their own copies.
 *
 * The copy's halves are two words of 32 bits:
 *
 *     tail   only in the home's copy: the last of the queue, as PE + 1; 0: the lock is free
 *     mine   in each PE's copy: 2 x (the successor's PE + 1), once it has registered, + 1 when this PE is given the
 *     lock
 *
 * Both parts of mine are added, so their order does not matter.  The lock's address determines its home, which spreads
 * locks over the PEs. */
#include "pgas/shmem/check.h"

static uint32_t *lock_tail(long *lock)
{
	return (uint32_t *)(void *)lock;
}

static uint32_t *lock_mine(long *lock)
{
	return (uint32_t *)(void *)lock + 1;
}

SH_INLINE unsigned lock_home(const long *lock)
{
	return (unsigned)(sh_at(lock, sizeof(*lock)) / sizeof(*lock) % tw_segment.pes);
}

/* Wait until one of @bits of mine is set.  Returns all of mine. */
static uint32_t lock_wait(long *lock, uint32_t bits)
{
	uint32_t mine;

	for (struct tw_nap nap = {0}; !((mine = __atomic_load_n(lock_mine(lock), __ATOMIC_ACQUIRE)) & bits);)
		tw_segment_nap(&nap);
	return mine;
}

static void lock_add(long *lock, unsigned pe, uint32_t value)
{
	sh_amo_post(SHMEM_CTX_DEFAULT, pe, lock_mine(lock), TW_AMO_ADD, 4, value);
	if (!tw_segment_direct(pe))
		tw_segment_remote_wake(pe);
}

void pshmem_set_lock(long *lock)
{
	unsigned me = tw_segment.pe;

	SH_CHECK(lock, lock, false);
	if (sh.check)
		sh_check_locked(lock);
	uint32_t before =
	    (uint32_t)sh_amo(SHMEM_CTX_DEFAULT, lock_home(lock), lock_tail(lock), TW_AMO_SWAP, 4, me + 1, 0);

	if (!before)
		return;
	lock_add(lock, before - 1, 2 * (me + 1));
	lock_wait(lock, 1);
	sh_amo(SHMEM_CTX_DEFAULT, me, lock_mine(lock), TW_AMO_ADD, 4, UINT32_MAX, 0);
}

int pshmem_test_lock(long *lock)
{
	SH_CHECK(lock, lock, false);
	bool taken =
	    sh_amo(SHMEM_CTX_DEFAULT, lock_home(lock), lock_tail(lock), TW_AMO_CAS, 4, tw_segment.pe + 1, 0) == 0;
	if (sh.check && taken)
		sh_check_locked(lock);
	return !taken;
}

void pshmem_clear_lock(long *lock)
{
	unsigned me = tw_segment.pe;

	SH_CHECK(lock, lock, true);
	tw_segment_quiet();
	if (!__atomic_load_n(lock_mine(lock), __ATOMIC_ACQUIRE) &&
	    sh_amo(SHMEM_CTX_DEFAULT, lock_home(lock), lock_tail(lock), TW_AMO_CAS, 4, 0, me + 1) == me + 1)
		return;
	uint32_t next = lock_wait(lock, UINT32_MAX - 1) / 2;
	sh_amo(SHMEM_CTX_DEFAULT, me, lock_mine(lock), TW_AMO_SWAP, 4, 0, 0);
	lock_add(lock, next - 1, 1);
}

TWS_FUNCTIONS_LOCK(SH_ALIAS)
