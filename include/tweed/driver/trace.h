/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h - the events of a run (TWEED_TRACE; doc/guide/tracing.md).  Each processor, and each agent's service, has two
 * rings in the node's private memory, which it alone writes; the oldest events are overwritten.  Allocations, which
 * are early and rare, have a ring of their own.
 *
 * The kinds, and their fields beside the time: p page, n node, a, b (in full: doc/guide/tracing.md):
 *
 *   span                             p the category of time, a its begin
 *   measure_begin, measure_end       tw_stats_reset, tw_stats_stop
 *   read_fault, write_fault          p, a the byte in it or TW_TRACE_UNKNOWN
 *   fetch                            p, n its source, a bytes
 *   fetched                          all fetches that were begun are complete
 *   update, twin                     p
 *   diff_out, diff_update, doubled   p, n its home, a and b from tw_trace_diff or tw_trace_bytes
 *   diff_in                          p, a bytes changed or TW_TRACE_UNKNOWN
 *   home_flush                       p, found written at its home by a release
 *   notice_out, notice_in            p, n
 *   invalidation                     p
 *   directory                        p, a the word
 *   exclusive_enter, exclusive_break p
 *   shootdown                        p, a pages, b victims
 *   migration                        p
 *   lock_wait, lock_take, _release   a handle; lock_take: b whether another node took part
 *   barrier_arrive, barrier_leave    a handle; barrier_leave: b its number
 *   collective                       b its number, of barriers of all
 *   flag_wait, flag_seen, flag_set   a handle, b value
 *   message_out, message_in          n, a type
 *   allocate                         p call site, a address, b bytes
 *   free                             a address */
#ifndef TWEED_DRIVER_TRACE_H
#define TWEED_DRIVER_TRACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define TW_TRACE_KINDS(X)                                                                                              \
	X(span) X(measure_begin) X(measure_end)                                                                        \
	X(read_fault) X(write_fault) X(fetch) X(fetched) X(update)                                                     \
	X(twin) X(diff_out) X(diff_update) X(diff_in) X(doubled) X(home_flush)                                         \
	X(notice_out) X(notice_in) X(invalidation) X(directory)                                                        \
	X(exclusive_enter) X(exclusive_break) X(shootdown) X(migration)                                                \
	X(lock_wait) X(lock_take) X(lock_release) X(barrier_arrive) X(barrier_leave) X(collective)                     \
	X(flag_wait) X(flag_seen) X(flag_set) X(message_out) X(message_in)                                             \
	X(allocate) X(free) /* these last: they have a ring of their own */
/* clang-format on */

enum tw_trace_kind {
#define X(name) TW_TRACE_##name,
	TW_TRACE_KINDS(X)
#undef X
};

#define TW_TRACE_NONE    UINT16_MAX /* no node */
#define TW_TRACE_NO_PAGE UINT32_MAX
#define TW_TRACE_UNKNOWN UINT64_MAX

struct tw_trace_event {
	uint64_t time_ns;
	uint16_t kind, node;
	uint32_t page;
	uint64_t a, b;
};

struct tw_trace_ring {
	_Alignas(64) _Atomic uint64_t written; /* events ever; number i is at i % slots */
	uint64_t slots;                        /* a power of two */
	uint64_t space;                        /* where the processor has the shared space; 0: an agent's */
	_Alignas(64) struct tw_trace_event event[];
};

#endif
