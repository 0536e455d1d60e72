/* SPDX-License-Identifier: BSD-3-Clause */
/* pipes.c - popen and pclose: the C library's keep their list of streams and children in one process. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process/syscalls.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/host.h"
#include "runtime/threads/support.h"

/* In shared memory. */
struct pipe_stream {
	FILE *f;
	pid_t child;
	struct pipe_stream *next;
};
static struct pipes_shared {
	uint32_t lock;
	struct pipe_stream *first;
} * pipes;

void th_pipes_open(void)
{
	pipes = th_allocate_all(sizeof(*pipes));
}

static bool pipes_shared(void)
{
	return pipes && host_shared() && th_stack_own();
}

/* Returns 0, or an error's number.  @end: the child's end of the pipe; @to: 0 or 1. */
static int pipe_spawn(const char *command, int end, int to, pid_t *child)
{
	char shell[] = "sh", option[] = "-c";
	char *argv[] = {shell, option, (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t actions;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, end, to);
	int error = posix_spawn(child, "/bin/sh", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static FILE *pipe_open(const char *command, bool reads)
{
	int ends[2], error;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	FILE *f = fdopen(ends[!reads], reads ? "r" : "w");
	error = f ? pipe_spawn(command, ends[reads], reads, &child) : errno;
	close(ends[reads]);
	if (error) {
		if (f)
			fclose(f);
		else
			close(ends[!reads]);
		errno = error;
		return NULL;
	}
	th_stack_reserve();
	struct pipe_stream *s = tw_malloc(sizeof(*s));
	if (!s)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	th_word_lock(&pipes->lock);
	*s = (struct pipe_stream){f, child, pipes->first};
	pipes->first = s;
	th_word_unlock(&pipes->lock);
	return f;
}

/* The stream's child; 0: it is not one of popen()'s. */
static pid_t pipe_forget(const FILE *f)
{
	struct pipe_stream *found = NULL;

	th_word_lock(&pipes->lock);
	for (struct pipe_stream **at = &pipes->first; *at; at = &(*at)->next)
		if ((*at)->f == f) {
			found = *at;
			*at = found->next;
			break;
		}
	th_word_unlock(&pipes->lock);
	pid_t child = found ? found->child : 0;
	if (found)
		tw_free(found);
	return child;
}

#pragma GCC visibility push(default)

TH_WEAK FILE *popen(const char *command, const char *mode)
{
	if (!pipes_shared())
		return tw_popen(command, mode);
	if ((*mode != 'r' && *mode != 'w') || mode[1 + (mode[1] == 'e')]) {
		errno = EINVAL;
		return NULL;
	}
	return pipe_open(command, *mode == 'r');
}

TH_WEAK int pclose(FILE *f)
{
	int status = 0, closed, error;
	pid_t child = pipes_shared() ? pipe_forget(f) : 0;

	if (!child)
		return ((__typeof__(pclose) *)(uintptr_t)dlsym(RTLD_NEXT, "pclose"))(f);
	closed = fclose(f);
	error = errno;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	errno = error;
	return closed ? -1 : status;
}

#pragma GCC visibility pop
