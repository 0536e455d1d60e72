/* SPDX-License-Identifier: BSD-3-Clause */
/* atomics.c - the outcomes that C11's memory model forbids, for atomic operations.
 *
 * Words lie where plain variables are too: on one page, on pages of their own, beside bytes that others store to. */
#include "tests/litmus/litmus.h"

#include <sched.h>

#define PAGE      4096
#define PAGE_WORD (PAGE / sizeof(uint64_t))

/* The second of two words: on the first one's page in every third round. */
static uint64_t *word_other(uint64_t *first, unsigned round)
{
	return first + (round % 3 == 0 ? 1 : PAGE_WORD);
}

static void await(const uint64_t *word, uint64_t value, enum tw_order order)
{
	while (tw_atomic_load_u64(word, order) < value)
		sched_yield();
}

/* A: x = r; release: flag = r.  B: acquire: wait for flag = r; read x.  Forbidden: x < r.  The store is one of each
 * kind of operation in turn; x is on the flag's page, and on another. */
void lit_atomic_message(struct suite *s)
{
	uint64_t *mem = suite_shared(s, 3 * PAGE), *flag = mem;
	volatile uint64_t *near = mem + 1, *far = mem + 2 * PAGE_WORD;

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		if (s->me == suite_role(s, r, 0)) {
			enum tw_order order = r % 2 ? TW_RELEASE : TW_SEQ_CST;

			*near = *far = r;
			switch (r % 4) {
			case 0:
				tw_atomic_store_u64(flag, r, order);
				break;
			case 1:
				tw_atomic_exchange_u64(flag, r, order);
				break;
			case 2:
				tw_atomic_fetch_add_u64(flag, 1, order);
				break;
			default:
				tw_atomic_compare_exchange_u64(flag, r - 1, r, order);
			}
		} else if (s->me == suite_role(s, r, 1)) {
			mem[2 + s->me] = r;
			await(flag, r, r % 2 ? TW_SEQ_CST : TW_ACQUIRE);
			EXPECT(s, *near == r && *far == r && mem[2 + s->me] == r,
			       "round %u: x beside is %llu, x far is %llu, own word is %llu", r,
			       (unsigned long long)*near, (unsigned long long)*far, (unsigned long long)mem[2 + s->me]);
		}
		tw_barrier_all();
	}
	suite_free(s, mem);
}

/* A: x = r; release: flag = r.  B: relaxed: flag += rounds, once it is r.  C: acquire: wait for B's value; read x.
 * Forbidden: x < r (release sequence). */
void lit_atomic_release_sequence(struct suite *s)
{
	uint64_t *mem = suite_shared(s, 2 * PAGE), *flag = mem;
	volatile uint64_t *x = mem + PAGE_WORD;

	for (unsigned r = 1; suite_needs(s, 3, 1) && r <= s->rounds; r++) {
		if (s->me == suite_role(s, r, 0)) {
			*x = r;
			tw_atomic_store_u64(flag, 2 * r, TW_RELEASE);
		} else if (s->me == suite_role(s, r, 1)) {
			await(flag, 2 * r, TW_RELAXED);
			tw_atomic_fetch_add_u64(flag, 1, TW_RELAXED);
		} else if (s->me == suite_role(s, r, 2)) {
			await(flag, 2 * r + 1, TW_ACQUIRE);
			EXPECT(s, *x == r, "round %u: x is %llu", r, (unsigned long long)*x);
		}
		tw_barrier_all();
	}
	suite_free(s, mem);
}

/* Two processors, each with its word: store r to it, and load the other one, in that order or the other. */
static void buffering(struct suite *s, bool loads_first)
{
	uint64_t *x = suite_shared(s, 3 * PAGE);
	volatile uint64_t *seen = x + 2 * PAGE_WORD;

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		uint64_t *y = word_other(x, r);

		for (unsigned part = 0; part < 2; part++) {
			if (s->me != suite_role(s, r, part))
				continue;
			if (loads_first)
				seen[part] = tw_atomic_load_u64(part ? x : y, TW_ACQUIRE);
			tw_atomic_store_u64(part ? y : x, r, loads_first ? TW_RELEASE : TW_SEQ_CST);
			if (!loads_first)
				seen[part] = tw_atomic_load_u64(part ? x : y, TW_SEQ_CST);
		}
		tw_barrier_all();
		unsigned new = (seen[0] == r) + (seen[1] == r);
		EXPECT(s, loads_first ? new < 2 : new > 0, "round %u: they read %llu and %llu", r,
		       (unsigned long long)seen[0], (unsigned long long)seen[1]);
		tw_barrier_all();
	}
	suite_free(s, x);
}

/* A: x = r; read y.  B: y = r; read x; sequentially consistent.  Forbidden: both old. */
void lit_atomic_store_buffering(struct suite *s)
{
	buffering(s, false);
}

/* A: acquire: read y; release: x = r.  B: acquire: read x; release: y = r.  Forbidden: both new. */
void lit_atomic_load_buffering(struct suite *s)
{
	buffering(s, true);
}

/* A: x = r.  B: y = r.  C: reads x, y.  D: reads y, x; sequentially consistent.  Forbidden: C sees x new and y old
 * while D sees y new and x old. */
void lit_atomic_two_readers(struct suite *s)
{
	uint64_t *x = suite_shared(s, 3 * PAGE);
	volatile uint64_t *seen = x + 2 * PAGE_WORD;

	for (unsigned r = 1; suite_needs(s, 4, 1) && r <= s->rounds; r++) {
		uint64_t *y = word_other(x, r);

		if (s->me == suite_role(s, r, 0))
			tw_atomic_store_u64(x, r, TW_SEQ_CST);
		if (s->me == suite_role(s, r, 1))
			tw_atomic_store_u64(y, r, TW_SEQ_CST);
		for (unsigned part = 0; part < 2; part++)
			if (s->me == suite_role(s, r, 2 + part)) {
				seen[2 * part] = tw_atomic_load_u64(part ? y : x, TW_SEQ_CST);
				seen[2 * part + 1] = tw_atomic_load_u64(part ? x : y, TW_SEQ_CST);
			}
		tw_barrier_all();
		EXPECT(s, !(seen[0] == r && seen[1] < r && seen[2] == r && seen[3] < r),
		       "round %u: the readers saw the two stores in different orders", r);
		tw_barrier_all();
	}
	suite_free(s, x);
}

/* One adds, all others read, relaxed.  Forbidden: a smaller value after a greater one; at the end, another one than the
 * sum. */
void lit_atomic_coherence(struct suite *s)
{
	uint64_t *mem = suite_shared(s, PAGE);

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		unsigned adds = suite_role(s, r, 0);
		uint64_t last = 0, base = (r - 1) * 8ull;

		for (unsigned i = 0; i < 8; i++) {
			uint64_t now = s->me == adds ? tw_atomic_fetch_add_u64(mem, 1, TW_RELAXED)
			                             : tw_atomic_load_u64(mem, TW_RELAXED);
			EXPECT(s, now >= last && now >= base && now <= base + 8, "round %u: %llu after %llu", r,
			       (unsigned long long)now, (unsigned long long)last);
			EXPECT(s, s->me != adds || now == base + i, "round %u: the only one that adds found %llu", r,
			       (unsigned long long)now);
			last = now;
		}
		tw_barrier_all();
		EXPECT(s, *(volatile uint64_t *)mem == base + 8, "round %u: the sum is %llu", r,
		       (unsigned long long)*mem);
		tw_barrier_all();
	}
	suite_free(s, mem);
}

/* All add to both halves of one word, and to all of it.  Forbidden: a lost addition. */
void lit_atomic_halves(struct suite *s)
{
	union {
		uint64_t all;
		uint32_t half[2];
	} *word = suite_shared(s, PAGE);

	for (unsigned r = 1; r <= s->rounds; r++) {
		tw_atomic_fetch_add_u32(&word->half[r % 2], 1, TW_RELAXED);
		tw_atomic_add_u64(&word->all, 1ull << 32 | 1);
		tw_atomic_fetch_add_u32(&word->half[(r + 1) % 2], 1, TW_ACQ_REL);
	}
	tw_barrier_all();
	uint64_t sum = 2ull * s->rounds * s->count;
	EXPECT(s, word->half[0] == sum && word->half[1] == sum, "the halves are %u and %u, not %llu", word->half[0],
	       word->half[1], (unsigned long long)sum);
	suite_free(s, word);
}

/* Two exchange a word between two values whose bytes differ apart from each other; the others load it, and all store to
 * bytes of their own beside it.  Forbidden: a mixture of the values. */
void lit_atomic_whole(struct suite *s)
{
	uint8_t *page = suite_shared(s, PAGE);
	uint64_t *word = (uint64_t *)(void *)(page + PAGE / 2);

	for (unsigned r = 1; r <= s->rounds; r++) {
		page[s->me] = suite_value(r, s->me);
		for (unsigned i = 0; i < 64; i++) {
			uint64_t seen, value = i % 2 ? 0x1000000718000001 : 0;
			if (s->me == suite_role(s, r, 0) || s->me == suite_role(s, r, 1))
				seen = tw_atomic_exchange_u64(word, value, TW_RELAXED);
			else
				seen = tw_atomic_load_u64(word, i % 3 ? TW_RELAXED : TW_ACQUIRE);
			EXPECT(s, seen == 0 || seen == 0x1000000718000001, "round %u: the word is %llx", r,
			       (unsigned long long)seen);
		}
		tw_barrier_all();
	}
	suite_free(s, page);
}

/* A adds without a result, to words of many pages, and releases.  B acquires, then loads them.  Forbidden: a lost
 * addition; A loads less than it has added. */
void lit_atomic_posted(struct suite *s)
{
	uint64_t *mem = suite_shared(s, 9 * PAGE), *flag = mem + 8 * PAGE_WORD;

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		if (s->me == suite_role(s, r, 0)) {
			for (unsigned i = 0; i < 64; i++)
				tw_atomic_add_u64(mem + i % 8 * PAGE_WORD + i / 8, 1);
			if (r % 2)
				EXPECT(s, ((volatile uint64_t *)mem)[r % 8 * PAGE_WORD] == r,
				       "round %u: own word is %llu", r, (unsigned long long)mem[r % 8 * PAGE_WORD]);
			tw_atomic_store_u64(flag, r, TW_RELEASE);
		} else if (s->me == suite_role(s, r, 1)) {
			await(flag, r, TW_ACQUIRE);
			for (unsigned i = 0; i < 64; i++) {
				uint64_t *word = mem + i % 8 * PAGE_WORD + i / 8;
				uint64_t seen =
				    i % 3 ? *(volatile uint64_t *)word : tw_atomic_load_u64(word, TW_RELAXED);
				EXPECT(s, seen == r, "round %u: word %u is %llu", r, i, (unsigned long long)seen);
			}
		}
		tw_barrier_all();
	}
	suite_free(s, mem);
}

/* All operate on one word of a page, and each stores to bytes of its own around it, first the only one that uses the
 * page; between rounds all read all bytes.  Forbidden: any byte but the last one stored. */
void lit_atomic_beside(struct suite *s)
{
	uint8_t *page = suite_shared(s, PAGE);
	uint64_t *word = (uint64_t *)(void *)(page + PAGE / 2);
	unsigned each = (PAGE / 2) / s->count;
	uint8_t *own = page + s->me * each;

	for (unsigned r = 1; r <= s->rounds; r++) {
		if (r % 4 == 0 && s->me == suite_role(s, r, 0)) /* exclusive mode */
			for (unsigned i = 0; i < 20; i++)
				((volatile uint8_t *)own)[i % each] = (uint8_t)i;
		if (r % 4 == 0)
			tw_barrier_all();
		for (unsigned i = 0; i < each; i += 37) {
			own[i] = suite_value(r, i);
			tw_atomic_fetch_add_u64(word, 1, i % 2 ? TW_RELAXED : TW_SEQ_CST);
			EXPECT(s, own[i] == suite_value(r, i), "round %u: own byte %u is %#x", r, i, own[i]);
		}
		tw_barrier_all();
		for (unsigned q = 0; q < s->count; q++)
			for (unsigned i = 0; i < each; i += 37)
				EXPECT(s, page[q * each + i] == suite_value(r, i), "round %u: byte %u of %u is %#x", r,
				       i, q, page[q * each + i]);
		uint64_t sum = (uint64_t)r * s->count * ((each + 36) / 37);
		EXPECT(s, *word == sum, "round %u: the word is %llu, not %llu", r, (unsigned long long)*word,
		       (unsigned long long)sum);
		tw_barrier_all();
	}
	suite_free(s, page);
}
