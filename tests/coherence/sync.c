/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.c - locks, barriers, flags, statistics. */
#include "tests/coherence/cases.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define MANY 2000

/* Thousands of locks at once, each with a counter beside its neighbours'. */
void coh_locks_many(struct suite *s)
{
	tw_lock_t *lock = suite_shared(s, MANY * sizeof(*lock));
	uint8_t *count = suite_shared(s, MANY);
	unsigned step = s->count <= 8 ? 1 : 16;

	for (unsigned i = s->me; i < MANY; i += s->count)
		lock[i] = tw_lock_create();
	tw_barrier_all();
	for (unsigned i = 0; i < MANY; i += step) {
		unsigned k = (i + s->me * (MANY / s->count) / step * step) % MANY;

		tw_lock_acquire(lock[k]);
		count[k]++;
		tw_lock_release(lock[k]);
	}
	tw_barrier_all();
	for (unsigned i = 0; i < MANY; i += step)
		EXPECT(s, count[i] == s->count, "counter %u is %u", i, count[i]);
	for (unsigned i = s->me; i < MANY; i += s->count)
		tw_lock_destroy(lock[(i + 1) % MANY]); /* by another processor than its maker */
	suite_free(s, count);
	suite_free(s, lock);
}

/* Far more locks, barriers and flags in the course of time than there may be at once. */
void coh_locks_recycled(struct suite *s)
{
	unsigned rounds = 100000 / s->count;

	for (unsigned r = 0; r < rounds; r++) {
		tw_lock_t lock = tw_lock_create();
		tw_lock_acquire(lock);
		tw_lock_release(lock);
		tw_lock_destroy(lock);
		if (r % 4)
			continue;
		tw_flag_t flag = tw_flag_create();
		EXPECT(s, tw_flag_get(flag) == 0, "a new flag is %llu", (unsigned long long)tw_flag_get(flag));
		tw_flag_set(flag, r + 1);
		EXPECT(s, tw_flag_wait(flag, r + 1) == r + 1, "a flag lost its value");
		tw_flag_destroy(flag);
		tw_barrier_t barrier = tw_barrier_create(1);
		tw_barrier_wait(barrier);
		tw_barrier_destroy(barrier);
	}
}

/* Taken when free; not taken while another has it. */
void coh_try_acquire(struct suite *s)
{
	tw_lock_t lock = suite_lock(s);

	for (unsigned r = 0; r < 3 * s->count; r++) {
		unsigned holder = r % s->count;

		if (s->me == holder)
			EXPECT(s, tw_lock_try_acquire(lock), "round %u: a free lock was not taken", r);
		tw_barrier_all();
		if (s->me != holder)
			EXPECT(s, !tw_lock_try_acquire(lock), "round %u: a held lock was taken", r);
		tw_barrier_all();
		if (s->me == holder)
			tw_lock_release(lock);
		tw_barrier_all();
	}
	suite_unlock(s, lock);
}

/* A barrier used at once again, with processors of different speed. */
void coh_barrier_reuse(struct suite *s)
{
	volatile uint32_t *at = suite_shared(s, s->count * 4);
	tw_barrier_t barrier = suite_barrier(s, s->count);

	for (unsigned r = 1; r <= s->rounds; r++) {
		if ((r + s->me) % 7 == 0)
			sched_yield();
		at[s->me] = r;
		tw_barrier_wait(barrier);
		for (unsigned q = 0; q < s->count; q++)
			EXPECT(s, at[q] == r, "round %u: processor %u is at %u", r, q, at[q]);
		tw_barrier_wait(barrier);
	}
	suite_unbarrier(s, barrier);
	suite_free(s, (void *)(uintptr_t)at);
}

/* A barrier for each pair of processors, all in use at once. */
void coh_barriers_many(struct suite *s)
{
	unsigned n = s->count < 9 ? s->count : 9;
	tw_barrier_t *pair = suite_shared(s, n * n * sizeof(*pair));
	volatile uint32_t *word = suite_shared(s, n * n * 4);

	for (unsigned i = 0; s->me < n && i < s->me; i++)
		pair[i * n + s->me] = tw_barrier_create(2);
	tw_barrier_all();
	for (unsigned i = 0; s->me < n && i < n; i++) /* pairs in one order for all: no deadlock */
		for (unsigned j = i + 1; j < n; j++) {
			if (s->me != i && s->me != j)
				continue;
			word[s->me == i ? i * n + j : j * n + i] = i * 100 + j;
			tw_barrier_wait(pair[i * n + j]);
			EXPECT(s, word[i * n + j] == i * 100 + j && word[j * n + i] == i * 100 + j,
			       "pair %u, %u: %u and %u", i, j, word[i * n + j], word[j * n + i]);
		}
	tw_barrier_all();
	for (unsigned i = 0; s->me < n && i < s->me; i++)
		tw_barrier_destroy(pair[i * n + s->me]);
	suite_free(s, pair);
	suite_free(s, (void *)(uintptr_t)word);
}

/* Thousands of flags, set by one and waited for by all. */
void coh_flags_many(struct suite *s)
{
	tw_flag_t *flag = suite_shared(s, MANY * sizeof(*flag));
	volatile uint32_t *word = suite_shared(s, MANY * 4);
	unsigned step = s->count <= 8 ? 1 : 16;

	for (unsigned i = s->me; i < MANY; i += s->count)
		flag[i] = tw_flag_create();
	tw_barrier_all();
	for (unsigned i = 0; i < MANY; i += step) {
		if (i / step % s->count == s->me) {
			word[i] = i + 1;
			tw_flag_set(flag[i], i + 1);
		}
		if ((i / step + s->me) % 4 == 0) {
			uint64_t seen = tw_flag_wait(flag[i], 1);

			EXPECT(s, seen == i + 1, "flag %u is %llu", i, (unsigned long long)seen);
			EXPECT(s, word[i] == i + 1, "word %u is %u", i, word[i]);
		}
	}
	tw_barrier_all();
	for (unsigned i = s->me; i < MANY; i += s->count)
		tw_flag_destroy(flag[i]);
	suite_free(s, flag);
	suite_free(s, (void *)(uintptr_t)word);
}

/* Values of 64 bits; a wait for less returns what is there; get sees the last own set and never goes back. */
void coh_flag_values(struct suite *s)
{
	static const uint64_t values[] = {1, 2, 1000, 1ull << 31, 1ull << 32, (1ull << 32) + 1, 1ull << 62, UINT64_MAX};
	tw_flag_t flag = suite_flag(s);
	uint64_t last = 0;

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (s->me == i % s->count) {
			tw_flag_set(flag, values[i]);
			EXPECT(s, tw_flag_get(flag) == values[i], "own set of %llx not seen",
			       (unsigned long long)values[i]);
		}
		uint64_t early = tw_flag_get(flag);
		EXPECT(s, early >= last, "flag went back from %llx to %llx", (unsigned long long)last,
		       (unsigned long long)early);
		last = tw_flag_wait(flag, values[i]);
		EXPECT(s, last == values[i], "flag is %llx, not %llx", (unsigned long long)last,
		       (unsigned long long)values[i]);
		EXPECT(s, tw_flag_wait(flag, 0) == values[i], "wait for 0");
		tw_barrier_all();
		EXPECT(s, tw_flag_get(flag) == values[i], "flag after the barrier");
		tw_barrier_all();
	}
	suite_unflag(s, flag);
}

/* A handle is a value: copied through shared memory from hand to hand, used from the last copy. */
void coh_handles_in_memory(struct suite *s)
{
	struct bundle {
		tw_lock_t lock;
		tw_flag_t flag;
		tw_barrier_t all;
		uint32_t count;
	} *bundle = suite_shared(s, s->count * 2 * sizeof(*bundle));
	struct bundle *mine = &bundle[s->me];

	if (s->me == 0)
		*mine = (struct bundle){tw_lock_create(), tw_flag_create(), tw_barrier_create((int)s->count), 0};
	for (unsigned q = 1; q < s->count; q++) {
		tw_barrier_all();
		if (s->me == q)
			*mine = bundle[q - 1];
	}
	tw_barrier_all();
	tw_lock_acquire(mine->lock);
	bundle[s->count].count++;
	tw_lock_release(mine->lock);
	tw_barrier_wait(mine->all);
	if (s->me == s->count - 1)
		tw_flag_set(mine->flag, bundle[s->count].count);
	EXPECT(s, tw_flag_wait(mine->flag, 1) == s->count, "flag is %llu", (unsigned long long)tw_flag_get(mine->flag));
	tw_barrier_all();
	if (s->me == 0) {
		tw_lock_destroy(mine->lock);
		tw_flag_destroy(mine->flag);
		tw_barrier_destroy(mine->all);
	}
	suite_free(s, bundle);
}

/* All processors make and destroy objects while others use theirs. */
void coh_create_anywhere(struct suite *s)
{
	struct cell {
		tw_lock_t lock;
		uint64_t count;
	} *cell = suite_shared(s, s->count * sizeof(*cell));

	for (unsigned r = 1; r <= 10; r++) {
		cell[s->me].lock = tw_lock_create();
		cell[s->me].count = 0;
		tw_barrier_all();
		for (unsigned q = 0; q < s->count; q++) {
			struct cell *c = &cell[(s->me + q) % s->count];

			tw_lock_acquire(c->lock);
			c->count++;
			tw_lock_release(c->lock);
			tw_lock_destroy(tw_lock_create());
		}
		tw_barrier_all();
		struct cell *next = &cell[(s->me + r) % s->count];
		EXPECT(s, next->count == s->count, "round %u: count is %llu", r, (unsigned long long)next->count);
		tw_lock_destroy(next->lock);
		tw_barrier_all();
	}
	suite_free(s, cell);
}

/* Counters may be reset and stopped at any time; that touches nothing else. */
void coh_stats(struct suite *s)
{
	volatile uint32_t *word = suite_shared(s, s->count * 4);

	word[s->me] = 1;
	tw_stats_reset();
	tw_barrier_all();
	for (unsigned q = 0; q < s->count; q++)
		EXPECT(s, word[q] == 1, "word %u is %u", q, word[q]);
	tw_stats_stop();
	tw_barrier_all();
	word[s->me] = 2;
	tw_barrier_all();
	tw_stats_reset();
	for (unsigned q = 0; q < s->count; q++)
		EXPECT(s, word[q] == 2, "word %u is %u", q, word[q]);
	suite_free(s, (void *)(uintptr_t)word);
}

/* The clock is common and runs forward: what happens after a flag happens later. */
void coh_now(struct suite *s)
{
	volatile double *time = suite_shared(s, s->count * sizeof(double));
	double before = tw_now(), after;
	struct timespec rest = {.tv_nsec = 2000000};

	while (nanosleep(&rest, &rest) < 0 && errno == EINTR) /* a shootdown's signal */
		continue;
	after = tw_now();
	EXPECT(s, after - before >= 0.0019 && after - before < 30, "2 ms took %f s", after - before);
	time[s->me] = tw_now();
	tw_barrier_all();
	after = tw_now();
	for (unsigned q = 0; q < s->count; q++)
		EXPECT(s, time[q] > 0 && time[q] <= after, "processor %u is %f s ahead", q, time[q] - after);
	suite_free(s, (void *)(uintptr_t)time);
}
