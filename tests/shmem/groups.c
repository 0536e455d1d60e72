/* SPDX-License-Identifier: BSD-3-Clause */
/* groups.c - collectives of teams and active sets, again and again without other synchronization; teams, contexts,
 * locks. */
#include "check.h"

#define N      300
#define ROUNDS 12

static long sync_words[SHMEM_SYNC_SIZE], source[16 * N], dest[16 * N], lock, counter;
static double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE > N / 2 + 1 ? SHMEM_REDUCE_MIN_WRKDATA_SIZE : N / 2 + 1], in[N],
    out[N];

static void collectives(shmem_team_t team)
{
	int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team);

	for (int round = 0; round < ROUNDS; round++) {
		int root = round % n;
		for (int i = 0; i < n * N; i++)
			source[i] = round * 1000000 + me * N * n + i;
		shmem_team_sync(team);
		CHECK(shmem_broadcast(team, dest, source, N, root) == 0);
		CHECK(dest[N - 1] == round * 1000000 + root * N * n + N - 1);
		shmem_team_sync(team);
		CHECK(shmem_collect(team, dest, source, (size_t)me + 1) == 0);
		for (int p = 0, at = 0; p < n; at += ++p)
			CHECK(dest[at + p] == round * 1000000 + p * N * n + p);
		shmem_team_sync(team);
		CHECK(shmem_alltoall(team, dest, source, N) == 0);
		for (int p = 0; p < n; p++)
			CHECK(dest[p * N + 5] == round * 1000000 + p * N * n + me * N + 5);
		for (int i = 0; i < N; i++)
			in[i] = me + i + round;
		CHECK(shmem_sum_reduce(team, out, in, N) == 0);
		CHECK(out[7] == n * (7 + round) + n * (n - 1) / 2);
		CHECK(shmem_max_reduce(team, in, in, N) == 0 && in[9] == n - 1 + 9 + round);
		shmem_team_sync(team);
	}
}

static void active_sets(int me, int n)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++)
			in[i] = me + i;
		shmem_double_sum_to_all(out, in, N, 0, 0, n, work, sync_words);
		CHECK(out[N - 1] == n * (N - 1) + n * (n - 1) / 2);
		shmem_barrier_all();
		source[0] = me + round;
		shmem_fcollect64(dest, source, 1, 0, 0, n, sync_words);
		CHECK(dest[n - 1] == n - 1 + round);
		shmem_barrier_all();
		if (me % 2 == 0)
			shmem_barrier(0, 1, (n + 1) / 2, sync_words);
		shmem_barrier_all();
	}
	for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
		CHECK(sync_words[i] == SHMEM_SYNC_VALUE);
}

static void teams(int me, int n)
{
	shmem_team_t odd, rows, columns;
	shmem_ctx_t ctx;

	for (int round = 0; round < 100; round++) { /* more than there are slots */
		CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -2, (n + 1) / 2, NULL, 0, &odd) == 0);
		CHECK((odd != SHMEM_TEAM_INVALID) == ((n - 1 - me) % 2 == 0));
		if (round == 0 && odd != SHMEM_TEAM_INVALID) {
			collectives(odd);
			CHECK(shmem_team_translate_pe(odd, 0, SHMEM_TEAM_WORLD) == n - 1);
			CHECK(shmem_team_create_ctx(odd, 0, &ctx) == 0);
			shmem_p(ctx, &counter, 11L, 0);
			shmem_ctx_quiet(ctx);
			shmem_team_sync(odd);
			CHECK(me != n - 1 || counter == 11);
			shmem_ctx_destroy(ctx);
		}
		shmem_team_destroy(odd);
	}
	CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &rows, NULL, 0, &columns) == 0);
	CHECK(shmem_team_my_pe(rows) == me % 2 && shmem_team_my_pe(columns) == me / 2);
	collectives(rows);
	collectives(columns);
	shmem_team_destroy(columns);
	shmem_team_destroy(rows);
	collectives(SHMEM_TEAM_SHARED);
	shmem_barrier_all();
}

static void locks(int me, int n)
{
	counter = 0;
	shmem_barrier_all();
	for (int round = 0; round < ROUNDS; round++) {
		if (round % 5 == 0)
			while (shmem_test_lock(&lock))
				;
		else
			shmem_set_lock(&lock);
		shmem_p(&counter, shmem_g(&counter, 0) + 1, 0);
		shmem_clear_lock(&lock);
	}
	shmem_barrier_all();
	CHECK(me != 0 || counter == n * ROUNDS);
}

int main(void)
{
	int provided;

	CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
	int me = shmem_my_pe(), n = shmem_n_pes();
	collectives(SHMEM_TEAM_WORLD);
	active_sets(me, n);
	teams(me, n);
	locks(me, n);
	shmem_barrier_all();
	if (me == 0)
		printf("groups: %d PEs\n", n);
	return 0; /* what shmem_finalize does comes with the end */
}
