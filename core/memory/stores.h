/* SPDX-License-Identifier: BSD-3-Clause */
/* stores.h - the log of the program's stores since its last synchronization, for protocols with the hook stored.
 *
 * Instrumented programs (`tweed cc`) announce every store into shared memory before they make it: the compiler's calls,
 * the C library's functions (both in runtime/stores/), system calls, and this library's own stores. The log is a bit
 * for each byte of the shared space, private to the processor, and the set of pages that have a bit.
 *
 * Rule: between an announcement and the end of its store, the processor enters no hook of a release, arrival or
 * acquire. Hence at such a hook everything announced has been stored, and the log is passed to the protocol and cleared
 * (tw_stores_drain). A fault may come between announcement and store, and does not touch the log.
 *
 * The log cannot be drained earlier, for instance at the next announcement: gcc announces an address once for all its
 * stores up to the next call that might free memory. Every synchronization is such a call; other announcements are not.
 * clang announces all elements of a masked vector before it stores them. */
#ifndef TW_CORE_MEMORY_STORES_H
#define TW_CORE_MEMORY_STORES_H

#include "core/memory/regions.h"

struct tw_proc;

struct tw_stores {
	uintptr_t base; /* of the shared space */
	size_t bytes;   /* of the shared space; 0: nothing is logged */
	size_t page;    /* page of the last announcement, which is in the set already */
	uint64_t *bits; /* a bit for each byte */
	unsigned page_shift;
};
extern struct tw_stores tw_stores;

/* tw_stores_runtime - defined by the run-time part that `tweed cc` links to a program (runtime/stores/). Its address is
 * NULL in other programs. */
extern const char tw_stores_runtime __attribute__((weak));

/* tw_stores_open - log from now on, if the protocol has the hook stored. Returns 0; -ENOTSUP, not logged, when the
 * protocol needs announced stores and the program announces none; -ENOMEM, logged. [start]
 * tw_stores_close - discard everything. [start] */
int tw_stores_open(struct tw_proc *me);
void tw_stores_close(void);

/* tw_stores_drain - pass the log to the protocol and clear it. [sync] */
void tw_stores_drain(struct tw_proc *me);

/* tw_stores_range - tw_stores_add for any number of bytes. tw_stores_page - add a page to the set. */
void tw_stores_range(size_t offset, size_t bytes);
void tw_stores_page(size_t page);

/* One instruction, so that a signal handler's announcement between load and store is not lost. */
static inline void tw_stores_set(uint64_t *word, uint64_t mask)
{
#if defined(__x86_64__)
	__asm__("orq %1, %0" : "+m"(*word) : "r"(mask) : "cc");
#else
	__atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
#endif
}

static inline void tw_stores_clear(uint64_t *word, uint64_t mask)
{
#if defined(__x86_64__)
	__asm__("andq %1, %0" : "+m"(*word) : "r"(~mask) : "cc");
#else
	__atomic_fetch_and(word, ~mask, __ATOMIC_RELAXED);
#endif
}

/* tw_stores_add - announce a store of @bytes at @ptr. Costs one comparison when @ptr is not shared memory or nothing is
 * logged. [application; signal handlers that may store into shared memory] */
static inline __attribute__((always_inline)) void tw_stores_add(const void *ptr, size_t bytes)
{
	size_t offset = (uintptr_t)ptr - tw_stores.base, at = offset % 64, page;

	if (__builtin_expect(offset >= tw_stores.bytes, 1))
		return;
	if (bytes - 1 >= 64 - at) {
		tw_stores_range(offset, bytes);
		return;
	}
	page = offset >> tw_stores.page_shift;
	if (page != tw_stores.page)
		tw_stores_page(page);
	tw_stores_set(tw_stores.bits + offset / 64, ~(uint64_t)0 >> (64 - bytes) << at);
}

#endif
