/* SPDX-License-Identifier: BSD-3-Clause */
/* lease.c - a processor's readable pages, the earliest read time first.  Read times only grow, and a page's key is
 * read anew when it leaves the heap: so an entry need not be moved when its page's time grows. */
#include "protocols/timestamp/timestamp.h"

static void lease_push(struct ts *t, struct ts_lease l)
{
	size_t i = t->leases++;
	for (; i && t->lease[(i - 1) / 2].rts > l.rts; i = (i - 1) / 2)
		t->lease[i] = t->lease[(i - 1) / 2];
	t->lease[i] = l;
}

static struct ts_lease lease_pop(struct ts *t)
{
	struct ts_lease top = t->lease[0], last = t->lease[--t->leases];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < t->leases; i = child) {
		if (child + 1 < t->leases && t->lease[child + 1].rts < t->lease[child].rts)
			child++;
		if (t->lease[child].rts >= last.rts)
			break;
		t->lease[i] = t->lease[child];
	}
	t->lease[i] = last;
	return top;
}

void ts_lease_add(struct tw_proc *me, tw_page_t p)
{
	struct ts *t = ts_of(me);
	if (t->listed[p] & TS_LEASED)
		return;
	t->listed[p] |= TS_LEASED;
	lease_push(t, (struct ts_lease){.rts = atomic_load(&ts_page(me, p)->rts), .page = p});
}

/* The lease of @p, which was in the heap, may have ended: renew it, update the page, or unmap it. */
static void lease_end(struct tw_proc *me, tw_page_t p, uint64_t before)
{
	_Atomic uint64_t *rts = &ts_page(me, p)->rts;

	if (atomic_load(rts) < before)
		ts_renew(me, p);
	tw_page_lock(me, p);
	bool stale = atomic_load(rts) < before, update = stale && ts_updates(me, p);
	if (stale && !update)
		ts_unmap(me, p);
	else
		ts_lease_add(me, p);
	tw_page_unlock(me, p);
	if (update)
		ts_refresh(me, p);
}

void ts_lease_expire(struct tw_proc *me, uint64_t before)
{
	struct ts *t = ts_of(me);
	while (t->leases && t->lease[0].rts < before) {
		tw_page_t p = lease_pop(t).page;
		t->listed[p] &= ~TS_LEASED;
		if (me->page[p].mapped & ts_bit(me))
			lease_end(me, p, before);
	}
}
