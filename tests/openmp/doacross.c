/* SPDX-License-Identifier: BSD-3-Clause */
/* doacross.c - loops whose iterations wait for earlier ones. */
#include <stdio.h>

enum { N = 60, M = 23 };
static long line[N + 1], grid[N + 1][M + 1], cube[8][9][10];

static void clear(void)
{
	for (int i = 0; i <= N; i++) {
		line[i] = i == 0;
		for (int j = 0; j <= M; j++)
			grid[i][j] = i == 0 || j == 0;
	}
	for (int i = 0; i < 8 * 9 * 10; i++)
		(&cube[0][0][0])[i] = i % 7;
}

static unsigned long sum(void)
{
	unsigned long all = 0;

	for (int i = 0; i <= N; i++)
		all = all * 31 + (unsigned long)line[i];
	for (int i = 0; i < (N + 1) * (M + 1); i++)
		all = all * 31 + (unsigned long)(&grid[0][0])[i];
	for (int i = 0; i < 8 * 9 * 10; i++)
		all = all * 31 + (unsigned long)(&cube[0][0][0])[i];
	return all;
}

#define CHAIN(clauses)                                                                                                 \
	do {                                                                                                           \
		clear();                                                                                               \
		_Pragma(clauses) for (int i = 1; i <= N; i++)                                                          \
		{                                                                                                      \
			_Pragma("omp ordered depend(sink : i - 1)") line[i] = line[i - 1] * 3 + i;                     \
			_Pragma("omp ordered depend(source)")                                                          \
		}                                                                                                      \
		printf("%s: %lx\n", clauses, sum());                                                                   \
	} while (0)

int main(void)
{
	CHAIN("omp parallel for ordered(1)");
	CHAIN("omp parallel for ordered(1) schedule(static)");
	CHAIN("omp parallel for ordered(1) schedule(static, 4)");
	CHAIN("omp parallel for ordered(1) schedule(dynamic, 3)");
	CHAIN("omp parallel for ordered(1) schedule(guided)");
	CHAIN("omp parallel for ordered(1) schedule(runtime)");
	CHAIN("omp parallel for ordered(1) num_threads(7)");
	for (int i = 0; i < 2; i++)
#pragma omp parallel if (0)
	{
		CHAIN("omp parallel for ordered(1)");
		CHAIN("omp parallel for ordered(1) schedule(dynamic)");
	}
	clear();
#pragma omp parallel
	{
#pragma omp for ordered(2) nowait
		for (int i = 1; i <= N; i++)
			for (int j = 1; j <= M; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
				grid[i][j] = grid[i - 1][j] * 5 + grid[i][j - 1];
#pragma omp ordered depend(source)
			}
#pragma omp for ordered(3) schedule(static, 1)
		for (unsigned long i = 2; i < 8; i++)
			for (int j = 8; j > 0; j -= 2)
				for (int k = 0; k < 9; k++) {
#pragma omp ordered depend(sink : i - 2, j, k) depend(sink : i, j, k - 1) depend(sink : i - 1, j, k)
					cube[i][j][k] =
					    cube[i - 2][j][k] + 3 * cube[i - 1][j][k] + (k ? cube[i][j][k - 1] : 0);
#pragma omp ordered depend(source)
				}
	}
	printf("two and three: %lx\n", sum());
	return 0;
}
