/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c - a library that gcc has made, whose variables each processor has for itself.  Compiled with -DMAIN: its
 * program. */
#include <stdio.h>

int library_count(int n);

#ifdef MAIN
int main(void)
{
	int first = library_count(100), sum = 0;

#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < 100; i++)
		sum += i;
	printf("%d %d %d\n", first, library_count(1000), sum);
	return 0;
}
#else
static int count;

int library_count(int n)
{
#pragma omp parallel for
	for (int i = 0; i < n; i++) {
#pragma omp atomic
		count++;
	}
	return count;
}
#endif
