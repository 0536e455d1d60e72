/* SPDX-License-Identifier: BSD-3-Clause */
/* starts.c - a processor starts a thread while another one of it, which has no turn yet, begins.  Main changes what the
 * new thread's stack has beside it, and its page comes from another node. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 400

static pthread_barrier_t all;

static void *work(void *arg)
{
	pthread_barrier_wait(&all);
	return arg;
}

int main(int argc, char **argv)
{
	long sum = 0, threads = argc > 1 ? atol(argv[1]) : 3;
	pthread_t thread[MOST];
	void *result;

	pthread_barrier_init(&all, NULL, (unsigned)threads + 1);
	for (long i = 0; i < threads; i++) {
		pthread_create(&thread[i], NULL, work, (void *)i);
		pthread_setname_np(thread[i], "started");
	}
	pthread_barrier_wait(&all);
	for (long i = 0; i < threads; i++) {
		pthread_join(thread[i], &result);
		sum += (long)result;
	}
	printf("%ld\n", sum);
	return 0;
}
