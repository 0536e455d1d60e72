/* SPDX-License-Identifier: BSD-3-Clause */
/* flags.c - a pipeline of threads that wait for each other's flags with a flush in the loop and none behind it, nor one
 * between what is stored and the flag that announces it. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

#define ROWS   12
#define PLANES 400
#define WIDTH  600

/* Only the first store to a page between two flushes is taken for a flag's: so they have pages of their own. */
static struct {
	char before[65536];
	int flag[ROWS + 1], go;
	char behind[65536];
} apart;
static unsigned field[ROWS][WIDTH], seen;

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

static void sweep(int plane)
{
	int *flag = apart.flag;

#pragma omp for nowait schedule(static)
	for (int row = 0; row < ROWS; row++) {
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
		for (int i = 0; i < WIDTH; i++)
			field[row][i] = 3 * field[row][i] + (row > 0 ? field[row - 1][i] : (unsigned)(plane + i));
		if (row > 0)
			flag[row - 1] = 0;
		if (row < ROWS - 1)
			flag[row] = 1;
#pragma omp flush
	}
}

int main(void)
{
	for (int row = 0; row <= ROWS; row++)
		apart.flag[row] = row == ROWS;
#pragma omp parallel
	{
		begin();
		for (int plane = 0; plane < PLANES; plane++)
			sweep(plane);
	}
	for (int row = 0; row < ROWS; row++)
		for (int i = 0; i < WIDTH; i++)
			seen = 5 * seen + field[row][i];
	printf("%u\n", seen);
	return 0;
}
