/* SPDX-License-Identifier: BSD-3-Clause */
/* robust.c - robust mutexes, whose owners end, and named semaphores. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { ROBUST, NESTED, KEPT, KINDS };
static pthread_mutex_t lock[KINDS];
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int guarded;

static void *owner(void *arg)
{
	for (int i = 0; i < KINDS; i++)
		pthread_mutex_lock(&lock[i]);
	pthread_mutex_lock(&lock[NESTED]);
	pthread_mutex_unlock(&lock[KEPT]);
	guarded++;
	return arg;
}

static void *taker(void *result)
{
	*(int *)result = pthread_mutex_lock(&lock[ROBUST]);
	guarded++;
	if (!*(int *)result)
		pthread_mutex_unlock(&lock[ROBUST]);
	return NULL;
}

/* Its mutex's owner ends while it waits. */
static void *waiter(void *result)
{
	pthread_mutex_lock(&lock[KEPT]);
	guarded = 0;
	while (!guarded && !*(int *)result)
		*(int *)result = pthread_cond_wait(&changed, &lock[KEPT]);
	pthread_mutex_consistent(&lock[KEPT]);
	pthread_mutex_unlock(&lock[KEPT]);
	return NULL;
}

static void *signals(void *arg)
{
	pthread_mutex_lock(&lock[KEPT]);
	pthread_cond_signal(&changed);
	guarded = 1;
	return arg;
}

static void run(void *(*function)(void *), void *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, function, arg);
	pthread_join(t, NULL);
}

static void robust(void)
{
	static int result, waits;
	pthread_mutexattr_t attr;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < KINDS; i++) {
		pthread_mutexattr_settype(&attr, i == NESTED ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
		pthread_mutex_init(&lock[i], &attr);
	}
	run(owner, NULL);
	printf("kept: %d\n", pthread_mutex_trylock(&lock[KEPT]));
	pthread_mutex_unlock(&lock[KEPT]);
	run(taker, &result); /* ends with it, too, and has not made it consistent */
	printf("guarded %d; dead: %d %d", guarded, result == EOWNERDEAD,
	       pthread_mutex_trylock(&lock[ROBUST]) == EOWNERDEAD);
	printf("; consistent %d %d", pthread_mutex_consistent(&lock[ROBUST]),
	       pthread_mutex_consistent(&lock[KEPT]) == EINVAL);
	pthread_mutex_unlock(&lock[ROBUST]);
	run(taker, &result);
	printf("; then %d\n", result);
	printf("nested: %d", pthread_mutex_lock(&lock[NESTED]) == EOWNERDEAD);
	printf(" %d", pthread_mutex_lock(&lock[NESTED]));
	pthread_mutex_unlock(&lock[NESTED]);
	printf("; not consistent %d", pthread_mutex_unlock(&lock[NESTED]));
	printf("; lost %d", pthread_mutex_lock(&lock[NESTED]) == ENOTRECOVERABLE);
	printf(" %d", pthread_mutex_trylock(&lock[NESTED]) == ENOTRECOVERABLE);
	printf("; not held %d\n", pthread_mutex_unlock(&lock[NESTED]) == EPERM);
	guarded = 1;
	pthread_create(&t, NULL, waiter, &waits);
	for (int begun = 0; !begun;) {
		pthread_mutex_lock(&lock[KEPT]);
		begun = !guarded;
		pthread_mutex_unlock(&lock[KEPT]);
	}
	run(signals, NULL);
	pthread_join(t, NULL);
	printf("wait: %d; then %d\n", waits == EOWNERDEAD, pthread_mutex_lock(&lock[KEPT]));
}

static void *opens(void *arg)
{
	sem_t *s = sem_open("/tweed-robust", O_CREAT, 0600, 7);

	for (int i = 0; i < 100; i++)
		sem_post(s);
	sem_close(s);
	return arg;
}

static void named(void)
{
	int value, error;

	printf("none %d", sem_open("/tweed-robust", 0) == SEM_FAILED);
	printf(" %d", errno == ENOENT);
	sem_t *s = sem_open("/tweed-robust", O_CREAT | O_EXCL, 0600, 1);
	printf("; twice %d", sem_open("/tweed-robust", O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED);
	printf(" %d", errno == EEXIST);
	printf(" %d\n", sem_open("/tweed-robust", 0) == s);
	run(opens, NULL);
	sem_getvalue(s, &value);
	printf("value %d", value);
	printf("; unlink %d", sem_unlink("/tweed-robust"));
	printf(" %d", sem_unlink("/tweed-robust"));
	error = errno;
	sem_t *other = sem_open("/tweed-robust", O_CREAT, 0600, 3);
	sem_getvalue(other, &value);
	printf(" %d; another %d %d", error == ENOENT, other != s, value);
	sem_wait(s);
	sem_getvalue(s, &value);
	printf("; value %d; close %d", value, sem_close(s));
	printf(" %d", sem_close(s));
	printf(" %d", sem_close(s));
	printf(" %d", sem_close(other));
	printf(" %d\n", sem_unlink("/tweed-robust"));
	errno = 0;
	printf("names: %d", sem_open("/a/b", O_CREAT, 0600, 0) == SEM_FAILED);
	printf(" %d", errno == EINVAL);
	printf("; value %d", sem_open("/tweed-many", O_CREAT, 0600, -1) == SEM_FAILED);
	printf(" %d\n", errno == EINVAL);
}

int main(void)
{
	robust();
	named();
	return 0;
}
