/* SPDX-License-Identifier: BSD-3-Clause */
/* em3d - electromagnetic waves on a bipartite graph (Culler et al., Parallel Programming in Split-C; Cashmere-2L,
 * section 3.2).
 *
 * E nodes depend on H nodes and H nodes on E nodes.  A node has a value, and for each of its neighbours on the other
 * side a pointer to the neighbour's value and a coefficient.  One iteration subtracts from every E node the weighted
 * sum of its neighbours, then does the same for H, with a barrier after each.
 *
 * The graph is random, but the same for every shape: it is generated for 32 owners, each with an equal band of both
 * sides.  A neighbour is drawn from the node's own band or, for --remote percent of them, from one of the two adjacent
 * bands; the bands form a ring.  Processors have equal bands as well, so that with 32 processors the remote neighbours
 * are exactly those of the adjacent processors. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

#define EM3D_OWNERS 32

enum { E, H, EM3D_SIDES };

/* Has a cache line of its own: one processor writes a node, several read it. */
struct em3d_node {
	double value;
	long degree;
	const double **from; /* [degree], values of the other side */
	double *coefficient; /* [degree] */
} __attribute__((aligned(64)));

struct em3d_graph {
	struct em3d_node *node[EM3D_SIDES]; /* [nodes] each */
	const double **from[EM3D_SIDES];    /* [nodes * degree] each, as is the next */
	double *coefficient[EM3D_SIDES];
};

static long nodes, degree, remote, iterations;
static struct em3d_graph shared, plain;

/* The first node of band @of of @count equal bands of a side; @of = @count: the end. */
static long em3d_band(long of, long count)
{
	return nodes * of / count;
}

/* ---- the graph: depends only on side, node and edge -------------------------------------------------------------- */

/* A number in [0, 1) for @edge of node @i; @what, below 4, selects one of several. */
static double em3d_random(int side, long i, long edge, int what)
{
	return kernel_random((uint64_t)i * EM3D_SIDES + (uint64_t)side, (uint64_t)edge * 4 + (uint64_t)what);
}

static double em3d_start(int side, long i)
{
	return em3d_random(side, i, degree, 0) + 0.5;
}

/* The owner of node @i among EM3D_OWNERS. */
static long em3d_owner(long i)
{
	long owner = i * EM3D_OWNERS / nodes;

	return i < em3d_band(owner + 1, EM3D_OWNERS) ? owner : owner + 1;
}

/* The neighbour that @edge of node @i leads to, a node of the other side. */
static long em3d_neighbour(int side, long i, long edge)
{
	long owner = em3d_owner(i), first;

	if (em3d_random(side, i, edge, 0) * 100 < (double)remote)
		owner = (owner + (em3d_random(side, i, edge, 1) < 0.5 ? 1 : EM3D_OWNERS - 1)) % EM3D_OWNERS;
	first = em3d_band(owner, EM3D_OWNERS);
	return first + (long)(em3d_random(side, i, edge, 2) * (double)(em3d_band(owner + 1, EM3D_OWNERS) - first));
}

/* Of either sign and small, so that waves hardly grow. */
static double em3d_coefficient(int side, long i, long edge)
{
	return (em3d_random(side, i, edge, 3) * 2 - 1) / (4 * (double)degree);
}

static void em3d_init_node(const struct em3d_graph *g, int side, long i)
{
	struct em3d_node *node = &g->node[side][i];

	node->value = em3d_start(side, i);
	node->degree = degree;
	node->from = g->from[side] + i * degree;
	node->coefficient = g->coefficient[side] + i * degree;
	for (long edge = 0; edge < degree; edge++) {
		node->from[edge] = &g->node[!side][em3d_neighbour(side, i, edge)].value;
		node->coefficient[edge] = em3d_coefficient(side, i, edge);
	}
}

static void em3d_init_band(const struct em3d_graph *g, long first, long end)
{
	for (int side = E; side < EM3D_SIDES; side++)
		for (long i = first; i < end; i++)
			em3d_init_node(g, side, i);
}

/* ---- the work of both algorithms --------------------------------------------------------------------------------- */

static void em3d_compute(struct em3d_node *node, long first, long end)
{
	for (long i = first; i < end; i++) {
		double value = node[i].value;

		for (long edge = 0; edge < node[i].degree; edge++)
			value -= node[i].coefficient[edge] * *node[i].from[edge];
		node[i].value = value;
	}
}

static void em3d_parallel(unsigned round)
{
	long first = em3d_band(tw_id(), tw_count()), end = em3d_band(tw_id() + 1, tw_count());

	(void)round;
	for (long n = 0; n < iterations; n++)
		for (int side = E; side < EM3D_SIDES; side++) {
			em3d_compute(shared.node[side], first, end);
			tw_barrier_all();
		}
}

static void em3d_sequential(void)
{
	for (long n = 0; n < iterations; n++)
		for (int side = E; side < EM3D_SIDES; side++)
			em3d_compute(plain.node[side], 0, nodes);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Allocate @g by @alloc; false when there is no memory. */
static bool em3d_alloc(struct em3d_graph *g, void *(*alloc)(size_t bytes))
{
	size_t n = (size_t)nodes, edges = n * (size_t)degree;
	bool good = true;

	for (int side = E; side < EM3D_SIDES; side++) {
		g->node[side] = alloc(n * sizeof(struct em3d_node));
		g->from[side] = alloc(edges * sizeof(double *));
		g->coefficient[side] = alloc(edges * sizeof(double));
		good = good && g->node[side] && g->from[side] && g->coefficient[side];
	}
	return good;
}

static bool em3d_share(void)
{
	return em3d_alloc(&shared, kernel_share);
}

static void em3d_init(int id)
{
	em3d_init_band(&shared, em3d_band(id, tw_count()), em3d_band(id + 1, tw_count()));
}

static void em3d_plain(void)
{
	em3d_alloc(&plain, kernel_alloc);
}

static void em3d_plain_init(void)
{
	em3d_init_band(&plain, 0, nodes);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* The values by the graph's definition, without nodes and pointers. */
static void em3d_textbook(double *value[EM3D_SIDES])
{
	for (int side = E; side < EM3D_SIDES; side++)
		for (long i = 0; i < nodes; i++)
			value[side][i] = em3d_start(side, i);
	for (long n = 0; n < iterations; n++)
		for (int side = E; side < EM3D_SIDES; side++)
			for (long i = 0; i < nodes; i++)
				for (long edge = 0; edge < degree; edge++)
					value[side][i] -= em3d_coefficient(side, i, edge) *
					                  value[!side][em3d_neighbour(side, i, edge)];
}

/* Does @g have these values, all finite? */
static bool em3d_equals(const struct em3d_graph *g, double *const value[EM3D_SIDES], const char *what)
{
	for (int side = E; side < EM3D_SIDES; side++)
		for (long i = 0; i < nodes; i++) {
			double is = g->node[side][i].value, must = value[side][i];

			if (isfinite(is) && memcmp(&is, &must, sizeof(is)) == 0)
				continue;
			fprintf(stderr, "em3d: %s value of %s node %ld is %.17g, not %.17g.\n", what,
			        side == E ? "E" : "H", i, is, must);
			return false;
		}
	return true;
}

static bool em3d_verify(bool compare)
{
	double *value[EM3D_SIDES];
	bool good;

	for (int side = E; side < EM3D_SIDES; side++)
		value[side] = kernel_alloc((size_t)nodes * sizeof(double));
	em3d_textbook(value);
	good = em3d_equals(&plain, value, "the sequential") && (!compare || em3d_equals(&shared, value, "the"));
	for (int side = E; side < EM3D_SIDES; side++)
		free(value[side]);
	return good;
}

int main(int argc, char **argv)
{
	/* The paper's faults and transfers per barrier, and its memory, correspond to 64000 nodes on each side, of
	 * about 52 bytes without their edges. */
	static const struct kernel_option options[] = {
	    {"nodes", &nodes, 16000, 64000, EM3D_OWNERS, 1 << 22, "E nodes, and as many H nodes"},
	    {"degree", &degree, 20, 20, 1, 1024, "neighbours of a node"},
	    {"remote", &remote, 20, 20, 0, 100, "percent of neighbours that an adjacent owner has"},
	    {"iterations", &iterations, 100, 100, 0, 2000, "computations of both sides"},
	    {.name = NULL},
	};
	static const struct kernel em3d = {
	    .name = "em3d",
	    .help = "electromagnetic waves on a bipartite graph",
	    .options = options,
	    .share = em3d_share,
	    .init = em3d_init,
	    .parallel = em3d_parallel,
	    .plain = em3d_plain,
	    .plain_init = em3d_plain_init,
	    .sequential = em3d_sequential,
	    .verify = em3d_verify,
	};

	return kernel_main(&em3d, argc, argv);
}
