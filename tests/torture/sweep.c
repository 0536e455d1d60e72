/* SPDX-License-Identifier: BSD-3-Clause */
/* sweep.c - large arrays written and read in order, and parcels of fresh pages that go from hand to hand. */
#include "torture.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_CHUNKS 64
#define SPARSE     512 /* one word in 4 KiB */

struct sweep {
	uint64_t *words, key;
	unsigned n, chunks;
	struct {
		unsigned first, end;
		unsigned full, sparse; /* times written */
	} chunk[MAX_CHUNKS];
};

static uint64_t sweep_value(const struct sweep *s, unsigned chunk, unsigned i)
{
	uint64_t version = s->chunk[chunk].full * 65536ull + (i % SPARSE == 0 ? s->chunk[chunk].sparse : 0);

	return version ? mix2(s->key + version, i) : 0;
}

static void sweep_write(struct run *r, struct sweep *s, unsigned chunk, bool store, bool full)
{
	unsigned step = full ? 1 : SPARSE, first = s->chunk[chunk].first;

	if (full) {
		s->chunk[chunk].full++;
		s->chunk[chunk].sparse = 0;
	} else {
		s->chunk[chunk].sparse++;
		first = (first + SPARSE - 1) / SPARSE * SPARSE;
	}
	if (!store)
		return;
	if (rng_chance(&r->mine, 20) && s->chunk[chunk].end > first)
		tw_prefetch(&s->words[first], (s->chunk[chunk].end - first) * sizeof(uint64_t));
	for (unsigned i = first; i < s->chunk[chunk].end; i += step)
		s->words[i] = sweep_value(s, chunk, i);
}

static void sweep_check(struct run *r, const struct sweep *s, unsigned chunk)
{
	unsigned first = s->chunk[chunk].first, n = s->chunk[chunk].end - first, how = rng_below(&r->mine, 4);
	unsigned stride = how == 3 ? rng_between(&r->mine, 2, 1500) : 1;

	if (n && rng_chance(&r->mine, 30))
		tw_prefetch(&s->words[first], n * sizeof(uint64_t));
	for (unsigned k = 0; k < n; k += stride) {
		unsigned i = how == 2 ? s->chunk[chunk].end - 1 - k : first + k;
		uint64_t found = *(volatile uint64_t *)&s->words[i], expect = sweep_value(s, chunk, i);

		if (found != expect)
			violation(
			    r,
			    "sweep word %u (chunk %u, %u full and %u sparse writes) at %p: expected %#llx, found %#llx",
			    i, chunk, s->chunk[chunk].full, s->chunk[chunk].sparse, (void *)&s->words[i],
			    (unsigned long long)expect, (unsigned long long)found);
	}
}

static void sweep_cut(struct run *r, struct sweep *s)
{
	unsigned at = 0;

	s->chunks = rng_between(&r->plan, 1, r->count * 2 < MAX_CHUNKS ? r->count * 2 : MAX_CHUNKS);
	for (unsigned c = 0; c < s->chunks; c++) {
		unsigned even = (unsigned)((uint64_t)s->n * (c + 1) / s->chunks);
		unsigned end = c + 1 == s->chunks ? s->n : even - rng_below(&r->plan, 40) % (even - at + 1);

		s->chunk[c].first = at;
		s->chunk[c].end = at = end;
		s->chunk[c].full = s->chunk[c].sparse = 0;
	}
}

void phase_sweep(struct run *r)
{
	struct sweep s = {.key = rng_next(&r->plan)};
	unsigned laps = rng_between(&r->plan, 1, 4), one = rng_below(&r->plan, r->count), from;

	s.n = rng_between(&r->plan, 1, rng_chance(&r->plan, 10) ? 256 : 64) * 512 + rng_below(&r->plan, 512);
	sweep_cut(r, &s);
	s.words = tw_malloc_all(s.n * sizeof(uint64_t));
	if (!s.words)
		violation(r, "tw_malloc_all of %zu bytes failed", s.n * sizeof(uint64_t));
	if (r->me == one && rng_chance(&r->mine, 50))
		tw_home_set(s.words, s.n * sizeof(uint64_t), (int)rng_below(&r->mine, r->nodes));
	for (unsigned lap = 0; lap < laps; lap++) {
		unsigned pattern = rng_below(&r->plan, 3), full_percent = rng_below(&r->plan, 3) * 50;

		for (unsigned c = 0; c < s.chunks; c++) {
			unsigned owner = pattern == 0   ? one
			                 : pattern == 1 ? c % r->count
			                                : rng_below(&r->plan, r->count);
			bool full = rng_chance(&r->plan, full_percent);

			if (rng_chance(&r->plan, 80))
				sweep_write(r, &s, c, owner == r->me, full);
		}
		boundary(r);
		r->op = lap;
		from = rng_below(&r->mine, s.chunks);
		if (rng_chance(&r->mine, 50))
			for (unsigned c = 0; c < s.chunks; c++)
				sweep_check(r, &s, (from + c) % s.chunks);
		else
			sweep_check(r, &s, from);
		boundary(r);
	}
	if (r->me == rng_below(&r->plan, r->count))
		tw_free(s.words);
}

/* ---- parcels --------------------------------------------------------------------------------------------------------
 * Fresh pages, alone on their node (exclusive mode) until the next processor takes them over by a lock or a flag.
 * Behind the body each processor has a byte of its own, which it goes on writing whichever processor has the body. */

struct parcel {
	unsigned body;
	bool by_flag;
	uint64_t key;
	unsigned order[MAX_PROCS];
};

static uint8_t parcel_tail[MAX_PARCELS];

static void parcel_tail_write(struct run *r, struct parcel *p, unsigned number)
{
	volatile uint8_t *mine = (uint8_t *)r->board->parcel[number] + p->body + r->me;

	if (*mine != parcel_tail[number])
		violation(r, "own byte of processor %u in parcel %u at %p: expected %#x, found %#x", r->me, number,
		          (void *)(uintptr_t)mine, parcel_tail[number], *mine);
	*mine = ++parcel_tail[number];
}

static void parcel_make(struct run *r, struct parcel *p, unsigned number)
{
	unsigned maker = rng_below(&r->plan, r->count), home = rng_below(&r->plan, r->nodes);
	bool set_home = rng_chance(&r->plan, 60);

	p->body = rng_between(&r->plan, 1, rng_chance(&r->plan, 50) ? 4000 : 16000);
	p->by_flag = rng_chance(&r->plan, 50);
	p->key = rng_next(&r->plan);
	for (unsigned i = 0; i < r->count; i++)
		p->order[i] = i;
	shuffle(&r->plan, p->order, r->count);
	parcel_tail[number] = 0;
	if (r->me != maker)
		return;
	char *block = tw_aligned_alloc(4096, p->body + r->count);
	if (!block)
		violation(r, "tw_aligned_alloc of %u bytes failed", p->body + r->count);
	if (set_home) {
		int rc = tw_home_set(block, p->body + r->count, (int)home);
		if (rc && rc != -EBUSY)
			violation(r, "tw_home_set(%p, %u, %u) gave %d", (void *)block, p->body + r->count, home, rc);
	}
	memset(block + p->body, 0, r->count);
	r->board->parcel[number] = block;
	r->board->parcel_flag[number] = tw_flag_create();
	atomic_store(&r->oracle->hop[number], 1);
}

static void parcel_turn(struct run *r, struct parcel *p, unsigned number, unsigned turn)
{
	static uint8_t bytes[BIG_BYTES];
	char *block = r->board->parcel[number];
	unsigned lock = number % r->locks, writes = rng_between(&r->mine, 1, 3);

	for (unsigned i = 0; atomic_load(&r->oracle->hop[number]) < turn; i++) {
		if (i % 4 == 0)
			parcel_tail_write(r, p, number);
		soft_wait(&r->oracle->hop[number], i < 50 ? 0 : turn);
		rest(r);
	}
	if (p->by_flag)
		tw_flag_wait(r->board->parcel_flag[number], turn - 1);
	else
		section_enter(r, lock);
	if (turn > 1)
		content_check(r, "parcel", number, block, p->key, turn - 1, p->body, p->order[(turn - 2) % r->count]);
	while (writes--) {
		content_fill(bytes, p->key, turn + writes, p->body);
		shared_write(r, block, bytes, p->body);
		rest(r);
	}
	if (rng_chance(&r->mine, 50))
		parcel_tail_write(r, p, number);
	atomic_store(&r->oracle->hop[number], turn + 1); /* the next one may come and wait already */
	if (p->by_flag)
		tw_flag_set(r->board->parcel_flag[number], turn);
	else
		section_leave(r, lock);
	if (rng_chance(&r->mine, 70))
		parcel_tail_write(r, p, number);
}

void phase_parcels(struct run *r)
{
	static struct parcel parcel[MAX_PARCELS];
	unsigned n = rng_between(&r->plan, 1, r->count < MAX_PARCELS ? r->count : MAX_PARCELS);
	unsigned turns = r->count < 8 ? 16 : r->count + 8;

	for (unsigned i = 0; i < n; i++)
		parcel_make(r, &parcel[i], i);
	boundary(r);
	for (unsigned turn = 1; turn <= turns; turn++)
		for (unsigned i = 0; i < n; i++)
			if (parcel[i].order[(turn - 1) % r->count] == r->me) {
				r->op = turn;
				parcel_turn(r, &parcel[i], i, turn);
			}
	boundary(r);
	for (unsigned i = 0; i < n; i++) {
		content_check(r, "parcel", i, r->board->parcel[i], parcel[i].key, turns, parcel[i].body,
		              parcel[i].order[(turns - 1) % r->count]);
		parcel_tail_write(r, &parcel[i], i);
	}
	boundary(r);
	for (unsigned i = 0; i < n; i++)
		if (r->me == (i + r->seed) % r->count) {
			tw_free(r->board->parcel[i]);
			tw_flag_destroy(r->board->parcel_flag[i]);
		}
}
