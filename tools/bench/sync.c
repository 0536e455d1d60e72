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

/* A word on the other processor's node, used only by this program: it passes the turn from one processor to the other
 * beside the lock, so that every acquire is a hand-over. */
static size_t sync_turn_word(unsigned id)
{
	return tw_me->layout.collective + 64 * id;
}

static void sync_hand_over(const char *name, double floor)
{
	const unsigned n = 2000;
	tw_lock_t lock = sync_lock();
	volatile uint64_t *counter = tw_malloc_all(4096);
	unsigned id = tw_me->id, other = 1 - id;
	_Atomic uint64_t *mine = (_Atomic uint64_t *)(void *)(tw_me->net->base + sync_turn_word(id));
	double took[ROUNDS];

	atomic_store(mine, 0);
	tw_barrier_all();
	for (unsigned r = 0, turn = 0; r < ROUNDS; r++) {
		tw_barrier_all();
		double t0 = tw_now();
		for (unsigned i = 0; i < n; i++, turn++) {
			while (atomic_load(mine) < turn + id)
				tw_pause();
			tw_lock_acquire(lock);
			*counter += 1;
			tw_lock_release(lock);
			tw_net_write64(tw_me->net, other / tw_me->locals, sync_turn_word(other), turn + 1);
			tw_net_flush(tw_me->net, TW_NET_ALL);
		}
		tw_barrier_all();
		took[r] = (tw_now() - t0) * 1e6 / (2 * n);
	}
	bench_line(name, bench_median(took, ROUNDS), "us", floor, "word there and back");
}

static void sync_barrier(const char *name)
{
	const unsigned n = 20000 / (tw_count() > 2 ? 10 * (unsigned)tw_count() : 1);
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

void bench_basic(void)
{
	sync_barrier("barrier");
	if (tw_count() > 2)
		return;
	sync_hand_over("lock hand-over", bench_floors.line_us);
	if (tw_me->nodes > 1)
		bench_misses();
}
