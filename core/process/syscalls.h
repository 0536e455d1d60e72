/* SPDX-License-Identifier: BSD-3-Clause */
/* syscalls.h - shared memory as an argument of system calls, where the kernel's accesses do not fault
 * (doc/internals/faults.md). */
#ifndef TW_CORE_PROCESS_SYSCALLS_H
#define TW_CORE_PROCESS_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>

/* tw_touch - fault in those pages of [ptr, ptr + len) that are shared memory: for writing, or for reading only.
 * Changes no value.  Nothing to do before tw_init.  The rights last until the next synchronization, save that
 * resolving the fault of a later page may take them from an earlier one. Context: application thread, no protocol
 * lock held. */
void tw_touch(const void *ptr, size_t len, bool write);

/* tw_touch_string - tw_touch for the string @s, for reading only; nothing, if it does not begin in shared memory. */
void tw_touch_string(const char *s);

/* tw_syscalls_init - link the C library's system calls to versions that touch their buffers first (in a build without
 * sanitizers, which do the same for purposes of their own).  Called by tw_init; idempotent. */
void tw_syscalls_init(void);

/* tw_syscalls_no_descriptor - what a wrapped call does that has found no descriptor @fd >= 0, before it returns EBADF: errno is to be that; or NULL. */
extern void (*tw_syscalls_no_descriptor)(int fd);
/* tw_signals_init, tw_exec_init - the same for what core/process/signals.c and core/process/exec.c wrap. */
void tw_signals_init(void);
void tw_exec_init(void);

#endif
