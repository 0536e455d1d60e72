/* SPDX-License-Identifier: BSD-3-Clause */
/* stores_test.c - the log of stores against an array of bytes. */
#include "core/job/job.h"
#include "core/memory/stores.h"
#include "unit.h"

#include <string.h>

#define PAGE   ((size_t)8192)
#define MEMORY ((size_t)1 << 21)

const char tw_stores_runtime = 1;

static char expected[MEMORY], given[MEMORY];
static size_t calls;
static bool refuses;
static struct tw_stats stats;

uint64_t tw_time_begin(struct tw_proc *me)
{
	(void)me;
	return 0;
}

void tw_time_end(struct tw_proc *me, uint64_t *category, uint64_t begun)
{
	(void)me, (void)category, (void)begun;
}

static bool take(struct tw_proc *me, size_t offset, size_t bytes)
{
	(void)me;
	calls++;
	CU_ASSERT(bytes > 0 && offset / PAGE == (offset + bytes - 1) / PAGE);
	for (size_t i = offset; i < offset + bytes; i++)
		given[i]++;
	return !refuses;
}

static const struct tw_protocol protocol = {.name = "test", .flags = TW_PROTOCOL_NEEDS_STORES, .stored = take};
static struct tw_proc proc = {.protocol = &protocol, .stats = &stats};

static void setup(void)
{
	proc.config.memory = MEMORY;
	proc.layout.page_bytes = PAGE;
	proc.layout.page_shift = 13;
	proc.layout.pages = MEMORY / PAGE;
	proc.layout.set_bytes = tw_pageset_bytes(proc.layout.pages);
	CU_ASSERT_EQUAL_FATAL(tw_stores_open(&proc), 0);
}

static void add(size_t offset, size_t bytes)
{
	tw_stores_add((void *)(TW_SPACE_BASE + offset), bytes);
	for (size_t i = offset; i < offset + bytes && i < MEMORY; i++)
		expected[i] = 1;
}

static void drain(void)
{
	memset(given, 0, sizeof(given));
	calls = 0;
	tw_stores_drain(&proc);
	CU_ASSERT(memcmp(given, expected, MEMORY) == 0);
	memset(expected, 0, sizeof(expected));
}

static void test_random(void)
{
	uint64_t seed = 7;
	setup();
	for (unsigned round = 0; round < 300; round++) {
		for (unsigned i = unit_random(&seed) % 200; i > 0; i--)
			add(unit_random(&seed) % (round % 3 ? MEMORY : 3 * PAGE),
			    1 + unit_random(&seed) % (i % 9 ? 70 : 20000));
		drain();
	}
	tw_stores_close();
}

/* A page of which no more is wanted: one run of it is passed, the rest is discarded. */
static void test_refused(void)
{
	setup();
	refuses = true;
	for (size_t p = 0; p < 4; p++)
		for (size_t at = 10; at < PAGE; at += 100)
			add(p * PAGE + at, 3);
	calls = 0;
	tw_stores_drain(&proc);
	CU_ASSERT_EQUAL(calls, 4);
	refuses = false;
	memset(expected, 0, sizeof(expected));
	drain();
	CU_ASSERT_EQUAL(calls, 0);
	tw_stores_close();
}

static void test_edges(void)
{
	setup();
	for (size_t n = 1; n <= 65; n++) {
		add(n * PAGE, n);
		add(n * PAGE - n, n); /* would join the run if it were not for the page's border */
		add(n * PAGE + 100, n);
	}
	add(MEMORY - 1, 1);
	add(MEMORY - 8, 16); /* past the end */
	drain();
	CU_ASSERT_EQUAL(calls, 3 * 65 + 1);
	drain();
	CU_ASSERT_EQUAL(calls, 0);
	tw_stores_add((void *)(TW_SPACE_BASE - 1), 1);
	tw_stores_add((void *)(TW_SPACE_BASE + MEMORY), 8);
	tw_stores_add(&calls, sizeof(calls));
	drain();
	CU_ASSERT_EQUAL(calls, 0);
	tw_stores_close();
	add(0, 8);
	memset(expected, 0, sizeof(expected));
	drain();
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"random", test_random}, {"refused", test_refused}, {"edges", test_edges}, CU_TEST_INFO_NULL};
	return unit_main("stores", tests);
}
