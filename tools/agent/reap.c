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

#include "core/base/base.h"
#include "tools/tools.h"

/* The parent of @pid, and its state's letter, from /proc/PID/stat.  The command name in it may contain any character,
 * so the search is for the last ')'. */
static pid_t parent_of(const char *pid, char *state)
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
	if (!end || sscanf(end + 1, " %c %d", state, &parent) != 2)
		return -1;
	return parent;
}

/* Was @pid started by an agent, directly or indirectly?  Processors have TWEED_BOOT in their environment, which
 * children inherit. */
static bool from_agent(const char *pid)
{
	char path[64], text[4096 + 16];
	size_t kept = 0;
	ssize_t n;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (!found && (n = read(fd, text + kept, sizeof(text) - kept)) > 0) {
		size_t have = kept + (size_t)n;
		found = memmem(text, have, "TWEED_BOOT=", 11) != NULL;
		kept = TW_MIN(have, (size_t)10); /* the name may span two reads */
		memmove(text, text + have - kept, kept);
	}
	close(fd);
	return found;
}

/* Returns how many were sent the signal. */
static unsigned kill_children(bool agents_only)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t me = getpid();
	unsigned killed = 0;
	char state;

	if (!proc)
		return 0;
	while ((entry = readdir(proc))) {
		const char *pid = entry->d_name;
		if (!isdigit((unsigned char)*pid) || parent_of(pid, &state) != me || (agents_only && !from_agent(pid)))
			continue;
		kill((pid_t)atoi(pid), SIGKILL);
		killed++;
	}
	closedir(proc);
	return killed;
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
		kill_children(false);
		/* Sleep until one of them is gone; its children, if any, are then this process's. */
		waitpid(-1, NULL, 0);
	}
}

void tool_kill_orphans(void)
{
	/* The dead remain zombies without an environment until this process exits; so any that are found are alive. */
	while (kill_children(true))
		usleep(1000);
}

bool tool_stopped(pid_t pid)
{
	char text[16], state = 0;

	snprintf(text, sizeof(text), "%d", pid);
	return parent_of(text, &state) >= 0 && (state == 'T' || state == 't');
}

void tool_signal_below(pid_t above, int number)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char state;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		if (pid <= 0 || parent_of(entry->d_name, &state) != above)
			continue;
		kill(pid, number);
		tool_signal_below(pid, number);
	}
	if (proc)
		closedir(proc);
}
