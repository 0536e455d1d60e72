/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/memory/regions.h"

#include "core/base/clock.h"

#include <string.h>

#include "core/job/deaths.h"
#include "core/memory/heap.h"
#include "core/coherence/lazy.h"
#include "core/coherence/notice.h"
#include "core/coherence/polled.h"
#include "core/observe/race.h"
#include "core/observe/recorder.h"

/* Bytes per node for tw_bcast's data. */
#define COLLECTIVE_BYTES ((size_t)1 << 20)
/* Default bytes of a processor's symmetric segment. */
#define SEGMENT_BYTES ((size_t)1 << 30)

static size_t layout_place(size_t *end, size_t bytes, size_t align)
{
	size_t at = TW_ALIGN_UP(*end, align);
	*end = at + bytes;
	return at;
}

/* auto: sparse memory costs nothing until it is used; where all of it is resident, a segment must be asked for. */
static size_t layout_segment(const struct tw_config *config, const struct tw_transport *transport)
{
	if (config->segment != UINT64_MAX)
		return TW_ALIGN_UP(config->segment, TW_HUGE_BYTES);
	return transport && (transport->caps & TW_NET_PINNED) ? 0 : SEGMENT_BYTES;
}

void tw_layout_compute(struct tw_layout *l, const struct tw_config *config)
{
	const struct tw_transport *transport = tw_transport_find(config->transport);
	const struct tw_protocol *protocol = tw_protocol_find(config->protocol);
	bool directory = !protocol || !(protocol->flags & TW_PROTOCOL_NO_DIRECTORY);
	size_t end = 0;

	memset(l, 0, sizeof(*l));
	l->nodes = (unsigned)config->nodes;
	l->processors = (unsigned)config->processors;
	l->ports = l->processors + 1;
	l->page_bytes = config->page_size;
	l->page_shift = (unsigned)__builtin_ctzll(config->page_size);
	l->pages = config->memory >> l->page_shift;
	l->superpages = (l->pages + config->superpage - 1) / config->superpage;

	l->frames = layout_place(&end, config->memory, TW_HUGE_BYTES);
	l->control = layout_place(&end, transport ? transport->control_bytes(l->ports) : 0, TW_HUGE_BYTES);
	l->directory = layout_place(&end, directory ? l->pages * l->nodes * sizeof(uint64_t) : 0, 4096);
	l->homes = layout_place(&end, l->superpages * sizeof(uint64_t), 4096);
	l->notices = layout_place(&end, directory ? l->nodes * sizeof(struct tw_notice_queue) : 0, 4096);
	l->heap_bytes = tw_heap_exported_bytes(config);
	l->heap = layout_place(&end, l->heap_bytes, 4096);
	l->beats = layout_place(&end, l->nodes * sizeof(uint64_t), 4096);
	l->collective_bytes = COLLECTIVE_BYTES;
	l->collective = layout_place(&end, l->collective_bytes, 4096);
	for (unsigned i = 0; i < TW_RESERVED_KINDS; i++)
		l->reserved[i] = layout_place(&end, tw_reservations[i].exported_bytes(config), 4096);
	l->lazy = layout_place(&end, tw_lazy_exported_bytes(config), 4096);
	if (config->virtual_time)
		l->gate = layout_place(&end, tw_gate_bytes(l->nodes * l->ports), 4096);
	l->polled = layout_place(&end, l->pages, 4096);
	l->polled_list = layout_place(&end, (TW_POLLED_MOST + 2) * sizeof(uint64_t), 64);
	l->protocol_bytes = protocol && protocol->exported_bytes ? protocol->exported_bytes(l) : 0;
	l->protocol = layout_place(&end, l->protocol_bytes, 4096);
	l->masters = config->race ? layout_place(&end, config->memory, TW_HUGE_BYTES) : l->frames;
	l->race = layout_place(&end, config->race ? TW_RACE_LOCKS * sizeof(uint64_t) : 0, 4096);
	l->segment_bytes = layout_segment(config, transport);
	l->segments = layout_place(&end, l->processors * l->segment_bytes, TW_HUGE_BYTES);
	l->exported_bytes = TW_ALIGN_UP(end, TW_HUGE_BYTES);

	end = 0;
	l->node = layout_place(&end, sizeof(struct tw_node), 4096);
	l->stats = layout_place(&end, l->ports * sizeof(struct tw_stats), 4096);
	l->page_table = layout_place(&end, l->pages * sizeof(struct tw_page), 4096);
	l->set_bytes = TW_ALIGN_UP(tw_pageset_bytes(l->pages), 4096);
	l->sets = layout_place(&end, TW_SETS * l->processors * l->set_bytes, 4096);
	l->shadow_bytes = TW_ALIGN_UP(config->memory / 4096, (size_t)4096);
	l->shadows = layout_place(&end, l->processors * l->shadow_bytes, 4096);
	for (unsigned i = 0; i < TW_RESERVED_KINDS; i++)
		l->reserved_private[i] = layout_place(&end, tw_reservations[i].private_bytes(config), 4096);
	l->protocol_private_bytes = protocol && protocol->private_bytes ? protocol->private_bytes(l) : 0;
	l->protocol_private = layout_place(&end, l->protocol_private_bytes, 4096);
	l->race_stores = layout_place(&end, config->race ? l->pages * sizeof(uint64_t) : 0, 4096);
	l->deaths = layout_place(&end, config->survive ? sizeof(struct tw_deaths) : 0, 4096);
	l->trace_bytes = tw_trace_ring_bytes(config);
	l->trace = layout_place(&end, l->ports * l->trace_bytes, 4096);
	l->twin_slots = l->pages;
	l->twins = layout_place(&end, l->twin_slots << l->page_shift, TW_HUGE_BYTES);
	l->private_bytes = TW_ALIGN_UP(end, TW_HUGE_BYTES);
}
