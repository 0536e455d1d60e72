/* SPDX-License-Identifier: BSD-3-Clause */
/* flags.c - a pipeline of threads that wait for each other's flags with a flush in the loop and none behind it, nor one
 * between what is stored and the flag that announces it; flags of `omp atomic` without an order, as PLASMA's. */
#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROWS   12
#define PLANES 400
#define WIDTH  600
#define LARGE  20000 /* a row of several pages */
#define HANDS  1000u

/* Only the first load from a page between two flushes is taken for a flag's: so they have pages of their own. */
static struct {
	char before[65536];
	int flag[ROWS + 1], go;
	unsigned turn;
	char behind[65536];
} apart;
static unsigned field[ROWS][WIDTH], large[ROWS][LARGE], handed[WIDTH], seen;

/* Somebody has waited on the page before a flag counts. */
static void begin(void)
{
	if (omp_get_thread_num() == 0) {
		usleep(20000);
		apart.go = 1;
#pragma omp flush
	} else {
		while (!apart.go) {
#pragma omp flush
			;
		}
	}
}

static void wait_for(const int *flag, int row)
{
	if (row > 0)
		while (flag[row - 1] == 0) {
#pragma omp flush
			;
		}
	if (row < ROWS - 1)
		while (flag[row] == 1) {
#pragma omp flush
			;
		}
}

static void sweep(int plane)
{
	int *flag = apart.flag;

#pragma omp for nowait schedule(static)
	for (int row = 0; row < ROWS; row++) {
		wait_for(flag, row);
		for (int i = 0; i < WIDTH; i++)
			field[row][i] = 3 * field[row][i] + (row > 0 ? field[row - 1][i] : (unsigned)(plane + i));
		if (row > 0)
			flag[row - 1] = 0;
		if (row < ROWS - 1)
			flag[row] = 1;
#pragma omp flush
	}
}

/* As NPB-CPP's LU: a thread that finds its flags set makes no flush for several rows.  The last thread often finds its
 * first one set at once, since it is late. */
static void sweep_large(int plane)
{
	int *flag = apart.flag;

#pragma omp for nowait schedule(static)
	for (int row = 0; row < ROWS; row++) {
		wait_for(flag, row);
		for (int i = 0; i < LARGE; i++)
			large[row][i] = 3 * large[row][i] + (row > 0 ? large[row - 1][i] : (unsigned)(plane + i));
		if (row < ROWS - 1)
			flag[row] = 1;
		if (row > 0)
			flag[row - 1] = 0;
	}
	if (omp_get_thread_num() == omp_get_num_threads() - 1)
		for (volatile int i = 0; i < 500000; i++)
			;
}

static unsigned turn_of(void)
{
	unsigned turn;

#pragma omp atomic read
	turn = apart.turn;
	return turn;
}

/* Each thread in its turn goes on with what the one before has stored. */
static void hand_over(void)
{
	unsigned self = (unsigned)omp_get_thread_num(), all = (unsigned)omp_get_num_threads();

	for (unsigned t = self; t < HANDS; t += all) {
		while (turn_of() != t)
			sched_yield();
		for (int i = 0; i < WIDTH; i++)
			handed[i] = 3 * handed[i] + t;
#pragma omp atomic write
		apart.turn = t + 1;
	}
}

static void compute(double seconds)
{
	for (double end = omp_get_wtime() + seconds; omp_get_wtime() < end;)
		;
}

/* The first flag of a program is set before another thread waits for it, at whose node it lies beside what it
 * announces.  Returns whether that was older. */
static int announce(void)
{
	static struct {
		char before[65536];
		int data, flag;
		char behind[65536];
	} first;
	int older = 0;

#pragma omp parallel reduction(+ : older)
	{
		bool waits = omp_get_thread_num() == omp_get_num_threads() - 1;

		if (waits)
			first.data = 1;
#pragma omp barrier
#pragma omp flush
		if (omp_get_thread_num() == 0) {
			first.data = 2;
#pragma omp atomic write
			first.flag = 1;
			compute(.1);
		} else if (waits) {
			compute(.05);
			while (!first.flag) {
#pragma omp flush
				;
			}
			older = first.data != 2;
		}
	}
	return older;
}

/* Usage: flags [THREAD]: the first that touches the flags, 0 by default; its node becomes their home. */
int main(int argc, char **argv)
{
	int first = argc > 1 ? atoi(argv[1]) : 0, older = announce();

#pragma omp parallel
	if (omp_get_thread_num() == first)
		for (int row = 0; row <= ROWS; row++)
			apart.flag[row] = row == ROWS;
#pragma omp parallel
	{
		begin();
		for (int plane = 0; plane < PLANES; plane++)
			sweep(plane);
		for (int plane = 0; plane < PLANES / 10; plane++)
			sweep_large(plane);
		hand_over();
	}
	for (int row = 0; row < ROWS; row++)
		for (int i = 0; i < WIDTH; i++)
			seen = 5 * seen + field[row][i] + large[row][LARGE / WIDTH * i];
	for (int i = 0; i < WIDTH; i++)
		seen = 5 * seen + handed[i];
	printf("%u, %d older\n", seen, older);
	return 0;
}
