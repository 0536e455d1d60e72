/* SPDX-License-Identifier: BSD-3-Clause */
/* pageset.c - a set of pages as a three-level bitmap: many adders, one drainer, no lock.
 *
 * 	top  [1 .. 1024 words]      a bit per mid word, read from end to end
 * 	mid  [1 .. 2^16 words]      a bit per leaf word
 * 	leaf [1 .. 2^22 words]      a bit per page
 *
 * An adder goes up: leaf bit, mid bit, top bit. The drainer goes down: it exchanges a top word with 0, then the mid
 * words that it named, then the leaf words that those named. Bits above the leaves are hints, which may be set without
 * need. They are never clear for long while a bit below is set:
 *
 * (1) When an add has returned, its page has been taken or will be taken by the next drain. Let L, M, T be the page's
 * three bits. The adder saw or made L = 1, then saw or made M = 1, then T = 1, in this order. An adder that finds L set
 * does not rely on another adder's unfinished climb, because it climbs itself. Suppose a drain cleared M after the
 * moment at which the adder had M = 1. That drain exchanges L's word afterwards. Assume that this exchange precedes, in
 * the modification order of L's word, the setting of L that the adder saw or made. Then the setter read L from the
 * exchange or later, so the drain's clearing of M happened before the setter's change, hence before the adder's read of
 * M, which could not have returned the older 1: a contradiction. So the exchange comes after the setting and takes the
 * page. The same holds one level up: a drain that cleared T after the adder had T = 1 exchanges M's word after M was
 * set. Either it takes M, then L; or an earlier drain cleared M after the adder had M = 1, which is the case above.
 * Otherwise M and T stay set, L is reachable, and the next drain takes it. Acquire and release suffice for this.
 *
 * (2) A concurrent add is taken or stays: only the exchange that reports L clears it.
 *
 * (3) What an adder wrote before tw_pageset_add is visible to the drainer after it took the page. If the adder set L
 * itself, its release and the exchange's acquire guarantee this. If L was set already, the adder only reads it, and
 * nothing orders its earlier stores before this read (a store buffer suffices to break the order). So a full fence
 * stands before the read, and another after the drainer's exchange. The read precedes the exchange in L's order, so the
 * adder's fence precedes the drainer's fence, and the adder's stores precede the drainer's later loads. The fence costs
 * about as much as an uncontended locked instruction, but the line stays shared among adders.
 *
 * A page that is added again while a drain runs is passed by that drain, by the next, or by both. */
#include "tweed/driver/protocol.h"

#define SET_WORDS(bits) (TW_ALIGN_UP(((bits) + 63) / 64, 8)) /* whole cache lines */
#define SET_RUN_MAX     65536u

struct tw_pageset {
	_Alignas(64) _Atomic uint64_t pages;
	_Atomic uint64_t top_words, mid_words;
	_Alignas(64) _Atomic uint64_t words[]; /* top, mid, leaf */
};

struct set_levels {
	_Atomic uint64_t *top, *mid, *leaf;
	size_t top_words;
};

static inline struct set_levels set_levels(const struct tw_pageset *set)
{
	size_t top = atomic_load_explicit(&set->top_words, memory_order_relaxed);
	size_t mid = atomic_load_explicit(&set->mid_words, memory_order_relaxed);
	_Atomic uint64_t *words = (_Atomic uint64_t *)(uintptr_t)set->words;
	return (struct set_levels){.top = words, .mid = words + top, .leaf = words + top + mid, .top_words = top};
}

size_t tw_pageset_bytes(size_t pages)
{
	size_t leaf = SET_WORDS(pages), mid = SET_WORDS(leaf), top = SET_WORDS(mid);
	return sizeof(struct tw_pageset) + (leaf + mid + top) * sizeof(uint64_t);
}

void tw_pageset_init(struct tw_pageset *set, size_t pages)
{
	size_t leaf = SET_WORDS(pages), mid = SET_WORDS(leaf), top = SET_WORDS(mid);
	atomic_store_explicit(&set->top_words, top, memory_order_relaxed);
	atomic_store_explicit(&set->mid_words, mid, memory_order_relaxed);
	atomic_store_explicit(&set->pages, pages, memory_order_relaxed);
}

/* Set bit @i. Returns true when it was set already. */
static inline bool set_bit(_Atomic uint64_t *words, size_t i)
{
	uint64_t bit = 1ull << (i & 63);
	if (atomic_load_explicit(&words[i >> 6], memory_order_acquire) & bit)
		return true;
	return atomic_fetch_or_explicit(&words[i >> 6], bit, memory_order_acq_rel) & bit;
}

static inline void set_page(struct tw_pageset *set, tw_page_t page)
{
	struct set_levels l = set_levels(set);
	TW_ASSERT(page < atomic_load_explicit(&set->pages, memory_order_relaxed));
	set_bit(l.leaf, page);
	set_bit(l.mid, page >> 6);
	set_bit(l.top, page >> 12);
}

void tw_pageset_add(struct tw_pageset *set, tw_page_t page)
{
	atomic_thread_fence(memory_order_seq_cst); /* (3) */
	set_page(set, page);
}

/* On x86 each atomic read-modify-write is a full fence. */
void tw_pageset_add_fenced(struct tw_pageset *set, tw_page_t page)
{
#if !defined(__x86_64__)
	atomic_thread_fence(memory_order_seq_cst);
#endif
	set_page(set, page);
}

/* The run that is being assembled. */
struct set_run {
	void (*run)(void *ctx, tw_page_t first, unsigned count);
	void *ctx;
	size_t first, count, total;
};

static void run_flush(struct set_run *r)
{
	if (r->count)
		r->run(r->ctx, (tw_page_t)r->first, (unsigned)r->count);
	r->total += r->count;
	r->count = 0;
}

static void run_append(struct set_run *r, size_t first, size_t count)
{
	if (r->count && (r->first + r->count != first || r->count + count > SET_RUN_MAX))
		run_flush(r);
	if (!r->count)
		r->first = first;
	r->count += count;
}

static void drain_leaf(struct set_run *r, size_t first, uint64_t bits)
{
	while (bits) {
		unsigned low = (unsigned)__builtin_ctzll(bits);
		uint64_t rest = ~(bits >> low);
		unsigned len = rest ? (unsigned)__builtin_ctzll(rest) : 64;
		run_append(r, first + low, len);
		if (low + len == 64)
			break;
		bits &= ~0ull << (low + len);
	}
}

static void drain_mid(struct set_run *r, const struct set_levels *l, size_t mid)
{
	uint64_t leaves = atomic_exchange_explicit(&l->mid[mid], 0, memory_order_acq_rel);
	for (; leaves; leaves &= leaves - 1) {
		size_t leaf = mid * 64 + (size_t)__builtin_ctzll(leaves);
		uint64_t pages = atomic_exchange_explicit(&l->leaf[leaf], 0, memory_order_acq_rel);
		atomic_thread_fence(memory_order_seq_cst); /* (3) */
		drain_leaf(r, leaf * 64, pages);
	}
}

/* Is one of the 8 words in this cache line not 0? */
static inline bool set_line(const _Atomic uint64_t *words)
{
	uint64_t any = 0;

#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++)
		any |= atomic_load_explicit(&words[i], memory_order_acquire);
	return any;
}

/* The first word of the top level from @top that is not 0. */
static inline size_t set_top(const struct set_levels *l, size_t top)
{
	while (top < l->top_words && !atomic_load_explicit(&l->top[top], memory_order_acquire))
		top += top % 8 == 0 && !set_line(&l->top[top]) ? 8 : 1;
	return top;
}

size_t tw_pageset_drain(struct tw_pageset *set, void (*run)(void *ctx, tw_page_t first, unsigned count), void *ctx)
{
	struct set_levels l = set_levels(set);
	struct set_run r = {.run = run, .ctx = ctx};
	for (size_t top = 0; (top = set_top(&l, top)) < l.top_words; top++) {
		uint64_t mids = atomic_exchange_explicit(&l.top[top], 0, memory_order_acq_rel);
		for (; mids; mids &= mids - 1)
			drain_mid(&r, &l, top * 64 + (size_t)__builtin_ctzll(mids));
	}
	run_flush(&r);
	return r.total;
}

/* Pass each nonzero leaf word to @found until that returns true. Returns whether it did. */
static inline bool set_find(const struct tw_pageset *set, bool (*found)(void *ctx, size_t first, uint64_t bits),
                            void *ctx)
{
	struct set_levels l = set_levels(set);
	for (size_t top = 0; (top = set_top(&l, top)) < l.top_words; top++) {
		uint64_t mids = atomic_load_explicit(&l.top[top], memory_order_acquire);
		for (; mids; mids &= mids - 1) {
			size_t mid = top * 64 + (size_t)__builtin_ctzll(mids);
			uint64_t leaves = atomic_load_explicit(&l.mid[mid], memory_order_acquire);
			for (; leaves; leaves &= leaves - 1) {
				size_t leaf = mid * 64 + (size_t)__builtin_ctzll(leaves);
				uint64_t pages = atomic_load_explicit(&l.leaf[leaf], memory_order_acquire);
				if (pages && found(ctx, leaf * 64, pages))
					return true;
			}
		}
	}
	return false;
}

struct set_visit {
	void (*visit)(void *ctx, tw_page_t page);
	void *ctx;
};

static bool look_leaf(void *ctx, size_t first, uint64_t bits)
{
	const struct set_visit *v = ctx;
	for (; bits; bits &= bits - 1)
		v->visit(v->ctx, (tw_page_t)(first + (size_t)__builtin_ctzll(bits)));
	return false;
}

void tw_pageset_look(const struct tw_pageset *set, void (*visit)(void *ctx, tw_page_t page), void *ctx)
{
	set_find(set, look_leaf, &(struct set_visit){visit, ctx});
}

static bool empty_leaf(void *ctx, size_t first, uint64_t bits)
{
	(void)ctx;
	(void)first;
	(void)bits;
	return true;
}

/* Follows hints down to the leaves, so that a drained set is empty even if adders left hints. */
bool tw_pageset_empty(const struct tw_pageset *set)
{
	return !set_find(set, empty_leaf, NULL);
}
