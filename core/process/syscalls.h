/* SPDX-License-Identifier: BSD-3-Clause */
/* syscalls.h - shared memory as an argument of system calls, where the kernel's accesses do not fault
 * (doc/internals/faults.md). */
#ifndef TW_CORE_PROCESS_SYSCALLS_H
#define TW_CORE_PROCESS_SYSCALLS_H

#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

/* tw_touch - fault in the pages of [ptr, ptr + len) that are shared memory, for writing or for reading only. Changes no
 * value. Does nothing before tw_init. The rights last until the next synchronization, except that resolving a later
 * page's fault may take them from an earlier page. Context: application thread, no protocol lock held. */
void tw_touch(const void *ptr, size_t len, bool write);

/* tw_touched - find the part of [ptr, ptr + len) that tw_touch would fault in. Returns false when there is none. */
bool tw_touched(const void *ptr, size_t len, char **start, char **end);

/* tw_touch_string - tw_touch for the string @s, for reading. Does nothing when @s does not begin in shared memory. */
void tw_touch_string(const char *s);

/* tw_syscalls_init - find the C library's functions behind the wrappers, which touch buffers first. Builds with
 * sanitizers have no wrappers, because sanitizers wrap the same functions. Called by tw_init; idempotent. */
void tw_syscalls_init(void);

/* tw_syscalls_whole - from now on, calls inside the C library that fill a buffer, as stdio's, are wrapped, too: their
 * code is replaced by a jump to the wrappers. Called while the process has one thread. Returns false if the system
 * permits no change of code, or with sanitizers: then a buffer in shared memory may make a call fail with EFAULT. */
bool tw_syscalls_whole(void);

/* tw_redirect - let the C library's function @name begin with a jump to @to, so that calls from inside the C library
 * come here, too. Called while the process has one thread. Returns false if the system permits no change of code. */
bool tw_redirect(const char *name, void (*to)(void));

/* tw_fopen - fopen() on behalf of code at @caller. tw_popen - popen(). Without sanitizers. */
FILE *tw_fopen(const char *path, const char *mode, const void *caller);
FILE *tw_popen(const char *command, const char *mode);

/* For a run-time with several threads on a processor.
 * tw_syscalls_block - called before a call of @caller that may wait until @fd has one of poll()'s @events; returns
 * whether other threads may run in the midst of the call, or -1: it fails with errno. @fd: -1: unknown. NULL: no.
 * tw_syscalls_look - called in such a call, behind the store to tw_syscalls_blocked; need not return. NULL: nothing.
 * tw_syscalls_again - was it interrupted by a signal that is not the program's?  May be NULL.
 * tw_syscalls_wait - called before a call of @caller that waits for one of the @n descriptors @fds as poll() does, *@ms
 * milliseconds; it lets other threads run meanwhile, and sets *@ms to what is left to wait.  False: a signal has ended
 * the wait (EINTR).
 * tw_syscalls_blocked - this thread is in such a call. */
extern int (*tw_syscalls_block)(int fd, short events, const void *caller);
extern void (*tw_syscalls_look)(void);
extern bool (*tw_syscalls_again)(void);
extern bool (*tw_syscalls_wait)(const struct pollfd *fds, nfds_t n, int *ms, const void *caller);
extern _Thread_local volatile bool tw_syscalls_blocked;

/* tw_exec_spawned - called after posix_spawn has made the process @pid; may be NULL. */
extern void (*tw_exec_spawned)(pid_t pid);

/* In place of posix_spawn (@search: posix_spawnp) and system for threads of the program, where tw_fd_away is not 0; may
 * be NULL. */
extern int (*tw_exec_spawn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attr, char *const argv[], char *const envp[], bool search);
extern int (*tw_exec_system)(const char *command);

/* tw_syscalls_mapped - called before @fd is read into the @count buffers of @v (@written: -1), and after @written bytes
 * of them were written; @at: where; -1: at the offset of @fd, which writing has moved behind them; @caller: the code
 * that reads or writes. A buffer is NULL where the kernel moves the data. Files may be mapped in shared memory. May be
 * NULL. */
extern void (*tw_syscalls_mapped)(int fd, off_t at, const struct iovec *v, int count, ssize_t written,
                                  const void *caller);
/* tw_signals_init, tw_exec_init - the same for the wrappers in core/process/signals.c and core/process/exec.c. */
void tw_signals_init(void);
void tw_exec_init(void);

#endif
