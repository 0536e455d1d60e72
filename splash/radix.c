/* SPDX-License-Identifier: BSD-3-Clause */
/* radix - sort integers by their digits, the lowest first, as in SPLASH-2 (Woo et al., 1995).
 *
 * Each processor has a contiguous part of the keys.  For each digit:
 *
 *     count how often each digit occurs in the own part
 *     scan: sum those histograms over this and all lower processors
 *     move each key to its place in the other array, barrier
 *
 * A key's place is the number of keys with lower digits, known from the last processor's sums, plus those with the same
 * digit on lower processors and before it in the own part.  So the sort is stable, and the moves write everywhere:
 * where one processor's keys end in the middle of a page, the next one's begin.
 *
 * The scan needs no barrier.  In step s processor i adds the sums of processor i - 2^s to its own and raises its flag,
 * for at most log2(processors) steps.  Each step has an array of its own, which is not overwritten before the
 * barrier. */
#include "apps/kernel.h"

#include <stdio.h>

#include "tweed/tweed.h"

static long keys, digits, greatest; /* options: keys, digits' number (the radix), greatest key */
static uint32_t *shared[2], *plain[2];
static uint32_t *sums;   /* shared: [step][processor][digit], each row at the start of a page */
static tw_flag_t *flags; /* shared: [processor], raised to radix_turn() + steps done */
static uint32_t *counts; /* private: [digit] */
static uint32_t *places; /* private: [digit], where the next key of this digit goes */

/* ---- the work, of both algorithms -------------------------------------------------------------------------------- */

static long radix_passes(void)
{
	long passes = 1;

	for (long rest = greatest / digits; rest; rest /= digits)
		passes++;
	return passes;
}

static long radix_shift(long pass)
{
	return pass * __builtin_ctzl((unsigned long)digits);
}

static uint32_t radix_digit(uint32_t key, long shift)
{
	return (key >> shift) & (uint32_t)(digits - 1);
}

static void radix_count(const uint32_t *from, long first, long end, long shift)
{
	memset(counts, 0, (size_t)digits * sizeof(*counts));
	for (long k = first; k < end; k++)
		counts[radix_digit(from[k], shift)]++;
}

/* The first places of this processor's keys, from the sums of this processor and of the last. */
static void radix_places(const uint32_t *mine, const uint32_t *all)
{
	uint32_t lower = 0;

	for (long d = 0; d < digits; d++) {
		places[d] = lower + mine[d] - counts[d];
		lower += all[d];
	}
}

static void radix_move(uint32_t *to, const uint32_t *from, long first, long end, long shift)
{
	for (long k = first; k < end; k++)
		to[places[radix_digit(from[k], shift)]++] = from[k];
}

static void radix_sequential(void)
{
	for (long pass = 0; pass < radix_passes(); pass++) {
		long shift = radix_shift(pass);

		radix_count(plain[pass % 2], 0, keys, shift);
		radix_places(counts, counts);
		radix_move(plain[1 - pass % 2], plain[pass % 2], 0, keys, shift);
	}
}

/* ---- parallel ---------------------------------------------------------------------------------------------------- */

/* The first key of processor @id of @count; @id = @count: the end. */
static long radix_part(int id, int count)
{
	return keys * id / count;
}

/* Steps of the scan at processor @id: the last is 1 << (steps - 1) <= id. */
static int radix_steps(int id)
{
	return id ? 64 - __builtin_clzl((unsigned long)id) : 0;
}

static size_t radix_row(void)
{
	return kernel_round_up((size_t)digits * sizeof(*sums)) / sizeof(*sums);
}

static uint32_t *radix_sums(int step, int id)
{
	return sums + ((size_t)step * (size_t)tw_count() + (size_t)id) * radix_row();
}

/* The value of the flags before pass @pass of round @round: each pass raises them by one more than there are steps. */
static uint64_t radix_turn(unsigned round, long pass)
{
	uint64_t before = (uint64_t)(round - 1) * (uint64_t)radix_passes() + (uint64_t)pass;

	return before * (uint64_t)(radix_steps(tw_count() - 1) + 1);
}

/* Sum the counts of processors 0 to this one into radix_sums(radix_steps(id), id), then raise the flag. */
static void radix_scan(uint64_t turn)
{
	int id = tw_id();

	memcpy(radix_sums(0, id), counts, (size_t)digits * sizeof(*counts));
	tw_flag_set(flags[id], turn + 1);
	for (int step = 0; step < radix_steps(id); step++) {
		int other = id - (1 << step);
		/* The other processor's sums for this step: its last ones are those of all later steps. */
		int there = radix_steps(other) < step ? radix_steps(other) : step;
		const uint32_t *mine = radix_sums(step, id), *theirs = radix_sums(there, other);
		uint32_t *sum = radix_sums(step + 1, id);

		tw_flag_wait(flags[other], turn + 1 + (uint64_t)there);
		for (long d = 0; d < digits; d++)
			sum[d] = mine[d] + theirs[d];
		tw_flag_set(flags[id], turn + 2 + (uint64_t)step);
	}
}

static void radix_parallel(unsigned round)
{
	int id = tw_id(), last = tw_count() - 1;
	long first = radix_part(id, tw_count()), end = radix_part(id + 1, tw_count());

	for (long pass = 0; pass < radix_passes(); pass++) {
		long shift = radix_shift(pass);
		uint64_t turn = radix_turn(round, pass);

		radix_count(shared[pass % 2], first, end, shift);
		radix_scan(turn);
		tw_flag_wait(flags[last], turn + 1 + (uint64_t)radix_steps(last));
		radix_places(radix_sums(radix_steps(id), id), radix_sums(radix_steps(last), last));
		radix_move(shared[1 - pass % 2], shared[pass % 2], first, end, shift);
		tw_barrier_all();
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static uint32_t radix_start(long k)
{
	return (uint32_t)(kernel_random(0, (uint64_t)k) * ((double)greatest + 1));
}

static void radix_init_keys(uint32_t *const *arrays, long first, long end)
{
	for (long k = first; k < end; k++) {
		arrays[0][k] = radix_start(k);
		arrays[1][k] = 0;
	}
}

static void radix_init(int id)
{
	radix_init_keys(shared, radix_part(id, tw_count()), radix_part(id + 1, tw_count()));
}

static void radix_private(void)
{
	counts = kernel_alloc((size_t)digits * sizeof(*counts));
	places = kernel_alloc((size_t)digits * sizeof(*places));
}

static bool radix_share(void)
{
	size_t rows = (size_t)(radix_steps(tw_count() - 1) + 1) * (size_t)tw_count();

	radix_private();
	shared[0] = kernel_share((size_t)keys * sizeof(**shared));
	shared[1] = kernel_share((size_t)keys * sizeof(**shared));
	sums = kernel_share(rows * radix_row() * sizeof(*sums));
	flags = kernel_share((size_t)tw_count() * sizeof(*flags));
	if (!shared[0] || !shared[1] || !sums || !flags)
		return false;
	flags[tw_id()] = tw_flag_create();
	tw_barrier_all();
	return true;
}

static void radix_plain(void)
{
	if (!counts)
		radix_private();
	plain[0] = kernel_alloc((size_t)keys * sizeof(**plain));
	plain[1] = kernel_alloc((size_t)keys * sizeof(**plain));
}

static void radix_plain_init(void)
{
	radix_init_keys(plain, 0, keys);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

static int radix_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The plain result against the C library's sort of the same keys: sorted, and a permutation. */
static bool radix_verify(bool compare)
{
	const uint32_t *sorted = plain[radix_passes() % 2];
	uint32_t *expected = kernel_alloc((size_t)keys * sizeof(*expected));
	long wrong = 0;

	for (long k = 0; k < keys; k++)
		expected[k] = radix_start(k);
	qsort(expected, (size_t)keys, sizeof(*expected), radix_compare);
	while (wrong < keys && sorted[wrong] == expected[wrong])
		wrong++;
	if (wrong < keys)
		fprintf(stderr, "radix: key %ld is %u and should be %u.\n", wrong, sorted[wrong], expected[wrong]);
	free(expected);
	for (long k = 0; compare && wrong == keys && k < keys; k++) {
		uint32_t key = shared[radix_passes() % 2][k];

		if (key != sorted[k]) {
			fprintf(stderr, "radix: key %ld is %u, sequentially %u.\n", k, key, sorted[k]);
			return false;
		}
	}
	return wrong == keys;
}

static const char *radix_check(void)
{
	return digits & (digits - 1) ? "--radix takes a power of two." : NULL;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"keys", &keys, 1 << 20, 1 << 20, 1, (1L << 32) - 1, "keys to sort"},
	    {"radix", &digits, 1024, 1024, 2, 1 << 16, "how many values a digit has; a power of two"},
	    {"greatest", &greatest, (1 << 19) - 1, (1 << 19) - 1, 0, (1L << 32) - 1, "the greatest key"},
	    {.name = NULL},
	};
	static const struct kernel radix = {
	    .name = "radix",
	    .help = "integer radix sort",
	    .options = options,
	    .check = radix_check,
	    .share = radix_share,
	    .init = radix_init,
	    .parallel = radix_parallel,
	    .plain = radix_plain,
	    .plain_init = radix_plain_init,
	    .sequential = radix_sequential,
	    .verify = radix_verify,
	};

	return kernel_main(&radix, argc, argv);
}
