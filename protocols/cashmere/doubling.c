/* SPDX-License-Identifier: BSD-3-Clause */
/* doubling.c - write doubling (Cashmere-2L, sections 2.6 and 3.3.1): what the program stored goes to the home byte
 * by byte.
 *
 * No other node writes this frame meanwhile, so there is no twin and no diff.  The core calls cash_stored before
 * every release, arrival and acquire; the hook that follows calls cash_doubled first.  From there until the next
 * such pair the master has all that this processor stored.  Therefore
 * - the master is what a release promises, and no end of exclusive mode sends the page home;
 * - a fetch may overwrite the frame, even of a dirty page that a notice unmapped;
 * - two doubled stores to one byte are never in flight together (the transport might exchange them).
 *
 * A right is withdrawn in these hooks only, after cash_doubled: so a page that is not writable now was not stored
 * to. */
#include "protocols/cashmere/cashmere.h"

bool cash_stored(struct tw_proc *me, size_t offset, size_t bytes)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	struct tw_page *e = &me->page[p];

	if (tw_planted(me, "double-words")) { /* the paper's granularity */
		bytes = TW_ALIGN_UP(offset + bytes, (size_t)8) - (offset & ~(size_t)7);
		offset &= ~(size_t)7;
	}
	tw_page_lock(me, p);
	bool wanted = cash_rights(me, e) == TW_WRITE && !cash_is_home(me, e) && !tw_planted(me, "skip-doubling") &&
	              !((e->state & CASH_EXCLUSIVE) && tw_planted(me, "skip-exclusive-doubling"));
	if (wanted) {
		tw_trace_bytes(me, TW_TRACE_doubled, e->home - 1u, p, offset % me->layout.page_bytes, bytes);
		tw_net_write(me->net, e->home - 1u, me->layout.masters + offset, me->view + offset, bytes);
		cash_of(me)->doubled = true;
	}
	tw_page_unlock(me, p);
	return wanted;
}

void cash_doubled(struct tw_proc *me)
{
	if (!cash_of(me)->doubled)
		return;
	cash_of(me)->doubled = false;
	tw_net_flush(me->net, TW_NET_ALL);
}
