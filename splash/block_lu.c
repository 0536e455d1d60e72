/* SPDX-License-Identifier: BSD-3-Clause */
#include "splash/block_lu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

#define LU_BLOCK_MAX 256

long lu_size, lu_block;
struct lu_matrix lu_shared, lu_plain;
static const char *lu_name;

long lu_blocks(void)
{
	return (lu_size + lu_block - 1) / lu_block;
}

/* The processor grid's rows: the largest divisor of @count up to its square root. */
static int lu_grid_rows(int count)
{
	int rows = 1;

	for (int r = 1; r * r <= count; r++)
		if (count % r == 0)
			rows = r;
	return rows;
}

int lu_owner(long i, long j, int count)
{
	int rows = lu_grid_rows(count), columns = count / rows;

	return (int)(i % rows) * columns + (int)(j % columns);
}

/* Rows (or columns) of the blocks in block row (column) @i. */
static size_t lu_extent(long i)
{
	long left = lu_size - i * lu_block;

	return (size_t)(left < lu_block ? left : lu_block);
}

static double *lu_at(const struct lu_matrix *m, long i, long j)
{
	return m->block[i * lu_blocks() + j];
}

/* ---- the work on one block, of both algorithms ------------------------------------------------------------------- */

/* a = L U in place; L has a unit diagonal. */
static void lu_factor(double *a, size_t n, size_t stride)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = k + 1; i < n; i++) {
			double factor = a[i * stride + k] /= a[k * stride + k];

			for (size_t j = k + 1; j < n; j++)
				a[i * stride + j] -= factor * a[k * stride + j];
		}
}

/* a = a U^-1: a block below the diagonal block @diagonal, @rows x @n. */
static void lu_below(double *restrict a, const double *restrict diagonal, size_t rows, size_t n, size_t stride)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t k = 0; k < n; k++) {
			double factor = a[i * stride + k] /= diagonal[k * stride + k];

			for (size_t j = k + 1; j < n; j++)
				a[i * stride + j] -= factor * diagonal[k * stride + j];
		}
}

/* a = L^-1 a: a block right of the diagonal block, @n x @columns. */
static void lu_right(double *restrict a, const double *restrict diagonal, size_t n, size_t columns, size_t stride)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = k + 1; i < n; i++) {
			double factor = diagonal[i * stride + k];

			for (size_t j = 0; j < columns; j++)
				a[i * stride + j] -= factor * a[k * stride + j];
		}
}

/* Two neighbouring elements.  Written out, because compilers would keep them in memory, at half the speed. */
typedef double lu_pair __attribute__((vector_size(16), aligned(8), may_alias));

/* c -= a b, where c is @rows x @columns and a has @n columns. */
static void lu_inner(double *restrict c, const double *restrict a, const double *restrict b, size_t rows,
                     size_t columns, size_t n, size_t stride)
{
	size_t tiled = columns & ~(size_t)7;

	for (size_t i = 0; i < rows; i++, c += stride, a += stride) {
		for (size_t j = 0; j < tiled; j += 8) {
			lu_pair *out = (lu_pair *)(c + j), p = out[0], q = out[1], r = out[2], s = out[3];

			for (size_t k = 0; k < n; k++) {
				const lu_pair *in = (const lu_pair *)(b + k * stride + j);

				p -= a[k] * in[0];
				q -= a[k] * in[1];
				r -= a[k] * in[2];
				s -= a[k] * in[3];
			}
			out[0] = p, out[1] = q, out[2] = r, out[3] = s;
		}
		for (size_t k = 0; k < n; k++)
			for (size_t j = tiled; j < columns; j++)
				c[j] -= a[k] * b[k * stride + j];
	}
}

/* ---- the steps: all blocks (i, j) with i % rows == row and j % columns == column --------------------------------- */

struct lu_part {
	long row, rows, column, columns;
};

/* The first index after @k that is @mine modulo @of. */
static long lu_after(long k, long mine, long of)
{
	long over = (k + 1 - mine) % of;

	if (over < 0)
		over += of;
	return k + 1 + (over ? of - over : 0);
}

static void lu_diagonal(const struct lu_matrix *m, const struct lu_part *part, long k)
{
	if (k % part->rows == part->row && k % part->columns == part->column)
		lu_factor(lu_at(m, k, k), lu_extent(k), m->stride);
}

/* Planted: the next processor factors the diagonal, without a barrier between that and the owner's interior. */
static void __attribute__((noinline)) lu_diagonal_moved(const struct lu_matrix *m, long k)
{
	if (lu_owner(k, k, tw_count()) == (tw_id() + tw_count() - 1) % tw_count())
		lu_factor(lu_at(m, k, k), lu_extent(k), m->stride);
}

static void lu_perimeter(const struct lu_matrix *m, const struct lu_part *part, long k)
{
	const double *diagonal = lu_at(m, k, k);
	size_t n = lu_extent(k);

	if (k % part->columns == part->column)
		for (long i = lu_after(k, part->row, part->rows); i < lu_blocks(); i += part->rows)
			lu_below(lu_at(m, i, k), diagonal, lu_extent(i), n, m->stride);
	if (k % part->rows == part->row)
		for (long j = lu_after(k, part->column, part->columns); j < lu_blocks(); j += part->columns)
			lu_right(lu_at(m, k, j), diagonal, n, lu_extent(j), m->stride);
}

static void lu_interior(const struct lu_matrix *m, const struct lu_part *part, long k)
{
	for (long i = lu_after(k, part->row, part->rows); i < lu_blocks(); i += part->rows)
		for (long j = lu_after(k, part->column, part->columns); j < lu_blocks(); j += part->columns)
			lu_inner(lu_at(m, i, j), lu_at(m, i, k), lu_at(m, k, j), lu_extent(i), lu_extent(j),
			         lu_extent(k), m->stride);
}

static void lu_parallel(unsigned round)
{
	int rows = lu_grid_rows(tw_count()), columns = tw_count() / rows;
	struct lu_part part = {tw_id() / columns, rows, tw_id() % columns, columns};

	(void)round;
	for (long k = 0; k < lu_blocks(); k++) {
		if (kernel_planted("lu-diagonal"))
			lu_diagonal_moved(&lu_shared, k);
		else
			lu_diagonal(&lu_shared, &part, k);
		tw_barrier_all();
		lu_perimeter(&lu_shared, &part, k);
		tw_barrier_all();
		lu_interior(&lu_shared, &part, k);
	}
}

static void lu_sequential(void)
{
	struct lu_part all = {0, 1, 0, 1};

	for (long k = 0; k < lu_blocks(); k++) {
		lu_diagonal(&lu_plain, &all, k);
		lu_perimeter(&lu_plain, &all, k);
		lu_interior(&lu_plain, &all, k);
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static double lu_start(long row, long column)
{
	return kernel_random((uint64_t)row, (uint64_t)column) + (row == column ? (double)lu_size : 0.0);
}

static void lu_init_block(const struct lu_matrix *m, long i, long j)
{
	double *a = lu_at(m, i, j);

	for (size_t r = 0; r < lu_extent(i); r++)
		for (size_t c = 0; c < lu_extent(j); c++)
			a[r * m->stride + c] = lu_start(i * lu_block + (long)r, j * lu_block + (long)c);
}

static void lu_init(int id)
{
	for (long i = 0; i < lu_blocks(); i++)
		for (long j = 0; j < lu_blocks(); j++)
			if (lu_owner(i, j, tw_count()) == id)
				lu_init_block(&lu_shared, i, j);
}

static void lu_plain_init(void)
{
	for (long i = 0; i < lu_blocks(); i++)
		for (long j = 0; j < lu_blocks(); j++)
			lu_init_block(&lu_plain, i, j);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

static double lu_element(const struct lu_matrix *m, long row, long column)
{
	size_t r = (size_t)(row % lu_block), c = (size_t)(column % lu_block);

	return lu_at(m, row / lu_block, column / lu_block)[r * m->stride + c];
}

static double lu_vector(long i)
{
	return kernel_random(UINT64_C(0x10000000), (uint64_t)i) + 0.5;
}

/* The largest relative error of (L U) v against A v, for a vector v. */
static double lu_residual(const struct lu_matrix *m)
{
	double *upper = kernel_alloc((size_t)lu_size * sizeof(double)), worst = 0;

	for (long i = 0; i < lu_size; i++)
		for (long j = i; j < lu_size; j++)
			upper[i] += lu_element(m, i, j) * lu_vector(j);
	for (long i = 0; i < lu_size; i++) {
		double product = upper[i], expected = 0, error;

		for (long j = 0; j < i; j++)
			product += lu_element(m, i, j) * upper[j];
		for (long j = 0; j < lu_size; j++)
			expected += lu_start(i, j) * lu_vector(j);
		error = fabs(product - expected) / expected;
		worst = isfinite(error) ? fmax(worst, error) : INFINITY;
	}
	free(upper);
	return worst;
}

static bool lu_verify(bool compare)
{
	double residual;

	for (long i = 0; compare && i < lu_size; i++)
		for (long j = 0; j < lu_size; j++) {
			double a = lu_element(&lu_shared, i, j), b = lu_element(&lu_plain, i, j);

			if (memcmp(&a, &b, sizeof(a))) {
				fprintf(stderr, "%s: element (%ld, %ld) is %.17g, sequentially %.17g.\n", lu_name, i, j,
				        a, b);
				return false;
			}
		}
	residual = lu_residual(&lu_plain);
	if (residual > 1e-10)
		fprintf(stderr, "%s: the residual is %g.\n", lu_name, residual);
	return residual <= 1e-10;
}

static const char *lu_check(void)
{
	return lu_blocks() > 4096 ? "--block is too small for this --size: at most 4096 blocks in a row." : NULL;
}

int lu_main(const char *name, const char *help, bool (*share)(void), void (*plain)(void), int argc, char **argv)
{
	/* The paper's barrier count, 2 x 64 + 2, and its working set of 16 KB for two blocks imply blocks of 32 x
	 * 32. */
	static const struct kernel_option options[] = {
	    {"size", &lu_size, 768, 2048, 1, 32768, "rows and columns of the matrix"},
	    {"block", &lu_block, 32, 32, 1, LU_BLOCK_MAX, "rows and columns of a block"},
	    {.name = NULL},
	};
	const struct kernel lu = {
	    .name = name,
	    .help = help,
	    .options = options,
	    .check = lu_check,
	    .share = share,
	    .init = lu_init,
	    .parallel = lu_parallel,
	    .plain = plain,
	    .plain_init = lu_plain_init,
	    .sequential = lu_sequential,
	    .verify = lu_verify,
	};

	lu_name = name;
	return kernel_main(&lu, argc, argv);
}
