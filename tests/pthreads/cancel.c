/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel.c - pthread_cancel of threads that wait, sleep, read, look, ignore it for a while, have ended, and in calls of
 * the kernel of several kinds. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none, ready;
static int end[2], other[2], listens, cleaned, cancelled, order[8];
static long kept;

static void clean(void *arg)
{
	order[cleaned++ % 8] = (int)(long)arg;
}

static void unlock(void *arg)
{
	clean((void *)1);
	pthread_mutex_unlock(arg);
}

static void end_child(void *arg)
{
	pid_t child = (pid_t)(long)arg;

	clean((void *)5);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock, &lock);
	sem_post(&ready);
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
	return arg;
}

static void *waits_for_semaphore(void *arg)
{
	pthread_cleanup_push(clean, (void *)2);
	pthread_cleanup_push(clean, (void *)3);
	sem_post(&ready);
	sem_wait(&none);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return arg;
}

static void *sleeps(void *arg)
{
	sem_post(&ready);
	sleep(50);
	return arg;
}

static void *reads(void *arg)
{
	char c;

	sem_post(&ready);
	if (read(end[0], &c, 1) != 1)
		puts("read");
	return arg;
}

static void *polls(void *arg)
{
	struct pollfd one = {.fd = end[0], .events = POLLIN};

	sem_post(&ready);
	poll(&one, 1, 50000);
	return arg;
}

static void *looks(void *arg)
{
	sem_post(&ready);
	for (;;)
		pthread_testcancel();
	return arg;
}

static void *joins(void *arg)
{
	sem_post(&ready);
	pthread_join(*(pthread_t *)arg, NULL);
	return arg;
}

static void *later(void *arg)
{
	int state, type;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	sem_post(&ready);
	for (int i = 0; i < 3; i++) {
		usleep(10000);
		pthread_testcancel();
		kept++;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	pthread_testcancel();
	kept = state == PTHREAD_CANCEL_DISABLE && type == PTHREAD_CANCEL_DEFERRED ? -1 : -2;
	return arg;
}

static volatile unsigned long sum;

static void *computes(void *arg)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_cleanup_push(clean, (void *)4);
	sem_post(&ready);
	for (;;)
		sum++;
	pthread_cleanup_pop(0);
	return arg;
}

static _Atomic unsigned long operations;

static void *operates(void *arg)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_cleanup_push(clean, (void *)4);
	sem_post(&ready);
	for (;;)
		operations++;
	pthread_cleanup_pop(0);
	return arg;
}

/* ---- in the kernel ---- */

static void *writes(void *arg)
{
	char some[4096] = {0};

	sem_post(&ready);
	for (;;)
		if (write(other[1], some, sizeof(some)) < 0)
			puts("write");
	return arg;
}

static void *waits_for_signal(void *arg)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sem_post(&ready);
	sigwait(&set, &number);
	return arg;
}

static void *pauses(void *arg)
{
	sem_post(&ready);
	pause();
	return arg;
}

static void *waits_for_child(void *arg)
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	pthread_cleanup_push(end_child, (void *)(long)child);
	sem_post(&ready);
	waitpid(child, NULL, 0);
	pthread_cleanup_pop(0);
	return arg;
}

static void *accepts(void *arg)
{
	sem_post(&ready);
	accept(listens, NULL, NULL);
	return arg;
}

/* Its stream can be used afterwards. */
static void *gets(void *arg)
{
	char line[16];

	sem_post(&ready);
	return fgets(line, sizeof(line), arg) ? NULL : arg;
}

/* Before the call. */
static void *opens(void *arg)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	sem_post(&ready);
	while (!__atomic_load_n(&cancelled, __ATOMIC_ACQUIRE))
		sched_yield();
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	close(open("/dev/null", O_RDONLY));
	puts("opened");
	return arg;
}

static void *ends(void *arg)
{
	sem_post(&ready);
	return arg;
}

static void one(const char *what, void *(*function)(void *), void *arg)
{
	pthread_t t;
	void *result;

	cleaned = cancelled = 0;
	pthread_create(&t, NULL, function, arg);
	sem_wait(&ready);
	if (function == ends)
		usleep(30000);
	if (function == writes || function == pauses)
		usleep(30000);
	int error = pthread_cancel(t);
	__atomic_store_n(&cancelled, 1, __ATOMIC_RELEASE);
	pthread_join(t, &result);
	printf("%s: %d %s, cleaned %d: %d %d\n", what, error, result == PTHREAD_CANCELED ? "cancelled" : "ended",
	       cleaned, order[0], order[1]);
}

int main(void)
{
	pthread_t sleeper;

	sem_init(&none, 0, 0);
	sem_init(&ready, 0, 0);
	listens = socket(AF_INET, SOCK_STREAM, 0);
	if (pipe(end) || pipe(other) || listen(listens, 1))
		return 1;
	one("condition", waits, NULL);
	printf("lock %d\n", pthread_mutex_trylock(&lock));
	pthread_mutex_unlock(&lock);
	one("semaphore", waits_for_semaphore, NULL);
	one("sleep", sleeps, NULL);
	one("read", reads, NULL);
	one("poll", polls, NULL);
	one("look", looks, NULL);
	pthread_create(&sleeper, NULL, sleeps, NULL);
	sem_wait(&ready);
	one("join", joins, &sleeper);
	pthread_cancel(sleeper);
	pthread_join(sleeper, NULL);
	one("later", later, NULL);
	printf("kept %ld\n", kept);
	one("computes", computes, NULL);
	one("atomic operations", operates, NULL);
	one("write", writes, NULL);
	one("sigwait", waits_for_signal, NULL);
	one("pause", pauses, NULL);
	one("child", waits_for_child, NULL);
	one("accept", accepts, NULL);
	one("open", opens, NULL);
	FILE *f = fdopen(end[0], "r");
	one("stream", gets, f);
	char line[16];
	if (write(end[1], "text\n", 5) == 5)
		printf("line %s", fgets(line, sizeof(line), f));
	one("ended", ends, NULL);
	printf("state %d\n", pthread_setcancelstate(7, NULL) == EINVAL);
	return 0;
}
