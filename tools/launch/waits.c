/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c - the launcher's part of detecting that all processors wait for each other.
 *
 * Each node's BEAT says whether all of its processors wait for calls of others, and how many waits they have begun.
 * When that was so at all nodes for WAITS_HERE_S, or with hosts, whose links may be interrupted, for the time of
 * TWEED_WATCH, and no node began another wait, the launcher asks for the waits (WAITS).  An agent answers after its
 * processors have polled again since the question.  If all still wait and have begun as many waits as before, then all
 * were in these waits when the question was sent: no processor was able to end one, and anything sent before had all
 * that time to arrive (tests/models/stuck.pml).
 *
 * Reading input, sleeping, and waits with a time-out do not count as such waits. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sync/sync.h"
#include "tools/launch/launch.h"

#define WAITS_HERE_S 1u
#define WAITS_GROUPS 4u /* that a sentence names; and processors of each */

static void waits_begin(struct launch *l)
{
	l->asked = false;
	for (unsigned i = 0; i < l->nodes; i++)
		l->node[i].same = 0;
}

void waits_beat(struct launch *l, unsigned i, const struct wire_beat *beat)
{
	struct launch_node *n = &l->node[i];
	uint64_t watch = l->job->settings.config.watch,
	         seconds = n->child && !n->host ? TW_MIN(watch, WAITS_HERE_S) : watch,
	         long_enough = seconds * 1000000000u / l->clock.tick_ns;

	if (!beat->waits || beat->begun != n->begun)
		waits_begin(l);
	n->begun = beat->begun;
	n->same++;
	if (!watch || l->asked || l->ending || l->job->settings.config.survive)
		return;
	for (unsigned k = 0; k < l->nodes; k++)
		if (l->node[k].same <= long_enough || l->node[k].waits_asked)
			return;
	l->asked = true;
	for (unsigned k = 0; k < l->nodes; k++) {
		l->node[k].waits_asked = true;
		launch_send(l, k, WIRE_WAITS, NULL, 0);
	}
}

/* ---- the sentence ---- */

struct waits_text {
	char text[800];
	size_t length;
};

static void __attribute__((format(printf, 2, 3))) waits_add(struct waits_text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(t->text + t->length, sizeof(t->text) - t->length, format, ap);
	va_end(ap);
	t->length = TW_MIN(t->length + (size_t)TW_MAX(n, 0), sizeof(t->text) - 1);
}

static const struct wire_wait *waits_of(const struct launch *l, unsigned p)
{
	unsigned locals = (unsigned)l->job->settings.config.processors;

	return &l->node[p / locals].waits.processor[p % locals];
}

static bool waits_equal(const struct wire_wait *a, const struct wire_wait *b)
{
	return a->call == b->call && a->object == b->object && a->value == b->value;
}

/* The processor that holds the lock for which processor @p waits; the job's number of processors: none is known. */
static unsigned waits_holder(const struct launch *l, unsigned p)
{
	unsigned count = l->nodes * (unsigned)l->job->settings.config.processors;

	for (unsigned h = 0; waits_of(l, p)->call == TW_WAIT_LOCK && h < count; h++)
		for (unsigned i = 0; i < TW_WAIT_HELD; i++)
			if (waits_of(l, h)->held[i] == waits_of(l, p)->object)
				return h;
	return count;
}

/* Add the processors that wait for the same as @first, the first of them. */
static void waits_add_group(struct waits_text *t, const struct launch *l, unsigned first)
{
	unsigned locals = (unsigned)l->job->settings.config.processors, count = 0;
	const struct wire_wait *w = waits_of(l, first);
	char call[128];

	for (unsigned p = first; p < l->nodes * locals; p++)
		if (waits_equal(waits_of(l, p), w) && ++count <= WAITS_GROUPS)
			waits_add(t, "%s%u.%u", count > 1 ? ", " : "", p / locals, p % locals);
	if (count > WAITS_GROUPS)
		waits_add(t, " and %u more", count - WAITS_GROUPS);
	tw_sync_call_describe((enum tw_wait_call)w->call, w->object, w->value, call, sizeof(call));
	waits_add(t, " in %s", call);
	unsigned holder = waits_holder(l, first);
	if (holder < l->nodes * locals)
		waits_add(t, ", which %u.%u holds", holder / locals, holder % locals);
}

/* Do some of them wait for locks in a circle?  A lock that the waiting processor holds itself is no sign: another
 * thread of it may hold it, and wait for something else. */
static bool waits_circle(const struct launch *l)
{
	unsigned count = l->nodes * (unsigned)l->job->settings.config.processors;

	for (unsigned p = 0; p < count; p++) {
		unsigned at = waits_holder(l, p);
		for (unsigned steps = 0; at < count && at != p && steps < count; steps++)
			at = waits_holder(l, at);
		if (at == p && waits_holder(l, p) != p)
			return true;
	}
	return false;
}

static void waits_end(struct launch *l)
{
	unsigned count = l->nodes * (unsigned)l->job->settings.config.processors, groups = 0;
	struct waits_text t = {.length = 0};

	for (unsigned p = 0; p < count; p++) {
		unsigned before = 0;

		while (!waits_equal(waits_of(l, before), waits_of(l, p)))
			before++;
		if (before < p || waits_of(l, p)->call == TW_WAIT_NONE || ++groups > WAITS_GROUPS)
			continue;
		waits_add(&t, "%s", groups > 1 ? "; " : "");
		waits_add_group(&t, l, p);
	}
	tool_say("%s: %s%s; the job is ended",
	         waits_circle(l) ? "deadlock of locks" : "all processors wait for each other", t.text,
	         groups > WAITS_GROUPS ? "; and so on" : "");
	launch_end(l, 1);
}

void waits_answered(struct launch *l, unsigned i, const struct wire_waits *waits)
{
	struct launch_node *n = &l->node[i];

	n->waits_asked = false;
	n->waits = *waits;
	if (!waits->all || waits->begun != n->begun)
		waits_begin(l);
	if (!l->asked || l->ending)
		return;
	for (unsigned k = 0; k < l->nodes; k++)
		if (l->node[k].waits_asked)
			return;
	where_ask(l, waits_end);
}
