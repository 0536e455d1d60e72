/* SPDX-License-Identifier: BSD-3-Clause */
/* edges.c - calls before the first thread, of threads that have ended, without a time, in a child; and more threads
 * than there is memory for at once. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DETACHED 600

static _Atomic int ended;

static void *end(void *arg)
{
	ended++;
	return arg;
}

static void *mask(void *arg)
{
	sigset_t now;

	(void)arg;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	printf("blocked: %d %d\n", sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2));
	return NULL;
}

static void locks(void)
{
	pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
	struct timespec soon;

	pthread_mutex_lock(&held);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec = (soon.tv_nsec + 50000000) % 1000000000;
	printf("held: %d\n", pthread_mutex_timedlock(&held, &soon) == ETIMEDOUT);
}

static void child(void)
{
	pthread_barrier_t one;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pthread_barrier_init(&one, NULL, 1);
		_exit(pthread_barrier_wait(&one) != PTHREAD_BARRIER_SERIAL_THREAD);
	}
	waitpid(pid, &status, 0);
	printf("child: %d\n", status);
}

static void masks(void)
{
	pthread_attr_t attr;
	sigset_t one;
	pthread_t t;

	pthread_attr_init(&attr);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_attr_setsigmask_np(&attr, &one);
	pthread_create(&t, &attr, mask, NULL);
	printf("joined: %d\n", pthread_timedjoin_np(t, NULL, NULL));
	pthread_create(&t, NULL, end, NULL);
	while (!ended)
		usleep(1000);
	usleep(50000);
	printf("killed: %d", pthread_kill(t, SIGUSR1));
	printf(" %d\n", pthread_join(t, NULL));
}

static void crowd(void)
{
	pthread_attr_t attr;
	pthread_t t;
	int made = 0;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < DETACHED; i++)
		made += pthread_create(&t, &attr, end, NULL) == 0;
	while (ended != made + 1)
		usleep(1000);
	printf("made: %d\n", made);
}

int main(void)
{
	locks();
	child();
	masks();
	crowd();
	return 0;
}
