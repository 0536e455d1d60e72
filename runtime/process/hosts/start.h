/* SPDX-License-Identifier: BSD-3-Clause */
/* start.h - processes of the first host, for threads on others; for the files of this folder. */
#ifndef TW_RUNTIME_PROCESS_START_H
#define TW_RUNTIME_PROCESS_START_H

#include "runtime/process/hosts/line.h"

/* th_hosts_new - have a process made that makes the calls of @line from now on.  Returns its number, or -errno.
 * th_hosts_execute - in a child of fork() whose calls are made there: let that process start a program, and end.
 * Returns -errno. */
long th_hosts_new(struct away_line *line);
long th_hosts_execute(const char *path, char *const argv[], char *const envp[]);

#endif
