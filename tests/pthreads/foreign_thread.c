/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign_thread.c - a library that plain gcc has made starts threads.  They may run its own code, and the program's
 * as long as that does not call Tweed.  Compiled with -DMAIN: the program. */
#ifdef MAIN
#include <pthread.h>
#include <stdio.h>

void start(void (*run)(void));
void join(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long locked, plain;

static void run(void)
{
	__atomic_fetch_add(&plain, 1, __ATOMIC_RELAXED);
}

static void run_locked(void)
{
	pthread_mutex_lock(&mutex);
	locked++;
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	(void)argv;
	start(argc > 1 ? run_locked : run);
	for (int i = 0; i < 100; i++)
		run_locked();
	join();
	printf("%ld %ld\n", locked, plain);
	return 0;
}

#else
#include <pthread.h>

static pthread_t threads[4];
static void (*called)(void);

static void *run(void *arg)
{
	(void)arg;
	called();
	return NULL;
}

void start(void (*run_this)(void));
void start(void (*run_this)(void))
{
	called = run_this;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run, NULL);
}

void join(void);
void join(void)
{
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
#endif
