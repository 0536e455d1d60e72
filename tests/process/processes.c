/* SPDX-License-Identifier: BSD-3-Clause */
/* processes.c - processes that threads make and wait for. */
#include <netdb.h>
#include <spawn.h>
#include <sys/mman.h>
#include "process.h"

extern char **environ;
static pid_t child[MANY + 1];

static void fork_step(void *arg, int me)
{
	(void)arg;
	child[me] = fork();
	if (!child[me])
		_exit(10 + me);
	say("%d child ends with %d\n", me, wait_for(child[me]));
}

static void look_up_step(void *arg, int me)
{
	(void)arg;
	say("%d %s\n", me, getservbyname("a service", "tcp") ? "is there" : "is not there");
	fork_step(NULL, me);
}

/* The C library's own steps at a fork use memory of its name services. */
CASE(fork_after_look_up)
{
	turns(look_up_step, NULL);
}

CASE(fork_in_threads)
{
	turns(fork_step, NULL);
	say("none left: %s\n", err(waitpid(-1, NULL, WNOHANG)));
}

static void fork_main_step(void *arg, int me)
{
	(void)arg;
	if (me == threads)
		for (int i = 0; i < 3; i++)
			say("%d waits: %d\n", me, wait_for(child[i]));
}

CASE(waitpid_of_mains_child)
{
	for (int i = 0; i < 3; i++) {
		child[i] = fork();
		if (!child[i])
			_exit(20 + i);
	}
	turns(fork_main_step, NULL);
	say("%s\n", err(waitpid(child[0], NULL, 0)));
}

static void fork_only_step(void *arg, int me)
{
	(void)arg;
	child[me] = fork();
	if (!child[me])
		_exit(30 + me);
}

static void wait_other_step(void *arg, int me)
{
	(void)arg;
	say("%d waits: %d\n", me, wait_for(child[me % threads + 1]));
}

CASE(waitpid_in_another_thread)
{
	turns(fork_only_step, NULL);
	turns(wait_other_step, NULL);
	turns(fork_only_step, NULL);
	int sum = 0, status;
	for (int i = 0; i < threads; i++) {
		wait(&status);
		sum += WEXITSTATUS(status);
	}
	say("sum %d, then %s\n", sum, err(wait(NULL)));
}

static void waitid_step(void *arg, int me)
{
	siginfo_t info = {.si_status = 0};

	(void)arg;
	say("%d %s", me, err(waitid(P_PID, (id_t)child[0], &info, WEXITED | (me == threads ? 0 : WNOWAIT))));
	say(" status %d\n", info.si_status);
}

CASE(waitid_in_threads)
{
	child[0] = fork();
	if (!child[0])
		_exit(77);
	turns(waitid_step, NULL);
}

static void exec_step(void *arg, int me)
{
	int *p = arg;
	char number[12];

	snprintf(number, sizeof number, "%d", me);
	pid_t pid = fork();
	if (!pid) {
		dup2(p[1], 1);
		execlp("sh", "sh", "-c", "echo command $0; exit $0", number, (char *)NULL);
		_exit(99);
	}
	say("%d command ends with %d\n", me, wait_for(pid));
	reads(me, p[0], 100);
}

CASE(exec_in_threads)
{
	int p[2];

	say("%s\n", err(pipe(p)));
	turns(exec_step, p);
	close(p[0]);
	close(p[1]);
}

static void inherit_step(void *arg, int me)
{
	int fd = *(int *)arg;

	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		char text[8] = "";
		_exit(read(fd, text, 5) == 5 ? text[0] : 1);
	}
	say("%d child read '%c'\n", me, wait_for(pid));
	reads(me, fd, 5);
}

CASE(fork_shares_offset)
{
	int fd = open("lines.txt", O_RDONLY);

	turns(inherit_step, &fd);
	reads(0, fd, 5);
	close(fd);
}

static void exec_inherit_step(void *arg, int me)
{
	int *fd = arg;

	if (me == 1)
		fcntl(fd[0], F_SETFD, FD_CLOEXEC);
	pid_t pid = fork();
	if (!pid) {
		char command[80];
		snprintf(command, sizeof command, "test -e /proc/self/fd/%d; test $? = 1 -a -e /proc/self/fd/%d", fd[0],
		         fd[1]);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(99);
	}
	say("%d command ends with %d\n", me, wait_for(pid));
}

CASE(exec_inherits)
{
	int fd[2] = {open("lines.txt", O_RDONLY), open("lines.txt", O_RDONLY)};

	turns(exec_inherit_step, fd);
	close(fd[0]);
	close(fd[1]);
}

/* A program executes itself. Its parent sees a pipe's end when it closes it, not when it ends. */
CASE(program_inherits)
{
	const char *given = getenv("TW_TEST_ENDS");
	int out[2], in[2];

	if (given && sscanf(given, "%d %d", &out[1], &in[0]) == 2) {
		writes(0, out[1], "from the program\n");
		close(out[1]);
		reads(0, in[0], 10);
		return;
	}
	say("%s %s\n", err(pipe(out)), err(pipe(in)));
	pid_t pid = fork();
	if (!pid) {
		char text[40];
		snprintf(text, sizeof text, "%d %d", out[1], in[0]);
		setenv("TW_TEST_ENDS", text, 1);
		close(in[1]);
		execl(arguments[0], arguments[0], "program_inherits", (char *)NULL);
		_exit(99);
	}
	close(out[1]);
	close(in[0]);
	reads(0, out[0], 100);
	reads(0, out[0], 100);
	writes(0, in[1], "done");
	say("%d\n", wait_for(pid));
	close(out[0]);
	close(in[1]);
}

static void environment_step(void *arg, int me)
{
	(void)arg;
	pid_t pid = fork();
	if (!pid) {
		setenv("TW_TEST_NEW", "new", 1);
		setenv("TW_TEST_OLD", "changed", 1);
		unsetenv("TW_TEST_GONE");
		const char *new = getenv("TW_TEST_NEW");
		if (!new || strcmp(new, "new") != 0)
			_exit(98);
		execl("/bin/sh", "sh", "-c", "test \"$TW_TEST_NEW $TW_TEST_OLD $TW_TEST_GONE\" = 'new changed '",
		      (char *)NULL);
		_exit(99);
	}
	say("%d command ends with %d\n", me, wait_for(pid));
}

CASE(environment_of_child)
{
	turns(environment_step, NULL);
	setenv("TW_TEST_OLD", "old", 1);
	setenv("TW_TEST_GONE", "there", 1);
	turns(environment_step, NULL);
	say("%s %d\n", getenv("TW_TEST_OLD"), getenv("TW_TEST_NEW") != NULL);
}

static void system_step(void *arg, int me)
{
	char command[80];

	(void)arg;
	snprintf(command, sizeof command, "echo from system %d >> system; exit %d", me, me);
	int status = system(command);
	say("%d system %d\n", me, WEXITSTATUS(status));
}

CASE(system_in_threads)
{
	turns(system_step, NULL);
	system_step(NULL, 0);
	shows(0, "system");
}

static void system_together_step(void *arg, int me)
{
	char command[80];

	(void)arg;
	snprintf(command, sizeof command, "echo %d > system%d", me, me);
	if (system(command))
		say("%d: system failed\n", me);
}

CASE(system_together)
{
	with_main(system_together_step, NULL);
	for (int i = 0; i <= threads; i++) {
		char name[20];
		snprintf(name, sizeof name, "system%d", i);
		shows(0, name);
	}
}

static void popen_step(void *arg, int me)
{
	char command[60], line[80] = "";

	(void)arg;
	snprintf(command, sizeof command, "echo from popen %d; exit %d", me, me);
	FILE *f = popen(command, "r");
	fgets(line, sizeof line, f);
	int status = pclose(f);
	child[me] = WEXITSTATUS(status);
	if (strncmp(line, "from popen ", 11) || atoi(line + 11) != me)
		say("%d read %s\n", me, line);
}

CASE(popen_in_turn)
{
	turns(popen_step, NULL);
	for (int i = 1; i <= threads; i++)
		say("%d ended with %d\n", i, child[i]);
}

CASE(popen_together)
{
	with_main(popen_step, NULL);
	for (int i = 0; i <= threads; i++)
		say("%d ended with %d\n", i, child[i]);
}

static void spawn_step(void *arg, int me)
{
	posix_spawn_file_actions_t actions;
	char *argv[] = {(char *)"cat", NULL};
	int *p = arg;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, me % 2 ? "folder/a.txt" : "folder/b.txt", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, p[1], 1);
	say("%d spawn %d\n", me, posix_spawnp(&child[me], "cat", &actions, NULL, argv, environ));
	posix_spawn_file_actions_destroy(&actions);
	say("%d ends with %d\n", me, wait_for(child[me]));
	reads(me, p[0], 100);
}

CASE(posix_spawn_in_threads)
{
	int p[2];

	say("%s\n", err(pipe(p)));
	turns(spawn_step, p);
	close(p[0]);
	close(p[1]);
}

static int before, after, in_child;

static void before_fork(void)
{
	before++;
}

static void after_fork(void)
{
	after++;
}

static void in_child_fork(void)
{
	in_child++;
}

static void atfork_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("pthread_atfork %d\n", pthread_atfork(before_fork, after_fork, in_child_fork));
	pid_t pid = fork();
	if (!pid)
		_exit(in_child * 10 + before);
	say("%d child had %d, parent %d %d\n", me, wait_for(pid), before, after);
}

CASE(pthread_atfork_in_thread)
{
	turns(atfork_step, NULL);
	atfork_step(NULL, 0);
}

static void pipeline_step(void *arg, int me)
{
	int *p = arg;

	if (me == 1) {
		pid_t pid = fork();
		if (!pid) {
			for (int i = 0; i < 3; i++)
				dprintf(p[1], "child line %d\n", i);
			_exit(0);
		}
		child[0] = pid;
	}
	if (me == threads) {
		close(p[1]);
		reads(me, p[0], 13);
	}
}

CASE(pipe_from_child)
{
	int p[2];

	say("%s\n", err(pipe(p)));
	turns(pipeline_step, p);
	say("%d\n", wait_for(child[0]));
	reads(0, p[0], 100);
	reads(0, p[0], 100);
	close(p[0]);
}

MAIN(T(fork_in_threads), T(fork_after_look_up), T(waitpid_of_mains_child), T(waitpid_in_another_thread),
     T(waitid_in_threads), T(exec_in_threads), T(fork_shares_offset), T(exec_inherits), T(program_inherits),
     ALONE(environment_of_child), T(system_in_threads), T(system_together), T(popen_in_turn), T(popen_together),
     T(posix_spawn_in_threads), ALONE(pthread_atfork_in_thread), T(pipe_from_child))
