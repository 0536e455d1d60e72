/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_bench.c - the costs of OpenSHMEM's operations.  Plain OpenSHMEM 1.4, so any implementation can compile it.
 *
 *     shmem_bench [PREFIX...]      only the measurements whose names begin with one of these
 *     shmem_bench hello            only starts and ends, to be timed as a whole
 *
 * PE 0 prints a line for each measurement, NAME|VALUE|UNIT: the median of trials; and `end` after the last.  One-sided
 * operations go from PE 0 to the last PE, while the others wait in a barrier.  Times of collectives are per call, on PE
 * 0, many in a row.
 *
 *     init                        time of shmem_init, on PE 0
 *     put.fence.N, put.barrier.N  a put of N bytes and a quiet; and a barrier of all
 *     get.fence.N, get.barrier.N  a get, which is complete when it returns; and a barrier of all
 *     put.reply.8                 half of a put that the last PE waits for, and its put back: one direction
 *     put.stream.N, get.stream.N  throughput of 64 non-blocking ones and a quiet
 *     put.rate                    8-byte puts, non-blocking, in millions per second
 *     atomic.OP.local, .remote    on PE 0's own memory; on the last PE's
 *     barrier, sync; broadcast.N, collect.N, fcollect.N, alltoall.N, reduce.N    N bytes of each PE; reduce: sums of
 *     double
 *     lock.local, lock.remote     set and clear without contention; two locks whose homes may differ
 *     lock.contended              set and clear by all PEs at once, time per critical section */
#define _POSIX_C_SOURCE 200809L
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST     (1u << 20)
#define TRIALS   15
#define TRIAL_US 3000.0
#define SYNCS    64 /* work arrays, so that consecutive calls have different ones */

static long sync_words[SYNCS][SHMEM_REDUCE_SYNC_SIZE > SHMEM_COLLECT_SYNC_SIZE ? SHMEM_REDUCE_SYNC_SIZE
                                                                               : SHMEM_COLLECT_SYNC_SIZE];
static long alltoall_words[SYNCS][SHMEM_ALLTOALL_SYNC_SIZE];
static double work[MOST / 8 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long locks[2], word, calls, reply;
static long replies; /* of the own PE */
static char *from, *to;
static int me, pes, last;
static char **wanted;
static size_t bytes; /* of the current measurement */
static volatile long sink;

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int want(const char *name)
{
	if (!*wanted)
		return 1;
	for (char **w = wanted; *w; w++)
		if (strncmp(name, *w, strlen(*w)) == 0)
			return 1;
	return 0;
}

/* The median time of a call of @run(calls), in us; on PE 0 alone, or on all together. */
static double measure(void (*run)(long), int together)
{
	double trial[TRIALS];
	long n = 1;

	for (;; n *= 4) { /* as many calls as a trial needs */
		shmem_barrier_all();
		double start = now_us(), took;
		if (together || me == 0)
			run(n);
		took = now_us() - start;
		if (me == 0) {
			long next = took > TRIAL_US / 4 || n >= 1 << 24 ? n : 0;
			for (int pe = 0; pe < pes; pe++)
				shmem_long_p(&calls, next, pe);
		}
		shmem_barrier_all();
		if (calls)
			break;
	}
	for (int i = 0; i < TRIALS; i++) {
		shmem_barrier_all();
		double start = now_us();
		if (together || me == 0)
			run(n);
		trial[i] = (now_us() - start) / (double)n;
	}
	shmem_barrier_all();
	qsort(trial, TRIALS, sizeof(trial[0]), compare);
	return trial[TRIALS / 2];
}

static void report(const char *name, void (*run)(long), int together)
{
	if (!want(name))
		return;
	double us = measure(run, together);
	if (me == 0)
		printf("%s|%.4f|us\n", name, us), fflush(stdout);
}

#define RUN(NAME, ...)                                                                                                 \
	static void NAME(long n)                                                                                       \
	{                                                                                                              \
		for (long i = 0; i < n; i++) {                                                                         \
			__VA_ARGS__;                                                                                   \
		}                                                                                                      \
	}

/* ---- one-sided ---- */

RUN(put_fence, shmem_putmem(to, from, bytes, last); shmem_quiet())
RUN(put_barrier, if (me == 0) shmem_putmem(to, from, bytes, last); shmem_barrier_all())
RUN(get_fence, shmem_getmem(to, from, bytes, last))
RUN(get_barrier, if (me == 0) shmem_getmem(to, from, bytes, last); shmem_barrier_all())
RUN(put_stream, for (int k = 0; k < 64; k++) shmem_putmem_nbi(to, from, bytes, last); shmem_quiet())
RUN(get_stream, for (int k = 0; k < 64; k++) shmem_getmem_nbi(to, from, bytes, last); shmem_quiet())

static void put_rate(long n)
{
	for (long i = 0; i < n; i++)
		shmem_putmem_nbi(to + i % 1024 * 8, from, 8, last);
	shmem_quiet();
}

static void stream(const char *kind, void (*run)(long))
{
	char name[64];

	snprintf(name, sizeof(name), "%s.stream.%zu", kind, bytes);
	if (!want(name))
		return;
	double us = measure(run, 0) / 64;
	if (me == 0)
		printf("%s|%.2f|MB/s\n", name, (double)bytes / us), fflush(stdout);
}

/* PE 0 and the last PE put to each other in turn; each number once. */
static void put_reply(long n)
{
	int other = me == 0 ? last : 0;

	for (long i = 0; i < n && (me == 0 || me == last); i++) {
		replies++;
		if (me == 0)
			shmem_putmem(&reply, &replies, sizeof(replies), other);
		shmem_long_wait_until(&reply, SHMEM_CMP_GE, replies);
		if (me != 0)
			shmem_putmem(&reply, &replies, sizeof(replies), other);
	}
}

static void one_sided(void)
{
	char name[64];

	for (bytes = 8; bytes <= MOST; bytes *= 2) {
		snprintf(name, sizeof(name), "put.fence.%zu", bytes);
		report(name, put_fence, 0);
		snprintf(name, sizeof(name), "put.barrier.%zu", bytes);
		report(name, put_barrier, 1);
		snprintf(name, sizeof(name), "get.fence.%zu", bytes);
		report(name, get_fence, 0);
		snprintf(name, sizeof(name), "get.barrier.%zu", bytes);
		report(name, get_barrier, 1);
		stream("put", put_stream);
		stream("get", get_stream);
	}
	if (want("put.reply.8")) {
		double us = measure(put_reply, 1);
		if (me == 0)
			printf("put.reply.8|%.4f|us\n", us / 2), fflush(stdout);
	}
	if (want("put.rate")) {
		double us = measure(put_rate, 0);
		if (me == 0)
			printf("put.rate|%.3f|M/s\n", 1 / us);
	}
}

/* ---- atomics ---- */

static int target;

RUN(fetch, sink = shmem_long_atomic_fetch(&word, target))
RUN(set, shmem_long_atomic_set(&word, i, target))
RUN(fetch_add, sink = shmem_long_atomic_fetch_add(&word, 1, target))
RUN(add, shmem_long_atomic_add(&word, 1, target))
RUN(fetch_inc, sink = shmem_long_atomic_fetch_inc(&word, target))
RUN(swap, sink = shmem_long_atomic_swap(&word, i, target))
RUN(compare_swap, sink = shmem_long_atomic_compare_swap(&word, i, i + 1, target))

static void atomics(void)
{
	static const struct {
		const char *name;
		void (*run)(long);
	} ops[] = {{"fetch", fetch},         {"set", set},   {"fetch_add", fetch_add},      {"add", add},
	           {"fetch_inc", fetch_inc}, {"swap", swap}, {"compare_swap", compare_swap}};
	char name[64];

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (int remote = 0; remote < 2; remote++) {
			target = remote ? last : 0;
			snprintf(name, sizeof(name), "atomic.%s.%s", ops[i].name, remote ? "remote" : "local");
			report(name, ops[i].run, 0);
		}
	}
}

/* ---- collectives ---- */

/* After every SYNCS calls, synchronize: all PEs have left those before. */
#define SHARED(NAME, ...)                                                                                              \
	static void NAME(long n)                                                                                       \
	{                                                                                                              \
		for (long i = 0; i < n; i++) {                                                                         \
			long *ps = sync_words[i % SYNCS], *pa = alltoall_words[i % SYNCS];                             \
			(void)ps, (void)pa;                                                                            \
			__VA_ARGS__;                                                                                   \
			if (i % SYNCS == SYNCS - 1)                                                                    \
				shmem_barrier_all();                                                                   \
		}                                                                                                      \
	}
/* A work array of reductions may be reused when two other calls lie in between. */
#define WORK (work + (size_t)(i % 4) * (sizeof(work) / sizeof(work[0]) / 4))

RUN(barrier, shmem_barrier_all())
RUN(sync_all, shmem_sync_all())
SHARED(broadcast, shmem_broadcast64(to, from, bytes / 8, 0, 0, 0, pes, ps))
SHARED(collect, shmem_collect64(to, from, bytes / 8, 0, 0, pes, ps))
SHARED(fcollect, shmem_fcollect64(to, from, bytes / 8, 0, 0, pes, ps))
SHARED(alltoall, shmem_alltoall64(to, from, bytes / 8, 0, 0, pes, pa))
SHARED(reduce, shmem_double_sum_to_all((double *)to, (double *)from, (int)(bytes / 8), 0, 0, pes, WORK, ps))

static void collectives(void)
{
	static const struct {
		const char *name;
		void (*run)(long);
	} ops[] = {{"broadcast", broadcast},
	           {"collect", collect},
	           {"fcollect", fcollect},
	           {"alltoall", alltoall},
	           {"reduce", reduce}};
	static const size_t sizes[] = {8, 64, 1024, 8192, 65536};
	char name[64];

	report("barrier", barrier, 1);
	report("sync", sync_all, 1);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			bytes = sizes[k];
			snprintf(name, sizeof(name), "%s.%zu", ops[i].name, bytes);
			report(name, ops[i].run, 1);
		}
	}
}

/* ---- locks ---- */

RUN(lock_first, shmem_set_lock(&locks[0]); shmem_clear_lock(&locks[0]))
RUN(lock_second, shmem_set_lock(&locks[1]); shmem_clear_lock(&locks[1]))

int main(int argc, char **argv)
{
	double start = now_us();

	shmem_init();
	double init = now_us() - start;
	wanted = argv + 1;
	me = shmem_my_pe();
	pes = shmem_n_pes();
	last = pes - 1;
	if (argc == 2 && strcmp(argv[1], "hello") == 0) {
		if (me == 0)
			printf("end\n"), fflush(stdout);
		shmem_finalize();
		return 0;
	}
	for (int i = 0; i < SYNCS; i++) {
		for (size_t k = 0; k < sizeof(sync_words[0]) / sizeof(long); k++)
			sync_words[i][k] = SHMEM_SYNC_VALUE;
		for (size_t k = 0; k < SHMEM_ALLTOALL_SYNC_SIZE; k++)
			alltoall_words[i][k] = SHMEM_SYNC_VALUE;
	}
	from = shmem_malloc((size_t)MOST * (size_t)pes);
	to = shmem_malloc((size_t)MOST * (size_t)pes);
	if (!from || !to)
		shmem_global_exit(1);
	memset(from, 0, (size_t)MOST * (size_t)pes);
	memset(to, 0, (size_t)MOST * (size_t)pes);
	shmem_barrier_all();
	if (me == 0 && want("init"))
		printf("init|%.1f|us\n", init);
	one_sided();
	atomics();
	collectives();
	report("lock.local", lock_first, 0);
	report("lock.remote", lock_second, 0);
	report("lock.contended", lock_first, 1);
	shmem_barrier_all();
	if (me == 0)
		printf("end\n"), fflush(stdout);
	shmem_finalize();
	return 0;
}
