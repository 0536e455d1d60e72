/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h - what a program's file says of itself. */
#ifndef TW_TOOLS_RUN_PROGRAM_H
#define TW_TOOLS_RUN_PROGRAM_H

#include "core/job/settings.h"

/* program_data - writable memory of the executable @path; 0 when it is none. */
size_t program_data(const char *path);

/* program_settings - take over the settings that suit the program @path, which its notes name (runtime/openmp/defaults.S; one of them is for programs
 * with 128 MiB of writable memory and more): those whose origin is the default.  One that does not go with what the others are is left out.  Returns 0; or -EINVAL, printed, when the note is
 * wrong.  A file without one, also one that is no executable, has nothing to say. */
int program_settings(const char *path, struct tw_config *config, enum tw_origin *origins);

/* program_warn - @path was run @times, and no processor has joined the job: if it is a program whose threads or processes were meant to share
 * something, say so, and by which command it is built for us. */
void program_warn(const char *path, unsigned times);

#endif
