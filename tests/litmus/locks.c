/* SPDX-License-Identifier: BSD-3-Clause */
/* locks.c - mutual exclusion, and pages written under several locks. */
#include "tests/litmus/litmus.h"

#include <sched.h>

#include "core/job/job.h"
#include "sync/sync.h"

#define PAGE 4096

/* All: L { count += 1 }, often.  Forbidden: a lost count. */
void lit_hand_over(struct suite *s)
{
	volatile uint64_t *count = suite_shared(s, 64);
	tw_lock_t lock = suite_lock(s);

	for (unsigned r = 0; r < s->rounds; r++) {
		tw_lock_acquire(lock);
		++*count;
		tw_lock_release(lock);
	}
	tw_barrier_all();
	EXPECT(s, *count == (uint64_t)s->rounds * s->count, "count is %llu, not %llu", (unsigned long long)*count,
	       (unsigned long long)s->rounds * s->count);
	suite_unlock(s, lock);
	suite_free(s, (void *)(uintptr_t)count);
}

/* As hand_over, with counters all over three pages, two of them across a page's end.  Forbidden: counters that
 * differ. */
void lit_hand_over_page(struct suite *s)
{
	enum { BYTES = 3 * PAGE };
	volatile uint8_t *page = suite_shared(s, BYTES);
	tw_lock_t lock = suite_lock(s);
	unsigned rounds = s->rounds / 4 + 1;

	for (unsigned r = 0; r < rounds; r++) {
		uint8_t first;

		tw_lock_acquire(lock);
		first = page[0];
		for (unsigned i = 0; i < BYTES; i += 61) {
			EXPECT(s, page[i] == first, "round %u: byte %u is %u, byte 0 was %u", r, i, page[i], first);
			page[i] = (uint8_t)(first + 1);
		}
		tw_lock_release(lock);
	}
	tw_barrier_all();
	EXPECT(s, page[0] == (uint8_t)(rounds * s->count), "count is %u, not %u", page[0],
	       (uint8_t)(rounds * s->count));
	suite_unlock(s, lock);
	suite_free(s, (void *)(uintptr_t)page);
}

/* As hand_over, by tw_lock_try_acquire().  Forbidden: a lost count; success while another is inside. */
void lit_try_acquire(struct suite *s)
{
	volatile uint64_t *mem = suite_shared(s, 2 * PAGE), *inside = mem + PAGE / 8;
	tw_lock_t lock = suite_lock(s);
	unsigned rounds = s->rounds / 4 + 1;

	for (unsigned r = 0; r < rounds;) {
		if (!tw_lock_try_acquire(lock)) {
			sched_yield();
			continue;
		}
		EXPECT(s, *inside == 0, "round %u: processor %llu is inside", r, (unsigned long long)*inside - 1);
		*inside = s->me + 1;
		++*mem;
		if (r % 8 == 0)
			sched_yield();
		*inside = 0;
		tw_lock_release(lock);
		r++;
	}
	tw_barrier_all();
	EXPECT(s, *mem == (uint64_t)rounds * s->count, "count is %llu, not %llu", (unsigned long long)*mem,
	       (unsigned long long)rounds * s->count);
	suite_unlock(s, lock);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* All: move an amount between two of eight accounts, under both locks.  Forbidden: a wrong total, at the end or seen
 * under all locks. */
void lit_nested(struct suite *s)
{
	enum { N = 8 };
	volatile int64_t *account = suite_shared(s, N * PAGE);
	unsigned stride = s->count % 2 ? 1 : PAGE / 8 - 1; /* on one page, or each on its own */
	tw_lock_t lock[N];
	int64_t total = 0;

	for (unsigned i = 0; i < N; i++)
		lock[i] = suite_lock(s);
	for (unsigned r = 0; r < s->rounds; r++) {
		unsigned a = (r * 5 + s->me) % N, b = (a + 1 + (r + s->me * 3) % (N - 1)) % N;
		unsigned low = a < b ? a : b, high = a < b ? b : a;

		tw_lock_acquire(lock[low]);
		account[low * stride] -= r + 1;
		tw_lock_acquire(lock[high]);
		account[high * stride] += r + 1;
		tw_lock_release(lock[r % 2 ? low : high]);
		tw_lock_release(lock[r % 2 ? high : low]);
		if (r % 16 == s->me % 16) {
			int64_t sum = 0;

			for (unsigned i = 0; i < N; i++)
				tw_lock_acquire(lock[i]);
			for (unsigned i = 0; i < N; i++)
				sum += account[i * stride];
			for (unsigned i = 0; i < N; i++)
				tw_lock_release(lock[i]);
			EXPECT(s, sum == 0, "round %u: the total is %lld", r, (long long)sum);
		}
	}
	tw_barrier_all();
	for (unsigned i = 0; i < N; i++)
		total += account[i * stride];
	EXPECT(s, total == 0, "the total is %lld", (long long)total);
	for (unsigned i = 0; i < N; i++)
		suite_unlock(s, lock[i]);
	suite_free(s, (void *)(uintptr_t)account);
}

/* All: L1 { x += 1; L2 { y += 1 }; x += 1 } with x and y on the same pages, and own bytes there.  The inner acquire
 * invalidates pages that are dirty with x.  Forbidden: x, y or own bytes lost. */
void lit_dirty_of_other_lock(struct suite *s)
{
	volatile uint32_t *mem = suite_shared(s, 2 * PAGE);
	volatile uint32_t *own = mem + 64 + s->me;
	tw_lock_t outer[2] = {suite_lock(s), suite_lock(s)}, inner = suite_lock(s);

	for (unsigned r = 1; r <= s->rounds; r++) {
		unsigned side = (r + s->me) % 2; /* two outer locks: inner sections meet from both */
		volatile uint32_t *x = mem + side, *x2 = mem + PAGE / 4 + side, *y = mem + 2, before;

		*own = r;
		tw_lock_acquire(outer[side]);
		before = *x;
		EXPECT(s, *x2 == before, "round %u: x is %u and %u", r, before, *x2);
		*x = before + 1;
		tw_lock_acquire(inner);
		++*y;
		tw_lock_release(inner);
		EXPECT(s, *x == before + 1, "round %u: own dirty x became %u, not %u", r, *x, before + 1);
		*x2 = before + 1;
		tw_lock_release(outer[side]);
		EXPECT(s, *own == r, "round %u: own byte became %u", r, *own);
	}
	tw_barrier_all();
	EXPECT(s, mem[0] + mem[1] == s->rounds * s->count, "x: %u, not %u", mem[0] + mem[1], s->rounds * s->count);
	EXPECT(s, mem[2] == s->rounds * s->count, "y: %u, not %u", mem[2], s->rounds * s->count);
	for (unsigned q = 0; q < s->count; q++)
		EXPECT(s, mem[64 + q] == s->rounds, "byte of processor %u: %u", q, mem[64 + q]);
	suite_unlock(s, outer[0]);
	suite_unlock(s, outer[1]);
	suite_unlock(s, inner);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* Neighbouring bytes of one page, each under a lock of its own; processors choose now this, now that.  Between two
 * releases of one node another node writes: a release that sends more than was written since the last one loses
 * that.  Forbidden: a lost count. */
void lit_neighbours_locks(struct suite *s)
{
	enum { N = 6 };
	volatile uint8_t *byte = suite_shared(s, PAGE);
	uint8_t *mine = suite_shared(s, N * s->count); /* how often each processor counted each byte */
	tw_lock_t lock[N];

	for (unsigned i = 0; i < N; i++)
		lock[i] = suite_lock(s);
	for (unsigned r = 0; r < s->rounds; r++) {
		unsigned i = (unsigned)((r * 2654435761u + s->me * 40503u) >> 8) % N;

		tw_lock_acquire(lock[i]);
		byte[i]++;
		if (r % 4 == 0)
			sched_yield();
		tw_lock_release(lock[i]);
		mine[s->me * N + i]++;
	}
	tw_barrier_all();
	for (unsigned i = 0; i < N; i++) {
		uint8_t sum = 0;

		for (unsigned q = 0; q < s->count; q++)
			sum = (uint8_t)(sum + mine[q * N + i]);
		EXPECT(s, byte[i] == sum, "byte %u is %u, not %u", i, byte[i], sum);
	}
	for (unsigned i = 0; i < N; i++)
		suite_unlock(s, lock[i]);
	suite_free(s, mine);
	suite_free(s, (void *)(uintptr_t)byte);
}

/* Several records of a page and more, each under a lock, are read and rewritten whole by one processor after the
 * other, without a pause.  Forbidden: a record of mixed versions. */
void lit_migratory(struct suite *s)
{
	enum { RECORDS = 3, WORDS = 700 };
	volatile uint64_t *mem = suite_shared(s, RECORDS * 2 * PAGE);
	tw_lock_t lock[RECORDS];

	for (unsigned i = 0; i < RECORDS; i++)
		lock[i] = suite_lock(s);
	for (unsigned r = 0; r < s->rounds / 2 + 1; r++) {
		unsigned i = (r + s->me) % RECORDS;
		volatile uint64_t *record = mem + i * 2 * PAGE / 8;
		uint64_t version;

		tw_lock_acquire(lock[i]);
		version = record[WORDS - 1];
		for (unsigned w = 0; w < WORDS; w++) {
			EXPECT(s, record[w] == version, "round %u: word %u of record %u is %llu, the last %llu", r, w,
			       i, (unsigned long long)record[w], (unsigned long long)version);
			record[w] = version + 1;
		}
		tw_lock_release(lock[i]);
	}
	tw_barrier_all();
	EXPECT(s, mem[0] + mem[2 * PAGE / 8] + mem[4 * PAGE / 8] == (uint64_t)(s->rounds / 2 + 1) * s->count,
	       "versions do not add up");
	for (unsigned i = 0; i < RECORDS; i++)
		suite_unlock(s, lock[i]);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* Counts, each under a lock of its own, on pages of the last processor's node.  Behind each of its sections processor 0
 * raises a flag for that one: a release, in the midst of which another node may take a lock whose release was pending.
 * Forbidden: a lost count. */
void lit_woken(struct suite *s)
{
	enum { N = 8 };
	volatile uint32_t *count = suite_shared(s, N * PAGE);
	uint32_t *mine = suite_shared(s, s->count * PAGE);
	tw_lock_t lock[N];
	tw_flag_t flag = suite_flag(s);

	for (unsigned i = 0; i < N; i++) {
		lock[i] = suite_lock(s);
		if (s->me == s->count - 1)
			count[i * PAGE / 4] = 0;
	}
	tw_barrier_all();
	for (unsigned r = 1; r <= 4 * s->rounds; r++) {
		unsigned i = (r * 2654435761u + s->me * 40503u) >> 8 & (N - 1);

		tw_lock_acquire(lock[i]);
		count[i * PAGE / 4]++;
		tw_lock_release(lock[i]);
		mine[s->me * PAGE / 4]++;
		if (s->me == 0)
			tw_sync_flag_raise(tw_me, flag.id, r, s->count - 1);
	}
	if (s->me == 0) /* it is destroyed when all nodes have one value */
		tw_flag_set(flag, 4 * s->rounds + 1);
	tw_barrier_all();
	uint32_t sum = 0, all = 0;
	for (unsigned i = 0; i < N; i++)
		sum += count[i * PAGE / 4];
	for (unsigned q = 0; q < s->count; q++)
		all += mine[q * PAGE / 4];
	EXPECT(s, sum == all, "%u of %u are counted", sum, all);
	for (unsigned i = 0; i < N; i++)
		suite_unlock(s, lock[i]);
	suite_unflag(s, flag);
	suite_free(s, mine);
	suite_free(s, (void *)(uintptr_t)count);
}
