/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.h - the shared heap behind tw_malloc, for the rest of the core. Design and layout: heap.c. */
#ifndef TW_CORE_MEMORY_HEAP_H
#define TW_CORE_MEMORY_HEAP_H

#include <stddef.h>

#include "core/job/settings.h"

struct tw_proc;

/* tw_heap_malloc - tw_malloc, with @align not 0 tw_aligned_alloc, on behalf of the function at @caller.
 * tw_heap_calloc - the same for tw_calloc. */
void *tw_heap_malloc(size_t align, size_t bytes, const void *caller);
void *tw_heap_calloc(size_t n, size_t bytes, const void *caller);

/* tw_heap_exported_bytes - returns the bytes needed at layout.heap of each node's exported memory. They are zero when
 * the job starts. */
size_t tw_heap_exported_bytes(const struct tw_config *config);

/* tw_heap_open - open the heap for this processor (not the agent). @me has its layout, configuration and endpoint. One
 * per process at a time; not in fault context. Returns 0 or -errno, logged.
 * tw_heap_close - close it. Its blocks must not be used afterwards. */
int tw_heap_open(struct tw_proc *me);
void tw_heap_close(struct tw_proc *me);

/* tw_heap_holder - returns the processor whose heap owns the memory around @ptr; -1: none. */
int tw_heap_holder(const struct tw_proc *me, const void *ptr);

/* tw_heap_usable - returns the size of the block at @ptr, of any processor: what was asked for, or more; 0: it is none.
 * Reads a byte at the owner's node.  [application] */
size_t tw_heap_usable(struct tw_proc *me, const void *ptr);

/* tw_heap_ship - send the blocks of other processors that were freed here before the previous call to their owners.
 * Call it after each release; whatever the previous release deferred to others must be performed by now. Never waits
 * for another process. [sync]
 * tw_heap_take - reuse own blocks that others freed. Call it after each acquire, when stale copies are invalidated.
 * Costs one load when there is nothing. [sync]
 * tw_heap_ships, tw_heap_takes - return whether the next call would do anything; for protocols whose acquires cover one
 * object only.
 * None accesses the shared space. All do nothing before tw_heap_open. */
void tw_heap_ship(struct tw_proc *me);
void tw_heap_take(struct tw_proc *me);
bool tw_heap_ships(struct tw_proc *me);
bool tw_heap_takes(struct tw_proc *me);

#endif
