/* SPDX-License-Identifier: BSD-3-Clause */
/* prefetch.c - which pages a fault takes along, and which are flushed behind the writer.  A predictor: cashmere.h.
 *
 * By the past.  Pages on which a processor last got a right in one and the same interval (between two releases) are
 * taken together again, however far apart in time these faults were: columns of a matrix, planes of a cube.  Because
 * they do not fault any more, it is not seen whether they are still used together.  So now and then the page in the
 * middle is left out.  If it faults, it is of the same interval as the others again; if not, the run is cut in two.
 *
 * By streams.  From the fourth fault on, a run of neighbouring faults doubles its window, as a file's read-ahead
 * does.  When runs keep having the same length (rows of a matrix), the rest of a run is taken at its first fault and
 * nothing beyond it; now and then the length is measured again.  Faults at equal distances (columns of a matrix) are
 * taken in the same way. */
#include "protocols/cashmere/cashmere.h"

#define PAST_PROBED          8u  /* runs of so many pages and more have probes */
#define PAST_PROBE           4u  /* one fault in so many is a probe */
#define STREAM_BEGINS        3u  /* neighbouring faults before pages are taken along */
#define STREAM_SURE          8u  /* pages of a run before it may disturb other nodes */
#define STREAM_TRUSTED       2u  /* runs of one length before the length is relied on */
#define STREAM_BEHIND        16u /* window from which writes are flushed behind the writer */
#define STREAM_MEASURE_AGAIN 64u /* runs after which the length is forgotten */
#define STREAM_FRESH         8u  /* 1 / this of the run so far: untouched pages that may come along */

/* How many pages from @p on were taken together the last time.  Pages on which this processor has the right anyhow
 * belong to every run. */
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

/* How many pages from @p on, at equal distances, are likely to fault next?  Not downwards: that is how stacks grow, and
 * the page below one must fault.  A run that begins looks as one of two pages first: the last one of the run before,
 * and its own first. */
static unsigned strides_window(struct tw_proc *me, struct cash_strides *t, tw_page_t p, unsigned most)
{
	unsigned window = 1, n = 1;

	if (p != t->next || t->interval != cash_of(me)->releases) {
		if (t->run >= STREAM_BEGINS) {
			t->same = t->run == t->length && t->same < STREAM_MEASURE_AGAIN ? t->same + 1 : 0;
			t->length = t->run;
			t->usual = t->stride;
		}
		t->run = 1;
		t->stride = p - t->last;
	}
	if (t->same >= STREAM_TRUSTED && t->stride == t->usual && t->run < t->length)
		window = t->length - t->run;
	else if (t->run >= STREAM_BEGINS)
		window = t->run;
	window = t->stride > 1 && t->stride < me->layout.pages ? TW_MIN(window, most) : 1;
	while (n < window && p + (uint64_t)n * t->stride < me->layout.pages)
		n++;
	return n;
}

struct cash_guess cash_guess(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct cash *c = cash_of(me);
	struct cash_stream *s = &c->stream[want == TW_WRITE];
	struct cash_strides *t = &c->strides[want == TW_WRITE];
	unsigned most = (unsigned)TW_MIN(TW_MIN(me->config.prefetch, CASH_WINDOW_MAX), me->layout.pages - p);
	unsigned known = most && cash_parameters(me)->runs ? CASH_WINDOW_MAX : 0;

	if (!cash_parameters(me)->windows)
		most = 1;
	struct cash_guess g = {.window = stream_window(s, p, most), .stride = 1, .known = past_run(me, p, want, known)};
	unsigned strides = strides_window(me, t, p, most);

	g.sure = s->run >= STREAM_SURE || s->same >= STREAM_TRUSTED;
	if (strides > TW_MAX(g.window, g.known)) {
		g.window = strides;
		g.stride = t->stride;
		g.sure = t->run >= STREAM_SURE || t->same >= STREAM_TRUSTED;
		return g;
	}
	g.fresh = want == TW_WRITE ? TW_MIN(s->run / STREAM_FRESH, most) : 0;
	if (g.known < g.window)
		return g;
	g.probe = g.known >= PAST_PROBED && cash_dice(c, PAST_PROBE) == 0;
	g.window = g.probe ? g.known / 2 : g.known;
	g.sure = true;
	return g;
}

void cash_guessed(struct cash *c, tw_page_t p, enum tw_rights want, const struct cash_guess *g, unsigned taken)
{
	struct cash_stream *s = &c->stream[want == TW_WRITE];
	struct cash_strides *t = &c->strides[want == TW_WRITE];

	s->next = p + (g->stride == 1 ? taken : 1);
	s->run += g->stride == 1 ? taken : 1;
	t->interval = c->releases;
	t->last = p + (taken - 1) * g->stride;
	t->run += g->stride == t->stride ? taken : 1;
	t->next = t->last + t->stride;
}

/* A long run of writes away from home is flushed while pages and twins are in the cache.  The pages before the
 * window that begins with @p are very probably finished. */
void cash_write_behind(struct tw_proc *me, tw_page_t p)
{
	struct cash *c = cash_of(me);
	const struct cash_stream *s = &c->stream[1];
	unsigned window = s->next - p, before = s->run - window;

	if (!cash_parameters(me)->behind || cash_doubles(me) || me->config.race || window < STREAM_BEHIND ||
	    before < window || cash_is_home(me, &me->page[p]) || c->past[p - window].again)
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
