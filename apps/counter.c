/* SPDX-License-Identifier: BSD-3-Clause */
/* counter - the smallest program that shares memory: every processor adds to one counter, under a lock.
 *
 *     tweed run -n 2 -p 2 counter 1000
 *
 * doc/guide/first-program.md walks through it. */
#include <stdio.h>
#include <stdlib.h>

#include "tweed/tweed.h"

/* The data that the processors share, in one block.  The lock is a handle, a plain value, which the others find
 * here. */
struct tally {
	tw_lock_t lock;
	long count;
};

int main(int argc, char **argv)
{
	struct tally *tally;
	long times, expected;
	char *end;
	bool ok;

	/* Every processor runs main() from here, in a process of its own. */
	tw_init(&argc, &argv);

	/* All processors see the same arguments and find the same mistake; one of them prints it. */
	times = argc == 2 ? strtol(argv[1], &end, 10) : 1000;
	if (argc > 2 || (argc == 2 && (end == argv[1] || *end || times < 0 || times > 1000000000))) {
		if (tw_id() == 0)
			fprintf(stderr, "usage: counter [TIMES], from 0 to 1000000000; 1000 when not given.\n");
		tw_finalize();
		return 2;
	}

	/* One zeroed block, the same address everywhere.  The variable `tally` itself is private, like every
	 * variable. */
	tally = tw_malloc_all(sizeof(*tally));
	if (!tally)
		tw_abort(1, "no shared memory for the counter");

	/* One processor creates the lock; after the barrier the others see it. */
	if (tw_id() == 0)
		tally->lock = tw_lock_create();
	tw_barrier_all();

	/* No other processor may read and write the counter between this read and write. */
	for (long i = 0; i < times; i++) {
		tw_lock_acquire(tally->lock);
		tally->count++;
		tw_lock_release(tally->lock);
	}

	/* Here all processors have finished adding, and all additions are visible. */
	tw_barrier_all();
	expected = times * tw_count();
	ok = tally->count == expected;
	if (tw_id() == 0)
		printf("%d processors on %d nodes counted to %ld\n", tw_count(), tw_nodes(), tally->count);
	if (!ok)
		fprintf(stderr, "processor %d sees %ld, not %ld\n", tw_id(), tally->count, expected);
	tw_verified(ok);

	/* Shared memory is gone after this. */
	tw_finalize();
	return ok ? 0 : 1;
}
