/* SPDX-License-Identifier: BSD-3-Clause */
/* word.c - atomic operations on words: in the node's frame, which the page lock keeps while the operation is executed;
 * of a page that another node has pinned, in the home's frame.
 *
 * A load without the lock (seq_word_peek) reads the frame between two looks at the state and at the time of the grant.
 * If both are the same, the node had the page throughout, so no other node stored to it. */
#include <string.h>

#include "protocols/sequential/sequential.h"

static size_t word_in_page(const struct tw_proc *me, size_t offset)
{
	return offset & (me->layout.page_bytes - 1);
}

static struct tw_location word_master(struct tw_proc *me, tw_page_t p, size_t at)
{
	struct tw_location master = {.node = me->page[p].home - 1u, .offset = tw_frame_offset(me, p) + at};

	if (me->net->ops->direct)
		master.at = tw_net_direct(me->net, master.node, master.offset);
	return master;
}

bool seq_word(struct tw_proc *me, size_t offset, size_t bytes, bool loads, bool wait, struct tw_location *where)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	enum tw_rights want = loads ? TW_READ : TW_WRITE;

	(void)bytes;
	if (wait) {
		seq_lock(me, p, want);
	} else if (!tw_page_trylock(me, p)) {
		return false;
	} else if (!seq_has(&me->page[p], want)) {
		tw_page_unlock(me, p);
		return false;
	}
	if (me->page[p].state == SEQ_RELAXED) {
		seq_relaxed_flush(me, p);
		*where = word_master(me, p, word_in_page(me, offset));
	} else {
		*where = (struct tw_location){.at = tw_frame(me, p) + word_in_page(me, offset)};
	}
	return true;
}

void seq_word_done(struct tw_proc *me, size_t offset, size_t bytes, bool changed, const void *now)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	struct tw_page *e = &me->page[p];
	size_t at = word_in_page(me, offset);
	char value[16];

	(void)changed;
	if (e->state == SEQ_RELAXED) {
		if (now)
			memcpy(value, now, bytes);
		else
			tw_diff_load(value, word_master(me, p, at).at, bytes);
		tw_diff_apply(tw_frame(me, p) + at, value, bytes);
		if (e->twin)
			tw_diff_apply(tw_twin(me, p) + at, value, bytes);
	}
	tw_page_unlock(me, p);
}

bool seq_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	const struct tw_page *e = &me->page[p];
	uint32_t state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);
	uint64_t granted = __atomic_load_n(&e->ts_notice, __ATOMIC_ACQUIRE);

	if (state == SEQ_INVALID || state == SEQ_RELAXED)
		return false;
	tw_diff_load(value, tw_frame(me, p) + word_in_page(me, offset), bytes);
	atomic_thread_fence(memory_order_acquire);
	return __atomic_load_n(&e->state, __ATOMIC_RELAXED) == state &&
	       __atomic_load_n(&e->ts_notice, __ATOMIC_RELAXED) == granted;
}
