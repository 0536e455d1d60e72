/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.c - OpenMP 5's allocators: all kinds of memory are the shared heap. */
#include <string.h>

#include "runtime/openmp/team.h"

/* Of omp.h. */
enum { TRAIT_ALIGNMENT = 2, TRAIT_POOL = 4, TRAIT_FALLBACK = 5, TRAIT_OTHER = 6 };
enum { FALLBACK_DEFAULT = 11, FALLBACK_NULL = 12, FALLBACK_ABORT = 13, FALLBACK_OTHER = 14 };
#define TRAIT_DEFAULT UINTPTR_MAX
struct alloc_trait {
	int key;
	uintptr_t value;
};
#define ALLOC_PREDEFINED 8u /* their handles are 1 to 8 */

/* In shared memory; the handle is its address. */
struct allocator {
	uintptr_t alignment, pool, fallback, other;
	uintptr_t used; /* under the lock of atomic regions */
};

/* Before each block. */
struct block {
	_Alignas(32) void *start;
	size_t bytes;
	struct allocator *pool; /* that the bytes count in, or NULL */
};

uintptr_t omp_get_default_allocator(void)
{
	return omp_team->icv.allocator;
}

void omp_set_default_allocator(uintptr_t handle)
{
	omp_team->icv.allocator = handle ? handle : OMP_ALLOCATOR;
}

static struct allocator *alloc_of(uintptr_t handle)
{
	handle = handle ? handle : omp_get_default_allocator();
	return handle <= ALLOC_PREDEFINED ? NULL : (struct allocator *)handle;
}

uintptr_t omp_init_allocator(uintptr_t space, int n, const struct alloc_trait *trait)
{
	(void)space;
	th_stack_reserve();
	struct allocator *a = tw_malloc(sizeof(*a));
	if (!a)
		return 0;
	*a = (struct allocator){.alignment = 1, .pool = TRAIT_DEFAULT, .fallback = FALLBACK_DEFAULT};
	for (int i = 0; i < n; i++) {
		if (trait[i].value == TRAIT_DEFAULT)
			continue;
		if (trait[i].key == TRAIT_ALIGNMENT)
			a->alignment = trait[i].value;
		else if (trait[i].key == TRAIT_POOL)
			a->pool = trait[i].value;
		else if (trait[i].key == TRAIT_FALLBACK)
			a->fallback = trait[i].value;
		else if (trait[i].key == TRAIT_OTHER)
			a->other = trait[i].value;
	}
	if (!a->alignment || a->alignment & (a->alignment - 1)) {
		tw_free(a);
		return 0;
	}
	return (uintptr_t)a;
}

void omp_destroy_allocator(uintptr_t handle)
{
	th_stack_reserve();
	if (handle > ALLOC_PREDEFINED)
		tw_free((void *)handle);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The allocator whose pool is limited, or NULL. */
static struct allocator *alloc_limited(struct allocator *a)
{
	return a && a->pool != TRAIT_DEFAULT ? a : NULL;
}

static bool pool_takes(struct allocator *pool, size_t bytes)
{
	if (!pool)
		return true;
	GOMP_atomic_start();
	bool fits = bytes <= pool->pool - pool->used;
	pool->used += fits ? bytes : 0;
	GOMP_atomic_end();
	return fits;
}

static void pool_gets_back(struct allocator *pool, size_t bytes)
{
	if (!pool)
		return;
	GOMP_atomic_start();
	pool->used -= bytes;
	GOMP_atomic_end();
}

static void *alloc_try(struct allocator *a, size_t align, size_t bytes)
{
	struct allocator *pool = alloc_limited(a);
	size_t all;

	align = TW_MAX(TW_MAX(align, a ? a->alignment : 1), sizeof(struct block));
	if (!bytes || align & (align - 1) || __builtin_add_overflow(bytes, align, &all) || !pool_takes(pool, bytes))
		return NULL;
	char *start = tw_aligned_alloc(align, all);
	if (!start) {
		pool_gets_back(pool, bytes);
		return NULL;
	}
	struct block *b = (struct block *)(void *)(start + align) - 1;
	*b = (struct block){.start = start, .bytes = bytes, .pool = pool};
	return start + align;
}

void *omp_aligned_alloc(size_t align, size_t bytes, uintptr_t handle)
{
	struct allocator *a = alloc_of(handle);

	th_stack_reserve();
	void *ptr = alloc_try(a, align, bytes);
	if (ptr || !bytes || !a || a->fallback == FALLBACK_NULL)
		return ptr;
	if (a->fallback == FALLBACK_ABORT)
		th_refuse("omp_alloc: an allocator with the trait abort_fb has no %zu bytes left", bytes);
	return a->fallback == FALLBACK_OTHER ? omp_aligned_alloc(align, bytes, a->other)
	                                     : alloc_try(NULL, TW_MAX(align, a->alignment), bytes);
}

void *omp_alloc(size_t bytes, uintptr_t handle)
{
	return omp_aligned_alloc(1, bytes, handle);
}

void *omp_aligned_calloc(size_t align, size_t n, size_t bytes, uintptr_t handle)
{
	size_t all;
	void *ptr = __builtin_mul_overflow(n, bytes, &all) ? NULL : omp_aligned_alloc(align, all, handle);

	return ptr ? memset(ptr, 0, all) : NULL;
}

void *omp_calloc(size_t n, size_t bytes, uintptr_t handle)
{
	return omp_aligned_calloc(1, n, bytes, handle);
}

void omp_free(void *ptr, uintptr_t handle)
{
	(void)handle;
	th_stack_reserve();
	if (!ptr)
		return;
	struct block *b = (struct block *)ptr - 1;
	pool_gets_back(b->pool, b->bytes);
	tw_free(b->start);
}

void *omp_realloc(void *ptr, size_t bytes, uintptr_t handle, uintptr_t old)
{
	void *now = bytes ? omp_alloc(bytes, handle) : NULL;

	if (ptr && now)
		memcpy(now, ptr, TW_MIN(bytes, ((struct block *)ptr - 1)->bytes));
	if (now || !bytes)
		omp_free(ptr, old);
	return now;
}

/* Of the clause and the directive allocate. */
void *GOMP_alloc(size_t align, size_t bytes, uintptr_t handle)
{
	void *ptr = omp_aligned_alloc(align, TW_MAX(bytes, (size_t)1), handle);

	if (!ptr)
		th_refuse("allocate: no %zu bytes are left of TWEED_MEMORY, or of the allocator's pool", bytes);
	return ptr;
}

void GOMP_free(void *ptr, uintptr_t handle)
{
	omp_free(ptr, handle);
}
