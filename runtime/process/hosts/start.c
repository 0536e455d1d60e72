/* SPDX-License-Identifier: BSD-3-Clause */
/* start.c - programs that threads on other hosts start: processes of the first host, which have the program's files.
 *
 * There a process is forked, which makes the calls that are sent to it: what posix_spawn() is asked to do before the
 * program starts, and the start.  A call that fails has its reply; when the program starts, the connection closes. */
#include "runtime/process/hosts/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/fd.h"
#include "core/process/syscalls.h"
#include "runtime/threads/support.h"

#define START_PATHS "/bin:/usr/bin" /* without PATH */
#define START_NAME  4096

/* The C library's layout of what posix_spawn_file_actions_add...() has added. */
struct start_action {
	enum { START_CLOSE, START_DUP2, START_OPEN, START_CHDIR, START_FCHDIR, START_CLOSEFROM, START_TCSETPGRP } tag;
	union {
		int fd;
		struct {
			int from, to;
		} dup2;
		struct {
			int fd;
			char *path;
			int flags;
			mode_t mode;
		} open;
		char *folder;
	};
};
struct start_actions {
	int room, used;
	const struct start_action *action;
};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static long start_call(struct away_line *line, long number, uint64_t a, uint64_t b, uint64_t c)
{
	struct away_call call = {.request = {.number = (uint32_t)number, .arg = {a, b, c}}};
	long result;

	return away_try(line, &call, &result) ? result : -EIO;
}

/* A call with one argument, @i, in memory. */
static long start_with(struct away_line *line, long number, const uint64_t arg[6], unsigned i, size_t bytes)
{
	struct away_call call = {.request = {.number = (uint32_t)number}};
	long result;

	memcpy(call.request.arg, arg, sizeof(call.request.arg));
	call.request.way[i] = TH_IN;
	call.request.bytes[i] = (uint32_t)bytes;
	return away_try(line, &call, &result) ? result : -EIO;
}

long th_hosts_new(struct away_line *line)
{
	uint64_t mask = 0;

	AWAY_KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, sizeof(mask), 0, 0);
	return start_call(line, TH_CALL_FORK, mask, 0, 0);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static size_t start_length(char *const words[], uint64_t *count)
{
	size_t bytes = 1;

	for (*count = 0; words && words[*count]; ++*count)
		bytes += strlen(words[*count]) + 1;
	return bytes;
}

static void start_copy(char *to, char *const words[])
{
	for (; words && *words; words++)
		to = stpcpy(to, *words) + 1;
}

/* Returns 0 when the program has started; else an error's number. */
static int start_execute(struct away_line *line, const char *path, char *const argv[], char *const envp[])
{
	struct away_call c = {.request = {.number = TH_CALL_EXEC, .way = {TH_IN, TH_IN, TH_IN}}};
	struct th_call_request *q = &c.request;
	size_t arguments = start_length(argv, &q->arg[3]), bytes = arguments + start_length(envp, &q->arg[4]);
	long at = AWAY_KERNEL(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     result;
	char *copy = (char *)at;

	if (at < 0 && at > -4096)
		return ENOMEM;
	start_copy(copy, argv);
	start_copy(copy + arguments, envp);
	q->arg[0] = (uintptr_t)path;
	q->arg[1] = (uintptr_t)copy;
	q->arg[2] = (uintptr_t)copy + arguments;
	q->bytes[0] = (uint32_t)strlen(path) + 1;
	q->bytes[1] = (uint32_t)arguments;
	q->bytes[2] = (uint32_t)(bytes - arguments);
	bool replied = away_try(line, &c, &result);
	AWAY_KERNEL(SYS_munmap, copy, bytes, 0, 0, 0, 0);
	return replied ? (int)-result : 0;
}

long th_hosts_execute(const char *path, char *const argv[], char *const envp[])
{
	struct away_line *line = away_take();
	int error = start_execute(line, path, argv, envp);

	if (!error)
		AWAY_KERNEL(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	away_free(line, false);
	return -error;
}

/* As execvp() searches. */
static int start_search(struct away_line *line, const char *file, char *const argv[], char *const envp[])
{
	const char *path = getenv("PATH"), *end;
	char name[START_NAME];
	int error = ENOENT;
	bool refused = false;

	if (strchr(file, '/'))
		return start_execute(line, file, argv, envp);
	for (path = path ? path : START_PATHS; path; path = *end ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		if ((size_t)(end - path) + strlen(file) + 2 > sizeof(name))
			continue;
		char *at = mempcpy(name, path, (size_t)(end - path));
		stpcpy(stpcpy(at, end > path ? "/" : ""), file);
		error = start_execute(line, name, argv, envp);
		refused |= error == EACCES;
		if (error != ENOENT && error != EACCES && error != ENOTDIR)
			return error;
	}
	return refused ? EACCES : error;
}

/* ---- posix_spawn ------------------------------------------------------------------------------------------------- */

static int start_move(struct away_line *line, int from, int to)
{
	long result = from == to ? start_call(line, SYS_fcntl, (uint64_t)from, F_SETFD, 0)
	                         : start_call(line, SYS_dup3, (uint64_t)from, (uint64_t)to, 0);
	return result < 0 ? (int)-result : 0;
}

static int start_open(struct away_line *line, int fd, const char *path, int flags, mode_t mode)
{
	start_call(line, SYS_close, (uint64_t)fd, 0, 0);
	long got = start_with(line, SYS_open, (const uint64_t[6]){(uintptr_t)path, (uint64_t)flags, mode}, 0,
	                      strlen(path) + 1);
	int error = got < 0 ? (int)-got : 0;

	if (got >= 0 && got != fd) {
		error = start_move(line, (int)got, fd);
		start_call(line, SYS_close, (uint64_t)got, 0, 0);
	}
	return error;
}

static int start_act(struct away_line *line, const struct start_action *a)
{
	long result = 0;

	switch (a->tag) {
	case START_CLOSE:
		start_call(line, SYS_close, (uint64_t)a->fd, 0, 0);
		return 0;
	case START_DUP2:
		return start_move(line, a->dup2.from, a->dup2.to);
	case START_OPEN:
		return start_open(line, a->open.fd, a->open.path, a->open.flags, a->open.mode);
	case START_CHDIR:
		result =
		    start_with(line, SYS_chdir, (const uint64_t[6]){(uintptr_t)a->folder}, 0, strlen(a->folder) + 1);
		break;
	case START_FCHDIR:
		result = start_call(line, SYS_fchdir, (uint64_t)a->fd, 0, 0);
		break;
	case START_CLOSEFROM: /* Tweed's are closed by the start */
		result = start_call(line, SYS_close_range, (uint64_t)a->fd, (uint64_t)tw_fd_first() - 1, 0);
		break;
	case START_TCSETPGRP:
		result = -ENOSYS;
	}
	return result < 0 ? (int)-result : 0;
}

static int start_attributes(struct away_line *line, const posix_spawnattr_t *attr)
{
	short flags = 0;
	sigset_t set;
	pid_t group;
	long result = 0;

	if (!attr || posix_spawnattr_getflags(attr, &flags))
		return 0;
	if (flags & POSIX_SPAWN_SETSIGMASK && !posix_spawnattr_getsigmask(attr, &set))
		start_with(line, SYS_rt_sigprocmask, (const uint64_t[6]){SIG_SETMASK, (uintptr_t)&set, 0, 8}, 1, 8);
	if (flags & POSIX_SPAWN_SETSIGDEF && !posix_spawnattr_getsigdefault(attr, &set)) {
		const uint64_t none[4] = {0};
		for (int s = 1; s < NSIG; s++)
			if (sigismember(&set, s) == 1)
				start_with(line, SYS_rt_sigaction,
				           (const uint64_t[6]){(uint64_t)s, (uintptr_t)none, 0, 8}, 1, sizeof(none));
	}
	if (flags & POSIX_SPAWN_SETSID)
		result = start_call(line, SYS_setsid, 0, 0, 0);
	if (result >= 0 && flags & POSIX_SPAWN_SETPGROUP && !posix_spawnattr_getpgroup(attr, &group))
		result = start_call(line, SYS_setpgid, 0, (uint64_t)group, 0);
	if (result >= 0 && flags & (POSIX_SPAWN_SETSCHEDPARAM | POSIX_SPAWN_SETSCHEDULER))
		result = -ENOSYS;
	return result < 0 ? (int)-result : 0;
}

/* tw_exec_spawn */
static int start_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[], bool search)
{
	const struct start_actions *a = (const void *)actions;
	struct away_line *line = away_take();
	long child = th_hosts_new(line);
	int error = child < 0 ? (int)-child : start_attributes(line, attr), status;

	for (int i = 0; a && !error && i < a->used; i++)
		error = start_act(line, &a->action[i]);
	if (!error)
		error = search ? start_search(line, path, argv, envp) : start_execute(line, path, argv, envp);
	away_free(line, true);
	if (error && child > 0) /* it ends with the connection */
		waitpid((pid_t)child, &status, 0);
	*pid = (pid_t)child;
	return error;
}

/* tw_exec_system */
static int start_system(const char *command)
{
	char shell[] = "sh", option[] = "-c", *argv[] = {shell, option, (char *)(uintptr_t)command, NULL};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old[2];
	posix_spawnattr_t attr;
	sigset_t one, before, quits;
	int status = -1;
	pid_t pid;

	if (!command)
		return 1;
	sigaction(SIGINT, &ignore, &old[0]);
	sigaction(SIGQUIT, &ignore, &old[1]);
	sigemptyset(&one);
	sigaddset(&one, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &one, &before);
	sigemptyset(&quits);
	for (unsigned i = 0; i < 2; i++)
		if (old[i].sa_handler != SIG_IGN)
			sigaddset(&quits, i ? SIGQUIT : SIGINT);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &before);
	posix_spawnattr_setsigdefault(&attr, &quits);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int error = start_spawn(&pid, "/bin/sh", NULL, &attr, argv, environ, false);
	if (error)
		status = 127 << 8;
	while (!error && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	posix_spawnattr_destroy(&attr);
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGQUIT, &old[1], NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

void th_hosts_start(void)
{
	if (!th_hosts_self())
		return;
	tw_exec_spawn = start_spawn;
	tw_exec_system = start_system;
}
