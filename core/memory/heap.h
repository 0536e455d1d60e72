/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.h - the shared heap behind tw_malloc, to the rest of the core.  Theory and layout: heap.c. */
#ifndef TW_CORE_MEMORY_HEAP_H
#define TW_CORE_MEMORY_HEAP_H

#include <stddef.h>

#include "core/job/settings.h"

struct tw_proc;

/* tw_heap_calloc - tw_calloc on behalf of the function at @caller. */
void *tw_heap_calloc(size_t n, size_t bytes, const void *caller);

/* tw_heap_exported_bytes - wanted at layout.heap of each node's exported memory; zero at the job's start. */
size_t tw_heap_exported_bytes(const struct tw_config *config);

/* tw_heap_open - make the heap usable by this processor (not the agent); @me has its layout, configuration and
 * endpoint. One per process at a time.  Not in fault context.  Returns 0 or -errno, logged. tw_heap_close - forget
 * it; its blocks must not be used afterwards. */
int tw_heap_open(struct tw_proc *me);
void tw_heap_close(struct tw_proc *me);

/* tw_heap_holder - the processor whose heap the memory around @ptr is of; -1: nobody's. */
int tw_heap_holder(const struct tw_proc *me, const void *ptr);

/* tw_heap_ship - send the blocks of other processors that were freed here before the previous call to their owners.
 * Call after each release; what the release before it left to others must be performed by now.  Never waits for
 * another process.  [sync] tw_heap_take - use own blocks again that others freed.  Call after each acquire, when
 * stale copies are invalidated.  One load when there is nothing.  [sync] tw_heap_ships, tw_heap_takes - whether the
 * next call would do so; for protocols whose acquires know of one object only. None touches the shared space.  All do
 * nothing before tw_heap_open. */
void tw_heap_ship(struct tw_proc *me);
void tw_heap_take(struct tw_proc *me);
bool tw_heap_ships(struct tw_proc *me);
bool tw_heap_takes(struct tw_proc *me);

#endif
