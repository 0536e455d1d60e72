/* SPDX-License-Identifier: BSD-3-Clause */
/* poll.c - a processor that computes without a call, while its neighbour on the node shoots it down (2LS): it must be
 * seen to poll.  On two nodes of two processors. */
#include <stdint.h>
#include <stdio.h>

#include "tweed/tweed.h"

#define SECONDS 0.4
#define LAST    77u

/* On one page: [0] is written at the home, [2] and [3] on the other node, where processor 2 shoots. */
static volatile uint32_t *word;

static uint32_t compute(uint32_t x)
{
	for (unsigned i = 0; i < 100000; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	int me = tw_id();
	word = tw_malloc_all(4096);
	tw_lock_t lock = tw_lock_create();
	tw_bcast(&lock, sizeof(lock), 0);
	tw_barrier_all();
	uint32_t x = 1;
	for (double end = tw_now() + SECONDS; me != 1 && tw_now() < end;) {
		if (me != 3)
			tw_lock_acquire(lock);
		word[me]++;
		if (me != 3)
			tw_lock_release(lock);
		x = compute(x);
	}
	if (me != 1)
		word[me] = LAST;
	tw_barrier_all();
	int good = word[0] == LAST && word[2] == LAST && word[3] == LAST && x != 0;
	tw_verified(good);
	if (!good)
		printf("%d: %u %u %u, each should be %u\n", me, word[0], word[2], word[3], LAST);
	tw_finalize();
	return good ? 0 : 1;
}
