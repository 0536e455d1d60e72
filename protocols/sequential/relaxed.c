/* SPDX-License-Identifier: BSD-3-Clause */
/* relaxed.c - copies of pages that another node has pinned, which nobody can take from it: stacks, on which Tweed's own
 * code runs.  They are kept as by home-based release consistency (protocols/simple.c), without notices: an acquire
 * drops all of them.
 *
 * Relaxed copies follow the other pages.  Before other pages leave a node, its stores to relaxed copies are sent home
 * (withdraw.c), and a processor that gets a right on another page by a fault drops its copies.  So what a thread
 * stores to a stack is visible to a thread that has found a later store of the same thread elsewhere, by whatever
 * means.
 *
 * The node's set has the pages with a twin: a page is added when a processor may store to it, and taken out by the
 * agent when none may any more. */
#include <string.h>

#include "protocols/sequential/sequential.h"

static struct tw_pageset *relaxed_set(const struct tw_proc *me)
{
	return (void *)(me->private_mem + me->layout.protocol_private);
}

/* Bring the copy up to date, except the bytes that processors of the node have stored and not sent home. */
static void relaxed_fetch(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	char *frame = tw_frame(me, p), *to = e->twin ? seq_of(me)->scratch : frame;

	e->ts_update = tw_tick(me);
	tw_trace(me, TW_TRACE_fetch, e->home - 1u, p, me->layout.page_bytes, 0);
	tw_net_read(me->net, e->home - 1u, tw_frame_offset(me, p), to, me->layout.page_bytes);
	tw_net_read_wait(me->net);
	me->stats->now.page_transfers++;
	if (!e->twin)
		return;
	size_t changed = tw_diff_in(frame, tw_twin(me, p), to, me->layout.page_bytes);
	tw_trace(me, TW_TRACE_diff_in, TW_TRACE_NONE, p, changed, 0);
	me->stats->now.incoming_diffs++;
}

void seq_relaxed_map(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct tw_page *e = &me->page[p];
	enum tw_rights have = seq_rights(me, e);

	if (e->ts_update <= seq_of(me)->dropped)
		relaxed_fetch(me, p);
	if (want == TW_WRITE) {
		if (!e->twin)
			memcpy(tw_twin_create(me, p), tw_frame(me, p), me->layout.page_bytes);
		e->writers |= seq_bit(me);
		tw_pageset_add(me->dirty, p);
		tw_pageset_add(relaxed_set(me), p);
	}
	e->mapped |= seq_bit(me);
	tw_pageset_add(me->notices, p);
	want = seq_rights(me, e); /* writable also when an acquire unmapped it while dirty */
	if (want != have)
		tw_map(me, p, 1, have, want);
}

struct relaxed_diff {
	struct tw_proc *me;
	unsigned home;
	size_t frame; /* at the home */
};

static void relaxed_send(void *ctx, size_t offset, const void *bytes, size_t len)
{
	struct relaxed_diff *d = ctx;

	tw_net_write(d->me->net, d->home, d->frame + offset, bytes, len);
}

void seq_relaxed_flush(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	struct relaxed_diff d = {.me = me, .home = e->home - 1u, .frame = tw_frame_offset(me, p)};
	bool more = e->writers; /* they go on storing, from here */

	if (!e->twin)
		return;
	me->stats->now.diffs++;
	me->stats->now.flush_updates += more;
	tw_trace_diff(me, more ? TW_TRACE_diff_update : TW_TRACE_diff_out, d.home, p, tw_frame(me, p), tw_twin(me, p));
	tw_diff_out(tw_frame(me, p), tw_twin(me, p), me->layout.page_bytes, more, relaxed_send, &d);
	tw_net_flush(me->net, d.home);
	if (!more)
		tw_twin_destroy(me, p);
}

void seq_relaxed_end(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	uint64_t victims = e->mapped;

	e->mapped = e->writers = 0;
	tw_revoke(me, p, 1, victims);
	seq_relaxed_flush(me, p);
	__atomic_store_n(&e->state, SEQ_INVALID, __ATOMIC_SEQ_CST);
}

static void relaxed_flush_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;

	for (tw_page_t p = first; p < first + count; p++) {
		tw_page_lock(me, p);
		if (me->page[p].state == SEQ_RELAXED) {
			seq_relaxed_flush(me, p);
			if (me->page[p].twin)
				tw_pageset_add(relaxed_set(me), p);
		}
		tw_page_unlock(me, p);
	}
}

void seq_relaxed_flush_all(struct tw_proc *me)
{
	if (!tw_pageset_empty(relaxed_set(me)))
		tw_pageset_drain(relaxed_set(me), relaxed_flush_run, me);
}

static void relaxed_release_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;

	for (tw_page_t p = first; p < first + count; p++) {
		struct tw_page *e = &me->page[p];
		tw_page_lock(me, p);
		if (e->state == SEQ_RELAXED && (e->writers & seq_bit(me))) {
			if (seq_rights(me, e) == TW_WRITE)
				tw_map(me, p, 1, TW_WRITE, TW_READ);
			e->writers &= ~seq_bit(me);
			seq_relaxed_flush(me, p);
		}
		tw_page_unlock(me, p);
	}
}

void seq_relaxed_release(struct tw_proc *me)
{
	if (!tw_pageset_empty(me->dirty))
		tw_pageset_drain(me->dirty, relaxed_release_run, me);
}

static void relaxed_acquire_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;

	for (tw_page_t p = first; p < first + count; p++) {
		struct tw_page *e = &me->page[p];
		tw_page_lock(me, p);
		if (e->state == SEQ_RELAXED && (e->mapped & seq_bit(me))) {
			tw_map(me, p, 1, seq_rights(me, e), TW_NONE);
			e->mapped &= ~seq_bit(me);
			me->stats->now.invalidations++;
			tw_trace_page(me, TW_TRACE_invalidation, p);
		}
		tw_page_unlock(me, p);
	}
}

void seq_relaxed_acquire(struct tw_proc *me)
{
	seq_of(me)->dropped = atomic_load(&me->n->clock);
	if (!tw_pageset_empty(me->notices))
		tw_pageset_drain(me->notices, relaxed_acquire_run, me);
}
