/* SPDX-License-Identifier: BSD-3-Clause */
/* poll.c - a processor that computes without a call, while its neighbour on the node shoots it down (2LS): it must be seen
 * to poll.  On two nodes of two processors. */
#include <stdint.h>
#include <stdio.h>

#include "tweed/tweed.h"

#define ROUNDS 300u

/* On one page: [0] and [1] written on the node that shoots, [2] by the home. */
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
	if (me == 2)
		tw_home_set((void *)word, 4096, tw_node());
	tw_barrier_all();
	uint32_t x = 1;
	for (unsigned round = 1; round <= ROUNDS; round++) {
		if (me == 3)
			break;
		if (me == 1) {
			word[1] = round;
			x = compute(x);
			continue;
		}
		tw_lock_acquire(lock);
		word[me] = round;
		tw_lock_release(lock);
		x = compute(x);
	}
	tw_barrier_all();
	int good = word[0] == ROUNDS && word[1] == ROUNDS && word[2] == ROUNDS && x != 0;
	tw_verified(good);
	if (!good)
		printf("%d: %u %u %u, each should be %u\n", me, word[0], word[1], word[2], ROUNDS);
	tw_finalize();
	return good ? 0 : 1;
}
