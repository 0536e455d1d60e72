/* SPDX-License-Identifier: BSD-3-Clause */
/* touch.c - faults in shared memory before the kernel uses it. */
#include <string.h>

#include "core/coherence/lazy.h"
#include "core/job/job.h"
#include "core/process/syscalls.h"

bool tw_touched(const void *ptr, size_t len, char **start, char **end)
{
	const struct tw_proc *me = tw_me;
	if (!me || !me->fault.ops)
		return false;
	uintptr_t low = (uintptr_t)me->app, high = low + me->fault.bytes, at = (uintptr_t)ptr;
	uintptr_t stop = len > UINTPTR_MAX - at ? UINTPTR_MAX : at + len;
	if (at >= high || stop <= low)
		return false;
	*start = (char *)TW_MAX(at, low);
	*end = (char *)TW_MIN(stop, high);
	return *start < *end;
}

/* A store that changes nothing, even when another processor of the node writes the byte. Not fetch_or(0), which a
 * compiler may turn into a load. */
static void touch_store_same(char *at)
{
	char seen = 0; /* a guess: a load first would fault separately */
	while (!__atomic_compare_exchange_n(at, &seen, seen, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static uint64_t touch_faults(void)
{
	return tw_me->stats->now.read_faults + tw_me->stats->now.write_faults;
}

void tw_touch(const void *ptr, size_t len, bool write)
{
	char *start, *end;

	if (!tw_touched(ptr, len, &start, &end))
		return;
	if (!tw_protocol_inside(tw_me))
		tw_lazy_idle(tw_me); /* else a release on demand might take rights before the kernel needs them */
	uintptr_t page = (uintptr_t)1 << tw_me->layout.page_shift;
	uint64_t before = UINT64_MAX;
	/* A later fault may take the rights to an earlier page. */
	for (unsigned round = 0; round < 2 && touch_faults() != before; round++) {
		before = touch_faults();
		for (char *at = start; at < end; at = (char *)(((uintptr_t)at | (page - 1)) + 1)) {
			if (write)
				touch_store_same(at);
			else
				(void)*(volatile char *)at;
		}
	}
}

void tw_touch_string(const char *s)
{
	char *start, *end;

	if (tw_touched(s, 1, &start, &end))
		tw_touch(s, strlen(s) + 1, false);
}
