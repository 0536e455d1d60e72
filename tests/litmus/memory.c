/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - allocation between processors, homes, broadcast, prefetch, system calls on shared memory. */
#include "tests/litmus/litmus.h"

#include "core/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static void lit_fill(volatile uint8_t *block, size_t bytes, unsigned round)
{
	for (size_t i = 0; i < bytes; i++)
		block[i] = suite_value(round, i);
}

static void lit_compare(struct suite *s, const volatile uint8_t *block, size_t bytes, unsigned round, const char *what)
{
	for (size_t i = 0; i < bytes; i++)
		if (block[i] != suite_value(round, i)) {
			suite_bad(s, "round %u: %s: byte %zu of %zu is %#x, not %#x", round, what, i, bytes, block[i],
			          suite_value(round, i));
			return;
		}
}

/* A allocates and fills a block, B checks and frees it, and both allocate and fill blocks of that size at once.
 * Forbidden: B's old bytes; a new block that is another's; fill of the old block in a new one. */
void lit_free_elsewhere(struct suite *s)
{
	static const size_t sizes[] = {24, 300, 5000, 8192, 1};
	uint8_t **slot = suite_shared(s, sizeof(*slot));
	tw_flag_t flag = suite_flag(s);

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		size_t bytes = sizes[r % 5];
		unsigned part = s->me == suite_role(s, r, 0) ? 0 : s->me == suite_role(s, r, 1) ? 1 : 2;
		uint8_t *block = NULL;

		if (part == 0) {
			*slot = tw_malloc(bytes);
			lit_fill(*slot, bytes, r);
			tw_flag_set(flag, r);
		} else if (part == 1) {
			tw_flag_wait(flag, r);
			lit_compare(s, *slot, bytes, r, "block from another processor");
			tw_free(*slot);
		}
		if (part < 2) {
			block = tw_malloc(bytes);
			lit_fill(block, bytes, r + 1 + part);
		}
		tw_barrier_all();
		if (part < 2)
			lit_compare(s, block, bytes, r + 1 + part, "block reused at once");
		tw_free(block);
	}
	suite_unflag(s, flag);
	suite_free(s, slot);
}

/* Each processor allocates, fills, and passes to the right; it checks and frees what it gets from the left.
 * Forbidden: wrong bytes. */
void lit_free_ring(struct suite *s)
{
	uint8_t **slot = suite_shared(s, s->count * sizeof(*slot));

	for (unsigned r = 1; r <= s->rounds / 2 + 1; r++) {
		unsigned left = (s->me + s->count - 1) % s->count;
		size_t bytes = 1 + (r * 37 + s->me * 11) % 600, from_left = 1 + (r * 37 + left * 11) % 600;

		slot[s->me] = tw_malloc(bytes);
		lit_fill(slot[s->me], bytes, r + s->me);
		tw_barrier_all();
		lit_compare(s, slot[left], from_left, r + left, "block of the left neighbour");
		tw_free(slot[left]);
		tw_barrier_all();
	}
	suite_free(s, slot);
}

/* Dirty memory is freed and comes back by tw_malloc_all.  Forbidden: different pointers; bytes that are not zero. */
void lit_malloc_all(struct suite *s)
{
	static const size_t sizes[] = {8, 1000, PAGE, 5 * PAGE + 3};

	for (unsigned r = 1; r <= s->rounds / 4 + 1; r++) {
		size_t bytes = sizes[r % 4];
		uint8_t *block = tw_malloc_all(bytes), *other = block;

		tw_bcast(&other, sizeof(other), (int)suite_role(s, r, 0));
		EXPECT(s, block == other, "round %u: %p here and %p elsewhere", r, (void *)block, (void *)other);
		for (size_t i = 0; i < bytes; i++)
			EXPECT(s, block[i] == 0, "round %u: byte %zu of %zu is %#x", r, i, bytes, block[i]);
		tw_barrier_all();
		for (size_t i = s->me; i < bytes; i += s->count)
			block[i] = 0xff;
		tw_barrier_all();
		if (s->me == suite_role(s, r, 1 % s->count))
			tw_free(block);
	}
}

/* From every root, from and to private memory, larger than any buffer inside; shared writes before it must be seen
 * after it, as it is a barrier.  Forbidden: old bytes. */
void lit_bcast(struct suite *s)
{
	static uint8_t private[200000];
	static const size_t sizes[] = {1, 8, 4097, sizeof(private)};
	volatile uint64_t *x = suite_shared(s, s->count * 8 + PAGE);

	for (unsigned r = 1; r <= s->rounds / 8 + 4; r++) {
		unsigned root = suite_role(s, r, 0);
		size_t bytes = sizes[r % 4];

		if (s->me == root)
			lit_fill(private, bytes, r);
		x[s->me] = r;
		tw_bcast(private, bytes, (int)root);
		lit_compare(s, private, bytes, r, "broadcast bytes");
		for (unsigned q = 0; q < s->count; q++)
			EXPECT(s, x[q] == r, "round %u: after the broadcast x of processor %u is %llu", r, q,
			       (unsigned long long)x[q]);
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)x);
}

/* A sets homes of fresh pages; B touches first.  Forbidden: another home than the one set; -EBUSY for fresh pages, 0
 * for used ones; a home that changes. */
void lit_home_set(struct suite *s)
{
	enum { BLOCK = 1 << 20, STEP = 65536, STEPS = BLOCK / STEP }; /* steps of the largest page */

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= 6; r++) {
		/* never freed before the end of the case: fresh pages in every round */
		uint8_t *block = NULL;
		unsigned a = suite_role(s, r, 0), b = suite_role(s, r, 1);

		if (s->me == a)
			block = tw_aligned_alloc(STEP, BLOCK);
		tw_bcast(&block, sizeof(block), (int)a);
		if (!block) {
			suite_bad(s, "no memory");
			return;
		}
		if (s->me == a)
			for (unsigned i = 0; i < STEPS; i++) {
				bool fresh = tw_home(block + i * STEP) < 0;
				int rc = tw_home_set(block + i * STEP, STEP, (int)((i + r) % s->nodes));

				EXPECT(s, !fresh || rc == 0, "round %u: tw_home_set of a fresh page gave %d", r, rc);
			}
		tw_barrier_all();
		int home[STEPS];
		for (unsigned i = 0; i < STEPS; i++) {
			home[i] = tw_home(block + i * STEP + STEP - 1);
			EXPECT(s, home[i] >= 0 && home[i] < (int)s->nodes, "round %u: home is %d", r, home[i]);
		}
		tw_barrier_all();
		if (s->me == b)
			for (unsigned i = 0; i < STEPS; i++)
				lit_fill(block + i * STEP, 64, r + i);
		tw_barrier_all();
		for (unsigned i = 0; i < STEPS; i++) {
			lit_compare(s, block + i * STEP, 64, r + i, "page with a home set");
			EXPECT(s, getenv("TW_TEST_HOMES_MOVE") || tw_home(block + i * STEP) == home[i],
			       "round %u: home %d became %d", r, home[i], tw_home(block + i * STEP));
			EXPECT(s, tw_home_set(block + i * STEP, 1, 0) == -EBUSY, "round %u: home set twice", r);
		}
		tw_barrier_all();
		if (s->me == b)
			tw_free(block);
	}
}

/* A writes a range, others prefetch it in pieces and at random, before, during and after.  Forbidden: old bytes. */
void lit_prefetch(struct suite *s)
{
	enum { BYTES = 40 * PAGE };
	volatile uint64_t *mem = suite_shared(s, BYTES);

	for (unsigned r = 1; r <= s->rounds / 8 + 4; r++) {
		unsigned a = suite_role(s, r, 0);

		if (s->me == a)
			for (unsigned i = 0; i < BYTES / 8; i += r % 2 ? 1 : 512)
				mem[i] = r;
		else /* while A writes: must change nothing that can be seen */
			tw_prefetch((void *)(uintptr_t)(mem + r * 97 % 2000), (r * 7919 + s->me * 333) % (BYTES / 2));
		tw_barrier_all();
		tw_prefetch((void *)(uintptr_t)mem, s->me % 2 ? BYTES : BYTES / 3);
		for (unsigned i = 0; i < BYTES / 8; i++) {
			uint64_t expect = i % 512 == 0 ? r : r % 2 ? r : r - 1;

			if (mem[i] != expect) {
				suite_bad(s, "round %u: word %u is %llu, not %llu", r, i, (unsigned long long)mem[i],
				          (unsigned long long)expect);
				break;
			}
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)mem);
}

/* A writes a word of each of the shared space's last pages, at equal distances; the others read it so.  Forbidden: old
 * words. */
void lit_columns(struct suite *s)
{
	enum { PAGES = 96, STRIDES = 5 };
	volatile uint64_t *mem = (void *)(tw_me->app + tw_me->config.memory - (size_t)PAGES * PAGE);

	for (unsigned r = 1; r <= s->rounds / 8 + 4; r++) {
		unsigned a = suite_role(s, r, 0), stride = 1 + (r - 1) % STRIDES;

		if (s->me == a)
			for (unsigned of = 0; of < stride; of++)
				for (unsigned p = of; p < PAGES; p += stride)
					mem[p * PAGE / 8 + r % 7] = r;
		tw_barrier_all();
		for (unsigned of = 0; of < stride; of++)
			for (unsigned p = of; p < PAGES; p += stride)
				EXPECT(s, mem[p * PAGE / 8 + r % 7] == r, "round %u: page %u has %llu", r, p,
				       (unsigned long long)mem[p * PAGE / 8 + r % 7]);
		tw_barrier_all();
	}
}

/* B prefetches x = r - 1 and does not read it; A writes x = r and sets a flag; B waits for it and reads.  Forbidden:
 * what was prefetched.  B has own dirty bytes on the page. */
void lit_prefetch_stale(struct suite *s)
{
	volatile uint64_t *mem = suite_shared(s, 4 * PAGE);
	tw_flag_t flag = suite_flag(s);

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		if (s->me == suite_role(s, r, 0)) {
			for (unsigned p = 0; p < 4; p++)
				mem[p * PAGE / 8] = r;
			tw_flag_set(flag, r);
		} else if (s->me == suite_role(s, r, 1)) {
			mem[PAGE / 8 + 1 + s->me] = r;
			tw_prefetch((void *)(uintptr_t)mem, 4 * PAGE);
			tw_flag_wait(flag, r);
			for (unsigned p = 0; p < 4; p++)
				EXPECT(s, mem[p * PAGE / 8] == r, "round %u: page %u has %llu", r, p,
				       (unsigned long long)mem[p * PAGE / 8]);
			EXPECT(s, mem[PAGE / 8 + 1 + s->me] == r, "round %u: own write was lost", r);
		}
		tw_barrier_all();
	}
	suite_unflag(s, flag);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* The kernel reads and writes shared memory: pages not mapped, read-only, dirty, across pages; pipe and file.
 * Forbidden: an error; other bytes. */
void lit_system_calls(struct suite *s)
{
	enum { BYTES = 3 * PAGE, LEN = 2 * PAGE + 100 };

	if ((TW_ASAN || TW_TSAN) && tw_me->fault.ops && !(tw_me->fault.ops->caps & TW_FAULT_SYSCALLS)) {
		s->skipped = "a sanitizer has replaced the wrapped system calls";
		return;
	}
	uint8_t *mem = suite_shared(s, 2 * BYTES * s->count);
	int pipes[2], file = memfd_create("litmus", MFD_CLOEXEC);

	if (file < 0 || pipe(pipes))
		tw_abort(2, "system_calls: cannot make a pipe and a memory file");
	for (unsigned r = 1; r <= s->rounds / 4 + 1; r++) {
		unsigned left = (s->me + s->count - 1) % s->count, at = r * 53 % 700;
		uint8_t *theirs = mem + (size_t)left * 2 * BYTES + at, *mine = mem + (size_t)s->me * 2 * BYTES;
		ssize_t n;

		lit_fill(mine + at, LEN, r + s->me);
		tw_barrier_all();
		n = write(pipes[1], theirs, LEN); /* a page not here yet */
		EXPECT(s, n == LEN, "round %u: write(2) gave %zd: %s", r, n, strerror(errno));
		n = n == LEN ? read(pipes[0], mine + BYTES, LEN) : LEN;
		EXPECT(s, n == LEN, "round %u: read(2) gave %zd: %s", r, n, strerror(errno));
		lit_compare(s, mine + BYTES, LEN, r + left, "through a pipe");
		n = pwrite(file, theirs, LEN, r);
		EXPECT(s, n == LEN, "round %u: pwrite(2) gave %zd: %s", r, n, strerror(errno));
		tw_barrier_all();
		n = pread(file, mine + at, LEN, r);
		EXPECT(s, n == LEN, "round %u: pread(2) gave %zd: %s", r, n, strerror(errno));
		lit_compare(s, mine + at, LEN, r + left, "through a file");
		tw_barrier_all();
		lit_compare(s, theirs, LEN, r + (left + s->count - 1) % s->count, "what another's kernel wrote");
		lit_compare(s, theirs - at + BYTES, LEN, r + (left + s->count - 1) % s->count,
		            "what another's kernel wrote");
		tw_barrier_all();
	}
	close(file);
	close(pipes[0]);
	close(pipes[1]);
	suite_free(s, mem);
}
