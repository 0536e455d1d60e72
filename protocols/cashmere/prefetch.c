/* SPDX-License-Identifier: BSD-3-Clause */
/* ahead.c - which pages come along with one that faults, and which are flushed behind the writer.  All of it is guesses: fault.c
 * sees to it that a wrong one costs time and nothing else.
 *
 * By the past.  Pages that a processor got a right on in one interval (between two releases), the last time it got that right on each, are taken
 * together again, however far apart the faults on them were then: columns of a matrix, planes of a cube.  Whether they are still used
 * together is not seen, for they fault no more.  So now and then the one in the middle is left out.  If it faults, it is of the same
 * interval as the others again; if not, the two halves are no longer neighbours.
 *
 * By streams.  A run of neighbouring faults doubles its window from its fourth fault on, as a file's read-ahead does.  When runs keep
 * having the same length (rows of a matrix), the rest of a run is taken at its first fault and nothing beyond it; now
 * and then the length is measured again. */
#include "protocols/cashmere/cashmere.h"

#define PAST_PROBED          8u  /* runs of so many pages and more have probes */
#define PAST_PROBE           4u  /* one fault in so many is one */
#define STREAM_BEGINS        3u  /* neighbouring faults before pages are taken ahead */
#define STREAM_SURE          8u  /* pages of a run before it may disturb other nodes for pages ahead */
#define STREAM_TRUSTED       2u  /* runs of one length before the length is relied on */
#define STREAM_BEHIND        16u /* window from which writes are flushed behind the writer */
#define STREAM_MEASURE_AGAIN 64u /* runs after which it is forgotten */
#define STREAM_FRESH         8u  /* of a run's length, so small a part more of untouched pages comes along */

/* How many pages from @p on came together the last time.  Those that this processor has the right on anyhow are of all runs. */
static unsigned past_run(struct tw_proc *me, tw_page_t p, enum tw_rights want, unsigned most)
{
	const struct cash_past *past = &cash_of(me)->past[p];
	unsigned kind = want == TW_WRITE, n = 1;

	if (!past->got[kind])
		return 0;
	most = (unsigned)TW_MIN(most, me->layout.pages - p);
	while (n < most && (past[n].got[kind] == past->got[kind] || cash_rights(me, &me->page[p + n]) >= want))
		n++;
	return n;
}

unsigned cash_dice(struct cash *c, unsigned sides)
{
	c->dice = c->dice * 1664525u + 1013904223u;
	return (c->dice >> 16) % sides;
}

static unsigned stream_window(struct cash_stream *s, tw_page_t p, unsigned most)
{
	unsigned window = 1;

	if (p != s->next) {
		s->same = s->run == s->last && s->same < STREAM_MEASURE_AGAIN ? s->same + 1 : 0;
		s->last = s->run;
		s->run = 0;
	}
	if (s->same >= STREAM_TRUSTED && s->run <= s->last)
		window = s->last - s->run;
	else if (s->run >= STREAM_BEGINS)
		window = s->run;
	return TW_MAX(TW_MIN(window, most), 1u);
}

struct cash_guess cash_guess(struct tw_proc *me, struct cash_stream *s, tw_page_t p, enum tw_rights want)
{
	unsigned most = (unsigned)TW_MIN(me->config.prefetch, CASH_WINDOW_MAX);
	struct cash_guess g = {.window = stream_window(s, p, most),
	                       .known = past_run(me, p, want, most ? CASH_WINDOW_MAX : 0)};

	g.sure = s->run >= STREAM_SURE || s->same >= STREAM_TRUSTED;
	g.fresh = want == TW_WRITE ? TW_MIN(s->run / STREAM_FRESH, most) : 0;
	if (g.known < g.window)
		return g;
	g.probe = g.known >= PAST_PROBED && cash_dice(cash_of(me), PAST_PROBE) == 0;
	g.window = g.probe ? g.known / 2 : g.known;
	g.sure = true;
	return g;
}

/* A long run of writes away from home is flushed while pages and twins are still in the cache: what lies before the window that begins with
 * @p is finished, very probably. */
void cash_write_behind(struct tw_proc *me, tw_page_t p)
{
	struct cash *c = cash_of(me);
	unsigned window = c->writes.next - p, before = c->writes.run - window;

	if (cash_doubles(me) || me->config.race || window < STREAM_BEHIND || before < window ||
	    cash_is_home(me, &me->page[p]) || c->past[p - window].again)
		return;
	for (unsigned i = 1; i <= window; i++)
		c->past[p - i].behind = c->releases;
	cash_flush_range(me, p - window, window);
}

void cash_behind_wrong(struct tw_proc *me, tw_page_t p)
{
	struct cash_past *past = &cash_of(me)->past[p];
	past->again |= past->behind == cash_of(me)->releases;
}
