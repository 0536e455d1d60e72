/* SPDX-License-Identifier: BSD-3-Clause */
/* races.c - programs with data races, which the protocol SC runs as one machine would: plain loads and stores alone, of
 * variables on pages of their own, or all on one page.  usage: tweed run -n N -p P --protocol SC races [ROUNDS] */
#include <stdio.h>
#include <stdlib.h>

#include "tweed/tweed.h"

#define PAGE 4096u

static unsigned rounds = 200;
static size_t stride; /* between two variables: a page, or a cache line */
static volatile char *memory;
static unsigned me, all;

static volatile long *at(unsigned n)
{
	return (volatile long *)(volatile void *)(memory + n * stride);
}

static void fail(const char *what, long a, long b)
{
	fprintf(stderr, "races: %s: %ld, %ld, variables %zu bytes apart\n", what, a, b, stride);
	exit(1);
}

/* Each processor waits for the one before it by a plain flag, reads what that one has stored, and stores on. */
static void message(void)
{
	volatile long *data = at(0), *turn = at(1);

	for (unsigned r = 0; r < rounds; r++) {
		while (*turn % all != me)
			;
		long seen = *data;
		if (seen != *turn)
			fail("message", seen, *turn);
		*data = seen + 1;
		*turn = seen + 1;
	}
}

/* A block is filled, and its address stored to a plain pointer, which the others find. */
static void publication(void)
{
	volatile long *pointer = at(2), *seen = at(3 + me);

	for (unsigned r = 1; r <= rounds / 4; r++) {
		if (me == 0) {
			long *block = tw_malloc(sizeof(long));
			*block = (long)r;
			*pointer = (long)(void *)block;
		}
		long *found;
		while (!(found = (long *)(void *)(size_t)*pointer) || *found < (long)r)
			;
		if (*found != (long)r)
			fail("publication", *found, (long)r);
		*seen = (long)r;
		for (unsigned n = 0; n < all; n++)
			while (*at(3 + n) < (long)r)
				;
	}
}

/* Peterson's lock, for processors 0 and 1. */
static void exclusion(void)
{
	volatile long *want = at(20 + me), *other = at(21 - me), *turn = at(22), *count = at(23);

	for (unsigned r = 0; me < 2 && all > 1 && r < rounds; r++) {
		*want = 1;
		*turn = 1 - (long)me;
		__sync_synchronize();
		while (*other && *turn == 1 - (long)me)
			;
		*count = *count + 1;
		*want = 0;
	}
	tw_barrier_all();
	if (all > 1 && *count != 2 * (long)rounds)
		fail("exclusion", *count, 2 * (long)rounds);
}

/* Two processors store; two others, or the same, must not see the stores in different orders. */
static void readers(void)
{
	volatile long *x = at(30), *y = at(31), *saw = at(32 + me);

	for (unsigned r = 1; all >= 4 && r <= rounds / 4; r++) {
		if (me == 0)
			*x = (long)r;
		if (me == 1)
			*y = (long)r;
		if (me == 2) {
			long first = *x, then = *y;
			*saw = first == (long)r && then != (long)r;
		}
		if (me == 3) {
			long first = *y, then = *x;
			*saw = first == (long)r && then != (long)r;
		}
		tw_barrier_all();
		if (*at(34) && *at(35))
			fail("readers", *at(34), *at(35));
		tw_barrier_all();
	}
}

int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]);
	me = (unsigned)tw_id();
	all = (unsigned)tw_count();
	for (stride = PAGE; stride; stride = stride == PAGE ? 64 : 0) {
		memory = tw_malloc_all(64 * stride);
		tw_barrier_all();
		message();
		tw_barrier_all();
		publication();
		tw_barrier_all();
		exclusion();
		readers();
	}
	if (me == 0)
		printf("races: %u processors, all as on one machine\n", all);
	tw_finalize();
	return 0;
}
