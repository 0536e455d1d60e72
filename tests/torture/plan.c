/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c - where the variables lie and what guards them. */
#include "torture.h"

void shuffle(struct rng *g, unsigned *v, unsigned n)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = rng_below(g, i), t = v[j];
		v[j] = v[i - 1];
		v[i - 1] = t;
	}
}

static unsigned plan_size(struct rng *g, unsigned style)
{
	static const unsigned mixed[] = {1, 2, 3, 4, 5, 7, 8, 8, 11, 16, 24, 31, 64, 65};

	switch (style) {
	case 0: /* neighbouring bytes */
		return rng_between(g, 1, 2);
	case 1: /* words */
		return 8;
	case 2: /* more than a cache line, up to pages */
		return rng_between(g, 100, rng_chance(g, 30) ? 9000 : 1500);
	default:
		return mixed[rng_below(g, sizeof(mixed) / sizeof(mixed[0]))];
	}
}

/* A word, unless it has a place already. */
static size_t plan_word(struct run *r, size_t at)
{
	unsigned word = rng_below(&r->plan, WORDS);

	if (r->word[word] || !at)
		return at;
	r->word[word] = (uint32_t)at;
	return at + 8;
}

/* A segment: neighbours of one style, without a gap; @one_guard: all guarded alike. */
static size_t plan_segment(struct run *r, size_t at, size_t end)
{
	struct rng *g = &r->plan;
	unsigned style = rng_below(g, 5), n = style == 2 ? rng_between(g, 1, 4) : rng_between(g, 6, 60);
	bool one_guard = rng_chance(g, 25), one_lock = rng_chance(g, 25);
	unsigned guard = rng_below(g, GUARDS), lock = rng_below(g, r->locks);
	bool words = style == 1 && rng_chance(g, 50);

	if (style == 1)
		at = (at + 7) & ~(size_t)7;
	while (n-- && r->vars < MAX_VARS) {
		struct var *v = &r->var[r->vars];
		unsigned size = plan_size(g, style);

		if (at + size > end)
			return end;
		if (words && rng_chance(g, 40)) {
			at = plan_word(r, at);
			continue;
		}
		*v = (struct var){
		    .offset = (uint32_t)at,
		    .size = size,
		    .lock = one_lock ? lock : rng_below(g, r->locks),
		    .guard = one_guard ? guard : rng_below(g, GUARDS),
		    .key = mix2(r->seed, r->vars),
		};
		r->vars++;
		at += size;
	}
	return at;
}

static void plan_index(struct run *r)
{
	unsigned n = 0;

	memset(r->guard_vars, 0, sizeof(r->guard_vars));
	for (unsigned i = 0; i < r->vars; i++)
		r->of_guard[r->var[i].guard][r->guard_vars[r->var[i].guard]++] = i;
	for (unsigned l = 0; l < r->locks; l++) {
		r->lock_first[l] = n;
		for (unsigned i = 0; i < r->vars; i++)
			if (r->var[i].guard == GUARD_LOCK && r->var[i].lock == l)
				r->of_lock[n++] = i;
	}
	r->lock_first[r->locks] = n;
}

void plan_layout(struct run *r)
{
	static const unsigned lock_choice[] = {1, 2, 3, 4, 8, 16, 64};
	struct rng *g = &r->plan;
	unsigned pages = rng_chance(g, 30) ? rng_between(g, 1, 3) : rng_between(g, 4, 48);
	unsigned before;
	size_t at = rng_below(g, 64);

	r->vars = 0;
	memset(r->word, 0, sizeof(r->word));
	r->locks = lock_choice[rng_below(g, sizeof(lock_choice) / sizeof(lock_choice[0]))];
	r->boxes = rng_between(g, 1, MAX_BOXES);
	r->arena_bytes = (size_t)pages * 4096 + rng_below(g, 200);
	while (at < r->arena_bytes && r->vars < MAX_VARS) {
		at = plan_segment(r, at, r->arena_bytes);
		switch (rng_below(g, 4)) {
		case 0: /* across the end of a page */
			before = rng_below(g, 24);
			at = (at | 4095) + 1 - (4095 - at % 4096 < before ? 0 : before);
			break;
		case 1:
			at += rng_below(g, 4096);
			break;
		case 2:
			at = ((at | 4095) + 1);
			break;
		}
	}
	plan_index(r);
}
