/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.c - steps that come again.  A predictor: cashmere.h.  A program that passes the same barriers repeatedly
 * faults in each interval on the pages of the same interval of the step before, however scattered: borders of
 * planes, blocks of several arrays.
 *
 * A processor logs what its faults took, interval by interval, and determines the number of intervals of a step: the
 * distance at which faults repeat.  What faulted in the same interval of three steps is taken at the barrier before
 * that of the next one, without a fault.  Because it is not seen then whether it is still used, some entries are
 * left out at random each time; an entry that does not fault then is not logged again.  Nor are pages that were
 * taken in vain (cash_past.got). */
#include "protocols/cashmere/cashmere.h"

#define REPLAY_PROBE   8u    /* one entry in so many is left out */
#define REPLAY_PAGES   1024u /* above this an interval streams: few faults, too much for the cache */
#define REPLAY_RIGHT   4u    /* a repeated fault counts as so many others: replay prevents most repetitions */
#define REPLAY_TRUSTED 32u
#define REPLAY_MOST    64u

static struct cash_entry *replay_entry(struct cash *c, uint32_t at)
{
	return &c->log[at % CASH_LOG];
}

/* The entries of the same interval of the step before: from *@begin to before *@end.  None when they are lost, or
 * too many to be replayed, or searched at each fault. */
static void replay_before(struct cash *c, uint32_t *begin, uint32_t *end)
{
	uint32_t interval = c->releases - c->period;

	*begin = c->begun[interval % CASH_TERMS];
	*end = c->begun[(interval + 1) % CASH_TERMS];
	if (!c->period || c->period >= c->releases || c->logged - *begin > CASH_LOG / 2 || *end - *begin > REPLAY_PAGES)
		*end = *begin;
}

static void replay_write(struct cash *c, tw_page_t first, unsigned count, enum tw_rights want, unsigned seen)
{
	*replay_entry(c, c->logged++) = (struct cash_entry){
	    .first = first, .count = (uint16_t)count, .want = (uint8_t)want, .seen = (uint8_t)TW_MIN(seen, 2u)};
}

void cash_replay_begins(struct cash *c)
{
	c->begun[c->releases % CASH_TERMS] = c->logged;
}

void cash_replay_fault(struct tw_proc *me, tw_page_t p, unsigned count, enum tw_rights want, uint32_t last)
{
	struct cash *c = cash_of(me);
	uint32_t at, end;

	for (replay_before(c, &at, &end); at != end; at++) {
		const struct cash_entry *e = replay_entry(c, at);
		if (p - e->first < e->count && e->want == want)
			break;
	}
	bool found = at != end;
	if (found) {
		c->trust = TW_MIN(c->trust + REPLAY_RIGHT, REPLAY_MOST);
	} else if (c->trust) {
		c->trust--;
	} else if (last && c->releases - last < CASH_TERMS / 2) {
		c->period = c->releases - last;
		c->trust = REPLAY_RIGHT;
	}
	replay_write(c, p, TW_MIN(count, CASH_WINDOW_MAX), want, found ? replay_entry(c, at)->seen + 1u : 0);
}

/* Take the first @count pages of the list. */
static void replay_take(struct tw_proc *me, unsigned count, enum tw_rights want)
{
	unsigned got = cash_prefetch_list(me, count, want, true);

	if (want == TW_WRITE)
		me->stats->now.prefetched_writes += got;
	else
		me->stats->now.prefetched_reads += got;
}

/* Add an entry's pages to the list of @listed ones, except those that were taken in vain.  Returns the list's new
 * length. */
static unsigned replay_list(struct tw_proc *me, struct cash_entry e, unsigned listed)
{
	struct cash *c = cash_of(me);

	for (unsigned i = 0, n; i < e.count; i += TW_MAX(n, 1u)) {
		for (n = 0; i + n < e.count && c->past[e.first + i + n].got[e.want == TW_WRITE]; n++) {
			if (listed == CASH_WINDOW_MAX) {
				replay_take(me, listed, e.want);
				listed = 0;
			}
			c->window[listed++] = e.first + i + n;
		}
		if (n)
			replay_write(c, e.first + i, n, e.want, e.seen);
	}
	return listed;
}

void cash_replay(struct tw_proc *me)
{
	struct cash *c = cash_of(me);
	uint32_t begin, end;
	unsigned pages = 0;

	if (!cash_parameters(me)->replay || c->trust < REPLAY_TRUSTED || !me->config.prefetch || me->config.race ||
	    cash_fences(me) || tw_twins_scarce(me))
		return;
	replay_before(c, &begin, &end);
	for (uint32_t at = begin; at != end; at++)
		pages += replay_entry(c, at)->count;
	if (!pages || pages > REPLAY_PAGES)
		return;
	/* Pages that are both read and written get the write right at once. */
	for (unsigned want = TW_WRITE; want > TW_NONE; want--) {
		unsigned listed = 0;

		for (uint32_t at = begin; at != end; at++) {
			const struct cash_entry *e = replay_entry(c, at);
			if (e->want == want && e->seen > 1 && cash_dice(c, REPLAY_PROBE))
				listed = replay_list(me, *e, listed);
		}
		replay_take(me, listed, want);
	}
}
