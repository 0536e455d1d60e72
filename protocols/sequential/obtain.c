/* SPDX-License-Identifier: BSD-3-Clause */
/* obtain.c - a node gets a right on a page: one writer or many readers (Li and Hudak, "Memory coherence in shared
 * virtual memory systems", TOCS 7(4), 1989, section 3.1; the manager is the page's home).  The owner's frame is the
 * newest copy; it is not sent home. */
#include "protocols/sequential/sequential.h"

static uint64_t obtain_bit(unsigned node)
{
	return (uint64_t)1 << node % 64;
}

/* Take the page from all nodes that have it, but this one. */
static void obtain_alone(struct tw_proc *me, tw_page_t p, struct seq_entry *entry)
{
	for (unsigned n = 0; n < me->nodes; n++)
		if (n != me->node && (entry->copies[n / 64] & obtain_bit(n)) && !tw_planted(me, "skip-withdraw"))
			seq_withdraw(me, n, p, TW_NONE);
	for (unsigned i = 0; i < TW_MAX_NODES / 64; i++)
		entry->copies[i] = 0;
}

/* Page locked. */
static void obtain_fetch(struct tw_proc *me, tw_page_t p, unsigned from)
{
	me->stats->now.page_transfers++;
	tw_trace(me, TW_TRACE_fetch, from, p, me->layout.page_bytes, 0);
	tw_net_read(me->net, from, tw_frame_offset(me, p), tw_frame(me, p), me->layout.page_bytes);
	tw_net_read_wait(me->net);
}

void seq_obtain(struct tw_proc *me, tw_page_t p, enum tw_rights want, int pin)
{
	struct tw_page *e = &me->page[p];
	struct seq_entry entry;
	unsigned home = seq_home(me, p), self = me->node + 1u, owner;
	uint32_t state = want == TW_WRITE ? SEQ_EXCLUSIVE : SEQ_SHARED;

	if (!seq_entry_lock(me, home, p, pin ? TW_NONE : want, &entry))
		return;
	owner = (uint16_t)entry.owner;
	if (!pin && seq_has(e, want)) {
		seq_entry_unlock(me, home, p, &entry); /* a neighbour was first */
		return;
	}
	if (owner && owner != self && (entry.owner & SEQ_PINNED)) {
		state = SEQ_RELAXED;
	} else if (want == TW_WRITE || !owner) {
		obtain_alone(me, p, &entry);
		state = SEQ_EXCLUSIVE;
		entry.owner = self | SEQ_WRITING;
	} else {
		if ((entry.owner & SEQ_WRITING) && owner != self)
			seq_withdraw(me, owner - 1, p, TW_READ);
		entry.owner = owner;
	}
	entry.copies[me->node / 64] |= obtain_bit(me->node);

	tw_page_lock(me, p);
	unsigned from = owner ? owner - 1 : home;
	if (e->state == SEQ_INVALID && state != SEQ_RELAXED && from != me->node)
		obtain_fetch(me, p, from);
	if (state == SEQ_RELAXED)
		e->ts_update = 0;
	e->extra += (uint64_t)(int64_t)pin;
	if (e->extra && state == SEQ_EXCLUSIVE)
		entry.owner |= SEQ_PINNED;
	e->ts_notice = tw_time_ns();
	__atomic_store_n(&e->state, state, __ATOMIC_SEQ_CST);
	tw_page_unlock(me, p);
	seq_entry_unlock(me, home, p, &entry);
}

void seq_lock(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	for (tw_page_lock(me, p); !seq_has(&me->page[p], want); tw_page_lock(me, p)) {
		tw_page_unlock(me, p);
		seq_obtain(me, p, want, 0);
	}
}
