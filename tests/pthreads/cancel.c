/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel.c - pthread_cancel of threads that wait, sleep, read, look, ignore it for a while, have ended. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none, ready;
static int end[2], cleaned, order[8];
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

static void *ends(void *arg)
{
	sem_post(&ready);
	return arg;
}

static void one(const char *what, void *(*function)(void *), void *arg)
{
	pthread_t t;
	void *result;

	cleaned = 0;
	pthread_create(&t, NULL, function, arg);
	sem_wait(&ready);
	if (function == ends)
		usleep(30000);
	int error = pthread_cancel(t);
	pthread_join(t, &result);
	printf("%s: %d %s, cleaned %d: %d %d\n", what, error, result == PTHREAD_CANCELED ? "cancelled" : "ended",
	       cleaned, order[0], order[1]);
}

int main(void)
{
	pthread_t sleeper;

	sem_init(&none, 0, 0);
	sem_init(&ready, 0, 0);
	if (pipe(end))
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
	one("ended", ends, NULL);
	printf("state %d\n", pthread_setcancelstate(7, NULL) == EINVAL);
	return 0;
}
