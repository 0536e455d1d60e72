/* SPDX-License-Identifier: BSD-3-Clause */
/* exclusive.c - exclusive mode: the home's processors leave the page writable, and releases have nothing to do for
 * it.
 *
 * A commit enters it (commit.c).  No other node has a copy that is valid at the version's time or later.  A node
 * that learns of any of the home's later releases learns of this version, by notice or min_wr_ts, and so requests
 * the page.  A request by a notice or a look reads the home's mark before the public copy: if the mark is not set,
 * the public copy has all that was released while it was.  A request by the section sees the mark with the stamp,
 * and commits for the home, as that same version (ts_break):
 *
 *   mark the page busy, count that, copy the frame to the public copy, remove the mark.
 *
 * The home's processors store, then, after a fence, their release reads the count, and the marks if that has
 * changed.  The other node marks and counts, then reads the frame.  So if a release saw the mark, not busy, its
 * stores are in the copy; if it saw one, or no mark at all, it commits in the section, after the copy.  Equality of
 * frame and public copy must not replace that commit while the mark is busy: the copy in flight may undo what was
 * compared.  A mark is removed in this way only: a commit that finds its page exclusive, once it is in the section,
 * has nothing to do. */
#include "protocols/timestamp/timestamp.h"

void ts_alone_add(struct tw_proc *me, tw_page_t p)
{
	struct ts *t = ts_of(me);
	if (t->listed[p] & TS_LISTED_ALONE)
		return;
	t->listed[p] |= TS_LISTED_ALONE;
	t->alone_next[p] = t->alone[ts_group(p)];
	t->alone[ts_group(p)] = p + 1;
}

/* Put those pages of the group that are not exclusive any more into the dirty set. */
static void exclusive_look(struct tw_proc *me, unsigned group)
{
	struct ts *t = ts_of(me);

	for (tw_page_t *link = &t->alone[group]; *link;) {
		tw_page_t p = *link - 1;
		if (atomic_load_explicit(&ts_meta(me, p)->home, memory_order_relaxed) & TS_EXCLUSIVE) {
			link = &t->alone_next[p];
			continue;
		}
		*link = t->alone_next[p];
		t->listed[p] &= ~TS_LISTED_ALONE;
		tw_pageset_add(me->dirty, p);
	}
}

void ts_alone_look(struct tw_proc *me)
{
	struct ts *t = ts_of(me);
	_Atomic uint64_t *ended = (void *)(me->net->base + ts_ended_offset(me, 0));

	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned g = 0; g < TS_GROUPS; g++) {
		uint64_t now = atomic_load_explicit(&ended[g], memory_order_acquire);
		if (now == t->ended[g])
			continue;
		t->ended[g] = now;
		exclusive_look(me, g);
	}
}

void ts_break(struct tw_proc *me, tw_page_t p, unsigned home)
{
	size_t at = ts_meta_offset(me, p) + offsetof(struct ts_meta, home), bytes = me->layout.page_bytes;
	char *copy = ts_of(me)->scratch;

	tw_net_amo_post(me->net, home, at, TW_AMO_SWAP, 8, (home + 1) | TS_BUSY, 0);
	tw_net_fence(me->net, home);
	tw_net_amo_post(me->net, home, ts_ended_offset(me, ts_group(p)), TW_AMO_ADD, 8, 1, 0);
	tw_net_read(me->net, home, tw_frame_offset(me, p), copy, bytes); /* behind what is posted */
	tw_net_read_wait(me->net);
	tw_net_write(me->net, home, ts_public_offset(me, p), copy, bytes);
	tw_net_fence(me->net, home);
	tw_net_amo_post(me->net, home, at, TW_AMO_SWAP, 8, home + 1, 0);
	tw_net_flush(me->net, home);
	me->stats->now.exclusive_breaks++;
	tw_trace_page(me, TW_TRACE_exclusive_break, p);
}
