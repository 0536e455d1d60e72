/* SPDX-License-Identifier: BSD-3-Clause */
/* water - molecular dynamics of liquid water, every molecule with every other, after SPLASH's program of this name
 * (Singh, Weber and Gupta, 1992; Cashmere-2L, section 3.2).
 *
 * Molecules are flexible: two bonds and an angle, with point charges and, between oxygens, a Lennard-Jones potential
 * (SPC/Fw: Wu, Tepper and Voth, 2006).  The box is periodic; the potential between two molecules is switched off
 * smoothly before their oxygens are half a box apart.  Gear's predictor-corrector of seven values integrates the
 * motion.
 *
 * Every processor has an equal band of molecules.  A step: predict the own positions; forces inside the own molecules;
 * barrier; forces between each own molecule and the half of all that follows it, cyclically, added up in private
 * memory; these are then added to the molecules, each group of them under a lock, which makes the molecules migrate;
 * barrier; correct the own positions.  Energies are added up under one more lock.
 *
 * The order of additions depends on timing, so results are compared within a tolerance: 1e-9 of the energy, and 1e-9
 * angstroms. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

enum { O, H1, H2, ATOMS };

#define DIMENSIONS 3
#define ORDERS     7 /* the position and six derivatives; the n-th is multiplied by WATER_STEP^n / n! */

/* Units: angstroms, femtoseconds, atomic mass units. */
#define WATER_STEP      0.2
#define WATER_KCAL      4.184e-4 /* kcal/mol */
#define WATER_CHARGES   (332.06371 * WATER_KCAL)
#define WATER_BOND      (1059.162 * WATER_KCAL)
#define WATER_LENGTH    1.012
#define WATER_BEND      (75.90 * WATER_KCAL)
#define WATER_ANGLE     (113.24 * M_PI / 180)
#define WATER_DEPTH     (0.1554253 * WATER_KCAL)
#define WATER_DIAMETER  3.165492
#define WATER_VOLUME    29.9                     /* of a molecule */
#define WATER_HEAT      (0.5961612 * WATER_KCAL) /* k T at 300 K */
#define WATER_TOLERANCE 1e-9

typedef double water_vectors[ATOMS][DIMENSIONS];

struct water_molecule {
	water_vectors value[ORDERS];
	water_vectors force;
} __attribute__((aligned(64)));

/* Of one step; protected by the lock of sums. */
struct water_sums {
	double kinetic, intra, inter;
};

struct water_system {
	struct water_molecule *molecule; /* [molecules] */
	struct water_sums *sums;         /* [steps + 1]; 0: at the start */
};

static const double water_mass[ATOMS] = {15.9994, 1.00794, 1.00794};
static const double water_charge[ATOMS] = {-0.82, 0.41, 0.41};

static long molecules, steps, group;
static double box; /* the length of its side */
static struct water_system shared, plain;
static tw_lock_t *locks;      /* [groups + 1], shared; the last is for the sums */
static water_vectors *addend; /* [molecules], private: forces to be added to their molecules */

static long water_groups(void)
{
	return (molecules + group - 1) / group;
}

/* The first molecule of processor @id of @count; @id = @count: the end. */
static long water_band(int id, int count)
{
	return molecules * id / count;
}

static double water_dot(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ---- forces ------------------------------------------------------------------------------------------------------ */

/* The potential inside a molecule; @force becomes the force of it. */
static double water_intra(const struct water_molecule *m, water_vectors force)
{
	double bond[2][DIMENSIONS], length[2], cosine, angle, bend, potential;

	for (int b = 0; b < 2; b++) {
		for (int d = 0; d < DIMENSIONS; d++)
			bond[b][d] = m->value[0][H1 + b][d] - m->value[0][O][d];
		length[b] = sqrt(water_dot(bond[b], bond[b]));
	}
	cosine = water_dot(bond[0], bond[1]) / (length[0] * length[1]);
	angle = acos(cosine);
	bend = WATER_BEND * (angle - WATER_ANGLE) / sin(angle);
	potential = 0.5 * WATER_BEND * (angle - WATER_ANGLE) * (angle - WATER_ANGLE);
	memset(force, 0, sizeof(water_vectors));
	for (int b = 0; b < 2; b++) {
		double stretch = length[b] - WATER_LENGTH;

		potential += 0.5 * WATER_BOND * stretch * stretch;
		for (int d = 0; d < DIMENSIONS; d++) {
			double along = bond[b][d] / length[b], other = bond[!b][d] / length[!b];
			double f = bend * (other - cosine * along) / length[b] - WATER_BOND * stretch * along;

			force[H1 + b][d] += f;
			force[O][d] -= f;
		}
	}
	return potential;
}

/* The potential between two molecules; the forces are added to @force_a and @force_b. */
static double water_pair(const struct water_molecule *a, const struct water_molecule *b, water_vectors force_a,
                         water_vectors force_b)
{
	double cut = box / 2, full = 0.9 * cut, shift[DIMENSIONS], between[DIMENSIONS], r, potential = 0;
	double whole = 1, slope = 0; /* of the switch */

	for (int d = 0; d < DIMENSIONS; d++) {
		between[d] = a->value[0][O][d] - b->value[0][O][d];
		shift[d] = between[d] > cut ? -box : between[d] < -cut ? box : 0;
		between[d] += shift[d];
	}
	r = sqrt(water_dot(between, between));
	if (r >= cut)
		return 0;
	if (r > full) {
		double x = (r - full) / (cut - full);

		whole = 1 - x * x * x * (10 - x * (15 - 6 * x));
		slope = -30 * x * x * (1 - x) * (1 - x) / (cut - full);
	}
	for (int i = 0; i < ATOMS; i++)
		for (int j = 0; j < ATOMS; j++) {
			double way[DIMENSIONS], inverse2, v, f;

			for (int d = 0; d < DIMENSIONS; d++)
				way[d] = a->value[0][i][d] - b->value[0][j][d] + shift[d];
			inverse2 = 1 / water_dot(way, way);
			v = WATER_CHARGES * water_charge[i] * water_charge[j] * sqrt(inverse2);
			f = v * inverse2; /* divided by the distance */
			if (i == O && j == O) {
				double s2 = WATER_DIAMETER * WATER_DIAMETER * inverse2, s6 = s2 * s2 * s2;

				v += 4 * WATER_DEPTH * s6 * (s6 - 1);
				f += 24 * WATER_DEPTH * s6 * (2 * s6 - 1) * inverse2;
			}
			potential += v;
			for (int d = 0; d < DIMENSIONS; d++) {
				force_a[i][d] += whole * f * way[d];
				force_b[j][d] -= whole * f * way[d];
			}
		}
	for (int d = 0; d < DIMENSIONS; d++) {
		force_a[O][d] -= slope * potential * between[d] / r;
		force_b[O][d] += slope * potential * between[d] / r;
	}
	return whole * potential;
}

/* The potential between molecules [first, end) and the half of all that follows each, so that every pair belongs to
 * exactly one processor; @force becomes its forces. */
static double water_inter(const struct water_molecule *m, long first, long end, water_vectors *force)
{
	double potential = 0;

	memset(force, 0, (size_t)molecules * sizeof(*force));
	for (long i = first; i < end; i++)
		for (long k = 1; 2 * k <= molecules; k++)
			if (2 * k < molecules || i < k) {
				long j = (i + k) % molecules;

				potential += water_pair(&m[i], &m[j], force[i], force[j]);
			}
	return potential;
}

static void water_add(struct water_molecule *m, water_vectors force)
{
	for (int a = 0; a < ATOMS; a++)
		for (int d = 0; d < DIMENSIONS; d++)
			m->force[a][d] += force[a][d];
}

/* ---- motion ------------------------------------------------------------------------------------------------------ */

/* Taylor's series, one step on. */
static void water_predict(struct water_molecule *m)
{
	for (int a = 0; a < ATOMS; a++)
		for (int d = 0; d < DIMENSIONS; d++)
			for (int begin = 0; begin < ORDERS - 1; begin++)
				for (int n = ORDERS - 2; n >= begin; n--)
					m->value[n][a][d] += m->value[n + 1][a][d];
}

/* Set the second derivative from the force, and the others by @weight; then move the molecule back into the box.
 * Returns the kinetic energy. */
static double water_correct(struct water_molecule *m, const double weight[ORDERS])
{
	double kinetic = 0;

	for (int a = 0; a < ATOMS; a++)
		for (int d = 0; d < DIMENSIONS; d++) {
			double step2 = WATER_STEP * WATER_STEP / 2, speed;
			double error = m->force[a][d] / water_mass[a] * step2 - m->value[2][a][d];

			for (int n = 0; n < ORDERS; n++)
				m->value[n][a][d] += weight[n] * error;
			speed = m->value[1][a][d] / WATER_STEP;
			kinetic += 0.5 * water_mass[a] * speed * speed;
		}
	for (int d = 0; d < DIMENSIONS; d++) {
		double back = -box * floor(m->value[0][O][d] / box);

		for (int a = 0; a < ATOMS; a++)
			m->value[0][a][d] += back;
	}
	return kinetic;
}

/* Gear's weights for equations of second order.  At the start, when only position and speed are known, only the second
 * derivative is set. */
static const double *water_weight(long step)
{
	static const double start[ORDERS] = {[2] = 1};
	static const double gear[ORDERS] = {863.0 / 6048, 665.0 / 1008, 1, 25.0 / 36, 35.0 / 144, 1.0 / 24, 1.0 / 360};

	return step == 0 ? start : gear;
}

/* Predict molecules [first, end), unless @step is the start.  Returns the potential inside them, with its forces. */
static double water_begin(struct water_molecule *m, long first, long end, long step)
{
	double potential = 0;

	for (long i = first; i < end; i++) {
		if (step > 0)
			water_predict(&m[i]);
		potential += water_intra(&m[i], m[i].force);
	}
	return potential;
}

/* Correct molecules [first, end).  Returns their kinetic energy. */
static double water_end(struct water_molecule *m, long first, long end, long step)
{
	double kinetic = 0;

	for (long i = first; i < end; i++)
		kinetic += water_correct(&m[i], water_weight(step));
	return kinetic;
}

/* ---- parallel ---------------------------------------------------------------------------------------------------- */

static void __attribute__((noinline)) water_add_group(long g)
{
	for (long i = g * group; i < (g + 1) * group && i < molecules; i++)
		water_add(&shared.molecule[i], addend[i]);
}

/* Add this processor's forces, its own molecules first, so that processors begin at different places: molecules from
 * @first on until the last that follows @end by half of all.  Planted: without the locks. */
static void water_add_all(long first, long end)
{
	bool locked = !kernel_planted("water-unlocked");
	long groups = water_groups(), far = end - 1 + molecules / 2;
	long last = far < molecules ? far / group : groups + (far - molecules) / group;

	for (long g = first / group; g <= last && g < first / group + groups; g++) {
		if (locked)
			tw_lock_acquire(locks[g % groups]);
		water_add_group(g % groups);
		if (locked)
			tw_lock_release(locks[g % groups]);
	}
}

static void water_add_sums(long step, double kinetic, double intra, double inter)
{
	struct water_sums *s = &shared.sums[step];

	tw_lock_acquire(locks[water_groups()]);
	s->kinetic += kinetic;
	s->intra += intra;
	s->inter += inter;
	tw_lock_release(locks[water_groups()]);
}

static void water_parallel(unsigned round)
{
	long first = water_band(tw_id(), tw_count()), end = water_band(tw_id() + 1, tw_count());
	struct water_molecule *m = shared.molecule;

	(void)round;
	for (long step = 0; step <= steps; step++) {
		double intra = water_begin(m, first, end, step), inter;

		tw_barrier_all();
		inter = water_inter(m, first, end, addend);
		if (first < end)
			water_add_all(first, end);
		tw_barrier_all();
		water_add_sums(step, water_end(m, first, end, step), intra, inter);
	}
}

static void water_sequential(void)
{
	struct water_molecule *m = plain.molecule;

	for (long step = 0; step <= steps; step++) {
		struct water_sums *s = &plain.sums[step];

		s->intra = water_begin(m, 0, molecules, step);
		s->inter = water_inter(m, 0, molecules, addend);
		for (long i = 0; i < molecules; i++)
			water_add(&m[i], addend[i]);
		s->kinetic = water_end(m, 0, molecules, step);
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* A normally distributed number for molecule @i; @what selects one of several (Box and Muller). */
static double water_normal(long i, int what)
{
	double a = kernel_random((uint64_t)i, 2 * (uint64_t)what),
	       b = kernel_random((uint64_t)i, 2 * (uint64_t)what + 1);

	return sqrt(-2 * log(1 - a)) * cos(2 * M_PI * b);
}

/* Molecule @i: near its place in a cubic lattice, at rest in itself, all atoms with the speeds of 300 K. */
static void water_init_molecule(struct water_molecule *m, long i)
{
	const double half = WATER_ANGLE / 2;
	const water_vectors shape = {[H1] = {WATER_LENGTH * cos(half), WATER_LENGTH * sin(half), 0},
	                             [H2] = {WATER_LENGTH * cos(half), -WATER_LENGTH * sin(half), 0}};
	long side = (long)ceil(cbrt((double)molecules) - 1e-9),
	     at[DIMENSIONS] = {i % side, i / side % side, i / side / side};

	memset(m, 0, sizeof(*m));
	for (int d = 0; d < DIMENSIONS; d++) {
		double place = box * ((double)at[d] + 0.5) / (double)side + 0.1 * water_normal(i, d);

		for (int a = 0; a < ATOMS; a++) {
			m->value[0][a][d] = place + shape[a][d];
			m->value[1][a][d] =
			    WATER_STEP * sqrt(WATER_HEAT / water_mass[a]) * water_normal(i, DIMENSIONS * (a + 1) + d);
		}
	}
}

static void water_init_sums(struct water_sums *sums)
{
	memset(sums, 0, (size_t)(steps + 1) * sizeof(*sums));
}

static void water_init(int id)
{
	for (long i = water_band(id, tw_count()); i < water_band(id + 1, tw_count()); i++)
		water_init_molecule(&shared.molecule[i], i);
	if (id == 0)
		water_init_sums(shared.sums);
}

/* Allocate @s by @alloc, and what is private; false when there is no memory. */
static bool water_alloc(struct water_system *s, void *(*alloc)(size_t bytes))
{
	box = cbrt((double)molecules * WATER_VOLUME);
	s->molecule = alloc((size_t)molecules * sizeof(*s->molecule));
	s->sums = alloc((size_t)(steps + 1) * sizeof(*s->sums));
	if (!addend)
		addend = kernel_alloc((size_t)molecules * sizeof(*addend));
	return s->molecule && s->sums;
}

static bool water_share(void)
{
	locks = kernel_share((size_t)(water_groups() + 1) * sizeof(*locks));
	if (!water_alloc(&shared, kernel_share) || !locks)
		return false;
	if (tw_id() == 0)
		for (long g = 0; g <= water_groups(); g++)
			locks[g] = tw_lock_create();
	tw_barrier_all();
	return true;
}

static void water_plain(void)
{
	water_alloc(&plain, kernel_alloc);
}

static void water_plain_init(void)
{
	for (long i = 0; i < molecules; i++)
		water_init_molecule(&plain.molecule[i], i);
	water_init_sums(plain.sums);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

static double water_total(const struct water_sums *s)
{
	return s->kinetic + s->intra + s->inter;
}

/* The potential of molecule @i among all others. */
static double water_potential(const struct water_molecule *m, long i, water_vectors force)
{
	double potential = water_intra(&m[i], force);
	water_vectors ignored = {{0}};

	for (long j = 0; j < molecules; j++)
		if (j != i)
			potential += water_pair(&m[i], &m[j], force, ignored);
	return potential;
}

/* Is the force on a molecule the potential's gradient? */
static bool water_verify_gradient(void)
{
	struct water_molecule *m = plain.molecule;
	long i = molecules / 3;
	water_vectors force, ignored;

	water_potential(m, i, force);
	for (int a = 0; a < ATOMS; a++)
		for (int d = 0; d < DIMENSIONS; d++) {
			double *x = &m[i].value[0][a][d], old = *x, step = 1e-4, high, gradient;

			*x = old + step;
			high = water_potential(m, i, ignored);
			*x = old - step;
			gradient = (high - water_potential(m, i, ignored)) / (2 * step);
			*x = old;
			if (fabs(gradient + force[a][d]) <= 1e-6)
				continue;
			fprintf(stderr, "water: the force %g is not against the potential's gradient %g.\n",
			        force[a][d], gradient);
			return false;
		}
	return true;
}

/* Does the sequential run conserve its energy?  Most of the loss is at the start, where the higher derivatives are
 * unknown. */
static bool water_verify_energy(void)
{
	double worst = 0;

	for (long step = 1; step <= steps; step++)
		worst = fmax(worst, fabs(water_total(&plain.sums[step]) - water_total(&plain.sums[0])));
	worst /= plain.sums[0].kinetic;
	if (!(worst <= 1e-2))
		fprintf(stderr, "water: the energy changes by %g of the kinetic energy.\n", worst);
	return worst <= 1e-2;
}

static bool water_equals(double is, double must, double scale, const char *what, long number)
{
	if (fabs(is - must) <= WATER_TOLERANCE * scale)
		return true;
	fprintf(stderr, "water: %s %ld is %.17g, sequentially %.17g.\n", what, number, is, must);
	return false;
}

static bool water_compare(void)
{
	for (long step = 0; step <= steps; step++) {
		const struct water_sums *is = &shared.sums[step], *must = &plain.sums[step];

		if (!water_equals(is->kinetic, must->kinetic, must->kinetic, "the kinetic energy of step", step) ||
		    !water_equals(is->intra, must->intra, must->kinetic, "the potential in molecules of step", step) ||
		    !water_equals(is->inter, must->inter, must->kinetic, "the potential between molecules of step",
		                  step))
			return false;
	}
	for (long i = 0; i < molecules; i++)
		for (int a = 0; a < ATOMS; a++)
			for (int d = 0; d < DIMENSIONS; d++)
				if (!water_equals(shared.molecule[i].value[0][a][d], plain.molecule[i].value[0][a][d],
				                  1, "a coordinate of molecule", i))
					return false;
	return true;
}

static bool water_verify(bool compare)
{
	return (!compare || water_compare()) && water_verify_energy() && water_verify_gradient();
}

int main(int argc, char **argv)
{
	/* The paper's lock acquisitions correspond to one lock for each processor's molecules at 32 processors, and
	 * seven computations of forces. */
	static const struct kernel_option options[] = {
	    {"molecules", &molecules, 1000, 4096, 8, 32768, "molecules in the box"},
	    {"steps", &steps, 5, 6, 0, 10000, "steps of time"},
	    {"group", &group, 1, 128, 1, 32768, "molecules that share a lock"},
	    {.name = NULL},
	};
	static const struct kernel water = {
	    .name = "water",
	    .help = "molecular dynamics of water, n-squared",
	    .options = options,
	    .share = water_share,
	    .init = water_init,
	    .parallel = water_parallel,
	    .plain = water_plain,
	    .plain_init = water_plain_init,
	    .sequential = water_sequential,
	    .verify = water_verify,
	};

	return kernel_main(&water, argc, argv);
}
