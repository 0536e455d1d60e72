/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_READER_MS 10000 /* time for a pipe's reader to appear */

int file_check(const char *path, const char *what, const char *option, char *error, size_t error_bytes)
{
	struct stat st;
	bool existed = stat(path, &st) == 0;
	/* A pipe is opened only once, because its reader sees its end when it is closed. */
	bool pipe = existed && S_ISFIFO(st.st_mode);
	int fd = pipe ? access(path, W_OK)
	              : open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, 0666);

	if (fd < 0) {
		int status = -errno;
		snprintf(error, error_bytes, "cannot write %s to '%s': %s; name another file with %s", what, path,
		         strerror(errno), option);
		return status;
	}
	if (!pipe)
		close(fd);
	if (!existed)
		unlink(path);
	return 0;
}

/* A pipe, or a device. */
static FILE *file_direct(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	for (unsigned ms = 0; fd < 0 && errno == ENXIO && ms < FILE_READER_MS; ms += 10) {
		usleep(10000);
		fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0)
		return NULL;
	fcntl(fd, F_SETFL, 0);
	return fdopen(fd, "w");
}

int file_open(struct file *file, const char *path)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;

	file->error = 0;
	if (!realpath(path, file->path))
		snprintf(file->path, sizeof(file->path), "%s", path);
	snprintf(file->temporary, sizeof(file->temporary), "%s.%d.tmp", file->path, (int)getpid());
	file->way = exists && !S_ISREG(st.st_mode) ? FILE_DIRECT : FILE_RENAMED;
	file->f = file->way == FILE_DIRECT ? file_direct(path) : fopen(file->temporary, "wxe");
	if (!file->f && file->way == FILE_RENAMED && (errno == EACCES || errno == EPERM || errno == EROFS) && exists) {
		int fd = memfd_create("tweed-file", MFD_CLOEXEC);
		file->way = FILE_COPIED;
		file->f = fd < 0 ? NULL : fdopen(fd, "w+");
	}
	return file->f ? 0 : -errno;
}

void file_put(struct file *file, const void *bytes, size_t count)
{
	if (!file->error && fwrite(bytes, 1, count, file->f) != count)
		file->error = errno ? -errno : -EIO;
}

/* Copy over the old file; there must be room for all of it before any byte is overwritten. */
static int file_copy(const struct file *file)
{
	char piece[16384];
	off_t bytes = fflush(file->f) == 0 ? ftello(file->f) : -1;
	int fd = bytes < 0 ? -1 : open(file->path, O_WRONLY | O_CLOEXEC), status = 0;
	size_t n;

	if (fd < 0)
		return -errno;
	if (bytes && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) < 0 && errno != EOPNOTSUPP)
		status = -errno;
	rewind(file->f);
	while (status == 0 && (n = fread(piece, 1, sizeof(piece), file->f)) > 0)
		if (write(fd, piece, n) != (ssize_t)n)
			status = errno ? -errno : -EIO;
	if (status == 0 && ftruncate(fd, bytes) < 0)
		status = -errno;
	if (close(fd) < 0 && status == 0)
		status = -errno;
	return status;
}

int file_close(struct file *file)
{
	int status = file->error;

	if (file->way == FILE_COPIED && status == 0)
		status = file_copy(file);
	if (fclose(file->f) < 0 && status == 0)
		status = -errno;
	if (file->way == FILE_RENAMED && status == 0 && rename(file->temporary, file->path) < 0)
		status = -errno;
	if (file->way == FILE_RENAMED && status < 0)
		unlink(file->temporary);
	return status;
}
