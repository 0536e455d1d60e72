/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h - output files: either complete and under their name, or the old one remains.  Devices and pipes are written
 * directly. */
#ifndef TW_TOOLS_FILE_H
#define TW_TOOLS_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

enum file_way {
	FILE_DIRECT,  /* a device or a pipe */
	FILE_RENAMED, /* written beside the old one, then renamed */
	FILE_COPIED,  /* kept in memory, then copied, if there is room */
};

struct file {
	FILE *f;
	enum file_way way;
	int error; /* -errno of the first write that failed */
	char path[PATH_MAX], temporary[PATH_MAX + 32];
};

/* file_check - can @path be written?  0, or -errno with a sentence in @error: that @what cannot be written, and that
 * @option names another file. */
int file_check(const char *path, const char *what, const char *option, char *error, size_t error_bytes);
/* file_open - begin.  Waits 10 s for a reader of a pipe: then -ENXIO.  file_put - write; file_close reports failures.
 * file_close - finish, under the file's name if nothing failed.  0 or -errno. */
int file_open(struct file *file, const char *path);
void file_put(struct file *file, const void *bytes, size_t count);
int file_close(struct file *file);

#endif
