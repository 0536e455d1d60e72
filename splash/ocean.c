/* SPDX-License-Identifier: BSD-3-Clause */
/* ocean - eddies and boundary currents in a square basin, as in SPLASH-2's ocean with contiguous partitions (Woo et
 * al., 1995; Singh and Hennessy, Finding and Exploiting Parallelism in an Ocean Simulation Program, 1992).
 *
 * Two layers of water on a rotating earth, driven by wind, obey the quasi-geostrophic equations (Holland, The Role of
 * Mesoscale Eddies in the General Circulation of the Ocean, 1978).  psi is a layer's stream function, zeta = laplacian
 * psi its vorticity, H its depth.  With T = the change of vorticity by advection, wind and friction, one time step is
 *
 *     vorticities zeta from psi                                                             barrier
 *     Jacobians (Arakawa's), friction, and from them the sources of two elliptic equations:
 *         laplacian a - lambda^2 a = T_0 - T_1 - lambda^2 J(psi_0, psi_1)   a: change of psi_0 - psi_1
 *         laplacian b = (H_0 T_0 + H_1 T_1) / (H_0 + H_1)                   b: change of the mean psi
 *     solve both by multigrid
 *     set a on the shore to conserve each layer's volume: a sum over the basin, under a lock   barrier
 *     advance psi (Adams and Bashforth)                                                     barrier
 *
 * Multigrid is V-cycles of red-black Gauss-Seidel relaxation.  After black points are relaxed only red points have
 * residuals, and the points of the next coarser grid are red: a half of the residual there is the full weighting.  All
 * corrections are interpolated bilinearly.  Each sweep over one colour ends with a barrier; a cycle ends with the
 * greatest residual, under a lock.
 *
 * The processors form a grid, as square as possible.  Each has a block of every grid in memory of its own, with a frame
 * of one point around it, a copy of the neighbours' points.  No processor writes another's page; after each barrier
 * processors read their neighbours' edges.  A point of a coarse grid belongs to the owner of the same point of the fine
 * grid, so that on the coarsest grid most processors have none.
 *
 * Sequentially there is one block.  All sums over several blocks are of integers, so results do not depend on their
 * number. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>

#include "tweed/tweed.h"

#define OCEAN_SPACING  20e3    /* metres */
#define OCEAN_STEP     7200.0  /* seconds */
#define OCEAN_CORIOLIS 9.3e-5  /* 1/s */
#define OCEAN_BETA     2e-11   /* 1/(m s) */
#define OCEAN_GRAVITY  0.02    /* m/s^2, reduced */
#define OCEAN_FRICTION 1000.0  /* m^2/s, between neighbouring waters */
#define OCEAN_DRAG     1e-7    /* 1/s, of the bottom */
#define OCEAN_WIND     1e-4    /* m^2/s^2 */
#define OCEAN_TOTAL    0x1p+28 /* a sum's unit is 1 / this */
#define OCEAN_CYCLES   100     /* no solution needs as many */
#define OCEAN_LEVELS   13

static const double ocean_depth[2] = {600, 3400}; /* metres */

/* The grids of level 0; those with [2] are one for each layer, or for the equations a and b.  Each coarser level has
 * two: the correction, and its source. */
enum {
	OCEAN_PSI,           /* [2] */
	OCEAN_ZETA = 2,      /* [2] */
	OCEAN_ADVECTION = 4, /* [2]: Jacobian of psi and potential vorticity */
	OCEAN_VISCOSITY = 6, /* [2] */
	OCEAN_OLD = 8,       /* [2]: the change of psi in the last step */
	OCEAN_SOURCE = 10,   /* [2] */
	OCEAN_CHANGE = 12,   /* [2]: a and b */
	OCEAN_CROSS = 14,    /* Jacobian of both psi */
	OCEAN_CURL,          /* of the wind */
	OCEAN_SHORE,         /* the contribution to a of a shore value of 1 */
	OCEAN_COARSE,        /* correction of level 1; + 1: its source; + 2: correction of level 2; ... */
	OCEAN_GRIDS = OCEAN_COARSE + 2 * (OCEAN_LEVELS - 1)
};

/* One processor's points of a grid, with their frame: local indices are 0 and @rows + 1 in the frame, 1 to @rows
 * inside. */
struct ocean_block {
	double *at;                 /* local (0, 0) */
	long rows, columns, stride; /* without the frame; doubles from one row to the next */
	long row, column;           /* of local (1, 1) in the whole grid, where 0 is the shore and 1 the first inner */
	bool framed;                /* its frame is used */
};

struct ocean_level {
	long inner;                    /* rows and columns without the shore */
	double squared;                /* spacing */
	long *row, *column;            /* [rows + 1], [columns + 1] of the processors' grid: where the blocks begin */
	int *row_owner, *column_owner; /* [inner + 1]: index of a point's row and column in the processors' grid */
};

/* Values that are reduced over all processors.  Three in turns: one in use, one that late processors still read, one to
 * be cleared. */
struct ocean_sum {
	struct {
		double greatest;
		int64_t total;
	} turn[3];
	tw_lock_t lock;
};

struct ocean {
	bool parallel;
	int id, count, rows, columns;
	struct ocean_level level[OCEAN_LEVELS];
	struct ocean_block *block[OCEAN_GRIDS]; /* [processor] */
	struct ocean_sum *sum;
	unsigned turn;
	double edge[2], old_edge[2]; /* of psi on the shore: value, and change in the last step */
	double shore;                /* the sum over OCEAN_SHORE, with the shore */
};

static long size, steps, digits;
static int levels;
static struct ocean shared, plain;

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static int ocean_grid_level(int grid)
{
	return grid < OCEAN_COARSE ? 0 : 1 + (grid - OCEAN_COARSE) / 2;
}

static void ocean_barrier(const struct ocean *o)
{
	if (o->parallel)
		tw_barrier_all();
}

static const struct ocean_block *ocean_mine(const struct ocean *o, int grid)
{
	return &o->block[grid][o->id];
}

static double *ocean_row(const struct ocean_block *b, long i)
{
	return b->at + i * b->stride;
}

/* The point (@i, @j) of the whole grid, an inner one, in its owner's block. */
static double *ocean_point(const struct ocean *o, int grid, long i, long j)
{
	const struct ocean_level *level = &o->level[ocean_grid_level(grid)];
	const struct ocean_block *b = &o->block[grid][level->row_owner[i] * o->columns + level->column_owner[j]];

	return ocean_row(b, i - b->row + 1) + (j - b->column + 1);
}

/* Where @parts blocks begin on each level; @column: of columns. */
static void ocean_divide(struct ocean *o, int parts, bool column)
{
	for (int l = 0; l < levels; l++) {
		struct ocean_level *level = &o->level[l];
		long *start = kernel_alloc((size_t)(parts + 1) * sizeof(*start));
		int *owner;

		level->inner = ((size - 1) >> l) - 1;
		level->squared = pow(OCEAN_SPACING * (double)(1 << l), 2);
		owner = kernel_alloc((size_t)(level->inner + 1) * sizeof(*owner));
		for (int p = 0; p <= parts; p++) {
			const long *finer = l ? (column ? level[-1].column : level[-1].row) : NULL;

			start[p] = finer ? (finer[p] + 1) / 2 : 1 + level->inner * p / parts;
			for (long i = start[p]; p < parts && i <= level->inner; i++)
				owner[i] = p;
		}
		*(column ? &level->column : &level->row) = start;
		*(column ? &level->column_owner : &level->row_owner) = owner;
	}
}

static void ocean_shape(struct ocean *o, int grid, int p)
{
	int l = ocean_grid_level(grid), r = p / o->columns, c = p % o->columns;
	const struct ocean_level *level = &o->level[l], *finer = l ? level - 1 : level;

	o->block[grid][p] = (struct ocean_block){
	    .rows = level->row[r + 1] - level->row[r],
	    .columns = level->column[c + 1] - level->column[c],
	    .stride = level->column[c + 1] - level->column[c] + 2,
	    .row = level->row[r],
	    .column = level->column[c],
	    .framed = finer->row[r + 1] > finer->row[r] && finer->column[c + 1] > finer->column[c],
	};
}

static int ocean_grids(void)
{
	return OCEAN_COARSE + 2 * (levels - 1);
}

/* Shapes of all blocks, for @count processors. */
static void ocean_plan(struct ocean *o, int id, int count)
{
	o->id = id;
	o->count = count;
	for (int r = 1; r * r <= count; r++)
		if (count % r == 0)
			o->rows = r;
	o->columns = count / o->rows;
	ocean_divide(o, o->rows, false);
	ocean_divide(o, o->columns, true);
	for (int g = 0; g < ocean_grids(); g++) {
		o->block[g] = kernel_alloc((size_t)count * sizeof(**o->block));
		for (int p = 0; p < count; p++)
			ocean_shape(o, g, p);
	}
}

/* Doubles of a block, from one cache line to another. */
static size_t ocean_elements(const struct ocean_block *b)
{
	return ((size_t)((b->rows + 2) * b->stride) + 7) & ~(size_t)7;
}

/* Bytes of all blocks of processor @p. */
static size_t ocean_bytes(const struct ocean *o, int p)
{
	size_t elements = 0;

	for (int g = 0; g < ocean_grids(); g++)
		elements += ocean_elements(&o->block[g][p]);
	return elements * sizeof(double);
}

static void ocean_place(struct ocean *o, int p, double *memory)
{
	for (int g = 0; g < ocean_grids(); g++) {
		o->block[g][p].at = memory;
		memory += ocean_elements(&o->block[g][p]);
	}
}

/* ---- between processors ------------------------------------------------------------------------------------------ */

#define OCEAN_BOTH (-1)

/* Copy the neighbours' points of one colour, 0 or 1, or of both into the own frame.  They were written before the last
 * barrier, and are not written now. */
static void ocean_exchange(const struct ocean *o, int grid, int colour)
{
	const struct ocean_block *b = ocean_mine(o, grid);
	long inner = o->level[ocean_grid_level(grid)].inner;

	if (!b->framed)
		return;
	for (long i = 0; i <= b->rows + 1; i++)
		for (long j = 0; j <= b->columns + 1; j += i == 0 || i == b->rows + 1 ? 1 : b->columns + 1) {
			long row = b->row + i - 1, column = b->column + j - 1;

			if (row < 1 || row > inner || column < 1 || column > inner)
				continue;
			if (colour == OCEAN_BOTH || ((row + column) & 1) == colour)
				ocean_row(b, i)[j] = *ocean_point(o, grid, row, column);
		}
}

/* The greatest of all processors' @greatest, and the sum of their totals.  Contains a barrier. */
static void ocean_reduce(struct ocean *o, double *greatest, int64_t *total)
{
	unsigned now = o->turn++ % 3, next = o->turn % 3;

	if (o->parallel)
		tw_lock_acquire(o->sum->lock);
	if (o->id == 0) {
		o->sum->turn[next].greatest = 0;
		o->sum->turn[next].total = 0;
	}
	o->sum->turn[now].greatest = fmax(o->sum->turn[now].greatest, *greatest);
	o->sum->turn[now].total += *total;
	if (o->parallel)
		tw_lock_release(o->sum->lock);
	ocean_barrier(o);
	*greatest = o->sum->turn[now].greatest;
	*total = o->sum->turn[now].total;
}

static double ocean_greatest(struct ocean *o, double mine)
{
	int64_t nothing = 0;

	ocean_reduce(o, &mine, &nothing);
	return mine;
}

/* The sum over all inner points of a grid of level 0. */
static double ocean_total(struct ocean *o, int grid)
{
	const struct ocean_block *b = ocean_mine(o, grid);
	double nothing = 0;
	int64_t total = 0;

	for (long i = 1; i <= b->rows; i++)
		for (long j = 1; j <= b->columns; j++)
			total += llrint(OCEAN_TOTAL * ocean_row(b, i)[j]);
	ocean_reduce(o, &nothing, &total);
	return (double)total / OCEAN_TOTAL;
}

/* ---- multigrid: laplacian q - shift q = f ------------------------------------------------------------------------ */

/* The first local column of colour @colour in row @i. */
static long ocean_first(const struct ocean_block *b, long i, int colour)
{
	return 1 + ((b->row + i - 1 + b->column + colour) & 1);
}

static void ocean_relax(const struct ocean *o, int q, int f, double shift, int colour)
{
	const struct ocean_block *qb = ocean_mine(o, q), *fb = ocean_mine(o, f);
	double squared = o->level[ocean_grid_level(q)].squared, divide = 1 / (4 + shift * squared);

	for (long i = 1; i <= qb->rows; i++) {
		double *row = ocean_row(qb, i);
		const double *up = row - qb->stride, *down = row + qb->stride, *source = ocean_row(fb, i);

		for (long j = ocean_first(qb, i, colour); j <= qb->columns; j += 2)
			row[j] = (up[j] + down[j] + row[j - 1] + row[j + 1] - squared * source[j]) * divide;
	}
}

/* Relax all points, the red ones first, and bring the frame up to date. */
static void ocean_sweep(const struct ocean *o, int q, int f, double shift)
{
	for (int colour = 0; colour < 2; colour++) {
		ocean_relax(o, q, f, shift, colour);
		ocean_barrier(o);
		ocean_exchange(o, q, colour);
	}
}

static double ocean_residual(const struct ocean_block *q, const struct ocean_block *f, long i, long j, double squared,
                             double shift)
{
	const double *row = ocean_row(q, i), *up = row - q->stride, *down = row + q->stride;

	return ocean_row(f, i)[j] - (up[j] + down[j] + row[j - 1] + row[j + 1] - 4 * row[j]) / squared + shift * row[j];
}

/* The source of the next coarser grid, whose correction begins with zero. */
static void ocean_restrict(const struct ocean *o, int q, int f, int coarse, double shift)
{
	const struct ocean_block *qb = ocean_mine(o, q), *fb = ocean_mine(o, f);
	const struct ocean_block *correction = ocean_mine(o, coarse), *source = ocean_mine(o, coarse + 1);
	double squared = o->level[ocean_grid_level(q)].squared;

	memset(correction->at, 0, ocean_elements(correction) * sizeof(double));
	for (long i = 1; i <= source->rows; i++)
		for (long j = 1; j <= source->columns; j++) {
			long row = 2 * (source->row + i - 1) - qb->row + 1;
			long column = 2 * (source->column + j - 1) - qb->column + 1;

			ocean_row(source, i)[j] = ocean_residual(qb, fb, row, column, squared, shift) / 2;
		}
}

/* Add the coarser grid's correction. */
static void ocean_prolong(const struct ocean *o, int q, int coarse)
{
	const struct ocean_block *qb = ocean_mine(o, q), *correction = ocean_mine(o, coarse);

	for (long i = 1; i <= qb->rows; i++) {
		long row = qb->row + i - 1;
		const double *up = ocean_row(correction, row / 2 - correction->row + 1);
		const double *down = ocean_row(correction, (row + 1) / 2 - correction->row + 1);

		for (long j = 1; j <= qb->columns; j++) {
			long column = qb->column + j - 1;
			long left = column / 2 - correction->column + 1,
			     right = (column + 1) / 2 - correction->column + 1;

			ocean_row(qb, i)[j] += (up[left] + up[right] + down[left] + down[right]) / 4;
		}
	}
}

/* One V-cycle.  The frame of @q is up to date, before and afterwards. */
static void ocean_cycle(const struct ocean *o, int q, int f, double shift)
{
	int level = ocean_grid_level(q), coarse = OCEAN_COARSE + 2 * level;

	ocean_sweep(o, q, f, shift);
	if (level == levels - 1) /* one point: solved */
		return;
	ocean_sweep(o, q, f, shift);
	ocean_restrict(o, q, f, coarse, shift);
	ocean_cycle(o, coarse, coarse + 1, shift);
	ocean_prolong(o, q, coarse);
	ocean_barrier(o);
	ocean_exchange(o, q, 1);
	ocean_sweep(o, q, f, shift);
}

/* The greatest residual of the own red points: black ones were relaxed last. */
static double ocean_worst(const struct ocean *o, int q, int f, double shift)
{
	const struct ocean_block *qb = ocean_mine(o, q), *fb = ocean_mine(o, f);
	double worst = 0;

	for (long i = 1; i <= qb->rows; i++)
		for (long j = ocean_first(qb, i, 0); j <= qb->columns; j += 2)
			worst = fmax(worst, fabs(ocean_residual(qb, fb, i, j, o->level[0].squared, shift)));
	return worst;
}

/* Greatest absolute value of the own points. */
static double ocean_peak(const struct ocean *o, int grid)
{
	const struct ocean_block *b = ocean_mine(o, grid);
	double peak = 0;

	for (long i = 1; i <= b->rows; i++)
		for (long j = 1; j <= b->columns; j++)
			peak = fmax(peak, fabs(ocean_row(b, i)[j]));
	return peak;
}

/* Solve for @q, from its present value, until the residual is 10^-digits of the source @f.  @shore: q there. */
static void ocean_solve(struct ocean *o, int q, int f, double shift, double shore)
{
	double scale = ocean_greatest(o, ocean_peak(o, f)) + shore / o->level[0].squared, worst = scale;

	for (int cycle = 0; worst > scale * pow(10, -(double)digits); cycle++) {
		if (cycle == OCEAN_CYCLES)
			kernel_fail("the equations are not solved after %d cycles: a residual of %g", cycle,
			            worst / scale);
		ocean_cycle(o, q, f, shift);
		worst = ocean_greatest(o, ocean_worst(o, q, f, shift));
	}
}

/* ---- a time step ------------------------------------------------------------------------------------------------- */

/* @out = @factor laplacian @in */
static void ocean_laplacian(const struct ocean *o, int out, int in, double factor)
{
	const struct ocean_block *b = ocean_mine(o, in), *ob = ocean_mine(o, out);

	factor /= o->level[0].squared;
	for (long i = 1; i <= b->rows; i++) {
		const double *row = ocean_row(b, i), *up = row - b->stride, *down = row + b->stride;
		double *result = ocean_row(ob, i);

		for (long j = 1; j <= b->columns; j++)
			result[j] = factor * (up[j] + down[j] + row[j - 1] + row[j + 1] - 4 * row[j]);
	}
}

/* @out = dp/dx dq/dy - dp/dy dq/dx, where x is along rows (Arakawa, Computational Design for Long-Term Numerical
 * Integration of the Equations of Fluid Motion, 1966), plus @beta dp/dx. */
static void ocean_jacobian(const struct ocean *o, int out, int p, int q, double beta)
{
	const struct ocean_block *pb = ocean_mine(o, p), *qb = ocean_mine(o, q), *ob = ocean_mine(o, out);
	double factor = 1 / (12 * o->level[0].squared), slope = beta / (2 * OCEAN_SPACING);

	for (long i = 1; i <= pb->rows; i++) {
		const double *p0 = ocean_row(pb, i - 1), *p1 = ocean_row(pb, i), *p2 = ocean_row(pb, i + 1);
		const double *q0 = ocean_row(qb, i - 1), *q1 = ocean_row(qb, i), *q2 = ocean_row(qb, i + 1);
		double *result = ocean_row(ob, i);

		for (long j = 1; j <= pb->columns; j++) {
			double a =
			    (p1[j + 1] - p1[j - 1]) * (q2[j] - q0[j]) - (p2[j] - p0[j]) * (q1[j + 1] - q1[j - 1]);
			double b = p1[j + 1] * (q2[j + 1] - q0[j + 1]) - p1[j - 1] * (q2[j - 1] - q0[j - 1]) -
			           p2[j] * (q2[j + 1] - q2[j - 1]) + p0[j] * (q0[j + 1] - q0[j - 1]);
			double c = q2[j] * (p2[j + 1] - p2[j - 1]) - q0[j] * (p0[j + 1] - p0[j - 1]) -
			           q1[j + 1] * (p2[j + 1] - p0[j + 1]) + q1[j - 1] * (p2[j - 1] - p0[j - 1]);

			result[j] = factor * (a + b + c) + slope * (p1[j + 1] - p1[j - 1]);
		}
	}
}

/* lambda^2 */
static double ocean_shift(void)
{
	return OCEAN_CORIOLIS * OCEAN_CORIOLIS * (1 / ocean_depth[0] + 1 / ocean_depth[1]) / OCEAN_GRAVITY;
}

/* The share of layer @layer in the whole depth. */
static double ocean_share_of(int layer)
{
	return ocean_depth[layer] / (ocean_depth[0] + ocean_depth[1]);
}

static void ocean_sources(const struct ocean *o)
{
	for (long i = 1; i <= ocean_mine(o, OCEAN_PSI)->rows; i++) {
		const double *advection[2], *viscosity[2], *bottom = ocean_row(ocean_mine(o, OCEAN_ZETA + 1), i);
		const double *cross = ocean_row(ocean_mine(o, OCEAN_CROSS), i);
		const double *curl = ocean_row(ocean_mine(o, OCEAN_CURL), i);
		double *source[2];

		for (int l = 0; l < 2; l++) {
			advection[l] = ocean_row(ocean_mine(o, OCEAN_ADVECTION + l), i);
			viscosity[l] = ocean_row(ocean_mine(o, OCEAN_VISCOSITY + l), i);
			source[l] = ocean_row(ocean_mine(o, OCEAN_SOURCE + l), i);
		}
		for (long j = 1; j <= ocean_mine(o, OCEAN_PSI)->columns; j++) {
			double upper = viscosity[0][j] - advection[0][j] + curl[j];
			double lower = viscosity[1][j] - advection[1][j] - OCEAN_DRAG * bottom[j];

			source[0][j] = upper - lower - ocean_shift() * cross[j];
			source[1][j] = ocean_share_of(0) * upper + ocean_share_of(1) * lower;
		}
	}
}

/* Set the shore in the own frame to this value. */
static void ocean_set_shore(const struct ocean *o, int grid, double value)
{
	const struct ocean_block *b = ocean_mine(o, grid);
	long last = o->level[0].inner + 1;

	for (long i = 0; i <= b->rows + 1; i++)
		for (long j = 0; j <= b->columns + 1; j++) {
			long row = b->row + i - 1, column = b->column + j - 1;

			if (row == 0 || row == last || column == 0 || column == last)
				ocean_row(b, i)[j] = value;
		}
}

/* Advance both psi; a on the shore is @shore. */
static void ocean_advance(struct ocean *o, double shore, bool first)
{
	double now = OCEAN_STEP * (first ? 1 : 1.5), before = OCEAN_STEP * (first ? 0 : -0.5);
	const double part[2] = {ocean_share_of(1), -ocean_share_of(0)};

	for (int l = 0; l < 2; l++) {
		const struct ocean_block *b = ocean_mine(o, OCEAN_PSI + l);

		for (long i = 1; i <= b->rows; i++) {
			const double *change = ocean_row(ocean_mine(o, OCEAN_CHANGE), i);
			const double *mean = ocean_row(ocean_mine(o, OCEAN_CHANGE + 1), i);
			const double *free = ocean_row(ocean_mine(o, OCEAN_SHORE), i);
			double *psi = ocean_row(b, i), *old = ocean_row(ocean_mine(o, OCEAN_OLD + l), i);

			for (long j = 1; j <= b->columns; j++) {
				double all = mean[j] + part[l] * (change[j] + shore * free[j]);

				psi[j] += now * all + before * old[j];
				old[j] = all;
			}
		}
		o->edge[l] += now * part[l] * shore + before * o->old_edge[l];
		o->old_edge[l] = part[l] * shore;
		ocean_set_shore(o, OCEAN_PSI + l, o->edge[l]);
	}
}

static void ocean_step(struct ocean *o, bool first)
{
	for (int l = 0; l < 2; l++)
		ocean_laplacian(o, OCEAN_ZETA + l, OCEAN_PSI + l, 1);
	ocean_barrier(o);
	for (int l = 0; l < 2; l++) {
		ocean_exchange(o, OCEAN_ZETA + l, OCEAN_BOTH);
		ocean_jacobian(o, OCEAN_ADVECTION + l, OCEAN_PSI + l, OCEAN_ZETA + l, OCEAN_BETA);
		ocean_laplacian(o, OCEAN_VISCOSITY + l, OCEAN_ZETA + l, OCEAN_FRICTION);
	}
	ocean_jacobian(o, OCEAN_CROSS, OCEAN_PSI, OCEAN_PSI + 1, 0);
	ocean_sources(o);
	for (int e = 0; e < 2; e++)
		ocean_solve(o, OCEAN_CHANGE + e, OCEAN_SOURCE + e, e ? 0 : ocean_shift(), 0);
	ocean_advance(o, -ocean_total(o, OCEAN_CHANGE) / o->shore, first);
	ocean_barrier(o);
	for (int l = 0; l < 2; l++)
		ocean_exchange(o, OCEAN_PSI + l, OCEAN_BOTH);
}

/* Points on the shore count a half in a sum over the basin, and in corners a quarter. */
static double ocean_shore_points(void)
{
	return 2 * (double)(size - 2) + 1;
}

static void ocean_run(struct ocean *o)
{
	o->turn = 0;
	for (int l = 0; l < 2; l++) {
		o->edge[l] = o->old_edge[l] = 0;
		ocean_exchange(o, OCEAN_PSI + l, OCEAN_BOTH);
	}
	ocean_set_shore(o, OCEAN_SHORE, 1);
	ocean_solve(o, OCEAN_SHORE, OCEAN_SOURCE, ocean_shift(), 1);
	o->shore = ocean_total(o, OCEAN_SHORE) + ocean_shore_points();
	for (long step = 0; step < steps; step++)
		ocean_step(o, step == 0);
}

static void ocean_parallel(unsigned round)
{
	(void)round;
	ocean_run(&shared);
}

static void ocean_sequential(void)
{
	ocean_run(&plain);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* A great eddy with small ones in it. */
static double ocean_start(long i, long j, int layer)
{
	double y = M_PI * (double)i / (double)(size - 1), x = M_PI * (double)j / (double)(size - 1);

	return (layer ? 1e4 : 3e4) * (sin(x) * sin(y) + 0.3 * sin((layer + 4) * x) * sin((5 - layer) * y));
}

/* Turned by the wind, which blows west in the south and east in the north. */
static double ocean_curl(long i)
{
	double length = OCEAN_SPACING * (double)(size - 1);

	return -OCEAN_WIND * M_PI / length * sin(M_PI * (double)i / (double)(size - 1)) / ocean_depth[0];
}

/* All data of processor @p. */
static void ocean_init_blocks(struct ocean *o, int p)
{
	const struct ocean_block *b = &o->block[OCEAN_PSI][p];

	for (int g = 0; g < ocean_grids(); g++)
		memset(o->block[g][p].at, 0, ocean_elements(&o->block[g][p]) * sizeof(double));
	for (long i = 1; i <= b->rows; i++)
		for (long j = 1; j <= b->columns; j++) {
			for (int l = 0; l < 2; l++)
				ocean_row(&o->block[OCEAN_PSI + l][p], i)[j] =
				    ocean_start(b->row + i - 1, b->column + j - 1, l);
			ocean_row(&o->block[OCEAN_CURL][p], i)[j] = ocean_curl(b->row + i - 1);
		}
	if (p == 0)
		memset(o->sum->turn, 0, sizeof(o->sum->turn));
}

static void ocean_init(int id)
{
	ocean_init_blocks(&shared, id);
}

static void ocean_plain_init(void)
{
	ocean_init_blocks(&plain, 0);
}

static bool ocean_share(void)
{
	int count = tw_count();
	double **memory = kernel_share((size_t)count * sizeof(*memory));

	shared.parallel = true;
	shared.sum = kernel_share(sizeof(*shared.sum));
	if (!memory || !shared.sum)
		return false;
	ocean_plan(&shared, tw_id(), count);
	memory[tw_id()] = tw_malloc(kernel_round_up(ocean_bytes(&shared, tw_id())));
	if (tw_id() == 0)
		shared.sum->lock = tw_lock_create();
	tw_barrier_all();
	for (int p = 0; p < count; p++) {
		if (!memory[p])
			return false;
		ocean_place(&shared, p, memory[p]);
	}
	return true;
}

static void ocean_plain(void)
{
	plain.sum = kernel_alloc(sizeof(*plain.sum));
	ocean_plan(&plain, 0, 1);
	ocean_place(&plain, 0, kernel_alloc(ocean_bytes(&plain, 0)));
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

static bool ocean_equal(int grid)
{
	for (long i = 1; i < size - 1; i++)
		for (long j = 1; j < size - 1; j++) {
			const double *a = ocean_point(&shared, grid, i, j), *b = ocean_point(&plain, grid, i, j);

			if (memcmp(a, b, sizeof(*a))) {
				fprintf(stderr, "ocean: point (%ld, %ld) of grid %d is %.17g, sequentially %.17g.\n", i,
				        j, grid, *a, *b);
				return false;
			}
		}
	return true;
}

/* Does the mean flow's change solve its equation? */
static bool ocean_solved(void)
{
	double worst = 0, scale = ocean_peak(&plain, OCEAN_SOURCE + 1);

	for (long i = 1; i < size - 1; i++)
		for (long j = 1; j < size - 1; j++) {
			double sum = -4 * *ocean_point(&plain, OCEAN_CHANGE + 1, i, j);

			for (int side = 0; side < 4; side++) {
				long row = i + (side == 0) - (side == 1), column = j + (side == 2) - (side == 3);

				if (row % (size - 1) && column % (size - 1))
					sum += *ocean_point(&plain, OCEAN_CHANGE + 1, row, column);
			}
			sum = sum / (OCEAN_SPACING * OCEAN_SPACING) - *ocean_point(&plain, OCEAN_SOURCE + 1, i, j);
			worst = isfinite(sum) ? fmax(worst, fabs(sum)) : INFINITY;
		}
	if (worst > 1.001 * scale * pow(10, -(double)digits))
		fprintf(stderr, "ocean: the mean flow's equation has a residual of %g.\n", worst / scale);
	return worst <= 1.001 * scale * pow(10, -(double)digits);
}

/* Is the water above the interface as much as at the start? */
static bool ocean_kept(void)
{
	double now = (plain.edge[0] - plain.edge[1]) * ocean_shore_points(), start = 0, scale = 0;

	for (long i = 1; i < size - 1; i++)
		for (long j = 1; j < size - 1; j++) {
			double difference =
			    *ocean_point(&plain, OCEAN_PSI, i, j) - *ocean_point(&plain, OCEAN_PSI + 1, i, j);

			now += difference;
			start += ocean_start(i, j, 0) - ocean_start(i, j, 1);
			scale += fabs(difference);
		}
	if (!(fabs(now - start) <= 1e-7 * scale))
		fprintf(stderr, "ocean: the upper layer has changed by %g of what moved.\n", (now - start) / scale);
	return fabs(now - start) <= 1e-7 * scale;
}

static bool ocean_verify(bool compare)
{
	for (int g = 0; compare && g < 2; g++)
		if (!ocean_equal(OCEAN_PSI + g) || !ocean_equal(OCEAN_CHANGE + g))
			return false;
	return ocean_kept() && (steps == 0 || ocean_solved());
}

static const char *ocean_check(void)
{
	if ((size - 1) & (size - 2))
		return "--size takes a power of two and one: 33, 65, 129, ...";
	levels = __builtin_ctzl((unsigned long)(size - 1));
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"size", &size, 129, 257, 5, 8193, "points along each side, with the shore; a power of two and one"},
	    {"steps", &steps, 4, 6, 0, 1 << 20, "time steps"},
	    {"digits", &digits, 5, 7, 1, 10, "how exactly equations are solved: to a residual of 10^-digits"},
	    {.name = NULL},
	};
	static const struct kernel ocean = {
	    .name = "ocean",
	    .help = "eddies in an ocean basin, by multigrid",
	    .options = options,
	    .check = ocean_check,
	    .share = ocean_share,
	    .init = ocean_init,
	    .parallel = ocean_parallel,
	    .plain = ocean_plain,
	    .plain_init = ocean_plain_init,
	    .sequential = ocean_sequential,
	    .verify = ocean_verify,
	};

	return kernel_main(&ocean, argc, argv);
}
