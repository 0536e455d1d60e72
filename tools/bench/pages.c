/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.c - page operations between two nodes, 1x2 faults, streams, twins and diffs.  Node 0 is every page's home.
 * Node 1 is measured, and passes its times to processor 0. */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES  2048u
#define ROUNDS 7u

static size_t pages_words; /* 64-bit words of a page */

/* Fill @pages pages on processor 0, so that node 0 is home, and let node 1 read them once: from then on they are
 * shared. */
static uint64_t *pages_shared(unsigned pages)
{
	size_t bytes = (size_t)pages << tw_me->layout.page_shift;
	pages_words = tw_me->layout.page_bytes / 8;
	uint64_t *m = tw_malloc_all(bytes);
	if (!m)
		tw_abort(1, "tweed bench needs more shared memory: raise TWEED_MEMORY");
	if (tw_id() == 0)
		memset(m, 1, bytes);
	tw_barrier_all();
	for (unsigned p = 0; p < pages; p++)
		(void)*(volatile uint64_t *)&m[p * pages_words];
	tw_barrier_all();
	return m;
}

/* Node 0 writes a word of each page; after the barrier node 1's copies are invalid. */
static void pages_invalidate(uint64_t *m, unsigned pages)
{
	if (tw_id() == 0)
		for (unsigned p = 0; p < pages; p++)
			m[p * pages_words]++;
	tw_barrier_all();
}

enum pages_touch { READ, WRITE };

/* Node 1 touches @pages pages in @order (NULL: ascending).  Returns microseconds per page, on both. */
static double pages_touch(uint64_t *m, unsigned pages, const unsigned *order, enum pages_touch how)
{
	double us = 0;
	if (tw_id() == 1) {
		double t0 = tw_now();
		for (unsigned i = 0; i < pages; i++) {
			volatile uint64_t *w = &m[(order ? order[i] : i) * pages_words + 1];
			if (how == READ)
				(void)*w;
			else
				*w = i;
		}
		us = (tw_now() - t0) * 1e6 / pages;
	}
	tw_bcast(&us, sizeof(us), 1);
	return us;
}

static void pages_misses(uint64_t *m, const unsigned *order)
{
	double random[ROUNDS], rising[ROUNDS], write[ROUNDS], upgrade[ROUNDS];

	for (unsigned r = 0; r < ROUNDS; r++) {
		pages_invalidate(m, PAGES);
		random[r] = pages_touch(m, PAGES, order, READ);
		tw_barrier_all();
		upgrade[r] = pages_touch(m, PAGES, order, WRITE);
		tw_barrier_all();
		pages_invalidate(m, PAGES);
		rising[r] = pages_touch(m, PAGES, NULL, READ);
		tw_barrier_all();
		pages_invalidate(m, PAGES);
		write[r] = pages_touch(m, PAGES, order, WRITE);
		tw_barrier_all();
	}
	double fault = bench_floors.read_fault_us, copy = bench_floors.copy_us;
	bench_line("remote page read miss, any order", bench_median(random, ROUNDS), "us", fault + copy,
	           "fault + copy");
	bench_line("remote page read miss, sequential", bench_median(rising, ROUNDS), "us", copy, "copy");
	bench_line("cold write miss", bench_median(write, ROUNDS), "us", fault + 2 * copy, "fault + copy + twin");
	bench_line("write upgrade", bench_median(upgrade, ROUNDS), "us", bench_floors.write_fault_us + copy,
	           "fault + twin");
}

static void pages_barriers(uint64_t *m)
{
	static const unsigned dirty[] = {1, 64, 1024};
	for (unsigned d = 0; d < 3; d++) {
		double barrier[ROUNDS], whole[ROUNDS];
		for (unsigned r = 0; r < ROUNDS; r++) {
			/* Node 1 has copies; node 0 keeps its own as home. */
			for (unsigned p = 0; p < dirty[d]; p++)
				(void)*(volatile uint64_t *)&m[p * pages_words];
			tw_barrier_all();
			double t0 = tw_now();
			if (tw_id() == 1)
				for (unsigned p = 0; p < dirty[d]; p++)
					m[p * pages_words + 2] += 1;
			double t1 = tw_now();
			tw_barrier_all();
			barrier[r] = (tw_now() - t1) * 1e6;
			whole[r] = (tw_now() - t0) * 1e6;
			tw_bcast(&barrier[r], sizeof(double), 1);
			tw_bcast(&whole[r], sizeof(double), 1);
		}
		char name[64];
		snprintf(name, sizeof(name), "barrier, %u dirty pages", dirty[d]);
		bench_line(name, bench_median(barrier, ROUNDS), "us", bench_floors.line_us, "word there and back");
		snprintf(name, sizeof(name), "write a word in %u pages + barrier", dirty[d]);
		bench_line(name, bench_median(whole, ROUNDS), "us", bench_floors.write_fault_us * dirty[d], "faults");
	}
}

/* Both nodes write alternate words of the same pages, with a barrier per round. */
static void pages_interleaved(void)
{
	const unsigned pages = 256, rounds = 40;
	uint64_t *m = pages_shared(pages);
	double took[ROUNDS];

	for (unsigned r = 0; r < ROUNDS; r++) {
		tw_barrier_all();
		double t0 = tw_now();
		for (unsigned k = 0; k < rounds; k++) {
			for (size_t w = (size_t)tw_id(); w < pages * pages_words; w += 2)
				m[w] += k + 1;
			tw_barrier_all();
		}
		took[r] = (tw_now() - t0) * 1e6 / (pages * rounds);
	}
	bench_line("interleaved words, page and round", bench_median(took, ROUNDS), "us",
	           2 * (bench_floors.write_fault_us + bench_floors.copy_us), "two faults + two copies");
}

/* The number of pages that have left exclusive mode so far, on both. */
static uint64_t pages_broken(void)
{
	uint64_t one = tw_me->stats->now.exclusive_breaks, other = one;

	tw_bcast(&one, sizeof(one), 0);
	tw_bcast(&other, sizeof(other), 1);
	return one + other;
}

static void pages_exclusive(const unsigned *order)
{
	double took[ROUNDS];
	uint64_t broken = pages_broken();

	for (unsigned r = 0; r < ROUNDS; r++) {
		size_t bytes = (size_t)256 << tw_me->layout.page_shift;
		uint64_t *m = tw_malloc_all(bytes);
		if (tw_id() == 0)
			memset(m, 1, bytes);
		tw_barrier_all();
		double us = 0;
		if (tw_id() == 1) {
			double t0 = tw_now();
			for (unsigned i = 0, n = 0; n < 256; i++)
				if (order[i] < 256) {
					(void)*(volatile uint64_t *)&m[order[i] * pages_words];
					n++;
				}
			us = (tw_now() - t0) * 1e6 / 256;
		}
		tw_bcast(&us, sizeof(us), 1);
		took[r] = us;
	}
	/* Protocols without exclusive mode do not break it. */
	if (pages_broken() > broken)
		bench_line("read miss with exclusive break", bench_median(took, ROUNDS), "us",
		           bench_floors.read_fault_us + bench_floors.copy_us + bench_floors.line_us,
		           "fault + copy + word there and back");
	else
		bench_line("first read of the other node's page", bench_median(took, ROUNDS), "us",
		           bench_floors.read_fault_us + bench_floors.copy_us, "fault + copy");
}

static void pages_directory(void)
{
	struct tw_proc *me = tw_me;
	uint64_t *m = tw_malloc_all(1);
	tw_page_t p = (tw_page_t)(((uintptr_t)m - TW_SPACE_BASE) >> me->layout.page_shift);
	const unsigned n = 20000;

	if (me->id == 1) {
		double t0 = tw_now();
		for (unsigned i = 0; i < n; i++) {
			tw_dir_publish(me, p, i & 1 ? TW_READ : TW_NONE);
			tw_net_flush(me->net, TW_NET_ALL);
		}
		tw_dir_publish(me, p, TW_NONE);
		tw_net_flush(me->net, TW_NET_ALL);
		double us = (tw_now() - t0) * 1e6 / n;
		tw_bcast(&us, sizeof(us), 1);
	} else {
		double us = 0;
		tw_bcast(&us, sizeof(us), 1);
		bench_line("directory update", us, "us", -1, "");
	}
}

void bench_misses(void)
{
	unsigned *order = bench_shuffle(PAGES);
	pages_misses(pages_shared(PAGES), order);
	free(order);
}

void bench_pages(void)
{
	unsigned *order = bench_shuffle(PAGES);
	uint64_t *m = pages_shared(PAGES);
	pages_misses(m, order);
	pages_barriers(m);
	pages_interleaved();
	pages_exclusive(order);
	if (!(tw_me->protocol->flags & TW_PROTOCOL_NO_DIRECTORY))
		pages_directory();
	free(order);
}

/* ---- streams ---- */

void bench_streams(void)
{
	const size_t bytes = (size_t)256 << 20;
	unsigned pages = (unsigned)(bytes >> tw_me->layout.page_shift);
	uint64_t *m = pages_shared(pages);
	double read[3], write[3], plain[3];

	for (unsigned r = 0; r < 3; r++) {
		pages_invalidate(m, pages);
		double t0 = tw_now();
		uint64_t sum = 0;
		if (tw_id() == 1)
			for (size_t w = 0; w < bytes / 8; w++)
				sum += m[w];
		tw_barrier_all();
		read[r] = (double)bytes / (tw_now() - t0) / (1u << 30);
		pages_invalidate(m, pages);
		t0 = tw_now();
		if (tw_id() == 1)
			for (size_t w = 0; w < bytes / 8; w++)
				m[w] = (w + r + sum + 1) * 0x9e3779b97f4a7c15u; /* nearly every byte changes */
		tw_barrier_all();
		write[r] = (double)bytes / (tw_now() - t0) / (1u << 30);
		/* The same bytes, copied by memcpy. */
		char *a = malloc(bytes / 8), *b = malloc(bytes / 8);
		memset(a, 1, bytes / 8);
		memset(b, 1, bytes / 8);
		t0 = tw_now();
		memcpy(a, b, bytes / 8);
		__asm__ volatile("" ::"r"(a) : "memory");
		plain[r] = (double)(bytes / 8) / (tw_now() - t0) / (1u << 30);
		free(a);
		free(b);
		tw_barrier_all();
	}
	double floor = bench_median(plain, 3);
	bench_line("streaming read, 256 MiB, with barrier", bench_median(read, 3), "GiB/s", floor, "memcpy");
	bench_line("streaming write, 256 MiB, with barrier", bench_median(write, 3), "GiB/s", floor, "memcpy");
}

/* ---- twins and diffs, without any protocol ---- */

struct diffs_target {
	char *to;
};

static void diffs_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	memcpy(((struct diffs_target *)ctx)->to + offset, bytes, len);
}

static double diffs_time(char *frame, char *twin, char *home, size_t bytes, int incoming)
{
	struct diffs_target to = {.to = home};
	double took[101];
	for (unsigned i = 0; i < 101; i++) {
		memcpy(incoming ? home : frame, twin, bytes); /* warm the caches; the change below is repeated */
		for (size_t w = 0; w < bytes / 8; w++)
			if (frame[bytes] == 2 || (frame[bytes] == 1 && w % 4 == 0) || w == 7)
				((uint64_t *)(void *)(incoming ? home : frame))[w] = ~((uint64_t *)(void *)twin)[w];
		double t0 = tw_now();
		if (incoming)
			tw_diff_in(frame, twin, home, bytes);
		else
			tw_diff_out(frame, twin, bytes, 0, diffs_run, &to);
		took[i] = (tw_now() - t0) * 1e6;
	}
	return bench_median(took, 101);
}

void bench_diffs(void)
{
	static const char *const how[] = {"one word", "a quarter", "whole page"};
	size_t bytes = tw_me->layout.page_bytes;
	char *frame = aligned_alloc(4096, bytes + 4096), *twin = aligned_alloc(4096, bytes),
	     *home = aligned_alloc(4096, bytes);
	double took[101];

	memset(frame, 3, bytes);
	memset(twin, 3, bytes);
	memset(home, 3, bytes);
	for (unsigned i = 0; i < 101; i++) {
		double t0 = tw_now();
		memcpy(twin, frame, bytes);
		took[i] = (tw_now() - t0) * 1e6;
	}
	double copy = bench_median(took, 101);
	for (int in = 0; in < 2; in++)
		for (int c = 0; c < 3; c++) {
			char name[64];
			frame[bytes] = (char)c;
			snprintf(name, sizeof(name), "%s diff, %s", in ? "incoming" : "outgoing", how[c]);
			bench_line(name, diffs_time(frame, twin, home, bytes, in), "us", copy, "copy in cache");
		}
	free(frame);
	free(twin);
	free(home);
}

/* ---- one node ---- */

void bench_resident(void)
{
	unsigned *order = bench_shuffle(PAGES);
	double took[ROUNDS];
	for (unsigned r = 0; r < ROUNDS; r++) {
		pages_words = tw_me->layout.page_bytes / 8;
		uint64_t *m = tw_malloc_all((size_t)PAGES << tw_me->layout.page_shift);
		if (tw_id() == 0)
			memset(m, 1, (size_t)PAGES << tw_me->layout.page_shift);
		tw_barrier_all();
		took[r] = pages_touch(m, PAGES, order, READ);
	}
	bench_line("fault on a resident page", bench_median(took, ROUNDS), "us", bench_floors.read_fault_us, "fault");
	free(order);
}
