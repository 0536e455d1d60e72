/* SPDX-License-Identifier: BSD-3-Clause */
/* diff_bench.c - nanoseconds per page of the diff primitives, by implementation and pattern; the floor is a memcpy.
 * Not a test.  Usage: diff_bench [page bytes] */
#include "core/base/base.h"
#include "tweed/driver/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS  20000
#define REPEATS 5

struct pattern {
	const char *name;
	unsigned period, len; /* of each @period bytes, the first @len differ; period 0: one 8-byte word in all */
};

static const struct pattern patterns[] = {
    {"identical", 1, 0}, {"one word", 0, 8}, {"quarter", 4096, 1024}, {"all", 4096, 4096},
    {"8 of 16", 16, 8},  {"4 of 8", 8, 4},   {"1 of 2", 2, 1},        {"1 of 4", 4, 1},
};

static char *frame, *twin, *incoming, *target;
static size_t page;

static void bench_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	memcpy((char *)ctx + offset, bytes, len);
}

static void bench_prepare(const struct pattern *p)
{
	for (size_t i = 0; i < page; i++)
		twin[i] = (char)rand();
	memcpy(frame, twin, page);
	memcpy(incoming, twin, page);
	for (size_t i = 0; i < page; i++) {
		bool differs = p->period ? i % p->period < p->len : i / 8 == page / 16;
		if (differs)
			frame[i] = (char)~twin[i];
	}
}

static void bench_copy(void)
{
	memcpy(target, frame, page);
	__asm__ volatile("" ::: "memory");
}

static void bench_out(void)
{
	tw_diff_out(frame, twin, page, 0, bench_run, target);
}

/* Twice, there and back, so that every call finds the pattern; the caller halves the time. */
static void bench_in(void)
{
	tw_diff_in(target, twin, frame, page);
	tw_diff_in(target, twin, incoming, page);
}

static double bench_time(void (*work)(void))
{
	double best = 1e18;
	for (int r = 0; r < REPEATS; r++) {
		uint64_t begun = tw_time_ns();
		for (int i = 0; i < ROUNDS; i++)
			work();
		double ns = (double)(tw_time_ns() - begun) / ROUNDS;
		best = TW_MIN(best, ns);
	}
	return best;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"scalar", "sse2", "avx2", "avx512"};
	page = argc > 1 ? strtoul(argv[1], NULL, 0) : 4096;
	if (page < 4096 || page > 65536 || page % 4096) {
		fprintf(stderr, "usage: diff_bench [page bytes: 4096..65536, a multiple of 4096]\n");
		return 2;
	}
	char **all[] = {&frame, &twin, &incoming, &target};
	for (size_t i = 0; i < 4; i++)
		if (!(*all[i] = aligned_alloc(4096, page)))
			return 1;
	memset(target, 0, page);
	printf("page %zu bytes, ns per page (out: with a callback that copies each run)\n", page);
	printf("%-8s %-10s %8s %8s\n", "impl", "pattern", "out", "in");
	bench_prepare(&patterns[0]);
	printf("%-8s %-10s %8.1f\n", "memcpy", "-", bench_time(bench_copy));
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		if (tw_diff_select(names[n]) != 0)
			continue;
		for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
			bench_prepare(&patterns[i]);
			double out = bench_time(bench_out);
			printf("%-8s %-10s %8.1f %8.1f\n", names[n], patterns[i].name, out, bench_time(bench_in) / 2);
		}
	}
	return 0;
}
