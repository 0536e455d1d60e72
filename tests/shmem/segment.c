/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.c - symmetric segments: every operation between every two PEs, and signals. */
#include "pgas/segment/segment.h"

#include <stdio.h>
#include <stdlib.h>

#define WORDS   64u
#define ROUNDS  200u
#define PATTERN 100000u

static size_t part;

static void check(bool ok, const char *what, unsigned pe, unsigned long long found)
{
	if (!ok)
		tw_fatal("%s with PE %u: %llu", what, pe, found);
}

/* Each PE has its own word of @pe's, for each width. */
static void atomics(unsigned pe, unsigned bytes)
{
	size_t at = part + 8 * tw_segment.pe + (bytes == 4 ? 8 * WORDS + 4 : 0);
	uint64_t all = bytes == 4 ? UINT32_MAX : UINT64_MAX;
	const struct {
		enum tw_amo op;
		uint64_t value, expect, after;
	} step[] = {
	    {TW_AMO_SWAP, 5, 0, 5},      {TW_AMO_ADD, all, 0, 4},       {TW_AMO_OR, 3, 0, 7},
	    {TW_AMO_AND, 14, 0, 6},      {TW_AMO_XOR, all, 0, all ^ 6}, {TW_AMO_CAS, 9, 8, all ^ 6},
	    {TW_AMO_CAS, 9, all ^ 6, 9}, {TW_AMO_FETCH, 1, 1, 9},       {TW_AMO_SWAP, 0, 0, 0},
	};
	uint64_t before = 0;

	for (unsigned i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		uint64_t old = tw_segment_amo(pe, at, step[i].op, bytes, step[i].value, step[i].expect);
		check(old == before, "an atomic's old value", pe, old);
		before = step[i].after;
	}
	tw_segment_amo_post(pe, at, TW_AMO_ADD, bytes, 7);
	uint64_t old = tw_segment_amo(pe, at, TW_AMO_SWAP, bytes, 0, 0);
	check(old == 7, "an atomic after one without result", pe, old);
}

static void copies(unsigned pe)
{
	static char sent[PATTERN], got[PATTERN];
	size_t at = part + 65536 + tw_segment.pe * PATTERN;

	for (size_t i = 0; i < PATTERN; i++)
		sent[i] = (char)rand();
	for (size_t len = 1; len <= PATTERN - 3; len = len * 3 + 1) {
		tw_segment_put(pe, at + 3, sent, len);
		tw_segment_get(pe, at + 3, got, len);
		check(memcmp(sent, got, len) == 0, "what was put and got", pe, len);
		memset(got, 0, len);
		tw_segment_get_nbi(pe, at + 3, got, len);
		tw_segment_quiet();
		check(memcmp(sent, got, len) == 0, "what get_nbi brought", pe, len);
	}
}

int main(void)
{
	tw_segment_open((size_t)64 << 20, NULL);
	part = tw_segment_reserve((size_t)32 << 20);
	size_t counter = part + 4096, signal = part + 8192, data = signal + 64;

	for (unsigned pe = 0; pe < tw_segment.pes; pe++) {
		atomics(pe, 8);
		atomics(pe, 4);
		copies(pe);
	}
	for (unsigned i = 0; i < ROUNDS; i++)
		tw_segment_amo_post(i % tw_segment.pes, counter + i % 2 * 4, TW_AMO_ADD, i % 2 ? 4 : 8, 1);
	tw_segment_quiet();
	tw_segment_barrier();
	/* A ring: what comes before a signal is seen after it. */
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint64_t seen;

		tw_segment_put((tw_segment.pe + 1) % tw_segment.pes, data, &i, 8);
		tw_segment_signal((tw_segment.pe + 1) % tw_segment.pes, signal);
		tw_segment_wait_signal(signal);
		memcpy(&seen, tw_segment.base + data, 8);
		check(seen == i, "what came before a signal", tw_segment.pe, seen);
		tw_segment_barrier();
	}
	uint64_t sum = 0, expected = 0;
	for (unsigned i = 0; i < ROUNDS; i++)
		expected += i % tw_segment.pes == tw_segment.pe ? tw_segment.pes : 0;
	sum = tw_segment_amo(tw_segment.pe, counter, TW_AMO_FETCH, 4, 0, 0) +
	      tw_segment_amo(tw_segment.pe, counter + 4, TW_AMO_FETCH, 4, 0, 0);
	check(sum == expected, "the counter", tw_segment.pe, sum);
	tw_segment_barrier();
	if (tw_segment.pe == 0)
		printf("%u PEs\n", tw_segment.pes);
	tw_segment_close();
	return 0;
}
