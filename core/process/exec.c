/* SPDX-License-Identifier: BSD-3-Clause */
/* exec.c - wraps the C library's functions that start programs, as syscalls.c does for system calls: the kernel reads
 * path, arguments and environment, also in the child of posix_spawn, which has its parent's memory and all signals
 * blocked. Arguments of system and popen are copied, because those functions do not report EFAULT.
 *
 * The wrappers are weak, so that a program's own function of such a name can be linked. */
#include "core/base/base.h"
#include "core/base/fd.h"
#include "core/job/job.h"
#include "core/process/fork.h"
#include "core/process/syscalls.h"

void (*tw_exec_spawned)(pid_t pid);
int (*tw_exec_spawn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attr, char *const argv[], char *const envp[], bool search);
int (*tw_exec_system)(const char *command);

#if TW_ASAN || TW_TSAN

void tw_exec_init(void) {}

#else

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jemalloc/jemalloc.h>

#define EXEC_TRIES    16
#define EXEC_WRAP     __attribute__((weak, visibility("default")))
#define EXEC_NAMES(X) X(execve) X(execvpe) X(fexecve) X(posix_spawn) X(posix_spawnp) X(system) X(popen)

static struct {
#define X(name)       __typeof__(name) *name;
	EXEC_NAMES(X)
#undef X
} next;

/* Also a constructor: dlsym is not safe in signal handlers. */
__attribute__((constructor)) void tw_exec_init(void)
{
	if (next.popen)
		return;
#define X(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name);
	EXEC_NAMES(X)
#undef X
}

/* The kernel reads the array, too; a later fault may take the rights to it. */
static void exec_touch_words(char *const words[])
{
	size_t n = 0;

	while (words && words[n])
		tw_touch_string(words[n++]);
	tw_touch(words, words ? (n + 1) * sizeof(*words) : 0, false);
}

static void exec_touch(const char *path, char *const argv[], char *const envp[])
{
	tw_exec_init();
	if (path)
		tw_touch_string(path);
	exec_touch_words(argv);
	exec_touch_words(envp);
}

/* A program of threads that becomes another one: that one's status is the job's. */
static void exec_becomes(bool begins)
{
	if (tw_me && !tw_forked() && tw_exec_spawned)
		tw_me->stats->refused = begins ? TW_ENDED_JOB : 0;
}

#define EXEC_RETURN(path, call)                                                                                        \
	do {                                                                                                           \
		unsigned tries = 0;                                                                                    \
		exec_becomes(true);                                                                                    \
		do                                                                                                     \
			exec_touch(path, argv, envp);                                                                  \
		while ((call) == -1 && errno == EFAULT && ++tries < EXEC_TRIES);                                       \
		exec_becomes(false);                                                                                   \
		return -1;                                                                                             \
	} while (0)

EXEC_WRAP int execve(const char *path, char *const argv[], char *const envp[])
{
	EXEC_RETURN(path, next.execve(path, argv, envp));
}

EXEC_WRAP int execvpe(const char *file, char *const argv[], char *const envp[])
{
	EXEC_RETURN(file, next.execvpe(file, argv, envp));
}

EXEC_WRAP int fexecve(int fd, char *const argv[], char *const envp[])
{
	EXEC_RETURN(NULL, next.fexecve(fd, argv, envp));
}

EXEC_WRAP int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXEC_WRAP int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* Count the arguments from @first on. *@end: the argument behind them. */
static size_t exec_count(va_list ap, const char *first, char *const **end)
{
	size_t n = 0;

	for (const char *at = first; at; at = va_arg(ap, const char *))
		n++;
	if (end)
		*end = va_arg(ap, char *const *);
	return n;
}

#define EXEC_LISTED(environment, end, call)                                                                            \
	va_list ap;                                                                                                    \
	char *const *envp = environment;                                                                               \
	va_start(ap, first);                                                                                           \
	size_t n = exec_count(ap, first, end);                                                                         \
	va_end(ap);                                                                                                    \
	char *argv[n + 1];                                                                                             \
	argv[0] = (char *)first;                                                                                       \
	va_start(ap, first);                                                                                           \
	for (size_t i = 1; i <= n; i++)                                                                                \
		argv[i] = va_arg(ap, char *);                                                                          \
	va_end(ap);                                                                                                    \
	return call

EXEC_WRAP int execl(const char *path, const char *first, ...)
{
	EXEC_LISTED(environ, NULL, execve(path, argv, envp));
}

EXEC_WRAP int execle(const char *path, const char *first, ...)
{
	EXEC_LISTED(NULL, &envp, execve(path, argv, envp));
}

EXEC_WRAP int execlp(const char *file, const char *first, ...)
{
	EXEC_LISTED(environ, NULL, execvpe(file, argv, envp));
}

/* The child's number is stored afterwards: signals are blocked inside, where a fault would end the program. */
#define EXEC_SPAWN(name, search)                                                                                       \
	EXEC_WRAP int name(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *actions,  \
	                   const posix_spawnattr_t *restrict attr, char *const argv[], char *const envp[])             \
	{                                                                                                              \
		pid_t child;                                                                                           \
		int error;                                                                                             \
		unsigned tries = 0;                                                                                    \
		do {                                                                                                   \
			exec_touch(path, argv, envp);                                                                  \
			tw_touch(actions, actions ? sizeof(*actions) : 0, false);                                      \
			tw_touch(attr, attr ? sizeof(*attr) : 0, false);                                               \
			error = tw_exec_spawn && tw_fd_away                                                            \
			            ? tw_exec_spawn(&child, path, actions, attr, argv, envp, search)                   \
			            : next.name(&child, path, actions, attr, argv, envp);                              \
		} while (error == EFAULT && ++tries < EXEC_TRIES);                                                     \
		if (!error && tw_exec_spawned)                                                                         \
			tw_exec_spawned(child);                                                                        \
		if (!error && pid)                                                                                     \
			*pid = child;                                                                                  \
		return error;                                                                                          \
	}
EXEC_SPAWN(posix_spawn, false)
EXEC_SPAWN(posix_spawnp, true)

/* Private memory, which malloc may not give. */
static char *exec_copy(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = mallocx(bytes, 0);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

EXEC_WRAP int system(const char *command)
{
	if (tw_exec_system && tw_fd_away)
		return tw_exec_system(command);
	char *copy = command ? exec_copy(command) : NULL;

	exec_touch(NULL, NULL, environ);
	int status = next.system(copy ? copy : command);
	int error = errno;
	if (copy)
		dallocx(copy, 0);
	errno = error;
	return status;
}

FILE *tw_popen(const char *command, const char *mode)
{
	char *copy = exec_copy(command);

	exec_touch(NULL, NULL, environ);
	FILE *f = next.popen(copy ? copy : command, mode);
	int error = errno;
	if (copy)
		dallocx(copy, 0);
	errno = error;
	return f;
}

EXEC_WRAP FILE *popen(const char *command, const char *mode)
{
	return tw_popen(command, mode);
}

#endif
