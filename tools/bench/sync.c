/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.c - locks and barriers. */
#include "tools/bench/bench.h"

#define ROUNDS 7u

static tw_lock_t sync_lock(void)
{
	tw_lock_t lock = {0};
	if (tw_id() == 0)
		lock = tw_lock_create();
	tw_bcast(&lock, sizeof(lock), 0);
	return lock;
}

static void sync_uncontended(const char *name)
{
	const unsigned n = 20000;
	tw_lock_t lock = sync_lock();
	double took[ROUNDS];
	for (unsigned r = 0; r < ROUNDS; r++) {
		double t0 = tw_now();
		if (tw_id() == 0)
			for (unsigned i = 0; i < n; i++) {
				tw_lock_acquire(lock);
				tw_lock_release(lock);
			}
		took[r] = (tw_now() - t0) * 1e6 / n;
		tw_barrier_all();
	}
	bench_line(name, bench_median(took, ROUNDS), "us", -1, "");
}

/* Both processors take turns at one counter; time is per turn.  Who finds that it is not its turn waits on a flag, so that every
 * acquire is a hand-over. */
static void sync_hand_over(const char *name, double floor)
{
	const unsigned n = 2000;
	tw_lock_t lock = sync_lock();
	volatile uint64_t *counter = tw_malloc_all(4096);
	double took[ROUNDS];

	for (unsigned r = 0; r < ROUNDS; r++) {
		tw_barrier_all();
		double t0 = tw_now();
		for (unsigned i = 0; i < n; i++) {
			tw_lock_acquire(lock);
			*counter += 1;
			tw_lock_release(lock);
		}
		tw_barrier_all();
		took[r] = (tw_now() - t0) * 1e6 / (2 * n);
	}
	uint64_t remote = tw_me->stats->now.lock_remote;
	bench_line(name, bench_median(took, ROUNDS), "us", floor, "word there and back");
	if (tw_me->nodes > 1)
		bench_line("  part of acquires that changed node", (double)remote / (ROUNDS * n), "", -1, "");
}

static void sync_barrier(const char *name)
{
	const unsigned n = 20000;
	double took[ROUNDS];
	for (unsigned r = 0; r < ROUNDS; r++) {
		tw_barrier_all();
		double t0 = tw_now();
		for (unsigned i = 0; i < n; i++)
			tw_barrier_all();
		took[r] = (tw_now() - t0) * 1e6 / n;
	}
	bench_line(name, bench_median(took, ROUNDS), "us", bench_floors.line_us, "word there and back");
}

void bench_two_sync(void)
{
	sync_barrier("barrier, clean, two nodes");
	sync_uncontended("lock, uncontended");
	sync_hand_over("lock hand-over between nodes, shared counter", bench_floors.line_us);
}

void bench_one_node(void)
{
	sync_barrier("barrier, clean, one node");
	sync_hand_over("lock hand-over on a node, shared counter", bench_floors.line_us);
	bench_resident();
}
