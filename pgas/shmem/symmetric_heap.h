/* SPDX-License-Identifier: BSD-3-Clause */
/* symmetric_heap.h - the allocator of the symmetric heap: the same calls return the same offsets on every PE.
 *
 * Blocks have boundary tags and tile the heap.  Free blocks are in lists by size, four for each power of two.  Results
 * depend only on the sequence of calls, not on addresses or time.  One thread at a time. */
#ifndef TW_PGAS_SHMEM_SYMMETRIC_HEAP_H
#define TW_PGAS_SHMEM_SYMMETRIC_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#define HEAP_ALIGN ((size_t)16)
/* Long blocks begin at a cache line: copies between lines are faster. */
#define HEAP_LONG ((size_t)256)
#define HEAP_LINE ((size_t)64)

/* heap_open - the heap is [base, base + bytes), zero, aligned to 4096. */
void heap_open(char *base, size_t bytes);
/* heap_alloc - @align: a power of two, the minimum.  NULL: no room.
 * heap_free - @ptr is from heap_alloc.
 * heap_size - bytes of the block at @ptr; 0: there is no such block.
 * heap_holds - is [@at, @at + @bytes) inside one used block?  Searches all blocks.
 * heap_grow - resize the block at @ptr to @bytes in place; 0: not possible. */
void *heap_alloc(size_t align, size_t bytes);
void heap_free(void *ptr);
size_t heap_size(const void *ptr);
bool heap_holds(const void *at, size_t bytes);
int heap_grow(void *ptr, size_t bytes);

#endif
