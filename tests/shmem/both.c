/* SPDX-License-Identifier: BSD-3-Clause */
/* both.c - OpenSHMEM and the shared memory of tweed.h in one process: puts from and gets to pages that fault. */
#include "check.h"
#include "tweed/tweed.h"

#define N 20000

static long line[N];

int main(int argc, char **argv)
{
	shmem_init();
	tw_init(&argc, &argv);
	int me = shmem_my_pe(), n = shmem_n_pes();
	CHECK(me == tw_id() && n == tw_count());
	long *shared = tw_malloc_all(2 * N * sizeof(long));
	for (int round = 0; round < 5; round++) {
		if (me == round % n)
			for (int i = 0; i < N; i++)
				shared[i] = round * N + i;
		tw_barrier_all();
		shmem_put(line, shared, N, (me + 1) % n);
		shmem_barrier_all();
		CHECK(line[N - 1] == round * N + N - 1);
		if (me == (round + 1) % n)
			shmem_get(shared + N, line, N, (me + 1) % n);
		tw_barrier_all();
		CHECK(shared[2 * N - 1] == round * N + N - 1);
		tw_barrier_all();
	}
	tw_finalize();
	shmem_barrier_all();
	CHECK(line[1] == 4 * N + 1);
	if (me == 0)
		printf("both: %d PEs\n", n);
	shmem_finalize();
	return 0;
}
