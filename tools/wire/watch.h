/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h - for how long the other side has been silent.
 *
 * Time counts in ticks of the watcher's own: one that comes late, because the watcher itself was stopped, counts as two at most.  So
 * a job that is stopped as a whole, or a machine that sleeps, loses nobody. */
#ifndef TW_TOOLS_WIRE_WATCH_H
#define TW_TOOLS_WIRE_WATCH_H

#include "core/base/base.h"

struct watch {
	uint64_t tick_ns, before_ns, silent_ns;
};

/* watch_set - begin, with ticks that suit a limit of @seconds (0: none). */
static inline void watch_set(struct watch *w, uint64_t seconds)
{
	uint64_t second = 1000000000;
	*w = (struct watch){.tick_ns = seconds ? TW_MIN(second, seconds * second / 4) : second,
	                    .before_ns = tw_time_ns()};
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

/* watch_tick - when due, after all that has arrived was heard.  Returns for how long the other side has been silent. */
static inline uint64_t watch_tick(struct watch *w)
{
	uint64_t now = tw_time_ns();
	w->silent_ns += TW_MIN(now - w->before_ns, 2 * w->tick_ns);
	w->before_ns = now;
	return w->silent_ns;
}

#endif
