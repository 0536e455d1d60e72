/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.c - target regions, which the host carries out. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 5000

#pragma omp declare target
static int scale = 3;
static double table[N];
static double twice(double x)
{
	return 2 * x;
}
#pragma omp end declare target

static void regions(double *a, double *b)
{
	double sum = 0;
	int first = 7, kept = 5;

#pragma omp target map(to : a [0:N]) map(from : b [0:N])
	for (int i = 0; i < N; i++)
		b[i] = twice(a[i]);
#pragma omp target teams distribute parallel for map(tofrom : b [0:N]) map(to : a [0:N])
	for (int i = 0; i < N; i++)
		b[i] += a[i] * scale;
#pragma omp target parallel for reduction(+ : sum) map(to : b [0:N])
	for (int i = 0; i < N; i++)
		sum += b[i];
#pragma omp target firstprivate(first) map(tofrom : kept)
	{
		first++;
		kept += first;
	}
	printf("sum %g, first %d, kept %d\n", sum, first, kept);
}

static void data(double *a)
{
	double *p = a;
	int done = 0;

#pragma omp target data map(tofrom : a [0:N])
	{
#pragma omp target
		a[1] = 4;
#pragma omp target update from(a [0:N])
		printf("updated %g\n", a[1]);
		a[2] = 9;
#pragma omp target update to(a [0:N])
#pragma omp target data use_device_ptr(p)
		p[3] = a[2] + 1;
	}
#pragma omp target enter data map(to : a [0:N])
#pragma omp target map(tofrom : done)
	done = a[3] > 9;
#pragma omp target exit data map(from : a [0:N])
	printf("data %g %g %g, done %d\n", a[1], a[2], a[3], done);
}

static void others(void)
{
	double *held = omp_target_alloc(N * sizeof(double), omp_get_default_device());
	double sum = 0;
	int here = 0, teams = 0;

#pragma omp target map(tofrom : here)
	here = omp_is_initial_device();
#pragma omp target teams map(tofrom : teams) num_teams(1)
	teams = omp_get_num_teams();
	for (int i = 0; i < N; i++)
		table[i] = i;
#pragma omp target update to(table)
	omp_target_memcpy(held, table, N * sizeof(double), 0, 0, omp_get_initial_device(), omp_get_initial_device());
#pragma omp target is_device_ptr(held) map(tofrom : sum)
	for (int i = 0; i < N; i++)
		sum += held[i] - table[i] + 1;
	omp_target_free(held, omp_get_default_device());
	printf("devices %d, here %d, teams %d, sum %g\n", omp_get_num_devices(), here, teams, sum);
#pragma omp parallel
#pragma omp single
	{
#pragma omp task depend(out : here)
		here = 20;
#pragma omp target map(tofrom : here) depend(inout : here)
		here++;
#pragma omp task depend(in : here)
		printf("behind a task %d\n", here);
	}
}

static void limits(void)
{
	int limit = 0, threads = 0;

#pragma omp target teams distribute parallel for map(tofrom : limit, threads) num_threads(4) thread_limit(1)
	for (int i = 0; i < 8; i++)
		if (i == 0) {
			limit = omp_get_thread_limit();
			threads = omp_get_num_threads();
		}
	printf("limit %d, threads %d, and behind it %d\n", limit, threads, omp_get_thread_limit() > 1000);
	for (int most = 1; most < 4; most += 2) {
#pragma omp target thread_limit(most) map(from : limit, threads)
		{
			limit = omp_get_thread_limit();
#pragma omp parallel
#pragma omp single
			threads = omp_get_num_threads() <= most;
		}
		printf("limit %d, kept %d, and behind it %d\n", limit, threads, omp_get_thread_limit() > 1000);
	}
}

static void league(const char *what)
{
	printf("%s: team %d of %d, at most %d threads\n", what, omp_get_team_num(), omp_get_num_teams(),
	       omp_get_thread_limit() > 1000 ? 0 : omp_get_thread_limit());
}

static void teams(void)
{
	int made = 0, threads = 0, table[24];

#pragma omp teams num_teams(3) thread_limit(2)
	{
		league("teams");
#pragma omp parallel reduction(+ : made, threads)
		{
			made += omp_get_team_num() * 10 + omp_get_num_teams();
			threads += omp_get_num_threads() <= 2;
		}
	}
	printf("parallel in teams %d\n", made == 3 * (10 + 3) * (threads / 3) && threads % 3 == 0);
	omp_set_num_teams(2);
	omp_set_num_teams(-1);
	omp_set_teams_thread_limit(4);
	printf("at most %d teams, %d threads\n", omp_get_max_teams(), omp_get_teams_thread_limit());
#pragma omp teams
	league("as set");
#pragma omp teams num_teams(1 : 4)
	league("from one to four");
#pragma omp teams distribute parallel for num_teams(3)
	for (int i = 0; i < 24; i++)
		table[i] = omp_get_team_num();
	for (int i = 0; i < 24; i++)
		printf("%d", table[i]);
	printf("\n");
#pragma omp target teams distribute num_teams(5) thread_limit(1) map(from : table)
	for (int i = 0; i < 24; i++)
		table[i] = omp_get_team_num() * 10 + omp_get_num_teams();
	for (int i = 0; i < 24; i++)
		printf("%d ", table[i]);
	printf("\n");
#pragma omp target teams
	league("target");
#pragma omp teams num_teams(2)
#pragma omp parallel
#pragma omp single
#pragma omp task shared(made)
	made = omp_get_team_num();
	printf("a task of team %d\n", made);
	league("behind");
}

int main(void)
{
	double *a = malloc(N * sizeof(*a)), *b = malloc(N * sizeof(*b));

	for (int i = 0; i < N; i++)
		a[i] = i;
	regions(a, b);
	data(a);
	others();
	limits();
	teams();
	free(a);
	free(b);
	return 0;
}
