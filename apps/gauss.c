/* SPDX-License-Identifier: BSD-3-Clause */
/* gauss - solve A x = b by Gaussian elimination and back-substitution (Cashmere-2L, section 3.2).
 *
 * Rows are assigned to the processors cyclically, because the work shrinks from the top.  There is no barrier: row k
 * has a flag, which its owner raises when the row is a finished pivot.  Processors that have rows below wait for the
 * flag, then eliminate these rows.  The row after the pivot is eliminated first and its flag raised at once, so that
 * the others need not wait for the rest of its owner's rows.
 *
 * Each owner keeps the right-hand sides of its rows in private memory while they change.  A pivot's diagonal is 1 and
 * need not be stored: its place holds the row's final right-hand side, so that a pivot consists of one row only.
 * Processor 0, which has read all pivots by then, substitutes back.  There is no pivoting: the matrix is diagonally
 * dominant.  b = A (1 ... 1), so x is known. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tweed/tweed.h"

struct gauss_system {
	double *a; /* [size][size] */
	double *b; /* [size]; the plain one is changed in place */
	double *x; /* [size], used by processor 0 */
};

static long size;
static struct gauss_system shared, plain;
static tw_flag_t *flags; /* [size], shared; raised to r in round r: the pivot is ready */
static double *own_b;    /* [size], private; this processor's rows only */

static double *gauss_row(const struct gauss_system *system, long i)
{
	return system->a + (size_t)i * (size_t)size;
}

/* ---- the inner loops, of both algorithms ------------------------------------------------------------------------- */

static void gauss_subtract(double *restrict row, const double *restrict pivot, double factor, size_t n)
{
	for (size_t j = 0; j < n; j++)
		row[j] -= factor * pivot[j];
}

/* Make row @k a pivot: divide it and its right-hand side @b by its diagonal, and store @b in the diagonal's place. */
static void gauss_normalise(double *row, double b, long k)
{
	double diagonal = row[k];

	for (long j = k + 1; j < size; j++)
		row[j] /= diagonal;
	row[k] = b / diagonal;
}

/* Clear element @k of @row by subtracting the pivot row.  Returns the row's new right-hand side. */
static double gauss_eliminate(double *row, double b, const double *pivot, long k)
{
	double factor = row[k];

	gauss_subtract(row + k + 1, pivot + k + 1, factor, (size_t)(size - k - 1));
	row[k] = 0.0;
	return b - factor * pivot[k];
}

/* x from the finished pivots. */
static void gauss_back(const struct gauss_system *system)
{
	for (long i = size - 1; i >= 0; i--) {
		const double *row = gauss_row(system, i);
		double x = row[i];

		for (long j = size - 1; j > i; j--)
			x -= row[j] * system->x[j];
		system->x[i] = x;
	}
}

/* ---- parallel ---------------------------------------------------------------------------------------------------- */

/* The first row at or after @from of processor @id. */
static long gauss_first(long from, int id, int count)
{
	long over = (from - id) % count;

	if (from <= id)
		return id;
	return over ? from + count - over : from;
}

static void gauss_publish(long k, unsigned round)
{
	gauss_normalise(gauss_row(&shared, k), own_b[k], k);
	tw_flag_set(flags[k], round);
}

/* Planted: also eliminates the row below an own one, which belongs to another processor. */
static void __attribute__((noinline)) gauss_neighbour(long i, long k)
{
	if (i + 1 < size)
		gauss_eliminate(gauss_row(&shared, i + 1), 0, gauss_row(&shared, k), k);
}

static void gauss_forward(int id, int count, unsigned round)
{
	if (id == 0)
		gauss_publish(0, round);
	for (long k = 0; gauss_first(k + 1, id, count) < size; k++) {
		if (k % count != id)
			tw_flag_wait(flags[k], round);
		for (long i = gauss_first(k + 1, id, count); i < size; i += count) {
			own_b[i] = gauss_eliminate(gauss_row(&shared, i), own_b[i], gauss_row(&shared, k), k);
			if (kernel_planted("gauss-row"))
				gauss_neighbour(i, k);
			if (i == k + 1)
				gauss_publish(i, round);
		}
	}
}

static void gauss_parallel(unsigned round)
{
	int id = tw_id(), count = tw_count();

	for (long i = id; i < size; i += count)
		own_b[i] = shared.b[i];
	gauss_forward(id, count, round);
	if (id == 0) {
		tw_flag_wait(flags[size - 1], round);
		gauss_back(&shared);
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void gauss_init_row(const struct gauss_system *system, long i)
{
	double *row = gauss_row(system, i), sum = 0;

	for (long j = 0; j < size; j++) {
		row[j] = kernel_random((uint64_t)i, (uint64_t)j) + (i == j ? (double)size : 0.0);
		sum += row[j];
	}
	system->b[i] = sum;
}

static void gauss_init(int id)
{
	for (long i = id; i < size; i += tw_count())
		gauss_init_row(&shared, i);
}

static bool gauss_share(void)
{
	size_t n = (size_t)size;

	shared.a = kernel_share(n * n * sizeof(double));
	shared.b = kernel_share(n * sizeof(double));
	shared.x = kernel_share(n * sizeof(double));
	flags = kernel_share(n * sizeof(*flags));
	if (!shared.a || !shared.b || !shared.x || !flags)
		return false;
	own_b = kernel_alloc(n * sizeof(double));
	if (tw_id() == 0)
		for (long k = 0; k < size; k++)
			flags[k] = tw_flag_create();
	tw_barrier_all();
	return true;
}

/* ---- sequential -------------------------------------------------------------------------------------------------- */

static void gauss_plain(void)
{
	size_t n = (size_t)size;

	plain.a = kernel_alloc(n * n * sizeof(double));
	plain.b = kernel_alloc(n * sizeof(double));
	plain.x = kernel_alloc(n * sizeof(double));
}

static void gauss_plain_init(void)
{
	for (long i = 0; i < size; i++)
		gauss_init_row(&plain, i);
}

static void gauss_sequential(void)
{
	for (long k = 0; k < size; k++) {
		gauss_normalise(gauss_row(&plain, k), plain.b[k], k);
		for (long i = k + 1; i < size; i++)
			plain.b[i] = gauss_eliminate(gauss_row(&plain, i), plain.b[i], gauss_row(&plain, k), k);
	}
	gauss_back(&plain);
}

static bool gauss_verify(bool compare)
{
	const double *x = compare ? shared.x : plain.x;
	size_t n = (size_t)size;
	double worst = 0;

	for (long i = 0; compare && i < size; i++)
		if (memcmp(gauss_row(&shared, i), gauss_row(&plain, i), n * sizeof(double))) {
			fprintf(stderr, "gauss: row %ld differs from the sequential result.\n", i);
			return false;
		}
	if (compare && memcmp(shared.x, plain.x, n * sizeof(double))) {
		fprintf(stderr, "gauss: the solution differs from the sequential one.\n");
		return false;
	}
	for (long i = 0; i < size; i++)
		worst = fmax(worst, isfinite(x[i]) ? fabs(x[i] - 1.0) : INFINITY);
	if (worst > 1e-9)
		fprintf(stderr, "gauss: the solution is wrong by %g.\n", worst);
	return worst <= 1e-9;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"size", &size, 1024, 2048, 1, 32768, "equations"},
	    {.name = NULL},
	};
	static const struct kernel gauss = {
	    .name = "gauss",
	    .help = "Gaussian elimination with back-substitution",
	    .options = options,
	    .share = gauss_share,
	    .init = gauss_init,
	    .parallel = gauss_parallel,
	    .plain = gauss_plain,
	    .plain_init = gauss_plain_init,
	    .sequential = gauss_sequential,
	    .verify = gauss_verify,
	};

	return kernel_main(&gauss, argc, argv);
}
