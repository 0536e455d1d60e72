/* SPDX-License-Identifier: BSD-3-Clause */
/* stolen.c - tasks that other threads carry out: recursion, dependences, groups, locks, large data, more of them
 * than there is room for, and what they see of other threads' stores.  With an argument: how many threads carried
 * out tasks that sleep. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- recursion --------------------------------------------------------------------------------------------------- */

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b) mergeable untied
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

static int queens(int n, int row, const char *before)
{
	int found[12] = {0}, sum = 0;

	if (row == n)
		return 1;
	for (int column = 0; column < n; column++)
#pragma omp task shared(found) firstprivate(column)
	{
		char board[12];
		int good = 1;
		memcpy(board, before, (size_t)row);
		board[row] = (char)column;
		for (int i = 0; i < row && good; i++)
			good = board[i] != column && abs(board[i] - column) != row - i;
		if (good)
			found[column] = queens(n, row + 1, board);
	}
#pragma omp taskwait
	for (int column = 0; column < n; column++)
		sum += found[column];
	return sum;
}

#define SORTED 20000
static int sorted[SORTED], room[SORTED];

static void sort(int *v, int *tmp, int n)
{
	if (n < 50) {
		for (int i = 1; i < n; i++)
			for (int k = i; k && v[k] < v[k - 1]; k--) {
				int w = v[k];
				v[k] = v[k - 1];
				v[k - 1] = w;
			}
		return;
	}
	int half = n / 2;
#pragma omp task final(n < 200)
	sort(v, tmp, half);
#pragma omp task priority(3)
	sort(v + half, tmp + half, n - half);
#pragma omp taskwait
	for (int i = 0, a = 0, b = half; i < n; i++)
		tmp[i] = b == n || (a < half && v[a] <= v[b]) ? v[a++] : v[b++];
	memcpy(v, tmp, (size_t)n * sizeof(*v));
}

/* ---- dependences ------------------------------------------------------------------------------------------------- */

#define BLOCKS 14
static long block[BLOCKS + 1][BLOCKS + 1];

static void wavefront(void)
{
	for (int i = 1; i <= BLOCKS; i++)
		for (int k = 1; k <= BLOCKS; k++)
#pragma omp task firstprivate(i, k) depend(in : block[i - 1][k], block[i][k - 1]) depend(out : block[i][k])
			block[i][k] = (block[i - 1][k] * 3 + block[i][k - 1] + i) % 100003;
}

static long ordered(void)
{
	long x = 1, y = 2, all[16], sum = 0;
	omp_depend_t object;

	for (int i = 0; i < 40; i++) {
#pragma omp task depend(inout : x) shared(x)
		x = x * 5 % 1009;
#pragma omp task depend(in : x) depend(inout : y) shared(x, y)
		y = (y + x) % 1013;
#pragma omp task depend(mutexinoutset : sum) shared(sum) firstprivate(i)
		sum += i;
	}
#pragma omp depobj(object) depend(inout : y)
#pragma omp task depend(depobj : object) shared(y)
	y = y * 7 % 1021;
	/* Carried out at once, behind those before. */
#pragma omp task depend(inout : y) if (0) shared(y)
	y += 3;
#pragma omp depobj(object) destroy
	for (int i = 0; i < 16; i++)
#pragma omp task depend(out : all[i]) shared(all) firstprivate(i)
		all[i] = i * i;
#pragma omp task depend(in                                                                                             \
                        : all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9], all[10],     \
                          all[11], all[12], all[13], all[14], all[15]) depend(inout                                    \
                                                                              : sum) shared(all, sum)
	for (int i = 0; i < 16; i++)
		sum += all[i];
#pragma omp taskwait depend(in : sum)
	long seen = sum;
#pragma omp taskwait
	return x * 1000000000 + y * 100000 + seen;
}

/* ---- groups and locks -------------------------------------------------------------------------------------------- */

static int grown;
static omp_lock_t lock;

static void grow(int depth)
{
	for (int i = 0; i < 3 && depth; i++)
#pragma omp task
		grow(depth - 1); /* nobody waits but the group */
	omp_set_lock(&lock);
	grown++;
	omp_unset_lock(&lock);
}

static int groups(void)
{
	int wrong = 0;

	for (int i = 0; i < 5; i++) {
		grown = 0;
#pragma omp taskgroup
		{
			grow(4);
#pragma omp task shared(wrong)
			{
				int inner = 0;
#pragma omp taskgroup
				for (int k = 0; k < 20; k++)
#pragma omp task shared(inner)
#pragma omp atomic
					inner++;
				wrong += inner != 20;
			}
		}
		wrong += grown != 121;
	}
	return wrong;
}

/* A task that waits while it holds a lock: its thread is not to begin one that wants the same. */
static long held(void)
{
	long sum = 0;

	for (int i = 0; i < 30; i++)
#pragma omp task shared(sum) firstprivate(i)
#pragma omp critical(held)
	{
		long part = 0;
#pragma omp task shared(part) firstprivate(i)
		part = i;
#pragma omp taskwait
		sum += part;
	}
#pragma omp taskwait
	return sum;
}

/* ---- data, and many of them -------------------------------------------------------------------------------------- */

struct large {
	long v[100];
	_Alignas(64) long w;
};

static long data(void)
{
	struct large large = {.w = 1};
	long sum = 0;

	for (int i = 0; i < 40; i++) {
		large.v[i] = large.w = i;
#pragma omp task firstprivate(large, i) shared(sum)
		{
			long got = (uintptr_t)&large.w % 64 ? -1000000 : large.w + large.v[i];
			large.v[i] = 0;
#pragma omp atomic
			sum += got;
		}
	}
#pragma omp taskwait
	return sum;
}

static void chain(int left, long *sum)
{
#pragma omp atomic
	*sum += left;
	if (left)
#pragma omp task firstprivate(left, sum)
		chain(left - 1, sum);
}

static long marks(void)
{
	static int mark[3000];
	long sum = 0;

#pragma omp taskloop grainsize(9) nogroup
	for (int i = 0; i < 3000; i += 2)
		mark[i]++;
#pragma omp taskloop num_tasks(700)
	for (int i = 3000; i > 0; i -= 2)
		mark[i - 1] += i;
#pragma omp taskwait
	for (int i = 0; i < 3000; i++) {
		sum += mark[i] * (long)i;
		mark[i] = 0;
	}
	return sum;
}

/* ---- what is seen ------------------------------------------------------------------------------------------------
 * Step by step: the last thread publishes its progress.  The first one reads that and makes a task of it, which another
 * thread of the node carries out, if there is one, and publishes its begin (begun).  When the task has ended, the first
 * one publishes that (ended).  What a thread has stored before it publishes must be seen by each thread that learns of
 * it, directly or by the task. */

#define STEPS 100
static int published, begun, ended;
static _Alignas(4096) long given[512], made[512], answer[512];
static _Alignas(4096) int unseen;

static void expect(long value, long right)
{
	if (value != right)
#pragma omp atomic
		unseen++;
}

static void publish(void)
{
	for (int step = 1, checked = 0, seen = 0; step <= STEPS; step++) {
		given[step] = step * 11;
#pragma omp critical
		published = step;
		while (seen < step) {
			int working;
#pragma omp critical
			{
				working = begun;
				seen = ended;
			}
			if (working > checked)
				expect(made[checked = working], working * 7);
		}
		expect(answer[step], step * 11 + 1);
	}
}

static void take(void)
{
	for (int step = 1, seen = 0; step <= STEPS; step++) {
		while (seen < step)
#pragma omp critical
			seen = published;
		made[step] = step * 7;
#pragma omp task firstprivate(step)
		{
			long got = given[step];
			expect(got, step * 11);
#pragma omp critical
			begun = step;
			answer[step] = got + 1;
		}
#pragma omp task
		usleep(100); /* the youngest: the maker's own */
#pragma omp taskwait
#pragma omp critical
		ended = step;
	}
}

static int where(void)
{
	int threads[64] = {0}, n = 0;

#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 40; i++)
#pragma omp task shared(threads)
	{
		usleep(1000);
#pragma omp atomic write
		threads[omp_get_thread_num()] = 1;
	}
	for (int i = 0; i < 64; i++)
		n += threads[i];
	return n;
}

int main(int argc, char **argv)
{
	long f = 0, chained = 0, kept = 0, copied = 0, marked = 0, lined = 0;
	int q = 0, bad = 0, many = 0;

	(void)argv;
	if (argc > 1) {
		printf("%d\n", where());
		return 0;
	}
	omp_init_lock(&lock);
	for (int i = 0; i < SORTED; i++)
		sorted[i] = (i * 7919 + 13) % 20011;
	for (int i = 0; i <= BLOCKS; i++)
		block[0][i] = block[i][0] = i;
#pragma omp parallel
	{
#pragma omp single nowait
		f = fib(17);
#pragma omp single nowait
		q = queens(7, 0, "");
#pragma omp single
		sort(sorted, room, SORTED);
#pragma omp single nowait
		wavefront();
#pragma omp single
		lined = ordered();
#pragma omp master
		bad = groups();
#pragma omp single nowait
		kept = held();
#pragma omp single nowait
		copied = data();
#pragma omp single nowait
		chain(2000, &chained);
#pragma omp barrier
#pragma omp single
		marked = marks();
		for (int i = 0; i < 1000; i++)
#pragma omp task shared(many)
#pragma omp atomic
			many++;
#pragma omp barrier
		if (omp_get_thread_num() == 0)
			take();
		else if (omp_get_thread_num() == omp_get_num_threads() - 1)
			publish();
	}
	for (int i = 1; i < SORTED; i++)
		bad += sorted[i] < sorted[i - 1];
	printf("%ld %d %ld %ld %d %ld %ld %ld %ld %d %d\n", f, q, block[BLOCKS][BLOCKS], lined, bad, kept, copied,
	       chained, marked, many, unseen);
	return 0;
}
