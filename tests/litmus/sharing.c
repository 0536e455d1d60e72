/* SPDX-License-Identifier: BSD-3-Clause */
/* sharing.c - several writers and readers of one page, down to the byte. */
#include "tests/litmus/litmus.h"

#include <sched.h>

#define PAGE 4096

/* Byte i belongs to processor i mod n: all write theirs; barrier; all read all.  Forbidden: any old byte. */
void lit_false_sharing(struct suite *s)
{
	enum { BYTES = 2 * PAGE };
	volatile uint8_t *page = suite_shared(s, BYTES);
	unsigned rounds = s->rounds / 4 + 1;

	for (unsigned r = 1; r <= rounds; r++) {
		for (unsigned i = s->me; i < BYTES; i += s->count)
			page[i] = suite_value(r, i);
		tw_barrier_all();
		for (unsigned i = 0; i < BYTES; i++)
			EXPECT(s, page[i] == suite_value(r, i), "round %u: byte %u of processor %u is %#x, not %#x", r,
			       i, i % s->count, page[i], suite_value(r, i));
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)page);
}

/* As false_sharing with one barrier a round: bytes written in even and odd rounds are different ones, and they change
 * their owner every time. */
void lit_false_sharing_owners(struct suite *s)
{
	enum { BYTES = PAGE };
	volatile uint8_t *page = suite_shared(s, BYTES);
	unsigned rounds = s->rounds / 2 + 2;

	for (unsigned r = 1; r <= rounds; r++) {
		for (unsigned i = 0; i < BYTES; i++) {
			unsigned owner = (i / 2 + r / 2) % s->count;

			if (i % 2 == r % 2 && owner == s->me)
				page[i] = suite_value(r, i);
			else if (i % 2 != r % 2 && r > 1)
				EXPECT(s, page[i] == suite_value(r - 1, i), "round %u: byte %u is %#x, not %#x", r, i,
				       page[i], suite_value(r - 1, i));
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)page);
}

/* One processor writes words whose lower three bytes change at once; another reads them meanwhile, without any
 * synchronization.  Forbidden: a value that was not written. */
void lit_whole_words(struct suite *s)
{
	enum { WORDS = 64, LOOKS = 200 };
	static const uint64_t value[2] = {0xffff, 0x10000};
	volatile uint64_t *word = suite_shared(s, WORDS * 8);
	tw_lock_t lock = suite_lock(s);

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds / 4 + 1; r++) {
		bool writes = s->me == suite_role(s, r, 0), looks = s->me == suite_role(s, r, 1);

		for (unsigned i = 0; writes && i < 8; i++) {
			tw_lock_acquire(lock);
			for (unsigned w = 0; w < WORDS; w++)
				word[w] = value[i % 2];
			tw_lock_release(lock);
		}
		for (unsigned i = 0; looks && i < LOOKS; i++)
			for (unsigned w = 0; w < WORDS; w++) {
				uint64_t got = word[w];
				EXPECT(s, got == 0 || got == value[0] || got == value[1], "round %u: word %u is %#llx",
				       r, w, (unsigned long long)got);
			}
		tw_barrier_all();
	}
	suite_unlock(s, lock);
	suite_free(s, (void *)(uintptr_t)word);
}

/* Eight pages that all read in every round, and one processor writes one word of now and then.  Forbidden: old
 * words. */
void lit_read_mostly(struct suite *s)
{
	enum { PAGES = 8, WORDS = PAGES * PAGE / 8 };
	volatile uint64_t *mem = suite_shared(s, PAGES * PAGE);
	uint64_t now[PAGES] = {0};

	for (unsigned r = 1; r <= s->rounds; r++) {
		unsigned page = r % PAGES;

		if (r % 3 == 0) {
			now[page] = r;
			if (s->me == suite_role(s, r, 0))
				mem[page * PAGE / 8 + page * 3] = r;
		}
		tw_barrier_all();
		for (unsigned p = 0; p < PAGES; p++)
			EXPECT(s, mem[p * PAGE / 8 + p * 3] == now[p], "round %u: page %u has %llu, not %llu", r, p,
			       (unsigned long long)mem[p * PAGE / 8 + p * 3], (unsigned long long)now[p]);
		EXPECT(s, mem[r * 17 % WORDS] == 0 || r * 17 % WORDS % (PAGE / 8) < 3 * PAGES,
		       "round %u: a word nobody wrote changed", r);
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* Every page's home is known; its home's processors write while the others have copies, then another node writes and
 * the home reads.  Forbidden: old values, on either side. */
void lit_home_writes(struct suite *s)
{
	volatile uint64_t *mem;
	size_t bytes = (size_t)s->nodes * 64 * 1024; /* a page of any size for each node */

	mem = suite_shared(s, bytes);
	if (s->me == 0)
		for (unsigned n = 0; n < s->nodes; n++)
			tw_home_set((void *)(uintptr_t)(mem + (size_t)n * 8192), 65536, (int)n);
	tw_barrier_all();
	for (unsigned r = 1; r <= s->rounds; r++) {
		unsigned writer_node = r % 2 ? s->node : (s->node + 1) % s->nodes, local = s->me % s->locals;
		volatile uint64_t *mine = mem + (size_t)writer_node * 8192 + local;

		*mine = r; /* odd rounds: own home; even rounds: the next node's */
		tw_barrier_all();
		for (unsigned n = 0; n < s->nodes; n++)
			for (unsigned l = 0; l < s->locals; l++)
				EXPECT(s, mem[(size_t)n * 8192 + l] == r, "round %u: word %u of node %u is %llu", r, l,
				       n, (unsigned long long)mem[(size_t)n * 8192 + l]);
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* A has a fresh page to itself, writes x, sets a flag, and goes on writing other bytes until B answers.  B: read x.
 * Forbidden: B's x old; A's other bytes lost, here or at B in the end. */
void lit_exclusive_reader(struct suite *s)
{
	tw_flag_t ready = suite_flag(s), done = suite_flag(s);

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds / 2 + 1; r++) {
		volatile uint8_t *page = suite_shared(s, PAGE);
		unsigned a = suite_role(s, r, 0), b = suite_role(s, r, 1), last = 0;

		if (s->me == a) {
			for (unsigned i = 0; i < PAGE / 2; i++)
				page[i] = suite_value(r, i);
			tw_flag_set(ready, r);
			for (last = 1; tw_flag_get(done) < r && last < 100000; last++)
				page[PAGE / 2 + last % (PAGE / 2)] = (uint8_t)last;
			for (unsigned i = 0; i < PAGE / 2; i++)
				EXPECT(s, page[i] == suite_value(r, i), "round %u: A's byte %u became %#x", r, i,
				       page[i]);
		} else if (s->me == b) {
			tw_flag_wait(ready, r);
			for (unsigned i = 0; i < PAGE / 2; i++)
				EXPECT(s, page[i] == suite_value(r, i), "round %u: B's byte %u is %#x", r, i, page[i]);
			tw_flag_set(done, r);
		}
		tw_bcast(&last, sizeof(last), (int)a);
		tw_barrier_all();
		for (unsigned k = last > PAGE / 2 ? last - PAGE / 2 : 1; k < last; k++)
			EXPECT(s, page[PAGE / 2 + k % (PAGE / 2)] == (uint8_t)k,
			       "round %u: write %u of %u was lost: %#x", r, k, last - 1,
			       page[PAGE / 2 + k % (PAGE / 2)]);
		suite_free(s, (void *)(uintptr_t)page);
	}
	suite_unflag(s, ready);
	suite_unflag(s, done);
}

/* A writes fresh pages of many homes, alone; barrier; all nodes read them at once, each from another page on.  The
 * first reader of a page ends A's exclusive mode; others read while that is in progress.  Forbidden: an old word. */
void lit_exclusive_crowd(struct suite *s)
{
	enum { UNITS = 16, WORDS = 8192, PROBES = 5 }; /* units of the largest page */
	const unsigned rounds = s->rounds < 20 ? 2 * s->rounds + 2 : 40;
	volatile uint64_t *all = NULL;

	if (s->me == 0)
		all = tw_malloc((size_t)rounds * UNITS * WORDS * 8); /* not zeroed: untouched */
	tw_bcast(&all, sizeof(all), 0);
	if (!all) {
		suite_bad(s, "no memory");
		return;
	}
	for (unsigned r = 0; r < rounds; r++) {
		volatile uint64_t *mem = all + (size_t)r * UNITS * WORDS;

		if (s->me == suite_role(s, r, 0))
			for (unsigned i = 0; i < UNITS * PROBES; i++) {
				if (i % PROBES == 0)
					tw_home_set((void *)(uintptr_t)(mem + i / PROBES * WORDS), WORDS * 8,
					            (int)(i / PROBES % s->nodes));
				mem[i / PROBES * WORDS + i % PROBES * 97] = r + 1;
			}
		tw_barrier_all();
		for (unsigned k = 0; k < UNITS * PROBES; k++) {
			unsigned i = (k + s->me * 3 * PROBES) % (UNITS * PROBES);
			uint64_t found = mem[i / PROBES * WORDS + i % PROBES * 97];

			EXPECT(s, found == r + 1, "round %u: unit %u word %u is %llu, not %u", r, i / PROBES,
			       i % PROBES * 97, (unsigned long long)found, r + 1);
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)all);
}

/* As exclusive_reader, but B and all others write bytes of their own into the page as well. */
void lit_exclusive_writer(struct suite *s)
{
	tw_flag_t ready = suite_flag(s);

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds / 2 + 1; r++) {
		volatile uint8_t *page = suite_shared(s, PAGE);
		unsigned a = suite_role(s, r, 0);

		if (s->me == a) {
			page[0] = suite_value(r, 0);
			tw_flag_set(ready, r);
		} else {
			tw_flag_wait(ready, r);
			EXPECT(s, page[0] == suite_value(r, 0), "round %u: x is %#x", r, page[0]);
		}
		for (unsigned k = 1; k < PAGE / s->count; k++) {
			page[k * s->count + s->me] = suite_value(r, k);
			if (k % 64 == 0)
				sched_yield();
		}
		tw_barrier_all();
		for (unsigned i = s->count; i < PAGE / s->count * s->count; i++)
			EXPECT(s, page[i] == suite_value(r, i / s->count), "round %u: byte %u of processor %u is %#x",
			       r, i, i % s->count, page[i]);
		suite_free(s, (void *)(uintptr_t)page);
	}
	suite_unflag(s, ready);
}

/* All write own bytes of a page without release, and see others' bytes by acquires meanwhile.  The page is fetched
 * under the processor's own unreleased writes, and under its neighbours'.  Forbidden: an own byte lost; an old byte of
 * the one whose flag was waited for. */
void lit_own_writes(struct suite *s)
{
	volatile uint8_t *page = suite_shared(s, PAGE);
	tw_flag_t flag = suite_flag(s);

	for (unsigned r = 1; r <= s->rounds; r++) {
		unsigned a = suite_role(s, r, 0);

		page[s->me] = suite_value(r, s->me); /* dirty before the acquire */
		if (s->me == a) {
			page[1024] = suite_value(r, 1024);
			tw_flag_set(flag, r);
		} else {
			tw_flag_wait(flag, r);
		}
		EXPECT(s, page[1024] == suite_value(r, 1024), "round %u: x is %#x", r, page[1024]);
		EXPECT(s, page[s->me] == suite_value(r, s->me), "round %u: own byte became %#x", r, page[s->me]);
		page[2048 + s->me] = suite_value(r, s->me); /* and after it */
		tw_barrier_all();
		for (unsigned q = 0; q < s->count; q++)
			EXPECT(s, page[q] == suite_value(r, q) && page[2048 + q] == suite_value(r, q),
			       "round %u: bytes of processor %u are %#x and %#x", r, q, page[q], page[2048 + q]);
		tw_barrier_all();
	}
	suite_unflag(s, flag);
	suite_free(s, (void *)(uintptr_t)page);
}

/* A processor writes a passing value and then the old one again, while neighbours on its node release: the passing
 * value may go out, the last one must follow.  Forbidden: anybody finds the passing value after the barrier. */
void lit_restored_value(struct suite *s)
{
	volatile uint8_t *page = suite_shared(s, PAGE);
	tw_lock_t lock = suite_lock(s);

	for (unsigned r = 1; r <= s->rounds; r++) {
		uint8_t old = page[s->me];

		page[s->me] = (uint8_t)(old + 100);
		if ((r + s->me) % 3 == 0) {
			tw_lock_acquire(lock);
			page[PAGE - 1]++;
			tw_lock_release(lock);
		} else {
			sched_yield();
		}
		page[s->me] = r % 4 ? old : (uint8_t)(old + 1);
		tw_barrier_all();
		for (unsigned q = 0; q < s->count; q++)
			EXPECT(s, page[q] == r / 4, "round %u: byte of processor %u is %u, not %u", r, q, page[q],
			       r / 4);
		tw_barrier_all();
	}
	suite_unlock(s, lock);
	suite_free(s, (void *)(uintptr_t)page);
}
