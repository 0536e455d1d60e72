/* SPDX-License-Identifier: BSD-3-Clause */
/* target.c - devices: the only one is the host, which executes target regions at once, on the program's own memory. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/openmp/team.h"

#define TARGET_FIRSTPRIVATE 12 /* the low byte of gcc's kind of a mapped variable; the rest is its alignment */

/* A word of what gcc says of a target region: device (0: any), "the value is the next word", kind, value. */
#define TARGET_DEVICE       0x7fu
#define TARGET_VALUE_BEHIND 0x80u
#define TARGET_KIND         0xff00u
#define TARGET_THREAD_LIMIT 0x200u
#define TARGET_VALUE_SHIFT  16

/* Defined in programs that create tasks. */
extern void GOMP_taskwait(void) __attribute__((weak));

/* Wait for everything that it may depend on. */
static void target_after(void **depend)
{
	th_stack_reserve();
	if (depend && GOMP_taskwait)
		GOMP_taskwait();
}

static size_t target_align(size_t at, unsigned short kind)
{
	return TW_ALIGN_UP(at, (size_t)1 << (kind >> 8));
}

/* Copy the firstprivate variables to @copies, unless NULL. Returns the bytes of all copies. */
static size_t target_copy(size_t n, void **variables, const size_t *sizes, const unsigned short *kinds, char *copies)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if ((kinds[i] & 0xff) != TARGET_FIRSTPRIVATE)
			continue;
		at = target_align(at, kinds[i]);
		if (copies)
			variables[i] = memcpy(copies + at, variables[i], sizes[i]);
		at += sizes[i];
	}
	return at;
}

/* The region's thread_limit; 0: it has none.  @args: numbers with a device, a kind and a value, or the value behind
 * them; ended by NULL. */
static unsigned target_limit(void **args)
{
	while (args && *args) {
		uintptr_t word = (uintptr_t)*args++, value = word >> TARGET_VALUE_SHIFT;

		if (word & TARGET_VALUE_BEHIND)
			value = (uintptr_t)*args++;
		if ((word & (TARGET_DEVICE | TARGET_KIND)) == TARGET_THREAD_LIMIT)
			return (unsigned)TW_MIN(value, (uintptr_t)INT_MAX);
	}
	return 0;
}

void GOMP_target_ext(int device, void (*function)(void *), size_t n, void **variables, size_t *sizes,
                     unsigned short *kinds, unsigned flags, void **depend, void **args)
{
	struct omp_icv *icv = &omp_team->icv;
	uint32_t all = icv->limit;
	unsigned limit = target_limit(args);

	(void)device, (void)flags;
	target_after(depend);
	size_t bytes = target_copy(n, variables, sizes, kinds, NULL);
	void *copies = bytes ? tw_malloc(bytes) : NULL;

	if (bytes && !copies)
		th_refuse("target: no memory is left of TWEED_MEMORY: raise it");
	target_copy(n, variables, sizes, kinds, copies);
	if (limit)
		icv->limit = TW_MIN(all, limit);
	th_call(TH_CALLED(function), variables, NULL, NULL);
	icv->limit = all;
	th_stack_reserve();
	tw_free(copies);
}

void GOMP_target_data_ext(int device, size_t n, void **variables, size_t *sizes, unsigned short *kinds)
{
	(void)device, (void)n, (void)variables, (void)sizes, (void)kinds;
}

void GOMP_target_end_data(void) {}

void GOMP_target_update_ext(int device, size_t n, void **variables, size_t *sizes, unsigned short *kinds,
                            unsigned flags, void **depend)
{
	(void)device, (void)n, (void)variables, (void)sizes, (void)kinds, (void)flags;
	target_after(depend);
}

void GOMP_target_enter_exit_data(int device, size_t n, void **variables, size_t *sizes, unsigned short *kinds,
                                 unsigned flags, void **depend)
{
	(void)device, (void)n, (void)variables, (void)sizes, (void)kinds, (void)flags;
	target_after(depend);
}

/* ---- teams: one after the other, as gcc has it ---- */

static void teams_begin(unsigned teams, unsigned threads)
{
	struct omp_icv *icv = &omp_team->icv;

	icv->teams = teams;
	icv->team = 0;
	if (threads)
		icv->limit = TW_MIN(icv->limit, threads);
}

static void teams_end(uint32_t limit)
{
	struct omp_icv *icv = &omp_team->icv;

	icv->teams = 1;
	icv->team = 0;
	icv->limit = limit;
}

/* What gcc before 12 calls in a target region. */
void GOMP_teams(unsigned teams, unsigned threads)
{
	(void)teams, (void)threads;
}

/* Called before each team of a target region, and behind the last one.  Returns whether there is one more.
 * @threads: thread_limit; 0: none. */
bool GOMP_teams4(unsigned least, unsigned most, unsigned threads, bool first)
{
	static __thread uint32_t limit;
	struct omp_icv *icv = &omp_team->icv;

	(void)most;
	if (first) {
		limit = icv->limit;
		teams_begin(TW_MAX(least, 1u), threads);
	} else if (++icv->team == icv->teams) {
		teams_end(limit);
		return false;
	}
	return true;
}

/* @teams: the most that the construct asks for; 0: it does not. */
void GOMP_teams_reg(void (*function)(void *), void *data, unsigned teams, unsigned threads, unsigned flags)
{
	struct omp_icv *icv = &omp_team->icv;
	uint32_t limit = icv->limit;

	(void)flags;
	teams_begin(teams ? teams : TW_MAX(icv->most_teams, 1u), threads ? threads : icv->teams_limit);
	for (; icv->team < icv->teams; icv->team++)
		th_call(TH_CALLED(function), data, NULL, NULL);
	teams_end(limit);
}

/* ---- omp.h ---- */

void *omp_target_alloc(size_t bytes, int device)
{
	(void)device;
	th_stack_reserve();
	return tw_malloc(bytes);
}

void omp_target_free(void *ptr, int device)
{
	(void)device;
	th_stack_reserve();
	tw_free(ptr);
}

int omp_target_is_present(const void *ptr, int device)
{
	(void)ptr, (void)device;
	return 1;
}

int omp_target_is_accessible(const void *ptr, size_t bytes, int device)
{
	(void)ptr, (void)bytes, (void)device;
	return 1;
}

void *omp_get_mapped_ptr(const void *ptr, int device)
{
	(void)device;
	return (void *)(uintptr_t)ptr;
}

int omp_target_memcpy(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
                      int from_device)
{
	(void)to_device, (void)from_device;
	memcpy((char *)to + to_offset, (const char *)from + from_offset, bytes);
	return 0;
}

/* @dimensions nested boxes of @volume elements, at offsets in boxes of @to_all and @from_all elements. Nothing to copy:
 * returns how many dimensions are supported. */
int omp_target_memcpy_rect(void *to, const void *from, size_t element, int dimensions, const size_t *volume,
                           const size_t *to_offsets, const size_t *from_offsets, const size_t *to_all,
                           const size_t *from_all, int to_device, int from_device)
{
	size_t to_bytes = element, from_bytes = element;

	if (!to && !from)
		return INT_MAX;
	if (dimensions < 1)
		return EINVAL;
	if (dimensions == 1)
		return omp_target_memcpy(to, from, element * volume[0], element * to_offsets[0],
		                         element * from_offsets[0], to_device, from_device);
	for (int k = 1; k < dimensions; k++) {
		to_bytes *= to_all[k];
		from_bytes *= from_all[k];
	}
	for (size_t i = 0; i < volume[0]; i++)
		omp_target_memcpy_rect((char *)to + (to_offsets[0] + i) * to_bytes,
		                       (const char *)from + (from_offsets[0] + i) * from_bytes, element, dimensions - 1,
		                       volume + 1, to_offsets + 1, from_offsets + 1, to_all + 1, from_all + 1,
		                       to_device, from_device);
	return 0;
}

/* Memory of the host needs no association. */
int omp_target_associate_ptr(const void *host, const void *ptr, size_t bytes, size_t offset, int device)
{
	(void)host, (void)ptr, (void)bytes, (void)offset, (void)device;
	return EINVAL;
}

int omp_target_disassociate_ptr(const void *host, int device)
{
	(void)host, (void)device;
	return EINVAL;
}
