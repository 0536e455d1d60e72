/* SPDX-License-Identifier: BSD-3-Clause */
/* reductions.c - reductions over tasks; and into a variable that a `single nowait` before them has set. */
#include <omp.h>
#include <stdio.h>

struct pair {
	long sum, product;
};

static void pair_add(struct pair *to, const struct pair *from)
{
	to->sum += from->sum;
	to->product = to->product * from->product % 1000003;
}

#pragma omp declare reduction(both : struct pair : pair_add(&omp_out, &omp_in)) initializer(omp_priv = {0, 1})

static long groups(int n)
{
	long sum = 5;
	int most = 0;
	struct pair pair = {0, 1};

#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(max : most) task_reduction(both : pair)
	for (int i = 1; i <= n; i++) {
#pragma omp task in_reduction(+ : sum)
		sum += i;
#pragma omp task in_reduction(both : pair) in_reduction(max : most)
		{
			pair.sum += i;
			pair.product = pair.product * i % 1000003;
			most = i * 7 % 31 > most ? i * 7 % 31 : most;
#pragma omp task in_reduction(+ : sum)
			sum += 2 * i;
#pragma omp taskwait
		}
	}
	return sum + 1000 * most + 100000 * pair.sum + pair.product;
}

static long regions(int threads)
{
	long sum = 0, list[4] = {0};

#pragma omp parallel num_threads(threads) reduction(task, + : sum, list)
	{
		sum++;
#pragma omp single
		for (int i = 0; i < 40; i++) {
#pragma omp task in_reduction(+ : sum, list)
			{
				sum += 100;
				list[i % 4] += i;
			}
		}
	}
	return sum + 1000000 * (list[0] + 3 * list[1] + 5 * list[2] + 7 * list[3]);
}

static long loops(void)
{
	long sum = 0, again = 1;

#pragma omp parallel
	{
#pragma omp for reduction(task, + : sum) schedule(dynamic)
		for (int i = 0; i < 30; i++) {
			sum += i;
#pragma omp task in_reduction(+ : sum)
			sum += 1000;
		}
#pragma omp sections reduction(task, * : again)
		{
#pragma omp section
#pragma omp task in_reduction(* : again)
			again *= 3;
#pragma omp section
			again *= 5;
		}
	}
	return sum + 1000000 * again;
}

static long taskloops(void)
{
	long sum = 0, none = 7;

#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop reduction(+ : sum) grainsize(7)
		for (int i = 0; i < 100; i++)
			sum += i;
#pragma omp taskloop reduction(+ : none)
		for (int i = 0; i < (int)none - 7; i++)
			none += i;
#pragma omp taskgroup task_reduction(+ : sum)
#pragma omp taskloop in_reduction(+ : sum) num_tasks(5)
		for (int i = 0; i < 100; i++)
			sum += i;
	}
	return sum + none;
}

static double many[20000], one, two, three;

/* A race that one machine never loses, nor do nodes unless the host is busy: true if it was lost seldom. */
static int singles(void)
{
	int wrong = 0;

#pragma omp parallel
	for (int k = 0; k < 200; k++) {
#pragma omp single nowait
		one = 0;
#pragma omp for nowait
		for (int i = 0; i < 20000; i++)
			many[i] = i + k;
#pragma omp for reduction(+ : one)
		for (int i = 0; i < 20000; i++)
			one += many[i];
#pragma omp master
		wrong += one != 20000. * 19999 / 2 + 20000. * k;
#pragma omp barrier
#pragma omp single nowait
		two = three = 0;
#pragma omp for reduction(+ : two, three)
		for (int i = 0; i < 20000; i++) {
			two += many[i];
			three++;
		}
#pragma omp master
		wrong += two != one || three != 20000;
#pragma omp barrier
	}
	if (wrong > 20)
		fprintf(stderr, "%d of 400 are wrong\n", wrong);
	return wrong <= 20;
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		printf("%ld %ld %ld %ld %ld\n", groups(30 + i), regions(1), regions(5), loops(), taskloops());
	printf("%d\n", singles());
	for (int i = 0; i < 2; i++)
#pragma omp parallel if (0)
		printf("%ld %ld %ld %ld %d\n", groups(30 + i), regions(5), loops(), taskloops(), singles());
	return 0;
}
