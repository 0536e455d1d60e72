/* SPDX-License-Identifier: BSD-3-Clause */
/* large.c - much shared memory, whose pages are written by the nodes in turn, so that no two neighbours have the same
 * rights: a backend that needs a kernel mapping for each change of rights runs out of them.
 * Usage: large MEBIBYTES.  Last line: "verified: yes" or "verified: no". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tweed/tweed.h"

#define PAGE   ((size_t)4096)
#define SAMPLE 16 /* one in so many of the others' pages is read */

int main(int argc, char **argv)
{
	size_t mebibytes = argc == 2 ? strtoul(argv[1], NULL, 10) : 64;
	unsigned long wrong = 0;

	tw_init(&argc, &argv);
	size_t pages = (mebibytes << 20) / PAGE, id = (size_t)tw_id(), count = (size_t)tw_count();
	volatile char *m = tw_malloc_all(pages * PAGE);
	if (!m)
		tw_abort(2, "not so much shared memory: raise TWEED_MEMORY");
	for (size_t p = id; p < pages; p += count)
		*(volatile uint64_t *)(m + p * PAGE + 8) = p + 1;
	tw_barrier_all();
	for (size_t p = (id + 1) % count; p < pages; p += count * SAMPLE)
		wrong += *(volatile uint64_t *)(m + p * PAGE + 8) != p + 1;
	for (size_t p = id; p < pages; p += count * SAMPLE)
		wrong += *(volatile uint64_t *)(m + p * PAGE + 8) != p + 1;
	tw_verified(wrong == 0);
	tw_barrier_all();
	if (id == 0 || wrong)
		printf("verified: %s\n", wrong ? "no" : "yes");
	tw_finalize();
	return wrong != 0;
}
