/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h - shared by the commands that start a job. */
#ifndef TW_TOOLS_RUN_RUN_H
#define TW_TOOLS_RUN_RUN_H

#include "tools/tools.h"

/* run_find - the setting of the option @name, of @len bytes, or NULL. */
const struct tw_setting *run_find(const char *name, size_t len);

/* run_set - apply @value as an option would.  Returns 0 or -EINVAL, printed. */
int run_set(struct tool_job *job, const struct tw_setting *s, const char *value);

/* run_variable - add NAME[=VALUE] to the processors' environment; a name alone takes this process's value.  Returns 0
 * or -EINVAL, printed. */
int run_variable(struct tool_job *job, const char *text);

/* run_find_program - the file of @program, as the shell would find it; NULL, printed, when there is none.  The caller
 * frees it. */
char *run_find_program(const char *program);

/* under_find - the command of the option @option ("gdb"), or NULL.
 * under_apply - have the processors of @job, whose program is found, run under its command, with the settings that this
 * needs.  Returns 0, or -errno, printed. */
const struct tool_under *under_find(const char *option);
int under_apply(struct tool_job *job);

/* run_options - handle the options from argv[1] on.  @own, which may be NULL, is asked first: it returns how many
 * arguments it took, 0 for an option that is not its own, or -EINVAL, printed.  Returns the index of the program, or
 * -EINVAL, printed; 0: help was requested. */
int run_options(struct tool_job *job, int argc, char **argv, void (*usage)(void),
                int (*own)(struct tool_job *job, char **argv));

#endif
