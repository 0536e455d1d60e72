/* SPDX-License-Identifier: BSD-3-Clause */
/* access.c - accesses to other nodes, counted; and the public reads, writes and atomic words. */
#include "pgas/global/access.h"

struct tw_pgas tw_pgas;

void access_bad(unsigned pe, size_t offset, size_t len)
{
	if (!tw_pgas.open)
		tw_fatal("global memory is used before tw_pgas_init or after tw_pgas_finalize");
	if (pe == 0 && offset < 16)
		tw_fatal("a null global pointer is followed");
	tw_fatal("a global pointer is wild: %zu bytes at %zu of PE %u; there are %u PEs with %zu to %zu each", len,
	         offset, pe, tw_segment.pes, tw_pgas.at, tw_pgas.at + tw_pgas.options.bytes);
}

/* An operation on @pe has returned a value: this PE's earlier puts to @pe have arrived. */
static void access_performed(unsigned pe)
{
	if (tw_pgas.put_pe == pe)
		tw_pgas.put_pe = ACCESS_NONE;
}

void access_remote_get(unsigned pe, size_t offset, void *to, size_t len, bool wait)
{
	tw_pgas.stats.get++;
	tw_pgas.stats.get_bytes += len;
	if (!wait) {
		if (!tw_pgas.reading)
			tw_pgas.stats.doorbells++;
		tw_pgas.reading = true;
		tw_segment_get_nbi(pe, offset, to, len);
		return;
	}
	tw_pgas.stats.doorbells++;
	tw_pgas.stats.rounds++;
	tw_segment_get(pe, offset, to, len);
	access_performed(pe);
}

void access_remote_put(unsigned pe, size_t offset, const void *from, size_t len)
{
	tw_pgas.stats.put++;
	tw_pgas.stats.doorbells++;
	tw_pgas.stats.put_bytes += len;
	tw_pgas.put_pe = tw_pgas.put_pe == ACCESS_NONE || tw_pgas.put_pe == pe ? pe : ACCESS_MANY;
	tw_segment_put(pe, offset, from, len);
}

static void access_count(enum tw_amo op)
{
	if (op == TW_AMO_CAS)
		tw_pgas.stats.cas++;
	else if (op == TW_AMO_SWAP)
		tw_pgas.stats.swap++;
	else
		tw_pgas.stats.faa++;
	tw_pgas.stats.doorbells++;
}

/* Also for words of the own node, where the network executes atomics. */
uint64_t access_remote_amo(unsigned pe, size_t offset, enum tw_amo op, uint64_t value, uint64_t expect)
{
	access_count(op);
	tw_pgas.stats.rounds++;
	atomic_thread_fence(memory_order_release);
	uint64_t old = tw_segment_amo(pe, offset, op, 8, value, expect);
	access_performed(pe);
	return old;
}

void access_cas_post(unsigned pe, size_t offset, uint64_t expect, uint64_t value)
{
	if (tw_segment_direct(pe) && tw_segment.cpu_atomics) {
		access_cas(pe, offset, expect, value);
		return;
	}
	access_check(pe, offset, 8);
	access_publish(pe);
	access_count(TW_AMO_CAS);
	tw_pgas.put_pe = tw_pgas.put_pe == ACCESS_NONE || tw_pgas.put_pe == pe ? pe : ACCESS_MANY;
	tw_segment_cas_post(pe, offset, expect, value);
}

void access_remote_quiet(void)
{
	tw_pgas.stats.rounds++;
	tw_segment_quiet();
	tw_pgas.reading = false;
	tw_pgas.put_pe = ACCESS_NONE;
}

/* ---- pgas.h ---- */

void *tw_gptr_local(tw_gptr p)
{
	char *segment;

	if (tw_is_null(p) || tw_gptr_pe(p) >= tw_segment.pes || !(segment = tw_segment_near(tw_gptr_pe(p))))
		return NULL;
	access_check(tw_gptr_pe(p), tw_gptr_offset(p), 16);
	return segment + tw_gptr_offset(p);
}

tw_gptr tw_gptr_of(const void *local)
{
	size_t at = (uintptr_t)local - (uintptr_t)tw_segment.node_base;

	if (!tw_pgas.open || at >= tw_segment.locals * tw_segment.bytes || at % 16 ||
	    at % tw_segment.bytes - tw_pgas.at >= tw_pgas.options.bytes)
		return tw_null();
	return tw_gptr_of_raw((uint64_t)(tw_segment.first + at / tw_segment.bytes) << 40 | at % tw_segment.bytes);
}

void tw_get(tw_gptr p, void *to, size_t len)
{
	access_get(tw_gptr_pe(p), tw_gptr_offset(p), to, len, true);
}

void tw_get_nb(tw_gptr p, void *to, size_t len)
{
	access_get(tw_gptr_pe(p), tw_gptr_offset(p), to, len, false);
}

void tw_put(tw_gptr p, const void *from, size_t len)
{
	access_put(tw_gptr_pe(p), tw_gptr_offset(p), from, len);
}

void tw_quiet(void)
{
	access_quiet();
}

void tw_get_sequence(const struct tw_part *parts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		access_get(tw_gptr_pe(parts[i].object), tw_gptr_offset(parts[i].object) + parts[i].offset,
		           parts[i].local, parts[i].len, false);
	if (tw_pgas.reading)
		access_remote_quiet();
}

void tw_put_sequence(const struct tw_part *parts, unsigned n)
{
	uint64_t doorbells = tw_pgas.stats.doorbells;

	for (unsigned i = 0; i < n; i++)
		access_put(tw_gptr_pe(parts[i].object), tw_gptr_offset(parts[i].object) + parts[i].offset,
		           parts[i].local, parts[i].len);
	if (tw_pgas.stats.doorbells > doorbells)
		tw_pgas.stats.doorbells = doorbells + 1;
}

uint64_t tw_word_load(tw_word w)
{
	return access_load(tw_gptr_pe(w.object), tw_gptr_offset(w.object) + w.offset);
}

static uint64_t word_amo(tw_word w, enum tw_amo op, uint64_t value, uint64_t expect)
{
	return access_amo(tw_gptr_pe(w.object), tw_gptr_offset(w.object) + w.offset, op, value, expect);
}

/* An atomic exchange: it is executed by the segments' agent, and has arrived on return. */
void tw_word_store(tw_word w, uint64_t value)
{
	word_amo(w, TW_AMO_SWAP, value, 0);
}

uint64_t tw_word_exchange(tw_word w, uint64_t value)
{
	return word_amo(w, TW_AMO_SWAP, value, 0);
}

uint64_t tw_word_fetch_add(tw_word w, uint64_t value)
{
	return word_amo(w, TW_AMO_ADD, value, 0);
}

uint64_t tw_word_compare_exchange(tw_word w, uint64_t expect, uint64_t value)
{
	return word_amo(w, TW_AMO_CAS, value, expect);
}
