/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/tools.h"

/* The parent of @pid from /proc/PID/stat; the command name in it may contain anything, so search its last ')'. */
static pid_t parent_of(const char *pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	int parent = -1;
	char *end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		return -1;
	return parent;
}

static void kill_children(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t me = getpid();

	if (!proc)
		return;
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == me)
			kill((pid_t)atoi(entry->d_name), SIGKILL);
	closedir(proc);
}

void tool_kill_descendants(void)
{
	for (;;) {
		pid_t reaped;
		do
			reaped = waitpid(-1, NULL, WNOHANG);
		while (reaped > 0);
		if (reaped < 0 && errno == ECHILD)
			return;
		kill_children();
		/* Sleep in the kernel until one of them is gone; its children, if any, are ours then. */
		waitpid(-1, NULL, 0);
	}
}
