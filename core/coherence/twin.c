/* SPDX-License-Identifier: BSD-3-Clause */
/* twin.c - slots for twins: a lock-free stack in the node's private memory. The slot freed last is used next, while it
 * is still in the cache. The stack's head carries a tag against ABA; a free slot's first word links to the next. */
#include "tweed/driver/protocol.h"

static _Atomic uint32_t *twin_link(struct tw_proc *me, uint32_t slot)
{
	return (_Atomic uint32_t *)(void *)(me->twin_mem + ((size_t)slot << me->layout.page_shift));
}

char *tw_twin_create(struct tw_proc *me, tw_page_t p)
{
	struct tw_node *n = me->n;
	uint64_t head = atomic_load(&n->twin_free);
	uint32_t slot;

	TW_ASSERT(me->page[p].twin == 0);
	for (;;) {
		if ((uint32_t)head == 0) {
			slot = (uint32_t)atomic_fetch_add(&n->twin_top, 1);
			TW_ASSERT(slot < me->layout.twin_slots);
			break;
		}
		slot = (uint32_t)head - 1;
		/* The link is garbage if another processor has taken the slot meanwhile; then the tag has changed. */
		uint32_t next = atomic_load_explicit(twin_link(me, slot), memory_order_relaxed);
		if (atomic_compare_exchange_weak(&n->twin_free, &head, ((head >> 32) + 1) << 32 | next))
			break;
	}
	atomic_fetch_add_explicit(&n->twin_used, 1, memory_order_relaxed);
	me->page[p].twin = slot + 1;
	me->stats->now.twins++;
	tw_charge(TW_COST_twin, me->layout.page_bytes);
	tw_trace_page(me, TW_TRACE_twin, p);
	return tw_twin(me, p);
}

void tw_twin_destroy(struct tw_proc *me, tw_page_t p)
{
	struct tw_node *n = me->n;
	uint32_t slot = me->page[p].twin - 1;
	uint64_t head = atomic_load(&n->twin_free);

	TW_ASSERT(me->page[p].twin != 0);
	me->page[p].twin = 0;
	do
		atomic_store_explicit(twin_link(me, slot), (uint32_t)head, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&n->twin_free, &head, ((head >> 32) + 1) << 32 | (slot + 1)));
	atomic_fetch_sub_explicit(&n->twin_used, 1, memory_order_relaxed);
}

bool tw_twins_scarce(const struct tw_proc *me)
{
	return atomic_load_explicit(&me->n->twin_used, memory_order_relaxed) << me->layout.page_shift >=
	       me->config.twins;
}
