/* SPDX-License-Identifier: BSD-3-Clause */
#include "pgas/shmem/symmetric_heap.h"

#include <stdint.h>
#include <string.h>

#include "core/base/base.h"

#define HEAP_BINS 256u /* four for each power of two */
#define HEAP_USED 1u

/* A block: its tag, then its contents, then the next block's tag.  Sizes include the tag and are multiples of
 * HEAP_ALIGN. */
struct heap_block {
	size_t before; /* size of the preceding block; 0: this is the first */
	size_t size;   /* + HEAP_USED */
	/* of free blocks only: */
	struct heap_block *next, *prev;
};
#define HEAP_TAG   offsetof(struct heap_block, next)
#define HEAP_LEAST sizeof(struct heap_block)

_Static_assert(HEAP_TAG == HEAP_ALIGN && HEAP_LEAST % HEAP_ALIGN == 0, "what blocks hold is aligned");

static char *heap_base;
static size_t heap_bytes; /* of all blocks; a used tag of size 0 follows them */
static struct heap_block *heap_bin[HEAP_BINS];
static uint64_t heap_filled[HEAP_BINS / 64]; /* non-empty bins */

static size_t block_size(const struct heap_block *b)
{
	return b->size & ~(size_t)HEAP_USED;
}

static struct heap_block *block_after(struct heap_block *b)
{
	return (struct heap_block *)(void *)((char *)b + block_size(b));
}

static struct heap_block *block_of(const void *ptr)
{
	return (struct heap_block *)(void *)((uintptr_t)ptr - HEAP_TAG);
}

static unsigned heap_bin_of(size_t size)
{
	unsigned log = 63u - (unsigned)__builtin_clzll(size);

	return 4 * log + (unsigned)(size >> (log - 2) & 3);
}

static void heap_put(struct heap_block *b)
{
	unsigned bin = heap_bin_of(b->size);

	b->prev = NULL;
	b->next = heap_bin[bin];
	if (b->next)
		b->next->prev = b;
	heap_bin[bin] = b;
	heap_filled[bin / 64] |= (uint64_t)1 << bin % 64;
}

static void heap_take(struct heap_block *b)
{
	unsigned bin = heap_bin_of(b->size);

	if (b->next)
		b->next->prev = b->prev;
	if (b->prev)
		b->prev->next = b->next;
	else if (!(heap_bin[bin] = b->next))
		heap_filled[bin / 64] &= ~((uint64_t)1 << bin % 64);
}

/* The bytes to leave free in front of a used block in @b so that its contents are aligned: 0, or enough for a block. */
static size_t heap_gap(const struct heap_block *b, size_t align)
{
	size_t gap = -((uintptr_t)b + HEAP_TAG) & (align - 1);

	return gap == 0 || gap >= HEAP_LEAST ? gap : gap + TW_MAX(align, HEAP_LEAST);
}

/* The first free block with room for an aligned one of @size: from its own bin, else from the next non-empty one. */
static struct heap_block *heap_find(size_t align, size_t size)
{
	for (unsigned bin = heap_bin_of(size); bin < HEAP_BINS; bin++) {
		uint64_t filled = heap_filled[bin / 64] >> bin % 64;

		if (!filled) {
			bin |= 63; /* to the next word */
			continue;
		}
		bin += (unsigned)__builtin_ctzll(filled);
		for (struct heap_block *b = heap_bin[bin]; b; b = b->next)
			if (b->size >= size + heap_gap(b, align))
				return b;
	}
	return NULL;
}

/* Make @b, in no list, a free block, merged with free neighbours. */
static void heap_release(struct heap_block *b, size_t size)
{
	b->size = size;
	struct heap_block *after = block_after(b);
	if (!(after->size & HEAP_USED)) {
		heap_take(after);
		b->size += after->size;
	}
	if (b->before) {
		struct heap_block *before = (struct heap_block *)(void *)((char *)b - b->before);
		if (!(before->size & HEAP_USED)) {
			heap_take(before);
			before->size += b->size;
			b = before;
		}
	}
	block_after(b)->before = b->size;
	heap_put(b);
}

/* Use @size of the @all bytes of @b, in no list; the rest becomes free if it is large enough for a block. */
static void heap_use(struct heap_block *b, size_t all, size_t size)
{
	size_t rest = all - size;

	if (rest < HEAP_LEAST) {
		size = all;
		rest = 0;
	}
	b->size = size | HEAP_USED;
	struct heap_block *after = block_after(b);
	after->before = size;
	if (rest)
		heap_release(after, rest);
}

/* @bytes with the tag; 0: more than the heap has. */
static size_t heap_whole(size_t bytes)
{
	if (bytes > heap_bytes)
		return 0;
	return TW_MAX(TW_ALIGN_UP(bytes + HEAP_TAG, HEAP_ALIGN), HEAP_LEAST);
}

void heap_open(char *base, size_t bytes)
{
	struct heap_block *b = (struct heap_block *)(void *)base;

	memset(heap_bin, 0, sizeof(heap_bin));
	memset(heap_filled, 0, sizeof(heap_filled));
	heap_base = base;
	heap_bytes = bytes / HEAP_ALIGN * HEAP_ALIGN - HEAP_TAG;
	b->before = 0;
	b->size = heap_bytes;
	block_after(b)->size = HEAP_USED;
	block_after(b)->before = heap_bytes;
	heap_put(b);
}

void *heap_alloc(size_t align, size_t bytes)
{
	align = TW_MAX(align, bytes < HEAP_LONG ? HEAP_ALIGN : HEAP_LINE);
	size_t size = heap_whole(bytes);
	struct heap_block *b = size && align <= heap_bytes ? heap_find(align, size) : NULL;

	if (!b)
		return NULL;
	heap_take(b);
	size_t all = b->size, gap = heap_gap(b, align);
	if (gap) {
		struct heap_block *front = b;
		b = (struct heap_block *)(void *)((char *)b + gap);
		front->size = gap;
		b->before = gap;
		all -= gap;
		heap_put(front);
	}
	heap_use(b, all, size);
	return (char *)b + HEAP_TAG;
}

size_t heap_size(const void *ptr)
{
	size_t at = (uintptr_t)ptr - (uintptr_t)heap_base;
	const struct heap_block *b = block_of(ptr);

	if (at < HEAP_TAG || at >= heap_bytes || at % HEAP_ALIGN || !(b->size & HEAP_USED) ||
	    block_size(b) > heap_bytes - (at - HEAP_TAG) || block_after(block_of(ptr))->before != block_size(b))
		return 0;
	return block_size(b) - HEAP_TAG;
}

bool heap_holds(const void *at, size_t bytes)
{
	size_t from = (uintptr_t)at - (uintptr_t)heap_base, block = 0, size = 0;

	for (const struct heap_block *b; block <= from && block < heap_bytes; block += size) {
		b = (const struct heap_block *)(const void *)(heap_base + block);
		size = block_size(b);
		if (from - block < size)
			return b->size & HEAP_USED && from - block >= HEAP_TAG && bytes <= size - (from - block);
	}
	return false;
}

void heap_free(void *ptr)
{
	heap_release(block_of(ptr), block_size(block_of(ptr)));
}

int heap_grow(void *ptr, size_t bytes)
{
	struct heap_block *b = block_of(ptr), *after = block_after(b);
	size_t size = heap_whole(bytes), all = block_size(b);
	bool joins = !(after->size & HEAP_USED) && size > all;

	if (!size || all + (joins ? after->size : 0) < size)
		return 0;
	if (joins) {
		heap_take(after);
		all += after->size;
	}
	heap_use(b, all, size);
	return 1;
}
