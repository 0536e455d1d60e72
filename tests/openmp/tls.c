/* SPDX-License-Identifier: BSD-3-Clause */
/* tls.c - KIB KiB of thread-local variables, half of them with values at first: what they hold, of all threads. */
#include <stdio.h>

#define N (KIB * 64)

static double zero[N], set[N] = {1};
#pragma omp threadprivate(zero, set)

int main(void)
{
	double sum = 0;

#pragma omp parallel reduction(+ : sum)
	{
		for (int i = 0; i < N; i++)
			zero[i] += set[i] + i;
		for (int i = 0; i < N; i++)
			sum += zero[i];
	}
	printf("%.0f\n", sum);
}
