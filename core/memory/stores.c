/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/memory/stores.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory/globals.h"
#include "core/job/job.h"

#define STORES_NO_PAGE SIZE_MAX

struct tw_stores tw_stores;

static struct {
	struct tw_pageset *pages; /* those that have a bit set */
	size_t set_bytes, bit_bytes;
} log_memory;

static void *stores_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

int tw_stores_open(struct tw_proc *me)
{
	bool announced = &tw_stores_runtime != NULL;
	size_t memory = me->config.memory;

	if (!(me->protocol->flags & TW_PROTOCOL_NEEDS_STORES))
		return 0;
	if (!announced)
		return -ENOTSUP;
	log_memory.set_bytes = me->layout.set_bytes;
	log_memory.bit_bytes = memory / 8;
	log_memory.pages = stores_map(log_memory.set_bytes);
	tw_stores.bits = stores_map(log_memory.bit_bytes);
	if (!log_memory.pages || !tw_stores.bits) {
		tw_log("cannot map %zu MiB for the log of stores: %s; lower TWEED_MEMORY", memory >> 23,
		       strerror(errno));
		return -ENOMEM;
	}
	tw_pageset_init(log_memory.pages, me->layout.pages);
	tw_stores.page_shift = me->layout.page_shift;
	tw_stores.page = STORES_NO_PAGE;
	tw_stores.base = tw_space_base();
	tw_stores.bytes = memory;
	return 0;
}

void tw_stores_close(void)
{
	tw_stores.bytes = 0;
	if (log_memory.pages)
		munmap(log_memory.pages, log_memory.set_bytes);
	if (tw_stores.bits)
		munmap(tw_stores.bits, log_memory.bit_bytes);
	log_memory.pages = NULL;
	tw_stores.bits = NULL;
}

void tw_stores_page(size_t page)
{
	tw_pageset_add(log_memory.pages, (tw_page_t)page);
	tw_stores.page = page;
}

void tw_stores_range(size_t offset, size_t bytes)
{
	size_t end = offset + TW_MIN(bytes, tw_stores.bytes - offset);

	for (size_t stop; offset < end; offset = stop) {
		stop = TW_MIN(end, (offset | 63) + 1);
		if (offset >> tw_stores.page_shift != tw_stores.page)
			tw_stores_page(offset >> tw_stores.page_shift);
		tw_stores_set(tw_stores.bits + offset / 64, ~(uint64_t)0 >> (64 - (stop - offset)) << offset % 64);
	}
}

/* Returns the first byte from @at on whose bit differs from that of @flip, or @end. */
static size_t stores_next(size_t at, size_t end, uint64_t flip)
{
	for (; at < end; at = (at | 63) + 1) {
		uint64_t word = (tw_stores.bits[at / 64] ^ flip) >> at % 64;
		if (word)
			return at + (size_t)__builtin_ctzll(word);
	}
	return end;
}

static void stores_clear(size_t at, size_t end)
{
	for (size_t stop; at < end; at = stop) {
		stop = TW_MIN(end, (at | 63) + 1);
		tw_stores_clear(tw_stores.bits + at / 64, ~(uint64_t)0 >> (64 - (stop - at)) << at % 64);
	}
}

/* Runs are cut at page ends. A signal handler may store meanwhile; what it announces after a run's bits were cleared
 * puts the page into the set again. */
static void stores_drain_page(struct tw_proc *me, size_t at)
{
	size_t end = at + me->layout.page_bytes;

	tw_stores.page = STORES_NO_PAGE;
	while ((at = stores_next(at, end, 0)) < end) {
		size_t stop = stores_next(at, end, ~(uint64_t)0);
		stores_clear(at, stop);
		if (!me->protocol->stored(me, at, stop - at))
			stores_clear(stop, end);
		at = stop;
	}
}

static void stores_drain_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;

	for (tw_page_t p = first; p < first + count; p++)
		stores_drain_page(me, (size_t)p << me->layout.page_shift);
}

void tw_stores_drain(struct tw_proc *me)
{
	if (!tw_stores.bytes || tw_pageset_empty(log_memory.pages))
		return;
	uint64_t t = tw_time_begin(me);
	tw_pageset_drain(log_memory.pages, stores_drain_run, me);
	tw_time_end(me, &me->stats->now.write_doubling_ns, t);
}
