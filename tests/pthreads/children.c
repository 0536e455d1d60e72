/* SPDX-License-Identifier: BSD-3-Clause */
/* children.c - children of fork(): their thread-local variables and errno at the addresses that the parent knows, and
 * their ends, in main's thread and in others. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static __thread int mine = 5;
static __thread int *at;

static void ended(const char *what, pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	printf("%s: status %d, signal %d, parent's %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0, mine);
}

/* The compiler may ask once where errno is. */
static __attribute__((noinline)) pid_t errors(void)
{
	errno = 0;
	pid_t child = fork();
	if (child < 0)
		return errno;
	if (child == 0) {
		close(-1);
		int first = errno;
		execl("/no/such/program", "program", (char *)NULL);
		_exit(first == EBADF && errno == ENOENT ? 30 : 31);
	}
	return child;
}

static const char *const ways[] = {"exit", "return", "pthread_exit", "raise", "abort", NULL};

static void *forks(void *arg)
{
	const char *const *way = arg;

	at = &mine;
	mine = 7;
	pid_t child = fork();
	if (child == 0) {
		mine++;
		int right = at == &mine && *at == 8;
		if (way - ways == 1)
			return NULL;
		if (way - ways == 2)
			pthread_exit(NULL);
		if (way - ways == 3)
			raise(SIGTERM);
		if (way - ways == 4)
			abort();
		_exit(right ? 40 : 41);
	}
	ended(*way, child);
	ended("errors", errors());
	return NULL;
}

int main(void)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ended("main's errors", errors());
	for (const char *const *way = ways; *way; way++) {
		pthread_create(&thread, NULL, forks, (void *)(uintptr_t)way);
		pthread_join(thread, NULL);
	}
	ended("main's errors", errors());
	pid_t child = fork();
	if (child == 0) {
		if (fork() == 0)
			_exit(3);
		int status = 0;
		wait(&status);
		char *some = malloc(100000);
		some[99999] = 6;
		_exit(WEXITSTATUS(status) == 3 ? some[99999] : 7);
	}
	ended("a child of its own", child);
	child = fork();
	if (child == 0)
		pthread_exit(NULL);
	ended("main's pthread_exit", child);
	return 0;
}
