/* SPDX-License-Identifier: BSD-3-Clause */
/* undisturbed.c - the signal by which another process takes pages (core/coherence/shootdown.h) may arrive when a thread
 * sleeps or waits in the kernel already: no call ends early. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NANOSLEEP, USLEEP, POLL, SELECT, CALLS };
static const char *const names[CALLS] = {"nanosleep", "usleep", "poll", "select"};

static int call(int which)
{
	struct timespec t = {.tv_nsec = 200000000};
	struct timeval v = {.tv_usec = 200000};

	return which == NANOSLEEP ? nanosleep(&t, NULL)
	       : which == USLEEP  ? usleep(200000)
	       : which == POLL    ? poll(NULL, 0, 200)
	                          : select(0, NULL, NULL, NULL, &v);
}

static void *calls(void *arg)
{
	long pid = syscall(SYS_getpid), tid = syscall(SYS_gettid);

	for (int which = 0; which < CALLS; which++) {
		pid_t child = fork();
		if (!child) {
			struct timespec soon = {.tv_nsec = 50000000};
			clock_nanosleep(CLOCK_MONOTONIC, 0, &soon, NULL);
			_exit(getenv("TWEED_"
			             "PROCESSOR") &&
			      syscall(SYS_tgkill, pid, tid, SIGRTMAX - 5) != 0);
		}
		int result = call(which), status = -1;
		waitpid(child, &status, 0);
		printf("%s %d, signal %d\n", names[which], result, status);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	calls(NULL);
	pthread_create(&thread, NULL, calls, NULL);
	pthread_join(thread, NULL);
	return 0;
}
