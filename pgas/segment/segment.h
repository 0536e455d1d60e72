/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.h - symmetric segments: memory of every processing element (PE), addressed by (PE, offset).
 *
 * Each PE owns one segment, all of equal size, in the exported memory of its node (core/memory/regions.h), sparse and zero at first.  PEs are
 * the job's processors: those of a node are contiguous.  The segment of a PE of the same node is plain memory, reached by
 * loads, stores and the CPU's atomics; others through the transport.  OpenSHMEM and the global pointers share one segment: each
 * reserves its part, in the same order on all PEs.
 *
 * Who executes an atomic is a property of the job's segments, never of the call: the CPU where the transport's atomics are coherent with
 * it, else the transport, for local words too.  So words that are used atomically are used by these functions alone.
 *
 * Ordering.  put and amo_post are seen in any order until fence or quiet; reads and atomics that give a value are performed when they
 * return, after this PE's earlier puts to that PE.  An aligned word of 8, 4 or 2 bytes is never torn.
 * Offsets are trusted here: the caller has checked that [offset, offset + len) is within tw_segment.bytes.
 *
 * Puts and gets belong to a *flow*, and quiet completes those of one: tw_segment.flow is that of all who name none.
 *
 * Threads: one at a time, unless tw_segment_threads() was called.  Memory of tweed.h may be source and target.  Nothing here
 * needs the help of the PE that is accessed. */
#ifndef TW_PGAS_SEGMENT_H
#define TW_PGAS_SEGMENT_H

#include <string.h>

#include "core/base/word_copy.h"
#include "core/job/deaths.h"
#include "tweed/driver/transport.h"

struct tw_segment {
	unsigned pes, pe;               /* all; this one */
	unsigned first, locals;         /* this node's: [first, first + locals) */
	size_t bytes;                   /* of each segment */
	char *base;                     /* this PE's */
	char *node_base;                /* that of PE first; those of the node lie one behind the other */
	size_t at;                      /* of the first segment in a node's exported memory */
	struct tw_net *net;             /* NULL: there is no job, this process is the only PE */
	unsigned spins;                 /* rounds that a wait spins before it yields or sleeps */
	bool crowded;                   /* there is no core for each process */
	bool cpu_atomics;               /* else atomics are the transport's, all of them */
	bool put_signal;                /* PEs of other nodes can be told things without their server */
	_Atomic unsigned open;          /* flows with something that no quiet has followed */
	struct tw_net_flow *flow;       /* of who names none; NULL without a job */
	struct tw_net_flow *signals;    /* of what nobody waits for; NULL without a job */
	const struct tw_deaths *deaths; /* of a job that survives them; NULL: it does not */
	bool pardon;                    /* operations on lost memory do not end this PE now */
	/* TWEED_COLLECTIVES, TWEED_SHMEM_CHECK; NULL and false without a job. */
	const char *collectives;
	bool check;
};
extern struct tw_segment tw_segment;

/* tw_segment_open - join the job, or be a single PE with a segment of @alone bytes where no launcher has started this process.  May
 * be called by each user; mistakes end the process with a sentence.  Contains a barrier of all PEs.  @whole: a user that cannot go
 * on when a PE dies; NULL: one that can.
 * tw_segment_close - of each user; the last leaves the job, after which segments are gone.  All PEs must have met before. */
void tw_segment_open(size_t alone, const char *whole);
void tw_segment_close(void);
/* tw_segment_reserve - @bytes for one user, aligned to 4096; zero.  Returns their offset; SIZE_MAX: there is no room. */
size_t tw_segment_reserve(size_t bytes);
/* tw_segment_alias - map [offset, offset + bytes) of this PE's segment at @at as well, in place of what is there; all are
 * multiples of 4096.  Returns 0 or -errno. */
int tw_segment_alias(size_t offset, size_t bytes, void *at);
/* tw_segment_threads - from now on several threads may call. */
void tw_segment_threads(void);
/* tw_segment_end_job - end the job here and now, with @status, 0 too. */
void tw_segment_end_job(int status) __attribute__((noreturn));

/* tw_segment_direct - the segment of @pe as plain memory; NULL where it is not. */
static inline char *tw_segment_direct(unsigned pe)
{
	unsigned local = pe - tw_segment.first;

	return local < tw_segment.locals ? tw_segment.node_base + local * tw_segment.bytes : NULL;
}

/* tw_segment_dead - @pe has died, and its access to all segments has ended; what it held stays.  Only in jobs that survive. */
static inline bool tw_segment_dead(unsigned pe)
{
	return tw_deaths_has(tw_segment.deaths, pe);
}

/* tw_segment_lost - and its node, and its segment with it.  Who needs that memory is ended with a sentence, at the latest by the quiet
 * that completes the operation, but while tw_segment.pardon is set: then such an operation does nothing, and what it gives has no
 * meaning.  tw_segment_need - the same for what went to that segment in another way. */
static inline bool tw_segment_lost(unsigned pe)
{
	return tw_segment.deaths && tw_deaths_lost(tw_segment.deaths, pe / tw_segment.locals);
}
void tw_segment_need(unsigned pe);

/* tw_segment_flow_new - one more; NULL without a job, and when there is no memory.  Ends by tw_segment_flow_free, which completes it. */
struct tw_net_flow *tw_segment_flow_new(void);
void tw_segment_flow_free(struct tw_net_flow *flow);

/* For what tw_segment_direct does not reach; NULL is not asked for.
 * put: @keep: @src stays as it is until quiet, else it may be used again on return.  get: @wait: until it is done.
 * amo_start - an atomic whose old value comes to @old until quiet; NULL: it is not wanted.
 * quiet - of one flow; NULL is none.  ask - begin that. */
void tw_segment_remote_put(struct tw_net_flow *flow, unsigned pe, size_t offset, const void *src, size_t len,
                           bool keep);
void tw_segment_remote_get(struct tw_net_flow *flow, unsigned pe, size_t offset, void *dst, size_t len, bool wait);
uint64_t tw_segment_remote_amo(unsigned pe, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                               uint64_t expect);
void tw_segment_remote_amo_start(struct tw_net_flow *flow, unsigned pe, size_t offset, enum tw_amo op, unsigned bytes,
                                 uint64_t value, uint64_t expect, void *old);
void tw_segment_remote_quiet(struct tw_net_flow *flow);
void tw_segment_remote_ask(struct tw_net_flow *flow);
void tw_segment_remote_fence(void);

/* tw_segment_put - @src may be used again on return.
 * tw_segment_get - done on return; tw_segment_get_nbi - after quiet. */
static inline void tw_segment_put(unsigned pe, size_t offset, const void *src, size_t len)
{
	char *to = tw_segment_direct(pe);

	if (to)
		tw_words_store(to + offset, src, len);
	else
		tw_segment_remote_put(tw_segment.flow, pe, offset, src, len, false);
}

/* What both gets are: @wait: until it is done. */
static inline void tw_segment_start_get(unsigned pe, size_t offset, void *dst, size_t len, bool wait)
{
	const char *from = tw_segment_direct(pe);

	if (from)
		tw_words_load(dst, from + offset, len);
	else
		tw_segment_remote_get(tw_segment.flow, pe, offset, dst, len, wait);
}

static inline void tw_segment_get(unsigned pe, size_t offset, void *dst, size_t len)
{
	tw_segment_start_get(pe, offset, dst, len, true);
}

static inline void tw_segment_get_nbi(unsigned pe, size_t offset, void *dst, size_t len)
{
	tw_segment_start_get(pe, offset, dst, len, false);
}

/* tw_segment_amo - @op (driver/transport.h) on an aligned word of @bytes, 4 or 8; gives the old value.
 * tw_segment_amo_post - without a result, and ordered as a put.  tw_segment_cas_post - so a compare-and-swap of 8 bytes, by the transport. */
static inline uint64_t tw_segment_amo(unsigned pe, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                                      uint64_t expect)
{
	char *to = tw_segment_direct(pe);

	if (to && tw_segment.cpu_atomics)
		return tw_amo_here(to + offset, op, bytes, value, expect);
	return tw_segment_remote_amo(pe, offset, op, bytes, value, expect);
}

static inline void tw_segment_amo_post(unsigned pe, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value)
{
	char *to = tw_segment_direct(pe);

	if (to && tw_segment.cpu_atomics)
		tw_amo_here(to + offset, op, bytes, value, 0);
	else
		tw_segment_remote_amo_start(tw_segment.flow, pe, offset, op, bytes, value, 0, NULL);
}

static inline void tw_segment_cas_post(unsigned pe, size_t offset, uint64_t expect, uint64_t value)
{
	tw_segment_remote_amo_start(tw_segment.flow, pe, offset, TW_AMO_CAS, 8, value, expect, NULL);
}

/* tw_segment_fence - puts before it are seen before those after it, by each PE.
 * tw_segment_quiet - puts are visible to all PEs, and get_nbi are done: of the flow of who names none, or of @flow. */
static inline void tw_segment_fence(void)
{
	atomic_thread_fence(memory_order_release);
	if (tw_segment.open)
		tw_segment_remote_fence();
}

static inline void tw_segment_quiet_of(struct tw_net_flow *flow)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (tw_segment.open)
		tw_segment_remote_quiet(flow);
}

static inline void tw_segment_quiet(void)
{
	tw_segment_quiet_of(tw_segment.flow);
}

/* tw_segment_push - let what was put travel: before a long time without calls. */
void tw_segment_push(void);

/* tw_segment_put_signal - store what @told says in the segment of @pe, by @pe itself when it waits for this PE (tw_segment_nap_for): offsets are
 * those of segments.  After all puts of this PE to that node.  False: nothing is done, as for PEs of this node: then put, and wake.
 * tw_segment_poll_signals - do what this PE was told; has something come? */
bool tw_segment_remote_put_signal(unsigned pe, const struct tw_net_signal *signal);
static inline bool tw_segment_put_signal(unsigned pe, const struct tw_net_signal *signal)
{
	return tw_segment.put_signal && tw_segment_remote_put_signal(pe, signal);
}
bool tw_segment_poll_signals(void);

/* Waiting for a word of the own segment that others write: for (struct tw_nap nap = {0}; !ready; tw_segment_nap(&nap)).  Spins, yields, then
 * sleeps for longer and longer, a millisecond at most; what was put travels meanwhile.  Who writes the word from this node may end
 * the sleep.  After the first looks they are rarer: each takes the line from who is about to write it, and time from who shares the
 * core. */
#define TW_NAP_OFTEN  4u /* looks */
#define TW_NAP_PAUSES 4u /* between later ones */
struct tw_nap {
	unsigned round;
	unsigned more; /* rounds that this one spins */
	uint32_t seen; /* the bell, when it was announced that this PE sleeps */
	unsigned far;  /* 1 + the PE of another node that may tell; 0: none */
	unsigned busy; /* looks that are still to follow, as somebody is busy with us */
};
void tw_segment_nap_long(struct tw_nap *nap);
static inline void tw_segment_nap(struct tw_nap *nap)
{
	unsigned round = nap->round++;

	if (round - 1 >= tw_segment.spins + nap->more) {
		tw_segment_nap_long(nap);
		return;
	}
	for (unsigned pauses = round < TW_NAP_OFTEN ? 1 : TW_NAP_PAUSES; pauses; pauses--)
		tw_pause();
}

/* tw_segment_beside - is @pe, of this node, where a core is shared, on this PE's core?  Then it writes nothing unless we yield.
 * tw_segment_nap_for - a wait for what @pe writes: yields at once if it is beside us, else spins longer; if it is of another node, hears. */
#define TW_NAP_MORE 32u
bool tw_segment_beside(unsigned pe);
static inline struct tw_nap tw_segment_nap_for(unsigned pe)
{
	if (pe - tw_segment.first >= tw_segment.locals && tw_segment.put_signal)
		return (struct tw_nap){.round = tw_segment.spins + 1, .far = pe + 1};
	if (!tw_segment.crowded || pe - tw_segment.first >= tw_segment.locals)
		return (struct tw_nap){0};
	return tw_segment_beside(pe) ? (struct tw_nap){.round = tw_segment.spins + 1}
	                             : (struct tw_nap){.more = TW_NAP_MORE};
}

/* tw_segment_nudge - wake the PE whose segment is @to, if it sleeps; after a write that it may wait for.  tw_segment_wake - the same,
 * and it cannot be missed: costs a full fence. */
#define TW_SEGMENT_ASLEEP 2048u /* offset of a word in each segment: the PE sleeps, or is about to */
void tw_segment_ring(char *to);
static inline void tw_segment_nudge(char *to)
{
	const _Atomic uint32_t *asleep = (const _Atomic uint32_t *)(const void *)(to + TW_SEGMENT_ASLEEP);

	if (__builtin_expect(atomic_load_explicit(asleep, memory_order_relaxed) != 0, 0))
		tw_segment_ring(to);
}
static inline void tw_segment_wake(char *to)
{
	atomic_thread_fence(memory_order_seq_cst);
	tw_segment_nudge(to);
}
/* tw_segment_remote_wake - of a PE on another node, after what was put to it, which travels with it. */
void tw_segment_remote_wake(unsigned pe);

/* Counting signals: a word of 8 bytes that starts at 0 and has one waiter.
 * tw_segment_signal - add one to that of @pe; puts to @pe before it are seen first.  tw_segment_wait_signal - wait until the own
 * one is not 0, and take one. */
void tw_segment_signal(unsigned pe, size_t offset);
void tw_segment_wait_signal(size_t offset);

/* tw_segment_barrier - of all PEs that live, by signals.  Puts of a PE are seen by the others after it only if a quiet came before. */
void tw_segment_barrier(void);

#endif
