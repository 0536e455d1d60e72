/* SPDX-License-Identifier: BSD-3-Clause */
/* barnes - the motion of bodies under gravity by a hierarchy of cells (Barnes and Hut, A hierarchical O(N log N)
 * force-calculation algorithm, 1986), as in SPLASH (Singh, Weber and Gupta, 1992; Cashmere-2L, section 3.2).
 *
 * Space is a cube, divided into eight repeatedly until a cell holds one body.  A distant cell attracts as one body in
 * its centre of mass.  Each time step:
 *
 *     build       the tree: processor 0 alone, or all processors                       barrier
 *     zones       a body's cost is its number of interactions in the last step; in the order of the tree, each
 *     processor
 *                 takes the bodies of an equal share of the cost
 *     attract     the acceleration of each own body, by a walk down the tree           barrier
 *     advance     velocities and positions of the own bodies (leapfrog), and costs     barrier
 *
 * The bodies are an array that never changes its order, so a processor's bodies are scattered over all of it: pages
 * have many writers.  The cells are an array, too; each is written by one processor and read by all.
 *
 * With `--build parallel` each processor builds a tree of its bodies and merges it into the common one, from the root
 * down.  A part that the other tree lacks is inserted as a whole, so that few cells are visited (as in Shan and Singh,
 * Parallel Tree Building on a Range of Shared Address Space Multiprocessors, 1998).  A cell that others can reach is
 * used under its lock.
 *
 * A cell's place depends only on the positions, and its children are always processed in the same order.  So both
 * trees, and with them all bodies, are bitwise equal. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>

#include "tweed/tweed.h"

#define BARNES_LOCKS     512
#define BARNES_CHUNK     64    /* cells that a processor takes at a time */
#define BARNES_SUBTREES  16    /* per processor, for the parallel sums of masses */
#define BARNES_STEP      0.025 /* of time */
#define BARNES_SOFTENING 0.05  /* distance below which attraction does not grow */
/* A cell counts as one body when its side is less than this times the distance: less than 1 / sqrt(3), so that it never
 * contains the attracted body. */
#define BARNES_OPENING 0.55
#define BARNES_WITHIN  0.999 /* of the mass at the start: the rest would be very far away */

struct barnes_body {
	double mass, position[3], velocity[3], acceleration[3];
	double cost; /* 1 + interactions in the last step */
};

/* A cell's child.  0: none; b + 1: body b; -(c + 1): cell c. */
typedef int32_t barnes_node;

struct barnes_cell {
	double mass, centre[3]; /* of all bodies below */
	double cost;            /* of all bodies below */
	barnes_node child[8];
};

/* A cube of space. */
struct barnes_cube {
	double middle[3], side;
};

/* The smallest and greatest coordinates of some bodies; on a cache line of its own. */
struct barnes_extent {
	double low[3], high[3], unused[2];
};

struct barnes_space {
	struct barnes_body *body;
	struct barnes_cell *cell; /* cell 0 is the root */
	struct barnes_cube *root; /* all of space */
	/* The following is private. */
	long cells;          /* maximum number of cells */
	long free, free_end; /* those that this processor may use for new cells */
	bool take;           /* it may reserve more: the parallel build */
	int32_t *mine;       /* this processor's bodies */
	double *cost;        /* each body's cost in this step; bodies keep the last step's for readers */
	long count;          /* number of these bodies */
};

static long bodies, steps;
static const char *build;
static struct barnes_space shared, plain;

/* For the parallel build, shared. */
static struct barnes_extent *extents; /* [processor] */
static tw_lock_t *locks;              /* [BARNES_LOCKS]: of cells, by number; and one of @taken */
static long *taken;                   /* number of reserved cells */

/* The number of cells that @count processors can need, unless bodies nearly touch. */
static long barnes_cells(int count)
{
	return 2 * bodies + (count + 1L) * BARNES_CHUNK;
}

/* The first body of processor @id of @count before there are zones; @id = @count: the end. */
static long barnes_part(int id, int count)
{
	return bodies * id / count;
}

/* ---- one processor's tree ---------------------------------------------------------------------------------------- */

static struct barnes_extent barnes_extent(const struct barnes_space *s)
{
	struct barnes_extent extent;

	for (int i = 0; i < 3; i++) {
		extent.low[i] = INFINITY;
		extent.high[i] = -INFINITY;
	}
	for (long b = 0; b < s->count; b++)
		for (int i = 0; i < 3; i++) {
			extent.low[i] = fmin(extent.low[i], s->body[s->mine[b]].position[i]);
			extent.high[i] = fmax(extent.high[i], s->body[s->mine[b]].position[i]);
		}
	return extent;
}

/* The smallest cube about the extent, a little larger. */
static struct barnes_cube barnes_around(const struct barnes_extent *extent)
{
	struct barnes_cube cube = {.side = 0x1p-20};

	for (int i = 0; i < 3; i++) {
		cube.middle[i] = (extent->low[i] + extent->high[i]) / 2;
		cube.side = fmax(cube.side, 1.0001 * (extent->high[i] - extent->low[i]));
	}
	return cube;
}

/* Which eighth of @cube the position is in. */
static int barnes_octant(const struct barnes_cube *cube, const double *position)
{
	return (position[0] >= cube->middle[0]) | (position[1] >= cube->middle[1]) << 1 |
	       (position[2] >= cube->middle[2]) << 2;
}

static struct barnes_cube barnes_eighth(const struct barnes_cube *cube, int octant)
{
	struct barnes_cube eighth = {.side = cube->side / 2};

	for (int i = 0; i < 3; i++)
		eighth.middle[i] = cube->middle[i] + (octant >> i & 1 ? 0.25 : -0.25) * cube->side;
	return eighth;
}

static struct barnes_body *barnes_body(const struct barnes_space *s, barnes_node node)
{
	return s->body + (node - 1);
}

static struct barnes_cell *barnes_cell(const struct barnes_space *s, barnes_node node)
{
	return s->cell + (-node - 1);
}

static void barnes_take(struct barnes_space *s)
{
	tw_lock_acquire(locks[BARNES_LOCKS]);
	s->free = *taken;
	s->free_end = *taken += BARNES_CHUNK;
	tw_lock_release(locks[BARNES_LOCKS]);
}

static barnes_node barnes_new(struct barnes_space *s)
{
	if (s->free == s->free_end && s->take)
		barnes_take(s);
	if (s->free == s->free_end || s->free_end > s->cells)
		kernel_fail("too many bodies are too close to each other for %ld cells", s->cells);
	memset(&s->cell[s->free], 0, sizeof(*s->cell));
	return (barnes_node) - (++s->free);
}

/* Insert a body below @node, a cell with the cube @cube that no other processor can reach. */
static void barnes_insert(struct barnes_space *s, barnes_node node, struct barnes_cube cube, barnes_node body)
{
	for (;;) {
		int octant = barnes_octant(&cube, barnes_body(s, body)->position);
		barnes_node *child = &barnes_cell(s, node)->child[octant], other = *child;

		if (!other) {
			*child = body;
			return;
		}
		cube = barnes_eighth(&cube, octant);
		if (other > 0) {
			*child = barnes_new(s);
			barnes_cell(s, *child)->child[barnes_octant(&cube, barnes_body(s, other)->position)] = other;
		}
		node = *child;
	}
}

static barnes_node barnes_tree(struct barnes_space *s, const struct barnes_cube *cube)
{
	barnes_node root = barnes_new(s);

	for (long b = 0; b < s->count; b++)
		barnes_insert(s, root, *cube, s->mine[b] + 1);
	return root;
}

/* Sum masses and costs below a cell.  @known: number of levels down to cells whose sums are known; 0: none are. */
static void barnes_sum(const struct barnes_space *s, barnes_node node, int known)
{
	struct barnes_cell *cell = barnes_cell(s, node);
	double mass = 0, cost = 0, moment[3] = {0};

	for (int o = 0; o < 8; o++) {
		barnes_node child = cell->child[o];

		if (!child)
			continue;
		if (child < 0 && known != 1)
			barnes_sum(s, child, known ? known - 1 : 0);

		double m = child > 0 ? barnes_body(s, child)->mass : barnes_cell(s, child)->mass;
		const double *centre = child > 0 ? barnes_body(s, child)->position : barnes_cell(s, child)->centre;

		mass += m;
		cost += child > 0 ? barnes_body(s, child)->cost : barnes_cell(s, child)->cost;
		for (int i = 0; i < 3; i++)
			moment[i] += m * centre[i];
	}
	cell->mass = mass;
	cell->cost = cost;
	for (int i = 0; i < 3; i++)
		cell->centre[i] = moment[i] / mass;
}

static void barnes_own(struct barnes_space *s, long first, long end)
{
	s->count = end - first;
	for (long b = first; b < end; b++)
		s->mine[b - first] = (int32_t)b;
}

static void barnes_build_alone(struct barnes_space *s)
{
	struct barnes_extent extent;

	barnes_own(s, 0, bodies);
	extent = barnes_extent(s);
	*s->root = barnes_around(&extent);
	s->free = 0;
	s->free_end = s->cells;
	barnes_sum(s, barnes_tree(s, s->root), 0);
}

/* ---- the tree of all processors ---------------------------------------------------------------------------------- */

/* Merge @from, a body or a cell's children, into the cell @into, with the cube @cube, which others use. */
static void barnes_merge(struct barnes_space *s, barnes_node from, barnes_node into, struct barnes_cube cube)
{
	tw_lock_t lock = locks[-into % BARNES_LOCKS];
	barnes_node child[8] = {0}, below[8] = {0}, *there = barnes_cell(s, into)->child;

	if (from > 0)
		child[barnes_octant(&cube, barnes_body(s, from)->position)] = from;
	else
		memcpy(child, barnes_cell(s, from)->child, sizeof(child));
	tw_lock_acquire(lock);
	for (int o = 0; o < 8; o++) {
		barnes_node other = there[o];

		if (!child[o])
			continue;
		if (other < 0) {
			below[o] = other;
			continue;
		}
		if (other && child[o] > 0) {
			barnes_node cell = barnes_new(s);

			barnes_insert(s, cell, barnes_eighth(&cube, o), child[o]);
			child[o] = cell;
		}
		if (other)
			barnes_insert(s, child[o], barnes_eighth(&cube, o), other);
		there[o] = child[o];
	}
	tw_lock_release(lock);
	for (int o = 0; o < 8; o++)
		if (below[o])
			barnes_merge(s, child[o], below[o], barnes_eighth(&cube, o));
}

/* The cells of the first level that has BARNES_SUBTREES for each processor, or else of the last level; in the order of
 * octants, so that all processors find the same.  Returns their number; @level: 0 is the root's. */
static long barnes_subtrees(const struct barnes_space *s, barnes_node *subtree, int *level)
{
	long enough = (long)BARNES_SUBTREES * tw_count(), count = 1, next;
	barnes_node *lower = kernel_alloc((size_t)enough * 8 * sizeof(*lower));

	subtree[0] = -1;
	for (*level = 0; count < enough; ++*level) {
		next = 0;
		for (long c = 0; c < count; c++)
			for (int o = 0; o < 8; o++)
				if (barnes_cell(s, subtree[c])->child[o] < 0)
					lower[next++] = barnes_cell(s, subtree[c])->child[o];
		if (!next)
			break;
		count = next;
		memcpy(subtree, lower, (size_t)count * sizeof(*lower));
	}
	free(lower);
	return count;
}

static void barnes_sum_together(struct barnes_space *s)
{
	barnes_node *subtree = kernel_alloc((size_t)BARNES_SUBTREES * (size_t)tw_count() * 8 * sizeof(*subtree));
	int level;
	long count = barnes_subtrees(s, subtree, &level);

	for (long c = tw_id(); c < count; c += tw_count())
		barnes_sum(s, subtree[c], 0);
	free(subtree);
	tw_barrier_all();
	if (tw_id() == 0 && level)
		barnes_sum(s, -1, level);
}

static void barnes_build_together(struct barnes_space *s)
{
	struct barnes_extent extent = barnes_extent(s);
	struct barnes_cube cube;

	extents[tw_id()] = extent;
	if (tw_id() == 0) {
		memset(s->cell, 0, sizeof(*s->cell));
		*taken = 1;
	}
	tw_barrier_all();
	for (int p = 0; p < tw_count(); p++)
		for (int i = 0; i < 3; i++) {
			extent.low[i] = fmin(extent.low[i], extents[p].low[i]);
			extent.high[i] = fmax(extent.high[i], extents[p].high[i]);
		}
	cube = barnes_around(&extent);
	if (tw_id() == 0)
		*s->root = cube;
	s->free = s->free_end = 0;
	barnes_merge(s, barnes_tree(s, &cube), -1, cube);
	tw_barrier_all();
	barnes_sum_together(s);
}

/* ---- forces and motion ------------------------------------------------------------------------------------------- */

/* Take the bodies below @node whose cost begins in [low, high); @before: the cost of all bodies before it. */
static void barnes_zone(struct barnes_space *s, barnes_node node, double before, double low, double high)
{
	const struct barnes_cell *cell;

	if (node > 0) {
		if (before >= low && before < high)
			s->mine[s->count++] = node - 1;
		return;
	}
	cell = barnes_cell(s, node);
	if (before >= high || before + cell->cost <= low)
		return;
	for (int o = 0; o < 8; o++) {
		barnes_node child = cell->child[o];

		if (!child)
			continue;
		barnes_zone(s, child, before, low, high);
		before += child > 0 ? barnes_body(s, child)->cost : barnes_cell(s, child)->cost;
	}
}

/* The results of a walk down the tree for one body. */
struct barnes_pull {
	barnes_node body;
	double position[3], acceleration[3];
	long interactions;
};

static void barnes_pull(const struct barnes_space *s, struct barnes_pull *pull, barnes_node node, double side)
{
	const double *centre = node > 0 ? barnes_body(s, node)->position : barnes_cell(s, node)->centre;
	double way[3], squared = 0, strength;

	if (node == pull->body)
		return;
	for (int i = 0; i < 3; i++) {
		way[i] = centre[i] - pull->position[i];
		squared += way[i] * way[i];
	}
	if (node < 0 && side * side >= BARNES_OPENING * BARNES_OPENING * squared) {
		for (int o = 0; o < 8; o++)
			if (barnes_cell(s, node)->child[o])
				barnes_pull(s, pull, barnes_cell(s, node)->child[o], side / 2);
		return;
	}
	squared += BARNES_SOFTENING * BARNES_SOFTENING;
	strength = (node > 0 ? barnes_body(s, node)->mass : barnes_cell(s, node)->mass) / (squared * sqrt(squared));
	for (int i = 0; i < 3; i++)
		pull->acceleration[i] += strength * way[i];
	pull->interactions++;
}

static struct barnes_pull barnes_attract(const struct barnes_space *s, long body)
{
	struct barnes_pull pull = {.body = (barnes_node)body + 1};

	memcpy(pull.position, s->body[body].position, sizeof(pull.position));
	barnes_pull(s, &pull, -1, s->root->side);
	return pull;
}

static void barnes_attract_mine(const struct barnes_space *s)
{
	for (long b = 0; b < s->count; b++) {
		struct barnes_body *body = &s->body[s->mine[b]];
		struct barnes_pull pull = barnes_attract(s, s->mine[b]);

		memcpy(body->acceleration, pull.acceleration, sizeof(pull.acceleration));
		s->cost[b] = (double)(1 + pull.interactions);
	}
}

/* Velocities are half a step behind positions. */
static void barnes_advance_mine(const struct barnes_space *s, bool first)
{
	for (long b = 0; b < s->count; b++) {
		struct barnes_body *body = &s->body[s->mine[b]];

		body->cost = s->cost[b];
		for (int i = 0; i < 3; i++) {
			body->velocity[i] += (first ? BARNES_STEP / 2 : BARNES_STEP) * body->acceleration[i];
			body->position[i] += BARNES_STEP * body->velocity[i];
		}
	}
}

static void barnes_zones(struct barnes_space *s, int id, int count)
{
	double cost = s->cell[0].cost;

	s->count = 0;
	barnes_zone(s, -1, 0, cost * id / count, cost * (id + 1) / count);
}

static void barnes_parallel(unsigned round)
{
	int id = tw_id(), count = tw_count();
	struct barnes_space *s = &shared;

	(void)round;
	barnes_own(s, barnes_part(id, count), barnes_part(id + 1, count));
	for (long step = 0; step < steps; step++) {
		if (s->take)
			barnes_build_together(s);
		else if (id == 0)
			barnes_build_alone(s);
		tw_barrier_all();
		barnes_zones(s, id, count);
		barnes_attract_mine(s);
		tw_barrier_all();
		barnes_advance_mine(s, step == 0);
		tw_barrier_all();
	}
}

static void barnes_sequential(void)
{
	for (long step = 0; step < steps; step++) {
		barnes_build_alone(&plain);
		barnes_zones(&plain, 0, 1);
		barnes_attract_mine(&plain);
		barnes_advance_mine(&plain, step == 0);
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* The @n-th random number of body @b. */
static double barnes_random(long b, unsigned n)
{
	return kernel_random((uint64_t)b, n);
}

static void barnes_direction(long b, unsigned n, double length, double *out)
{
	double height = 2 * barnes_random(b, n) - 1, angle = 2 * M_PI * barnes_random(b, n + 1);
	double radius = sqrt(1 - height * height);

	out[0] = length * radius * cos(angle);
	out[1] = length * radius * sin(angle);
	out[2] = length * height;
}

/* Plummer's model of a star cluster, where total mass and the constant of gravity are 1 and the energy is -1/4
 * (Aarseth, Henon and Wielen, A comparison of numerical methods for the study of star cluster dynamics, 1974). */
static void barnes_start(struct barnes_body *body, long b)
{
	double within = BARNES_WITHIN * barnes_random(b, 0), scale = 3 * M_PI / 16;
	double radius = 1 / sqrt(pow(within + 1e-12, -2.0 / 3) - 1), speed;
	unsigned n = 6;

	do { /* the distribution g(q) = q^2 (1 - q^2)^(7/2) of speeds, in units of the speed of escape */
		speed = barnes_random(b, n++);
	} while (0.1 * barnes_random(b, n++) > speed * speed * pow(1 - speed * speed, 3.5));
	speed *= sqrt(2.0) * pow(1 + radius * radius, -0.25);
	*body = (struct barnes_body){.mass = 1.0 / (double)bodies, .cost = 1};
	barnes_direction(b, 2, radius * scale, body->position);
	barnes_direction(b, 4, speed / sqrt(scale), body->velocity);
}

static void barnes_init_bodies(const struct barnes_space *s, long first, long end)
{
	for (long b = first; b < end; b++)
		barnes_start(&s->body[b], b);
}

static void barnes_init(int id)
{
	barnes_init_bodies(&shared, barnes_part(id, tw_count()), barnes_part(id + 1, tw_count()));
}

static bool barnes_share(void)
{
	shared.take = !strcmp(build, "parallel");
	shared.mine = kernel_alloc((size_t)bodies * sizeof(*shared.mine));
	shared.cost = kernel_alloc((size_t)bodies * sizeof(*shared.cost));
	shared.body = kernel_share((size_t)bodies * sizeof(*shared.body));
	shared.cells = barnes_cells(tw_count());
	shared.cell = kernel_share((size_t)shared.cells * sizeof(*shared.cell));
	extents = kernel_share((size_t)tw_count() * sizeof(*extents));
	locks = kernel_share((BARNES_LOCKS + 1) * sizeof(*locks));
	taken = kernel_share(sizeof(*taken));
	shared.root = kernel_share(sizeof(*shared.root));
	if (!shared.body || !shared.cell || !shared.root || !extents || !locks || !taken)
		return false;
	for (int l = tw_id(); l <= BARNES_LOCKS; l += tw_count())
		locks[l] = tw_lock_create();
	tw_barrier_all();
	return true;
}

static void barnes_plain(void)
{
	plain.mine = kernel_alloc((size_t)bodies * sizeof(*plain.mine));
	plain.cost = kernel_alloc((size_t)bodies * sizeof(*plain.cost));
	plain.body = kernel_alloc((size_t)bodies * sizeof(*plain.body));
	plain.root = kernel_alloc(sizeof(*plain.root));
	plain.cells = barnes_cells(1);
	plain.cell = kernel_alloc((size_t)plain.cells * sizeof(*plain.cell));
}

static void barnes_plain_init(void)
{
	barnes_init_bodies(&plain, 0, bodies);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* The relative error of a body's acceleration in the tree, against the sum over all bodies. */
static double barnes_error(long body)
{
	struct barnes_pull tree = barnes_attract(&plain, body), direct = {.body = (barnes_node)body + 1};
	double error = 0, size = 0;

	memcpy(direct.position, tree.position, sizeof(tree.position));
	for (long other = 0; other < bodies; other++)
		barnes_pull(&plain, &direct, (barnes_node)other + 1, 0);
	for (int i = 0; i < 3; i++) {
		error += pow(tree.acceleration[i] - direct.acceleration[i], 2);
		size += pow(direct.acceleration[i], 2);
	}
	return size > 0 ? sqrt(error / size) : 0;
}

static bool barnes_verify(bool compare)
{
	long samples = bodies < 64 ? bodies : 64;
	double mean = 0;

	for (long b = 0; compare && b < bodies; b++)
		if (memcmp(&shared.body[b], &plain.body[b], sizeof(*plain.body))) {
			fprintf(stderr, "barnes: body %ld differs from the sequential result.\n", b);
			return false;
		}
	barnes_build_alone(&plain);
	for (long i = 0; i < samples; i++)
		mean += barnes_error(bodies * i / samples) / (double)samples;
	if (!(mean < 0.01))
		fprintf(stderr, "barnes: accelerations are wrong by %g of their size.\n", mean);
	return mean < 0.01;
}

int main(int argc, char **argv)
{
	static const char *const builds[] = {"sequential", "parallel", NULL};
	static const struct kernel_option options[] = {
	    {"bodies", &bodies, 16384, 131072, 1, 1 << 24, "bodies"},
	    {"steps", &steps, 3, 3, 0, 1 << 20, "time steps"},
	    {.name = NULL},
	};
	static const struct kernel_word words[] = {
	    {"build", &build, builds, "who builds the tree"},
	    {.name = NULL},
	};
	static const struct kernel barnes = {
	    .name = "barnes",
	    .help = "gravity by the hierarchical method of Barnes and Hut",
	    .options = options,
	    .words = words,
	    .share = barnes_share,
	    .init = barnes_init,
	    .parallel = barnes_parallel,
	    .plain = barnes_plain,
	    .plain_init = barnes_plain_init,
	    .sequential = barnes_sequential,
	    .verify = barnes_verify,
	};

	return kernel_main(&barnes, argc, argv);
}
