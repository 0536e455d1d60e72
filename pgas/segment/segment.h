/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.h - symmetric segments: memory of every processing element (PE), addressed by (PE, offset).
 *
 * Each PE owns one segment in the exported memory of its node (core/memory/regions.h).  All segments have equal size,
 * are sparse and initially zero.  PEs are the job's processors; those of a node are numbered contiguously.  The segment
 * of a PE of the same node is plain memory, accessed by loads, stores and the CPU's atomics; other segments are
 * accessed through the transport.  OpenSHMEM and the global pointers share one segment: each reserves its part, in the
 * same order on all PEs.
 *
 * What executes an atomic is a property of the job's segments, never of the call: the CPU if the transport's atomics
 * are coherent with it, else the transport, for local words too.  So words that are used atomically must only be
 * accessed by these functions.
 *
 * Ordering: put and amo_post become visible in any order until fence or quiet.  Reads and atomics that return a value
 * are performed when they return, after this PE's earlier puts to that PE.  An aligned word of 8, 4 or 2 bytes is never
 * torn.
 *
 * Offsets are not checked here: the caller has checked that [offset, offset + len) is within tw_segment.bytes.
 *
 * Puts and gets belong to a *flow*; quiet completes those of one flow.  tw_segment.flow serves callers that name none.
 *
 * Threads: one at a time, unless tw_segment_threads() was called.  Source and target may be memory of tweed.h.  No
 * function needs the participation of the PE that is accessed. */
#ifndef TW_PGAS_SEGMENT_H
#define TW_PGAS_SEGMENT_H

#include <string.h>

#include "core/base/word_copy.h"
#include "core/job/deaths.h"
#include "tweed/driver/transport.h"

struct tw_segment {
	unsigned pes, pe;            /* all; this one */
	unsigned first, locals;      /* this node's PEs: [first, first + locals) */
	unsigned plain_first, plain; /* those whose segments are plain memory: this node's; in virtual time this PE's */
	char *plain_base;            /* of plain_first */
	bool timed;                  /* virtual time */
	size_t bytes;                /* of each segment */
	char *base;                  /* this PE's */
	char *node_base;             /* PE first's; the node's segments are adjacent */
	size_t at;                   /* offset of the first segment in a node's exported memory */
	struct tw_net *net;          /* NULL: there is no job, this process is the only PE */
	unsigned spins;              /* rounds that a wait polls before it yields or sleeps */
	bool crowded;                /* fewer cores than processes */
	bool cpu_atomics;            /* else the transport executes all atomics */
	bool put_signal;             /* the transport has puts with signal to PEs of other nodes */
	_Atomic unsigned open;       /* flows with operations since their last quiet */
	struct tw_net_flow *flow;    /* for callers that name none; NULL without a job */
	struct tw_net_flow *signals; /* for operations that are not waited for; NULL without a job */
	const struct tw_deaths *deaths; /* of a job that survives deaths; else NULL */
	bool pardon;                    /* operations on lost memory do not end this PE now */
	/* TWEED_COLLECTIVES, TWEED_SHMEM_CHECK; NULL and false without a job. */
	const char *collectives;
	bool check;
};
extern struct tw_segment tw_segment;

/* tw_segment_open - join the job; without a launcher, be a single PE with a segment of @alone bytes.  Each user of
 * segments calls it.  On errors, ends the process with a sentence.  Contains a barrier of all PEs.
 * @whole: name of a user that cannot continue when a PE dies; NULL: it can.
 * tw_segment_close - called by each user; the last call leaves the job, and segments are gone.  All PEs must have
 * synchronized before. */
void tw_segment_open(size_t alone, const char *whole);
void tw_segment_close(void);
/* tw_segment_reserve - reserve zeroed @bytes for one user, aligned to 4096.  Returns their offset; SIZE_MAX: no
 * room. */
size_t tw_segment_reserve(size_t bytes);
/* tw_segment_alias - map [offset, offset + bytes) of this PE's segment a second time, at @at, in place of what is
 * there.  All are multiples of 4096.  Returns 0 or -errno. */
int tw_segment_alias(size_t offset, size_t bytes, void *at);
/* tw_segment_threads - from now on several threads may call. */
void tw_segment_threads(void);
/* tw_segment_end_job - end the job at once with @status, which may be 0. */
void tw_segment_end_job(int status) __attribute__((noreturn));

/* tw_segment_direct - the segment of @pe as plain memory; NULL if it is not on this node, or in virtual time another's.
 * tw_segment_near - in virtual time, too: for one access, when all others have come as far, at its cost.
 * tw_segment_copied - in virtual time, what copying @len bytes of it costs; short copies cost what an access does. */
static inline char *tw_segment_direct(unsigned pe)
{
	unsigned i = pe - tw_segment.plain_first;

	return i < tw_segment.plain ? tw_segment.plain_base + i * tw_segment.bytes : NULL;
}
char *tw_segment_timed(unsigned pe);
static inline char *tw_segment_near(unsigned pe)
{
	return tw_segment.timed ? tw_segment_timed(pe) : tw_segment_direct(pe);
}
void tw_segment_copied(size_t len);

/* tw_segment_dead - @pe has died, and its access to all segments has ended; its segment remains.  Only in jobs that
 * survive deaths. */
static inline bool tw_segment_dead(unsigned pe)
{
	return tw_deaths_has(tw_segment.deaths, pe);
}

/* tw_segment_lost - the node of @pe is lost, and the segment with it.  A PE that needs that memory is ended with a
 * sentence, at the latest by the quiet that completes the operation.  While tw_segment.pardon is set, such an operation
 * has no effect and its result is meaningless.
 * tw_segment_need - end this PE if the segment is lost; for accesses by other means. */
static inline bool tw_segment_lost(unsigned pe)
{
	return tw_segment.deaths && tw_deaths_lost(tw_segment.deaths, pe / tw_segment.locals);
}
void tw_segment_need(unsigned pe);

/* tw_segment_flow_new - a new flow; NULL without a job, and when there is no memory.  tw_segment_flow_free - complete
 * and free it. */
struct tw_net_flow *tw_segment_flow_new(void);
void tw_segment_flow_free(struct tw_net_flow *flow);

/* For segments that tw_segment_direct does not reach, in virtual time those of this node, too; @flow is not NULL.
 * put: @keep: @src stays unchanged until quiet; else it may be reused on return.  get: @wait: complete on return.
 * amo_start: an atomic whose old value is at @old after quiet; NULL: it is not wanted.
 * quiet: of one flow; NULL: none.  ask: begin a quiet. */
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

/* tw_segment_put - @src may be reused on return.
 * tw_segment_get - complete on return.  tw_segment_get_nbi - complete after quiet. */
static inline void tw_segment_put(unsigned pe, size_t offset, const void *src, size_t len)
{
	char *to = tw_segment_direct(pe);

	if (to)
		tw_words_store(to + offset, src, len);
	else
		tw_segment_remote_put(tw_segment.flow, pe, offset, src, len, false);
}

/* Both gets.  @wait: complete on return. */
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

/* tw_segment_amo - perform @op (driver/transport.h) on an aligned word of @bytes, 4 or 8.  Returns the old value.
 * tw_segment_amo_post - without a result; ordered as a put.  tw_segment_cas_post - the same for a compare-and-swap of 8
 * bytes, by the transport. */
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

/* tw_segment_fence - each PE sees puts before it before those after it.
 * tw_segment_quiet - this PE's puts are visible to all PEs, and its get_nbi are complete; of tw_segment.flow, or of
 * @flow. */
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

/* tw_segment_push - send pending puts; before a long time without calls. */
void tw_segment_push(void);

/* tw_segment_put_signal - put @signal into the segment of @pe, stored by @pe itself when it waits for this PE
 * (tw_segment_nap_for).  Offsets are relative to segments.  Ordered after all puts of this PE to that node.  Returns
 * false, and does nothing, for PEs of this node and where the transport cannot: then put, and wake.
 * tw_segment_poll_signals - store the signals that have arrived for this PE.  Returns whether there were any. */
bool tw_segment_remote_put_signal(unsigned pe, const struct tw_net_signal *signal);
static inline bool tw_segment_put_signal(unsigned pe, const struct tw_net_signal *signal)
{
	return tw_segment.put_signal && tw_segment_remote_put_signal(pe, signal);
}
bool tw_segment_poll_signals(void);

/* Waiting for a word of the own segment that others write: for (struct tw_nap nap = {0}; !ready; tw_segment_nap(&nap)).
 * A wait polls, yields, then sleeps for growing times of at most 1.3 ms; pending puts are sent meanwhile.
 * A writer of this node can end the sleep.  After the first polls the interval grows: each poll takes the cache line
 * from the writer, and time from processes that share the core. */
#define TW_NAP_OFTEN  4u /* polls without a longer interval */
#define TW_NAP_PAUSES 4u /* pause instructions between later polls */
struct tw_nap {
	unsigned round;
	unsigned more; /* additional polls of this wait */
	uint32_t seen; /* the bell's value when this PE announced its sleep */
	unsigned far;  /* 1 + the PE of another node that may signal; 0: none */
	unsigned busy; /* polls left, after a signal made more of them likely */
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

/* tw_segment_beside - does @pe, of this node, run on this PE's core?  Only where cores are shared; then @pe writes
 * nothing until this PE yields.
 * tw_segment_nap_for - a wait for a write of @pe: yields at once if @pe is beside this PE, else polls longer; if @pe is
 * on another node, polls for signals. */
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

/* tw_segment_nudge - wake the PE whose segment is @to, if it sleeps; after a write that it may wait for.  Can be
 * missed.
 * tw_segment_wake - the same, and cannot be missed: it has a full fence. */
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
/* tw_segment_remote_wake - wake a PE of another node, after the puts to it; they travel with the notification. */
void tw_segment_remote_wake(unsigned pe);

/* Counting signals: a word of 8 bytes, initially 0, with one waiter.
 * tw_segment_signal - increment the word of @pe; @pe sees this PE's earlier puts to it first.
 * tw_segment_wait_signal - wait until the own word is not 0, and decrement it. */
void tw_segment_signal(unsigned pe, size_t offset);
void tw_segment_wait_signal(size_t offset);

/* tw_segment_barrier - of all living PEs, by signals.  Others see this PE's puts after it only if a quiet preceded
 * it. */
void tw_segment_barrier(void);

#endif
