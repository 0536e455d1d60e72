/* SPDX-License-Identifier: BSD-3-Clause */
/* collectives.c - every collective of every size, again and again without other synchronization than the rules ask
 * for, on teams of
 * several shapes, with all roots; compared with what follows from the PEs' numbers.  The algorithms are the
 * environment's. */
#include <stdlib.h>

#include "check.h"

#define MOST 20000 /* elements of each PE; an argument may say fewer */

static long *source, *dest;
static size_t most = MOST;
static long words[SHMEM_SYNC_SIZE];

/* The i-th element of PE p of a team, in a round. */
static long value(int round, int p, size_t i)
{
	return (round * 1000 + p) * 100000L + (long)i;
}

static void fill(int round, int p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		source[i] = value(round, p, i);
}

static void broadcasts(shmem_team_t team, int me, int n, size_t len)
{
	for (int round = 0; round < 2 * n + 1; round++) {
		int root = round * 7 % n;
		fill(round, me, len);
		dest[0] = -1;
		shmem_team_sync(team);
		/* Two in a row: a PE may be a whole collective ahead. */
		CHECK(shmem_long_broadcast(team, dest, source, len, root) == 0);
		CHECK(shmem_long_broadcast(team, dest + len, source, len, (root + 1) % n) == 0);
		for (size_t i = 0; i < len; i++) {
			CHECK(dest[i] == value(round, root, i));
			CHECK(dest[len + i] == value(round, (root + 1) % n, i));
		}
		shmem_team_sync(team);
	}
}

static void exchanges(shmem_team_t team, int me, int n, size_t len)
{
	for (int round = 0; round < 5; round++) {
		fill(round, me, len * (size_t)n);
		shmem_team_sync(team);
		CHECK(shmem_long_fcollect(team, dest, source, len) == 0);
		for (int p = 0; p < n; p++)
			for (size_t i = 0; i < len; i++)
				CHECK(dest[(size_t)p * len + i] == value(round, p, i));
		shmem_team_sync(team);
		CHECK(shmem_long_alltoall(team, dest, source, len) == 0);
		for (int p = 0; p < n; p++)
			for (size_t i = 0; i < len; i++)
				CHECK(dest[(size_t)p * len + i] == value(round, p, (size_t)me * len + i));
		shmem_team_sync(team);
		CHECK(shmem_long_collect(team, dest, source, len + (size_t)me) == 0);
		for (size_t p = 0, at = 0; p < (size_t)n; at += len + p++)
			for (size_t i = 0; i < len + p; i++)
				CHECK(dest[at + i] == value(round, (int)p, i));
		shmem_team_sync(team);
		CHECK(shmem_long_alltoalls(team, dest, source, 2, 1, len / 2) == 0);
		for (int p = 0; p < n; p++)
			for (size_t i = 0; i < len / 2; i++)
				CHECK(dest[2 * ((size_t)p * (len / 2) + i)] ==
				      value(round, p, (size_t)me * (len / 2) + i));
		shmem_team_sync(team);
	}
}

/* Back to back, in place and not; all must have the same. */
static void reductions(shmem_team_t team, int me, int n, size_t len)
{
	for (int round = 0; round < 5; round++) {
		for (size_t i = 0; i < len; i++)
			source[i] = value(round, me, i);
		shmem_team_sync(team);
		CHECK(shmem_long_sum_reduce(team, dest, source, len) == 0);
		CHECK(shmem_long_max_reduce(team, source, source, len) == 0);
		for (size_t i = 0; i < len; i++) {
			CHECK(dest[i] == n * value(round, 0, i) + 100000L * n * (n - 1) / 2);
			CHECK(source[i] == value(round, n - 1, i));
		}
		double *third = (double *)dest, *sum = (double *)source;
		shmem_team_sync(team);
		for (size_t i = 0; i < len; i++)
			third[i] = (me + 1) / 3.0 + (double)i;
		CHECK(shmem_double_sum_reduce(team, sum, third, len) == 0);
		shmem_team_sync(team);
		for (size_t i = 0; i < len; i++)
			third[i] = -sum[i];
		CHECK(shmem_double_max_reduce(team, third, third, len) == 0);
		for (size_t i = 0; i < len; i++)
			CHECK(third[i] == -sum[i]);
		shmem_team_sync(team);
	}
}

static void all(shmem_team_t team)
{
	static const size_t sizes[] = {1, 2, 6, 7, 300, 2049, MOST};

	if (team == SHMEM_TEAM_INVALID)
		return;
	int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]) && sizes[s] <= most; s++) {
		broadcasts(team, me, n, sizes[s]);
		exchanges(team, me, n, sizes[s] / (size_t)(sizes[s] > 2049 ? n : 1));
		reductions(team, me, n, sizes[s]);
	}
	for (int i = 0; i < 200; i++)
		shmem_team_sync(team);
}

/* Nobody may leave a barrier before all have come. */
static void barriers(int me, int n)
{
	static long count;

	count = 0;
	shmem_barrier_all();
	for (int round = 1; round <= 200; round++) {
		shmem_long_atomic_inc(&count, 0);
		shmem_barrier_all();
		CHECK(shmem_long_atomic_fetch(&count, 0) == (long)round * n);
		shmem_sync_all();
	}
	for (int round = 0; round < 50; round++) {
		shmem_broadcast64(dest, source, 3, round % n, 0, 0, n, words);
		shmem_barrier_all();
		shmem_fcollect64(dest, source, 3, 0, 0, n, words);
		shmem_barrier_all();
	}
	(void)me;
}

int main(int argc, char **argv)
{
	shmem_team_t part, rows, columns;

	shmem_init();
	if (argc > 1)
		most = (size_t)atol(argv[1]);
	int me = shmem_my_pe(), n = shmem_n_pes();
	source = shmem_malloc(2 * MOST * (size_t)(n + 1) * sizeof(long));
	dest = shmem_malloc(2 * MOST * (size_t)(n + 1) * sizeof(long));
	CHECK(source && dest);
	barriers(me, n);
	all(SHMEM_TEAM_WORLD);
	shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &part);
	all(part);
	shmem_team_destroy(part);
	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 3, (n + 2) / 3, NULL, 0, &part);
	all(part);
	shmem_team_destroy(part);
	shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, NULL, 0, &rows, NULL, 0, &columns);
	all(rows);
	all(columns);
	all(SHMEM_TEAM_SHARED);
	shmem_barrier_all();
	if (me == 0)
		printf("collectives: %d PEs\n", n);
	shmem_finalize();
	return 0;
}
