/* SPDX-License-Identifier: BSD-3-Clause */
/* fd.h - Tweed's own descriptors in a process of the program: at numbers that the program never holds.
 *
 * The kernel gives each new descriptor the lowest free number, and none from the soft limit (RLIMIT_NOFILE) on.  Tweed's lie from
 * tw_fd_first() on, which is that limit or more.  So no number that the program opened, here or in another process of the job, is one of
 * Tweed's, nor does a loop that closes all numbers up to the limit come to one.  The C library's functions that take or free numbers
 * leave them alone (core/process/descriptors.c).  They are closed at exec. */
#ifndef TW_CORE_BASE_FD_H
#define TW_CORE_BASE_FD_H

#include <stdbool.h>

#define TW_FD_HIGHEST                                                                                                  \
	16384 /* where Tweed's begin, at most: the kernel's table of a process has 8 bytes for each number below */
#define TW_FD_LEAST 32   /* for the program, at least */
#define TW_FD_MOST  4096 /* of Tweed's that are told from the program's */

/* tw_fd_plan - where the descriptors of Tweed begin in a process that needs @own of them.  *@soft: in, the soft limit that the program
 * was given; out, what is left for it, which is the same unless the hard limit is too near.  Returns the number, or -EMFILE. */
int tw_fd_plan(unsigned own, unsigned long *soft);

/* tw_fd_open - in this process they begin at @first.  Before: the three below leave numbers as they are.  Once, by one thread.
 * tw_fd_first - that number; 0: not open. */
void tw_fd_open(int first);
int tw_fd_first(void);

/* tw_fd_keep - give the new descriptor @fd of ours a number among Tweed's, closed at exec; the old number is free again.  One that is there
 * already stays.  -1 is left as it is, so that it may take an opening call's result.  Returns the number; or -1 with errno, and @fd
 * is closed.  Raises the soft limit for the moment.  Any thread; async-signal-safe.
 * tw_fd_onto - as dup3(@from, @to, O_CLOEXEC), where @to is one of them.
 * tw_fd_close - as close, of one of them or any other. */
int tw_fd_keep(int fd);
int tw_fd_onto(int from, int to);
int tw_fd_close(int fd);

/* tw_fd_raise - let the soft limit be the hard one until tw_fd_lower, so that several of the above cost two system calls.  Nests, in any thread;
 * another thread's new descriptors have the lowest free numbers meanwhile as ever. */
void tw_fd_raise(void);
void tw_fd_lower(void);

/* tw_fd_ours - is @fd one that was kept?
 * tw_fd_gone - it was closed. */
bool tw_fd_ours(int fd);
void tw_fd_gone(int fd);

/* tw_fd_library - load a library, as dlopen(@name, RTLD_NOW) does.  What it, or what came with it, opens is Tweed's.  Returns its handle or NULL.
 * tw_fd_by_library - is @caller, an address of code, in one of those? */
void *tw_fd_library(const char *name);
bool tw_fd_by_library(const void *caller);

#endif
