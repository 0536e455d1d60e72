/* SPDX-License-Identifier: BSD-3-Clause */
/* program_heap.c - malloc and its kin, of the whole process: the executable's definitions are found before the C
 * library's, by all libraries and by the C library itself (glibc's manual, "Replacing malloc").
 *
 * What code of the program or of its libraries allocates during the job is shared memory.  What Tweed, its libraries
 * (libfabric, jemalloc), other threads than the program's and the C library before the job allocate is private, from
 * jemalloc's own arenas.  A block's address shows which it is. */
#include "runtime/process/program_heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <jemalloc/jemalloc.h>

#include "core/process/fork.h"
#include "core/base/fd.h"
#include "core/memory/globals.h"
#include "core/memory/heap.h"
#include "runtime/threads/support.h"

/* The program's code and, from tw_text_start, Tweed's (runtime/stores/globals.ld). */
extern const char tw_program_start[], tw_text_start[], tw_text_end[];

#define HEAP_STACK ((size_t)8 << 20)

static uintptr_t heap_base;  /* of the shared space */
static size_t heap_bytes;    /* of the shared space; 0: no allocation is shared yet */
static uintptr_t heap_first; /* top of the first thread's stack until the program's thread begins */

void th_heap_open(void)
{
	tw_fd_library_loaded("libjemalloc");
	tw_fd_library_loaded("ld-linux"); /* it uses its own data until the process ends */
	heap_base = tw_space_base();
	heap_bytes = tw_me->config.memory;
	heap_first = (uintptr_t)__builtin_frame_address(0);
}

static __thread bool heap_own; /* th_heap_private */

void th_heap_private(bool own)
{
	heap_own = own;
}

void th_heap_main(void)
{
	heap_first = 0;
}

static inline bool heap_at(const void *ptr)
{
	return (uintptr_t)ptr - heap_base < heap_bytes;
}

bool th_heap_at(const void *ptr)
{
	return heap_at(ptr);
}

static inline bool heap_programs_stack(const void *frame)
{
	return heap_at(frame) || heap_first - (uintptr_t)frame < HEAP_STACK;
}

static inline bool heap_among(const void *at, const char *start, const char *end)
{
	return (size_t)((const char *)at - start) < (size_t)(end - start);
}

/* Most callers are the program's own code: the lists of libraries are for others. */
static inline bool heap_shares(const void *caller)
{
	return heap_programs_stack(__builtin_frame_address(0)) && tw_me && !heap_own &&
	       (heap_among(caller, tw_program_start, tw_text_start) ||
	        (!heap_among(caller, tw_text_start, tw_text_end) && !tw_fd_by_library(caller)));
}

bool th_heap_shares(const void *caller)
{
	return heap_shares(caller);
}

static inline void *heap_private(size_t align, size_t bytes, int flags)
{
	void *block = mallocx(bytes ? bytes : 1, align ? flags | MALLOCX_ALIGN(align) : flags);

	if (!block)
		errno = ENOMEM;
	return block;
}

/* glibc's blocks of 16 n bytes have room for 8 more, so there a program may store one number behind the end and go on.
 * Small blocks have that room here, too, and take as much memory as glibc's. */
#define HEAP_SPARE       8u
#define HEAP_SPARE_UP_TO 1024u
static inline size_t heap_spared(size_t bytes)
{
	return bytes % 16 == 0 && bytes - 1 < HEAP_SPARE_UP_TO ? bytes + HEAP_SPARE : bytes;
}

static inline void *heap_take(size_t align, size_t bytes, const void *caller)
{
	if (!heap_shares(caller))
		return heap_private(align, align ? bytes : heap_spared(bytes), 0);
	th_stack_reserve();
	return tw_heap_malloc(align, align ? bytes : heap_spared(bytes), caller);
}

void *th_heap_take(size_t align, size_t bytes, const void *caller)
{
	return heap_take(align, bytes, caller);
}

/* Its pages may have rights for nobody: they are not touched. */
static void heap_give(void *ptr)
{
	if (!ptr)
		return;
	if (!heap_at(ptr)) {
		dallocx(ptr, 0);
	} else if (tw_me) {
		int *error = &errno, saved = *error;
		th_stack_reserve();
		tw_free(ptr);
		*error = saved;
	}
}

static void *heap_clear(size_t n, size_t bytes, const void *caller)
{
	if (__builtin_mul_overflow(n, bytes, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	bytes = heap_spared(bytes);
	if (!heap_shares(caller))
		return heap_private(0, bytes, MALLOCX_ZERO);
	th_stack_reserve();
	return tw_heap_calloc(1, bytes, caller);
}

/* In a child of fork, which has a copy of what its parent had: what is behind the block's old end, whose place only the
 * job's heap knows, may be copied, too. */
static void *heap_resize_copy(const void *ptr, size_t bytes)
{
	void *block = tw_forked() ? heap_private(0, heap_spared(bytes), 0) : NULL;

	if (block)
		memcpy(block, ptr, TW_MIN(bytes, heap_bytes - ((uintptr_t)ptr - heap_base)));
	return block;
}

/* A private block of the program, from before the job, becomes shared. */
static void *heap_resize(void *ptr, size_t bytes, const void *caller)
{
	bool shares = heap_shares(caller);

	if (!ptr)
		return th_heap_take(0, bytes, caller);
	if (!bytes) {
		heap_give(ptr);
		return NULL;
	}
	if (heap_at(ptr)) {
		th_stack_reserve();
		return tw_me ? tw_realloc(ptr, heap_spared(bytes)) : heap_resize_copy(ptr, bytes);
	}
	if (!shares) {
		void *block = rallocx(ptr, heap_spared(bytes), 0);
		if (!block)
			errno = ENOMEM;
		return block;
	}
	void *block = th_heap_take(0, bytes, caller);
	if (block) {
		memcpy(block, ptr, TW_MIN(bytes, sallocx(ptr, 0)));
		dallocx(ptr, 0);
	}
	return block;
}

static bool heap_power(size_t align)
{
	return align && !(align & (align - 1));
}

#define HEAP_CALLER __builtin_return_address(0)

/* The declarations are the C library's. */
#pragma GCC visibility push(default)

TH_WEAK void *malloc(size_t bytes)
{
	return heap_take(0, bytes, HEAP_CALLER);
}

TH_WEAK void *calloc(size_t n, size_t bytes)
{
	return heap_clear(n, bytes, HEAP_CALLER);
}

TH_WEAK void *realloc(void *ptr, size_t bytes)
{
	return heap_resize(ptr, bytes, HEAP_CALLER);
}

TH_WEAK void *reallocarray(void *ptr, size_t n, size_t bytes)
{
	if (!__builtin_mul_overflow(n, bytes, &bytes))
		return heap_resize(ptr, bytes, HEAP_CALLER);
	errno = ENOMEM;
	return NULL;
}

TH_WEAK void free(void *ptr)
{
	heap_give(ptr);
}

TH_WEAK void *aligned_alloc(size_t align, size_t bytes)
{
	if (heap_power(align))
		return th_heap_take(align, bytes, HEAP_CALLER);
	errno = EINVAL;
	return NULL;
}

TH_WEAK void *memalign(size_t align, size_t bytes)
{
	size_t power = sizeof(void *);

	while (power < align && power <= SIZE_MAX / 2)
		power *= 2;
	return th_heap_take(power, bytes, HEAP_CALLER);
}

TH_WEAK int posix_memalign(void **ptr, size_t align, size_t bytes)
{
	int error = errno;
	void *block;

	if (align % sizeof(void *) || !heap_power(align))
		return EINVAL;
	block = th_heap_take(align, bytes, HEAP_CALLER);
	errno = error;
	if (!block)
		return ENOMEM;
	*ptr = block;
	return 0;
}

TH_WEAK void *valloc(size_t bytes)
{
	return th_heap_take(4096, bytes, HEAP_CALLER);
}

TH_WEAK void *pvalloc(size_t bytes)
{
	return th_heap_take(4096, TW_ALIGN_UP(bytes, (size_t)4096), HEAP_CALLER);
}

TH_WEAK size_t malloc_usable_size(void *ptr)
{
	if (!ptr || (heap_at(ptr) && !tw_me))
		return 0;
	if (!heap_at(ptr))
		return sallocx(ptr, 0);
	th_stack_reserve();
	return tw_heap_usable(tw_me, ptr);
}

#pragma GCC visibility pop
