/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - descriptors of another processor: each processor has its own, but the program treats them as one process's.
 *
 * When a call finds no open descriptor, this checks whether another processor of the job, on this host, has that number
 * open.  If so, the program would lose what it reads or writes: the job ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/process/syscalls.h"
#include "runtime/threads/support.h"

/* The parent of @pid; 0: it is gone. */
static pid_t files_parent(pid_t pid)
{
	char path[64], text[512];
	int parent = 0;

	tw_format(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *name_end = strrchr(text, ')');
	return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

/* Describe @fd of @pid in @what; false: it is closed, or access is denied. */
static bool files_is(pid_t pid, int fd, char *what, size_t bytes)
{
	char path[64];

	tw_format(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	ssize_t n = readlink(path, what, bytes - 1);
	what[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Processors are children of agents; agents are children of the launcher, or of a process that a remote shell
 * started. */
static void files_foreign(int fd)
{
	pid_t agent = getppid(), launcher = files_parent(agent);
	char what[160], text[256];
	const struct dirent *entry;
	DIR *proc = launcher > 1 ? opendir("/proc") : NULL;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name), parent = pid > 0 && pid != getpid() ? files_parent(pid) : 0;
		if (parent <= 1 || (parent != agent && files_parent(parent) != launcher) ||
		    !files_is(pid, fd, what, sizeof(what)))
			continue;
		tw_format(text, sizeof(text),
		          "descriptor %d was opened by another processor (pid %d: %s), and open files are each "
		          "processor's own: "
		          "open it in the thread that uses it",
		          fd, (int)pid, what);
		th_refuse("%s", text);
	}
	if (proc)
		closedir(proc);
	errno = EBADF;
}

void th_files_open(void)
{
	tw_syscalls_no_descriptor = files_foreign;
}
