/* SPDX-License-Identifier: BSD-3-Clause */
/* put_ahead.c - PEs that are far ahead of others in collectives, and others that compute, or sleep in them:
 * broadcasts by one PE that the others do not poll for a while, long waits, and puts in between, so that signals
 * and blocks take every route.  Nothing is lost, overtaken or late. */
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define CASTS 300
#define WORDS 700 /* the most of a block */
#define MS    1000000L

static long (*block)[WORDS], put[CASTS], count;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* Without any call. */
static void compute(long ns)
{
	for (long until = now() + ns; now() < until;)
		continue;
}

static size_t length(int i)
{
	return i % 7 == 0 ? WORDS : (size_t)(1 + i % 40);
}

/* PE 0 is hundreds of broadcasts ahead of who computes; now and then a put goes between. */
static void casts(int me, int n, int round)
{
	static long source[WORDS];

	memset(block, 0, sizeof(*block) * CASTS);
	memset(put, 0, sizeof(put));
	shmem_barrier_all();
	if (me)
		compute((100 + 50 * me) * MS);
	for (int i = 0; i < CASTS; i++) {
		for (size_t w = 0; w < length(i); w++)
			source[w] = round * 1000000L + i * 1000L + (long)w;
		if (me == 0 && i % (round + 3) == 0)
			shmem_long_p(&put[i], round + 1, n - 1);
		shmem_long_broadcast(SHMEM_TEAM_WORLD, block[i], source, length(i), 0);
		for (size_t w = 0; w < length(i); w++)
			CHECK(block[i][w] == round * 1000000L + i * 1000L + (long)w);
		if (me == n - 1 && n > 1 && i % 50 == 17)
			compute(3 * MS);
	}
	shmem_barrier_all();
	for (int i = 0; me == n - 1 && i < CASTS; i++)
		CHECK(put[i] == (i % (round + 3) == 0 ? round + 1 : 0));
}

/* Each in turn is late in all kinds of collectives, and all others sleep. */
static void late(int me, int n, long ns)
{
	for (int who = 0; who < n; who++) {
		long sum = me, all = 0, before = 0;
		if (me == who)
			compute(ns);
		shmem_barrier_all();
		if (me == who)
			compute(ns);
		CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &sum, 1) == 0);
		CHECK(all == (long)n * (n - 1) / 2);
		if (who % 2)
			shmem_long_atomic_inc(&count, who);
		else
			shmem_long_atomic_fetch_inc_nbi(&before, &count, who);
		if (me == who)
			compute(ns);
		shmem_barrier_all();
		CHECK(shmem_long_g(&count, who) == n && before < n);
		shmem_long_fcollect(SHMEM_TEAM_WORLD, block[who], put, 1);
	}
	shmem_barrier_all();
	count = 0;
	shmem_barrier_all();
}

/* An argument: so many seconds is each late, once. */
int main(int argc, char **argv)
{
	shmem_init();
	int me = shmem_my_pe(), n = shmem_n_pes();
	block = shmem_malloc(sizeof(*block) * CASTS);
	CHECK(block);
	for (int round = 0; round < 4; round++) {
		casts(me, n, round);
		late(me, n, 5 * MS);
	}
	late(me, n, argc > 1 ? atol(argv[1]) * 1000 * MS : 300 * MS);
	if (me == 0)
		printf("ahead: %d PEs\n", n);
	shmem_finalize();
	return 0;
}
