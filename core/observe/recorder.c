/* SPDX-License-Identifier: BSD-3-Clause */
/* recorder.c - records events in the ring of the process in which they happen. A slot is counted first, then written.
 * Rings are read after their owner has ended, wherever that happened. Counted events are complete, except the oldest,
 * which the next event may have partly overwritten, and one that a killed owner was writing. */
#include "core/observe/recorder.h"

#include <string.h>

#include "core/observe/symbol.h"

#define TRACE_SAID        6u  /* last events printed at a fatal end */
#define TRACE_ALLOCATIONS 4u  /* ratio of events to allocations that are kept */
#define TRACE_BLOCKS      64u /* parts of a page, one bit each: those with changed bytes */

const char *tw_trace_kind_name(unsigned kind)
{
	static const char *const names[] = {
#define X(name) #name,
	    TW_TRACE_KINDS(X)
#undef X
	};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

static size_t trace_slots(const struct tw_config *config, unsigned ring)
{
	return ring ? config->trace_events / TRACE_ALLOCATIONS : config->trace_events;
}

static size_t trace_bytes(const struct tw_config *config, unsigned ring)
{
	size_t events = trace_slots(config, ring) * sizeof(struct tw_trace_event);
	return TW_ALIGN_UP(sizeof(struct tw_trace_ring) + events, (size_t)4096);
}

size_t tw_trace_ring_bytes(const struct tw_config *config)
{
	return config->trace[0] ? trace_bytes(config, 0) + trace_bytes(config, 1) : 0;
}

struct tw_trace_ring *tw_trace_ring(void *rings, const struct tw_config *config, unsigned ring)
{
	return (struct tw_trace_ring *)(void *)((char *)rings + (ring ? trace_bytes(config, 0) : 0));
}

void tw_trace_open(struct tw_proc *me)
{
	if (!me->config.trace[0])
		return;
	me->trace = (void *)(me->private_mem + me->layout.trace + me->local * me->layout.trace_bytes);
	for (unsigned i = 0; i < TW_TRACE_RINGS; i++) {
		struct tw_trace_ring *ring = tw_trace_ring(me->trace, &me->config, i);
		ring->slots = trace_slots(&me->config, i);
		ring->space = (uintptr_t)me->app;
	}
}

void tw_trace_record(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, uint32_t page, uint64_t a, uint64_t b)
{
	struct tw_trace_ring *ring = tw_trace_ring(me->trace, &me->config, kind >= TW_TRACE_allocate);
	uint64_t n = atomic_fetch_add_explicit(&ring->written, 1, memory_order_relaxed); /* of two threads: lazy.c */

	ring->event[n & (ring->slots - 1)] = (struct tw_trace_event){
	    .time_ns = tw_time_ns(), .kind = (uint16_t)kind, .node = (uint16_t)node, .page = page, .a = a, .b = b};
}

/* ---- byte ranges ------------------------------------------------------------------------------------------------ */

struct trace_range {
	uint64_t first, last, bytes, blocks;
	unsigned block_shift;
};

static void trace_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	struct trace_range *r = ctx;
	size_t from = offset >> r->block_shift, to = (offset + len - 1) >> r->block_shift;

	(void)bytes;
	r->first = TW_MIN(r->first, offset);
	r->last = offset + len - 1;
	r->bytes += len;
	r->blocks |= ~(uint64_t)0 >> (TRACE_BLOCKS - 1 - (to - from)) << from;
}

static struct trace_range trace_range(const struct tw_proc *me)
{
	return (struct trace_range){.first = UINT16_MAX, .block_shift = me->layout.page_shift - 6};
}

static void trace_record_range(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, tw_page_t page,
                               const struct trace_range *r)
{
	tw_trace_record(me, kind, node, page, r->bytes ? r->first | r->last << 16 | r->bytes << 32 : 0, r->blocks);
}

void tw_trace_bytes(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, tw_page_t page, size_t offset,
                    size_t bytes)
{
	if (!me->trace)
		return;
	struct trace_range r = trace_range(me);
	trace_run(&r, offset, NULL, bytes);
	trace_record_range(me, kind, node, page, &r);
}

void tw_trace_diff(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, tw_page_t page, const void *frame,
                   const void *twin)
{
	if (!me->trace)
		return;
	struct trace_range r = trace_range(me);
	struct tw_gate_member *member = tw_virtual;
	tw_virtual = NULL; /* the comparison is the trace's, and takes no virtual time */
	tw_diff_out(frame, (void *)(uintptr_t)twin, me->layout.page_bytes, 0, trace_run, &r);
	tw_virtual = member;
	trace_record_range(me, kind, node, page, &r);
}

/* ---- allocations, the end --------------------------------------------------------------------------------------- */

/* The address in the program's file of the call that returns to @caller; 0: another file's. */
static uintptr_t trace_site(const void *caller)
{
	static struct tw_symbol_program program;

	if (!program.end)
		tw_symbol_program(&program);
	/* The call's own last byte: the address behind it may belong to another line. */
	uintptr_t site = (uintptr_t)caller - 1;
	return site >= program.base && site < program.end ? site - program.base : 0;
}

void tw_trace_allocation(struct tw_proc *me, const void *address, size_t bytes, const void *caller)
{
	struct tw_stats *s = me->stats;
	uintptr_t site = trace_site(caller);

	if (me->trace)
		tw_trace(me, TW_TRACE_allocate, TW_TRACE_NONE, (uint32_t)site, (uintptr_t)address, bytes);
	if (bytes < TW_ALLOCATED_LEAST)
		return;
	uint64_t k = atomic_load_explicit(&s->allocations, memory_order_relaxed);
	struct tw_allocated *at = &s->allocated[k % TW_ALLOCATED];
	atomic_store_explicit(&at->address, (uintptr_t)address, memory_order_relaxed);
	atomic_store_explicit(&at->bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&at->site, site, memory_order_relaxed);
	atomic_store_explicit(&s->allocations, k + 1, memory_order_release);
}

void tw_trace_say(const struct tw_proc *me)
{
	const struct tw_trace_ring *ring = tw_trace_ring(me->trace, &me->config, 0);
	uint64_t written = atomic_load(&ring->written), now = tw_time_ns();

	for (uint64_t i = written - TW_MIN(written, TRACE_SAID); i < written; i++) {
		const struct tw_trace_event *e = &ring->event[i & (ring->slots - 1)];
		tw_log("%lu ns before: %s, page %d, node %d, 0x%lx, 0x%lx", (unsigned long)(now - e->time_ns),
		       tw_trace_kind_name(e->kind), (int)e->page, e->node == TW_TRACE_NONE ? -1 : e->node,
		       (unsigned long)e->a, (unsigned long)e->b);
	}
}
