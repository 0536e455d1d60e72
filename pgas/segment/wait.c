/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - waiting for what other PEs write.
 *
 * A sleeper announces itself, looks again, and sleeps on its bell; a writer stores, and then looks whether the other is asleep.  With a
 * full fence between (tw_segment_wake) one of the two sees the other.  Writers that do without, and those of other nodes, do not
 * wake: hence no sleep is long. */
#include <limits.h>
#include <sched.h>

#include "pgas/segment/impl.h"
#include "pgas/segment/segment.h"

#define NAP_YIELDS   8u
#define NAP_FIRST_NS 20000u
#define NAP_DOUBLED  6u /* times */

void tw_segment_ring(struct tw_segment_bell *bell)
{
	if (!atomic_exchange(&bell->asleep, 0))
		return;
	atomic_fetch_add(&bell->rings, 1);
	tw_futex_wake(&bell->rings, INT_MAX);
}

void tw_segment_nap_long(struct tw_nap *nap)
{
	struct tw_segment_bell *bell = (struct tw_segment_bell *)(void *)(tw_segment.base + TW_SEGMENT_BELL);
	unsigned round = nap->round - 1;

	tw_segment_push();
	if (round == 0) /* the first look: nothing but that */
		return;
	unsigned slow = round - tw_segment.spins - 1;
	if (slow < NAP_YIELDS) {
		sched_yield();
		return;
	}
	slow -= NAP_YIELDS;
	if (slow % 2 == 0) { /* the caller looks once more, then we sleep */
		nap->seen = atomic_load(&bell->rings);
		atomic_store(&bell->asleep, 1);
		return;
	}
	tw_futex_wait(&bell->rings, nap->seen, (uint64_t)NAP_FIRST_NS << TW_MIN(slow / 8, NAP_DOUBLED));
	if (slow > 64) /* not to overflow; even and odd stay so */
		nap->round -= 2;
}

void tw_segment_signal(unsigned pe, size_t offset)
{
	char *to = tw_segment_direct(pe);

	if (to && tw_segment.cpu_atomics) {
		atomic_fetch_add((_Atomic uint64_t *)(void *)(to + offset), 1);
		tw_segment_wake(to);
		return;
	}
	if (!to && tw_segment.remote)
		tw_segment_remote_fence();
	tw_segment_remote_amo_post(pe, offset, TW_AMO_ADD, 8, 1);
}

void tw_segment_wait_signal(size_t offset)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(tw_segment.base + offset);

	for (struct tw_nap nap = {0}; !atomic_load_explicit(word, memory_order_acquire);)
		tw_segment_nap(&nap);
	tw_segment_amo(tw_segment.pe, offset, TW_AMO_ADD, 8, UINT64_MAX, 0);
}

/* Dissemination: in round k a PE tells the one 2^k further, so that after the last it has heard, directly or not, of all. */
void tw_segment_barrier(void)
{
	unsigned round = 0;

	for (unsigned distance = 1; distance < tw_segment.pes; distance *= 2, round++) {
		tw_segment_signal((tw_segment.pe + distance) % tw_segment.pes, round * SEGMENT_LINE);
		tw_segment_wait_signal(round * SEGMENT_LINE);
	}
	tw_segment_push();
}
