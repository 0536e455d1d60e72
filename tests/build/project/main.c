/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c - threads, of OpenMP or POSIX, that use a library.  main [PLUGIN] */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tally.h"
#ifdef _OPENMP
#include <omp.h>
#endif

#define TIMES 50

int helper(int n);
static int begun;

int helper(int n)
{
	return -n;
}

/* In place of the library's. */
int tally_weight(int n)
{
	return n;
}

static void __attribute__((constructor)) begin(void)
{
	begun = tally_begun;
}

static void *work(void *arg)
{
	for (int i = 0; i < TIMES; i++)
		tally_add(1);
	return arg;
}

static int threads(void)
{
	const char *text = getenv("THREADS");
	return text ? atoi(text) : 1;
}

static void all(int n)
{
#ifdef _OPENMP
#pragma omp parallel num_threads(n)
	work(NULL);
#else
	pthread_t thread[16];
	for (int i = 1; i < n; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			exit(9);
	work(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(thread[i], NULL);
#endif
}

static void plugin(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	char *(*text)(int) = NULL;

	if (library)
		*(void **)&text = dlsym(library, "plugin_text");
	if (!text) {
		printf("%s\n", dlerror());
		exit(8);
	}
	char *said = text(helper(5));
	printf("%s\n", said);
	free(said);
}

int main(int argc, char **argv)
{
	int n = threads();

	all(n);
	printf("%d begun, %d times, sum %ld\n", begun, tally_count() / n, tally_sum() / n);
	if (argc > 1)
		plugin(argv[1]);
	return begun && tally_count() == n * TIMES && tally_sum() == n * TIMES * 1000001L ? 3 : 1;
}
