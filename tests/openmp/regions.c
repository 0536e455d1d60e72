/* SPDX-License-Identifier: BSD-3-Clause */
/* regions.c - parallel regions: team sizes, data of all kinds, nesting, what the functions of omp.h say. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 64

static int global = 1, zeroed[MAX];
static double *heap;
/* Between the two a gap of whole pages. */
static int far_zero[MAX] __attribute__((aligned(65536))), far_set[MAX] __attribute__((aligned(65536))) = {7, 8};
static int own = 3;
#pragma omp threadprivate(own)
static __thread long mine;

static void data(void)
{
	int local = 4, seen[MAX] = {0}, first = 5, last = -1, *pointer = &local;

	heap = calloc(MAX, sizeof(*heap));
	own = 30;
#pragma omp parallel copyin(own) firstprivate(first)
	{
		int t = omp_get_thread_num();
		first += t;
		own += t;
		mine = 100 + t;
		seen[t] = first + own + local + *pointer;
		heap[t] = zeroed[t] + global;
		zeroed[t] = t + 1;
	}
#pragma omp parallel
	seen[omp_get_thread_num()] += own + (int)mine;
#pragma omp parallel for lastprivate(last)
	for (int i = 0; i < 37; i++)
		last = i;
	int n = omp_get_max_threads();
	for (int t = 0; t < n; t++)
		printf("%d: %d %g %d\n", t, seen[t], heap[t], zeroed[t]);
	printf("last %d, first %d\n", last, first);
	free(heap);
}

/* The same memory, written by each thread in its turn, and read by all. */
static void turns(void)
{
	int n = omp_get_max_threads(), wrong = 0, *block = malloc(4096 * sizeof(int));

	memset(block, 0, 4096 * sizeof(int));
	for (int round = 0; round < 3 * n; round++) {
#pragma omp parallel reduction(+ : wrong)
		{
			if (omp_get_thread_num() == round % n)
				for (int i = 0; i < 4096; i++)
					block[i] += i ^ round;
#pragma omp barrier
			int sum = 0;
			for (int r = 0; r <= round; r++)
				sum += 77 ^ r;
			wrong += block[77] != sum;
		}
	}
	printf("turns: %d wrong\n", wrong);
	free(block);
}

static void sizes(void)
{
	int n = omp_get_max_threads(), members[MAX + 1] = {0}, inner = 0, levels = 0;

	for (int k = 1; k <= n; k++) {
#pragma omp parallel num_threads(k)
		{
#pragma omp atomic
			members[k] += omp_get_num_threads() == k && omp_in_parallel() == (k > 1);
#pragma omp barrier
#pragma omp critical
			members[k] += 100;
		}
	}
	for (int k = 1; k <= n; k++)
		printf("%d threads: %d\n", k, members[k]);
#pragma omp parallel if (n > 1000)
	printf("if: %d of %d, level %d, active %d\n", omp_get_thread_num(), omp_get_num_threads(), omp_get_level(),
	       omp_get_active_level());
#pragma omp parallel num_threads(n)
	{
		int outer = omp_get_thread_num(), part = 0, depth = 0;
#pragma omp parallel num_threads(2) reduction(+ : part, depth)
		{
#pragma omp barrier
			part += outer * (omp_get_num_threads() == 1) + (omp_get_ancestor_thread_num(1) == outer);
			depth += omp_get_level() * 10 + omp_get_team_size(2);
#pragma omp single
			part++;
#pragma omp for
			for (int i = 0; i < 10; i++)
				part++;
		}
#pragma omp critical
		{
			inner += part;
			levels += depth;
		}
	}
	printf("nested: %d %d\n", inner, levels);
	omp_set_num_threads(1);
#pragma omp parallel
	printf("one: %d\n", omp_get_num_threads());
	omp_set_num_threads(n);
	printf("%d %d %d %d\n", omp_get_max_threads() == n, omp_in_parallel(), omp_get_num_threads(),
	       omp_get_wtime() > 0);
}

/* Deep frames, of which others see parts. */
static long dive(int depth, const int *above)
{
	int here[512];
	long sum = 0;

	for (int i = 0; i < 512; i++)
		here[i] = depth * i + above[i / 2];
	if (depth)
		return dive(depth - 1, here);
#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < 512; i++)
		sum += here[i] ^ above[i];
	return sum;
}

static void stacks(void)
{
	int start[512] = {1};
	long sums[MAX] = {0};

	printf("dive: %ld\n", dive(300, start));
#pragma omp parallel
	sums[omp_get_thread_num()] = dive(100 + omp_get_thread_num(), start);
	for (int t = 0; t < omp_get_max_threads(); t++)
		printf("%ld ", sums[t]);
	printf("\n");
}

static void apart(void)
{
#pragma omp parallel
	far_zero[omp_get_thread_num()] = far_set[omp_get_thread_num() % 2];
	far_set[2]++;
	for (int t = 0; t < omp_get_max_threads(); t++)
		printf("%d ", far_zero[t] + far_set[t]);
	printf("%d %d\n", (int)((size_t)far_zero % 65536), (int)((size_t)far_set % 65536));
}

static void __attribute__((destructor)) last(void)
{
#pragma omp parallel
	far_zero[omp_get_thread_num()] += global;
	for (int t = 0; t < omp_get_max_threads(); t++)
		printf("%d ", far_zero[t]);
	printf("at the end\n");
}

int main(int argc, char **argv)
{
	printf("%d arguments, %s\n", argc - 1, argc > 1 ? argv[1] : "none");
	data();
	turns();
	sizes();
	stacks();
	apart();
	return argc > 1 ? atoi(argv[1]) : 0;
}
