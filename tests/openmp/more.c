/* SPDX-License-Identifier: BSD-3-Clause */
/* more.c - parallel regions of more threads than the job has processors. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int own = 1;
#pragma omp threadprivate(own)

enum { MOST = 16, N = 500 };
static int seen[MOST], turn[N];
static long table[MOST][256];
static int flag[MOST + 1];

/* Each thread waits for the one before, in a chain of flags; the first one's is there. */
static void pipeline(int threads)
{
	int sum = 0;

	flag[0] = 1;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
	{
		int id = omp_get_thread_num(), ready;
		do {
#pragma omp atomic read seq_cst
			ready = flag[id];
		} while (!ready);
		sum += id;
#pragma omp atomic write seq_cst
		flag[id + 1] = 1;
	}
	printf("pipeline of %d: %d\n", threads, sum);
	for (int i = 0; i <= threads; i++)
		flag[i] = 0;
}

static void barriers(int threads)
{
	long wrong = 0;

#pragma omp parallel num_threads(threads) reduction(+ : wrong)
	{
		int id = omp_get_thread_num(), n = omp_get_num_threads();
		for (int round = 0; round < 20; round++) {
			table[id][round] = 100 * round + id;
#pragma omp barrier
			for (int k = 0; k < n; k++)
				wrong += table[k][round] != 100 * round + k;
#pragma omp barrier
		}
	}
	printf("barriers of %d: %ld wrong\n", threads, wrong);
}

static void shares(int threads)
{
	int order = 0, single = 0, copied = 0, sections = 0, critical = 0;
	long dynamic = 0;

#pragma omp parallel num_threads(threads) reduction(+ : copied)
	{
		int value;
#pragma omp for ordered schedule(dynamic, 3)
		for (int i = 0; i < N; i++) {
#pragma omp ordered
			turn[order++] = i;
		}
#pragma omp for schedule(guided) reduction(+ : dynamic)
		for (int i = 0; i < N; i++)
			dynamic += i;
#pragma omp single
		single++;
#pragma omp single copyprivate(value)
		value = 7;
		copied += value;
#pragma omp sections
		{
#pragma omp section
#pragma omp atomic
			sections += 1;
#pragma omp section
#pragma omp atomic
			sections += 10;
#pragma omp section
#pragma omp atomic
			sections += 100;
		}
		for (int i = 0; i < 10; i++) {
#pragma omp critical(name)
			critical++;
		}
	}
	for (int i = 0; i < N; i++)
		order -= turn[i] == i;
	printf("shares of %d: %d %ld %d %d %d %d\n", threads, order, dynamic, single, copied, sections, critical);
}

/* Between regions of as many threads, these variables keep their values. */
static void privates(int threads)
{
	int sum = 0;

	own = 0;
#pragma omp parallel num_threads(threads) copyin(own)
	own += omp_get_thread_num();
#pragma omp parallel num_threads(threads) reduction(+ : sum)
	sum += own;
	printf("privates of %d: %d\n", threads, sum);
}

static void locks(int threads)
{
	omp_lock_t lock;
	omp_nest_lock_t nest;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int in = 0, most = 0, count = 0;

	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(threads)
	for (int i = 0; i < 20; i++) {
		omp_set_lock(&lock);
		most = ++in > most ? in : most;
		in--;
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nest);
		omp_set_nest_lock(&nest);
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
	}
	omp_destroy_nest_lock(&nest);
	omp_destroy_lock(&lock);
	printf("locks of %d: %d %d\n", threads, most, count);
}

static int fibonacci(int n)
{
	int a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
#pragma omp task shared(b)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

static void tasks(int threads)
{
	int result = 0, loop = 0;

#pragma omp parallel num_threads(threads)
#pragma omp single
	{
		result = fibonacci(12);
#pragma omp taskloop grainsize(5)
		for (int i = 0; i < 100; i++) {
#pragma omp atomic
			loop += i;
		}
	}
	printf("tasks of %d: %d %d\n", threads, result, loop);
}

int main(void)
{
	static const int sizes[] = {5, 3, 8, 1, 2, 16};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int n = sizes[i], all = 0, levels = 0;
		omp_set_num_threads(n);
		printf("%d threads at most\n", omp_get_max_threads());
#pragma omp parallel reduction(+ : all, levels)
		{
			all++;
			seen[omp_get_thread_num()]++;
			levels += omp_get_level() + omp_get_team_size(1) + omp_get_ancestor_thread_num(1);
#pragma omp parallel num_threads(3) if (0)
			levels += omp_get_num_threads();
		}
		printf("%d threads, %d\n", all, levels);
		pipeline(n);
		barriers(n);
		shares(n);
		privates(n);
		locks(n);
		tasks(n);
	}
	for (int i = 0; i < MOST; i++)
		printf("%d ", seen[i]);
	printf("\n");
	return 0;
}
