/* SPDX-License-Identifier: BSD-3-Clause */
/* fft - one-dimensional fast Fourier transform of complex numbers in six steps (Bailey, FFTs in External or
 * Hierarchical Memory, 1990), as in SPLASH-2 (Woo et al., 1995).
 *
 * The n = side x side points are a square matrix by rows; each processor has a band of rows.  Between the two arrays a
 * and b:
 *
 *     b = transposed a
 *     transform each row of b; element (i, j) times w^(i j), w = exp(-2 pi i / n)      barrier
 *     a = transposed b
 *     transform each row of a                                                          barrier
 *     b = transposed a
 *
 * All communication is in the transpositions: every processor reads a patch of each other band.  It writes only its own
 * band, tile by tile, and starts with the patch of its own band, so that not all read from one owner at once. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>

#include "tweed/tweed.h"

#define FFT_TILE 16 /* rows and columns; two tiles fit into any cache */

struct fft_complex {
	double re, im;
};

struct fft_arrays {
	struct fft_complex *a, *b; /* [side][side] each */
};

static long log_points;
static struct fft_arrays shared, plain;
static struct fft_complex *roots; /* [side / 2], private: exp(-2 pi i k / side) */

static long fft_side(void)
{
	return 1L << (log_points / 2);
}

static size_t fft_points(void)
{
	return (size_t)1 << log_points;
}

/* The first row of processor @id of @count; @id = @count: the end. */
static long fft_band(int id, int count)
{
	return fft_side() * id / count;
}

/* exp(-2 pi i k / n) */
static struct fft_complex fft_root(size_t k, size_t n)
{
	double angle = -2.0 * M_PI * (double)(k % n) / (double)n;

	return (struct fft_complex){cos(angle), sin(angle)};
}

static struct fft_complex fft_times(struct fft_complex x, struct fft_complex y)
{
	return (struct fft_complex){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

/* ---- the work, of both algorithms -------------------------------------------------------------------------------- */

/* Put the elements of @row into the order of their indices' bits read backwards. */
static void fft_reverse(struct fft_complex *row, long n)
{
	for (long i = 0, j = 0; i < n; i++) {
		if (i < j) {
			struct fft_complex other = row[j];

			row[j] = row[i];
			row[i] = other;
		}
		long bit = n / 2;

		for (; bit && (j & bit); bit /= 2)
			j ^= bit;
		j |= bit;
	}
}

/* Transform one row in place, by halves. */
static void fft_row(struct fft_complex *row)
{
	long n = fft_side();

	fft_reverse(row, n);
	for (long half = 1; half < n; half *= 2)
		for (long start = 0; start < n; start += 2 * half)
			for (long k = 0; k < half; k++) {
				struct fft_complex *even = row + start + k, *odd = even + half;
				struct fft_complex turned = fft_times(*odd, roots[k * (n / 2 / half)]);

				*odd = (struct fft_complex){even->re - turned.re, even->im - turned.im};
				*even = (struct fft_complex){even->re + turned.re, even->im + turned.im};
			}
}

static void fft_rows(struct fft_complex *matrix, long first, long end)
{
	for (long i = first; i < end; i++)
		fft_row(matrix + i * fft_side());
}

/* Multiply element (i, j) of rows [first, end) by w^(i j).  The angles grow evenly along a row: w^(i j) is the product
 * of the roots of j's high and low halves, so that a row needs two short tables and no more sines than it has rows. */
static void fft_twiddle(struct fft_complex *matrix, long first, long end)
{
	long side = fft_side(), low = 1L << (log_points / 4), high = side / low;
	struct fft_complex *fine = kernel_alloc((size_t)low * sizeof(*fine));

	for (long i = first; i < end; i++) {
		for (long j = 0; j < low; j++)
			fine[j] = fft_root((size_t)(i * j), fft_points());
		for (long h = 0; h < high; h++) {
			struct fft_complex coarse = fft_root((size_t)(i * h * low), fft_points());
			struct fft_complex *element = matrix + i * side + h * low;

			for (long j = 0; j < low; j++)
				element[j] = fft_times(element[j], fft_times(coarse, fine[j]));
		}
	}
	free(fine);
}

static long fft_least(long a, long b)
{
	return a < b ? a : b;
}

/* Rows [first, end) of @out become columns of @in. */
static void fft_transpose(struct fft_complex *restrict out, const struct fft_complex *restrict in, long first, long end)
{
	long side = fft_side(), tiles = (side + FFT_TILE - 1) / FFT_TILE;

	for (long t = 0; t < tiles; t++) {
		long column = (first / FFT_TILE + t) % tiles * FFT_TILE, last = fft_least(column + FFT_TILE, side);

		for (long row = first; row < end; row += FFT_TILE)
			for (long i = row; i < fft_least(row + FFT_TILE, end); i++)
				for (long j = column; j < last; j++)
					out[i * side + j] = in[j * side + i];
	}
}

static void fft_parallel(unsigned round)
{
	long first = fft_band(tw_id(), tw_count()), end = fft_band(tw_id() + 1, tw_count());

	(void)round;
	fft_transpose(shared.b, shared.a, first, end);
	fft_rows(shared.b, first, end);
	fft_twiddle(shared.b, first, end);
	tw_barrier_all();
	fft_transpose(shared.a, shared.b, first, end);
	fft_rows(shared.a, first, end);
	tw_barrier_all();
	fft_transpose(shared.b, shared.a, first, end);
}

static void fft_sequential(void)
{
	long side = fft_side();

	fft_transpose(plain.b, plain.a, 0, side);
	fft_rows(plain.b, 0, side);
	fft_twiddle(plain.b, 0, side);
	fft_transpose(plain.a, plain.b, 0, side);
	fft_rows(plain.a, 0, side);
	fft_transpose(plain.b, plain.a, 0, side);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static struct fft_complex fft_start(size_t j)
{
	return (struct fft_complex){kernel_random(1, j) - 0.5, kernel_random(2, j) - 0.5};
}

/* Both arrays: the owner of a row is the first to touch it. */
static void fft_init_rows(const struct fft_arrays *arrays, long first, long end)
{
	for (size_t j = (size_t)(first * fft_side()); j < (size_t)(end * fft_side()); j++) {
		arrays->a[j] = fft_start(j);
		arrays->b[j] = (struct fft_complex){0, 0};
	}
}

static void fft_init(int id)
{
	fft_init_rows(&shared, fft_band(id, tw_count()), fft_band(id + 1, tw_count()));
}

static void fft_roots(void)
{
	size_t side = (size_t)fft_side();

	roots = kernel_alloc(side / 2 * sizeof(*roots));
	for (size_t k = 0; k < side / 2; k++)
		roots[k] = fft_root(k, side);
}

static bool fft_share(void)
{
	fft_roots();
	shared.a = kernel_share(fft_points() * sizeof(*shared.a));
	shared.b = kernel_share(fft_points() * sizeof(*shared.b));
	return shared.a && shared.b;
}

static void fft_plain(void)
{
	if (!roots)
		fft_roots();
	plain.a = kernel_alloc(fft_points() * sizeof(*plain.a));
	plain.b = kernel_alloc(fft_points() * sizeof(*plain.b));
}

static void fft_plain_init(void)
{
	fft_init_rows(&plain, 0, fft_side());
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* The plain result at some points against the sum that defines it. */
static bool fft_direct(void)
{
	size_t n = fft_points(), points[] = {0, 1, n / 2 + 1, n - 1};

	for (size_t p = 0; p < sizeof(points) / sizeof(*points); p++) {
		size_t k = points[p] % n;
		struct fft_complex sum = {0, 0};

		for (size_t j = 0; j < n; j++) {
			struct fft_complex term = fft_times(fft_start(j), fft_root(j * k, n));

			sum.re += term.re;
			sum.im += term.im;
		}
		double error = hypot(sum.re - plain.b[k].re, sum.im - plain.b[k].im);

		if (!(error <= 1e-10 * sqrt((double)n))) {
			fprintf(stderr, "fft: point %zu is wrong by %g.\n", k, error);
			return false;
		}
	}
	return true;
}

/* Transform the plain result back: the transform of its conjugate is the conjugate of n times the original. */
static bool fft_inverse(void)
{
	size_t n = fft_points();
	double worst = 0;

	for (size_t j = 0; j < n; j++)
		plain.a[j] = (struct fft_complex){plain.b[j].re, -plain.b[j].im};
	fft_sequential();
	for (size_t j = 0; j < n; j++) {
		struct fft_complex start = fft_start(j);
		double error = hypot(plain.b[j].re / (double)n - start.re, -plain.b[j].im / (double)n - start.im);

		worst = isfinite(error) ? fmax(worst, error) : INFINITY;
	}
	if (worst > 1e-12)
		fprintf(stderr, "fft: transformed there and back, the points are wrong by %g.\n", worst);
	return worst <= 1e-12;
}

static bool fft_verify(bool compare)
{
	for (size_t k = 0; compare && k < fft_points(); k++)
		if (memcmp(&shared.b[k], &plain.b[k], sizeof(*shared.b))) {
			fprintf(stderr, "fft: point %zu is (%.17g, %.17g), sequentially (%.17g, %.17g).\n", k,
			        shared.b[k].re, shared.b[k].im, plain.b[k].re, plain.b[k].im);
			return false;
		}
	return fft_direct() && fft_inverse();
}

static const char *fft_check(void)
{
	return log_points % 2 ? "--log takes an even number: the points are a square matrix." : NULL;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"log", &log_points, 20, 16, 2, 30, "binary logarithm of the number of points; even"},
	    {.name = NULL},
	};
	static const struct kernel fft = {
	    .name = "fft",
	    .help = "six-step fast Fourier transform of complex numbers",
	    .options = options,
	    .check = fft_check,
	    .share = fft_share,
	    .init = fft_init,
	    .parallel = fft_parallel,
	    .plain = fft_plain,
	    .plain_init = fft_plain_init,
	    .sequential = fft_sequential,
	    .verify = fft_verify,
	};

	return kernel_main(&fft, argc, argv);
}
