/* SPDX-License-Identifier: BSD-3-Clause */
/* fd.h - Tweed's own descriptors, at numbers that the program never holds.
 *
 * The kernel gives a new descriptor the lowest free number, and none at or above the soft limit (RLIMIT_NOFILE).
 * Tweed's descriptors start at tw_fd_first(), which is at least that limit. Hence no number that the program opened, in
 * any process of the job, is one of Tweed's, and a loop that closes all numbers up to the limit reaches none of them.
 * The wrapped C library functions that take or free numbers leave them alone (core/process/descriptors.c). Tweed's
 * descriptors are closed at exec. */
#ifndef TW_CORE_BASE_FD_H
#define TW_CORE_BASE_FD_H

#include <stdbool.h>

#define TW_FD_HIGHEST 16384 /* highest first number: the kernel's table has 8 bytes for each number below it */
#define TW_FD_LEAST   32    /* numbers left to the program, at least */
#define TW_FD_MOST    4096  /* Tweed's numbers that can be distinguished from the program's */

/* tw_fd_plan - choose where Tweed's descriptors start in a process that needs @own of them. *@soft: on entry the
 * program's soft limit; on return the limit left to it, which is lower only when the hard limit is too near. Returns
 * the number, or -EMFILE. */
int tw_fd_plan(unsigned own, unsigned long *soft);

/* tw_fd_open - Tweed's descriptors start at @first in this process. Called once, by one thread. Before it, tw_fd_keep,
 * tw_fd_onto and tw_fd_close leave numbers as they are.
 * tw_fd_first - that number; 0: tw_fd_open was not called. */
void tw_fd_open(int first);
int tw_fd_first(void);

/* tw_fd_share - children that share this process's table of descriptors (clone(2), CLONE_FILES) will share the record
 * of which are Tweed's, too. */
void tw_fd_share(void);

/* tw_fd_keep - move the new descriptor @fd to one of Tweed's numbers, closed at exec, and free the old number. A number
 * that is Tweed's already stays. -1 is returned as it is, so an opening call's result can be passed directly. Returns
 * the number, or -1 with errno; then @fd is closed. Raises the soft limit temporarily. Any thread; async-signal-safe.
 * tw_fd_onto - dup3(@from, @to, O_CLOEXEC) where @to is one of Tweed's numbers.
 * tw_fd_close - close() for any descriptor, Tweed's or not. */
int tw_fd_keep(int fd);
int tw_fd_onto(int from, int to);
int tw_fd_close(int fd);

/* tw_fd_raise - set the soft limit to the hard limit until tw_fd_lower, so that several calls of the above cost two
 * system calls. Nests; any thread. New descriptors of other threads still get the lowest free numbers. */
void tw_fd_raise(void);
void tw_fd_lower(void);

/* tw_fd_ours - returns whether @fd is a descriptor that tw_fd_keep has recorded.
 * tw_fd_gone - record that @fd was closed. */
bool tw_fd_ours(int fd);
void tw_fd_gone(int fd);

/* tw_fd_away - not 0: this thread's system calls on the program's files are made on another host, with the numbers of
 * that host (runtime/process/hosts).  Set to 0 around calls of Tweed's own that take names or the program's numbers. */
extern _Thread_local volatile unsigned char tw_fd_away;

/* tw_fd_library - dlopen(@name, RTLD_NOW). Descriptors opened by it, or by libraries that it loads, are Tweed's.
 * Returns the handle or NULL.
 * tw_fd_library_loaded - the same for a library that is loaded already, whose file name contains @name.
 * tw_fd_by_library - returns whether the code address @caller lies in one of those libraries. */
void *tw_fd_library(const char *name);
void tw_fd_library_loaded(const char *name);
bool tw_fd_by_library(const void *caller);

#endif
