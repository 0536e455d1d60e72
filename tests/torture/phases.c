/* SPDX-License-Identifier: BSD-3-Clause */
/* phases.c - lock sections, ownership between boundaries, and the same within groups of processors. */
#include "torture.h"

#include <sched.h>

void section_enter(struct run *r, unsigned lock)
{
	bool taken = false;
	uint32_t other;

	if (r->words) {
		word_lock(r, lock);
		taken = true;
	} else if (rng_chance(&r->mine, 10))
		for (unsigned i = 0; i < 20 && !taken; i++) {
			taken = tw_lock_try_acquire(r->h.lock[lock]);
			if (!taken)
				sched_yield();
		}
	if (!taken)
		tw_lock_acquire(r->h.lock[lock]);
	other = atomic_exchange(&r->oracle->holder[lock], r->me + 1);
	if (other)
		violation(r, "lock %u is also held by processor %u", lock, other - 1);
}

void section_leave(struct run *r, unsigned lock)
{
	atomic_store(&r->oracle->holder[lock], 0);
	if (r->words)
		word_unlock(r, lock);
	else
		tw_lock_release(r->h.lock[lock]);
}

/* Some variables of the lock: a few at random, neighbours, or all. */
static void section_body(struct run *r, unsigned lock)
{
	unsigned first = r->lock_first[lock], n = r->lock_first[lock + 1] - first;
	unsigned touch = rng_below(&r->mine, 8), start;
	bool may_write = rng_chance(&r->mine, 75), together = rng_chance(&r->mine, 50);

	if (n == 0)
		return;
	if (touch == 7)
		touch = n < 40 ? n : 40;
	start = rng_below(&r->mine, n);
	for (unsigned i = 0; i < touch; i++) {
		unsigned k = together ? (start + i) % n : rng_below(&r->mine, n);

		var_touch(r, r->of_lock[first + k], may_write);
		rest(r);
	}
}

void lock_sections(struct run *r, unsigned how_many)
{
	while (how_many--) {
		unsigned held[3], n = 0, lock = rng_below(&r->mine, r->locks);

		r->op++;
		do { /* nested in rising order: no deadlock */
			section_enter(r, lock);
			held[n++] = lock;
			section_body(r, lock);
			lock += rng_between(&r->mine, 1, 4);
		} while (n < 3 && lock < r->locks && rng_chance(&r->mine, 25));
		if (n > 1 && rng_chance(&r->mine, 50)) { /* not always as a stack */
			unsigned t = held[0];
			held[0] = held[n - 1];
			held[n - 1] = t;
		}
		while (n--) {
			section_leave(r, held[n]);
			if (n)
				section_body(r, held[rng_below(&r->mine, n)]);
		}
		rest(r);
	}
}

void phase_locks(struct run *r)
{
	lock_sections(r, r->ops);
}

/* ---- ownership ------------------------------------------------------------------------------------------------ */

#define EVERYBODY ~0u

/* Who owns the variable: a processor, or EVERYBODY for reading. */
static unsigned owner_of(const struct run *r, unsigned var, uint64_t salt, unsigned pattern, unsigned shared_percent)
{
	uint64_t h = mix2(salt, var);
	unsigned c = r->count;

	if (h % 100 < shared_percent)
		return EVERYBODY;
	h /= 100;
	switch (pattern) {
	case 0: /* neighbours belong to neighbours */
		return (var + (unsigned)salt % c) % c;
	case 1: /* neighbours belong to other nodes */
		return (unsigned)((var % r->nodes) * r->locals + (var / r->nodes + salt) % r->locals);
	case 2: /* by page: exclusive mode */
		return (unsigned)((r->var[var].offset / 4096 + salt) % c);
	case 3: /* nearly all belong to one */
		return h % 8 ? (unsigned)(salt % c) : (unsigned)(h / 8 % c);
	case 4: { /* two of one node and one elsewhere */
		unsigned node = (unsigned)(salt % r->nodes) * r->locals;
		unsigned who = (unsigned)(h % 3);
		return who == 2 ? (unsigned)((node + r->locals + salt / 7 % c) % c) : (node + who % r->locals);
	}
	default:
		return (unsigned)(h % c);
	}
}

static void owned_prefetch(struct run *r)
{
	size_t from = rng_below(&r->mine, (unsigned)r->arena_bytes);
	size_t len = rng_below(&r->mine, (unsigned)(r->arena_bytes - from)) + 1;

	tw_prefetch(r->arena + from, len);
}

void phase_owned(struct run *r)
{
	unsigned own[MAX_VARS], read[MAX_VARS], owns = 0, reads = 0;
	unsigned pattern = rng_below(&r->plan, 6), shared = rng_below(&r->plan, 4) * 25;
	unsigned lock_percent = rng_chance(&r->plan, 50) ? rng_below(&r->plan, 30) : 0;
	uint64_t salt = rng_next(&r->plan) >> 8;

	for (unsigned i = 0; i < r->guard_vars[GUARD_PHASE]; i++) {
		unsigned var = r->of_guard[GUARD_PHASE][i], owner = owner_of(r, var, salt, pattern, shared);

		if (owner == r->me)
			own[owns++] = var;
		else if (owner == EVERYBODY)
			read[reads++] = var;
	}
	for (unsigned i = 0; i < r->ops; i++) {
		unsigned n = rng_between(&r->mine, 1, 12), at = rng_below(&r->mine, MAX_VARS);
		bool write = owns && (!reads || rng_chance(&r->mine, 60));

		r->op++;
		if (rng_chance(&r->mine, 3))
			owned_prefetch(r);
		if (rng_chance(&r->mine, lock_percent))
			lock_sections(r, 1);
		for (; n-- && (owns || reads); at++)
			var_touch(r, write ? own[at % owns] : read[at % reads], write);
		rest(r);
	}
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct group {
	unsigned number, size, rank; /* this processor's */
	unsigned leader;             /* processor of rank 0 */
	unsigned groups;
};

/* Cut a permutation of the processors into groups. */
static struct group group_cut(struct run *r)
{
	unsigned order[MAX_PROCS], first = 0;
	struct group g = {0}, mine = {0};

	for (unsigned i = 0; i < r->count; i++)
		order[i] = i;
	if (rng_chance(&r->plan, 80))
		shuffle(&r->plan, order, r->count);
	while (first < r->count) {
		g.size = rng_between(&r->plan, 1, r->count - first);
		g.leader = order[first];
		for (g.rank = 0; g.rank < g.size; g.rank++)
			if (order[first + g.rank] == r->me)
				mine = g;
		first += g.size;
		g.number++;
	}
	mine.groups = g.number;
	return mine;
}

static void group_barrier(struct run *r, const struct group *g, tw_barrier_t barrier, unsigned *passed)
{
	_Atomic uint64_t *arrived = &r->oracle->group_arrived[g->leader];

	atomic_fetch_add(arrived, 1);
	tw_barrier_wait(barrier);
	++*passed;
	if (atomic_load(arrived) < (uint64_t)*passed * g->size)
		violation(r, "barrier of %u processors (leader %u) passed before all had arrived", g->size, g->leader);
}

/* The group's variables change hands within it, by its own barrier: made by the leader, found in shared memory. */
void phase_groups(struct run *r)
{
	struct group g = group_cut(r);
	unsigned laps = rng_between(&r->plan, 2, 6), passed = 0;
	uint64_t salt = rng_next(&r->plan);
	tw_barrier_t barrier;

	if (g.rank == 0) {
		atomic_store(&r->oracle->group_arrived[r->me], 0);
		r->board->group[r->me] = tw_barrier_create((int)g.size);
	}
	boundary(r);
	barrier = r->board->group[g.leader];
	for (unsigned lap = 0; lap < laps; lap++) {
		for (unsigned i = 0; i < r->guard_vars[GUARD_PHASE]; i++) {
			unsigned var = r->of_guard[GUARD_PHASE][i];
			uint64_t h = mix2(salt + lap, var);

			if (mix2(salt, var) % g.groups != g.number || rng_chance(&r->mine, 60))
				continue;
			r->op++;
			if (h % 3 == 0)
				var_touch(r, var, false);
			else if (h / 3 % g.size == g.rank)
				var_touch(r, var, true);
		}
		if (rng_chance(&r->mine, 20))
			lock_sections(r, 1);
		group_barrier(r, &g, barrier, &passed);
	}
	boundary(r);
	if (g.rank == g.size - 1)
		tw_barrier_destroy(r->board->group[g.leader]);
}
