/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.c - the hooks of faults, prefetch and pins: mappings of valid copies (page.c), and sequential reads ahead. */
#include "protocols/timestamp/timestamp.h"

#define STREAM_BEGINS  4u  /* from so many sequential faults on, as many pages again are read along */
#define STREAM_SURE    8u  /* a run so long may disturb other nodes for further pages */
#define STREAM_TRUSTED 2u  /* runs in a row of one length: the next one is read at once */
#define STREAM_AGAIN   32u /* runs until the length is measured anew */

static void fault_map(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	enum tw_rights have = ts_rights(me, p);
	if (have < want)
		tw_map(me, p, 1, have, want);
	me->page[p].mapped |= ts_bit(me);
	ts_lease_add(me, p);
}

static void fault_map_write(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	ts_twin(me, p);
	if (ts_rights(me, p) != TW_WRITE) {
		x->silent = 1;
		x->retention = me->config.race ? 0 : (uint8_t)ts_parameters(me)->retention;
	}
	fault_map(me, p, TW_WRITE);
	me->page[p].writers |= ts_bit(me);
	tw_pageset_add(me->dirty, p);
}

/* Lock @p with a valid copy, for a fault.  A page that faults after it was unmapped gets credits for updates in
 * place, more each time. */
static void fault_lock(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	ts_lock_valid(me, p);
	if (x->unmapped)
		x->left = x->credits = (uint8_t)TW_MIN(TW_MAX(2u * x->credits, 1u), ts_parameters(me)->refresh);
	x->unmapped = 0;
}

/* @p is locked, with a valid copy. */
static void fault_map_read(struct tw_proc *me, tw_page_t p)
{
	if (me->page[p].writers & ts_bit(me))
		fault_map_write(me, p); /* was invalid and dirty */
	else
		fault_map(me, p, TW_READ);
}

/* Read @p, if it is not mapped and has a home.  Only if @sure also by its section, which costs another node time.
 * Returns whether it was read. */
static bool fault_prefetch(struct tw_proc *me, tw_page_t p, bool sure)
{
	tw_page_lock(me, p);
	bool wanted = ts_ordinary(me, p) && !(me->page[p].mapped & ts_bit(me)) && tw_home_get(me, p) >= 0 &&
	              tw_home_tentative(me, p) < 0;
	if (!wanted || (!sure && !ts_valid_cheaply(me, p))) {
		tw_page_unlock(me, p);
		return false;
	}
	tw_page_unlock(me, p);
	fault_lock(me, p);
	fault_map_read(me, p);
	tw_page_unlock(me, p);
	me->stats->now.prefetched_reads++;
	return true;
}

/* Fetch what is noticed of pages that are read along. */
static void fault_fetch(struct tw_proc *me, tw_page_t first, unsigned count)
{
	tw_page_t page[TS_TOGETHER];
	unsigned n = 0;

	for (tw_page_t p = first; p < first + count; p++) {
		if (!(me->page[p].mapped & ts_bit(me)))
			page[n++] = p;
		if (n == TS_TOGETHER || (n && p + 1 == first + count)) {
			ts_fetch_noticed(me, page, n);
			n = 0;
		}
	}
}

void ts_prefetch(struct tw_proc *me, tw_page_t first, unsigned count)
{
	fault_fetch(me, first, count);
	for (tw_page_t p = first; p < first + count; p++)
		fault_prefetch(me, p, true);
}

/* How many pages to read at a fault on @p.  A run of sequential faults doubles its window, or gets the length that
 * the runs before had. */
static unsigned fault_window(struct tw_proc *me, struct ts_stream *s, tw_page_t p)
{
	unsigned window = 1;

	if (p != s->next) {
		s->same = s->run == s->last && s->same < STREAM_AGAIN ? s->same + 1 : 0;
		s->last = s->run;
		s->run = 0;
	}
	if (s->same >= STREAM_TRUSTED && s->run < s->last)
		window = s->last - s->run;
	else if (s->run >= STREAM_BEGINS)
		window = s->run;
	window = TW_MAX(TW_MIN(window, (unsigned)me->config.prefetch), 1u);
	return (unsigned)TW_MIN(window, me->layout.pages - p);
}

void ts_read_fault(struct tw_proc *me, tw_page_t p)
{
	struct ts_stream *s = &ts_of(me)->reads;
	unsigned window = fault_window(me, s, p), n = 1;
	bool sure = s->run >= STREAM_SURE || s->same >= STREAM_TRUSTED;

	if (window > 1)
		fault_fetch(me, p, window);
	fault_lock(me, p);
	fault_map_read(me, p);
	tw_page_unlock(me, p);
	while (n < window && fault_prefetch(me, p + n, sure))
		n++;
	s->next = p + n;
	s->run += n;
}

void ts_write_fault(struct tw_proc *me, tw_page_t p)
{
	/* A polled page was fetched when that was right.  The commit merges, whatever the copy's age. */
	if (!ts_ordinary(me, p) && (me->page[p].mapped & ts_bit(me)))
		tw_page_lock(me, p);
	else
		fault_lock(me, p);
	fault_map_write(me, p);
	tw_page_unlock(me, p);
}

int ts_pin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++) {
		if (ts_of(me)->pins[p]++ == 0)
			ts_write_fault(me, p);
	}
	return 0;
}

void ts_unpin(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (tw_page_t p = first; p < first + count; p++)
		if (ts_of(me)->pins[p])
			ts_of(me)->pins[p]--;
}
