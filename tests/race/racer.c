/* SPDX-License-Identifier: BSD-3-Clause */
/* racer.c - race.py's program: all processors store to pages of every home at the same time, to the same byte or not.
 *
 * The processors sleep between their stores and the next barrier, so that no node flushes before all have stored:
 * then a race is found for certain. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tweed/tweed.h"

#define PAGE   65536 /* Tweed's largest */
#define ROUNDS 4

static volatile char *pages; /* one for each node, which is its home */

static void __attribute__((noinline)) racer_store(size_t at, int value)
{
	for (int node = 0; node < tw_nodes(); node++)
		pages[(size_t)node * PAGE + at] = (char)value;
}

static void racer_add(size_t at)
{
	for (int node = 0; node < tw_nodes(); node++)
		tw_atomic_fetch_add_u64((volatile uint64_t *)(volatile void *)(pages + (size_t)node * PAGE + at), 1,
		                        TW_RELAXED);
}

static void racer_round(const char *what, int round, tw_lock_t lock)
{
	struct timespec delay = {.tv_nsec = 30000000};
	int mine = 1 + round * tw_count() + tw_id();

	if (!strcmp(what, "race")) {
		racer_store(100, mine);
	} else if (!strcmp(what, "neighbours")) {
		racer_store((size_t)tw_id(), mine);
	} else if (!strcmp(what, "equal")) {
		racer_store(100, 1 + round);
	} else if (!strcmp(what, "atomic")) {
		racer_add(104);
	} else if (!strcmp(what, "mixed")) { /* node 0 behind the others */
		if (tw_node() != 0)
			racer_store(104, mine);
		nanosleep(&delay, NULL);
		if (tw_node() == 0)
			racer_add(104);
	} else {
		tw_lock_acquire(lock);
		racer_store(100, mine);
		tw_lock_release(lock);
	}
	nanosleep(&delay, NULL);
}

int main(int argc, char **argv)
{
	struct {
		char *pages;
		tw_lock_t lock;
	} all = {0};

	tw_init(&argc, &argv);
	if (tw_id() == 0) {
		all.lock = tw_lock_create();
		all.pages = tw_calloc((size_t)tw_nodes() + 1, PAGE);
	}
	tw_bcast(&all, sizeof(all), 0);
	pages = (char *)(((size_t)all.pages + PAGE - 1) / PAGE * PAGE);
	for (int node = 0; tw_id() == 0 && node < tw_nodes(); node++)
		tw_home_set((char *)pages + (size_t)node * PAGE, PAGE, node);
	tw_barrier_all();
	for (int round = 0; round < ROUNDS; round++) {
		racer_round(argc > 1 ? argv[1] : "race", round, all.lock);
		tw_barrier_all();
	}
	tw_finalize();
	return 0;
}
