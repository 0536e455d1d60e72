/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h - a file that is made: finished and under its own name, or the old one; never half of one.  Devices and pipes
 * are written as they are. */
#ifndef TW_TOOLS_FILE_H
#define TW_TOOLS_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct file {
	FILE *f;
	bool renaming;
	char path[PATH_MAX], temporary[PATH_MAX + 32];
};

/* file_check - can @path be written?  0, or -errno with a sentence in @error: what @what cannot be written, and that
 * @option names another. */
int file_check(const char *path, const char *what, const char *option, char *error, size_t error_bytes);
/* file_open - begin; write to @file->f.  file_close - end it: under its name if all was @good.  0 or -errno. */
int file_open(struct file *file, const char *path);
int file_close(struct file *file, bool good);

#endif
