/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_check(const char *path, const char *what, const char *option, char *error, size_t error_bytes)
{
	struct stat st;
	bool existed = stat(path, &st) == 0;
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, 0666);

	if (fd < 0) {
		int status = -errno;
		snprintf(error, error_bytes, "cannot write %s to '%s': %s; name another file with %s", what, path,
		         strerror(errno), option);
		return status;
	}
	close(fd);
	if (!existed)
		unlink(path);
	return 0;
}

int file_open(struct file *file, const char *path)
{
	struct stat st;
	bool regular = stat(path, &st) < 0 || S_ISREG(st.st_mode);

	if (!realpath(path, file->path))
		snprintf(file->path, sizeof(file->path), "%s", path);
	snprintf(file->temporary, sizeof(file->temporary), "%s.%d.tmp", file->path, (int)getpid());
	file->f = regular ? fopen(file->temporary, "wxe") : NULL;
	file->renaming = file->f;
	if (!file->f)
		file->f = fopen(file->path, "we");
	return file->f ? 0 : -errno;
}

int file_close(struct file *file, bool good)
{
	int status = fclose(file->f) == 0 && good ? 0 : errno ? -errno : -EIO;

	if (file->renaming && status == 0 && rename(file->temporary, file->path) < 0)
		status = -errno;
	if (file->renaming && status < 0)
		unlink(file->temporary);
	return status;
}
