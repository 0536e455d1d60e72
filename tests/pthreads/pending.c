/* SPDX-License-Identifier: BSD-3-Clause */
/* pending.c - what mutexes guard, when nobody else waits for them: their releases may stay pending.  Argument: how many
 * threads beside main's. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 300
#define PARTS  8

static int threads;
static _Atomic int wrong;

static struct part {
	pthread_mutex_t mutex;
	long value[700];
} part[PARTS];
static _Atomic long operations;

/* Mutexes that now and then go to another thread, beside atomic operations on one word. */
static void *adds(void *arg)
{
	long me = (long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct part *p = &part[i % 16 == 15 ? i / 16 % PARTS : me % PARTS];

		pthread_mutex_lock(&p->mutex);
		for (int k = 1; k < 700; k += 99)
			wrong += p->value[k] != p->value[0];
		for (int k = 0; k < 700; k += 99)
			p->value[k]++;
		p->value[0] = p->value[99];
		for (int k = 1; k < 700; k += 99)
			p->value[k] = p->value[0];
		pthread_mutex_unlock(&p->mutex);
		atomic_fetch_add(&operations, 1);
		wrong += atomic_load(&operations) <= i;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[64];

	threads = argc > 1 ? atoi(argv[1]) : 3;
	for (int i = 0; i < PARTS; i++)
		pthread_mutex_init(&part[i].mutex, NULL);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, adds, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	long sum = 0;
	for (int i = 0; i < PARTS; i++)
		sum += part[i].value[0];
	printf("sum %ld, %ld operations\n", sum - ROUNDS * threads, operations - ROUNDS * threads);
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
