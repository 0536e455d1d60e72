/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_impl.h - private to core/memory/heap*.c. */
#ifndef TW_CORE_MEMORY_HEAP_IMPL_H
#define TW_CORE_MEMORY_HEAP_IMPL_H

#include "core/base/base.h"
#include "core/memory/regions.h"
#include "core/memory/globals.h"
#include "core/memory/heap.h"

#include "tweed/driver/protocol.h"

#include <jemalloc/jemalloc.h>

#define HEAP_CHUNK      ((size_t)2 << 20)
#define HEAP_OWNERS     ((size_t)4096)
#define HEAP_SLOTS      4096u
#define HEAP_TAIL       ((size_t)0)
#define HEAP_HEAD       ((size_t)64)
#define HEAP_SLOT       ((size_t)128)
#define HEAP_RING_BYTES TW_ALIGN_UP(HEAP_SLOT + HEAP_SLOTS * sizeof(uint64_t), 4096)
#define HEAP_MIN_BYTES  ((size_t)16) /* jemalloc aligns only to the size below this */

/* A block of another processor, freed here. */
struct heap_remote {
	uint64_t block;
	uint32_t next; /* in its list: index + 1 */
};

struct heap {
	extent_hooks_t hooks; /* must be first: hooks receive its address */
	struct tw_proc *me;   /* NULL: closed */
	unsigned arena, tcache;
	int flags;              /* of every jemalloc call */
	bool stores;            /* the protocol needs stores announced */
	size_t cut_at, cut_end; /* own space not yet given to jemalloc, as offsets */
	size_t space;           /* bytes of the shared space */
	uint8_t *sizes;         /* heap_sizes */
	uint64_t *blocks;       /* a bit for each HEAP_MIN_BYTES: one of this processor's blocks begins there */

	struct heap_remote *remote;
	uint32_t remote_room, remote_used; /* entries allocated; entries ever used */
	uint32_t remote_free;              /* free entries; this and the next two are lists: index + 1 */
	uint32_t fresh;                    /* freed since the last tw_heap_ship */
	uint32_t *ripe;                    /* [processors of the job] to be sent by the next tw_heap_ship */
	uint16_t *owners;                  /* processors with ripe blocks */
	unsigned owner_count;

	_Atomic uint64_t *slots, *taken; /* this processor's ring: slots, head */
	uint64_t head, seen;             /* ring positions: next to free; first not seen by the last tw_heap_take */
};

extern struct heap tw_heap_here; /* this process's; heap_blocks.c */

static inline size_t heap_table_bytes(uint64_t memory)
{
	return TW_ALIGN_UP(memory / HEAP_CHUNK * sizeof(uint16_t), 4096);
}

static inline size_t heap_ring(const struct tw_proc *me, unsigned local)
{
	return me->layout.heap + HEAP_OWNERS + heap_table_bytes(me->config.memory) + local * HEAP_RING_BYTES;
}

/* One byte for each 4 KiB of the shared space: the size of the blocks that begin there, at the owner's node. */
static inline size_t heap_sizes(const struct tw_proc *me)
{
	return heap_ring(me, me->locals);
}

/* Returns the owner of the block at @address, or -1 when no processor owns its chunk. */
static inline int tw_heap_owner(const struct tw_proc *me, uintptr_t address)
{
	uintptr_t base = tw_space_base();
	if (address < base || address - base >= me->config.memory)
		return -1;
	size_t chunk = (address - base) / HEAP_CHUNK;
	const _Atomic uint16_t *table = (const void *)(me->net->base + me->layout.heap + HEAP_OWNERS);
	return (int)atomic_load_explicit(&table[chunk], memory_order_relaxed) - 1;
}

/* tw_heap_blocks_open - allocate h->blocks, empty. Returns 0 or -errno. tw_heap_blocks_close - free it.
 * heap_block_add - record that @ptr is a block.
 * heap_block_take - record that @ptr is a block no longer; if it was none, end the job with a message that names
 * @function.
 * tw_heap_refuse - print that message and end the job. */
int tw_heap_blocks_open(struct heap *h, size_t space);
void tw_heap_blocks_close(struct heap *h);
void tw_heap_refuse(const struct heap *h, const void *ptr, const char *function) __attribute__((noreturn, cold));
static inline void heap_block_add(struct heap *h, const void *ptr)
{
	size_t i = ((uintptr_t)ptr - tw_space_base()) / HEAP_MIN_BYTES;
	h->blocks[i / 64] |= (uint64_t)1 << i % 64;
}
static inline void heap_block_take(struct heap *h, const void *ptr, const char *function)
{
	size_t offset = (uintptr_t)ptr - tw_space_base(), i = offset / HEAP_MIN_BYTES;
	uint64_t bit = (uint64_t)1 << i % 64;

	if (offset % HEAP_MIN_BYTES || !(h->blocks[i / 64] & bit))
		tw_heap_refuse(h, ptr, function);
	h->blocks[i / 64] &= ~bit;
}

/* tw_heap_keep - hold the block at @ptr, which another processor owns, until it can be shipped. Application context.
 * tw_heap_remote_open, tw_heap_remote_close - heap_remote.c's part of @h. 0 or -errno. */
void tw_heap_keep(struct heap *h, void *ptr);
int tw_heap_remote_open(struct heap *h, size_t processors);
void tw_heap_remote_close(struct heap *h);

#endif
