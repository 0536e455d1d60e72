/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h - what happened in a run, event by event (TWEED_TRACE; doc/tracing.md): each processor, and each agent's
 * service, has two rings in the node's private memory, which it alone writes; the oldest events are overwritten.
 * Allocations, which are early and rare, have a ring of their own.
 *
 * What a kind means, and what its fields do, is in doc/tracing.md; here: p page, n node, a and b. */
#ifndef TWEED_DRIVER_TRACE_H
#define TWEED_DRIVER_TRACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define TW_TRACE_KINDS(X)                                                                                              \
	X(span)                           /* p category, a since: time of enum tw_trace_span ended */                  \
	X(measure_begin) X(measure_end)   /* tw_stats_reset, tw_stats_stop */                                          \
	X(read_fault) X(write_fault)      /* p, a byte in the page, or TW_TRACE_UNKNOWN */                              \
	X(fetch)                          /* p, n from, a bytes */                                                     \
	X(fetched)                        /* all that this processor has begun to fetch is here */                     \
	X(update)                         /* p: brought up to date in place */                                         \
	X(twin)                           /* p */                                                                      \
	X(diff_out)                       /* p, n home, a and b: tw_trace_diff */                                      \
	X(diff_update)                    /* the same, of a page that neighbours go on writing: a flush-update */      \
	X(diff_in)                        /* p, a bytes changed */                                                     \
	X(doubled)                        /* p, n home, a and b as diff_out: stores sent to the home */                \
	X(home_flush)                     /* p: a release found it written at its home */                              \
	X(notice_out) X(notice_in)        /* p, n */                                                                   \
	X(invalidation)                   /* p */                                                                      \
	X(directory)                      /* p, a word */                                                              \
	X(exclusive_enter) X(exclusive_break) /* p */                                                                  \
	X(shootdown)                      /* p, a pages, b victims */                                                  \
	X(migration)                      /* p */                                                                      \
	X(lock_wait) X(lock_take)         /* a handle, b: another node took part */                                    \
	X(lock_release)                   /* a handle */                                                               \
	X(barrier_arrive) X(barrier_leave) /* a handle, b which time, from 1 */                                        \
	X(collective)                     /* b: passed together by all processors, outside of barriers */              \
	X(flag_wait) X(flag_seen) X(flag_set) /* a handle, b value */                                                  \
	X(message_out) X(message_in)      /* n, a type */                                                              \
	X(allocate)                       /* p call site, a address, b bytes */                                        \
	X(free)                           /* a address */

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
	_Alignas(64) struct tw_trace_event event[];
};

#endif
