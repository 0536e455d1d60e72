/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel.c - cancelled loops, sections, regions and task groups; without OMP_CANCELLATION nothing is. */
#include <omp.h>
#include <stdio.h>

enum { N = 1000 };

static int loops(void)
{
	int found = 0, after = 0;

#pragma omp parallel reduction(+ : after)
	{
		for (int round = 0; round < 3; round++) {
#pragma omp for schedule(dynamic)
			for (int i = 0; i < N; i++) {
				if (i == 100 + round) {
#pragma omp atomic write
					found = i;
#pragma omp cancel for
				}
#pragma omp cancellation point for
			}
		}
#pragma omp for
		for (int i = 0; i < N; i++)
			after++;
	}
	return found * 10000 + after;
}

static int sections(void)
{
	int end = 0;

#pragma omp parallel
	{
#pragma omp sections
		{
#pragma omp section
			{
#pragma omp cancel sections
				end += omp_get_cancellation();
			}
		}
#pragma omp barrier
#pragma omp single
		end += 10;
	}
	return end;
}

/* One thread leaves, the others wait for it at a barrier. */
static int regions(void)
{
	int behind = 0;

#pragma omp parallel reduction(+ : behind)
	{
		if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp cancel parallel
		}
#pragma omp barrier
		behind++;
	}
	return omp_get_cancellation() ? behind : -1;
}

static int groups(void)
{
	int done = 0, all = 0;

#pragma omp parallel
#pragma omp single
	{
#pragma omp taskgroup
		for (int i = 0; i < 50; i++) {
#pragma omp task shared(done) firstprivate(i)
			{
				if (i == 20) {
#pragma omp cancel taskgroup
				}
#pragma omp cancellation point taskgroup
#pragma omp atomic
				done++;
			}
		}
#pragma omp taskgroup
		for (int i = 0; i < 50; i++) {
#pragma omp task shared(all)
#pragma omp atomic
			all++;
		}
	}
	return all * 100 + (omp_get_cancellation() ? done < 50 : done);
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		printf("%d\n", loops());
	printf("%d %d %d\n", sections(), regions(), groups());
	for (int i = 0; i < 2; i++)
#pragma omp parallel if (0)
		printf("%d %d %d %d\n", loops(), sections(), regions(), groups());
	return 0;
}
