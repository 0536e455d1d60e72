/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_heap.c - malloc and its kin for programs of `tweed cc --shared-heap`: shared memory between tw_init and
 * tw_finalize, the C library's before and after.  A block's address shows its kind. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/globals.h"
#include "core/job/job.h"
#include "core/memory/stores.h"
#include "tweed/tweed.h"

TW_API void *tw_shared_malloc(size_t bytes);
TW_API void *tw_shared_calloc(size_t n, size_t bytes);
TW_API void *tw_shared_realloc(void *ptr, size_t bytes);
TW_API void *tw_shared_reallocarray(void *ptr, size_t n, size_t bytes);
TW_API void tw_shared_free(void *ptr);
TW_API void *tw_shared_aligned_alloc(size_t align, size_t bytes);
TW_API int tw_shared_posix_memalign(void **ptr, size_t align, size_t bytes);
TW_API void *tw_shared_valloc(size_t bytes);
TW_API char *tw_shared_strdup(const char *text);
TW_API char *tw_shared_strndup(const char *text, size_t bytes);

/* Works after tw_finalize, too. */
static bool shared_block(const void *ptr)
{
	static size_t space_bytes;

	if (tw_me)
		space_bytes = tw_me->config.memory;
	return (uintptr_t)ptr - tw_space_base() < space_bytes;
}

void *tw_shared_malloc(size_t bytes)
{
	return tw_me ? tw_malloc(bytes) : malloc(bytes);
}

void *tw_shared_calloc(size_t n, size_t bytes)
{
	return tw_me ? tw_calloc(n, bytes) : calloc(n, bytes);
}

void *tw_shared_realloc(void *ptr, size_t bytes)
{
	if (!ptr)
		return tw_shared_malloc(bytes);
	return shared_block(ptr) ? tw_realloc(ptr, bytes) : realloc(ptr, bytes);
}

void *tw_shared_reallocarray(void *ptr, size_t n, size_t bytes)
{
	if (!__builtin_mul_overflow(n, bytes, &bytes))
		return tw_shared_realloc(ptr, bytes);
	errno = ENOMEM;
	return NULL;
}

void tw_shared_free(void *ptr)
{
	if (!shared_block(ptr))
		free(ptr);
	else if (tw_me)
		tw_free(ptr);
}

void *tw_shared_aligned_alloc(size_t align, size_t bytes)
{
	return tw_me ? tw_aligned_alloc(align, bytes) : aligned_alloc(align, bytes);
}

int tw_shared_posix_memalign(void **ptr, size_t align, size_t bytes)
{
	int kept = errno;
	void *block = align % sizeof(void *) ? NULL : tw_shared_aligned_alloc(align, bytes);
	int error = block ? 0 : align % sizeof(void *) ? EINVAL : errno;

	errno = kept;
	if (error)
		return error;
	tw_stores_add(ptr, sizeof(*ptr));
	*ptr = block;
	return 0;
}

void *tw_shared_valloc(size_t bytes)
{
	return tw_shared_aligned_alloc(4096, bytes);
}

char *tw_shared_strdup(const char *text)
{
	return tw_shared_strndup(text, strlen(text));
}

char *tw_shared_strndup(const char *text, size_t bytes)
{
	size_t n = strnlen(text, bytes);
	char *copy = tw_shared_malloc(n + 1);

	if (!copy)
		return NULL;
	tw_stores_add(copy, n + 1);
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}
