/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - waiting for what other PEs write.
 *
 * Nobody wakes a sleeper: who writes is a store of a neighbour, a device or a node's server, and none of them can know that somebody
 * waits.  So sleeps are short at first: to yield comes before them, which is all that PEs need who share cores. */
#include <sched.h>
#include <time.h>

#include "pgas/segment/impl.h"
#include "pgas/segment/segment.h"

#define NAP_YIELDS  200u
#define NAP_MOST_NS 1000000L

void tw_segment_nap_long(struct tw_nap *nap)
{
	unsigned round = nap->round - 1;

	tw_segment_push();
	if (round == 0) /* the first look: nothing but that */
		return;
	unsigned slow = round - tw_segment.spins;
	if (slow < NAP_YIELDS) {
		sched_yield();
		return;
	}
	long ns = 1000L << TW_MIN((slow - NAP_YIELDS) / 8, 10u);
	nanosleep(&(struct timespec){.tv_nsec = TW_MIN(ns, NAP_MOST_NS)}, NULL);
	nap->round = TW_MIN(nap->round, tw_segment.spins + NAP_YIELDS + 100u);
}

void tw_segment_signal(unsigned pe, size_t offset)
{
	char *to = tw_segment_direct(pe);

	if (to && tw_segment.cpu_atomics) {
		atomic_fetch_add((_Atomic uint64_t *)(void *)(to + offset), 1);
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
