/* SPDX-License-Identifier: BSD-3-Clause */
/* delegated.c - reads, writes and atomics at a PE that waits and computes by turns, so that it, its node's server
 * or both may get them: each is done once, in order, and none waits for a computing PE. */
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define ROUNDS 300
#define OPS    40 /* of a round */
#define WORDS  1024
#define US     1000L

static long counter[64], swapped[64], put[64], all, block[WORDS], last_round;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void compute(long ns)
{
	for (long until = now() + ns; now() < until;)
		continue;
}

/* One asker's; @done: how many it has done. */
static void ask(int me, int host, long *done)
{
	static long copy[WORDS];

	for (int i = 0; i < OPS; i++, ++*done) {
		long to = *done * 1000 + me;
		CHECK(shmem_long_atomic_fetch_inc(&counter[me], host) == *done);
		CHECK(shmem_long_atomic_swap(&swapped[me], to, host) == (*done ? to - 1000 : 0));
		CHECK(shmem_long_atomic_compare_swap(&swapped[me], to + 1, 7, host) == to);
		shmem_long_atomic_add(&all, 1, host);
		shmem_long_p(&put[me], to, host);
		if (i % 3)
			shmem_quiet();
		CHECK(shmem_long_g(&put[me], host) == to || i % 3 == 0);
		if (i % 10 == me % 10) {
			shmem_long_get(copy, block, WORDS, host);
			CHECK(copy[0] == 0 && copy[WORDS - 1] == WORDS - 1 && copy[WORDS / 2] == WORDS / 2);
		}
	}
}

int main(void)
{
	shmem_init();
	int me = shmem_my_pe(), n = shmem_n_pes(), host = n - 1;
	long done = 0;
	shmem_team_t pair;

	for (long i = 0; i < WORDS; i++)
		block[i] = i;
	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, n > 1 ? n - 1 : 1, n > 1 ? 2 : 1, NULL, 0, &pair);
	shmem_barrier_all();
	srand((unsigned)me);
	for (int round = 0; round < ROUNDS; round++) {
		if (me != host)
			ask(me, host, &done);
		else if (round % 3) /* now it helps at once, now it is not there */
			compute(rand() % 200 * US);
		if (me == 0 || me == host)
			shmem_team_sync(pair);
	}
	/* Nobody waits for who computes. */
	shmem_barrier_all();
	long begun = now();
	if (me != host) {
		ask(me, host, &done);
		shmem_quiet();
		shmem_long_atomic_add(&last_round, 1, host);
		shmem_quiet();
	} else {
		while (shmem_long_atomic_fetch(&last_round, me) < n - 1 && now() - begun < 5000000 * US)
			compute(100 * US);
		CHECK(last_round == n - 1);
	}
	shmem_barrier_all();
	if (me == host) {
		CHECK(all == (long)(n - 1) * (ROUNDS + 1) * OPS);
		for (int i = 0; i < n - 1; i++)
			CHECK(counter[i] == (ROUNDS + 1) * OPS && swapped[i] == ((ROUNDS + 1) * OPS - 1) * 1000L + i);
	}
	if (me == 0)
		printf("delegated: %d PEs\n", n);
	shmem_finalize();
	return 0;
}
