/* SPDX-License-Identifier: BSD-3-Clause */
/* sor - red-black successive over-relaxation on a grid of floats (Cashmere-2L, section 3.2).
 *
 * Cell (i, j) is red when i + j is even.  Each colour has an array of its own, so that a sweep over one colour streams
 * through memory.  Element k of row i is cell (i, 2k) or (i, 2k + 1):
 *
 *     j:        0  1  2  3  4  5            interior elements of a row: columns / 2 - 1, from
 *     even i:   R0 B0 R1 B1 R2 B2            1 in a red row, 0 in a black row
 *     odd i:    B0 R0 B1 R1 B2 R2            0 in a red row, 1 in a black row
 *
 * In both cases the left and right neighbours of the interior elements, in order, are elements 0.. and 1.. of the other
 * colour's row; those above and below have the element's own index.
 *
 * The edge of the grid is 1 and constant.  The interior starts pseudo-random, because zeros would make empty diffs.
 * Every processor has a band of rows: only the rows on either side of a band's border are transferred.  One iteration
 * computes black from red, then red from black, with a barrier after each. */
#include "apps/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

struct sor_grid {
	float *red, *black;
};

static long rows, columns, iterations;
static struct sor_grid shared, plain;

/* Floats between the starts of adjacent rows, which start on cache lines. */
static size_t sor_stride(void)
{
	return ((size_t)columns / 2 + 15) & ~(size_t)15;
}

static size_t sor_bytes(void)
{
	return (size_t)rows * sor_stride() * sizeof(float);
}

/* The first interior row of processor @id of @count; @id = @count: the end. */
static long sor_band(int id, int count)
{
	return 1 + (rows - 2) * id / count;
}

static void sor_row(float *restrict out, const float *restrict up, const float *restrict down,
                    const float *restrict middle, size_t n)
{
	for (size_t k = 0; k < n; k++)
		out[k] = 0.25f * (up[k] + down[k] + middle[k] + middle[k + 1]);
}

/* Compute rows [first, end) of @out from the other colour.  @odd: 1 when the odd rows of @out start inside. */
static void sor_sweep(float *out, const float *other, long first, long end, long odd)
{
	size_t stride = sor_stride();

	for (long i = first; i < end; i++) {
		size_t skip = (size_t)((i & 1) == odd), here = (size_t)i * stride;

		sor_row(out + here + skip, other + here - stride + skip, other + here + stride + skip, other + here,
		        (size_t)columns / 2 - 1);
	}
}

static float sor_start(long i, long j)
{
	bool edge = i == 0 || j == 0 || i == rows - 1 || j == columns - 1;

	return edge ? 1.0f : (float)kernel_random((uint64_t)i, (uint64_t)j);
}

static void sor_init_rows(struct sor_grid *grid, long first, long end)
{
	for (long i = first; i < end; i++)
		for (long k = 0; k < columns / 2; k++) {
			size_t at = (size_t)i * sor_stride() + (size_t)k;

			grid->red[at] = sor_start(i, 2 * k + (i & 1));
			grid->black[at] = sor_start(i, 2 * k + !(i & 1));
		}
}

static bool sor_share(void)
{
	shared.red = kernel_share(sor_bytes());
	shared.black = kernel_share(sor_bytes());
	return shared.red && shared.black;
}

/* Initialize a band, and at either end of the grid the edge row next to it. */
static void sor_init(int id)
{
	int count = tw_count();

	sor_init_rows(&shared, id == 0 ? 0 : sor_band(id, count), id == count - 1 ? rows : sor_band(id + 1, count));
}

/* Planted: every processor adds its band to one total, at the end of the first red row, without a lock. */
static void __attribute__((noinline)) sor_add_total(long first, long end)
{
	size_t last = sor_stride() - 1;

	for (long i = first; i < end; i++)
		shared.red[last] += shared.red[(size_t)i * sor_stride() + 1];
}

static void sor_parallel(unsigned round)
{
	long first = sor_band(tw_id(), tw_count()), end = sor_band(tw_id() + 1, tw_count());

	(void)round;
	for (long n = 0; n < iterations; n++) {
		sor_sweep(shared.black, shared.red, first, end, 1);
		tw_barrier_all();
		sor_sweep(shared.red, shared.black, first, end, 0);
		if (kernel_planted("sor-total"))
			sor_add_total(first, end);
		tw_barrier_all();
	}
}

static void sor_plain(void)
{
	plain.red = kernel_alloc(sor_bytes());
	plain.black = kernel_alloc(sor_bytes());
}

static void sor_plain_init(void)
{
	sor_init_rows(&plain, 0, rows);
}

static void sor_sequential(void)
{
	for (long n = 0; n < iterations; n++) {
		sor_sweep(plain.black, plain.red, 1, rows - 1, 1);
		sor_sweep(plain.red, plain.black, 1, rows - 1, 0);
	}
}

/* The textbook's algorithm on one undivided grid, to check the division into colours. */
static float *sor_textbook(void)
{
	size_t width = (size_t)columns;
	float *grid = kernel_alloc((size_t)rows * width * sizeof(float));

	for (long i = 0; i < rows; i++)
		for (long j = 0; j < columns; j++)
			grid[(size_t)i * width + (size_t)j] = sor_start(i, j);
	for (long half = 0; half < 2 * iterations; half++)
		for (long i = 1; i < rows - 1; i++)
			for (long j = 1 + ((i + half) & 1); j < columns - 1; j += 2) {
				float *cell = grid + (size_t)i * width + (size_t)j;

				*cell = 0.25f * (cell[-columns] + cell[columns] + cell[-1] + cell[1]);
			}
	return grid;
}

/* Do the colours, and if `compare` also shared.*, equal the textbook's grid? */
static bool sor_equals(const float *grid, bool compare)
{
	for (long i = 0; i < rows; i++) {
		size_t at = (size_t)i * sor_stride(), bytes = (size_t)columns / 2 * sizeof(float);

		if (compare && (memcmp(shared.red + at, plain.red + at, bytes) ||
		                memcmp(shared.black + at, plain.black + at, bytes))) {
			fprintf(stderr, "sor: row %ld differs from the sequential result.\n", i);
			return false;
		}
		for (long j = 0; j < columns; j++) {
			const float *colour = ((i + j) & 1) ? plain.black : plain.red;

			if (colour[at + (size_t)j / 2] != grid[(size_t)(i * columns + j)]) {
				fprintf(stderr, "sor: cell (%ld, %ld) differs from the undivided grid's.\n", i, j);
				return false;
			}
		}
	}
	return true;
}

static bool sor_verify(bool compare)
{
	float *grid = sor_textbook();
	bool equal = sor_equals(grid, compare);

	free(grid);
	return equal;
}

static const char *sor_check(void)
{
	return columns % 2 ? "--columns takes an even number." : NULL;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"rows", &rows, 2048, 3072, 3, 1 << 20, "rows of the grid, with its edge"},
	    {"columns", &columns, 2048, 4096, 4, 1 << 20, "columns of the grid, with its edge; even"},
	    {"iterations", &iterations, 200, 24, 0, 1 << 20, "sweeps over both colours"},
	    {.name = NULL},
	};
	static const struct kernel sor = {
	    .name = "sor",
	    .help = "red-black successive over-relaxation",
	    .options = options,
	    .check = sor_check,
	    .share = sor_share,
	    .init = sor_init,
	    .parallel = sor_parallel,
	    .plain = sor_plain,
	    .plain_init = sor_plain_init,
	    .sequential = sor_sequential,
	    .verify = sor_verify,
	};

	return kernel_main(&sor, argc, argv);
}
