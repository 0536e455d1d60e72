/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.h - a processor's counters and times.  They are in the node's private memory, written by their processor (or
 * by the agent, for its own work) without atomics, and read by the agent at the end of the job. */
#ifndef TWEED_DRIVER_STATS_H
#define TWEED_DRIVER_STATS_H

#include <stdint.h>

#include "tweed/driver/transport.h"

/* The paper's Table 3, and more.  X(name) in the order of the JSON. */
/* clang-format off */
#define TW_COUNTERS(X) \
	X(lock_acquires) X(flag_acquires) X(barriers) X(read_faults) X(write_faults) X(page_transfers) \
	X(host_transfers) X(directory_updates) X(write_notices) X(data_bytes) X(twins) X(incoming_diffs) \
	X(flush_updates) X(shootdowns) X(interrupts) X(migrations) X(exclusive_transitions) X(exclusive_breaks) \
	X(exclusive_returns) X(messages) X(prefetched_reads) X(prefetched_writes) X(coalesced_fetches) \
	X(coalesced_flushes) X(early_flushes) X(kept_writable) X(lock_remote) X(invalidations) X(updates) X(diffs) \
	X(races) X(lazy_releases) X(eager_releases) X(demands) \
	X(round_trips)
/* clang-format on */

/* The paper's Figure 4; user is total minus the rest. */
#define TW_TIMES(X) X(protocol) X(polling) X(comm_wait) X(write_doubling)

enum tw_verdict { TW_VERDICT_NONE, TW_VERDICT_YES, TW_VERDICT_NO };

struct tw_counters {
#define X(name) uint64_t name;
	TW_COUNTERS(X)
#undef X
#define X(name) uint64_t name##_ns;
	TW_TIMES(X)
#undef X
};

#define TW_ENDED_JOB 2u

/* The call in which a processor waits for others, without a time-out.  The last four: at the job's barrier. */
enum tw_wait_call {
	TW_WAIT_NONE,
	TW_WAIT_LOCK,
	TW_WAIT_BARRIER,
	TW_WAIT_FLAG,
	TW_WAIT_BARRIER_ALL,
	TW_WAIT_INIT,
	TW_WAIT_FINALIZE,
	TW_WAIT_BCAST,
	TW_WAIT_CALLS
};

#define TW_WAIT_HELD       4u
#define TW_FAULTED         64u
#define TW_ALLOCATED       32u
#define TW_ALLOCATED_LEAST ((size_t)16 << 10) /* bytes */

/* For the agent, which checks whether all processors wait (tools/agent/agent_waits.c).  Written by the processor
 * alone. */
struct tw_waits {
	_Alignas(64) _Atomic uint32_t call;  /* enum tw_wait_call; set last, and reset first */
	_Atomic uint64_t begun;              /* waits begun */
	_Atomic uint64_t polls;              /* polls that found that it must go on waiting */
	_Atomic uint64_t object, value;      /* the handle, and the flag's value, that it waits for */
	_Atomic int32_t pid;                 /* its process; 0: it has not joined the job */
	_Atomic uint64_t handles;            /* a bit for each signal that the program handles; set by run-times */
	_Atomic uint64_t held[TW_WAIT_HELD]; /* locks that it holds, 0: none; if they are more, some are missing */
};

struct tw_stats {
	_Alignas(64) struct tw_counters now;
	struct tw_traffic traffic; /* tw_stats_end copies it to the counters */
	uint64_t started_ns;       /* of tw_init or tw_stats_reset */
	uint64_t total_ns;         /* set by tw_stats_stop or tw_finalize, or at the job's end */
	struct tw_counters kept;   /* as of tw_stats_stop */
	uint32_t stopped;          /* kept and total_ns are valid */
	uint32_t verdict;          /* enum tw_verdict */
	uint32_t finalized;        /* tw_finalize was reached: to exit is no failure */
	uint32_t initialized;      /* tw_init was completed */
	uint32_t
	    refused; /* the process has reported why it ends the job; TW_ENDED_JOB: as asked, its status is the job's */
	struct tw_waits waits;
	/* Addresses of the last faults, for `tweed top`: fault number k, since the start, at k % TW_FAULTED. */
	_Atomic uint64_t faults;
	_Atomic uint64_t faulted[TW_FAULTED];
	/* The last blocks of at least TW_ALLOCATED_LEAST bytes: number k, since the start, at k % TW_ALLOCATED. */
	_Atomic uint64_t allocations;
	struct tw_allocated {
		_Atomic uint64_t address, bytes, site; /* site: of the call, in the program's file; 0: unknown */
	} allocated[TW_ALLOCATED];
};

#endif
