/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_remote.c - blocks freed by a processor that does not own them.
 *
 * Shipping. Let B free a block that A owns. B may have written to it, and those writes may still wait for B's next
 * diff. If A reused the block at once, the late diff would overwrite its new contents. So B holds the block until one
 * of B's releases is performed. A release need not be performed when its hook returns: at a barrier of all, the last
 * arriving writer of a page does the work for the others. It is performed when B begins its *next* release, because the
 * barrier is over by then. So tw_heap_ship sends the blocks that were freed before the previous call.
 *
 * Taking. A must not reuse the block at once either. A's copy of the page may lack B's writes. If A then stores a value
 * that its stale copy already holds, A's diff contains nothing, and the home keeps B's byte. So A must first invalidate
 * its stale copies, in an acquire that begins after B's release was performed. A block found in the ring after an
 * acquire may have arrived too late for that acquire, but not for the next one. So tw_heap_take frees the blocks that
 * the *previous* call saw. This requires acquires that cover every release performed before them, not only those of one
 * object.
 *
 * Rings. Producers reserve slots by compare-and-swap on the tail, never beyond the head plus the number of slots, then
 * write each slot once. Blocks that do not fit stay with the producer until its next release. The owner reads slots
 * from the head on until one is zero, clears those it took, then stores the head. A producer that saw this head writes
 * after the clearing. */
#include "core/memory/heap_impl.h"

#include <errno.h>
#include <stdlib.h>

int tw_heap_remote_open(struct heap *h, size_t processors)
{
	h->ripe = calloc(processors, sizeof(*h->ripe));
	h->owners = calloc(processors, sizeof(*h->owners));
	if (h->ripe && h->owners)
		return 0;
	tw_heap_remote_close(h);
	return -ENOMEM;
}

void tw_heap_remote_close(struct heap *h)
{
	free(h->ripe);
	free(h->owners);
	free(h->remote);
	h->ripe = NULL;
	h->owners = NULL;
	h->remote = NULL;
}

static uint32_t heap_entry(struct heap *h)
{
	uint32_t entry = h->remote_free;
	if (entry) {
		h->remote_free = h->remote[entry - 1].next;
		return entry;
	}
	if (h->remote_used == h->remote_room) {
		uint32_t room = h->remote_room ? 2 * h->remote_room : 256;
		struct heap_remote *more = realloc(h->remote, room * sizeof(*more));
		if (!more)
			tw_fatal("tw_free: out of private memory");
		h->remote = more;
		h->remote_room = room;
	}
	return ++h->remote_used;
}

void tw_heap_keep(struct heap *h, void *ptr)
{
	uint32_t entry = heap_entry(h);
	h->remote[entry - 1] = (struct heap_remote){.block = (uintptr_t)ptr, .next = h->fresh};
	h->fresh = entry;
}

/* Blocks freed up to now may be shipped at the next release. */
static void heap_ripen(struct heap *h)
{
	for (uint32_t entry = h->fresh, next; entry; entry = next) {
		struct heap_remote *r = &h->remote[entry - 1];
		unsigned owner = (unsigned)tw_heap_owner(h->me, r->block);
		next = r->next;
		if (!h->ripe[owner])
			h->owners[h->owner_count++] = (uint16_t)owner;
		r->next = h->ripe[owner];
		h->ripe[owner] = entry;
	}
	h->fresh = 0;
}

/* Reserve slots of a ring for the blocks from entry @e on. Returns their number; the first is at position *@at. */
static uint64_t heap_reserve(struct heap *h, unsigned node, size_t ring, uint32_t e, uint64_t *at)
{
	struct tw_net *net = h->me->net;

	for (;;) {
		uint64_t tail = tw_net_read64(net, node, ring + HEAP_TAIL);
		uint64_t room = tw_net_read64(net, node, ring + HEAP_HEAD) + HEAP_SLOTS - tail, take = 0;
		for (uint32_t next = e; next && take < room; next = h->remote[next - 1].next)
			take++;
		if (take == 0)
			return 0;
		if (tw_net_cas(net, node, ring + HEAP_TAIL, tail, tail + take) == tail) {
			*at = tail;
			return take;
		}
	}
}

/* Send as many of @owner's blocks as fit. Returns true when none is left. */
static bool heap_ship_to(struct heap *h, unsigned owner)
{
	struct tw_net *net = h->me->net;
	unsigned node = owner / h->me->locals;
	size_t ring = heap_ring(h->me, owner % h->me->locals);
	uint64_t at;

	for (uint64_t n = heap_reserve(h, node, ring, h->ripe[owner], &at); n; n--, at++) {
		uint32_t e = h->ripe[owner];
		struct heap_remote *r = &h->remote[e - 1];
		tw_net_write64(net, node, ring + HEAP_SLOT + at % HEAP_SLOTS * sizeof(uint64_t), r->block);
		h->ripe[owner] = r->next;
		r->next = h->remote_free;
		h->remote_free = e;
	}
	return !h->ripe[owner];
}

void tw_heap_ship(struct tw_proc *me)
{
	struct heap *h = &tw_heap_here;
	if (h->me != me)
		return;
	for (unsigned i = 0; i < h->owner_count;) {
		if (heap_ship_to(h, h->owners[i]))
			h->owners[i] = h->owners[--h->owner_count];
		else
			i++;
	}
	heap_ripen(h);
}

void tw_heap_take(struct tw_proc *me)
{
	struct heap *h = &tw_heap_here;
	if (h->me != me)
		return;
	_Atomic uint64_t *slot = h->slots;
	bool more = atomic_load_explicit(&slot[h->seen % HEAP_SLOTS], memory_order_acquire);
	if (h->head == h->seen && !more)
		return;
	for (; h->head != h->seen; h->head++) {
		uintptr_t block = atomic_load_explicit(&slot[h->head % HEAP_SLOTS], memory_order_relaxed);
		atomic_store_explicit(&slot[h->head % HEAP_SLOTS], 0, memory_order_relaxed);
		if (tw_heap_owner(me, block) != (int)me->id)
			tw_fatal("shared heap: another processor gave back %p, which is no block of this one",
			         (void *)block);
		heap_block_take(h, (void *)block, "tw_free, by another processor");
		dallocx((void *)block, h->flags);
	}
	atomic_store_explicit(h->taken, h->head, memory_order_release);
	while (h->seen - h->head < HEAP_SLOTS &&
	       atomic_load_explicit(&slot[h->seen % HEAP_SLOTS], memory_order_acquire))
		h->seen++;
}

bool tw_heap_ships(struct tw_proc *me)
{
	return tw_heap_here.me == me && tw_heap_here.owner_count;
}

bool tw_heap_takes(struct tw_proc *me)
{
	return tw_heap_here.me == me && tw_heap_here.head != tw_heap_here.seen;
}
