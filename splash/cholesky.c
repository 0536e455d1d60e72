/* SPDX-License-Identifier: BSD-3-Clause */
/* cholesky - factor a sparse symmetric matrix A = L L^T, in the pattern of SPLASH (Rothberg and Gupta, An efficient
 * block-oriented approach to parallel sparse Cholesky factorization, 1993).
 *
 * A is the Laplacian of a cube of points with random weights.  The points are numbered by nested dissection (George,
 * Nested Dissection of a Regular Finite Element Mesh, 1973): a plane of points separates two halves, which are numbered
 * before it, and so on, until a box is small.  A box or plane is a supernode: its columns of L are stored as if they
 * had the same rows, dense.  Wide supernodes are divided into panels of columns.
 *
 * A panel needs those earlier panels that have rows among its columns: they are subtracted, in order, and the panel is
 * factored.  There are no barriers.  A processor takes the next panel from a counter under a lock, waits for the flags
 * of the panels that it needs, and raises the panel's own flag.  Panels are taken in the order of their height in the
 * tree of dependences, so that concurrently taken panels seldom need each other.  All panels that a panel needs were
 * taken before it, so some processor can always continue.
 *
 * The layout of the numbers of L follows from the options: each processor computes it, and the shared memory holds only
 * the numbers, panel after panel, with several panels per page. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>

#include "tweed/tweed.h"

#define CHOLESKY_BOX 16 /* points of a box that is not cut any more, at most */

/* The rows of panel @panel of which [from, to) are columns of the panel that this update is for. */
struct cholesky_update {
	int32_t panel, from, to;
};

struct cholesky_panel {
	long first, width, rows; /* columns; rows, from the diagonal of the first on */
	size_t row;              /* where its rows' numbers begin in @numbers */
	size_t value;            /* where its values begin: column after column, each with all rows */
	size_t update;           /* where its updates begin in @updates, in the panels' order */
	long count;              /* of updates */
	long height;
};

/* A box or plane of the dissection; [2]: the halves at its sides, -1 when it is a box. */
struct cholesky_node {
	long first, width, side[2];
	size_t row; /* as above; its own columns, then the rows below */
	long rows, last_panel;
};

static long side, width;
static double *shared, *plain; /* the values */

/* The structure of L, private. */
static long points;
static int32_t *column_of, *point_of; /* [points] */
static struct cholesky_node *node;
static struct cholesky_panel *panel;
static struct cholesky_update *updates;
static int32_t *numbers, *panel_of, *order; /* panel_of: [points], of columns; order: [panels], by height */
static size_t used, room;                   /* of numbers */
static long nodes, panels;
static size_t values;
static double *sum;     /* [points]: of products, for one column */
static int32_t *place;  /* [points]: where one panel's rows are in another */
static unsigned *known; /* [panels]: the last round in which this processor saw the panel's flag */

/* For the parallel form, shared. */
static tw_flag_t *flags; /* [panels]; raised to r in round r: the panel is factored */
static tw_lock_t *lock;  /* of @next */
static long *next;       /* how many panels were taken */

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

static long cholesky_point(long x, long y, long z)
{
	return (z * side + y) * side + x;
}

/* The neighbour of @point in direction 0 to 5; -1 when there is none. */
static long cholesky_neighbour(long point, int direction)
{
	long step = direction / 2 == 0 ? 1 : direction / 2 == 1 ? side : side * side, at = point / step % side;

	if (direction % 2)
		return at + 1 < side ? point + step : -1;
	return at ? point - step : -1;
}

static double cholesky_weight(long a, long b)
{
	return 0.5 + kernel_random((uint64_t)(a < b ? a : b), (uint64_t)(a < b ? b : a));
}

static double cholesky_diagonal(long point)
{
	double total = 0.1;

	for (int d = 0; d < 6; d++)
		if (cholesky_neighbour(point, d) >= 0)
			total += cholesky_weight(point, cholesky_neighbour(point, d));
	return total;
}

/* ---- the structure of L ------------------------------------------------------------------------------------------ */

static void *cholesky_grow(void *array, size_t bytes)
{
	void *grown = realloc(array, bytes);

	if (!grown)
		kernel_fail("no memory for %zu bytes of private data", bytes);
	return grown;
}

/* Number the points of a box [low, high) from @first on, halves before what separates them.  Returns the node. */
static long cholesky_dissect(const long *low, const long *high, long first)
{
	struct cholesky_node new = {.side = {-1, -1}};
	long bottom[3], top[3], middle;
	int axis = 0;

	for (int i = 0; i < 3; i++) {
		bottom[i] = low[i];
		top[i] = high[i];
		if (high[i] - low[i] > high[axis] - low[axis])
			axis = i;
	}
	if ((high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]) > CHOLESKY_BOX && high[axis] - low[axis] > 2) {
		middle = (low[axis] + high[axis]) / 2;
		top[axis] = middle;
		new.side[0] = cholesky_dissect(bottom, top, first);
		first = node[new.side[0]].first + node[new.side[0]].width;
		top[axis] = high[axis];
		bottom[axis] = middle + 1;
		new.side[1] = cholesky_dissect(bottom, top, first);
		first = node[new.side[1]].first + node[new.side[1]].width;
		bottom[axis] = middle;
		top[axis] = middle + 1;
	}
	new.first = first;
	for (long z = bottom[2]; z < top[2]; z++)
		for (long y = bottom[1]; y < top[1]; y++)
			for (long x = bottom[0]; x < top[0]; x++) {
				column_of[cholesky_point(x, y, z)] = (int32_t)first;
				point_of[first++] = (int32_t)cholesky_point(x, y, z);
			}
	new.width = first - new.first;
	node[nodes] = new;
	return nodes++;
}

static int cholesky_compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Append a row to those of node @n, unless it is among its columns or before them, or, by @stamp, already present. */
static void cholesky_append(const struct cholesky_node *n, long row, int32_t *stamp)
{
	int32_t mark = (int32_t)(n - node) + 1;

	if (row < n->first || stamp[row] == mark)
		return;
	stamp[row] = mark;
	if (used == room) {
		room = 2 * room + 1024;
		numbers = cholesky_grow(numbers, room * sizeof(*numbers));
	}
	numbers[used++] = (int32_t)row;
}

/* The rows of a node: its columns, and below them its points' neighbours and what is below its halves. */
static void cholesky_rows(struct cholesky_node *n, int32_t *stamp)
{
	n->row = used;
	for (long c = n->first; c < n->first + n->width; c++)
		cholesky_append(n, c, stamp);
	for (long c = n->first; c < n->first + n->width; c++)
		for (int d = 0; d < 6; d++)
			if (cholesky_neighbour(point_of[c], d) >= 0)
				cholesky_append(n, column_of[cholesky_neighbour(point_of[c], d)], stamp);
	for (int s = 0; s < 2 && n->side[s] >= 0; s++)
		for (long r = node[n->side[s]].width; r < node[n->side[s]].rows; r++)
			cholesky_append(n, numbers[node[n->side[s]].row + (size_t)r], stamp);
	n->rows = (long)(used - n->row);
	qsort(numbers + n->row, (size_t)n->rows, sizeof(*numbers), cholesky_compare);
}

/* Cut a node into panels. */
static void cholesky_cut(struct cholesky_node *n)
{
	long height = 0;

	for (int s = 0; s < 2 && n->side[s] >= 0; s++)
		if (height <= panel[node[n->side[s]].last_panel].height)
			height = panel[node[n->side[s]].last_panel].height + 1;
	for (long done = 0; done < n->width; done += width) {
		struct cholesky_panel *p = &panel[panels];

		*p = (struct cholesky_panel){
		    .first = n->first + done,
		    .width = width < n->width - done ? width : n->width - done,
		    .rows = n->rows - done,
		    .row = n->row + (size_t)done,
		    .value = values,
		    .height = height++,
		};
		values += ((size_t)(p->rows * p->width) + 7) & ~(size_t)7;
		for (long c = 0; c < p->width; c++)
			panel_of[p->first + c] = (int32_t)panels;
		n->last_panel = panels++;
	}
}

/* The updates by panel @k: for each panel that has one of its lower rows as a column.  @store: counted already. */
static void cholesky_updates_by(long k, bool store)
{
	const int32_t *row = numbers + panel[k].row;

	for (long from = panel[k].width, to; from < panel[k].rows; from = to) {
		struct cholesky_panel *p = &panel[panel_of[row[from]]];

		for (to = from; to < panel[k].rows && panel_of[row[to]] == panel_of[row[from]]; to++)
			;
		if (store)
			updates[p->update + (size_t)p->count] =
			    (struct cholesky_update){(int32_t)k, (int32_t)from, (int32_t)to};
		p->count++;
	}
}

static void cholesky_updates(void)
{
	size_t all = 0;

	for (long k = 0; k < panels; k++)
		cholesky_updates_by(k, false);
	for (long k = 0; k < panels; k++) {
		panel[k].update = all;
		all += (size_t)panel[k].count;
		panel[k].count = 0;
	}
	updates = kernel_alloc(all * sizeof(*updates));
	for (long k = 0; k < panels; k++)
		cholesky_updates_by(k, true);
}

static int cholesky_compare_height(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	long difference = panel[x].height - panel[y].height;

	return difference ? (difference > 0) - (difference < 0) : (x > y) - (x < y);
}

static void cholesky_structure(void)
{
	size_t n = (size_t)(side * side * side);
	const long low[3] = {0, 0, 0}, high[3] = {side, side, side};
	int32_t *stamp = kernel_alloc(n * sizeof(*stamp));

	points = (long)n;
	column_of = kernel_alloc(n * sizeof(*column_of));
	point_of = kernel_alloc(n * sizeof(*point_of));
	panel_of = kernel_alloc(n * sizeof(*panel_of));
	place = kernel_alloc(n * sizeof(*place));
	sum = kernel_alloc(n * sizeof(*sum));
	node = kernel_alloc(n * sizeof(*node));
	panel = kernel_alloc(n * sizeof(*panel));
	cholesky_dissect(low, high, 0);
	for (long i = 0; i < nodes; i++) {
		cholesky_rows(&node[i], stamp);
		cholesky_cut(&node[i]);
	}
	cholesky_updates();
	order = kernel_alloc((size_t)panels * sizeof(*order));
	known = kernel_alloc((size_t)panels * sizeof(*known));
	for (long k = 0; k < panels; k++)
		order[k] = (int32_t)k;
	qsort(order, (size_t)panels, sizeof(*order), cholesky_compare_height);
	free(stamp);
}

/* ---- the work on one panel, of both algorithms ------------------------------------------------------------------- */

static void cholesky_multiply_add(double *restrict out, const double *restrict in, double factor, long n)
{
	for (long i = 0; i < n; i++)
		out[i] += factor * in[i];
}

/* Subtract from panel @j what an update specifies: in each column, the products of the other panel's rows. */
static void cholesky_update(double *l, const struct cholesky_panel *j, const struct cholesky_update *u)
{
	const struct cholesky_panel *k = &panel[u->panel];
	const int32_t *rows = numbers + k->row, *there = numbers + j->row;

	for (long a = u->from, at = 0; a < k->rows; a++) {
		while (there[at] != rows[a])
			at++;
		place[a] = (int32_t)at;
	}
	for (long b = u->from; b < u->to; b++) {
		double *column = l + j->value + (rows[b] - j->first) * j->rows;

		memset(sum, 0, (size_t)(k->rows - b) * sizeof(*sum));
		for (long c = 0; c < k->width; c++) {
			const double *from = l + k->value + c * k->rows + b;

			cholesky_multiply_add(sum, from, *from, k->rows - b);
		}
		for (long a = b; a < k->rows; a++)
			column[place[a]] -= sum[a - b];
	}
}

/* Factor the panel, from which all before it has been subtracted. */
static void cholesky_factor(double *l, const struct cholesky_panel *p)
{
	for (long c = 0; c < p->width; c++) {
		double *column = l + p->value + c * p->rows, root = sqrt(column[c]);

		for (long r = c; r < p->rows; r++)
			column[r] /= root;
		for (long d = c + 1; d < p->width; d++)
			cholesky_multiply_add(l + p->value + d * p->rows + d, column + d, -column[d], p->rows - d);
	}
}

/* ---- the algorithms ---------------------------------------------------------------------------------------------- */

/* The next panel to factor; -1 when all were taken. */
static long cholesky_take(void)
{
	long taken;

	tw_lock_acquire(*lock);
	taken = *next < panels ? order[(*next)++] : -1;
	tw_lock_release(*lock);
	return taken;
}

static void cholesky_parallel(unsigned round)
{
	for (long j; (j = cholesky_take()) >= 0;) {
		const struct cholesky_panel *p = &panel[j];

		for (const struct cholesky_update *u = updates + p->update; u < updates + p->update + p->count; u++) {
			if (known[u->panel] != round)
				tw_flag_wait(flags[u->panel], round);
			known[u->panel] = round;
			cholesky_update(shared, p, u);
		}
		cholesky_factor(shared, p);
		known[j] = round;
		tw_flag_set(flags[j], round);
	}
}

static void cholesky_sequential(void)
{
	for (long i = 0; i < panels; i++) {
		const struct cholesky_panel *p = &panel[order[i]];

		for (const struct cholesky_update *u = updates + p->update; u < updates + p->update + p->count; u++)
			cholesky_update(plain, p, u);
		cholesky_factor(plain, p);
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* The values of A where L has some. */
static void cholesky_init_panel(double *l, const struct cholesky_panel *p)
{
	memset(l + p->value, 0, (size_t)(p->rows * p->width) * sizeof(*l));
	for (long c = 0; c < p->width; c++) {
		double *column = l + p->value + c * p->rows;
		long point = point_of[p->first + c];

		column[c] = cholesky_diagonal(point);
		for (int d = 0; d < 6; d++) {
			long other = cholesky_neighbour(point, d);
			const int32_t *row;

			if (other < 0 || column_of[other] < p->first + c)
				continue;
			row = bsearch(&column_of[other], numbers + p->row, (size_t)p->rows, sizeof(*row),
			              cholesky_compare);
			column[row - (numbers + p->row)] = -cholesky_weight(point, other);
		}
	}
}

static void cholesky_init(int id)
{
	if (id == 0)
		*next = 0;
	for (long k = panels * id / tw_count(); k < panels * (id + 1) / tw_count(); k++)
		cholesky_init_panel(shared, &panel[k]);
}

static bool cholesky_share(void)
{
	cholesky_structure();
	shared = kernel_share(values * sizeof(*shared));
	flags = kernel_share((size_t)panels * sizeof(*flags));
	lock = kernel_share(sizeof(*lock));
	next = kernel_share(sizeof(*next));
	if (!shared || !flags || !lock || !next)
		return false;
	for (long k = tw_id(); k < panels; k += tw_count())
		flags[k] = tw_flag_create();
	if (tw_id() == 0)
		*lock = tw_lock_create();
	tw_barrier_all();
	return true;
}

static void cholesky_plain(void)
{
	if (!panel)
		cholesky_structure();
	plain = kernel_alloc(values * sizeof(*plain));
}

static void cholesky_plain_init(void)
{
	for (long k = 0; k < panels; k++)
		cholesky_init_panel(plain, &panel[k]);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

static double cholesky_solution(long point)
{
	return kernel_random(UINT64_C(0x10000000), (uint64_t)point) + 0.5;
}

/* Solve L L^T x = b in place; @x is by columns. */
static void cholesky_solve(double *x)
{
	for (long k = 0; k < panels; k++)
		for (long c = 0; c < panel[k].width; c++) {
			const double *column = plain + panel[k].value + c * panel[k].rows;
			const int32_t *row = numbers + panel[k].row;
			double value = x[row[c]] /= column[c];

			for (long r = c + 1; r < panel[k].rows; r++)
				x[row[r]] -= value * column[r];
		}
	for (long k = panels - 1; k >= 0; k--)
		for (long c = panel[k].width - 1; c >= 0; c--) {
			const double *column = plain + panel[k].value + c * panel[k].rows;
			const int32_t *row = numbers + panel[k].row;
			double value = x[row[c]];

			for (long r = c + 1; r < panel[k].rows; r++)
				value -= column[r] * x[row[r]];
			x[row[c]] = value / column[c];
		}
}

static bool cholesky_verify(bool compare)
{
	double *x = kernel_alloc((size_t)points * sizeof(*x)), worst = 0;

	for (long k = 0; compare && k < panels; k++)
		if (memcmp(shared + panel[k].value, plain + panel[k].value,
		           (size_t)(panel[k].rows * panel[k].width) * sizeof(*plain))) {
			fprintf(stderr, "cholesky: columns %ld to %ld differ from the sequential result.\n",
			        panel[k].first, panel[k].first + panel[k].width - 1);
			free(x);
			return false;
		}
	for (long p = 0; p < points; p++) {
		x[column_of[p]] = cholesky_diagonal(p) * cholesky_solution(p);
		for (int d = 0; d < 6; d++) {
			long other = cholesky_neighbour(p, d);

			if (other >= 0)
				x[column_of[p]] -= cholesky_weight(p, other) * cholesky_solution(other);
		}
	}
	cholesky_solve(x);
	for (long p = 0; p < points; p++) {
		double error = fabs(x[column_of[p]] - cholesky_solution(p));

		worst = isfinite(error) ? fmax(worst, error) : INFINITY;
	}
	if (worst > 1e-9)
		fprintf(stderr, "cholesky: a solution is wrong by %g.\n", worst);
	free(x);
	return worst <= 1e-9;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"side", &side, 20, 16, 1, 64, "points along the sides of the cube: as many rows as it has points"},
	    {"panel", &width, 32, 32, 1, 1024, "columns of a panel, at most"},
	    {.name = NULL},
	};
	static const struct kernel cholesky = {
	    .name = "cholesky",
	    .help = "factorization of a sparse matrix",
	    .options = options,
	    .share = cholesky_share,
	    .init = cholesky_init,
	    .parallel = cholesky_parallel,
	    .plain = cholesky_plain,
	    .plain_init = cholesky_plain_init,
	    .sequential = cholesky_sequential,
	    .verify = cholesky_verify,
	};

	return kernel_main(&cholesky, argc, argv);
}
