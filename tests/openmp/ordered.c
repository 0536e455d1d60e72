/* SPDX-License-Identifier: BSD-3-Clause */
/* ordered.c - a thread waits for others of its own processor, in an ordered loop and behind a block of single. */
#include <stdio.h>
#include <stdlib.h>

#define TURNS 1000

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 16;
	long order = 0, sum = 0;

#pragma omp parallel for ordered schedule(static, 1) num_threads(threads)
	for (int i = 0; i < TURNS; i++) {
#pragma omp ordered
		order = order * 31 % 1000003 + i;
	}
	for (int k = 0; k < 20; k++) {
#pragma omp parallel num_threads(threads)
		{
#pragma omp single nowait
#pragma omp atomic
			sum += k;
#pragma omp atomic
			sum += 1;
		}
	}
	printf("%ld %ld\n", order, sum);
	return 0;
}
