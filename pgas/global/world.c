/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c - joining the job, roots, statistics. */
#include <errno.h>

#include "pgas/global/pool.h"

#define ALONE_BYTES ((size_t)1 << 30) /* of the segment of a process without a launcher; sparse */

static int world_refuse(const char *what, uint64_t value)
{
	if (tw_segment.pe == 0)
		tw_log("tw_pgas_init: %s %llu", what, (unsigned long long)value);
	return -EINVAL;
}

static int world_roles(struct tw_pgas_options *o)
{
	unsigned pes = tw_segment.pes;

	if (o->memory_first >= pes || o->memory_pes > pes - o->memory_first)
		return world_refuse("memory PEs go beyond the job's; their first is", o->memory_first);
	if (o->compute_first >= pes || o->compute_pes > pes - o->compute_first)
		return world_refuse("compute PEs go beyond the job's; their first is", o->compute_first);
	if (!o->memory_pes)
		o->memory_pes = pes - o->memory_first;
	if (!o->compute_pes)
		o->compute_pes = pes - o->compute_first;
	if (o->place > TW_PLACE_LOCAL_MOD || o->lane > TW_LANE_MOD || o->agent > TW_AGENT_NIC)
		return world_refuse("there is no such placement, lane or agent:", o->place);
	return 0;
}

static int world_segment(struct tw_pgas_options *o)
{
	if (!o->bytes)
		o->bytes = tw_segment.bytes / 2;
	o->bytes = TW_ALIGN_UP(o->bytes, POOL_CHUNK);
	if (o->bytes < sizeof(struct pool_control) + 2 * POOL_CHUNK)
		return world_refuse("too small a part of the segments:", o->bytes);
	/* Chunks are aligned in the segment. */
	size_t at = tw_segment_reserve(o->bytes + POOL_CHUNK);
	if (at == SIZE_MAX) {
		if (tw_segment.pe == 0)
			tw_log("tw_pgas_init: no %zu MiB are left in segments of %zu MiB; raise TWEED_SEGMENT",
			       o->bytes >> 20, tw_segment.bytes >> 20);
		return -ENOMEM;
	}
	tw_pgas.at = TW_ALIGN_UP(at, POOL_CHUNK);
	return 0;
}

int tw_pgas_init(const struct tw_pgas_options *options)
{
	struct tw_pgas_options o = options ? *options : (struct tw_pgas_options){0};
	int error;

	if (tw_pgas.open)
		tw_fatal("tw_pgas_init was called twice");
	tw_segment_open(ALONE_BYTES, NULL);
	enum tw_agent agent = tw_segment.cpu_atomics ? TW_AGENT_CPU : TW_AGENT_NIC;
	if (o.agent != TW_AGENT_AUTO && o.agent != agent) {
		if (tw_segment.pe == 0)
			tw_log("tw_pgas_init: atomics of this network are the %s's",
			       tw_segment.cpu_atomics ? "CPU" : "NIC");
		error = -ENOTSUP;
		goto close;
	}
	o.agent = agent;
	if ((error = world_roles(&o)) || (error = world_segment(&o)))
		goto close;
	tw_pgas.options = o;
	tw_pgas.put_pe = ACCESS_NONE;
	tw_pgas.ascending = !tw_segment.net || (tw_segment.net->ops->caps & TW_NET_ASCENDING_READS);
	tw_pgas.open = true;
	if ((error = pool_open()))
		goto close;
	wide_open();
	tw_segment_barrier();
	return 0;
close:
	tw_pgas = (struct tw_pgas){0};
	tw_segment_close();
	return error;
}

void tw_pgas_finalize(void)
{
	if (!tw_pgas.open)
		tw_fatal("tw_pgas_finalize was called without tw_pgas_init");
	tw_control_barrier();
	wide_close();
	pool_close();
	tw_pgas = (struct tw_pgas){0};
	tw_segment_close();
}

unsigned tw_pe(void)
{
	return tw_segment.pe;
}

unsigned tw_pes(void)
{
	return tw_segment.pes;
}

bool tw_pe_lives(unsigned pe)
{
	return pe < tw_segment.pes && !tw_segment_dead(pe);
}

bool tw_pe_lost(unsigned pe)
{
	return pe < tw_segment.pes && tw_segment_lost(pe);
}

bool tw_pgas_computes(void)
{
	return tw_segment.pe - tw_pgas.options.compute_first < tw_pgas.options.compute_pes;
}

unsigned tw_pgas_compute_pes(void)
{
	return tw_pgas.options.compute_pes;
}

enum tw_agent tw_pgas_agent(void)
{
	return tw_pgas.options.agent;
}

void tw_control_barrier(void)
{
	access_quiet();
	tw_segment_barrier();
}

static size_t world_root(unsigned slot)
{
	if (slot >= TW_ROOTS)
		tw_fatal("there is no root %u; they are 0 to %u", slot, TW_ROOTS - 1);
	return POOL_CONTROL(root) + slot * sizeof(uint64_t);
}

void tw_root_set(unsigned slot, tw_gptr p)
{
	access_amo(0, world_root(slot), TW_AMO_SWAP, p.raw, 0);
}

tw_gptr tw_root_get(unsigned slot)
{
	return tw_gptr_of_raw(access_load(0, world_root(slot)));
}

/* ---- statistics ---- */

#define STATS_WORDS (sizeof(struct tw_pgas_stats) / sizeof(uint64_t))
#define STATS_MOST  (offsetof(struct tw_pgas_stats, garbage_most) / sizeof(uint64_t))

void tw_pgas_stats(struct tw_pgas_stats *stats)
{
	*stats = tw_pgas.stats;
}

void tw_pgas_stats_reset(void)
{
	uint64_t garbage = tw_pgas.stats.garbage, most = tw_pgas.stats.garbage_most;

	tw_pgas.stats = (struct tw_pgas_stats){.garbage = garbage, .garbage_most = most};
}

/* Its own operations are not counted. */
void tw_pgas_stats_sum(struct tw_pgas_stats *stats)
{
	struct tw_pgas_stats mine = tw_pgas.stats;
	uint64_t words[STATS_WORDS];
	_Static_assert(STATS_WORDS <= sizeof(((struct pool_control *)0)->sum) / sizeof(uint64_t), "room for the sums");

	memcpy(words, &mine, sizeof(words));
	for (size_t i = 0; i < STATS_WORDS; i++)
		access_amo(0, POOL_CONTROL(sum) + i * sizeof(uint64_t), TW_AMO_SWAP, 0, 0);
	for (unsigned pe = 0; pe < tw_segment.pes; pe++) {
		tw_control_barrier();
		for (size_t i = 0; i < STATS_WORDS && pe == tw_segment.pe; i++) {
			size_t at = POOL_CONTROL(sum) + i * sizeof(uint64_t);
			uint64_t before = access_load(0, at);
			access_amo(0, at, TW_AMO_SWAP, i == STATS_MOST ? TW_MAX(before, words[i]) : before + words[i],
			           0);
		}
	}
	tw_control_barrier();
	access_get(0, POOL_CONTROL(sum), words, sizeof(words), true);
	memcpy(stats, words, sizeof(words));
	tw_control_barrier();
	tw_pgas.stats = mine;
}
