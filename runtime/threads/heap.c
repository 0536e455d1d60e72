/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.c - malloc and its kin (runtime/shared_heap.c), called with enough pinned stack, because they may
 * communicate. */
#include "runtime/threads/support.h"

/* The linker makes __real_NAME the library's NAME, and the program's NAME __wrap_NAME (tools/compile/cc.c). */
#define HEAP(type, name, parameters, ...)                                                                              \
	extern type __real_##name parameters;                                                                          \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		th_stack_reserve();                                                                                    \
		return __real_##name(__VA_ARGS__);                                                                     \
	}

HEAP(void *, tw_shared_malloc, (size_t bytes), bytes)
HEAP(void *, tw_shared_calloc, (size_t n, size_t bytes), n, bytes)
HEAP(void *, tw_shared_realloc, (void *ptr, size_t bytes), ptr, bytes)
HEAP(void *, tw_shared_reallocarray, (void *ptr, size_t n, size_t bytes), ptr, n, bytes)
HEAP(void *, tw_shared_aligned_alloc, (size_t align, size_t bytes), align, bytes)
HEAP(int, tw_shared_posix_memalign, (void **ptr, size_t align, size_t bytes), ptr, align, bytes)
HEAP(void *, tw_shared_valloc, (size_t bytes), bytes)
HEAP(char *, tw_shared_strdup, (const char *text), text)
HEAP(char *, tw_shared_strndup, (const char *text, size_t bytes), text, bytes)

extern void __real_tw_shared_free(void *ptr);
void __wrap_tw_shared_free(void *ptr);
void __wrap_tw_shared_free(void *ptr)
{
	th_stack_reserve();
	__real_tw_shared_free(ptr);
}
