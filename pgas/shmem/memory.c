/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - the calls of the symmetric heap: all PEs make them, in the same order. */
#include "pgas/shmem/check.h"
#include "pgas/shmem/symmetric_heap.h"

#define MEMORY_MIB ((size_t)1 << 20)

/* heap_alloc; the first failure is reported by PE 0. */
static void *memory_room(const char *function, size_t align, size_t size)
{
	static bool said;
	void *ptr = heap_alloc(align, size);

	if (ptr || said || tw_segment.pe)
		return ptr;
	said = true;
	tw_log("%s: asked for %zu MiB, the heap is %zu MiB%s: SHMEM_SYMMETRIC_SIZE", function,
	       size / MEMORY_MIB + (size % MEMORY_MIB != 0), sh.range[SH_HEAP].bytes / MEMORY_MIB,
	       size < sh.range[SH_HEAP].bytes ? ", and has no such room left" : "");
	return NULL;
}

SH_INLINE void *memory_alloc(const char *function, size_t align, size_t size)
{
	if (!sh.open)
		sh_need(function);
	SH_CHECK_COLLECTIVE(function, .team = SHMEM_TEAM_WORLD, .count = size, .dst = (ptrdiff_t)align);
	if (!size)
		return NULL;
	void *ptr = memory_room(function, align, size);
	sh_barrier_all();
	return ptr;
}

SH_INLINE void memory_check(const char *function, const void *ptr, size_t size)
{
	if (!sh.open)
		sh_need(function);
	if (!heap_size(ptr))
		SH_MISTAKE(SH_CALLER, "%s: %p is no block of the symmetric heap, or was freed before", function, ptr);
	SH_CHECK_COLLECTIVE(function, .team = SHMEM_TEAM_WORLD, .dest = ptr, .count = size);
}

void *pshmem_malloc(size_t size)
{
	return memory_alloc("shmem_malloc", HEAP_ALIGN, size);
}

void *pshmem_malloc_with_hints(size_t size, long hints)
{
	(void)hints;
	return memory_alloc("shmem_malloc_with_hints", HEAP_ALIGN, size);
}

void *pshmem_align(size_t alignment, size_t size)
{
	bool power = alignment && !(alignment & (alignment - 1));

	if (!power && sh.check)
		SH_MISTAKE(SH_CALLER, "an alignment of %zu is no power of two", alignment);
	if (!power)
		return NULL;
	return memory_alloc("shmem_align", alignment, size);
}

void *pshmem_calloc(size_t count, size_t size)
{
	size_t bytes = sh_bytes(count, size);

	if (!sh.open)
		sh_need("shmem_calloc");
	SH_CHECK_COLLECTIVE("shmem_calloc", .team = SHMEM_TEAM_WORLD, .count = bytes);
	if (!bytes)
		return NULL;
	void *ptr = memory_room("shmem_calloc", HEAP_ALIGN, bytes);
	if (ptr)
		memset(ptr, 0, bytes);
	sh_barrier_all();
	return ptr;
}

void *pshmem_realloc(void *ptr, size_t size)
{
	if (!ptr)
		return pshmem_malloc(size);
	if (!size) {
		pshmem_free(ptr);
		return NULL;
	}
	memory_check("shmem_realloc", ptr, size);
	sh_barrier_all();
	size_t old = heap_size(ptr);
	if (!heap_grow(ptr, size)) {
		void *moved = memory_room("shmem_realloc", HEAP_ALIGN, size);
		if (moved) {
			memcpy(moved, ptr, TW_MIN(old, size));
			heap_free(ptr);
		}
		ptr = moved;
	}
	sh_barrier_all();
	return ptr;
}

void pshmem_free(void *ptr)
{
	if (!ptr)
		return;
	memory_check("shmem_free", ptr, 0);
	sh_barrier_all();
	heap_free(ptr);
}

TWS_FUNCTIONS_HEAP(SH_ALIAS)

extern void *shmalloc(size_t size) __attribute__((weak, alias("pshmem_malloc")));
extern void *shrealloc(void *ptr, size_t size) __attribute__((weak, alias("pshmem_realloc")));
extern void *shmemalign(size_t alignment, size_t size) __attribute__((weak, alias("pshmem_align")));
extern void shfree(void *ptr) __attribute__((weak, alias("pshmem_free")));
