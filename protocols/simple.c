/* SPDX-License-Identifier: BSD-3-Clause */
/* simple.c - home-based eager release consistency: the example of doc/internals/writing-a-protocol.md.
 *
 * The frame of a page's home is the master copy.  Other nodes fetch it when they fault, find their writes by twin
 * and diff, and at each release send them home, and then a write notice to every node.  An acquire unmaps the pages
 * with notices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/driver/protocol.h"

static uint64_t simple_bit(const struct tw_proc *me)
{
	return (uint64_t)1 << me->local;
}

/* The right of this processor's mapping.  Page locked, here and below. */
static enum tw_rights simple_rights(const struct tw_proc *me, const struct tw_page *e)
{
	if (!(e->mapped & simple_bit(me)))
		return TW_NONE;
	return e->writers & simple_bit(me) ? TW_WRITE : TW_READ;
}

static bool simple_is_home(const struct tw_proc *me, const struct tw_page *e)
{
	return e->home == me->node + 1;
}

/* Does the node's copy have all writes whose notices were distributed so far? */
static bool simple_fresh(const struct tw_proc *me, const struct tw_page *e)
{
	return simple_is_home(me, e) || e->ts_update > e->ts_notice;
}

/* Bring the node's copy up to date, except the bytes that processors of the node have written and not flushed. */
static void simple_fetch(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	char *frame = tw_frame(me, p), *to = e->twin ? me->proto : frame;

	e->ts_update = tw_tick(me); /* before the read: a notice that arrives during it is newer */
	tw_trace(me, TW_TRACE_fetch, e->home - 1u, p, me->layout.page_bytes, 0);
	tw_net_read(me->net, e->home - 1u, tw_frame_offset(me, p), to, me->layout.page_bytes);
	tw_net_read_wait(me->net);
	me->stats->now.page_transfers++;
	if (!e->twin || tw_planted(me, "drop-incoming-diff"))
		return;
	size_t changed = tw_diff_in(frame, tw_twin(me, p), to, me->layout.page_bytes);
	tw_trace(me, TW_TRACE_diff_in, TW_TRACE_NONE, p, changed, 0);
	me->stats->now.incoming_diffs++;
}

/* The page becomes dirty: make a twin, except at the home, where writes need not be found. */
static void simple_start_writing(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	if (!e->twin && !simple_is_home(me, e))
		memcpy(tw_twin_create(me, p), tw_frame(me, p), me->layout.page_bytes);
	e->writers |= simple_bit(me);
	tw_pageset_add(me->dirty, p);
}

static void simple_fault(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct tw_page *e = &me->page[p];

	tw_page_lock(me, p);
	enum tw_rights have = simple_rights(me, e);
	tw_home_claim(me, p);
	if (!simple_fresh(me, e))
		simple_fetch(me, p);
	if (want == TW_WRITE)
		simple_start_writing(me, p);
	e->mapped |= simple_bit(me);
	want = simple_rights(me, e); /* writable also when an acquire unmapped it while dirty */
	if (want != have)
		tw_map(me, p, 1, have, want);
	tw_page_unlock(me, p);
}

static void simple_read_fault(struct tw_proc *me, tw_page_t p)
{
	simple_fault(me, p, TW_READ);
}

static void simple_write_fault(struct tw_proc *me, tw_page_t p)
{
	simple_fault(me, p, TW_WRITE);
}

struct simple_diff {
	struct tw_proc *me;
	unsigned home;
	size_t frame; /* at the home */
};

static void simple_send(void *ctx, size_t offset, const void *bytes, size_t len)
{
	struct simple_diff *d = ctx;
	tw_net_write(d->me->net, d->home, d->frame + offset, bytes, len);
}

/* Send home what this node's processors wrote; performed on return, because a neighbour may fetch next. */
static void simple_flush(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	struct simple_diff d = {.me = me, .home = e->home - 1u, .frame = tw_frame_offset(me, p)};
	bool more = e->writers && !tw_planted(me, "no-flush-update"); /* others go on writing, from here */

	me->stats->now.diffs++;
	me->stats->now.flush_updates += more;
	tw_trace_diff(me, more ? TW_TRACE_diff_update : TW_TRACE_diff_out, d.home, p, tw_frame(me, p), tw_twin(me, p));
	if (!tw_planted(me, "skip-flush"))
		tw_diff_out(tw_frame(me, p), tw_twin(me, p), me->layout.page_bytes, more, simple_send, &d);
	tw_net_flush(me->net, d.home);
	if (!e->writers)
		tw_twin_destroy(me, p);
}

static void simple_release_page(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	tw_page_lock(me, p);
	if (simple_rights(me, e) == TW_WRITE)
		tw_map(me, p, 1, TW_WRITE, TW_READ);
	e->writers &= ~simple_bit(me);
	if (!simple_is_home(me, e))
		simple_flush(me, p);
	unsigned home = e->home - 1u;
	tw_page_unlock(me, p);
	/* Also when the diff was empty: a neighbour's flush had the writes, but its notices may not be sent yet. */
	for (unsigned n = 0; n < me->nodes && !tw_planted(me, "skip-notice"); n++)
		if (n != me->node && n != home)
			tw_notice_send(me, n, p);
}

static void simple_release_run(void *ctx, tw_page_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		simple_release_page(ctx, first + i);
}

static void simple_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)kind, (void)object;
	tw_pageset_drain(me->dirty, simple_release_run, me);
	tw_notice_flush(me);
}

static void simple_acquire_run(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;

	for (tw_page_t p = first; p < first + count; p++) {
		struct tw_page *e = &me->page[p];
		tw_page_lock(me, p);
		if ((e->mapped & simple_bit(me)) && !simple_fresh(me, e)) {
			tw_map(me, p, 1, simple_rights(me, e), TW_NONE);
			e->mapped &= ~simple_bit(me);
			me->stats->now.invalidations++;
			tw_trace_page(me, TW_TRACE_invalidation, p);
		}
		tw_page_unlock(me, p);
	}
}

static void simple_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)kind, (void)object;
	tw_notice_collect(me);
	tw_pageset_drain(me->notices, simple_acquire_run, me);
}

/* One page for each process: an incoming page before the incoming diff. */
static int simple_init(struct tw_proc *me)
{
	me->proto = aligned_alloc(4096, me->layout.page_bytes);
	return me->proto ? 0 : -ENOMEM;
}

static void simple_fini(struct tw_proc *me)
{
	free(me->proto);
}

const struct tw_protocol tw_protocol_simple = {
    .name = "simple",
    .summary = "home-based eager release consistency: twins, diffs, notices to every node; the example to learn from",
    .init = simple_init,
    .fini = simple_fini,
    .read_fault = simple_read_fault,
    .write_fault = simple_write_fault,
    .release = simple_release,
    .acquire = simple_acquire,
};
