/* SPDX-License-Identifier: BSD-3-Clause */
/* announce.c - the functions that compilers call before each store.
 *
 * Their names are those of the kernel's address sanitizer: `tweed cc` requests that instrumentation, without loads,
 * globals and stack.  None of this is in libtweed: a program that was not built by `tweed cc` lacks tw_stores_runtime,
 * which distinguishes it. */
#include "core/memory/stores.h"

const char tw_stores_runtime = 1;

#define ANNOUNCE(n)                                                                                                    \
	void __asan_store##n##_noabort(const void *ptr);                                                               \
	void __asan_store##n##_noabort(const void *ptr)                                                                \
	{                                                                                                              \
		tw_stores_add(ptr, n);                                                                                 \
	}                                                                                                              \
	void __asan_load##n##_noabort(const void *ptr);                                                                \
	void __asan_load##n##_noabort(const void *ptr)                                                                 \
	{                                                                                                              \
		(void)ptr;                                                                                             \
	}
ANNOUNCE(1)
ANNOUNCE(2)
ANNOUNCE(4)
ANNOUNCE(8)
ANNOUNCE(16)

void __asan_storeN_noabort(const void *ptr, size_t bytes);
void __asan_storeN_noabort(const void *ptr, size_t bytes)
{
	if (bytes)
		tw_stores_add(ptr, bytes);
}

/* Sources of library calls that the compiler knows, and calls that do not return: ignored. */
void __asan_loadN_noabort(const void *ptr, size_t bytes);
void __asan_loadN_noabort(const void *ptr, size_t bytes)
{
	(void)ptr, (void)bytes;
}
void __asan_handle_no_return(void);
void __asan_handle_no_return(void) {}
/* Around C++'s constructors of globals. */
void __asan_before_dynamic_init(const char *module);
void __asan_before_dynamic_init(const char *module)
{
	(void)module;
}
void __asan_after_dynamic_init(void);
void __asan_after_dynamic_init(void) {}
