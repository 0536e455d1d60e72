/* SPDX-License-Identifier: BSD-3-Clause */
/* one_array.c - red-black successive over-relaxation in place, on one array whose rows are no multiple of a page.
 *
 * Every processor has a band of rows: it alone uses the pages of its band, except for the rows on either side of a
 * border.
 * --start zero: most stores change nothing, because the edge's values advance by one cell in each half of an
 * iteration.
 * --look: the last processor reads the whole array once, after half of the iterations. */
#include "apps/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

static long rows, columns, iterations, look;
static const char *start;
static double *shared, *plain;
static double looked; /* the sum that --look found: it must be read */

static size_t array_bytes(void)
{
	return (size_t)rows * (size_t)columns * sizeof(double);
}

static long array_band(int id, int count)
{
	return rows * id / count;
}

static double array_start(long i, long j)
{
	if (strcmp(start, "random") == 0)
		return kernel_random((uint64_t)i, (uint64_t)j);
	return i == 0 || j == 0 || i == rows - 1 || j == columns - 1;
}

static void array_init_rows(double *grid, long first, long end)
{
	for (long i = first; i < end; i++)
		for (long j = 0; j < columns; j++)
			grid[i * columns + j] = array_start(i, j);
}

static void array_sweep(double *grid, long first, long end, long colour)
{
	for (long i = first < 1 ? 1 : first; i < end && i < rows - 1; i++) {
		double *row = grid + i * columns;

		for (long j = 1 + ((i + colour) & 1); j < columns - 1; j += 2)
			row[j] = 0.25 * (row[j - columns] + row[j + columns] + row[j - 1] + row[j + 1]);
	}
}

static void array_look(void)
{
	if (tw_id() == tw_count() - 1)
		for (long i = 0; i < rows * columns; i++)
			looked += shared[i];
	tw_barrier_all();
}

static bool array_share(void)
{
	shared = kernel_share(array_bytes());
	return shared;
}

static void array_init(int id)
{
	array_init_rows(shared, array_band(id, tw_count()), array_band(id + 1, tw_count()));
}

static void array_parallel(unsigned round)
{
	long first = array_band(tw_id(), tw_count()), end = array_band(tw_id() + 1, tw_count());

	(void)round;
	for (long half = 0; half < 2 * iterations; half++) {
		array_sweep(shared, first, end, half & 1);
		tw_barrier_all();
		if (look && half == iterations)
			array_look();
	}
}

static void array_plain(void)
{
	plain = kernel_alloc(array_bytes());
}

static void array_plain_init(void)
{
	array_init_rows(plain, 0, rows);
}

static void array_sequential(void)
{
	for (long half = 0; half < 2 * iterations; half++)
		array_sweep(plain, 0, rows, half & 1);
}

static bool array_verify(bool compare)
{
	return !compare || memcmp(shared, plain, array_bytes()) == 0;
}

int main(int argc, char **argv)
{
	static const char *const starts[] = {"zero", "random", NULL};
	static const struct kernel_option options[] = {
	    {"rows", &rows, 2048, 2048, 3, 1 << 20, "rows of the array, with its edge"},
	    {"columns", &columns, 2050, 2050, 3, 1 << 20, "columns of the array, with its edge"},
	    {"iterations", &iterations, 10, 10, 0, 1 << 20, "sweeps over both colours"},
	    {"look", &look, 0, 0, 0, 1, "1: the last processor reads all, once"},
	    {.name = NULL},
	};
	static const struct kernel_word words[] = {
	    {"start", &start, starts, "the inside of the array, before"},
	    {.name = NULL},
	};
	static const struct kernel array = {
	    .name = "one_array",
	    .help = "red-black successive over-relaxation in place",
	    .options = options,
	    .words = words,
	    .share = array_share,
	    .init = array_init,
	    .parallel = array_parallel,
	    .plain = array_plain,
	    .plain_init = array_plain_init,
	    .sequential = array_sequential,
	    .verify = array_verify,
	};

	return kernel_main(&array, argc, argv);
}
