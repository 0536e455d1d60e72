/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h - how long the other side has been silent.
 *
 * Time is counted in the watcher's own ticks.  A tick that is late because the watcher itself was stopped counts as two
 * at most.  So stopping a whole job, or a sleep of the machine, does not make the other side appear lost. */
#ifndef TW_TOOLS_WIRE_WATCH_H
#define TW_TOOLS_WIRE_WATCH_H

#include "core/base/base.h"

struct watch {
	uint64_t tick_ns, before_ns, silent_ns;
};

#define WATCH_TICK_NS 250000000u

/* watch_set - begin. */
static inline void watch_set(struct watch *w)
{
	*w = (struct watch){.tick_ns = WATCH_TICK_NS, .before_ns = tw_time_ns()};
}

static inline void watch_received(struct watch *w)
{
	w->silent_ns = 0;
}

static inline bool watch_due(const struct watch *w)
{
	return tw_time_ns() >= w->before_ns + w->tick_ns;
}

/* watch_ms - until the next tick is due, for poll. */
static inline int watch_ms(const struct watch *w)
{
	uint64_t now = tw_time_ns(), then = w->before_ns + w->tick_ns;
	return now >= then ? 0 : (int)((then - now) / 1000000 + 1);
}

/* watch_tick - when due, after all arrived messages have been received.  Returns the time of the other side's
 * silence. */
static inline uint64_t watch_tick(struct watch *w)
{
	uint64_t now = tw_time_ns();
	w->silent_ns += TW_MIN(now - w->before_ns, 2 * w->tick_ns);
	w->before_ns = now;
	return w->silent_ns;
}

#endif
