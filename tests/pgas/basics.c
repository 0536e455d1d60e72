/* SPDX-License-Identifier: BSD-3-Clause */
/* basics - pointers, reads and writes, 128-bit words and counters, placement, memory that comes home, memory that
 * ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tweed/pgas.h"

#define TIMES 200u

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "PE %u: %s\n", tw_pe(), what);
	exit(1);
}

static void pointers(void)
{
	tw_gptr p = tw_new_at(tw_pe(), 100);
	void *local = tw_gptr_local(p);

	need(!tw_is_null(p) && tw_gptr_pe(p) == tw_pe() && local && tw_same(tw_gptr_of(local), p),
	     "a pointer of its own");
	need(tw_marks(tw_marked(p, 5)) == 5 && tw_same(tw_unmarked(tw_marked(p, 5)), p) &&
	         tw_is_null(tw_marked(tw_null(), 3)),
	     "marks");
	need(!tw_gptr_local(tw_null()) && tw_is_null(tw_gptr_of(&p)), "no object");
	tw_delete(p);
}

/* Each PE writes a part of an object of the next one, in a sequence, and reads it back in another. */
static void sequences(void)
{
	char sent[3][100], got[3][100];
	tw_gptr p = tw_new_at((tw_pe() + 1) % tw_pes(), 100000);
	struct tw_part part[3];

	need(!tw_is_null(p), "a large object");
	memset(sent, (int)tw_pe() + 1, sizeof(sent));
	for (unsigned i = 0; i < 3; i++)
		part[i] = (struct tw_part){p, i * 30000, 100, sent[i]};
	tw_put_sequence(part, 3);
	for (unsigned i = 0; i < 3; i++)
		part[i].local = got[i];
	tw_get_sequence(part, 3);
	need(memcmp(sent, got, sizeof(got)) == 0, "a sequence");
	tw_get_nb(p, got, 100);
	tw_quiet();
	need(memcmp(sent, got, 100) == 0, "a read in the background");
	tw_delete(p);
}

/* What is put arrives though neither side calls: both look at their own memory alone. */
static void progress(void)
{
	unsigned last = tw_pes() - 1;
	time_t until = time(NULL) + 20;

	if (tw_pe() == 0 || tw_pe() == last) {
		tw_root_set(tw_pe() == last, tw_new_at(tw_pe(), 16));
		*(uint64_t *)tw_gptr_local(tw_root_get(tw_pe() == last)) = 0;
	}
	tw_control_barrier();
	tw_gptr object[2] = {tw_root_get(0), tw_root_get(1)};
	if (tw_pe() == 0)
		tw_put(object[1], &(uint64_t){1}, sizeof(uint64_t));
	if (tw_pe() == 0 || tw_pe() == last)
		while (!*(volatile uint64_t *)tw_gptr_local(object[tw_pe() == last]))
			need(time(NULL) < until, "a put that comes without another call");
	if (tw_pe() == last)
		tw_put(object[0], &(uint64_t){1}, sizeof(uint64_t));
	tw_control_barrier();
}

/* All add to one wide word at PE 0, and change one counted object by all forms: nothing is lost. */
static void wide(void)
{
	if (tw_pe() == 0) {
		tw_root_set(0, tw_aba_object_create(0).at);
		tw_root_set(1, tw_aba_object_create(tw_pes() - 1).at);
	}
	tw_control_barrier();
	tw_aba_object o = {tw_root_get(1)};
	tw_gptr at = tw_root_get(0), mine = tw_new(16);
	uint64_t changes = 0;
	for (unsigned i = 0; i < TIMES; i++) {
		tw_wide seen = tw_wide_load(at), next, was;
		do {
			next = (tw_wide){seen.low + 1, seen.high + 3};
			was = tw_wide_compare_exchange(at, seen, next);
			if (was.low == seen.low && was.high == seen.high)
				break;
			seen = was;
		} while (true);
		tw_aba a = tw_aba_object_read_aba(o);
		switch (i % 5) {
		case 0:
			changes += tw_aba_object_compare_exchange_aba(o, a, mine);
			break;
		case 1:
			changes += tw_aba_object_compare_exchange(o, a.object, mine);
			break;
		case 2:
			tw_aba_object_write_aba(o, (tw_aba){mine, 0}), changes++;
			break;
		case 3:
			tw_aba_object_exchange(o, mine), changes++;
			break;
		default:
			tw_aba_object_write(o, mine), changes++;
		}
		need(!tw_is_null(tw_aba_object_read(o)), "a counted object's pointer");
	}
	if (tw_pe() == 0)
		tw_root_set(2, tw_new_at(0, 16));
	tw_control_barrier();
	if (tw_pe() == 0)
		tw_word_store(tw_word_at(tw_root_get(2), 0), 0);
	tw_control_barrier();
	tw_word_fetch_add(tw_word_at(tw_root_get(2), 0), changes);
	tw_control_barrier();
	tw_wide sum = tw_wide_load(at);
	need(sum.low == TIMES * tw_pes() && sum.high == 3 * sum.low, "a wide word lost an addition");
	need(tw_aba_object_read_aba(o).count == tw_word_load(tw_word_at(tw_root_get(2), 0)),
	     "a change was not counted");
	tw_control_barrier();
}

/* PE 0 allocates in its own segment, the last PE frees: the memory is PE 0's again, and does not end. */
static void comes_home(void)
{
	enum { OBJECTS = 4096 };
	static tw_gptr object[OBJECTS];
	size_t bytes = 8000;

	for (unsigned round = 0; round < 8; round++) {
		if (tw_pe() == 0) {
			tw_gptr list = tw_new_at(0, sizeof(object));
			for (unsigned i = 0; i < OBJECTS; i++)
				need(!tw_is_null(object[i] = tw_new_at(0, bytes)), "memory did not come home");
			tw_put(list, object, sizeof(object));
			tw_root_set(3, list);
		}
		tw_control_barrier();
		if (tw_pe() == tw_pes() - 1) {
			tw_get(tw_root_get(3), object, sizeof(object));
			for (unsigned i = 0; i < OBJECTS; i++)
				tw_delete(object[i]);
			tw_quiet();
		}
		tw_control_barrier();
		if (tw_pe() == 0)
			tw_delete(tw_root_get(3));
	}
}

static void ends(void)
{
	need(tw_is_null(tw_new_at(tw_pe(), (size_t)1 << 40)), "more memory than there is");
	unsigned n = 0;
	while (!tw_is_null(tw_new_at(tw_pe(), 1 << 20)))
		n++;
	need(n > 10, "memory ends too early");
	need(tw_is_null(tw_new_at(tw_pe(), 1 << 20)), "memory came back by itself");
}

int main(int argc, char **argv)
{
	/* 80 MiB of each segment; PE 0 has no objects where that is asked for. */
	bool roles = argc > 1 && strcmp(argv[1], "roles") == 0;
	struct tw_pgas_options o = {.bytes = (size_t)80 << 20, .place = TW_PLACE_GLOBAL_RR};
	struct tw_pool *pool;

	if (roles)
		o = (struct tw_pgas_options){.memory_first = 1, .compute_pes = 2, .place = TW_PLACE_RAND, .seed = 3};
	if (tw_pgas_init(&o))
		return 2;
	need(tw_pgas_computes() == (!roles || tw_pe() < 2), "roles");
	for (unsigned i = 0; i < 100; i++) {
		tw_gptr p = tw_new(48);
		need(!tw_is_null(p) && (!roles || tw_gptr_pe(p) > 0), "placement");
		tw_delete(p);
	}
	if (roles) {
		need(tw_pe() != 0 || tw_is_null(tw_new_at(0, 16)), "an object where there is no memory");
	} else {
		need(tw_pool_create(40, &pool) == 0, "a pool");
		tw_gptr p = tw_pool_new_at(pool, tw_pes() - 1), q = tw_new_at(tw_pes() - 1, 48);
		tw_delete(p);
		need(!tw_same(p, q) && tw_same(tw_pool_new_at(pool, tw_pes() - 1), p), "a pool's memory is its own");
		need(tw_pool_stamp() != tw_pool_stamp(), "stamps");
		pointers();
		if (argc > 1 && strcmp(argv[1], "progress") == 0)
			progress();
		sequences();
		wide();
		comes_home();
		ends();
	}
	tw_control_barrier();
	if (tw_pe() == 0)
		printf("all is right\n");
	tw_pgas_finalize();
	return 0;
}
