/* SPDX-License-Identifier: BSD-3-Clause */
/* account.c - time accounting: a span of one category inside another is subtracted from the outer one. */
#include "core/job/job.h"

/* Time already accounted by spans that ended inside the open span. */
static uint64_t account_inner[8];
static unsigned account_depth;

void tw_stats_end(struct tw_stats *s)
{
	s->now.messages = s->traffic.messages;
	s->now.data_bytes = s->traffic.bytes_in + s->traffic.bytes_out;
	s->now.round_trips = s->traffic.round_trips;
	s->kept = s->now;
	s->total_ns = tw_time_ns() - s->started_ns;
	s->stopped = 1;
}

uint64_t tw_time_begin(struct tw_proc *me)
{
	if (!me->timing || tw_protocol_aside())
		return 0;
	account_depth++;
	TW_ASSERT(account_depth < sizeof(account_inner) / sizeof(*account_inner));
	account_inner[account_depth] = 0;
	return tw_time_ns();
}

void tw_time_end(struct tw_proc *me, uint64_t *category, uint64_t begun)
{
	if (!me->timing || tw_protocol_aside())
		return;
	uint64_t span = tw_time_ns() - begun;
	tw_trace(me, TW_TRACE_span, TW_TRACE_NONE, (uint32_t)(category - &me->stats->now.protocol_ns), begun, 0);
	*category += span - account_inner[account_depth];
	account_depth--;
	account_inner[account_depth] += span;
}
