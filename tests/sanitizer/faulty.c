/* SPDX-License-Identifier: BSD-3-Clause */
/* faulty.c MISTAKE - a program that makes one mistake, between tw_init and tw_finalize: what must the sanitizers see,
 * also in a process with two views of its memory, trapped faults and jemalloc? */
#include "tweed/tweed.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int counter;

static void overflow(void)
{
	char *volatile block = malloc(32);
	block[32] = 1;
	free(block);
}

static void late(void)
{
	char *volatile block = malloc(32);
	free(block);
	block[0] = 1;
}

static void leak(void)
{
	char *volatile block = malloc(4321);
	block[0] = 1;
	block = NULL;
}

static void arithmetic(void)
{
	volatile int most = INT_MAX;
	most = most + 1;
}

static void *count(void *arg)
{
	for (int i = 0; i < 1000; i++)
		*(volatile int *)&counter += 1;
	return arg;
}

static void race(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, count, NULL))
		abort();
	count(NULL);
	pthread_join(thread, NULL);
}

static void none(void) {}

static const struct {
	const char *name;
	void (*make)(void);
} mistakes[] = {{"none", none}, {"overflow", overflow},     {"late", late},
                {"leak", leak}, {"arithmetic", arithmetic}, {"race", race}};

int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	/* Shared memory in use: own and another's blocks, faults of both kinds. */
	uint64_t *mine = tw_malloc_all(64 * sizeof(*mine) * (size_t)tw_count());
	mine[64 * tw_id()] = 1;
	tw_barrier_all();
	if (mine[64 * ((tw_id() + 1) % tw_count())] != 1)
		tw_abort(3, "faulty: wrong memory");
	if (tw_id() == 0)
		for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
			if (argc == 2 && strcmp(mistakes[i].name, argv[1]) == 0)
				mistakes[i].make();
	tw_finalize();
	puts("made");
	return 0;
}
