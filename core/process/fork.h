/* SPDX-License-Identifier: BSD-3-Clause */
/* fork.h - children that the program forks.
 *
 * A child is no processor. It has the program's own variables as they were at the fork, and may do what is allowed
 * between fork and exec, or compute with them and exit. The shared memory and the connections remain its parent's. The
 * nodes' memories are not mapped in the child: using them, or calling Tweed, ends the child with a message, and the job
 * continues. The job's exit handlers do nothing in it. vfork, posix_spawn, system and popen run none of this, because
 * their children only call exec. */
#ifndef TW_CORE_PROCESS_FORK_H
#define TW_CORE_PROCESS_FORK_H

#include <stdbool.h>
#include <stddef.h>

struct tw_proc;

/* tw_fork_open - prepare for forks from now on. Later calls do nothing. Ends the process on failure.
 * tw_fork_process - set the process's part of the job; NULL: it has left. */
void tw_fork_open(void);
void tw_fork_process(struct tw_proc *me);

/* tw_fork_copies - a shared mapping holds variables that are the process's own to the program. Children get a private
 * copy of the pages of [@base, @base + @bytes) as of the fork. In the shared space they get the pages that the
 * processor may read; they cannot access the others. A second call for the same @base changes @bytes. */
void tw_fork_copies(void *base, size_t bytes);

/* tw_fork_read_only - in the next child, a store to the whole pages of [@base, @base + @bytes) ends it with a message:
 * the program expects that its other processes see it.  Called before each fork; of more than 64 ranges, the first. */
void tw_fork_read_only(void *base, size_t bytes);

/* tw_fork_fetch - fetch the pages of ranges in the shared space that a child of this processor should have: those of
 * which the node has or had a copy, and of others in use as many as make 64 MiB together. fork() calls it; a thread
 * other than the processor's that forks has the processor call it first. */
void tw_fork_fetch(void);

/* tw_forked - returns whether this process is a child of the one that called tw_fork_open. Costs a system call. */
bool tw_forked(void);
/* tw_forked_open - part of tw_fork_open: this process is the parent. */
void tw_forked_open(void);

/* tw_fork_refuse - end the child with a message. */
void tw_fork_refuse(void) __attribute__((noreturn));

#endif
