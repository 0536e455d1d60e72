/* SPDX-License-Identifier: BSD-3-Clause */
/* resources.c - limits, priority and processor time of the program: those of all its processors on this host, which are
 * the children of one fork server (forkserver.c). */
#undef _FILE_OFFSET_BITS /* both names of setrlimit are defined here */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/fd.h"
#include "core/process/fork.h"
#include "core/process/time.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

#define RESOURCES_PROCESSORS 1024

static struct {
	pid_t pid[RESOURCES_PROCESSORS]; /* of the others on this host */
	unsigned count;
	bool known;
} resources;

static void *resources_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}
#define RESOURCES_NEXT(name)                                                                                           \
	static __typeof__(name) *next;                                                                                 \
	if (!next)                                                                                                     \
	*(void **)&next = resources_next(#name)

/* Read the file @path; returns an empty text if that fails.  By system calls: the program's streams and limits are not
 * concerned. */
static const char *resources_read(const char *path, char *text, size_t room)
{
	unsigned char away = tw_fd_away;

	tw_fd_away = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : syscall(SYS_read, fd, text, room - 1);
	if (fd >= 0)
		syscall(SYS_close, fd);
	tw_fd_away = away;
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Is the caller the program, which has other processors? */
static bool resources_shared(void)
{
	static char text[RESOURCES_PROCESSORS * 8];
	char path[64];

	if (!tw_me || tw_forked() || tw_count() == 1 || !th_heap_shares(NULL))
		return false;
	if (!resources.known) {
		unsigned char away = tw_fd_away;
		tw_fd_away = 0; /* of this host */
		pid_t self = (pid_t)syscall(SYS_getpid), server = (pid_t)syscall(SYS_getppid);
		tw_fd_away = away;
		tw_format(path, sizeof(path), "/proc/%d/task/%d/children", (int)server, (int)server);
		char *at = (char *)(uintptr_t)resources_read(path, text, sizeof(text)), *end;
		for (long pid; (pid = strtol(at, &end, 10)) > 0 && resources.count < RESOURCES_PROCESSORS; at = end)
			if (pid != self)
				resources.pid[resources.count++] = (pid_t)pid;
		resources.known = true;
	}
	return true;
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

#pragma GCC visibility push(default)

TH_WEAK int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *limit)
{
	struct rlimit64 here = *limit;
	int status = (int)syscall(SYS_prlimit64, 0, what, &here, NULL);

	for (unsigned i = 0; status == 0 && resources_shared() && i < resources.count; i++)
		syscall(SYS_prlimit64, resources.pid[i], what, &here, NULL);
	return status;
}

TH_WEAK int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
	return setrlimit64(what, &(struct rlimit64){limit->rlim_cur, limit->rlim_max});
}

#pragma GCC visibility pop

/* ---- priority ---------------------------------------------------------------------------------------------------- */

/* Threads have priorities of their own, and new ones get their maker's, which may be a thread of Tweed's. */
static void resources_nice_process(pid_t pid, int priority)
{
	char path[64];
	struct dirent *entry;

	unsigned char away = tw_fd_away;

	tw_fd_away = 0;
	tw_format(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name) > 0)
			syscall(SYS_setpriority, PRIO_PROCESS, atoi(entry->d_name), priority);
	if (folder)
		closedir(folder);
	tw_fd_away = away;
}

static void resources_nice(void)
{
	int error = errno, priority = 20 - (int)syscall(SYS_getpriority, PRIO_PROCESS, 0);

	if (!resources_shared())
		return;
	resources_nice_process((pid_t)syscall(SYS_getpid), priority);
	for (unsigned i = 0; i < resources.count; i++)
		resources_nice_process(resources.pid[i], priority);
	errno = error;
}

#pragma GCC visibility push(default)

TH_WEAK int nice(int by)
{
	RESOURCES_NEXT(nice);
	int result = next(by);

	if (by)
		resources_nice();
	return result;
}

TH_WEAK int setpriority(__priority_which_t which, id_t who, int priority)
{
	int status = (int)syscall(SYS_setpriority, which, who, priority);

	if (status == 0 && which == PRIO_PROCESS && !who)
		resources_nice();
	return status;
}

#pragma GCC visibility pop

/* ---- time -------------------------------------------------------------------------------------------------------- */

#define RESOURCES_CLOCK(pid) ((clockid_t)((~(unsigned)(pid) << 3) | 2)) /* as clock_getcpuclockid() */

static void resources_add(struct timespec *sum, const struct timespec *t)
{
	sum->tv_nsec += t->tv_nsec;
	sum->tv_sec += t->tv_sec + sum->tv_nsec / 1000000000;
	sum->tv_nsec %= 1000000000;
}

/* Clock ticks of the other processors: user, system. */
static void resources_ticks(clock_t ticks[2])
{
	char path[64], text[512];

	ticks[0] = ticks[1] = 0;
	for (unsigned i = 0; resources_shared() && i < resources.count; i++) {
		unsigned long user = 0, system = 0;
		tw_format(path, sizeof(path), "/proc/%d/stat", (int)resources.pid[i]);
		const char *at = strrchr(resources_read(path, text, sizeof(text)), ')');
		if (at && sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2) {
			ticks[0] += (clock_t)user;
			ticks[1] += (clock_t)system;
		}
	}
}

static void resources_add_ticks(struct timeval *sum, clock_t ticks)
{
	long us = sum->tv_usec + ticks * (1000000 / sysconf(_SC_CLK_TCK));

	sum->tv_sec += us / 1000000;
	sum->tv_usec = us % 1000000;
}

#pragma GCC visibility push(default)

TH_WEAK int clock_gettime(clockid_t clock, struct timespec *t)
{
	static __typeof__(clock_gettime) *next;
	struct timespec here, other; /* the kernel's accesses to *t do not fault */

	if (tw_time_virtual(clock, t))
		return 0;
	if (!next)
		*(void **)&next = resources_next("clock_gettime");
	if (next(clock, &here))
		return -1;
	if (clock == CLOCK_PROCESS_CPUTIME_ID && resources_shared())
		for (unsigned i = 0; i < resources.count; i++)
			if (next(RESOURCES_CLOCK(resources.pid[i]), &other) == 0)
				resources_add(&here, &other);
	*t = here;
	return 0;
}

TH_WEAK clock_t clock(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t)
	           ? -1
	           : t.tv_sec * CLOCKS_PER_SEC + t.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

TH_WEAK clock_t times(struct tms *t)
{
	struct tms here = {0};
	clock_t other[2];
	RESOURCES_NEXT(times);
	clock_t now = next(&here);

	resources_ticks(other);
	here.tms_utime += other[0];
	here.tms_stime += other[1];
	if (t)
		*t = here;
	return now;
}

TH_WEAK int getrusage(__rusage_who_t who, struct rusage *usage)
{
	struct rusage here;
	clock_t other[2];
	int status = (int)syscall(SYS_getrusage, who, &here);

	if (status == 0 && who == RUSAGE_SELF) {
		resources_ticks(other);
		resources_add_ticks(&here.ru_utime, other[0]);
		resources_add_ticks(&here.ru_stime, other[1]);
	}
	if (status == 0)
		*usage = here;
	return status;
}

#pragma GCC visibility pop
