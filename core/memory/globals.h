/* SPDX-License-Identifier: BSD-3-Clause */
/* globals.h - the program's global variables, where the linker has placed them for `tweed cc` (runtime/stores/globals.ld).
 *
 * Placed variables have addresses that the linker knows, below 2 GiB, and pages to themselves.  Shared ones are the
 * beginning of the shared space, which then begins there.  Until tw_init has made it so, and again after tw_finalize, they
 * are private memory.  Their values at the beginning are those of processor 0; at the end each processor keeps the last
 * ones. */
#ifndef TW_CORE_MEMORY_GLOBALS_H
#define TW_CORE_MEMORY_GLOBALS_H

#include <stddef.h>
#include <stdint.h>

#include "core/memory/regions.h"

struct tw_proc;

/* From the link.  The addresses of the first two are multiples of 4096; from _set to _zero, which is no less, there is nothing.  All are
 * NULL in programs without them, the last where variables are private. */
extern char tw_globals_start[] __attribute__((weak)), tw_globals_end[] __attribute__((weak));
extern char tw_globals_set[] __attribute__((weak)), tw_globals_zero[] __attribute__((weak));
extern char tw_globals_shared[] __attribute__((weak));

/* tw_space_base - first address of the shared space: the same in every processor of a job. */
static inline uintptr_t tw_space_base(void)
{
	return tw_globals_shared ? (uintptr_t)tw_globals_start : TW_SPACE_BASE;
}

/* tw_globals_bytes - how much of the shared space's beginning shared variables take: a multiple of TW_HUGE_BYTES; 0 when
 * there are none. */
static inline size_t tw_globals_bytes(void)
{
	return tw_globals_shared ? TW_ALIGN_UP((size_t)(tw_globals_end - tw_globals_start), TW_HUGE_BYTES) : 0;
}

/* tw_globals_leave - before the shared space is mapped over shared variables: keep what they hold, if @me is processor 0, and
 * unmap them.  0 or -errno, logged.
 * tw_globals_enter - store it again; by processor 0, in the shared space.  To be followed by a release. */
int tw_globals_leave(struct tw_proc *me);
void tw_globals_enter(void);

/* tw_globals_forget - after tw_finalize nobody will look at them: then the following two do nothing.
 * tw_globals_keep - copy shared variables to private memory, after an acquire.
 * tw_globals_return - map the copy in their place, after the shared space was unmapped. */
void tw_globals_forget(void);
void tw_globals_keep(void);
void tw_globals_return(void);

#endif
