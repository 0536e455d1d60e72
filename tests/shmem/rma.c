/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.c - puts and gets of global variables and the heap, strided ones, signals; atomics; waiting. */
#include "check.h"

#define N 5000

static long line[N], word, late;
static float single;
static unsigned bits;
static uint64_t signal;
int initialized[3] = {7, 8, 9};

static void memory(int me, int n)
{
	int right = (me + 1) % n, left = (me + n - 1) % n;
	long *heap = shmem_calloc(N, sizeof(long)), got[N];

	CHECK(shmem_addr_accessible(line, right) && shmem_addr_accessible(heap, right) &&
	      !shmem_addr_accessible(got, right));
	CHECK(initialized[2] == 9);
	for (int i = 0; i < N; i++)
		got[i] = me * N + i;
	shmem_put(line, got, N, right);
	shmem_put_nbi(heap + 1, got, N - 1, right);
	shmem_barrier_all();
	CHECK(line[N - 1] == left * N + N - 1 && heap[0] == 0 && heap[N - 1] == left * N + N - 2);
	shmem_get_nbi(got, line, N, right);
	shmem_quiet();
	CHECK(got[17] == me * N + 17 && shmem_g(&line[3], right) == me * N + 3);
	shmem_barrier_all();
	shmem_iput(line, got, 3, 2, 10, right);
	shmem_barrier_all();
	CHECK(line[27] == left * N + 18 && line[28] == left * N + 28);
	shmem_iget(got, line, 1, 3, 10, right);
	CHECK(got[9] == me * N + 18);
	shmem_putmem_signal(heap, &line[1], 3, &signal, 5, SHMEM_SIGNAL_SET, right);
	CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 5) == 5 && memcmp(heap, &line[1], 3) != 2);
	void *direct = shmem_ptr(heap, right);
	CHECK(!direct || memcmp(direct, &line[1], 0) == 0);
	heap = shmem_realloc(heap, 2 * N * sizeof(long));
	CHECK(heap && heap[N - 1] == left * N + N - 2);
	shmem_free(heap);
	char *aligned = shmem_align(1 << 16, 100);
	CHECK(((uintptr_t)aligned & 0xffff) == 0 && !shmem_malloc((size_t)1 << 50));
	shmem_free(aligned);
}

/* Blocks of all sizes and alignments, freed in another order: aligned, as long as was asked, and apart. */
static void blocks(void)
{
	enum { MANY = 64 };
	char *block[MANY] = {NULL};
	size_t bytes[MANY] = {0};
	unsigned seed = 1;

	for (unsigned turn = 0; turn < 300; turn++) {
		seed = seed * 1664525 + 1013904223;
		unsigned i = seed >> 24 & (MANY - 1);
		for (size_t k = 0; k < bytes[i]; k++)
			CHECK(block[i][k] == (char)i);
		shmem_free(block[i]);
		size_t align = (size_t)16 << (seed >> 8) % 8;
		bytes[i] = 1 + (seed >> 12) % 5000;
		block[i] = turn % 2 ? shmem_align(align, bytes[i]) : shmem_malloc(bytes[i]);
		CHECK(block[i] && (uintptr_t)block[i] % (turn % 2 ? align : bytes[i] < 256 ? 16 : 64) == 0);
		memset(block[i], (char)i, bytes[i]);
	}
	for (unsigned i = 0; i < MANY; i++)
		shmem_free(block[i]);
}

static void atomics(int me, int n)
{
	for (int i = 0; i < 100; i++) {
		shmem_atomic_inc(&word, i % n);
		shmem_atomic_or(&bits, 1u << me, i % n);
	}
	shmem_barrier_all();
	int expected = 0;
	for (int i = 0; i < 100; i++)
		expected += i % n == me ? n : 0;
	CHECK(shmem_atomic_fetch(&word, me) == expected && bits == (1u << n) - 1);
	/* What nobody completes comes as well, while its PE waits. */
	shmem_barrier_all();
	shmem_atomic_add(&late, 1, (me + 1) % n);
	shmem_wait_until(&late, SHMEM_CMP_EQ, 1);
	shmem_barrier_all();
	CHECK(shmem_atomic_compare_swap(&word, -1L, 3L, me) == expected && word == expected);
	shmem_atomic_set(&single, 2.5f, (me + 1) % n);
	shmem_barrier_all();
	CHECK(shmem_atomic_swap(&single, 1.5f, me) == 2.5f && single == 1.5f);
}

/* What is begun in two contexts, and in none, is complete after the quiet of each. */
static void started(int me, int n)
{
	enum { LONG = 1 << 18, SOME = 200 };
	static char from[LONG], back[LONG];
	static uint64_t old[SOME], counter;
	static int32_t halves[SOME], half;
	int right = (me + 1) % n, left = (me + n - 1) % n;
	char *to = shmem_malloc(2 * LONG);
	shmem_ctx_t ctx[2];

	CHECK(shmem_ctx_create(0, &ctx[0]) == 0 && shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx[1]) == 0);
	memset(from, me + 1, LONG);
	shmem_barrier_all();
	for (int round = 0; round < 4; round++) {
		shmem_ctx_putmem_nbi(ctx[0], to, from, LONG, right);
		for (int i = 0; i < SOME; i++) {
			shmem_ctx_uint64_atomic_fetch_add_nbi(ctx[1], &old[i], &counter, 1, right);
			shmem_int32_atomic_fetch_inc_nbi(&halves[i], &half, right);
		}
		shmem_putmem_nbi(to + LONG, from, LONG - 1, right);
		shmem_ctx_quiet(ctx[1]);
		for (int i = 0; i < SOME; i++)
			CHECK(old[i] / SOME == (uint64_t)round);
		shmem_quiet();
		for (int i = 0; i < SOME; i++)
			CHECK(halves[i] / SOME == round);
		shmem_ctx_getmem_nbi(ctx[1], back, to + LONG, LONG - 1, right);
		shmem_ctx_quiet(ctx[1]);
		CHECK(memcmp(from, back, LONG - 1) == 0);
		shmem_ctx_quiet(ctx[0]);
		shmem_sync_all();
		CHECK(to[0] == left + 1 && to[2 * LONG - 2] == left + 1 && counter == (uint64_t)(round + 1) * SOME);
		shmem_sync_all();
	}
	shmem_ctx_putmem_nbi(ctx[0], to, back, LONG, right);
	shmem_ctx_destroy(ctx[0]); /* completes what it has begun */
	shmem_ctx_destroy(ctx[1]);
	shmem_free(to);
}

static void waiting(int me, int n)
{
	static int flag[4];
	int skip[4] = {0, 1, 0, 0};
	size_t found[4];

	shmem_barrier_all();
	shmem_p(&flag[2], 4, (me + 1) % n);
	CHECK(shmem_wait_until_any(flag, 4, skip, SHMEM_CMP_GT, 3) == 2);
	CHECK(shmem_wait_until_some(flag, 4, found, skip, SHMEM_CMP_EQ, 4) == 1 && found[0] == 2);
	CHECK(!shmem_test_all(flag, 4, skip, SHMEM_CMP_EQ, 4) &&
	      shmem_test_any(flag, 2, skip, SHMEM_CMP_NE, 0) == SIZE_MAX);
	shmem_barrier_all();
	shmem_p(&flag[0], 4, (me + 1) % n);
	shmem_p(&flag[3], 4, (me + 1) % n);
	shmem_wait_until_all(flag, 4, skip, SHMEM_CMP_GE, 4);
	int turns = 0; /* 0, 2 and 3 hold, and each is found in its turn */
	for (int i = 0; i < 6; i++)
		turns += 1 << 4 * shmem_test_any(flag, 4, skip, SHMEM_CMP_EQ, 4);
	CHECK(turns == 0x2202);
}

int main(void)
{
	shmem_init();
	int me = shmem_my_pe(), n = shmem_n_pes();
	memory(me, n);
	blocks();
	atomics(me, n);
	started(me, n);
	waiting(me, n);
	shmem_barrier_all();
	if (me == 0)
		printf("rma: %d PEs\n", n);
	shmem_finalize();
	return 0;
}
