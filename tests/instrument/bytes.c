/* SPDX-License-Identifier: BSD-3-Clause */
/* bytes.c - neighbours write adjacent bytes at the same time: in turn by owner, in runs of few bytes, and by tasks
 * drawn from a shared queue, as a volume renderer fills its image.  Every byte is verified by every processor.
 *
 * bytes [ROUNDS] */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

#define BYTES 20000u
#define TILE  37u /* bytes of a task: no divisor of anything */

static struct shared {
	unsigned next;
	uint8_t before, byte[BYTES], after;
	uint8_t image[BYTES];
} * shared;
static tw_lock_t lock;
static unsigned me, count;

static uint8_t value(unsigned round, unsigned i)
{
	return (uint8_t)(i * 7 + round * 31 + (i >> 8));
}

static bool verify(const char *what, const uint8_t *byte, unsigned round)
{
	for (unsigned i = 0; i < BYTES; i++)
		if (byte[i] != value(round, i)) {
			printf("%u: %s, round %u: byte %u is %u, not %u\n", me, what, round, i, byte[i],
			       value(round, i));
			return false;
		}
	return true;
}

static void by_owner(unsigned round)
{
	for (unsigned i = (me + round) % count; i < BYTES; i += count)
		shared->byte[i] = value(round, i);
}

/* Runs of 1 to 9 bytes, dealt in turn. */
static void by_run(unsigned round)
{
	uint8_t run[9];

	for (unsigned at = 0, n = 0, len; at < BYTES; at += len, n++) {
		len = 1 + (n * 5 + round) % 9;
		len = len < BYTES - at ? len : BYTES - at;
		if (n % count != me)
			continue;
		for (unsigned k = 0; k < len; k++)
			run[k] = value(round, at + k);
		memcpy(shared->byte + at, run, len);
	}
}

static void by_task(unsigned round)
{
	for (;;) {
		tw_lock_acquire(lock);
		unsigned at = shared->next;
		shared->next += TILE;
		tw_lock_release(lock);
		if (at >= BYTES)
			return;
		for (unsigned i = at; i < at + TILE && i < BYTES; i++)
			shared->image[i] = value(round, i);
	}
}

/* Everybody adds to his own bytes, and often: what the others put beside them must stay. */
static void by_increment(unsigned round)
{
	for (unsigned i = me; i < 64; i += count)
		shared->byte[i] = 0;
	for (unsigned turn = 0; turn < 8; turn++) {
		for (unsigned i = me; i < 64; i += count)
			for (unsigned k = 0; k < 1 + value(round, i) / 8u; k++)
				shared->byte[i] += shared->byte[i] != value(round, i);
		tw_lock_acquire(lock);
		tw_lock_release(lock);
	}
	for (unsigned i = me; i < 64; i += count)
		while (shared->byte[i] != value(round, i))
			shared->byte[i]++;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	bool good = true;

	tw_init(&argc, &argv);
	me = (unsigned)tw_id();
	count = (unsigned)tw_count();
	shared = tw_malloc_all(sizeof(*shared));
	lock = tw_lock_create();
	tw_bcast(&lock, sizeof(lock), 0);
	for (unsigned round = 0; round < rounds && good; round++) {
		void (*const fill[])(unsigned) = {by_owner, by_run};
		fill[round % 2](round);
		tw_barrier_all();
		good &= verify("in turn", shared->byte, round);
		tw_barrier_all();
		by_increment(round);
		by_task(round);
		tw_barrier_all();
		good &= verify("by increments", shared->byte, round) && verify("by tasks", shared->image, round);
		if (me == 0)
			shared->next = 0;
		tw_barrier_all();
	}
	tw_verified(good);
	tw_finalize();
	return good ? 0 : 1;
}
