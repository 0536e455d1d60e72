/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c - threads of SHMEM_THREAD_MULTIPLE, each with a context of its own: what one begins, its quiet completes,
 * while the others
 * go on; and all with the default one. */
#include <pthread.h>

#include "check.h"

#define THREADS 4
#define ROUNDS  20
#define N       6000

static long box[THREADS][N], out[THREADS][N];
static uint64_t counter, old[THREADS][ROUNDS][8], flag[THREADS];

static void *work(void *number)
{
	int t = (int)(intptr_t)number, me = shmem_my_pe(), right = (me + 1) % shmem_n_pes();
	shmem_ctx_t ctx;

	CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++)
			out[t][i] = (long)round * N + i;
		shmem_ctx_long_put_nbi(ctx, box[t], out[t], N, right);
		for (int i = 0; i < 8; i++)
			shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, &old[t][round][i], &counter, 1, right);
		shmem_ctx_quiet(ctx);
		for (int i = 1; i < 8; i++)
			CHECK(old[t][round][i] != old[t][round][0]);
		CHECK(shmem_ctx_long_g(ctx, &box[t][N - 1], right) == (long)round * N + N - 1);
		shmem_uint64_atomic_inc(&flag[t], right);
		shmem_quiet();
		shmem_uint64_wait_until(&flag[t], SHMEM_CMP_GE, (uint64_t)round + 1);
	}
	shmem_ctx_destroy(ctx);
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	int provided;

	CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
	for (intptr_t t = 0; t < THREADS; t++)
		CHECK(pthread_create(&thread[t], NULL, work, (void *)t) == 0);
	for (int t = 0; t < THREADS; t++)
		CHECK(pthread_join(thread[t], NULL) == 0);
	shmem_barrier_all();
	CHECK(shmem_uint64_atomic_fetch(&counter, shmem_my_pe()) == (uint64_t)THREADS * ROUNDS * 8);
	if (shmem_my_pe() == 0)
		printf("threads: %d PEs of %d\n", shmem_n_pes(), THREADS);
	shmem_finalize();
	return 0;
}
