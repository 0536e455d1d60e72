/* SPDX-License-Identifier: BSD-3-Clause */
/* atomics.c - atomic operations, on words of the arena, beside variables, and of the board.
 *
 * Every word has one use.  Locks and progress words guard variables, as Tweed's own locks and flags do in other phases:
 * an operation that releases or acquires too little shows stale variables.  The operations on the others are judged by
 * what they return: all act on the newest value, so a counter is never less than what was added before the operation
 * began, nor more than what had been begun when it ended. */
#include "torture.h"

#include <sched.h>

static char *word_at(const struct run *r, unsigned word)
{
	return r->word[word] ? r->arena + r->word[word] : (char *)&r->board->word[word];
}

/* Every other word is one of 32 bits; the bytes behind it are nothing's. */
static bool word_is_half(unsigned word)
{
	return word % 2;
}

static enum tw_order any_order(struct run *r)
{
	return (enum tw_order)rng_below(&r->mine, 5);
}

enum { OP_LOAD, OP_STORE, OP_EXCHANGE, OP_ADD, OP_AND, OP_OR, OP_XOR };

#define WORD_OP(bits)                                                                                                  \
	static uint64_t word_op_##bits(volatile uint##bits##_t *w, unsigned op, uint64_t value, enum tw_order order)   \
	{                                                                                                              \
		uint##bits##_t v = (uint##bits##_t)value;                                                              \
                                                                                                                       \
		switch (op) {                                                                                          \
		case OP_LOAD:                                                                                          \
			return tw_atomic_load_u##bits(w, order);                                                       \
		case OP_STORE:                                                                                         \
			tw_atomic_store_u##bits(w, v, order);                                                          \
			return 0;                                                                                      \
		case OP_EXCHANGE:                                                                                      \
			return tw_atomic_exchange_u##bits(w, v, order);                                                \
		case OP_ADD:                                                                                           \
			return tw_atomic_fetch_add_u##bits(w, v, order);                                               \
		case OP_AND:                                                                                           \
			return tw_atomic_fetch_and_u##bits(w, v, order);                                               \
		case OP_OR:                                                                                            \
			return tw_atomic_fetch_or_u##bits(w, v, order);                                                \
		default:                                                                                               \
			return tw_atomic_fetch_xor_u##bits(w, v, order);                                               \
		}                                                                                                      \
	}
WORD_OP(32)
WORD_OP(64)

static uint64_t word_op(const struct run *r, unsigned word, unsigned op, uint64_t value, enum tw_order order)
{
	void *at = word_at(r, word);

	return word_is_half(word) ? word_op_32(at, op, value, order) : word_op_64(at, op, value, order);
}

static uint64_t word_swap(const struct run *r, unsigned word, uint64_t expect, uint64_t value, enum tw_order order)
{
	void *at = word_at(r, word);

	return word_is_half(word) ? tw_atomic_compare_exchange_u32(at, (uint32_t)expect, (uint32_t)value, order)
	                          : tw_atomic_compare_exchange_u64(at, expect, value, order);
}

/* ---- locks and progress words ------------------------------------------------------------------------------------ */

void word_lock(struct run *r, unsigned lock)
{
	unsigned word = WORD_LOCKS + lock;
	enum tw_order order = rng_chance(&r->mine, 50) ? TW_ACQUIRE : TW_ACQ_REL;

	if (rng_chance(&r->mine, 50)) {
		while (word_op(r, word, OP_EXCHANGE, 1, order))
			sched_yield();
		return;
	}
	while (word_swap(r, word, 0, 1, order))
		while (word_op(r, word, OP_LOAD, 0, TW_RELAXED))
			sched_yield();
}

void word_unlock(struct run *r, unsigned lock)
{
	unsigned word = WORD_LOCKS + lock;
	enum tw_order order = rng_chance(&r->mine, 50) ? TW_RELEASE : TW_SEQ_CST;

	switch (rng_below(&r->mine, 3)) {
	case 0:
		word_op(r, word, OP_STORE, 0, order);
		break;
	case 1:
		word_op(r, word, OP_ADD, -(uint64_t)1, order);
		break;
	default:
		word_op(r, word, OP_AND, 0, order);
	}
}

void word_raise(struct run *r, uint64_t value)
{
	word_op(r, WORD_FLOW + 2 * r->me, OP_STORE, value, rng_chance(&r->mine, 50) ? TW_RELEASE : TW_SEQ_CST);
}

uint64_t word_await(struct run *r, unsigned processor, uint64_t value)
{
	enum tw_order order = rng_chance(&r->mine, 50) ? TW_ACQUIRE : TW_SEQ_CST;
	uint64_t seen;

	while ((seen = word_op(r, WORD_FLOW + 2 * processor, OP_LOAD, 0, order)) < value)
		sched_yield();
	return seen;
}

/* ---- counters, tokens and bits ----------------------------------------------------------------------------------- */

static void count_judge(struct run *r, unsigned c, uint64_t seen, uint64_t least, uint64_t most)
{
	if (seen < least || seen > most)
		violation(r, "counter %u at %p was %llu, expected %llu to %llu", c, (void *)word_at(r, WORD_COUNTS + c),
		          (unsigned long long)seen, (unsigned long long)least, (unsigned long long)most);
}

/* Some counters are floating point; their values have no fractions. */
static bool count_is_double(unsigned c)
{
	return c % 4 == 2;
}

static uint64_t count_load(struct run *r, unsigned c)
{
	uint64_t bits = word_op(r, WORD_COUNTS + c, OP_LOAD, 0, any_order(r));
	double value;

	if (!count_is_double(c))
		return bits;
	memcpy(&value, &bits, sizeof(value));
	return (uint64_t)value;
}

/* Returns the previous value; *@by is changed to what was added. */
static uint64_t count_add(struct run *r, unsigned c, uint64_t *by)
{
	unsigned word = WORD_COUNTS + c;
	uint64_t old, seen;

	if (count_is_double(c))
		return (uint64_t)tw_atomic_fetch_add_double((void *)word_at(r, word), (double)*by, any_order(r));
	if (rng_chance(&r->mine, 60))
		return word_op(r, word, OP_ADD, *by, any_order(r));
	old = word_op(r, word, OP_LOAD, 0, TW_RELAXED);
	if (rng_chance(&r->mine, 50)) {
		seen = word_swap(r, word, old, old + *by, any_order(r));
		if (seen != old)
			*by = 0;
		return seen;
	}
	while ((seen = word_swap(r, word, old, old + *by, any_order(r))) != old)
		old = seen;
	return old;
}

/* Additions that may be under way, of this processor: those that it has made since count_settle. */
static uint64_t posted[COUNTS];

static void count_post(struct run *r, unsigned c, uint64_t by)
{
	char *at = word_at(r, WORD_COUNTS + c);

	if (count_is_double(c))
		tw_atomic_add_double((void *)at, (double)by);
	else if (word_is_half(WORD_COUNTS + c))
		tw_atomic_add_u32((void *)at, (uint32_t)by);
	else
		tw_atomic_add_u64((void *)at, by);
	posted[c] += by;
}

/* A release: all that is posted has been performed. */
static void count_settle(struct run *r)
{
	tw_lock_acquire(r->h.lock[0]);
	tw_lock_release(r->h.lock[0]);
	for (unsigned c = 0; c < COUNTS; c++) {
		atomic_fetch_add(&r->oracle->count[c].done, posted[c]);
		posted[c] = 0;
	}
}

static void count_step(struct run *r)
{
	unsigned c = rng_below(&r->mine, COUNTS);
	uint64_t least = atomic_load(&r->oracle->count[c].done) + posted[c], by = rng_below(&r->mine, 9), wanted = by;
	uint64_t seen;

	if (rng_chance(&r->mine, 30)) {
		seen = count_load(r, c);
		count_judge(r, c, seen, least, atomic_load(&r->oracle->count[c].begun));
		return;
	}
	atomic_fetch_add(&r->oracle->count[c].begun, by);
	if (rng_chance(&r->mine, 40)) {
		count_post(r, c, by);
		return;
	}
	seen = count_add(r, c, &by);
	count_judge(r, c, seen, least, atomic_load(&r->oracle->count[c].begun) - by);
	atomic_fetch_add(&r->oracle->count[c].done, by);
	atomic_fetch_sub(&r->oracle->count[c].begun, wanted - by);
}

/* What is given less what is got stays in the word. */
static void token_step(struct run *r)
{
	unsigned t = rng_below(&r->mine, TOKENS), word = WORD_TOKENS + t;
	uint64_t token = rng_next(&r->mine) >> (word_is_half(word) ? 40 : 20);

	atomic_fetch_add(&r->oracle->token[t], token);
	atomic_fetch_sub(&r->oracle->token[t], word_op(r, word, OP_EXCHANGE, token, any_order(r)));
}

/* A bit of the word is the processor's own. */
static void bit_step(struct run *r)
{
	unsigned b = r->me / 32 % BITS, word = WORD_BITS + b;
	uint64_t bit = 1ull << (r->me % 32), old;
	enum tw_order order = any_order(r);

	switch (rng_below(&r->mine, 3)) {
	case 0:
		old = word_op(r, word, OP_XOR, bit, order);
		break;
	case 1:
		old = word_op(r, word, r->bit ? OP_AND : OP_OR, r->bit ? ~bit : bit, order);
		break;
	default:
		old = word_op(r, word, OP_LOAD, 0, order);
		if (!(old & bit) != !r->bit)
			break;
		return;
	}
	if (!(old & bit) != !r->bit)
		violation(r, "own bit of word %u at %p was %d, expected %d", word, (void *)word_at(r, word),
		          (old & bit) != 0, r->bit);
	r->bit = !r->bit;
}

void phase_atomics(struct run *r)
{
	bool sections = rng_chance(&r->plan, 50);

	for (unsigned i = 0; i < r->ops; i++) {
		for (unsigned n = rng_below(&r->mine, 6); n-- > 0;) {
			unsigned what = rng_below(&r->mine, 8);

			r->op++;
			if (what == 0)
				token_step(r);
			else if (what == 1)
				bit_step(r);
			else
				count_step(r);
		}
		if (sections)
			lock_sections(r, 1);
		rest(r);
	}
	count_settle(r);
}

void words_clear(struct run *r, uint64_t salt)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (mix2(salt, i) % r->count == r->me)
			memset(word_at(r, i), 0, 8);
	r->bit = false;
}

/* Plain loads, after a boundary. */
void words_check(struct run *r)
{
	for (unsigned c = 0; c < COUNTS; c++) {
		uint64_t value = *(volatile uint64_t *)(void *)word_at(r, WORD_COUNTS + c), sum;
		double real;

		memcpy(&real, &value, sizeof(real));
		sum = atomic_load(&r->oracle->count[c].done);
		count_judge(r, c, count_is_double(c) ? (uint64_t)real : value, sum, sum);
	}
	for (unsigned t = 0; t < TOKENS; t++) {
		uint64_t left = *(volatile uint64_t *)(void *)word_at(r, WORD_TOKENS + t);

		if (left != atomic_load(&r->oracle->token[t]))
			violation(r, "token word %u at %p is %llx, expected %llx", t,
			          (void *)word_at(r, WORD_TOKENS + t), (unsigned long long)left,
			          (unsigned long long)atomic_load(&r->oracle->token[t]));
	}
}
