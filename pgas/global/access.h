/* SPDX-License-Identifier: BSD-3-Clause */
/* access.h - reads, writes and atomics on (PE, offset), counted; for the files of pgas/global and pgas/containers.
 *
 * Ordering: an operation on a PE's segment that returns a value is performed after this PE's earlier puts there.  An
 * object that is published by an atomic on another PE's segment must have arrived before: access_publish waits for
 * that, and does nothing if all puts since the last quiet went to that PE. */
#ifndef TW_PGAS_ACCESS_H
#define TW_PGAS_ACCESS_H

#include "core/base/word_copy.h"
#include "pgas/segment/segment.h"
#include "tweed/pgas.h"

#define ACCESS_NONE (~0u)      /* no put is in flight */
#define ACCESS_MANY (~0u - 1u) /* puts to several PEs */

/* This PE's part of the layer; all zero outside of tw_pgas_init and tw_pgas_finalize. */
struct tw_pgas {
	bool open;
	struct tw_pgas_options options; /* with defaults filled in */
	size_t at;                      /* the layer's part of each segment: struct pool_control, then chunks */
	unsigned put_pe;                /* target of the puts in flight: a PE, ACCESS_NONE, ACCESS_MANY */
	bool reading;                   /* gets are in flight */
	bool ascending;                 /* a get reads words in ascending order */
	struct tw_pgas_stats stats;
};
extern struct tw_pgas tw_pgas;

/* wide_open, wide_close - bring up and take down 128-bit atomics (atomic_object.c). */
void wide_open(void);
void wide_close(void);

/* access_check - end the job with a sentence unless [offset, offset + len) of @pe is in the layer's part. */
void access_bad(unsigned pe, size_t offset, size_t len) __attribute__((noreturn, cold));
static inline void access_check(unsigned pe, size_t offset, size_t len)
{
	if (__builtin_expect(pe >= tw_segment.pes || offset - tw_pgas.at >= tw_pgas.options.bytes ||
	                         len > tw_pgas.options.bytes - (offset - tw_pgas.at),
	                     false))
		access_bad(pe, offset, len);
}

static inline _Atomic uint64_t *access_here(char *segment, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(segment + offset);
}

void access_remote_get(unsigned pe, size_t offset, void *to, size_t len, bool wait);
void access_remote_put(unsigned pe, size_t offset, const void *from, size_t len);
uint64_t access_remote_amo(unsigned pe, size_t offset, enum tw_amo op, uint64_t value, uint64_t expect);
void access_remote_quiet(void);

/* access_get - where tw_pgas.ascending, each 8-byte word of a short object is loaded once, in ascending order. */
static inline void access_get(unsigned pe, size_t offset, void *to, size_t len, bool wait)
{
	const char *from = tw_segment_direct(pe);

	access_check(pe, offset, len);
	if (!from) {
		access_remote_get(pe, offset, to, len, wait);
		return;
	}
	tw_pgas.stats.local++;
	tw_words_load(to, from + offset, len);
}

static inline void access_put(unsigned pe, size_t offset, const void *from, size_t len)
{
	char *to = tw_segment_direct(pe);

	access_check(pe, offset, len);
	if (!to) {
		access_remote_put(pe, offset, from, len);
		return;
	}
	tw_pgas.stats.local++;
	tw_words_store(to + offset, from, len);
}

/* access_fence - puts before it are visible before those after it. */
static inline void access_fence(void)
{
	if (tw_pgas.put_pe != ACCESS_NONE)
		tw_segment_fence();
	else
		atomic_thread_fence(memory_order_release);
}

static inline void access_quiet(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (tw_pgas.reading || tw_pgas.put_pe != ACCESS_NONE)
		access_remote_quiet();
}

/* access_pardon - until access_pardon_end, operations on lost memory have no effect (pgas/segment/segment.h).  First
 * completes the operations in flight, which are not pardoned. */
static inline void access_pardon(void)
{
	if (tw_segment.deaths)
		access_quiet();
	tw_segment.pardon = true;
}

static inline void access_pardon_end(void)
{
	tw_segment.pardon = false;
}

/* access_publish - before an atomic on @pe through which others find what this PE has put. */
static inline void access_publish(unsigned pe)
{
	if (tw_pgas.put_pe != ACCESS_NONE && tw_pgas.put_pe != pe)
		access_remote_quiet();
}

static inline uint64_t access_load(unsigned pe, size_t offset)
{
	char *here = tw_segment_direct(pe);
	uint64_t value;

	access_check(pe, offset, 8);
	if (here) {
		tw_pgas.stats.local++;
		return atomic_load_explicit(access_here(here, offset), memory_order_acquire);
	}
	access_remote_get(pe, offset, &value, sizeof(value), true);
	return value;
}

/* access_amo - an atomic through which others find what this PE has put before it. */
static inline uint64_t access_amo(unsigned pe, size_t offset, enum tw_amo op, uint64_t value, uint64_t expect)
{
	char *here = tw_segment_direct(pe);
	uint64_t old;

	access_check(pe, offset, 8);
	access_publish(pe);
	if (here && tw_segment.cpu_atomics) {
		tw_pgas.stats.local++;
		switch (op) {
		case TW_AMO_CAS:
			old = expect;
			atomic_compare_exchange_strong(access_here(here, offset), &old, value);
			break;
		case TW_AMO_SWAP:
			old = atomic_exchange(access_here(here, offset), value);
			break;
		default:
			old = tw_amo_here(here + offset, op, 8, value, expect);
		}
	} else {
		old = access_remote_amo(pe, offset, op, value, expect);
	}
	if (op == TW_AMO_CAS && old != expect)
		tw_pgas.stats.cas_failed++;
	return old;
}

static inline uint64_t access_cas(unsigned pe, size_t offset, uint64_t expect, uint64_t value)
{
	return access_amo(pe, offset, TW_AMO_CAS, value, expect);
}

/* access_cas_post - a compare-and-swap without a result; for fence and quiet it is a put. */
void access_cas_post(unsigned pe, size_t offset, uint64_t expect, uint64_t value);

#endif
