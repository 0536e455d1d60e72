/* SPDX-License-Identifier: BSD-3-Clause */
/* refused.c - what ends a job with a sentence, or with threads at work: the argument says which. */
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *waits(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	return arg;
}

static void *exits(void *arg)
{
	puts("said before the end");
	exit(arg ? 1 : 9);
}

static volatile sig_atomic_t taken;

static void takes(int number)
{
	taken = taken + (number == SIGUSR1 || number == SIGINT || number == SIGTERM);
}

static int deep(int n)
{
	volatile char frame[1000];

	frame[n % 1000] = 1;
	return n < 0 ? 0 : deep(n + 1) + frame[n % 1000];
}

static int shares(void *arg)
{
	return taken = arg ? 2 : 1;
}

static void *recurses(void *arg)
{
	return deep(0) ? arg : NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t t;

	if (strcmp(what, "many") == 0) {
		for (int i = 0; i < 100; i++)
			pthread_create(&t, NULL, waits, NULL);
		puts("main has ended");
	} else if (strcmp(what, "signal") == 0) {
		signal(SIGUSR1, takes);
		signal(SIGINT, takes);
		signal(SIGTERM, takes);
		puts("ready");
		fflush(stdout);
		for (int i = 0; i < 100 && !taken; i++)
			usleep(100000);
		usleep(100000);
		return 20 + taken;
	} else if (strcmp(what, "child") == 0) {
		int status = 0;
		if (fork() == 0)
			exit(pthread_create(&t, NULL, waits, NULL));
		wait(&status);
		return WEXITSTATUS(status) == 2 ? 2 : 0;
	} else if (strcmp(what, "result") == 0) {
		int status = 0, *both = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		both[2048] = 5;
		if (fork() == 0)
			_exit(both[2048] == 5 ? both[2049] = 0 : 9);
		wait(&status);
		return WEXITSTATUS(status);
	} else if (strcmp(what, "becomes") == 0) {
		pthread_mutex_lock(&lock);
		pthread_create(&t, NULL, waits, NULL);
		execl("/no/such/program", "program", (char *)NULL);
		execl("/bin/sh", "sh", "-c", "echo another; exit 7", (char *)NULL);
	} else if (strcmp(what, "waits") == 0) {
		sem_t shared;
		int status = 0;
		sem_init(&shared, 1, 0);
		if (fork() == 0)
			_exit(sem_wait(&shared));
		wait(&status);
		return WEXITSTATUS(status);
	} else if (strcmp(what, "stack") == 0) {
		pthread_attr_t attr;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, (size_t)1 << 44);
		pthread_create(&t, &attr, waits, NULL);
	} else if (strcmp(what, "clone") == 0) {
		char *top = (char *)malloc(65536) + 65536;
		return clone(shares, top, CLONE_VM | SIGCHLD, NULL) < 0;
	} else if (strcmp(what, "deep") == 0) {
		pthread_create(&t, NULL, recurses, NULL);
		pthread_join(t, NULL);
	} else if (strcmp(what, "main") == 0) {
		recurses(NULL);
	} else if (strcmp(what, "jail") == 0) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	} else if (strcmp(what, "filter") == 0) {
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
	} else if (strcmp(what, "again") == 0) {
		pthread_mutex_lock(&lock);
		pthread_mutex_lock(&lock);
	} else if (strcmp(what, "leave") == 0) {
		pthread_create(&t, NULL, waits, NULL);
		puts("main has ended");
	} else if (strcmp(what, "status") == 0) {
		pthread_create(&t, NULL, waits, NULL);
		return 5;
	} else if (strcmp(what, "exit") == 0) {
		pthread_create(&t, NULL, exits, NULL);
		pthread_join(t, NULL);
	} else {
		puts("alone");
	}
	return 0;
}
