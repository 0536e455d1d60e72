/* SPDX-License-Identifier: BSD-3-Clause */
/* loader.c - callbacks of dl_iterate_phdr, which run under a lock of the C library, wait for other threads that call
 * it, too. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define THREADS 5
#define ROUNDS  60

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int spun;
static long called;

static void count(void)
{
	while (__atomic_exchange_n(&spun, 1, __ATOMIC_ACQUIRE))
		;
	pthread_mutex_lock(&mutex);
	called++;
	sched_yield();
	pthread_mutex_unlock(&mutex);
	__atomic_store_n(&spun, 0, __ATOMIC_RELEASE);
}

static int within(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)info, (void)bytes, (void)data;
	count();
	return 7;
}

static int outer(struct dl_phdr_info *info, size_t bytes, void *data)
{
	count();
	return within(info, bytes, data) + dl_iterate_phdr(within, data);
}

static void *run(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (dl_iterate_phdr(outer, arg) != 14)
			printf("another result\n");
		void *program = dlopen(NULL, RTLD_NOW);
		count();
		dlclose(program);
	}
	return arg;
}

int main(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	run(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("called %ld\n", called);
	return 0;
}
