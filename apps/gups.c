/* SPDX-License-Identifier: BSD-3-Clause */
/* gups - updates of random words of all PEs' memory, as HPC Challenge's RandomAccess, by OpenSHMEM's atomic operations.
 *
 *     tweed oshrun -n 4 gups [--words N] [--updates N]
 *
 * Each PE has @words words, and makes @updates updates: it draws a number, and adds it to the word that the number
 * names.  RandomAccess has exclusive or in place of the sum, which few networks perform by themselves.  Then all
 * numbers are subtracted, which must leave the table as it was.  Prints the time of the sums, and giga updates per
 * second. */
#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* xorshift64*. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1du;
}

/* @sign: 1 or, to subtract, UINT64_MAX. */
static void update(uint64_t *table, uint64_t words, uint64_t updates, uint64_t sign)
{
	uint64_t state = (uint64_t)shmem_my_pe() * 0x9e3779b97f4a7c15u + 1, pes = (uint64_t)shmem_n_pes();

	for (uint64_t i = 0; i < updates; i++) {
		uint64_t value = draw(&state);
		shmem_uint64_atomic_add(&table[value / pes % words], sign * value, (int)(value % pes));
	}
	shmem_barrier_all();
}

static uint64_t number(const char *name, const char *text)
{
	char *end = NULL;
	uint64_t n = text ? strtoull(text, &end, 10) : 0;

	if (!end || *end || !n) {
		fprintf(stderr, "gups: %s is followed by a number above 0\n", name);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	uint64_t words = 1 << 16, updates = 1 << 14, wrong = 0;

	for (int i = 1; i < argc; i += 2) {
		if (strcmp(argv[i], "--words") == 0) {
			words = number(argv[i], argv[i + 1]);
		} else if (strcmp(argv[i], "--updates") == 0) {
			updates = number(argv[i], argv[i + 1]);
		} else {
			fprintf(stderr, "usage: gups [--words N] [--updates N]   (of each PE)\n");
			return 2;
		}
	}
	shmem_init();
	uint64_t *table = shmem_malloc(words * sizeof(*table));
	if (!table) {
		if (shmem_my_pe() == 0)
			fprintf(stderr,
			        "gups: no memory for %" PRIu64 " words of each PE: raise SHMEM_SYMMETRIC_SIZE\n",
			        words);
		shmem_global_exit(2);
	}
	for (uint64_t i = 0; i < words; i++)
		table[i] = i;
	shmem_barrier_all();
	double begun = now_s();
	update(table, words, updates, 1);
	double s = now_s() - begun;
	update(table, words, updates, UINT64_MAX);
	for (uint64_t i = 0; i < words; i++)
		wrong += table[i] != i;
	if (wrong)
		printf("gups: PE %d has %" PRIu64 " wrong words\n", shmem_my_pe(), wrong);
	if (shmem_my_pe() == 0)
		printf("time: %.6f s, %.6f giga updates per second\n", s, (double)updates * shmem_n_pes() / s / 1e9);
	shmem_finalize();
	return wrong > 0;
}
