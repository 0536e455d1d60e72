/* SPDX-License-Identifier: BSD-3-Clause */
/* globals.h - the program's global variables where the linker has placed them for `tweed cc`
 * (runtime/stores/globals.ld).
 *
 * Placed variables have addresses below 2 GiB that the linker knows, and pages of their own. Shared variables are the
 * start of the shared space, which then begins at their address. They are private memory until tw_init has made them
 * shared, and again after tw_finalize. Their initial values are processor 0's; at the end each processor keeps the last
 * values. */
#ifndef TW_CORE_MEMORY_GLOBALS_H
#define TW_CORE_MEMORY_GLOBALS_H

#include <stddef.h>
#include <stdint.h>

#include "core/memory/regions.h"

struct tw_proc;

/* Set by the linker. _start and _end are multiples of 4096. Nothing lies from _set to _zero, which is not below it. All
 * are NULL in programs without placed variables; _shared is also NULL where variables are private. */
extern char tw_globals_start[] __attribute__((weak)), tw_globals_end[] __attribute__((weak));
extern char tw_globals_set[] __attribute__((weak)), tw_globals_zero[] __attribute__((weak));
extern char tw_globals_shared[] __attribute__((weak));

/* tw_space_base - returns the first address of the shared space, the same in every processor of a job. */
static inline uintptr_t tw_space_base(void)
{
	return tw_globals_shared ? (uintptr_t)tw_globals_start : TW_SPACE_BASE;
}

/* tw_globals_bytes - returns the bytes that shared variables occupy at the start of the shared space: a multiple of
 * TW_HUGE_BYTES; 0 when there are none. */
static inline size_t tw_globals_bytes(void)
{
	return tw_globals_shared ? TW_ALIGN_UP((size_t)(tw_globals_end - tw_globals_start), TW_HUGE_BYTES) : 0;
}

/* tw_globals_leave - before the shared space is mapped over shared variables: processor 0 copies their values; all
 * unmap them. Returns 0 or -errno, logged.
 * tw_globals_enter - processor 0 stores the copy in the shared space. A release must follow. */
int tw_globals_leave(struct tw_proc *me);
void tw_globals_enter(void);

/* tw_globals_forget - shared variables are not needed after tw_finalize: the next two do nothing.
 * tw_globals_keep - copy shared variables to private memory, after an acquire.
 * tw_globals_return - map the copy in their place, after the shared space was unmapped. */
void tw_globals_forget(void);
void tw_globals_keep(void);
void tw_globals_return(void);

#endif
