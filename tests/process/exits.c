/* SPDX-License-Identifier: BSD-3-Clause */
/* exits.c - the program's end by main or a thread: what is printed and called then, and the status. */
#include "process.h"

#include <sys/syscall.h>

static FILE *f;

static void exit_step(void *arg, int me)
{
	if (me == threads) {
		printf("thread %d exits\n", me);
		if (f)
			fprintf(f, "of thread %d\n", me);
		exit(*(int *)arg);
	}
	pause();
}

CASE(exit_in_thread)
{
	int status = 7;

	f = fopen("exit", "w");
	fputs("of main\n", f);
	printf("main has printed\n");
	together(exit_step, &status);
}

static void *hold_for_moments(void *arg)
{
	while (f) {
		flockfile(arg);
		usleep(500);
		funlockfile(arg);
		usleep(100);
	}
	return arg;
}

CASE(exit_while_held)
{
	pthread_t thread;

	f = fopen("held", "w");
	fputs("what main has printed", f);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, hold_for_moments, f);
	usleep(20000);
	exit(0);
}

static void say_goodbye(void)
{
	printf("atexit\n");
}

static void say_goodbye_first(void)
{
	printf("atexit, made in main\n");
}

static void atexit_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		atexit(say_goodbye);
	printf("thread %d\n", me);
}

CASE(exit_by_main)
{
	printf("no end of line at main's end");
	atexit(say_goodbye_first);
	turns(atexit_step, NULL);
	f = fopen("exit2", "w");
	fputs("not closed", f);
	exit(4);
}

CASE(atexit_then_return)
{
	turns(atexit_step, NULL);
	atexit(say_goodbye_first);
	atexit(say_goodbye_first);
	printf("main returns\n");
}

CASE(atexit_exit_in_thread)
{
	int status = 0;

	atexit(say_goodbye_first);
	turns(atexit_step, NULL);
	with_main(exit_step, &status);
}

static void on_exit_say(int status, void *arg)
{
	printf("on_exit %d %s\n", status, (char *)arg);
}

static void on_exit_step(void *arg, int me)
{
	(void)arg;
	static char name[MANY + 1][16];

	snprintf(name[me], sizeof name[me], "thread %d", me);
	on_exit(on_exit_say, name[me]);
}

CASE(on_exit_by_threads)
{
	on_exit(on_exit_say, (void *)"main");
	turns(on_exit_step, NULL);
	exit(9);
}

CASE(on_exit_exit_in_thread)
{
	int status = 12;

	atexit(say_goodbye_first);
	turns(on_exit_step, NULL);
	with_main(exit_step, &status);
}

static void quick_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		at_quick_exit(say_goodbye);
	if (me == threads) {
		printf("lost, unless it is flushed\n");
		fflush(stdout);
		printf("lost");
		quick_exit(5);
	}
}

CASE(quick_exit_in_thread)
{
	turns(quick_step, NULL);
}

static void _exit_step(void *arg, int me)
{
	(void)arg;
	if (me == threads) {
		dprintf(1, "thread ends the program\n");
		_exit(6);
	}
	pause();
}

CASE(_exit_in_thread)
{
	atexit(say_goodbye);
	printf("lost");
	together(_exit_step, NULL);
}

static void child_step(void *arg, int me)
{
	(void)arg;
	atexit(say_goodbye);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		printf("child of %d exits\n", me);
		exit(20 + me);
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("%d %d\n", me, WEXITSTATUS(status));
	fflush(stdout);
}

CASE(exit_in_child)
{
	atexit(say_goodbye_first);
	turns(child_step, NULL);
	child_step(NULL, 0);
}

#ifndef _OPENMP
static int before_end;

static void *ends_by_system_call(void *arg)
{
	__atomic_add_fetch(&before_end, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 3);
	return arg;
}

CASE(thread_ends_by_system_call)
{
	pthread_t t[4];
	void *result = t;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, ends_by_system_call, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], &result);
	say("%d ended, %p\n", before_end, result);
	print_said();
	syscall(SYS_exit_group, 5);
}
#else
CASE(thread_ends_by_system_call) {}
#endif

MAIN(ALONE(exit_in_thread), ALONE(exit_while_held), ALONE(exit_by_main), ALONE(atexit_then_return),
     ALONE(atexit_exit_in_thread), ALONE(on_exit_by_threads), ALONE(on_exit_exit_in_thread),
     ALONE(quick_exit_in_thread), ALONE(_exit_in_thread), ALONE(exit_in_child), ALONE(thread_ends_by_system_call))
