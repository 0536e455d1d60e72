/* SPDX-License-Identifier: BSD-3-Clause */
/* doacross.c - loops whose iterations wait for earlier ones: ordered(n), and ordered with the clause depend.
 *
 * The iterations of the outermost loop are assigned as by a static schedule, in chunks where the program asks for a
 * schedule with chunks: so any thread knows which one executes an iteration, and each executes its iterations in
 * ascending order. No iteration waits for a later one. Each thread has a flag: the number of the last iteration that it
 * has posted, counted over all such loops of the job. On one node it is a word instead. */
#include <stdarg.h>
#include <string.h>

#include "core/base/base.h"
#include "runtime/openmp/team.h"
#include "runtime/threads/baton.h"

/* In shared memory. */
struct omp_flags {
	unsigned n;
	struct {
		_Alignas(64) tw_flag_t flag;
		_Atomic uint64_t word;
	} of[];
};

#define DOACROSS_SPINS 1000u

static struct omp_flags *doacross_create(unsigned n)
{
	size_t bytes = sizeof(struct omp_flags) + n * sizeof(((struct omp_flags *)NULL)->of[0]);
	struct omp_flags *flags = tw_aligned_alloc(64, bytes);

	if (!flags)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	memset(flags, 0, bytes);
	flags->n = n;
	for (unsigned k = 0; k < n; k++)
		flags->of[k].flag = tw_flag_create();
	return flags;
}

/* Collective, the first time, and where a team is larger than those before. */
static void doacross_flags(struct omp_doacross *d)
{
	if (d->flags && d->flags->n >= omp_team->n)
		return;
	uint64_t share = omp_share();
	if (omp_team->id == 0)
		omp_share_put(share, doacross_create(omp_team->n));
	omp_meet();
	d->flags = omp_share_pointer(share);
}

/* Begin a loop of @dimensions nested ones, with @count iterations each. */
static void doacross_begin(unsigned dimensions, const uint64_t *count)
{
	struct omp_doacross *d = &omp_team->doacross;
	uint64_t all = 1;

	d->dimensions = 0; /* without other threads there is nothing to wait for */
	if (omp_team->n == 1)
		return;
	if (dimensions > OMP_DIMENSIONS)
		th_refuse("ordered(%u) is not supported: at most %u loops", dimensions, OMP_DIMENSIONS);
	doacross_flags(d);
	for (unsigned k = 0; k < dimensions; k++)
		if (__builtin_mul_overflow(all, count[k], &all))
			th_refuse("ordered(%u) is not supported for more than 2^64 iterations", dimensions);
	memcpy(d->count, count, dimensions * sizeof(*count));
	d->dimensions = dimensions;
	d->before = d->after;
	d->after += all + 1;
}

/* The thread that executes the iterations with @first of the outermost loop. */
static unsigned doacross_thread(uint64_t first)
{
	const struct omp_loop *l = &omp_team->loop;
	uint64_t n = omp_team->n, each = l->n / n, more = l->n % n;

	if (l->chunk)
		return (unsigned)(first / l->chunk % n);
	return (unsigned)(first < more * (each + 1) ? first / (each + 1) : more + (first - more * (each + 1)) / each);
}

static void doacross_raise(unsigned thread, uint64_t number)
{
	struct omp_flags *flags = omp_team->doacross.flags;

	if (th_far)
		tw_flag_set(flags->of[thread].flag, number);
	else
		atomic_store_explicit(&flags->of[thread].word, number, memory_order_release);
}

static void doacross_await(unsigned thread, uint64_t number)
{
	struct omp_flags *flags = omp_team->doacross.flags;

	if (th_far) {
		tw_flag_wait(flags->of[thread].flag, number);
		return;
	}
	for (unsigned spins = 1; atomic_load_explicit(&flags->of[thread].word, memory_order_acquire) < number;
	     spins++) {
		tw_pause();
		if (spins % DOACROSS_SPINS)
			continue;
		th_yield();
		tw_yield();
	}
}

static void doacross_post(const uint64_t *at)
{
	const struct omp_doacross *d = &omp_team->doacross;
	uint64_t number = 0;

	if (!d->dimensions)
		return;
	for (unsigned k = 0; k < d->dimensions; k++)
		number = number * d->count[k] + at[k];
	th_stack_reserve();
	doacross_raise(omp_team->id, d->before + number + 1);
}

static void doacross_wait(uint64_t first, va_list rest)
{
	const struct omp_doacross *d = &omp_team->doacross;
	uint64_t number = first;

	if (!d->dimensions)
		return;
	for (unsigned k = 1; k < d->dimensions; k++)
		number = number * d->count[k] + va_arg(rest, uint64_t);
	unsigned thread = doacross_thread(first);
	th_stack_reserve();
	if (thread != omp_team->id)
		doacross_await(thread, d->before + number + 1);
}

/* ---- what the compiler calls ------------------------------------------------------------------------------------ */

void GOMP_doacross_post(long *at)
{
	doacross_post((const uint64_t *)at);
}

void GOMP_doacross_ull_post(unsigned long long *at)
{
	doacross_post((const uint64_t *)at);
}

#define DOACROSS_WAIT(name, type)                                                                                      \
	void name(type first, ...)                                                                                     \
	{                                                                                                              \
		va_list rest;                                                                                          \
		va_start(rest, first);                                                                                 \
		doacross_wait((uint64_t)first, rest);                                                                  \
		va_end(rest);                                                                                          \
	}
DOACROSS_WAIT(GOMP_doacross_wait, long)
DOACROSS_WAIT(GOMP_doacross_ull_wait, unsigned long long)

/* Of the outermost loop, which goes from 0 in steps of 1. */
static bool doacross_start(unsigned dimensions, const uint64_t *count, enum omp_kind kind, uint64_t chunk,
                           uint64_t *first, uint64_t *end)
{
	struct omp_loop l = omp_loop_make(0, 1, count[0], kind, chunk, false);

	if (l.kind == OMP_AUTO)
		l.chunk = 0;
	l.kind = OMP_STATIC;
	doacross_begin(dimensions, count);
	omp_loop_begin(&l);
	return omp_loop_next(first, end);
}

#define DOACROSS_CHUNKED(name, type, kind)                                                                             \
	bool name(unsigned dimensions, type *count, type chunk, type *first, type *end)                                \
	{                                                                                                              \
		return doacross_start(dimensions, (const uint64_t *)count, kind, (uint64_t)chunk, (uint64_t *)first,   \
		                      (uint64_t *)end);                                                                \
	}
#define DOACROSS_RUNTIME(name, type)                                                                                   \
	bool name(unsigned dimensions, type *count, type *first, type *end)                                            \
	{                                                                                                              \
		return doacross_start(dimensions, (const uint64_t *)count, OMP_NONE, 0, (uint64_t *)first,             \
		                      (uint64_t *)end);                                                                \
	}
#define DOACROSS_MORE(name, type)                                                                                      \
	bool name(unsigned dimensions, type *count, long schedule, type chunk, type *first, type *end,                 \
	          uintptr_t *reductions, void **memory)                                                                \
	{                                                                                                              \
		omp_loop_prepare(reductions, memory);                                                                  \
		return doacross_start(dimensions, (const uint64_t *)count, (enum omp_kind)(schedule & INT32_MAX),      \
		                      (uint64_t)chunk, (uint64_t *)first, (uint64_t *)end);                            \
	}
#define DOACROSS(prefix, type)                                                                                         \
	DOACROSS_CHUNKED(prefix##_doacross_static_start, type, OMP_STATIC)                                             \
	DOACROSS_CHUNKED(prefix##_doacross_dynamic_start, type, OMP_DYNAMIC)                                           \
	DOACROSS_CHUNKED(prefix##_doacross_guided_start, type, OMP_GUIDED)                                             \
	DOACROSS_RUNTIME(prefix##_doacross_runtime_start, type)                                                        \
	DOACROSS_MORE(prefix##_doacross_start, type)
DOACROSS(GOMP_loop, long)
DOACROSS(GOMP_loop_ull, unsigned long long)
