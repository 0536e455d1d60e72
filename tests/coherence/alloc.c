/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.c - tw_malloc and its kin, homes, prefetch. */
#include "tests/coherence/cases.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define PAGE 4096

static size_t coh_page_bytes(void)
{
	return 65536; /* a multiple of every page size */
}

static bool coh_all(const uint8_t *p, uint8_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != value)
			return false;
	return true;
}

/* Alignment as documented; blocks do not overlap; whole size usable. */
void coh_malloc(struct suite *s)
{
	enum { N = 75 };
	uint8_t *block[N];
	size_t size[N];
	bool aligned[5] = {true, true, true, true, true}; /* blocks of a page and more, were a page 4K, 8K, ... 64K */

	for (unsigned i = 0; i < N; i++) {
		size[i] = i < 20 ? i + 1 : i < 50 ? (size_t)i * i : (size_t)PAGE * (i - 48) + i % 3;
		block[i] = tw_malloc(size[i]);
		if (!block[i]) {
			suite_bad(s, "tw_malloc(%zu) gave NULL", size[i]);
			return;
		}
		EXPECT(s, (uintptr_t)block[i] % 16 == 0, "tw_malloc(%zu) gave %p", size[i], (void *)block[i]);
		for (unsigned p = 0; p < 5; p++)
			aligned[p] &= size[i] < (size_t)PAGE << p || (uintptr_t)block[i] % ((size_t)PAGE << p) == 0;
		memset(block[i], (int)i, size[i]);
	}
	EXPECT(s, aligned[0] || aligned[1] || aligned[2] || aligned[3] || aligned[4],
	       "blocks of a page and more are not page-aligned, whatever a page is");
	for (unsigned i = 0; i < N; i++)
		EXPECT(s, coh_all(block[i], (uint8_t)i, size[i]), "block %u of %zu bytes was overwritten", i, size[i]);
	for (unsigned i = 0; i < N; i++)
		tw_free(block[i * 7 % N]);
	tw_free(NULL);
	void *zero = tw_malloc(0); /* NULL or not, it can be freed */
	tw_free(zero);
}

/* Zeroed, also when it was used before; overflow refused. */
void coh_calloc(struct suite *s)
{
	for (unsigned r = 0; r < 20; r++) {
		size_t n = 1 + r * 97 % 500, each = 1 + r * 3;
		uint8_t *block = tw_calloc(n, each);

		if (!block) {
			suite_bad(s, "tw_calloc(%zu, %zu) gave NULL", n, each);
			return;
		}
		EXPECT(s, coh_all(block, 0, n * each), "tw_calloc(%zu, %zu) is not zero", n, each);
		memset(block, 0xa5, n * each);
		tw_free(block);
	}
	errno = 0;
	volatile size_t huge = SIZE_MAX / 2;
	EXPECT(s, tw_calloc(huge, 4) == NULL && errno == ENOMEM, "tw_calloc(SIZE_MAX / 2, 4): errno %d", errno);
}

/* Contents survive growing and shrinking; NULL is malloc; a block of another processor too. */
void coh_realloc(struct suite *s)
{
	static const size_t sizes[] = {10, 100, 5000, 60, 70000, 4096, 8192, 1, 300};
	uint8_t **slot = suite_shared(s, s->count * sizeof(*slot)), *block = NULL, *grown;
	size_t old = 0;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t kept = old < sizes[i] ? old : sizes[i];

		grown = tw_realloc(block, sizes[i]);
		if (!grown) {
			suite_bad(s, "tw_realloc to %zu gave NULL", sizes[i]);
			return;
		}
		EXPECT(s, coh_all(grown, (uint8_t)i, kept), "step %u: contents lost by tw_realloc to %zu", i, sizes[i]);
		memset(grown, (int)i + 1, sizes[i]);
		block = grown;
		old = sizes[i];
	}
	slot[s->me] = block;
	tw_barrier_all();
	unsigned left = (s->me + 1) % s->count;
	grown = tw_realloc(slot[left], 9000);
	EXPECT(s, grown && coh_all(grown, 9, 300), "contents of another's block lost by tw_realloc");
	tw_free(grown);
	suite_free(s, slot);
}

void coh_aligned_alloc(struct suite *s)
{
	for (size_t align = 1; align <= 1 << 20; align *= 2)
		for (size_t bytes = 1; bytes < 100000; bytes = bytes * 17 + 3) {
			uint8_t *block = tw_aligned_alloc(align, bytes);

			if (!block) { /* below a pointer's size the C library may refuse */
				EXPECT(s, align < sizeof(void *) && errno == EINVAL,
				       "tw_aligned_alloc(%zu, %zu): errno %d", align, bytes, errno);
				continue;
			}
			EXPECT(s, (uintptr_t)block % align == 0, "tw_aligned_alloc(%zu, %zu) gave %p", align, bytes,
			       (void *)block);
			memset(block, 1, bytes);
			tw_free(block);
		}
}

/* NULL with errno; the block given to a failed tw_realloc stays. */
void coh_alloc_errors(struct suite *s)
{
	volatile size_t huge = (size_t)1 << 50;
	uint8_t *block;

	errno = 0;
	EXPECT(s, tw_aligned_alloc(24, 100) == NULL && errno == EINVAL, "alignment 24: errno %d", errno);
	errno = 0;
	EXPECT(s, tw_aligned_alloc(0, 100) == NULL && errno == EINVAL, "alignment 0: errno %d", errno);
	errno = 0;
	EXPECT(s, tw_malloc(huge) == NULL && errno == ENOMEM, "2^50 bytes: errno %d", errno);
	errno = 0;
	EXPECT(s, tw_aligned_alloc(65536, huge) == NULL && errno == ENOMEM, "2^50 aligned bytes: errno %d", errno);
	block = tw_malloc(100);
	memset(block, 7, 100);
	errno = 0;
	EXPECT(s, tw_realloc(block, huge) == NULL && errno == ENOMEM, "tw_realloc to 2^50: errno %d", errno);
	EXPECT(s, coh_all(block, 7, 100), "the block of a failed tw_realloc changed");
	tw_free(block);
	tw_barrier_all();
	errno = 0;
	void *all = tw_malloc_all(huge);
	EXPECT(s, all == NULL && errno == ENOMEM, "tw_malloc_all of 2^50 bytes: %p, errno %d", all, errno);
}

/* Blocks of many MiB, allocated, touched at both ends by others, freed, and again: the space comes back. */
void coh_alloc_large(struct suite *s)
{
	uint8_t **slot = suite_shared(s, s->count * sizeof(*slot));
	size_t bytes = (size_t)64 << 20;

	for (unsigned r = 0; r < 6; r++) {
		unsigned q = (s->me + 1 + r) % s->count;

		slot[s->me] = tw_malloc(bytes);
		EXPECT(s, slot[s->me], "round %u: tw_malloc of 64 MiB gave NULL", r);
		tw_barrier_all();
		slot[q][0] = slot[q][bytes - 1] = (uint8_t)(r + 1);
		tw_barrier_all();
		EXPECT(s, slot[s->me][0] == r + 1 && slot[s->me][bytes - 1] == r + 1, "round %u: ends of a large block",
		       r);
		tw_barrier_all();
		tw_free(slot[r % 2 ? q : s->me]);
		tw_barrier_all();
	}
	suite_free(s, slot);
}

/* Blocks of all processors at once do not overlap. */
void coh_alloc_disjoint(struct suite *s)
{
	enum { N = 100 };
	uint8_t *block[N];

	for (unsigned r = 0; r < 3; r++) {
		for (unsigned i = 0; i < N; i++) {
			block[i] = tw_malloc(1 + i * 5);
			memset(block[i], (int)(s->me * 7 + i), 1 + i * 5);
		}
		tw_barrier_all();
		for (unsigned i = 0; i < N; i++) {
			EXPECT(s, coh_all(block[i], (uint8_t)(s->me * 7 + i), 1 + i * 5),
			       "round %u: block %u was overwritten", r, i);
			tw_free(block[i]);
		}
		tw_barrier_all();
	}
}

/* tw_home and tw_home_set: results and errors. */
void coh_home(struct suite *s)
{
	size_t bytes = (size_t)8 << 20;
	uint8_t *mem = NULL, local;

	if (s->me == 0)
		mem = tw_aligned_alloc(coh_page_bytes(), bytes);
	tw_bcast(&mem, sizeof(mem), 0);
	EXPECT(s, tw_home_set(mem, 100, -1) == -EINVAL, "node -1");
	EXPECT(s, tw_home_set(mem, 100, (int)s->nodes) == -EINVAL, "node %u", s->nodes);
	EXPECT(s, tw_home_set(&local, 1, 0) == -EINVAL, "private memory");
	EXPECT(s, tw_home_set(mem, SIZE_MAX / 2, 0) == -EINVAL, "a range beyond the shared space");
	tw_barrier_all();
	if (s->me == 0) {
		for (size_t at = 0; at < bytes; at += coh_page_bytes()) {
			bool fresh = tw_home(mem + at) < 0;
			int node = (int)(at / coh_page_bytes() % s->nodes),
			    rc = tw_home_set(mem + at, coh_page_bytes(), node);

			EXPECT(s, rc == 0 || (rc == -EBUSY && !fresh), "tw_home_set of a fresh page gave %d", rc);
			EXPECT(s, !fresh || tw_home(mem + at) == node, "home is %d, set to %d", tw_home(mem + at),
			       node);
		}
	}
	tw_barrier_all();
	for (size_t at = 0; at < bytes; at += coh_page_bytes()) {
		int home = tw_home(mem + at + 5);

		EXPECT(s, home >= 0 && home < (int)s->nodes, "home is %d", home);
		EXPECT(s, tw_home_set(mem + at, 1, (home + 1) % (int)s->nodes) == -EBUSY, "home set a second time");
		EXPECT(s, tw_home(mem + at) == home, "home %d became %d", home, tw_home(mem + at));
	}
	tw_barrier_all();
	for (size_t at = s->me * coh_page_bytes(); at < bytes; at += s->count * coh_page_bytes())
		mem[at] = 1;
	tw_barrier_all();
	for (size_t at = 0; at < bytes; at += coh_page_bytes())
		EXPECT(s, mem[at] == 1, "a page with a chosen home lost a byte");
	suite_free(s, mem);
}

/* Untouched pages have no home; a touched page has one, the same for all. */
void coh_home_first_touch(struct suite *s)
{
	size_t bytes = (size_t)4 << 20;
	uint8_t *mem = NULL;
	int *seen = suite_shared(s, s->count * sizeof(*seen));

	if (s->me == 0)
		mem = tw_aligned_alloc(coh_page_bytes(), bytes);
	tw_bcast(&mem, sizeof(mem), 0);
	for (unsigned r = 0; r < 16; r++) {
		uint8_t *page = mem + r * coh_page_bytes();

		if (s->me == r % s->count)
			page[r] = (uint8_t)(r + 1);
		tw_barrier_all();
		EXPECT(s, page[r] == r + 1, "page %u lost its first byte", r);
		seen[s->me] = tw_home(page);
		tw_barrier_all();
		EXPECT(s, seen[s->me] == seen[r % s->count], "page %u: home %d here, %d at its first user", r,
		       seen[s->me], seen[r % s->count]);
		EXPECT(s, s->nodes == 1 || seen[s->me] >= 0, "page %u: touched, without home", r);
		EXPECT(s, seen[s->me] < (int)s->nodes, "page %u: home %d", r, seen[s->me]);
		tw_barrier_all();
	}
	suite_free(s, seen);
	suite_free(s, mem);
}

/* Any range: nothing, private memory, untouched pages, more than there is; values stay. */
void coh_prefetch_anything(struct suite *s)
{
	enum { BYTES = 30 * PAGE };
	uint8_t *mem = suite_shared(s, BYTES), local = 1;

	tw_prefetch(mem, 0);
	tw_prefetch(NULL, 0);
	tw_prefetch(&local, 1);
	tw_prefetch(mem + 1, 1);
	if (s->me == 0)
		memset(mem, 3, BYTES);
	tw_barrier_all();
	tw_prefetch(mem + 5, BYTES - 5);
	EXPECT(s, coh_all(mem, 3, BYTES), "prefetched bytes are wrong");
	tw_barrier_all();
	mem[PAGE * 2 + s->me] = (uint8_t)(s->me + 10);
	tw_prefetch(mem, BYTES); /* own unreleased bytes stay */
	EXPECT(s, mem[PAGE * 2 + s->me] == s->me + 10, "prefetch undid an own write");
	tw_barrier_all();
	for (unsigned q = 0; q < s->count; q++)
		EXPECT(s, mem[PAGE * 2 + q] == q + 10, "byte of processor %u", q);
	suite_free(s, mem);
}

/* A fault kills a process that blocks its signal. */
static void pin_block(int how)
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	sigprocmask(how, &faults, NULL);
}

/* All processors rewrite their bytes of two pinned pages.  Pinned, they do so, and read the others', with faults
 * blocked. */
void coh_pin(struct suite *s)
{
	enum { BYTES = 2 * PAGE, ROUNDS = 12 };
	volatile uint8_t *mem = suite_shared(s, BYTES);
	int pinned = tw_pin((void *)(uintptr_t)mem, BYTES);

	EXPECT(s, pinned == 0 || pinned == -ENOTSUP, "tw_pin returned %d", pinned);
	EXPECT(s, tw_pin(&pinned, 1) == -EINVAL, "private memory was pinned");
	for (unsigned r = 1; r <= ROUNDS; r++) {
		bool block = pinned == 0 && r <= ROUNDS / 2;
		if (pinned == 0 && r == ROUNDS / 2 + 1)
			EXPECT(s, tw_unpin((void *)(uintptr_t)mem, BYTES) == 0, "tw_unpin failed");
		if (block)
			pin_block(SIG_BLOCK);
		for (unsigned i = s->me; i < BYTES; i += s->count)
			mem[i] = (uint8_t)(i * r);
		if (block)
			pin_block(SIG_UNBLOCK);
		tw_barrier_all();
		if (block)
			pin_block(SIG_BLOCK);
		unsigned wrong = 0;
		for (unsigned i = 0; i < BYTES; i++)
			wrong += mem[i] != (uint8_t)(i * r);
		if (block)
			pin_block(SIG_UNBLOCK);
		EXPECT(s, wrong == 0, "round %u: %u bytes wrong", r, wrong);
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}
