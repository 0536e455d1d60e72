/* SPDX-License-Identifier: BSD-3-Clause */
/* process.h - what the programs of this folder share: their threads, what they say, and main().
 *
 * Each case prints what threads find in something that belongs to the process.  A case's steps run in main, which is
 * number 0, and in threads 1 to `threads`; in programs compiled for OpenMP these are a region's.  What is printed
 * depends on their number only. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define MAYBE      __attribute__((unused)) static
#define CASE(name) static void case_##name(void)
#define T(name)                                                                                                        \
	{                                                                                                              \
#name, case_##name, 0                                                                                  \
	}
/* A case that changes what others use, or needs standard input, has a process of its own. */
#define ALONE(name)                                                                                                    \
	{                                                                                                              \
#name, case_##name, 1                                                                                  \
	}
#define MANY 3 /* threads at most */

struct test {
	const char *name;
	void (*run)(void);
	int alone;
};

typedef void step(void *arg, int me);

static int threads = 3;
MAYBE char **arguments;

/* ---- what is said: in shared memory until main prints it, since standard output is one of the things tested ---- */

static pthread_mutex_t say_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t said;
static char saying[1 << 17];

__attribute__((format(printf, 1, 2))) MAYBE void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pthread_mutex_lock(&say_lock);
	int n = vsnprintf(saying + said, sizeof saying - said, format, args);
	if (n > 0 && said + (size_t)n < sizeof saying)
		said += (size_t)n;
	pthread_mutex_unlock(&say_lock);
	va_end(args);
}

MAYBE void print_said(void)
{
	if (!said)
		return;
	fwrite(saying, 1, said, stdout);
	fflush(stdout);
	said = 0;
}

/* ---- threads ---- */

#ifndef _OPENMP
static struct {
	step *run;
	void *arg;
	int in_turn, turn;
	pthread_mutex_t lock;
	pthread_cond_t next;
	pthread_barrier_t all;
} crew = {.run = NULL,
          .arg = NULL,
          .in_turn = 0,
          .turn = 0,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .next = PTHREAD_COND_INITIALIZER,
          .all = {}};
#endif

/* A barrier of main and all threads, within with_main(). */
MAYBE void meet(void)
{
#ifdef _OPENMP
#pragma omp barrier
#else
	pthread_barrier_wait(&crew.all);
#endif
}

#ifndef _OPENMP
MAYBE void *crew_thread(void *number)
{
	int me = (int)(intptr_t)number;

	if (crew.in_turn) {
		pthread_mutex_lock(&crew.lock);
		while (crew.turn != me)
			pthread_cond_wait(&crew.next, &crew.lock);
		pthread_mutex_unlock(&crew.lock);
	}
	crew.run(crew.arg, me);
	if (crew.in_turn) {
		pthread_mutex_lock(&crew.lock);
		crew.turn++;
		pthread_cond_broadcast(&crew.next);
		pthread_mutex_unlock(&crew.lock);
	}
	return NULL;
}

MAYBE void crew_run(step *run, void *arg, int in_turn, int main_too)
{
	pthread_t t[MANY + 1];

	crew.run = run;
	crew.arg = arg;
	crew.in_turn = in_turn;
	crew.turn = 1;
	pthread_barrier_init(&crew.all, NULL, (unsigned)threads + 1);
	for (int i = 1; i <= threads; i++) {
		int e = pthread_create(&t[i], NULL, crew_thread, (void *)(intptr_t)i);
		if (e) {
			fprintf(stderr, "pthread_create: %s\n", strerror(e));
			_exit(3);
		}
	}
	if (main_too)
		run(arg, 0);
	for (int i = 1; i <= threads; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&crew.all);
	print_said();
}
#else
MAYBE void crew_run(step *run, void *arg, int in_turn, int main_too)
{
#pragma omp parallel num_threads(threads + 1)
	{
		int me = omp_get_thread_num();

		for (int i = 1; in_turn && i <= threads; i++) {
#pragma omp barrier
			if (me == i)
				run(arg, me);
		}
		if (!in_turn && (me || main_too))
			run(arg, me);
	}
	print_said();
}
#endif

/* @run in each thread: one after another; at the same time; at the same time and in main. */
MAYBE void turns(step *run, void *arg)
{
	crew_run(run, arg, 1, 0);
}

MAYBE void together(step *run, void *arg)
{
	crew_run(run, arg, 0, 0);
}

MAYBE void with_main(step *run, void *arg)
{
	crew_run(run, arg, 0, 1);
}

/* ---- files ---- */

MAYBE const char *err(long result)
{
	return result < 0 ? strerrorname_np(errno) : "ok";
}

MAYBE void say_text(int me, const char *verb, long n, const char *text)
{
	char line[300];
	long i = 0;

	if (n < 0) {
		say("%d %s: %s\n", me, verb, strerrorname_np(errno));
		return;
	}
	for (; i < n && i < (long)sizeof line - 1; i++)
		line[i] = (char)(text[i] == '\n' ? '|' : text[i] ? text[i] : '0');
	line[i] = 0;
	say("%d %s %ld '%s'\n", me, verb, n, line);
}

MAYBE void reads(int me, int fd, size_t n)
{
	char text[300];
	long got = read(fd, text, n);

	say_text(me, "reads", got, text);
}

/* Waits for the child; returns its exit status, the negative signal that ended it, or -256. */
MAYBE int wait_for(pid_t pid)
{
	int status = -1;

	pid_t got = waitpid(pid, &status, 0);
	return got != pid ? -256 : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

__attribute__((format(printf, 3, 4))) MAYBE void writes(int me, int fd, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	long done = write(fd, text, (size_t)n);
	say_text(me, "writes", done, text);
}

MAYBE void make_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (write(fd, text, strlen(text)) < 0)
		say("%s: %s\n", name, err(-1));
	close(fd);
}

/* What the file @name contains, seen by main or a thread through a descriptor of its own. */
MAYBE void shows(int me, const char *name)
{
	char text[300];
	int fd = open(name, O_RDONLY);
	long n = fd < 0 ? -1 : read(fd, text, sizeof text);

	say_text(me, name, n, text);
	if (fd >= 0)
		close(fd);
}

/* ---- main ---- */

static int run_tests(const struct test *tests, size_t n, char **args)
{
	arguments = args;
	if (args[1] && !strcmp(args[1], "-t") && args[2]) {
		threads = atoi(args[2]);
		if (threads < 1 || threads > MANY)
			return 2;
		args += 2;
	}
	if (!args[1])
		for (size_t i = 0; i < n; i++)
			printf("%s%s\n", tests[i].name, tests[i].alone ? " alone" : "");
	while (*++args) {
		size_t i = 0;
		while (i < n && strcmp(*args, tests[i].name))
			i++;
		if (i == n) {
			fprintf(stderr, "there is no case '%s'\n", *args);
			return 2;
		}
		say("== %s\n", *args);
		print_said();
		tests[i].run();
		print_said();
	}
	return 0;
}

#define MAIN(...)                                                                                                      \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		static const struct test tests[] = {__VA_ARGS__};                                                      \
                                                                                                                       \
		(void)argc;                                                                                            \
		return run_tests(tests, sizeof tests / sizeof *tests, argv);                                           \
	}
