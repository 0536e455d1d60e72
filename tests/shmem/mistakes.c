/* SPDX-License-Identifier: BSD-3-Clause */
/* mistakes.c - wrong calls, each of which TWEED_SHMEM_CHECK finds.  mistakes.py reads the table below: a line each,
 * with the sentence and the
 * line that must be named; where two PEs differ there are two lines, and both must be named.
 *
 * mistakes NAME */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

static const char *which;
static int me;
static long word, other, sync_words[SHMEM_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long line[64], from[64], to[64];
static int small[64], tiny[64];
static uint64_t signal;

#define WRONG(NAME, SENTENCE, ...)                                                                                     \
	if (strcmp(which, NAME) == 0) {                                                                                \
		__VA_ARGS__;                                                                                           \
	}
#define PE0(NAME, SENTENCE, ...)                                                                                       \
	if (me == 0)                                                                                                   \
	WRONG(NAME, SENTENCE, __VA_ARGS__)
#define PE1(NAME, ...)                                                                                                 \
	if (me == 1)                                                                                                   \
	WRONG(NAME, "", __VA_ARGS__)

static void *in_thread(void *ctx);

/* clang-format off */
static void one_sided(void)
{
	long local[64] = {0}, *heap = shmem_malloc(sizeof(line)), *after = shmem_malloc(sizeof(line));
	char *bytes = (char *)line;
	shmem_ctx_t ctx, gone, shared = SHMEM_CTX_INVALID;
	shmem_team_t alone;
	size_t huge = SIZE_MAX / 4;

	shmem_ctx_create(0, &ctx);
	shmem_ctx_create(0, &gone);
	shmem_ctx_destroy(gone);
	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &alone);
	if (alone != SHMEM_TEAM_INVALID)
		shmem_team_create_ctx(alone, 0, &shared);
	shmem_barrier_all();
	WRONG("put-pe", "there is no PE 99", shmem_p(&word, 1L, 99))
	WRONG("put-negative-pe", "there is no PE -1", shmem_put(line, local, 3, -1))
	WRONG("get-pe", "there is no PE 2", shmem_get(local, line, 3, 2))
	WRONG("atomic-pe", "there is no PE 7", shmem_atomic_inc(&word, 7))
	WRONG("strided-pe", "there is no PE 3", shmem_iput(line, local, 2, 1, 3, 3))
	WRONG("put-stack", "not symmetric memory", shmem_put(local, line, 3, 1))
	WRONG("get-stack", "not symmetric memory", (void)shmem_g(&local[1], 1))
	WRONG("atomic-stack", "not symmetric memory", shmem_atomic_add(local, 1L, 0))
	WRONG("get-nbi-stack", "not symmetric memory", shmem_get_nbi(line, local, 2, 1))
	WRONG("put-past-data", "not symmetric memory", shmem_putmem(bytes, local, (size_t)1 << 40, 1))
	WRONG("put-overflow", "not symmetric memory", shmem_put(line, local, huge, 1))
	WRONG("put-past-block", "past its end, or freed", shmem_put(heap + 60, local, 8, 1))
	WRONG("get-past-block", "past its end, or freed", shmem_get(local, heap, 65, 1))
	WRONG("put-freed", "past its end, or freed", shmem_free(after); shmem_putmem(after, local, 8, 1))
	WRONG("put-overlap", "overlap", shmem_put(line + 1, line, 8, me))
	WRONG("get-overlap", "overlap", shmem_getmem(bytes, bytes + 7, 8, me))
	WRONG("atomic-unaligned", "not aligned to its 8 bytes", shmem_atomic_inc((long *)(void *)(bytes + 4), 1))
	WRONG("stride-zero", "strides are 0 and 1", shmem_iput(line, local, 0, 1, 3, 1))
	WRONG("stride-negative", "strides are 1 and -2", shmem_iget(local, line, 1, -2, 3, 1))
	WRONG("ctx-invalid", "SHMEM_CTX_INVALID", shmem_p(SHMEM_CTX_INVALID, &word, 1L, 1))
	WRONG("ctx-destroyed", "was it destroyed?", shmem_p(gone, &word, 1L, 1))
	WRONG("ctx-destroyed-twice", "was it destroyed?", shmem_ctx_destroy(gone))
	WRONG("ctx-quiet-destroyed", "was it destroyed?", shmem_ctx_quiet(gone))
	WRONG("ctx-fence-invalid", "SHMEM_CTX_INVALID", shmem_ctx_fence(SHMEM_CTX_INVALID))
	WRONG("ctx-pe", "there is no PE 2", shmem_p(ctx, &word, 1L, 2))
	PE0("ctx-team-pe", "there is no PE 1", shmem_p(shared, &word, 1L, 1))
	WRONG("ctx-options", "no options of a context", shmem_ctx_create(64, &ctx))
	WRONG("signal-stack", "the signal, 8 bytes", shmem_put_signal(line, local, 3, (uint64_t *)local, 1, SHMEM_SIGNAL_SET, 1))
	WRONG("signal-op", "9 is no operation of signals", shmem_put_signal(line, local, 3, &signal, 1, 9, 1))
	WRONG("signal-inside", "lies in the 24 bytes", shmem_put_signal(line, local, 3, (uint64_t *)(void *)(line + 2), 1, SHMEM_SIGNAL_ADD, 1))
	WRONG("wait-stack", "is not symmetric memory", local[0] = 1; shmem_wait_until(local, SHMEM_CMP_NE, 0))
	WRONG("wait-comparison", "17 is no comparison", shmem_wait_until(&word, 17, 0))
	WRONG("wait-all-stack", "is not symmetric memory", shmem_wait_until_all(local, 4, NULL, SHMEM_CMP_EQ, 0))
	WRONG("test-stack", "is not symmetric memory", (void)shmem_test(local, SHMEM_CMP_EQ, 0))
	WRONG("signal-wait-stack", "is not symmetric memory", shmem_signal_wait_until((uint64_t *)local, SHMEM_CMP_EQ, 0))
	WRONG("lock-stack", "the lock, 8 bytes", shmem_set_lock(local))
	WRONG("lock-twice", "holds the lock already", if (me == 0) shmem_set_lock(&word); if (me == 0) shmem_set_lock(&word))
	WRONG("lock-not-held", "does not hold the lock", shmem_clear_lock(&word))
	WRONG("ctx-private", "another thread", shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx); in_thread(ctx))
}

static void heap(void)
{
	long *block = shmem_malloc(64), *second = shmem_malloc(64);

	WRONG("free-inside", "no block of the symmetric heap", shmem_free(block + 1))
	WRONG("free-stack", "no block of the symmetric heap", shmem_free(&me))
	WRONG("free-twice", "no block of the symmetric heap", shmem_free(block); shmem_free(block))
	WRONG("realloc-freed", "no block of the symmetric heap", shmem_free(block); block = shmem_realloc(block, 9))
	WRONG("align", "no power of two", block = shmem_align(24, 100))
	PE0("malloc-sizes", "with a count of 100", block = shmem_malloc(100))
	PE1("malloc-sizes", block = shmem_malloc(101))
	PE0("malloc-alone", "shmem_malloc", block = shmem_malloc(100))
	PE1("malloc-alone", shmem_barrier_all())
	PE0("free-others", "with dest at the symmetric offset", shmem_free(block))
	PE1("free-others", shmem_free(second))
}

static void collective(void)
{
	long local[64] = {0};
	shmem_team_t gone, both;

	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &gone);
	shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &both);
	shmem_team_destroy(gone);
	WRONG("team-invalid", "SHMEM_TEAM_INVALID", shmem_team_sync(SHMEM_TEAM_INVALID))
	WRONG("team-destroyed", "was it destroyed?", shmem_broadcast(gone, to, from, 4, 0))
	WRONG("team-destroyed-twice", "was it destroyed?", shmem_team_destroy(gone))
	WRONG("root", "the root is 2", shmem_broadcast(SHMEM_TEAM_WORLD, to, from, 4, 2))
	WRONG("dest-stack", "dest, 32 bytes", shmem_broadcast(SHMEM_TEAM_WORLD, local, from, 4, 0))
	WRONG("source-stack", "source, 32 bytes", shmem_fcollect(SHMEM_TEAM_WORLD, to, local, 4))
	WRONG("collect-overlap", "dest and source overlap", shmem_fcollect(SHMEM_TEAM_WORLD, to, to, 4))
	WRONG("reduce-overlap", "dest and source overlap", shmem_sum_reduce(SHMEM_TEAM_WORLD, to + 1, to, 4))
	WRONG("alltoall-length", "dest, ", shmem_alltoall(SHMEM_TEAM_WORLD, to, from, (size_t)1 << 40))
	WRONG("alltoalls-stride", "strides are 0 and 1", shmem_alltoalls(SHMEM_TEAM_WORLD, to, from, 0, 1, 4))
	PE0("order", "shmem_barrier_all", shmem_barrier_all())
	PE1("order", shmem_sync_all())
	PE0("kind", "shmem_long_alltoall", shmem_alltoall(SHMEM_TEAM_WORLD, to, from, 4))
	PE1("kind", shmem_fcollect(SHMEM_TEAM_WORLD, to, from, 4))
	PE0("roots", "with root 0", shmem_broadcast(both, to, from, 4, 0))
	PE1("roots", shmem_broadcast(both, to, from, 4, 1))
	PE0("counts", "with a count of 4", shmem_fcollect(SHMEM_TEAM_WORLD, to, from, 4))
	PE1("counts", shmem_fcollect(SHMEM_TEAM_WORLD, to, from, 5))
	PE0("operations", "shmem_long_sum_reduce", shmem_sum_reduce(SHMEM_TEAM_WORLD, to, from, 4))
	PE1("operations", shmem_max_reduce(SHMEM_TEAM_WORLD, to, from, 4))
	PE0("types", "shmem_long_broadcast", shmem_broadcast(SHMEM_TEAM_WORLD, to, from, 4, 0))
	PE1("types", shmem_broadcast(SHMEM_TEAM_WORLD, small, tiny, 4, 0))
	PE0("dests", "with dest at the symmetric offset", shmem_fcollect(SHMEM_TEAM_WORLD, to, from, 4))
	PE1("dests", shmem_fcollect(SHMEM_TEAM_WORLD, line, from, 4))
	PE0("strides", "with a stride of dest of", shmem_alltoalls(SHMEM_TEAM_WORLD, to, from, 1, 2, 4))
	PE1("strides", shmem_alltoalls(SHMEM_TEAM_WORLD, to, from, 2, 2, 4))
	PE0("splits", "with root 0", shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &gone))
	PE1("splits", shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, 1, NULL, 0, &gone))
	PE0("leaves", "shmem_finalize", shmem_barrier_all())
	PE1("leaves", shmem_finalize(); exit(0))
	WRONG("set-outside", "not in the active set", shmem_barrier(3, 0, 4, sync_words))
	WRONG("set-stride", "not in the active set", shmem_barrier(0, -1, 2, sync_words))
	WRONG("set-sync-stack", "pSync, 512 bytes", shmem_barrier(0, 0, 2, (long *)malloc(512)))
	WRONG("set-sync-used", "pSync[3] is 5", sync_words[3] = 5; shmem_fcollect64(to, from, 4, 0, 0, 2, sync_words))
	WRONG("set-work-stack", "pWrk, 512 bytes", shmem_long_sum_to_all(to, from, 4, 0, 0, 2, (long *)malloc(512), sync_words))
	WRONG("set-root", "the root is 2", shmem_broadcast64(to, from, 4, 2, 0, 0, 2, sync_words))
	PE0("sets", "with pSync at the symmetric offset", shmem_sync(0, 0, 2, sync_words))
	PE1("sets", shmem_sync(1, 0, 1, sync_words); shmem_sync(0, 0, 2, work))
}
/* clang-format on */

static void *in_thread(void *ctx)
{
	pthread_t thread;

	if (me < 2) { /* first: of the program's thread */
		me += 2;
		pthread_create(&thread, NULL, in_thread, ctx);
		pthread_join(thread, NULL);
		return NULL;
	}
	shmem_ctx_quiet(ctx);
	return NULL;
}

int main(int argc, char **argv)
{
	which = argc > 1 ? argv[1] : "";
	WRONG("before-init", "before shmem_init", shmem_putmem(&word, &other, 8, 0))
	shmem_init();
	me = shmem_my_pe();
	one_sided();
	heap();
	collective();
	shmem_barrier_all();
	shmem_finalize();
	WRONG("after-finalize", "after shmem_finalize", shmem_putmem(&word, &other, 8, 0))
	return 0;
}
