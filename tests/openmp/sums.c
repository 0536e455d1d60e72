/* SPDX-License-Identifier: BSD-3-Clause */
/* sums.c - atomic operations whose results are used, and not used.  The number at the end of a function's name says how
 * many operations of it the transport may execute without an answer (tools/compile/sums.c). */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define N     3000
#define TIMES 400

static double real[N], some[8];
static float half[N];
static int count[N];
static long wide[8];

void scatter_1(double *h, const int *at, const double *by, int n)
{
	for (int i = 0; i < n; i++) {
#pragma omp atomic
		h[at[i]] += by[i];
	}
}

void scatter_half_1(float *h, const int *at, const double *by, int n)
{
	for (int i = 0; i < n; i++) {
#pragma omp atomic
		h[at[i]] -= (float)by[i] * 2;
	}
}

void three_3(double *h, int n)
{
	for (int i = 0; i < n; i++) {
		double x = i % 5 * .5, y = x * x;
#pragma omp atomic
		h[0] += x;
#pragma omp atomic
		h[1] += y;
#pragma omp atomic
		h[2] = h[2] - x * y;
	}
}

double old_0(double *h, double by)
{
	double was;
#pragma omp atomic capture
	{
		was = *h;
		*h += by;
	}
	return was;
}

double new_0(double *h, double by)
{
	double is;
#pragma omp atomic capture
	is = *h += by;
	return is;
}

void old_elsewhere_0(double *h, double by, double *to)
{
	double was;
#pragma omp atomic capture
	{
		was = *h;
		*h += by;
	}
	to[1] = was > 0;
}

void product_0(double *h, double by)
{
#pragma omp atomic
	*h *= by;
}

void reversed_0(double *h, double by)
{
#pragma omp atomic
	*h = by - *h;
}

/* As programs write it that know no atomic operations of floating point. */
static long bits(double x)
{
	long b;

	memcpy(&b, &x, sizeof(b));
	return b;
}

static double value(long b)
{
	double x;

	memcpy(&x, &b, sizeof(x));
	return x;
}

long by_hand_0(long *h, double by)
{
	long was = __atomic_load_n(h, __ATOMIC_RELAXED), seen = was;

	for (;; was = seen) {
		if (__atomic_compare_exchange_n(h, &seen, bits(value(was) + by), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return was;
	}
}

int by_hand_tested_0(long *h, double by)
{
	long was = __atomic_load_n(h, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(h, &was, bits(value(was) + by), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return was == 0;
}

void integers_4(int *h, long *w, int by)
{
#pragma omp atomic
	h[0] += by;
#pragma omp atomic
	h[1]++;
#pragma omp atomic
	w[0] -= by;
#pragma omp atomic
	w[1] |= 1l << by % 60;
}

int used_0(int *h)
{
	int was;
#pragma omp atomic capture
	was = h[0]++;
	return was;
}

void last_1(int *h)
{
	__atomic_fetch_add(h, 2, __ATOMIC_RELAXED);
}

/* The same thread reads what it has added, and stores beside it. */
static int own_part(int me)
{
	double *part = real + me * 8;
	int bad = 0;

	for (int i = 0; i < TIMES; i++) {
		double before = part[0];
#pragma omp atomic
		part[0] += i;
		bad += part[0] != before + i;
		part[1] = i;
#pragma omp atomic
		part[1] += 1;
		bad += part[1] != i + 1;
	}
	return bad;
}

int main(void)
{
	double sum = 0, sum_half = 0;
	long counts = 0, bad = 0;

#pragma omp parallel reduction(+ : bad)
	{
		int me = omp_get_thread_num(), at[TIMES];
		double by[TIMES], to[2] = {0};
		unsigned s = (unsigned)me * 77 + 1;

		bad += own_part(me);
#pragma omp barrier
		for (int i = 0; i < TIMES; i++) {
			s = s * 1664525u + 1013904223u;
			at[i] = (int)(s >> 8) % (N - 2);
			by[i] = i % 9 - 4;
		}
		scatter_1(real, at, by, TIMES);
		scatter_half_1(half, at, by, TIMES);
		three_3(some, TIMES);
		for (int i = 0; i < TIMES; i++) {
			integers_4(count + at[i], wide, i);
			last_1(count + i);
			bad += old_0(some + 3, 1) < 0;
			bad += new_0(some + 3, 1) < 2;
			old_elsewhere_0(some + 4, 2, to);
			bad += by_hand_0(wide + 2, 1.5) < 0;
			bad += by_hand_tested_0(wide + 3, 2.5) > 1;
			bad += used_0(count + N - 1) < 0;
		}
#pragma omp barrier
#pragma omp critical
		{
			product_0(some + 4, 2);
			reversed_0(some + 4, 1);
		}
#pragma omp barrier
		bad += some[3] != 2. * TIMES * omp_get_num_threads();
	}
	for (int i = 0; i < N; i++) {
		sum += real[i];
		sum_half += half[i];
		counts += count[i] * (i % 7 + 1);
	}
	printf("%g %g %ld %ld\n", sum, sum_half, counts, bad);
	printf("%g %g %g %g %g\n", some[0], some[1], some[2], some[3], some[4]);
	printf("%ld %lx %g %g\n", wide[0], wide[1], value(wide[2]), value(wide[3]));
	return 0;
}
