/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_private.c - wraps free and realloc of the C library: a block of the shared heap would damage the private heap,
 * and be handed out as private memory. Builds with sanitizers have no wrappers, because the sanitizer defines both
 * functions. */
#include <dlfcn.h>
#include <stdlib.h>

#include "core/memory/heap_impl.h"
#include "core/job/job.h"

#if !TW_ASAN && !TW_TSAN
/* Visible, so that all of the program's calls reach them. */
__attribute__((visibility("default"))) void free(void *ptr);
__attribute__((visibility("default"))) void *realloc(void *ptr, size_t bytes);

static struct {
	void (*free)(void *ptr);
	void *(*realloc)(void *ptr, size_t bytes);
} heap_next;

/* dlsym frees the previous error's text. That text leaks, because the real free is not known yet. Volatile, because
 * dlsym is declared to call nothing of this file. */
static __thread volatile bool heap_finding;

static void *heap_find(const char *name)
{
	heap_finding = true;
	void *function = dlsym(RTLD_NEXT, name);
	heap_finding = false;
	if (!function)
		tw_fatal("internal error: there is no %s", name);
	return function;
}

static void heap_check_private(const void *ptr, const char *function)
{
	struct tw_proc *me = tw_heap_here.me;
	int owner = me ? tw_heap_owner(me, (uintptr_t)ptr) : -1;

	if (owner >= 0)
		tw_fatal(
		    "%s: %p is memory of the shared heap, from processor %u.%u: give it to tw_%s, or let 'tweed cc "
		    "--shared-heap' compile the source that calls %s",
		    function, ptr, (unsigned)owner / me->locals, (unsigned)owner % me->locals, function, function);
}

void free(void *ptr)
{
	if (!heap_next.free && heap_finding)
		return;
	if (!heap_next.free)
		heap_next.free = (void (*)(void *))(uintptr_t)heap_find("free");
	heap_check_private(ptr, "free");
	heap_next.free(ptr);
}

void *realloc(void *ptr, size_t bytes)
{
	if (!heap_next.realloc)
		heap_next.realloc = (void *(*)(void *, size_t))(uintptr_t)heap_find("realloc");
	heap_check_private(ptr, "realloc");
	return heap_next.realloc(ptr, bytes);
}
#endif
