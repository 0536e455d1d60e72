/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - waiting for writes of other PEs.
 *
 * A PE sleeps on its endpoint's bell (net/mailbox.h).  A sleeper reads the bell, announces its sleep, checks its
 * condition once more, and sleeps.  A writer of the same node stores, then reads the announcement.  With a full fence
 * between the two (tw_segment_wake) at least one of them sees the other.  Signals to other nodes carry a notification.
 * Other writers do not wake: so every sleep is short.
 *
 * The scheduler sees waiters that sleep or yield as little load, so several PEs of a node may share a core while
 * another core has fewer, or none.  A PE whose spinning ended without success looks up on which cores the others were
 * last seen, and moves (wait_apart).  Where PEs must share cores, a wait yields to PEs of the own core and spins for
 * the others (tw_segment_nap_for). */
#include <sched.h>
#include <time.h>

#include "core/base/clock.h"
#include "net/mailbox.h"
#include "pgas/segment/segment_impl.h"
#include "pgas/segment/segment.h"

#define NAP_YIELDS       8u
#define NAP_YIELDS_FAR   400u  /* where an answer takes longer */
#define NAP_BUSY         4000u /* polls after a signal: some ms */
#define NAP_SOON         16u   /* the first of them, which do not yield: about the time of an answer */
#define NAP_FIRST_NS     20000u
#define NAP_DOUBLED      6u   /* how often a sleep's length doubles */
#define NAP_LOOK_NS      100u /* the first sleeps in virtual time, */
#define NAP_LOOKS        12u  /* so many of each length, */
#define NAP_LOOK_DOUBLED 30u  /* doubled so often */
#define WAIT_APART       64u  /* where PEs share cores: one wait in so many looks where they are */

static struct tw_mailbox *wait_mailbox(unsigned pe)
{
	return tw_mailbox_of(&tw_segment.net->config, tw_segment.net->base, pe - tw_segment.first);
}

static _Atomic uint32_t *wait_asleep(char *segment)
{
	return (_Atomic uint32_t *)(void *)(segment + TW_SEGMENT_ASLEEP);
}

void tw_segment_ring(char *to)
{
	unsigned pe = tw_segment.first + (unsigned)((size_t)(to - tw_segment.node_base) / tw_segment.bytes);

	if (!tw_segment.net || !atomic_exchange(wait_asleep(to), 0))
		return;
	if (tw_segment.timed)
		tw_gate_wrote(pe, 1, 0);
	else
		tw_mailbox_ring(wait_mailbox(pe));
}

static _Atomic int *wait_cpu(char *segment)
{
	return (_Atomic int *)(void *)(segment + SEGMENT_CPU);
}

/* 1 + the CPU on which @pe of this node was last seen; 0: unknown. */
static unsigned wait_seen(unsigned pe)
{
	char *segment = tw_segment.node_base + (size_t)(pe - tw_segment.first) * tw_segment.bytes;

	return (unsigned)atomic_load_explicit(wait_cpu(segment), memory_order_relaxed);
}

/* The first allowed CPU after @cpu with the fewest PEs; @cpu itself unless another has fewer than @cpu would have
 * without this PE. */
static unsigned wait_emptiest(unsigned cpu, const cpu_set_t *allowed, const uint16_t pes[CPU_SETSIZE])
{
	unsigned best = cpu, fewest = pes[cpu] - 1u;

	for (unsigned i = 1; i < CPU_SETSIZE; i++) {
		unsigned other = (cpu + i) % CPU_SETSIZE;
		if (CPU_ISSET(other, allowed) && pes[other] < fewest) {
			best = other;
			fewest = pes[other];
		}
	}
	return best;
}

/* Move away from @cpu, where this PE runs, if another CPU has fewer PEs.  Of the node's PEs on @cpu, only the last one
 * does. */
static void wait_move(unsigned cpu)
{
	uint16_t pes[CPU_SETSIZE] = {0};
	cpu_set_t allowed, alone;

	for (unsigned pe = tw_segment.first; pe < tw_segment.first + tw_segment.locals; pe++) {
		unsigned seen = wait_seen(pe);

		if (pe > tw_segment.pe && seen == cpu + 1)
			return;
		if (seen && seen <= CPU_SETSIZE)
			pes[seen - 1]++;
	}
	if (pes[cpu] < 2 || sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	unsigned to = wait_emptiest(cpu, &allowed, pes);
	CPU_ZERO(&alone);
	CPU_SET(to, &alone);
	if (to != cpu && sched_setaffinity(0, sizeof(alone), &alone) == 0)
		sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* Publish where this PE runs, and from time to time move it. */
static void wait_apart(void)
{
	static _Atomic unsigned often;
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE || !tw_segment.net || tw_segment.locals == 1)
		return;
	if (wait_seen(tw_segment.pe) != (unsigned)cpu + 1)
		atomic_store_explicit(wait_cpu(tw_segment.base), cpu + 1, memory_order_relaxed);
	if (!tw_segment.crowded || atomic_fetch_add_explicit(&often, 1, memory_order_relaxed) % WAIT_APART == 0)
		wait_move((unsigned)cpu);
}

bool tw_segment_beside(unsigned pe)
{
	return tw_segment.crowded && wait_seen(pe) == (unsigned)sched_getcpu() + 1;
}

/* What a node's PEs store in each other's segments wakes nobody, so they are looked at after times that are about a
 * tenth of the wait so far, up to 200 s.  The caller has just checked its condition, and no other PE has run since. */
static void nap_virtual(unsigned round)
{
	unsigned doubled = round / NAP_LOOKS;

	atomic_store(wait_asleep(tw_segment.base), 1);
	tw_gate_watch(doubled <= NAP_LOOK_DOUBLED ? (uint64_t)NAP_LOOK_NS << doubled : 0);
	atomic_store(wait_asleep(tw_segment.base), 0);
}

void tw_segment_nap_long(struct tw_nap *nap)
{
	unsigned round = nap->round - 1;

	tw_segment_push();
	if (tw_segment.timed) {
		nap_virtual(round);
		return;
	}
	bool arrived = nap->far && tw_segment_poll_signals();
	if (arrived) { /* the other PE is active: more may follow */
		nap->round = tw_segment.spins + nap->more + 2;
		nap->busy = NAP_BUSY;
		return;
	}
	if (round == 0) /* the first poll does nothing else */
		return;
	if (nap->busy) {
		if (nap->busy-- <= NAP_BUSY - NAP_SOON || tw_segment.crowded)
			sched_yield();
		nap->round--;
		return;
	}
	unsigned slow = round - tw_segment.spins - nap->more - 1;
	if (slow == 0)
		wait_apart();
	/* Without a core for each process, the awaited PE, its node's server or this node's server may need this core.
	 * If this node has all PEs and cores, the delay has another cause, and yielding would give the core to that
	 * cause, too. */
	unsigned yields = nap->far                              ? NAP_YIELDS_FAR
	                  : !tw_segment.crowded                 ? 0
	                  : tw_segment.locals == tw_segment.pes ? NAP_YIELDS
	                                                        : NAP_YIELDS_FAR;
	if (slow < yields) {
		sched_yield();
		return;
	}
	slow -= yields;
	if (nap->far && slow == 0)
		tw_segment_remote_announce_sleep(nap->far - 1);
	uint64_t most = (uint64_t)NAP_FIRST_NS << TW_MIN(slow / (nap->far ? 2 : 8), NAP_DOUBLED);
	if (!tw_segment.net)
		nanosleep(&(struct timespec){.tv_nsec = (long)most}, NULL);
	else if (slow % 2 == 1)
		tw_mailbox_sleep(wait_mailbox(tw_segment.pe), nap->seen, most);
	else { /* the caller polls once more before the sleep */
		nap->seen = tw_mailbox_bell(wait_mailbox(tw_segment.pe));
		atomic_store(wait_asleep(tw_segment.base), 1);
	}
	if (slow > 64) /* avoids overflow; keeps the parity */
		nap->round -= 2;
}

void tw_segment_signal(unsigned pe, size_t offset)
{
	char *to = tw_segment_near(pe);

	if (to && tw_segment.cpu_atomics) {
		atomic_fetch_add((_Atomic uint64_t *)(void *)(to + offset), 1);
		tw_segment_wake(to);
		return;
	}
	if (!to && tw_segment.open)
		tw_segment_remote_fence();
	tw_segment_remote_amo_start(tw_segment.signals, pe, offset, TW_AMO_ADD, 8, 1, 0, NULL);
	if (!to)
		tw_segment_remote_wake(pe);
}

void tw_segment_wait_signal(size_t offset)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(tw_segment.base + offset);

	for (struct tw_nap nap = {0}; !atomic_load_explicit(word, memory_order_acquire);)
		tw_segment_nap(&nap);
	tw_segment_amo(tw_segment.pe, offset, TW_AMO_ADD, 8, UINT64_MAX, 0);
}

/* Each PE notifies all that it has arrived, and waits for the living ones.  A PE that dies meanwhile is not waited
 * for. */
static void wait_survivors(void)
{
	static uint64_t meetings;
	const _Atomic uint64_t *come = (const _Atomic uint64_t *)(const void *)(tw_segment.base + SEGMENT_ARRIVALS);
	size_t mine = SEGMENT_ARRIVALS + tw_segment.pe * sizeof(uint64_t);

	meetings++;
	tw_segment.pardon = true;
	for (unsigned pe = 0; pe < tw_segment.pes; pe++) {
		char *to = tw_segment_direct(pe);

		if (to)
			atomic_store((_Atomic uint64_t *)(void *)(to + mine), meetings);
		else if (!tw_segment_lost(pe))
			tw_segment_put(pe, mine, &meetings, sizeof(meetings));
	}
	tw_segment_quiet();
	tw_segment.pardon = false;
	for (unsigned pe = 0; pe < tw_segment.pes; pe++) {
		if (tw_segment_direct(pe))
			tw_segment_nudge(tw_segment_direct(pe));
		else if (!tw_segment_lost(pe))
			tw_segment_remote_wake(pe);
	}
	for (unsigned pe = 0; pe < tw_segment.pes; pe++)
		for (struct tw_nap nap = {0};
		     atomic_load_explicit(&come[pe], memory_order_acquire) < meetings && !tw_segment_dead(pe);)
			tw_segment_nap(&nap);
}

/* Dissemination: in round k a PE signals the PE 2^k further on.  After the last round every PE has been signalled by
 * all, directly or indirectly. */
void tw_segment_barrier(void)
{
	unsigned round = 0;

	if (tw_segment.deaths) {
		wait_survivors();
		return;
	}
	for (unsigned distance = 1; distance < tw_segment.pes; distance *= 2, round++) {
		tw_segment_signal((tw_segment.pe + distance) % tw_segment.pes, round * SEGMENT_LINE);
		tw_segment_wait_signal(round * SEGMENT_LINE);
	}
	tw_segment_push();
}
