/* SPDX-License-Identifier: BSD-3-Clause */
/* core.c - what the core does by itself, seen under the protocol null, which adds nothing: one fault a page and
 * right, memory that a node shares within and not beyond, broadcasts that need no coherence.  Last line: "N passed, N
 * failed". */
#include <stdio.h>
#include <string.h>

#include "core/job/job.h"
#include "tweed/tweed.h"

#define PAGES 64u

static unsigned core_passed, core_failed;

static void core_expect(bool condition, const char *what, uint64_t found)
{
	core_passed += condition;
	core_failed += !condition;
	if (!condition)
		fprintf(stderr, "processor %d: expected %s, found %llu\n", tw_id(), what, (unsigned long long)found);
}

static volatile uint64_t *core_pages(unsigned pages)
{
	return tw_malloc_all((size_t)pages << tw_me->layout.page_shift);
}

static volatile uint64_t *core_word(volatile uint64_t *m, unsigned page)
{
	return m + page * (tw_me->layout.page_bytes / sizeof(*m));
}

/* Touch all pages; returns how many faults of the kind that @counter, changed by the handler, counts it took. */
static uint64_t core_faults(volatile uint64_t *m, bool write, const volatile uint64_t *counter)
{
	uint64_t before = *counter;

	for (unsigned p = 0; p < PAGES; p++) {
		if (write)
			*core_word(m, p) = p;
		else
			(void)*core_word(m, p);
	}
	return *counter - before;
}

static void core_each_right_once(void)
{
	const struct tw_counters *now = &tw_me->stats->now;
	volatile uint64_t *m = core_pages(2 * PAGES), *fresh = core_word(m, PAGES);
	uint64_t n;

	n = core_faults(m, false, &now->read_faults);
	core_expect(n == PAGES, "a read fault for each page", n);
	n = core_faults(m, false, &now->read_faults);
	core_expect(n == 0, "no fault where pages may be read", n);
	n = core_faults(m, true, &now->write_faults);
	core_expect(n == PAGES, "a write fault for each page that may be read", n);
	n = core_faults(m, true, &now->write_faults);
	core_expect(n == 0, "no fault where pages may be written", n);
	n = core_faults(fresh, true, &now->write_faults);
	core_expect(n == PAGES, "a write fault for each new page", n);
	n = core_faults(fresh, false, &now->read_faults);
	core_expect(n == 0, "no read fault where pages may be written", n);
	tw_barrier_all();
}

static void core_nodes_are_apart(void)
{
	volatile uint64_t *m = core_pages(1);
	uint64_t seen;

	if (tw_me->local == 0)
		*m = tw_me->node + 1;
	tw_barrier_all();
	seen = *m;
	core_expect(seen == tw_me->node + 1, "what a processor of this node wrote", seen);
	tw_barrier_all();
}

static void core_broadcast(void)
{
	for (int root = 0; root < tw_count(); root++) {
		uint64_t word = tw_id() == root ? 1000u + (unsigned)root : 0;
		tw_bcast(&word, sizeof(word), root);
		core_expect(word == 1000u + (unsigned)root, "the word that was broadcast", word);
	}
}

static void core_moved_nothing(void)
{
	const struct tw_counters *now = &tw_me->stats->now;

	core_expect(now->page_transfers == 0, "no page fetched", now->page_transfers);
	core_expect(now->write_notices == 0, "no write notice", now->write_notices);
	core_expect(now->twins == 0, "no twin", now->twins);
	core_expect(now->directory_updates == 0, "no directory word written", now->directory_updates);
}

int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	if (strcmp(tw_me->protocol->name, "null") != 0)
		tw_abort(2, "run it with --protocol null");
	core_each_right_once();
	core_nodes_are_apart();
	core_broadcast();
	core_moved_nothing();
	tw_barrier_all();
	if (tw_id() == 0 || core_failed)
		printf("%u passed, %u failed\n", core_passed, core_failed);
	tw_finalize();
	return core_failed != 0;
}
