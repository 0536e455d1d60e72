/* SPDX-License-Identifier: BSD-3-Clause */
/* order.c - which writes an acquire must show. */
#include "tests/litmus/litmus.h"

#include <sched.h>

#define PAGE 4096

/* A: x = r; flag = r.  B: wait for flag; read x.  Forbidden: x < r.  x in three places: alone on its page, across a
 * page's end, beside B's own bytes. */
void lit_message_flag(struct suite *s)
{
	char *mem = suite_shared(s, 4 * PAGE);
	tw_flag_t flag = suite_flag(s);
	volatile uint64_t *alone = (uint64_t *)(void *)mem, *beside = (uint64_t *)(void *)(mem + 3 * PAGE);
	volatile uint8_t *across = (uint8_t *)mem + 2 * PAGE - 4;

	if (!suite_needs(s, 2, 1))
		goto out;
	for (unsigned r = 1; r <= s->rounds; r++) {
		unsigned a = suite_role(s, r, 0), b = suite_role(s, r, 1);

		if (s->me == a) {
			*alone = r;
			for (unsigned i = 0; i < 8; i++)
				across[i] = suite_value(r, i);
			beside[0] = r;
			tw_flag_set(flag, r);
		} else if (s->me == b) {
			beside[1 + s->me] = r;
			tw_flag_wait(flag, r);
			EXPECT(s, *alone == r, "round %u: x is %llu", r, (unsigned long long)*alone);
			for (unsigned i = 0; i < 8; i++)
				EXPECT(s, across[i] == suite_value(r, i), "round %u: byte %u across pages is %#x", r, i,
				       across[i]);
			EXPECT(s, beside[0] == r && beside[1 + s->me] == r,
			       "round %u: x beside own bytes is %llu, own %llu", r, (unsigned long long)beside[0],
			       (unsigned long long)beside[1 + s->me]);
		}
		tw_barrier_all();
	}
out:
	suite_unflag(s, flag);
	suite_free(s, mem);
}

/* A: x = r; L { ready = r }.  B: repeat L { seen = ready } until seen = r; read x outside of L.  Forbidden: x < r. */
void lit_message_lock(struct suite *s)
{
	volatile uint64_t *mem = suite_shared(s, 3 * PAGE), *x = mem + PAGE / 8, *ready = mem;
	tw_lock_t lock = suite_lock(s);

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		if (s->me == suite_role(s, r, 0)) {
			*x = r;
			tw_lock_acquire(lock);
			*ready = r;
			tw_lock_release(lock);
		} else if (s->me == suite_role(s, r, 1)) {
			uint64_t seen = 0;

			while (seen != r) {
				tw_lock_acquire(lock);
				seen = *ready;
				tw_lock_release(lock);
				if (seen != r)
					sched_yield();
			}
			EXPECT(s, *x == r, "round %u: x is %llu", r, (unsigned long long)*x);
		}
		tw_barrier_all();
	}
	suite_unlock(s, lock);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* All: x[me] = r; barrier; read all x.  Forbidden: any x[i] < r. */
void lit_message_barrier(struct suite *s)
{
	volatile uint64_t *x = suite_shared(s, s->count * PAGE + PAGE);
	unsigned stride = PAGE / 8 + 1; /* every word on another page, at another place */

	for (unsigned r = 1; r <= s->rounds; r++) {
		x[s->me * stride % (s->count * (PAGE / 8))] = r;
		tw_barrier_all();
		for (unsigned i = 0; i < s->count; i++) {
			unsigned q = (i + s->me) % s->count;
			uint64_t seen = x[q * stride % (s->count * (PAGE / 8))];

			EXPECT(s, seen == r, "round %u: x of processor %u is %llu", r, q, (unsigned long long)seen);
		}
		tw_barrier_all();
	}
	suite_free(s, (void *)(uintptr_t)x);
}

/* A: L1 { x = r }  L2 { a = y }.  B: L2 { y = r }  L1 { b = x }.  Forbidden: a < r and b < r. */
void lit_store_buffering(struct suite *s)
{
	volatile uint64_t *mem = suite_shared(s, 4 * PAGE), *x = mem, *y = mem + PAGE / 8, *seen = mem + 2 * PAGE / 8;
	tw_lock_t lock[2] = {suite_lock(s), suite_lock(s)};

	for (unsigned r = 1; suite_needs(s, 2, 1) && r <= s->rounds; r++) {
		if (r % 3 == 0)
			y = x + 1; /* on one page */
		else
			y = mem + PAGE / 8;
		for (unsigned part = 0; part < 2; part++) {
			if (s->me != suite_role(s, r, part))
				continue;
			tw_lock_acquire(lock[part]);
			*(part ? y : x) = r;
			tw_lock_release(lock[part]);
			tw_lock_acquire(lock[!part]);
			seen[part] = *(part ? x : y);
			tw_lock_release(lock[!part]);
		}
		tw_barrier_all();
		EXPECT(s, seen[0] == r || seen[1] == r, "round %u: both read old values, %llu and %llu", r,
		       (unsigned long long)seen[0], (unsigned long long)seen[1]);
		tw_barrier_all();
	}
	suite_unlock(s, lock[0]);
	suite_unlock(s, lock[1]);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* A: L1 { x = r }.  B: L2 { y = r }.  C: L1 { x }, L2 { y }.  D: L2 { y }, L1 { x }.  Forbidden: C sees x new and y
 * old while D sees y new and x old. */
void lit_two_readers(struct suite *s)
{
	volatile uint64_t *mem = suite_shared(s, 4 * PAGE), *seen = mem + 2 * PAGE / 8;
	tw_lock_t lock[2] = {suite_lock(s), suite_lock(s)};

	for (unsigned r = 1; suite_needs(s, 4, 1) && r <= s->rounds; r++) {
		for (unsigned part = 0; part < 4; part++) {
			if (s->me != suite_role(s, r, part))
				continue;
			for (unsigned i = 0; i < (part < 2 ? 1 : 2); i++) {
				unsigned which = (part + i) % 2;

				tw_lock_acquire(lock[which]);
				if (part < 2)
					mem[which * PAGE / 8] = r;
				else
					seen[(part - 2) * 2 + which] = mem[which * PAGE / 8];
				tw_lock_release(lock[which]);
			}
		}
		tw_barrier_all();
		EXPECT(s, !(seen[0] == r && seen[1] != r && seen[3] == r && seen[2] != r),
		       "round %u: the readers disagree on the order of x and y", r);
		tw_barrier_all();
	}
	suite_unlock(s, lock[0]);
	suite_unlock(s, lock[1]);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* All: L { x += 1 } and L { read x }.  Forbidden: a value smaller than one read, or written, before. */
void lit_no_going_back(struct suite *s)
{
	volatile uint64_t *x = suite_shared(s, 64);
	tw_lock_t lock = suite_lock(s);
	uint64_t last = 0;

	for (unsigned r = 1; r <= s->rounds; r++) {
		tw_lock_acquire(lock);
		EXPECT(s, *x >= last, "round %u: read %llu after %llu", r, (unsigned long long)*x,
		       (unsigned long long)last);
		if ((r + s->me) % 3 == 0)
			++*x;
		last = *x;
		tw_lock_release(lock);
	}
	suite_unlock(s, lock);
	suite_free(s, (void *)(uintptr_t)x);
}

/* A: x = r; flag1 = r.  B: wait; L { y = r }.  C: until L { y } = r; z = r; barrier of C and D.  D: read x, y, z.
 * Forbidden: D reads an old value of any; C an old x. */
void lit_causality(struct suite *s)
{
	volatile uint64_t *mem = suite_shared(s, 4 * PAGE), *x = mem, *y = mem + PAGE / 8, *z = mem + 2 * PAGE / 8;
	tw_flag_t flag = suite_flag(s);
	tw_lock_t lock = suite_lock(s);
	tw_barrier_t barrier = suite_barrier(s, s->count < 2 ? 1 : 2);

	for (unsigned r = 1; suite_needs(s, 4, 1) && r <= s->rounds; r++) {
		if (s->me == suite_role(s, r, 0)) {
			*x = r;
			tw_flag_set(flag, r);
		} else if (s->me == suite_role(s, r, 1)) {
			tw_flag_wait(flag, r);
			tw_lock_acquire(lock);
			*y = r;
			tw_lock_release(lock);
		} else if (s->me == suite_role(s, r, 2)) {
			for (uint64_t seen = 0; seen != r;) {
				tw_lock_acquire(lock);
				seen = *y;
				tw_lock_release(lock);
				if (seen != r)
					sched_yield();
			}
			EXPECT(s, *x == r, "round %u: C's x is %llu", r, (unsigned long long)*x);
			*z = r;
			tw_barrier_wait(barrier);
		} else if (s->me == suite_role(s, r, 3)) {
			tw_barrier_wait(barrier);
			EXPECT(s, *x == r && *y == r && *z == r, "round %u: D's x, y, z are %llu, %llu, %llu", r,
			       (unsigned long long)*x, (unsigned long long)*y, (unsigned long long)*z);
		}
		tw_barrier_all();
	}
	suite_unflag(s, flag);
	suite_unlock(s, lock);
	suite_unbarrier(s, barrier);
	suite_free(s, (void *)(uintptr_t)mem);
}

/* A token goes round by flags; each adds a line to a common log and reads all lines.  Forbidden: a line missing. */
void lit_flag_ring(struct suite *s)
{
	enum { LINES = 512 };
	volatile uint64_t *log = suite_shared(s, LINES * 8);
	tw_flag_t *flag = suite_shared(s, s->count * sizeof(*flag));
	unsigned laps = s->rounds / 10 + 1, turn = 0;

	flag[s->me] = tw_flag_create();
	tw_barrier_all();
	for (unsigned lap = 1; lap <= laps; lap++) {
		turn = (lap - 1) * s->count + s->me;
		if (turn)
			tw_flag_wait(flag[(s->me + s->count - 1) % s->count], s->me ? lap : lap - 1);
		for (unsigned t = turn > LINES ? turn - LINES : 0; t < turn; t++)
			EXPECT(s, log[t % LINES] == t + 1, "turn %u: line %u is %llu", turn, t,
			       (unsigned long long)log[t % LINES]);
		log[turn % LINES] = turn + 1;
		tw_flag_set(flag[s->me], lap);
	}
	tw_barrier_all();
	tw_flag_destroy(flag[(s->me + 1) % s->count]);
	suite_free(s, flag);
	suite_free(s, (void *)(uintptr_t)log);
}

/* All in turn: L { n += 1; flag = n }: setters of one flag, ordered by a lock.  Forbidden: any node's value is smaller
 * than n in the end, or than one seen before. */
void lit_flag_setters(struct suite *s)
{
	volatile uint64_t *n = suite_shared(s, 64);
	tw_flag_t flag = suite_flag(s);
	tw_lock_t lock = suite_lock(s);
	uint64_t last = 0;

	for (unsigned r = 1; r <= s->rounds; r++) {
		for (unsigned i = 0; i < 3; i++) {
			uint64_t seen = tw_flag_get(flag);

			EXPECT(s, seen >= last, "round %u: flag went back from %llu to %llu", r,
			       (unsigned long long)last, (unsigned long long)seen);
			last = seen > last ? seen : last;
			tw_lock_acquire(lock);
			tw_flag_set(flag, ++*n);
			tw_lock_release(lock);
		}
		tw_barrier_all();
		last = tw_flag_get(flag);
		EXPECT(s, last == *n, "round %u: flag is %llu, set to %llu last", r, (unsigned long long)last,
		       (unsigned long long)*n);
		tw_barrier_all();
	}
	suite_unlock(s, lock);
	suite_unflag(s, flag);
	suite_free(s, (void *)(uintptr_t)n);
}

/* All in turn: wait for flag = t - 1; x = t; flag = t: setters of one flag, ordered by the flag itself.  The setter
 * before may still be at work on other nodes when the next one sets.  Forbidden: a value that goes back (at worst
 * the awaited value is never seen: a hang); an old x. */
void lit_flag_relay(struct suite *s)
{
	volatile uint64_t *x = suite_shared(s, 64);
	tw_flag_t flag = suite_flag(s);
	uint64_t last = 0;

	for (unsigned r = 0; r < s->rounds; r++)
		for (unsigned role = 0; role < s->count; role++) {
			uint64_t t = (uint64_t)r * s->count + role + 1, seen = tw_flag_get(flag);

			EXPECT(s, seen >= last, "turn %llu: flag went back from %llu to %llu", (unsigned long long)t,
			       (unsigned long long)last, (unsigned long long)seen);
			last = seen > last ? seen : last;
			if (suite_role(s, r, role) != s->me)
				continue;
			last = tw_flag_wait(flag, t - 1);
			EXPECT(s, last == t - 1 && *x == t - 1, "turn %llu: flag is %llu, x is %llu",
			       (unsigned long long)t, (unsigned long long)last, (unsigned long long)*x);
			*x = t;
			tw_flag_set(flag, t);
		}
	suite_unflag(s, flag);
	suite_free(s, (void *)(uintptr_t)x);
}

/* Neighbours (2i, 2i+1), then (2i+1, 2i+2) meet at barriers of two and exchange all they know: knowledge moves two
 * processors per lap.  Forbidden: an old value within reach. */
void lit_barrier_subsets(struct suite *s)
{
	unsigned n = s->count, even = n / 2 * 2;
	volatile uint64_t *know = suite_shared(s, (size_t)n * n * 8); /* know[i][j]: the latest of j that i knows */
	tw_barrier_t *pair = suite_shared(s, n * sizeof(*pair));

	if (s->me < even)
		pair[s->me] = tw_barrier_create(2); /* of s->me and the next one in the ring of the even */
	tw_barrier_all();
	for (unsigned r = 1; suite_needs(s, 2, 1) && s->me < even && r <= s->rounds; r++) {
		unsigned left = (s->me + even - 1) % even, right = (s->me + 1) % even;
		bool with_right = (s->me + r) % 2;
		unsigned other = with_right ? right : left;
		tw_barrier_t barrier = pair[with_right ? s->me : left];
		uint64_t merged[256];

		know[s->me * n + s->me] = r;
		tw_barrier_wait(barrier);
		EXPECT(s, know[other * n + other] == r, "round %u: processor %u is at %llu", r, other,
		       (unsigned long long)know[other * n + other]);
		for (unsigned j = 0; j < n && j < 256; j++) {
			uint64_t a = know[s->me * n + j], b = know[other * n + j];
			merged[j] = a > b ? a : b;
			/* the farther in the ring, the longer on the way */
			unsigned far = (s->me + even - j) % even, near = far < even - far ? far : even - far;
			EXPECT(s, j >= even || merged[j] + near >= r, "round %u: knows %llu of processor %u", r,
			       (unsigned long long)merged[j], j);
		}
		tw_barrier_wait(barrier);
		for (unsigned j = 0; j < n && j < 256; j++)
			if (j != s->me)
				know[s->me * n + j] = merged[j];
	}
	tw_barrier_all();
	if (s->me < even)
		tw_barrier_destroy(pair[s->me]);
	suite_free(s, pair);
	suite_free(s, (void *)(uintptr_t)know);
}
