/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.h - the allocator of the symmetric heap: the same calls give the same offsets on every PE.
 *
 * Blocks have boundary tags and tile the heap; free ones are in lists by size, four for each power of two.  Nothing depends on
 * addresses or time, only on the sequence of calls.  One thread at a time. */
#ifndef TW_PGAS_SHMEM_SYMMETRIC_HEAP_H
#define TW_PGAS_SHMEM_SYMMETRIC_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#define HEAP_ALIGN ((size_t)16)
/* Long blocks begin a cache line: copies between lines are faster. */
#define HEAP_LONG ((size_t)256)
#define HEAP_LINE ((size_t)64)

/* heap_open - the heap is [base, base + bytes), zero, aligned to 4096. */
void heap_open(char *base, size_t bytes);
/* heap_alloc - @align: a power of two, at least.  NULL: there is no room.
 * heap_free - @ptr is from heap_alloc.
 * heap_size - how much the block at @ptr holds; 0: there is no such block.
 * heap_holds - is [@at, @at + @bytes) inside a block that is used?  Looks at all blocks.
 * heap_grow - make the block at @ptr hold @bytes where it is, larger or smaller; 0: that does not go. */
void *heap_alloc(size_t align, size_t bytes);
void heap_free(void *ptr);
size_t heap_size(const void *ptr);
bool heap_holds(const void *at, size_t bytes);
int heap_grow(void *ptr, size_t bytes);

#endif
