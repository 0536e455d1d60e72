/* SPDX-License-Identifier: BSD-3-Clause */
/* child.c - detects that this process is a child which the program has forked. */
#include "core/process/fork.h"

#include <unistd.h>

#include "core/base/base.h"

/* The process in the job; 0: before tw_fork_open. Written once, because a child may share this page with its parent. */
static pid_t child_parent;

void tw_forked_open(void)
{
	child_parent = getpid();
}

bool tw_forked(void)
{
	return child_parent && child_parent != getpid();
}

void tw_fork_refuse(void)
{
	tw_fatal(
	    "a child of fork() used shared memory or called a function of Tweed, which only its parent may do: let it "
	    "call exec, or work on what is its own");
}
