/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_blocks.c - records where this processor's blocks begin: a bit for each HEAP_MIN_BYTES of the shared space, in
 * private memory.
 *
 * jemalloc does not check: a block freed twice is handed out twice, and freeing an address inside a block damages the
 * heap. So the block's bit is checked first. The owner also checks it when a block returns from another processor. */
#include <errno.h>
#include <sys/mman.h>

#include "core/memory/heap_impl.h"
#include "core/job/job.h"

struct heap tw_heap_here;

static size_t blocks_bytes(const struct heap *h)
{
	return h->space / HEAP_MIN_BYTES / 8;
}

int tw_heap_blocks_open(struct heap *h, size_t space)
{
	h->space = space;
	void *bits =
	    mmap(NULL, blocks_bytes(h), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bits == MAP_FAILED)
		return -errno;
	h->blocks = bits;
	return 0;
}

void tw_heap_blocks_close(struct heap *h)
{
	munmap(h->blocks, blocks_bytes(h));
	h->blocks = NULL;
}

/* Returns the last block that begins at or below @ptr, or NULL. */
static const char *blocks_before(const struct heap *h, const char *ptr)
{
	size_t i = (size_t)(ptr - (const char *)tw_space_base()) / HEAP_MIN_BYTES, word = i / 64;
	uint64_t bits = h->blocks[word] & (((uint64_t)2 << i % 64) - 1);

	while (!bits && word)
		bits = h->blocks[--word];
	if (!bits)
		return NULL;
	i = word * 64 + 63 - (size_t)__builtin_clzll(bits);
	return (const char *)tw_space_base() + i * HEAP_MIN_BYTES;
}

void tw_heap_refuse(const struct heap *h, const void *ptr, const char *function)
{
	const char *block = blocks_before(h, ptr);
	size_t offset = block ? (size_t)((const char *)ptr - block) : 0;

	if (offset && offset < sallocx(block, 0))
		tw_fatal("%s: %p lies %zu bytes inside a block: free its beginning, %p", function, ptr, offset,
		         (const void *)block);
	tw_fatal("%s: %p is no block: it was freed already, or never allocated", function, ptr);
}
