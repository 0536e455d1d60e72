/* SPDX-License-Identifier: BSD-3-Clause */
/* ilink - parallel genetic linkage analysis (Dwarkadas et al., Human Heredity 44, 1994; Cashmere-2L, section 3.2).
 *
 * The program computes how likely the observations of a pedigree are if two neighbouring loci recombine with
 * probability theta: the log-likelihood for several theta.  Locus 0 is a disease with incomplete penetrance.  The
 * others are markers; the types of some persons are missing.  A haplotype has an allele for each locus, an ordered
 * genotype a paternal and a maternal haplotype.  A person's array holds, for each genotype, the probability of the
 * observations in the part of the pedigree that was peeled onto that person.  Most elements are zero.
 *
 * Peeling (Elston and Stewart): a nuclear family is summed over the genotypes of all its members except one, the
 * target, whose array receives the result.  The target may be a parent or a child.  A family is peeled when all its
 * members except the target have received what lies beyond them.  Arrays are scaled after each step, because the
 * numbers are tiny.
 *
 * Processor 0 is the master.  For a family with much work it publishes a job.  Between two barriers every processor
 * reads the members' arrays (one to all) and adds up its share in an array of its own: the non-zero elements of the
 * first parent, assigned round-robin.  The master sums these arrays (all to one).  The master does a family with little
 * work alone, while the others wait. */
#include "apps/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

#define ILINK_LOCI       8
#define ILINK_HAPLOTYPES 128
#define ILINK_GAMETES    (1 << ILINK_LOCI) /* of one genotype, at most */
#define ILINK_CHILDREN   8
#define ILINK_PERSONS    1024
#define ILINK_THETAS     100
#define ILINK_MARKERS    0.1 /* recombination between two markers */

enum { FATHER, MOTHER, ILINK_PARENTS };

struct ilink_person {
	int child_of, parent_of;      /* families; -1: none */
	int haplotype[ILINK_PARENTS]; /* of the simulation: paternal and maternal */
	bool affected;
	bool missing[ILINK_LOCI];
	/* The array before any peeling. */
	int count;
	uint16_t *genotype; /* [count], ascending */
	double *value;      /* [count] */
};

struct ilink_family {
	int parent[ILINK_PARENTS], first_child, children;
};

/* A pedigree and its loci; private, and the same on every processor. */
struct ilink_model {
	int loci, haplotypes, genotypes;
	int alleles[ILINK_LOCI], place[ILINK_LOCI]; /* haplotype: the sum of allele * place */
	uint8_t *haplotype[ILINK_PARENTS];          /* [genotypes], paternal and maternal */
	int persons, families;
	struct ilink_person *person;
	struct ilink_family *family;
	/* The gametes of each genotype, for the theta that was prepared last. */
	int theta, thetas;
	int *gametes; /* [genotypes + 1], where they begin in the next two */
	uint8_t *gamete;
	double *probability;
};

/* A person's array in the pool: written by the master, read by all. */
struct ilink_array {
	double *value;     /* [genotypes], paternal * haplotypes + maternal */
	uint16_t *nonzero; /* [*count], the genotypes whose value is not zero */
	int *count;
};

/* The master's present job.  family -1: the end. */
struct ilink_job {
	int theta, family, target;
};

struct ilink_problem {
	struct ilink_model *model;
	int workers;               /* processors, the master included */
	struct ilink_array *array; /* [persons], a private table */
	double **partial;          /* [workers], [genotypes] each: that processor's sums */
	struct ilink_job *job;
	double likelihood[ILINK_THETAS]; /* natural logarithms */
};

static long loci, alleles, generations, children, couples, missing, thetas, threshold;
static struct ilink_problem shared, plain;

/* ---- genetics ---------------------------------------------------------------------------------------------------- */

static int ilink_allele(const struct ilink_model *m, int haplotype, int locus)
{
	return haplotype / m->place[locus] % m->alleles[locus];
}

/* The frequency of @allele: 1/5 for the disease; for a marker it increases with the allele's number. */
static double ilink_frequency(const struct ilink_model *m, int locus, int allele)
{
	int n = m->alleles[locus];

	if (locus == 0)
		return allele == 1 ? 0.2 : 0.8;
	return 2.0 * (allele + 1) / (n * (n + 1));
}

/* Recombination between @locus and the next: next to the disease, one of --thetas values between 0 and 1/2. */
static double ilink_recombination(const struct ilink_model *m, int theta, int locus)
{
	return locus == 0 ? 0.5 * (theta + 1) / (m->thetas + 1) : ILINK_MARKERS;
}

/* The probability of a founder's haplotype. */
static double ilink_prior(const struct ilink_model *m, int haplotype)
{
	double p = 1;

	for (int l = 0; l < m->loci; l++)
		p *= ilink_frequency(m, l, ilink_allele(m, haplotype, l));
	return p;
}

/* The probability of the observations of @person, given both haplotypes. */
static double ilink_penetrance(const struct ilink_model *m, const struct ilink_person *person, int paternal,
                               int maternal)
{
	double affected = ilink_allele(m, paternal, 0) || ilink_allele(m, maternal, 0) ? 0.9 : 0.02;

	for (int l = 1; l < m->loci; l++) {
		int a = ilink_allele(m, paternal, l), b = ilink_allele(m, maternal, l);
		int c = ilink_allele(m, person->haplotype[FATHER], l);
		int d = ilink_allele(m, person->haplotype[MOTHER], l);

		if (!person->missing[l] && (a != c || b != d) && (a != d || b != c))
			return 0;
	}
	return person->affected ? affected : 1 - affected;
}

/* Compute the gametes of genotype (@h0, @h1): their haplotypes and probabilities.  Returns their number: two to the
 * number of heterozygous loci.  Along the loci, it carries the probability that the last locus is from h0, or from
 * h1. */
static int ilink_segregate(const struct ilink_model *m, int theta, int h0, int h1, uint8_t *gamete, double *probability)
{
	double from[ILINK_GAMETES][2] = {{0.5, 0.5}};
	int n = 1;

	gamete[0] = 0;
	for (int l = 0; l < m->loci; l++) {
		int a0 = ilink_allele(m, h0, l) * m->place[l], a1 = ilink_allele(m, h1, l) * m->place[l];
		double cross = l ? ilink_recombination(m, theta, l - 1) : 0;

		for (int i = 0; i < n; i++) {
			double f0 = from[i][0], f1 = from[i][1];

			from[i][0] = f0 * (1 - cross) + f1 * cross;
			from[i][1] = f1 * (1 - cross) + f0 * cross;
			if (a0 != a1) {
				gamete[n + i] = (uint8_t)(gamete[i] + a1);
				from[n + i][0] = 0;
				from[n + i][1] = from[i][1];
				from[i][1] = 0;
			}
			gamete[i] = (uint8_t)(gamete[i] + a0);
		}
		n <<= a0 != a1;
	}
	for (int i = 0; i < n; i++)
		probability[i] = from[i][0] + from[i][1];
	return n;
}

/* Compute the model's gametes for @theta. */
static void ilink_prepare(struct ilink_model *m, int theta)
{
	int at = 0;

	if (m->theta == theta)
		return;
	m->theta = theta;
	for (int g = 0; g < m->genotypes; g++) {
		m->gametes[g] = at;
		at += ilink_segregate(m, theta, m->haplotype[FATHER][g], m->haplotype[MOTHER][g], m->gamete + at,
		                      m->probability + at);
	}
	m->gametes[m->genotypes] = at;
}

/* ---- the pedigree ------------------------------------------------------------------------------------------------ */

/* A number in [0, 1) for @person; @what selects one of several. */
static double ilink_random(const struct ilink_model *m, const struct ilink_person *person, int what)
{
	return kernel_random((uint64_t)(person - m->person), (uint64_t)what);
}

static int ilink_simulate_founder(const struct ilink_model *m, const struct ilink_person *person, int side)
{
	int haplotype = 0;

	for (int l = 0; l < m->loci; l++) {
		double left = ilink_random(m, person, side * ILINK_LOCI + l);
		int allele = 0;

		while (allele < m->alleles[l] - 1 && (left -= ilink_frequency(m, l, allele)) >= 0)
			allele++;
		haplotype += allele * m->place[l];
	}
	return haplotype;
}

/* The haplotype that @parent passes to @person, for the middle theta. */
static int ilink_simulate_gamete(const struct ilink_model *m, const struct ilink_person *person,
                                 const struct ilink_person *parent, int side)
{
	int from = 0, haplotype = 0;

	for (int l = 0; l < m->loci; l++) {
		double cross = l ? ilink_recombination(m, m->thetas / 2, l - 1) : 0.5;

		from ^= ilink_random(m, person, side * ILINK_LOCI + l) < cross;
		haplotype += ilink_allele(m, parent->haplotype[from], l) * m->place[l];
	}
	return haplotype;
}

/* Add a person with haplotypes and observations.  @child_of: -1 for a founder.  Returns the person's number. */
static int ilink_add_person(struct ilink_model *m, int child_of, double missing_share)
{
	struct ilink_person *person = &m->person[m->persons];
	bool carrier = false;

	person->child_of = child_of;
	person->parent_of = -1;
	for (int side = FATHER; side < ILINK_PARENTS; side++) {
		person->haplotype[side] =
		    child_of < 0 ? ilink_simulate_founder(m, person, side)
		                 : ilink_simulate_gamete(m, person, &m->person[m->family[child_of].parent[side]], side);
		carrier |= ilink_allele(m, person->haplotype[side], 0) == 1;
	}
	person->affected = ilink_random(m, person, 2 * ILINK_LOCI) < (carrier ? 0.9 : 0.02);
	for (int l = 1; l < m->loci; l++)
		person->missing[l] = ilink_random(m, person, 2 * ILINK_LOCI + l) < missing_share;
	return m->persons++;
}

/* Add a family with @n children.  @founding of these marry and have families of their own, for @left generations. */
static void ilink_add_family(struct ilink_model *m, int father, int mother, int n, int founding, int left,
                             double missing_share)
{
	int number = m->families++, first = m->persons;

	m->family[number] = (struct ilink_family){{father, mother}, first, n};
	m->person[father].parent_of = m->person[mother].parent_of = number;
	for (int c = 0; c < n; c++)
		ilink_add_person(m, number, missing_share);
	for (int c = 0; c < founding && left > 1; c++) {
		int spouse = ilink_add_person(m, -1, missing_share);

		/* The child is the father in every second family. */
		ilink_add_family(m, c % 2 ? spouse : first + c, c % 2 ? first + c : spouse, n, founding, left - 1,
		                 missing_share);
	}
}

/* Compute the person's array before any peeling. */
static void ilink_observe(const struct ilink_model *m, struct ilink_person *person, double *scratch)
{
	int n = 0;

	for (int g = 0; g < m->genotypes; g++) {
		int paternal = m->haplotype[FATHER][g], maternal = m->haplotype[MOTHER][g];

		scratch[g] = ilink_penetrance(m, person, paternal, maternal);
		if (person->child_of < 0)
			scratch[g] *= ilink_prior(m, paternal) * ilink_prior(m, maternal);
		person->count += scratch[g] != 0;
	}
	person->genotype = kernel_alloc((size_t)person->count * sizeof(*person->genotype));
	person->value = kernel_alloc((size_t)person->count * sizeof(*person->value));
	for (int g = 0; g < m->genotypes; g++)
		if (scratch[g] != 0) {
			person->genotype[n] = (uint16_t)g;
			person->value[n++] = scratch[g];
		}
}

/* The size of a pedigree of ilink_add_family(). */
static void ilink_count(long n, long founding, long left, long *persons, long *families)
{
	long in_generation = 1;

	*persons = 2;
	*families = 0;
	for (; left > 0; left--) {
		*families += in_generation;
		*persons += in_generation * (n + (left > 1 ? founding : 0));
		in_generation *= founding;
	}
}

static void ilink_set_loci(struct ilink_model *m, int n, int marker_alleles)
{
	size_t entries = 1, genotypes;

	m->loci = n;
	m->haplotypes = 1;
	for (int l = 0; l < n; l++) {
		m->alleles[l] = l ? marker_alleles : 2;
		m->place[l] = m->haplotypes;
		m->haplotypes *= m->alleles[l];
		entries *= (size_t)(m->alleles[l] * (2 * m->alleles[l] - 1)); /* one gamete, or two */
	}
	m->genotypes = m->haplotypes * m->haplotypes;
	genotypes = (size_t)m->genotypes;
	for (int side = FATHER; side < ILINK_PARENTS; side++) {
		m->haplotype[side] = kernel_alloc(genotypes);
		for (int g = 0; g < m->genotypes; g++)
			m->haplotype[side][g] = (uint8_t)(side == FATHER ? g / m->haplotypes : g % m->haplotypes);
	}
	m->theta = -1;
	m->gametes = kernel_alloc((genotypes + 1) * sizeof(*m->gametes));
	m->gamete = kernel_alloc(entries);
	m->probability = kernel_alloc(entries * sizeof(*m->probability));
}

static struct ilink_model *ilink_model_create(long n_loci, long marker_alleles, long left, long n, long founding,
                                              long missing_percent, long n_thetas)
{
	struct ilink_model *m = kernel_alloc(sizeof(*m));
	double *scratch, share = (double)missing_percent / 100;
	long persons, families;

	m->thetas = (int)n_thetas;
	ilink_set_loci(m, (int)n_loci, (int)marker_alleles);
	ilink_count(n, founding, left, &persons, &families);
	m->person = kernel_alloc((size_t)persons * sizeof(*m->person));
	m->family = kernel_alloc((size_t)families * sizeof(*m->family));
	ilink_add_person(m, -1, share);
	ilink_add_person(m, -1, share);
	ilink_add_family(m, 0, 1, (int)n, (int)founding, (int)left, share);
	scratch = kernel_alloc((size_t)m->genotypes * sizeof(*scratch));
	for (int i = 0; i < m->persons; i++)
		ilink_observe(m, &m->person[i], scratch);
	free(scratch);
	return m;
}

static struct ilink_model *ilink_model(void)
{
	static struct ilink_model *model;

	if (!model)
		model = ilink_model_create(loci, alleles, generations, children, couples, missing, thetas);
	return model;
}

/* ---- the work on one family, of both algorithms ------------------------------------------------------------------ */

/* A job in detail.  The first parent is the target if that is a parent, else the father. */
struct ilink_step {
	const struct ilink_family *family;
	int target, first, second;               /* persons */
	const uint8_t *from_first, *from_second; /* [genotypes], which of a child's haplotypes is from which parent */
};

static struct ilink_step ilink_step(const struct ilink_model *m, const struct ilink_job *job)
{
	const struct ilink_family *f = &m->family[job->family];
	int side = job->target == f->parent[MOTHER] ? MOTHER : FATHER;

	return (struct ilink_step){
	    f, job->target, f->parent[side], f->parent[!side], m->haplotype[side], m->haplotype[!side]};
}

/* For each child except the target: by[c][h], the probability of the child's array if one haplotype is from the first
 * parent's gametes, @passed[], and the other is h.  Returns the number of these children. */
static int ilink_children(const struct ilink_problem *p, const struct ilink_step *s, const double *passed,
                          double (*by)[ILINK_HAPLOTYPES])
{
	int n = 0;

	for (int c = s->family->first_child; c < s->family->first_child + s->family->children; c++) {
		const struct ilink_array *child = &p->array[c];

		if (c == s->target)
			continue;
		memset(by[n], 0, sizeof(*by));
		for (int i = 0; i < *child->count; i++) {
			int g = child->nonzero[i];

			by[n][s->from_second[g]] += passed[s->from_first[g]] * child->value[g];
		}
		n++;
	}
	return n;
}

/* The sum over the second parent's genotypes, for one gamete distribution of the first.  Returned; or, if @to is not
 * NULL, distributed over the haplotypes that the second parent passes to the target. */
static double ilink_second(const struct ilink_problem *p, const struct ilink_step *s, double (*by)[ILINK_HAPLOTYPES],
                           int n, double *to)
{
	const struct ilink_model *m = p->model;
	const struct ilink_array *second = &p->array[s->second];
	double total = 0;

	for (int i = 0; i < *second->count; i++) {
		int g = second->nonzero[i], begin = m->gametes[g], end = m->gametes[g + 1];
		double product = second->value[g];

		for (int c = 0; c < n; c++) {
			double sum = 0;

			for (int e = begin; e < end; e++)
				sum += m->probability[e] * by[c][m->gamete[e]];
			product *= sum;
		}
		total += product;
		for (int e = begin; to && e < end; e++)
			to[m->gamete[e]] += product * m->probability[e];
	}
	return total;
}

/* Add the share of the first parent's genotype @g to @partial. */
static void ilink_first(const struct ilink_problem *p, const struct ilink_step *s, int g, double *partial)
{
	const struct ilink_model *m = p->model;
	const struct ilink_array *target = &p->array[s->target];
	double passed[ILINK_HAPLOTYPES] = {0}, other[ILINK_HAPLOTYPES] = {0}, by[ILINK_CHILDREN][ILINK_HAPLOTYPES];
	double value = p->array[s->first].value[g];
	int n;

	for (int e = m->gametes[g]; e < m->gametes[g + 1]; e++)
		passed[m->gamete[e]] = m->probability[e];
	n = ilink_children(p, s, passed, by);
	if (s->first == s->target) {
		partial[g] = ilink_second(p, s, by, n, NULL);
		return;
	}
	ilink_second(p, s, by, n, other);
	for (int i = 0; i < *target->count; i++) {
		int t = target->nonzero[i];

		partial[t] += value * passed[s->from_first[t]] * other[s->from_second[t]];
	}
}

/* The share of worker @id of @workers of a job. */
static void ilink_work(const struct ilink_problem *p, const struct ilink_job *job, int id, int workers)
{
	struct ilink_step s = ilink_step(p->model, job);
	const struct ilink_array *first = &p->array[s.first], *target = &p->array[s.target];

	ilink_prepare(p->model, job->theta);
	for (int i = 0; i < *target->count; i++)
		p->partial[id][target->nonzero[i]] = 0;
	for (int i = id; i < *first->count; i += workers)
		ilink_first(p, &s, first->nonzero[i], p->partial[id]);
}

/* ---- the master -------------------------------------------------------------------------------------------------- */

/* Multiply the sum of all workers into the target's array, and scale its largest element to 1.  Returns the logarithm
 * of that element before. */
static double ilink_sum(const struct ilink_problem *p, int person, int workers)
{
	struct ilink_array *a = &p->array[person];
	double largest = 0;
	int n = 0;

	for (int i = 0; i < *a->count; i++) {
		int g = a->nonzero[i];
		double sum = 0;

		for (int id = 0; id < workers; id++)
			sum += p->partial[id][g];
		a->value[g] *= sum;
		largest = fmax(largest, a->value[g]);
	}
	for (int i = 0; i < *a->count; i++) {
		int g = a->nonzero[i];

		if (a->value[g] != 0) {
			a->value[g] /= largest;
			a->nonzero[n++] = (uint16_t)g;
		}
	}
	*a->count = n;
	return log(largest);
}

/* Is a job worth two barriers? */
static bool ilink_is_large(const struct ilink_problem *p, const struct ilink_job *job)
{
	struct ilink_step s = ilink_step(p->model, job);

	return (long)*p->array[s.first].count * *p->array[s.second].count * s.family->children >= threshold;
}

/* Peel family @family onto @target, by all processors if that is worth it.  Returns the logarithm of the scale. */
static double ilink_peel(const struct ilink_problem *p, int theta, int family, int target)
{
	struct ilink_job job = {theta, family, target};
	int workers = p->workers > 1 && ilink_is_large(p, &job) ? p->workers : 1;

	if (workers > 1) {
		*p->job = job;
		tw_barrier_all();
	}
	ilink_work(p, &job, 0, workers);
	if (workers > 1)
		tw_barrier_all();
	return ilink_sum(p, target, workers);
}

/* Peel all that can be reached without family @except onto @person.  Returns the logarithm of the scales. */
static double ilink_collect(const struct ilink_problem *p, int theta, int person, int except)
{
	const struct ilink_model *m = p->model;
	const int families[] = {m->person[person].child_of, m->person[person].parent_of};
	double scale = 0;

	for (int i = 0; i < 2; i++) {
		const struct ilink_family *f = &m->family[families[i]];

		if (families[i] < 0 || families[i] == except)
			continue;
		for (int side = FATHER; side < ILINK_PARENTS; side++)
			if (f->parent[side] != person)
				scale += ilink_collect(p, theta, f->parent[side], families[i]);
		for (int c = f->first_child; c < f->first_child + f->children; c++)
			if (c != person)
				scale += ilink_collect(p, theta, c, families[i]);
		scale += ilink_peel(p, theta, families[i], person);
	}
	return scale;
}

static void ilink_reset_array(const struct ilink_person *person, const struct ilink_array *a)
{
	for (int i = 0; i < person->count; i++) {
		a->value[person->genotype[i]] = person->value[i];
		a->nonzero[i] = person->genotype[i];
	}
	*a->count = person->count;
}

/* The log-likelihood for @theta: all is peeled onto @person; any person gives the same result. */
static double ilink_likelihood(const struct ilink_problem *p, int theta, int person)
{
	const struct ilink_model *m = p->model;
	const struct ilink_array *a = &p->array[person];
	double scale, sum = 0;

	for (int i = 0; i < m->persons; i++)
		ilink_reset_array(&m->person[i], &p->array[i]);
	scale = ilink_collect(p, theta, person, -1);
	for (int i = 0; i < *a->count; i++)
		sum += a->value[a->nonzero[i]];
	return scale + log(sum);
}

/* The last person is a child of the last generation, so that some families are peeled onto a parent and some onto a
 * child. */
static void ilink_master(struct ilink_problem *p)
{
	for (int theta = 0; theta < p->model->thetas; theta++)
		p->likelihood[theta] = ilink_likelihood(p, theta, p->model->persons - 1);
}

static void ilink_parallel(unsigned round)
{
	struct ilink_job job;

	(void)round;
	if (tw_id() == 0) {
		ilink_master(&shared);
		*shared.job = (struct ilink_job){.family = -1};
		tw_barrier_all();
		return;
	}
	for (;;) {
		tw_barrier_all();
		job = *shared.job;
		if (job.family < 0)
			return;
		ilink_work(&shared, &job, tw_id(), tw_count());
		tw_barrier_all();
	}
}

static void ilink_sequential(void)
{
	ilink_master(&plain);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Allocate the pool of @p, for @workers, by @alloc: each array at the start of a page.  False when there is no
 * memory. */
static bool ilink_alloc(struct ilink_problem *p, struct ilink_model *m, int workers, void *(*alloc)(size_t bytes))
{
	size_t persons = (size_t)m->persons, genotypes = (size_t)m->genotypes;
	size_t values = kernel_round_up(genotypes * sizeof(double)),
	       numbers = kernel_round_up(genotypes * sizeof(uint16_t));
	char *value = alloc(persons * values), *nonzero = alloc(persons * numbers),
	     *partial = alloc((size_t)workers * values);
	int *count = alloc(persons * sizeof(*count));

	p->model = m;
	p->workers = workers;
	p->job = alloc(sizeof(*p->job));
	p->array = kernel_alloc(persons * sizeof(*p->array));
	p->partial = kernel_alloc((size_t)workers * sizeof(*p->partial));
	if (!value || !nonzero || !partial || !count || !p->job)
		return false;
	for (size_t i = 0; i < persons; i++)
		p->array[i] = (struct ilink_array){(double *)(value + i * values), (uint16_t *)(nonzero + i * numbers),
		                                   count + i};
	for (size_t id = 0; id < (size_t)workers; id++)
		p->partial[id] = (double *)(partial + id * values);
	return true;
}

static bool ilink_share(void)
{
	return ilink_alloc(&shared, ilink_model(), tw_count(), kernel_share);
}

static void ilink_init(int id)
{
	memset(shared.partial[id], 0, (size_t)shared.model->genotypes * sizeof(double));
}

static void ilink_plain(void)
{
	ilink_alloc(&plain, ilink_model(), 1, kernel_alloc);
}

/* The master initializes the arrays for each theta. */
static void ilink_plain_init(void)
{
	memset(plain.likelihood, 0, sizeof(plain.likelihood));
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* The probability that @genotype passes on @gamete, by the definition: over all combinations of the loci's origins. */
static double ilink_passes(const struct ilink_model *m, int theta, int genotype, int gamete)
{
	const int h[] = {m->haplotype[FATHER][genotype], m->haplotype[MOTHER][genotype]};
	double total = 0;

	for (int from = 0; from < 1 << m->loci; from++) {
		double p = 0.5;

		for (int l = 0; l < m->loci; l++) {
			double cross = l ? ilink_recombination(m, theta, l - 1) : 0;

			if (ilink_allele(m, h[from >> l & 1], l) != ilink_allele(m, gamete, l))
				p = 0;
			if (l)
				p *= (from >> l & 1) == (from >> (l - 1) & 1) ? 1 - cross : cross;
		}
		total += p;
	}
	return total;
}

/* The likelihood of persons @i and later, given the genotypes of the earlier: a sum over all genotypes of all.  Parents
 * have smaller numbers than their children.  @passes: as above, for each genotype and gamete. */
static double ilink_enumerate(const struct ilink_model *m, const double *passes, int i, int *genotype)
{
	const struct ilink_person *person = &m->person[i];
	double total = 0;

	if (i == m->persons)
		return 1;
	for (int n = 0; n < person->count; n++) {
		double p = person->value[n];

		genotype[i] = person->genotype[n];
		for (int side = FATHER; side < ILINK_PARENTS && person->child_of >= 0; side++) {
			int parent = genotype[m->family[person->child_of].parent[side]];

			p *= passes[parent * m->haplotypes + m->haplotype[side][genotype[i]]];
		}
		if (p > 0)
			total += p * ilink_enumerate(m, passes, i + 1, genotype);
	}
	return total;
}

static bool ilink_equals(double is, double must, int theta, const char *what)
{
	if (fabs(is - must) <= 1e-10)
		return true;
	fprintf(stderr, "ilink: the log-likelihood for theta %d is %.17g, %s %.17g.\n", theta, is, what, must);
	return false;
}

/* Peeling onto each person in turn against enumeration, for two nuclear families of seven persons. */
static bool ilink_verify_peeling(void)
{
	static struct ilink_problem tiny;
	struct ilink_model *m = ilink_model_create(3, 2, 2, 2, 1, 10, 3);
	double *passes = kernel_alloc((size_t)m->genotypes * (size_t)m->haplotypes * sizeof(*passes)), must;
	int genotype[ILINK_PERSONS];

	ilink_alloc(&tiny, m, 1, kernel_alloc);
	for (int theta = 0; theta < m->thetas; theta++) {
		for (int i = 0; i < m->genotypes * m->haplotypes; i++)
			passes[i] = ilink_passes(m, theta, i / m->haplotypes, i % m->haplotypes);
		must = log(ilink_enumerate(m, passes, 0, genotype));
		for (int person = 0; person < m->persons; person++)
			if (!ilink_equals(ilink_likelihood(&tiny, theta, person), must, theta, "by enumeration"))
				return false;
	}
	free(passes);
	return true;
}

static bool ilink_verify(bool compare)
{
	for (int theta = 0; compare && theta < thetas; theta++)
		if (!ilink_equals(shared.likelihood[theta], plain.likelihood[theta], theta, "sequentially"))
			return false;
	return ilink_verify_peeling();
}

static const char *ilink_check(void)
{
	long haplotypes = 2, persons, families;

	for (long l = 1; l < loci && haplotypes <= ILINK_HAPLOTYPES; l++)
		haplotypes *= alleles;
	if (haplotypes > ILINK_HAPLOTYPES)
		return "--loci and --alleles are too large together: at most 128 haplotypes, 2 * alleles ^ (loci - 1).";
	if (couples > children)
		return "--couples may not be larger than --children; give a smaller one, too.";
	ilink_count(children, couples, generations, &persons, &families);
	return persons > ILINK_PERSONS ? "--generations and --couples are too large together: at most 1024 persons."
	                               : NULL;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"loci", &loci, 4, 4, 2, ILINK_LOCI, "loci: a disease and markers"},
	    {"alleles", &alleles, 4, 4, 2, ILINK_HAPLOTYPES / 2, "alleles of a marker"},
	    {"generations", &generations, 3, 3, 1, 8, "generations of families"},
	    {"children", &children, 3, 3, 1, ILINK_CHILDREN, "children of a family"},
	    {"couples", &couples, 3, 3, 1, ILINK_CHILDREN, "children of a family that have families"},
	    {"missing", &missing, 25, 30, 0, 100, "percent of marker types that are missing"},
	    {"thetas", &thetas, 5, 20, 1, ILINK_THETAS, "recombination probabilities"},
	    {"threshold", &threshold, 2000, 2000, 0, 1 << 30, "pairs of genotypes, times children, worth two barriers"},
	    {.name = NULL},
	};
	static const struct kernel ilink = {
	    .name = "ilink",
	    .help = "genetic linkage analysis by peeling",
	    .options = options,
	    .check = ilink_check,
	    .share = ilink_share,
	    .init = ilink_init,
	    .parallel = ilink_parallel,
	    .plain = ilink_plain,
	    .plain_init = ilink_plain_init,
	    .sequential = ilink_sequential,
	    .verify = ilink_verify,
	};

	return kernel_main(&ilink, argc, argv);
}
