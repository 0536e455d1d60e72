/* SPDX-License-Identifier: BSD-3-Clause */
/* shares.c - worksharing: loops of all schedules and types, ordered, sections, single, copyprivate, master. */
#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int hits[4000];

static void check(const char *name, int n)
{
	int wrong = 0;

	for (int i = 0; i < n; i++)
		wrong += hits[i] != 1;
	for (int i = 0; i < 4000; i++)
		hits[i] = 0;
	printf("%s: %d wrong\n", name, wrong);
}

#define LOOP(name, clause)                                                                                             \
	{                                                                                                              \
		_Pragma("omp parallel")                                                                                \
		{                                                                                                      \
			_Pragma(clause) for (int i = 0; i < 1000; i++) hits[i]++;                                      \
			_Pragma(clause) for (long i = 1999; i >= 1000; i -= 1) hits[i]++;                              \
			_Pragma(clause) for (unsigned long long i = 2000; i < 3000; i += 1) hits[i]++;                 \
			_Pragma(clause) for (unsigned i = 0; i < 3000; i += 3) hits[3000 + i / 3]++;                   \
		}                                                                                                      \
		check(name, 4000);                                                                                     \
	}

static void loops(void)
{
	LOOP("static", "omp for schedule(static)")
	LOOP("static 7", "omp for schedule(static, 7)")
	LOOP("dynamic", "omp for schedule(dynamic)")
	LOOP("dynamic 13 nowait", "omp for schedule(dynamic, 13) nowait")
	LOOP("monotonic dynamic", "omp for schedule(monotonic: dynamic, 4)")
	LOOP("guided", "omp for schedule(guided)")
	LOOP("guided 5 nowait", "omp for schedule(guided, 5) nowait")
	LOOP("runtime", "omp for schedule(runtime)")
	LOOP("auto", "omp for schedule(auto)")
	omp_set_schedule(omp_sched_static, 3);
	LOOP("runtime static", "omp for schedule(runtime)")
	omp_set_schedule(omp_sched_guided, 2);
	LOOP("runtime guided", "omp for schedule(runtime) nowait")
	omp_sched_t kind;
	int chunk;
	omp_get_schedule(&kind, &chunk);
	printf("%d %d\n", (int)kind, chunk);
	omp_set_schedule(omp_sched_dynamic | omp_sched_monotonic, 5);
	omp_get_schedule(&kind, &chunk);
	printf("%d %d\n", (int)kind, chunk);
	LOOP("runtime monotonic", "omp for schedule(runtime)")
	omp_set_schedule(omp_sched_auto, 1);
	omp_get_schedule(&kind, &chunk);
	printf("%d %d\n", (int)kind, chunk);
	LOOP("runtime auto", "omp for schedule(runtime)")
#pragma omp parallel for schedule(dynamic, 3) collapse(2)
	for (int i = 0; i < 40; i++)
		for (int k = 0; k < 25; k++)
			hits[i * 25 + k]++;
	check("collapse", 1000);
#pragma omp parallel for schedule(guided)
	for (unsigned long long i = ULLONG_MAX - 100; i < ULLONG_MAX; i++)
		hits[i - (ULLONG_MAX - 100)]++;
	check("far end", 100);
#pragma omp parallel for schedule(dynamic, 9)
	for (long i = LONG_MIN + 50; i > LONG_MIN + 10; i -= 2)
		hits[(i - LONG_MIN - 12) / 2]++;
	check("near end", 20);
#pragma omp parallel for schedule(dynamic)
	for (int i = 5; i < 5; i++)
		hits[i]++;
	check("empty", 0);
	/* More constructs without a barrier than are kept apart at a time. */
#pragma omp parallel
	for (int round = 0; round < 300; round++) {
#pragma omp for schedule(dynamic, 2) nowait
		for (int i = 0; i < 8; i++)
#pragma omp atomic
			hits[i]++;
	}
	for (int i = 0; i < 8; i++)
		hits[i] -= 299;
	check("many", 8);
}

#define ORDERED(clause)                                                                                                \
	_Pragma(clause) for (int i = 0; i < 60; i++)                                                                   \
	{                                                                                                              \
		int v = i * i;                                                                                         \
		_Pragma("omp ordered") list[at++] = v;                                                                 \
	}                                                                                                              \
	wrong = at != 60;                                                                                              \
	for (int i = 0; i < 60; i++)                                                                                   \
		wrong += list[i] != i * i;                                                                             \
	at = 0;                                                                                                        \
	printf("%s: %d wrong\n", clause, wrong);

static void ordered(void)
{
	int list[60], at = 0, wrong;

	ORDERED("omp parallel for ordered schedule(static)")
	ORDERED("omp parallel for ordered schedule(static, 3)")
	ORDERED("omp parallel for ordered schedule(dynamic)")
	ORDERED("omp parallel for ordered schedule(dynamic, 4)")
	ORDERED("omp parallel for ordered schedule(guided, 2)")
	ORDERED("omp parallel for ordered schedule(runtime)")
#pragma omp parallel for ordered
	for (int i = 0; i < 20; i++)
		if (i % 3 == 0)
#pragma omp ordered
			list[at++] = i;
	printf("some: %d, last %d\n", at, list[at - 1]);
}

static void others(void)
{
	int count[6] = {0}, singles = 0, masters = 0, sum = 0, last = 0;

#pragma omp parallel sections lastprivate(last)
	{
		count[0]++;
#pragma omp section
		count[1]++;
#pragma omp section
		last = count[2] += 7;
	}
#pragma omp parallel
	{
#pragma omp sections
		{
#pragma omp section
			count[3]++;
#pragma omp section
			{
				count[4]++;
				count[5]--;
			}
		}
		for (int r = 0; r < 10; r++) {
			int v = 0, more[3] = {0};
#pragma omp single copyprivate(v, more)
			{
				v = 1000 + r;
				more[2] = r;
#pragma omp atomic
				singles++;
			}
#pragma omp critical
			sum += v + more[2];
#pragma omp single nowait
			{
#pragma omp atomic
				singles++;
			}
#pragma omp master
			masters++;
		}
	}
	printf("%d %d %d %d %d %d, last %d\n", count[0], count[1], count[2], count[3], count[4], count[5], last);
	printf("singles %d, masters %d, sum %d\n", singles, masters, sum);
}

int main(void)
{
	loops();
	ordered();
	others();
	for (int i = 0; i < 2; i++) /* regions inside a region of one thread */
#pragma omp parallel num_threads(1)
	{
		loops();
		ordered();
		others();
	}
	return 0;
}
