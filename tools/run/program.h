/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h - information in a program's file. */
#ifndef TW_TOOLS_RUN_PROGRAM_H
#define TW_TOOLS_RUN_PROGRAM_H

#include "core/job/settings.h"

/* program_data - the size of writable memory of the executable @path; 0 when it is none. */
size_t program_data(const char *path);

/* program_settings - apply the settings that the notes of the program @path name (runtime/openmp/defaults.S; one of the
 * notes is for programs with at least 128 MiB of writable memory), to settings whose origin is the default.  A setting
 * that is incompatible with the others is skipped.  Returns 0; or -EINVAL, printed, when a note is not valid, or
 * another version of Tweed has built the program (core/job/interface.py).  A file without notes, or that is no
 * executable, changes nothing. */
int program_settings(const char *path, struct tw_settings *settings, enum tw_origin *origins);

/* program_warn - @path was run @times, and no processor has joined the job.  If it was not built for Tweed, print that,
 * and the command that builds it.  Programs of the system, as `hostname`, are meant to run so, unless their threads or
 * processes were meant to share memory or data. */
void program_warn(const char *path, unsigned times);

#endif
