/* SPDX-License-Identifier: BSD-3-Clause */
/* tasks.c - tasks: data, recursion, dependences, groups, loops. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 8)
	a = fib(n - 1);
#pragma omp task shared(b) final(n < 6)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

struct tree {
	struct tree *left, *right;
	int value;
};

static struct tree *grow(int depth)
{
	struct tree *t = malloc(sizeof(*t));
	t->value = depth;
	t->left = t->right = NULL;
	if (depth) {
#pragma omp task
		t->left = grow(depth - 1);
#pragma omp task
		t->right = grow(depth - 1);
#pragma omp taskwait
	}
	return t;
}

static int weigh(const struct tree *t)
{
	return t ? t->value + weigh(t->left) + weigh(t->right) : 0;
}

/* A task has control variables of its own, and does not hold its parent's locks. */
static void own(void)
{
	omp_nest_lock_t lock;
	int got = 7;

	omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(1)
	{
		omp_set_num_threads(6);
		omp_set_nest_lock(&lock);
#pragma omp task shared(lock, got)
		{
			omp_set_num_threads(5);
			got = omp_test_nest_lock(&lock);
		}
#pragma omp taskwait
		printf("%d %d %d\n", omp_get_max_threads(), got, omp_test_nest_lock(&lock));
		omp_unset_nest_lock(&lock);
		omp_unset_nest_lock(&lock);
	}
	omp_destroy_nest_lock(&lock);
}

int main(void)
{
	long f = 0, sum = 0;
	struct tree *t = NULL;
	int list[50], chain = 1, marks[100] = {0}, done = 0;

	for (int i = 0; i < 50; i++)
		list[i] = i * i;
#pragma omp parallel
	{
#pragma omp single
		f = fib(15);
#pragma omp single nowait
		t = grow(6);
#pragma omp single
		for (int i = 0; i < 50; i++)
#pragma omp task firstprivate(i) shared(sum)
#pragma omp atomic
			sum += list[i];
#pragma omp single
		{
			for (int i = 0; i < 10; i++)
#pragma omp task depend(inout : chain)
				chain = chain * 3 % 1001 + i;
#pragma omp taskgroup
			{
#pragma omp task shared(done)
				{
#pragma omp task shared(done)
#pragma omp atomic
					done++;
#pragma omp taskyield
				}
			}
			done *= 10;
#pragma omp taskloop grainsize(7)
			for (int i = 0; i < 100; i++)
				marks[i] += i;
#pragma omp taskloop num_tasks(5) collapse(2)
			for (int i = 0; i < 10; i++)
				for (int k = 0; k < 10; k++)
					marks[i * 10 + k]++;
		}
	}
	/* Every thread makes some; a barrier ends them. */
	int made = 0;
#pragma omp parallel
	{
		for (int i = 0; i < 20; i++)
#pragma omp task shared(made)
#pragma omp atomic
			made++;
#pragma omp barrier
#pragma omp critical
		made += 1000;
	}
	int wrong = 0;
	for (int i = 0; i < 100; i++)
		wrong += marks[i] != i + 1;
	printf("%ld %ld %d %d %d %d %d\n", f, sum, weigh(t), chain, done, wrong, made == omp_get_max_threads() * 1020);
	own();
	return 0;
}
