/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h - a file that is made: finished and under its own name, or the old one; never half of one.  Devices and pipes
 * are written as they are. */
#ifndef TW_TOOLS_FILE_H
#define TW_TOOLS_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

enum file_way {
	FILE_DIRECT,  /* a device or a pipe */
	FILE_RENAMED, /* written beside the old one */
	FILE_COPIED, /* where nothing can be made beside it: kept in memory, and copied when there is room for all of it */
};

struct file {
	FILE *f;
	enum file_way way;
	int error; /* -errno of the first write that failed */
	char path[PATH_MAX], temporary[PATH_MAX + 32];
};

/* file_check - can @path be written?  0, or -errno with a sentence in @error: what @what cannot be written, and that
 * @option names another. */
int file_check(const char *path, const char *what, const char *option, char *error, size_t error_bytes);
/* file_open - begin.  A pipe that nobody opens to read from is waited for, 10 s: -ENXIO.  file_put - write; what fails is known to
 * file_close.  file_close - end it: under its name if nothing failed.  0 or -errno. */
int file_open(struct file *file, const char *path);
void file_put(struct file *file, const void *bytes, size_t count);
int file_close(struct file *file);

#endif
