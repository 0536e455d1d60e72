/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c - the node's copy of a page: fetched from the home, unmapped, withdrawn from the directory.  Contracts:
 * cashmere.h. */
#include "protocols/cashmere/cashmere.h"

void cash_fetch_begin(struct tw_proc *me)
{
	struct cash_run *r = &cash_of(me)->fetching;

	if (r->bytes)
		tw_net_read(me->net, r->node, r->offset, r->to, r->bytes);
	r->bytes = 0;
}

/* Neighbouring pages of one home are read together. */
static void copy_gather(struct tw_proc *me, unsigned node, size_t offset, char *to, size_t bytes)
{
	struct cash_run *r = &cash_of(me)->fetching;

	if (r->bytes && (r->node != node || r->offset + r->bytes != offset || r->to + r->bytes != to))
		cash_fetch_begin(me);
	if (!r->bytes)
		*r = (struct cash_run){node, offset, to, 0};
	r->bytes += bytes;
}

/* Apply the staged pages, which have come, to the copies that have twins. */
static void copy_diffs_in(struct tw_proc *me)
{
	struct cash *c = cash_of(me);
	size_t bytes = me->layout.page_bytes;

	for (unsigned i = 0; i < c->staged; i++) {
		tw_page_t p = c->staged_page[i];
		const char *came = c->stage + i * bytes;
		size_t changed = 0;

		if (me->config.race)
			tw_race_check(me, p, came);
		if (!tw_planted(me, "drop-incoming-diff"))
			changed = tw_diff_in(tw_frame(me, p), tw_twin(me, p), came, bytes);
		tw_trace(me, TW_TRACE_diff_in, TW_TRACE_NONE, p, changed, 0);
		me->stats->now.incoming_diffs++;
	}
	c->staged = 0;
}

static void copy_complete(struct tw_proc *me)
{
	cash_fetch_begin(me);
	tw_net_read_wait(me->net);
	copy_diffs_in(me);
}

void cash_fetch(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	struct cash *c = cash_of(me);
	size_t bytes = me->layout.page_bytes;
	char *to = tw_frame(me, p);

	if (e->twin) {
		if (c->staged == cash_stage_pages(me))
			copy_complete(me);
		to = c->stage + c->staged * bytes;
		c->staged_page[c->staged++] = p;
	}
	e->ts_update = tw_tick(me);
	/* Read after the stamp: else the home could move in between, and the new home's first notice be stamped
	 * earlier. */
	if (cash_migrates(me))
		tw_home_refresh(me, p);
	me->stats->now.page_transfers++;
	me->stats->now.host_transfers += tw_same_host(me, e->home - 1u);
	tw_trace(me, TW_TRACE_fetch, e->home - 1u, p, bytes, 0);
	copy_gather(me, e->home - 1u, tw_master_offset(me, p), to, bytes);
}

void cash_fetched(struct tw_proc *me)
{
	copy_complete(me);
	tw_trace_page(me, TW_TRACE_fetched, TW_TRACE_NO_PAGE);
}

void cash_unmap(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t mask)
{
	for (unsigned i = 0, n; i < count; i += n) {
		enum tw_rights have = cash_rights(me, &me->page[first + i]);
		for (n = 0; i + n < count && (mask >> (i + n) & 1) && cash_rights(me, &me->page[first + i + n]) == have;
		     n++)
			;
		if (n)
			tw_map(me, first + i, n, have, TW_NONE);
		else
			n = 1;
	}
}

void cash_withdraw(struct tw_proc *me, tw_page_t p)
{
	me->page[p].ts_update = 0;
	cash_extra(me, p)->withdrawn++;
	cash_extra(me, p)->entered = cash_extra(me, p)->steady = 0;
	cash_peeked_ends(&me->page[p]);
	cash_publish(me, p, TW_NONE | (uint64_t)(cash_extra(me, p)->withdrawn & 255) << CASH_LEFT_SHIFT);
}
