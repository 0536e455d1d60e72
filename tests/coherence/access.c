/* SPDX-License-Identifier: BSD-3-Clause */
/* access.c - every width and place of an access. */
#include "tests/coherence/cases.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define PAGE 4096

static void coh_fence(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Numbers of processors and nodes agree with each other and with the rule in tweed.h. */
void coh_identity(struct suite *s)
{
	uint32_t *seen = suite_shared(s, s->count * sizeof(*seen));

	EXPECT(s, tw_id() >= 0 && tw_id() < tw_count(), "tw_id() is %d of %d", tw_id(), tw_count());
	EXPECT(s, tw_count() % tw_nodes() == 0, "%d processors on %d nodes", tw_count(), tw_nodes());
	EXPECT(s, tw_node() == tw_id() / (tw_count() / tw_nodes()), "tw_node() is %d", tw_node());
	seen[s->me] = s->me + 1;
	tw_barrier_all();
	for (unsigned q = 0; q < s->count; q++)
		EXPECT(s, seen[q] == q + 1, "nobody has number %u", q);
	suite_free(s, seen);
}

/* Accesses of one instruction at any address. */
union __attribute__((packed)) coh_any {
	uint8_t b;
	uint16_t w;
	uint32_t l;
	uint64_t q;
};

static void coh_store(volatile union coh_any *at, unsigned width, uint64_t value)
{
	switch (width) {
	case 1:
		at->b = (uint8_t)value;
		break;
	case 2:
		at->w = (uint16_t)value;
		break;
	case 4:
		at->l = (uint32_t)value;
		break;
	default:
		at->q = value;
	}
}

static uint64_t coh_load(const volatile union coh_any *at, unsigned width)
{
	return width == 1 ? at->b : width == 2 ? at->w : width == 4 ? at->l : at->q;
}

/* Stores of each width at each offset of a small window around a page's end; read by all in each width. */
void coh_widths(struct suite *s)
{
	uint8_t *mem = suite_shared(s, 4 * PAGE), *window = mem + 2 * PAGE - 12, expect[32] = {0};

	for (unsigned turn = 0; turn < 4 * 24; turn++) {
		unsigned width = 1u << turn % 4, at = turn / 4;
		uint64_t value = 0x0123456789abcdefull * (turn + 1), found, right = 0;

		memcpy(expect + at, &value, width); /* little end first */
		if (s->me == turn % s->count)
			coh_store((void *)(window + at), width, value);
		tw_barrier_all();
		memcpy(&right, expect + at, width);
		found = coh_load((void *)(window + at), width);
		EXPECT(s, found == right, "%u bytes at %u are %#llx, not %#llx", width, at, (unsigned long long)found,
		       (unsigned long long)right);
		EXPECT(s, memcmp(window, expect, sizeof(expect)) == 0, "window differs after %u bytes at %u", width,
		       at);
		tw_barrier_all();
	}
	suite_free(s, mem);
}

/* Objects that lie across the end of every page of a row: the two halves fault apart. */
void coh_page_crossing(struct suite *s)
{
	enum { PAGES = 20, LEN = 100 };
	uint8_t *mem = suite_shared(s, (PAGES + 1) * PAGE);

	for (unsigned r = 1; r <= 6; r++) {
		for (unsigned p = 1; p <= PAGES; p++)
			if ((p + r) % s->count == s->me)
				memset(mem + p * PAGE - LEN / 2, (int)(p * r), LEN);
		tw_barrier_all();
		for (unsigned p = 1; p <= PAGES; p++)
			for (unsigned i = 0; i < LEN; i++) {
				uint8_t found = mem[p * PAGE - LEN / 2 + i];
				EXPECT(s, found == (uint8_t)(p * r), "round %u: byte %u at the end of page %u is %#x",
				       r, i, p, found);
			}
		tw_barrier_all();
	}
	suite_free(s, mem);
}

/* One page goes through all that can happen to it: read by all, written by one, by another, by all, by one alone. */
void coh_page_cycle(struct suite *s)
{
	volatile uint32_t *page = suite_shared(s, PAGE);

	for (unsigned r = 1; r <= 4 * s->count; r++) {
		switch (r % 4) {
		case 0: /* all write */
			page[s->me] = r;
			tw_barrier_all();
			for (unsigned q = 0; q < s->count; q++)
				EXPECT(s, page[q] == r, "round %u: word %u is %u", r, q, page[q]);
			break;
		case 1: /* one writes, all read */
			if (s->me == r / 4 % s->count)
				page[512] = r;
			tw_barrier_all();
			EXPECT(s, page[512] == r, "round %u: word 512 is %u", r, page[512]);
			break;
		case 2: /* another writes, and only it reads */
			if (s->me == (r / 4 + 1) % s->count) {
				EXPECT(s, page[512] == r - 1, "round %u: word 512 is %u", r, page[512]);
				page[512] = r;
				coh_fence();
				EXPECT(s, page[512] == r, "round %u: word 512 is %u", r, page[512]);
			}
			tw_barrier_all();
			break;
		default: /* it writes again and again, with barriers between: exclusive */
			for (unsigned i = 0; i < 5; i++) {
				if (s->me == (r / 4 + 1) % s->count)
					page[512] = r + i;
				tw_barrier_all();
			}
			EXPECT(s, page[512] == r + 4, "round %u: word 512 is %u", r, page[512]);
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)page);
}

/* A long array, written and read in order, forward and backward. */
void coh_sequential(struct suite *s)
{
	enum { WORDS = 200 * PAGE / 8 };
	volatile uint64_t *mem = suite_shared(s, WORDS * 8);

	for (unsigned r = 1; r <= 3; r++) {
		size_t first = (size_t)WORDS * s->me / s->count, end = (size_t)WORDS * (s->me + 1) / s->count;

		for (size_t i = first; i < end; i++)
			mem[i] = i * r;
		tw_barrier_all();
		for (size_t k = 0; k < WORDS; k++) {
			size_t i = (r + s->me) % 2 ? k : WORDS - 1 - k;

			if (mem[i] != i * r) {
				suite_bad(s, "round %u: word %zu is %llu", r, i, (unsigned long long)mem[i]);
				break;
			}
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* The same with strides from a word to several pages: no order that a prefetcher could like. */
void coh_strided(struct suite *s)
{
	enum { WORDS = 64 * PAGE / 8 };
	static const unsigned strides[] = {1, 3, 511, 512, 513, 1024, 2047, 5000};
	volatile uint64_t *mem = suite_shared(s, WORDS * 8);
	static uint64_t expect[WORDS];

	for (unsigned r = 0; r < 8; r++) {
		unsigned n = 0;

		for (unsigned i = 0; i < WORDS; i += strides[r], n++) {
			expect[i] = (uint64_t)i << 8 | r;
			if (n % s->count == s->me)
				mem[i] = expect[i];
		}
		tw_barrier_all();
		for (unsigned i = s->me; i < WORDS; i += strides[7 - r])
			EXPECT(s, mem[i] == expect[i], "round %u: word %u is %#llx, not %#llx", r, i,
			       (unsigned long long)mem[i], (unsigned long long)expect[i]);
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* A word here and there in 4 GiB: untouched memory costs nothing, and untouched words are zero. */
void coh_sparse(struct suite *s)
{
	enum { POINTS = 128 };
	size_t bytes = (size_t)4 << 30, step = bytes / POINTS;
	char *mem = NULL;

	if (s->me == 0)
		mem = tw_malloc(bytes);
	tw_bcast(&mem, sizeof(mem), 0);
	if (!mem) {
		s->skipped = "TWEED_MEMORY has no 4 GiB";
		return;
	}
	for (unsigned i = s->me; i < POINTS; i += s->count)
		*(uint64_t *)(void *)(mem + i * step + i * 8 % PAGE) = i + 1;
	tw_barrier_all();
	for (unsigned i = 0; i < POINTS; i++) {
		uint64_t found = *(uint64_t *)(void *)(mem + i * step + i * 8 % PAGE);
		EXPECT(s, found == i + 1, "point %u is %llu", i, (unsigned long long)found);
	}
	suite_free(s, mem);
}

/* One word in each of a thousand pages, by each processor: many pages per release. */
void coh_one_word_many_pages(struct suite *s)
{
	enum { PAGES = 1024 };

	volatile uint32_t *mem = suite_shared(s, PAGES * PAGE);

	for (unsigned r = 1; r <= 2; r++) {
		for (unsigned p = 0; p < PAGES; p++)
			mem[p * PAGE / 4 + s->me] = r * 4096 + p;
		tw_barrier_all();
		for (unsigned p = s->me; p < PAGES; p += 1 + s->count / 4)
			for (unsigned q = 0; q < s->count; q++)
				EXPECT(s, mem[p * PAGE / 4 + q] == r * 4096 + p, "round %u: page %u word %u is %u", r,
				       p, q, mem[p * PAGE / 4 + q]);
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* All race to touch fresh pages first, far apart: each page's directory words are fresh memory too, so publishing is
 * slow and claims of several nodes overlap.  A home that takes its claim back must not hide another node's. */
void coh_first_touch_race(struct suite *s)
{
	enum { PAGES = 512, APART = 64 };
	uint32_t *mem = NULL;

	if (s->me == 0)
		mem = tw_malloc((size_t)PAGES * APART * PAGE);
	tw_bcast(&mem, sizeof(mem), 0);
	if (!mem) {
		s->skipped = "TWEED_MEMORY has no 128 MiB";
		return;
	}
	for (unsigned p = 0; p < PAGES; p++)
		mem[(size_t)p * APART * PAGE / 4 + s->me] = p + 1;
	tw_barrier_all();
	for (unsigned p = 0; p < PAGES; p++)
		for (unsigned q = 0; q < s->count; q++) {
			uint32_t found = mem[(size_t)p * APART * PAGE / 4 + q];
			EXPECT(s, found == p + 1, "page %u word %u is %u", p, q, found);
		}
	suite_free(s, mem);
}

/* A notice is in flight when its receiver becomes the page's only user, and arrives after the page was fetched: the
 * page, written since, must not be fetched again.  Node 1 leaves the page with a last flush.  Node 2's writer, which
 * does not synchronize meanwhile (hence the rests), writes next; its neighbour synchronizes and reads.  The home is
 * node 0. */
void coh_claim_under_notice(struct suite *s)
{
	enum { ROUNDS = 4 };
	const struct timespec rest = {.tv_nsec = 10 * 1000 * 1000}, long_rest = {.tv_nsec = 40 * 1000 * 1000};
	tw_flag_t flag;
	volatile uint32_t *mem = NULL;
	bool leaver = s->me == s->locals, writer = s->me == 2 * s->locals, reader = s->me == 2 * s->locals + 1;

	if (s->locals < 2 || s->nodes < 3) {
		s->skipped = "needs 3 nodes of 2 processors";
		return;
	}
	flag = suite_flag(s);
	if (s->me == 0) {
		mem = tw_aligned_alloc(PAGE, ROUNDS * PAGE);
		if (mem)
			tw_home_set((void *)(uintptr_t)mem, ROUNDS * PAGE, 0);
	}
	tw_bcast(&mem, sizeof(mem), 0);
	for (unsigned r = 0; mem && r < ROUNDS; r++) {
		volatile uint32_t *page = mem + r * PAGE / 4;
		if (leaver) {
			page[0] = 1;
			tw_flag_set(flag, 4 * r + 1);
			nanosleep(&rest, NULL);
			page[2] = 1;
			tw_flag_wait(flag, 4 * r + 2);
			tw_flag_set(flag, 4 * r + 3);
		} else if (writer) {
			tw_flag_wait(flag, 4 * r + 1);
			EXPECT(s, page[0] == 1, "round %u: word 0 is %u", r, page[0]);
			page[1] = 1;
			tw_flag_set(flag, 4 * r + 2);
			nanosleep(&long_rest, NULL);
			page[1] = 2;
			tw_flag_set(flag, 4 * r + 4);
		} else if (reader) {
			tw_flag_wait(flag, 4 * r + 4);
			EXPECT(s, page[1] == 2, "round %u: word 1 is %u, its neighbour wrote 2", r, page[1]);
		}
		tw_barrier_all();
		EXPECT(s, page[0] == 1 && page[1] == 2 && page[2] == 1, "round %u: words %u %u %u", r, page[0], page[1],
		       page[2]);
		tw_barrier_all();
	}
	suite_unflag(s, flag);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* Each in turn writes while all others keep copies: every node invalidates and fetches in every step. */
void coh_many_readers_chain(struct suite *s)
{
	volatile uint32_t *page = suite_shared(s, PAGE);

	for (unsigned r = 0; r < 3 * s->count; r++) {
		if (s->me == r % s->count)
			page[r % 7] = r + 1;
		tw_barrier_all();
		for (unsigned i = 0; i < 7; i++) {
			unsigned last = r >= i ? r - (r - i) % 7 : 0; /* last round that wrote word i */
			uint32_t expect = r >= i ? last + 1 : 0;
			EXPECT(s, page[i] == expect, "round %u: word %u is %u, not %u", r, i, page[i], expect);
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)page);
}

/* Processors take turns at the pages of a matrix, by rows and by columns, for some intervals each; then the turns
 * grow longer, and shorter again. */
void coh_turns(struct suite *s)
{
	enum { ROUNDS = 8, WORDS = 8 };
	volatile uint32_t *mem = suite_shared(s, s->count * s->count * PAGE);

	for (unsigned turn = 0; turn < 2 * ROUNDS; turn++) {
		for (unsigned w = 0; w < WORDS; w++) {
			for (unsigned k = 0; k < s->count; k++) {
				unsigned page = turn % 2 ? k * s->count + s->me : s->me * s->count + k;
				volatile uint32_t *word = mem + page * PAGE / 4 + w;
				EXPECT(s, *word == turn, "turn %u: word %u of page %u is %u", turn, w, page, *word);
				*word = turn + 1;
			}
			tw_barrier_all();
			if (turn / 6 == 1)
				tw_barrier_all();
		}
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* Steps that come again.  Each touches pages that lie apart and that all write; from the middle on, in another
 * order, and some of them not any more. */
void coh_again(struct suite *s)
{
	enum { ROUNDS = 16, STEPS = 3, PLACES = 23, TOUCHES = 12, PAGES = STEPS * PLACES };
	volatile uint32_t *mem = suite_shared(s, (size_t)PAGES * PAGE);
	uint32_t stores[PAGES] = {0};

	for (unsigned turn = 0; turn < ROUNDS * STEPS; turn++) {
		unsigned step = turn % STEPS, before = (turn + STEPS - 1) % STEPS, half = turn / STEPS >= ROUNDS / 2;
		for (unsigned k = 0; k < TOUCHES; k++) {
			unsigned place = k * (half ? 11 : 7) % PLACES;
			unsigned page = place * STEPS + step, other = place * STEPS + before;
			for (unsigned q = 0; q < s->count; q++) {
				uint32_t value = mem[other * PAGE / 4 + q];
				EXPECT(s, value == stores[other], "turn %u: word %u of page %u is %u, not %u", turn, q,
				       other, value, stores[other]);
			}
			uint32_t value = mem[page * PAGE / 4 + s->me];
			EXPECT(s, value == stores[page], "turn %u: own word of page %u is %u, not %u", turn, page,
			       value, stores[page]);
			mem[page * PAGE / 4 + s->me] = ++stores[page];
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* What a debugger prints of a page, beside what this processor does to it. */
void coh_describe(struct suite *s)
{
	extern const char *tw_page_describe(const void *address);
	volatile char *page = suite_shared(s, 2 * PAGE);
	char own[16];
	long sum = 0;

	snprintf(own, sizeof(own), "; %u.%u ", (unsigned)tw_node(), s->me % (s->count / (unsigned)tw_nodes()));
	if (s->me == 0)
		page[0] = 1;
	tw_barrier_all();
	sum += page[0];
	EXPECT(s, sum == 1, "read %ld", sum);
	const char *text = tw_page_describe((const void *)(uintptr_t)page);
	bool known = strstr(text, "always valid") || strstr(text, own);
	EXPECT(s, strncmp(text, "page ", 5) == 0 && known, "%s", text);
	EXPECT(s, !strstr(text, "has no valid copy"), "%s", text);
	tw_barrier_all();
	EXPECT(s, strstr(tw_page_describe(&sum), "is not shared"), "%s", tw_page_describe(&sum));
	suite_free(s, (void *)(uintptr_t)page);
}
