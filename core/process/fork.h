/* SPDX-License-Identifier: BSD-3-Clause */
/* fork.h - children that the program forks.
 *
 * A child is no processor.  It has the program's own variables as they were at the fork, and may do what a child does between fork and
 * exec, or compute with them and exit; the shared memory and the connections remain its parent's.  The memories of the nodes are not
 * mapped in it: whatever uses them, or calls Tweed, ends the child with a sentence, and the job goes on.  Exit handlers of the job do
 * nothing in it.  vfork, posix_spawn, system and popen run nothing of this: their children only exec. */
#ifndef TW_CORE_PROCESS_FORK_H
#define TW_CORE_PROCESS_FORK_H

#include <stdbool.h>
#include <stddef.h>

struct tw_proc;

/* tw_fork_open - from now on, forking is prepared for; again: nothing.  Ends the process when it cannot be.
 * tw_fork_process - the process's part of the job; NULL: it has left. */
void tw_fork_open(void);
void tw_fork_process(struct tw_proc *me);

/* tw_fork_copies - a shared mapping holds variables that the program takes for the process's own: children get a private copy of [@base,
 * @base + @bytes), whole pages, as it is at the fork.  Of the shared space it gets the pages that the processor may read; the others are
 * forbidden to it.  Again for the same @base: other @bytes. */
void tw_fork_copies(void *base, size_t bytes);

/* tw_fork_fetch - fetch what a child of this processor should find of ranges in the shared space: what the node has, or has had, a copy of,
 * 64 MiB at most.  Forking does so; but where it is done by another thread than the processor's, that one begins with this. */
void tw_fork_fetch(void);

/* tw_forked - is this process a child of the one that called tw_fork_open?  Costs a system call. */
bool tw_forked(void);

/* tw_fork_refuse - end the child with the sentence. */
void tw_fork_refuse(void) __attribute__((noreturn));

#endif
