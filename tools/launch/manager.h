/* SPDX-License-Identifier: BSD-3-Clause */
/* manager.h - a job whose agents a resource manager has started: `mpirun -n 4 tweed agent PROGRAM ARGS...`. */
#ifndef TW_TOOLS_LAUNCH_MANAGER_H
#define TW_TOOLS_LAUNCH_MANAGER_H

/* manager_run - @argv: program and arguments, NULL-ended.  The first process is the launcher and the parent of node 0's
 * agent; the others are agents.  Returns the exit status. */
int manager_run(char **argv);

#endif
