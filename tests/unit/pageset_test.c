/* SPDX-License-Identifier: BSD-3-Clause */
/* pageset_test.c - sets of pages: members, runs, and many adders against one drainer. */
#include "tweed/driver/protocol.h"
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_PAGES ((size_t)1 << 28)
#define ADDERS     3
#define STRESS_NS  600000000ull

static struct tw_pageset *set_map(size_t pages)
{
	void *at = mmap(NULL, tw_pageset_bytes(pages), PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		abort();
	tw_pageset_init(at, pages);
	tw_pageset_init(at, pages);
	return at;
}

static void set_unmap(struct tw_pageset *set, size_t pages)
{
	munmap(set, tw_pageset_bytes(pages));
}

/* Runs in the order in which they are passed. */
struct runs {
	struct {
		size_t first, count;
	} run[64];
	size_t n, total;
};

static void runs_take(void *ctx, tw_page_t first, unsigned count)
{
	struct runs *r = ctx;
	if (r->n < 64) {
		r->run[r->n].first = first;
		r->run[r->n].count = count;
	}
	r->n++;
	r->total += count;
}

static bool drains_to(struct tw_pageset *set, size_t n, const size_t (*expect)[2])
{
	struct runs r = {.n = 0};
	size_t total = tw_pageset_drain(set, runs_take, &r);
	bool right = total == r.total && r.n == n;
	for (size_t i = 0; right && i < n; i++)
		right = r.run[i].first == expect[i][0] && r.run[i].count == expect[i][1];
	return right && tw_pageset_empty(set);
}

static void test_members(void)
{
	struct tw_pageset *set = set_map(10000);
	CU_ASSERT(tw_pageset_empty(set));
	CU_ASSERT(drains_to(set, 0, NULL));
	tw_pageset_add(set, 9999);
	tw_pageset_add(set, 0);
	tw_pageset_add(set, 5);
	tw_pageset_add(set, 5);
	tw_pageset_add(set, 4097);
	tw_pageset_add(set, 4096);
	CU_ASSERT_FALSE(tw_pageset_empty(set));
	CU_ASSERT(drains_to(set, 4, (const size_t[][2]){{0, 1}, {5, 1}, {4096, 2}, {9999, 1}}));
	CU_ASSERT(drains_to(set, 0, NULL));
	set_unmap(set, 10000);
}

static void add_run(struct tw_pageset *set, size_t first, size_t count)
{
	for (size_t i = count; i-- > 0;)
		tw_pageset_add(set, (tw_page_t)(first + i));
}

/* Runs over the boundaries of words of each level. */
static void test_runs(void)
{
	static const size_t edges[] = {64, 4096, 262144, 524288};
	struct tw_pageset *set = set_map(1 << 20);
	for (size_t i = 0; i < 4; i++)
		for (size_t before = 0; before <= 130; before += 13)
			for (size_t after = 1; after <= 131; after += 13) {
				size_t first = edges[i] > before ? edges[i] - before : 0;
				size_t count = edges[i] + after - first;
				add_run(set, first, count);
				CU_ASSERT(drains_to(set, 1, (const size_t[][2]){{first, count}}));
			}
	add_run(set, 0, 64);
	add_run(set, 65, 62);
	add_run(set, 128, 64);
	CU_ASSERT(drains_to(set, 3, (const size_t[][2]){{0, 64}, {65, 62}, {128, 64}}));
	add_run(set, 100, 200000); /* longer than a run may be: it is cut, and nothing is lost */
	struct runs r = {.n = 0};
	CU_ASSERT_EQUAL(tw_pageset_drain(set, runs_take, &r), 200000);
	size_t next = 100;
	for (size_t i = 0; i < r.n; i++) {
		CU_ASSERT(r.run[i].first == next && r.run[i].count <= 65536);
		next += r.run[i].count;
	}
	CU_ASSERT_EQUAL(next, 200100);
	set_unmap(set, 1 << 20);
}

static void test_sizes(void)
{
	static const size_t sizes[] = {1, 63, 64, 65, 511, 512, 4096, 4097, 1 << 20, MOST_PAGES - 1, MOST_PAGES};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct tw_pageset *set = set_map(sizes[i]);
		CU_ASSERT_EQUAL(tw_pageset_bytes(sizes[i]) % 64, 0);
		tw_pageset_add(set, (tw_page_t)(sizes[i] - 1));
		CU_ASSERT_FALSE(tw_pageset_empty(set));
		CU_ASSERT(drains_to(set, 1, (const size_t[][2]){{sizes[i] - 1, 1}}));
		set_unmap(set, sizes[i]);
	}
}

static void test_random(void)
{
	enum { PAGES = 300000 };
	static bool member[PAGES];
	struct tw_pageset *set = set_map(PAGES);
	uint64_t seed = 7;
	for (int round = 0; round < 20; round++) {
		size_t n = 0, adds = 1 + unit_random(&seed) % 20000, span = 1 + unit_random(&seed) % PAGES;
		memset(member, 0, sizeof(member));
		for (size_t i = 0; i < adds; i++) {
			tw_page_t p = (tw_page_t)(unit_random(&seed) % span);
			n += !member[p];
			member[p] = true;
			tw_pageset_add(set, p);
		}
		size_t runs = 0;
		for (size_t p = 0; p < PAGES; p++)
			runs += member[p] && (p == 0 || !member[p - 1]);
		struct runs r = {.n = 0};
		CU_ASSERT_EQUAL(tw_pageset_drain(set, runs_take, &r), n);
		CU_ASSERT_EQUAL(r.n, runs);
	}
	set_unmap(set, PAGES);
}

static struct tw_pageset *self_set;

static void add_again(void *ctx, tw_page_t first, unsigned count)
{
	runs_take(ctx, first, count);
	if (((struct runs *)ctx)->n < 10)
		tw_pageset_add(self_set, first);
}

static void test_add_while_draining(void)
{
	struct runs r = {.n = 0};
	self_set = set_map(5000);
	add_run(self_set, 100, 10);
	CU_ASSERT_EQUAL(tw_pageset_drain(self_set, add_again, &r), 10);
	CU_ASSERT_FALSE(tw_pageset_empty(self_set));
	CU_ASSERT(drains_to(self_set, 1, (const size_t[][2]){{100, 1}}));
	set_unmap(self_set, 5000);
}

/* ---- adders against a drainer -----------------------------------------------------------------------------------
 * Page p belongs to adder p % ADDERS. Before adding p, the adder raises wanted[p] with a plain store, as a protocol
 * raises a time stamp. The drainer copies wanted[p] to noted[p] when it takes p. In the end both must be equal: a lost
 * page, or one taken without its earlier store being visible, leaves a difference. */

enum { STRESS_PAGES = 3 * 64 * 70 };
static _Atomic uint32_t wanted[STRESS_PAGES], noted[STRESS_PAGES];
static struct tw_pageset *stress_set;
static void (*stress_add)(struct tw_pageset *set, tw_page_t page);
static _Atomic bool stress_stop, stress_wrong;
static size_t stress_span;

static void *stress_adder(void *arg)
{
	uint64_t seed = 99 + (uintptr_t)arg;
	while (!atomic_load_explicit(&stress_stop, memory_order_relaxed)) {
		size_t p = unit_random(&seed) % stress_span / ADDERS * ADDERS + (uintptr_t)arg;
		uint32_t value = atomic_load_explicit(&wanted[p], memory_order_relaxed);
		atomic_store_explicit(&wanted[p], value + 1, memory_order_relaxed);
		stress_add(stress_set, (tw_page_t)p);
	}
	return NULL;
}

static void stress_note(void *ctx, tw_page_t first, unsigned count)
{
	(void)ctx;
	for (size_t p = first; p < first + count; p++) {
		uint32_t value = atomic_load_explicit(&wanted[p], memory_order_relaxed);
		if (value == 0)
			atomic_store(&stress_wrong, true); /* no adder added it */
		atomic_store_explicit(&noted[p], value, memory_order_relaxed);
	}
}

/* Returns how many pages are wrong in the end. */
static size_t stress(void (*add)(struct tw_pageset *, tw_page_t), size_t span, uint64_t ns)
{
	pthread_t thread[ADDERS];
	uint64_t end = tw_time_ns() + ns;
	stress_set = set_map(STRESS_PAGES);
	stress_add = add;
	stress_span = span;
	atomic_store(&stress_stop, false);
	atomic_store(&stress_wrong, false);
	memset((void *)wanted, 0, sizeof(wanted));
	memset((void *)noted, 0, sizeof(noted));
	for (uintptr_t i = 0; i < ADDERS; i++)
		if (pthread_create(&thread[i], NULL, stress_adder, (void *)i) != 0)
			abort();
	while (tw_time_ns() < end)
		tw_pageset_drain(stress_set, stress_note, NULL);
	atomic_store(&stress_stop, true);
	for (size_t i = 0; i < ADDERS; i++)
		pthread_join(thread[i], NULL);
	tw_pageset_drain(stress_set, stress_note, NULL);
	size_t wrong = atomic_load(&stress_wrong);
	for (size_t p = 0; p < STRESS_PAGES; p++)
		wrong += wanted[p] != noted[p];
	set_unmap(stress_set, STRESS_PAGES);
	return wrong;
}

/* Known wrong: marks only the leaf if a page of the same leaf word is there already, assuming that it is reachable. */
static void lazy_add(struct tw_pageset *set, tw_page_t page)
{
	static _Atomic bool once[STRESS_PAGES / 64 + 1];
	if (!atomic_exchange(&once[page / 64], true))
		tw_pageset_add(set, page);
}

static void test_stress(void)
{
	CU_ASSERT_EQUAL(stress(tw_pageset_add, STRESS_PAGES, STRESS_NS), 0);
	CU_ASSERT_EQUAL(stress(tw_pageset_add, ADDERS * 20, STRESS_NS), 0);
	CU_ASSERT_EQUAL(stress(tw_pageset_add, ADDERS, STRESS_NS), 0);
	size_t lost = 0;
	for (unsigned i = 0; i < 10 && !lost; i++) /* a busy machine may let no adder run meanwhile */
		lost = stress(lazy_add, STRESS_PAGES, STRESS_NS / 10);
	CU_ASSERT_NOT_EQUAL(lost, 0);
}

/* ---- an add that finds its page set already --------------------------------------------------------------------
 * Each adder stamps a page, adds it, and waits for two whole drains: its stamp must have been noted. The other adder
 * has often set the page, so that the add only reads, and the stamp may still be in the store buffer. */

static _Atomic uint32_t stamp[2][64], stamp_noted[2]; /* the only page is 0; stamps of different lines */
static _Atomic uint64_t watch_drains;
static _Atomic unsigned watch_left;
static _Atomic bool watch_hint;
static uint32_t watch_rounds;

static void *watch_adder(void *arg)
{
	uintptr_t self = (uintptr_t)arg;
	for (uint32_t value = 1; value <= watch_rounds && !atomic_load(&stress_wrong) && !atomic_load(&stress_stop);
	     value++) {
		atomic_store_explicit(&stamp[self][0], value, memory_order_relaxed);
		stress_add(stress_set, 0);
		uint64_t drains = atomic_load(&watch_drains);
		while (atomic_load(&watch_drains) < drains + 2 && !atomic_load(&stress_stop))
			tw_pause();
		if (!atomic_load(&stress_stop) && atomic_load(&stamp_noted[self]) < value)
			atomic_store(&stress_wrong, true);
	}
	atomic_fetch_sub(&watch_left, 1);
	return NULL;
}

static void watch_note(void *ctx, tw_page_t first, unsigned count)
{
	(void)ctx, (void)first, (void)count;
	atomic_store_explicit(&watch_hint, false, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	for (size_t i = 0; i < 2; i++)
		atomic_store(&stamp_noted[i], atomic_load_explicit(&stamp[i][0], memory_order_relaxed));
}

/* Returns whether one of @rounds adds of each adder was lost, within @ns. */
static bool stamps_lost(void (*add)(struct tw_pageset *, tw_page_t), uint32_t rounds, uint64_t ns)
{
	pthread_t thread[2];
	uint64_t end = tw_time_ns() + ns;
	stress_set = set_map(64);
	stress_add = add;
	watch_rounds = rounds;
	atomic_store(&stress_stop, false);
	atomic_store(&stress_wrong, false);
	atomic_store(&watch_hint, false);
	atomic_store(&watch_left, 2);
	for (uintptr_t i = 0; i < 2; i++) {
		atomic_store(&stamp[i][0], 0);
		atomic_store(&stamp_noted[i], 0);
		if (pthread_create(&thread[i], NULL, watch_adder, (void *)i) != 0)
			abort();
	}
	while (atomic_load(&watch_left) && tw_time_ns() < end) {
		tw_pageset_drain(stress_set, watch_note, NULL);
		atomic_fetch_add(&watch_drains, 1);
	}
	atomic_store(&stress_stop, true);
	for (size_t i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	set_unmap(stress_set, 64);
	return atomic_load(&stress_wrong);
}

/* Known wrong: relies on a hint that the drainer clears and that an adder may set again too late. */
static void hinted_add(struct tw_pageset *set, tw_page_t page)
{
	if (atomic_load_explicit(&watch_hint, memory_order_acquire))
		return;
	tw_pageset_add(set, page);
	atomic_store_explicit(&watch_hint, true, memory_order_relaxed);
}

static void test_stamps(void)
{
	CU_ASSERT_FALSE(stamps_lost(tw_pageset_add, 400000, STRESS_NS));
	CU_ASSERT(stamps_lost(hinted_add, UINT32_MAX, 50 * STRESS_NS));
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"members", test_members},
	    {"runs", test_runs},
	    {"sizes", test_sizes},
	    {"random", test_random},
	    {"add while draining", test_add_while_draining},
	    {"adders against the drainer", test_stress},
	    {"stamps of adds that find their page", test_stamps},
	    CU_TEST_INFO_NULL,
	};
	return unit_main("pageset", tests);
}
