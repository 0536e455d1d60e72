/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.c - the hooks of faults and pins.  A pinned page's home has it exclusively and keeps it; other nodes have
 * relaxed copies. */
#include <errno.h>

#include "protocols/sequential/sequential.h"

static void seq_fault(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct tw_page *e = &me->page[p];

	seq_lock(me, p, want);
	bool relaxed = e->state == SEQ_RELAXED;
	enum tw_rights have = seq_rights(me, e);
	if (relaxed) {
		seq_relaxed_map(me, p, want);
	} else if (want > have) {
		tw_map(me, p, 1, have, want);
		e->mapped |= seq_bit(me);
		if (want == TW_WRITE)
			e->writers |= seq_bit(me);
	}
	tw_page_unlock(me, p);
	if (!relaxed)
		seq_relaxed_acquire(me);
}

void seq_read_fault(struct tw_proc *me, tw_page_t p)
{
	seq_fault(me, p, TW_READ);
}

void seq_write_fault(struct tw_proc *me, tw_page_t p)
{
	seq_fault(me, p, TW_WRITE);
}

static void pin_page(struct tw_proc *me, tw_page_t p)
{
	tw_page_lock(me, p);
	bool pinned = me->page[p].extra != 0;
	me->page[p].extra += pinned;
	tw_page_unlock(me, p);
	if (!pinned)
		seq_obtain(me, p, TW_WRITE, 1);
	seq_write_fault(me, p);
}

int seq_pin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++) {
		tw_page_lock(me, p);
		tw_home_propose(me, p, me->node);
		bool here = tw_home_get(me, p) == (int)me->node;
		tw_page_unlock(me, p);
		if (!here) {
			seq_unpin(me, first, p - first);
			return -ENOTSUP;
		}
		pin_page(me, p);
	}
	return 0;
}

void seq_unpin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++) {
		tw_page_lock(me, p);
		bool last = me->page[p].extra == 1;
		me->page[p].extra -= me->page[p].extra > 1;
		tw_page_unlock(me, p);
		if (last)
			seq_obtain(me, p, TW_WRITE, -1);
	}
}
