/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - the public atomic operations.
 *
 * Where the protocol can (core/coherence/word.h), the processor's own instruction acts on the word's newest copy.
 * Before it comes a release and behind it an acquire, as the order requires: core/coherence/lazy.c says why that
 * suffices.  Elsewhere the word's lock is held, and the instruction accesses memory as any store does.  On one node the
 * instruction is all. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "core/coherence/lazy.h"
#include "core/coherence/word.h"
#include "core/memory/stores.h"
#include "sync/sync.h"

#define ATOMIC_AGAIN 64u /* equal values that loads find, between two of which the core is given up */

static double atomic_sum(uint64_t a, uint64_t b)
{
	double x, y;

	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	return x + y;
}

static uint64_t perform_add_double(uint64_t *at, uint64_t value)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED), new;
	double sum;

	do {
		sum = atomic_sum(old, value);
		memcpy(&new, &sum, sizeof(new));
	} while (!__atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return old;
}

#define PERFORM(type, at, a, old)                                                                                      \
	do {                                                                                                           \
		type *word = (at), value = (type)(a)->value, expect = (type)(a)->expect;                               \
		switch ((a)->op) {                                                                                     \
		case TW_ATOMIC_LOAD:                                                                                   \
			(old) = __atomic_load_n(word, __ATOMIC_SEQ_CST);                                               \
			break;                                                                                         \
		case TW_ATOMIC_STORE:                                                                                  \
		case TW_ATOMIC_EXCHANGE:                                                                               \
			(old) = __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);                                    \
			break;                                                                                         \
		case TW_ATOMIC_COMPARE_EXCHANGE:                                                                       \
			__atomic_compare_exchange_n(word, &expect, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
			(old) = expect;                                                                                \
			break;                                                                                         \
		case TW_ATOMIC_ADD:                                                                                    \
			(old) = __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);                                     \
			break;                                                                                         \
		case TW_ATOMIC_AND:                                                                                    \
			(old) = __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);                                     \
			break;                                                                                         \
		case TW_ATOMIC_OR:                                                                                     \
			(old) = __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);                                      \
			break;                                                                                         \
		case TW_ATOMIC_XOR:                                                                                    \
			(old) = __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);                                     \
			break;                                                                                         \
		case TW_ATOMIC_ADD_DOUBLE:                                                                             \
			break;                                                                                         \
		}                                                                                                      \
	} while (0)

/* Returns the previous value. */
static uint64_t atomic_perform(void *at, const struct tw_atomic *a)
{
	uint64_t old = 0;

	if (a->op == TW_ATOMIC_ADD_DOUBLE)
		return perform_add_double(at, a->value);
	if (a->bytes == 4)
		PERFORM(uint32_t, at, a, old);
	else
		PERFORM(uint64_t, at, a, old);
	return old;
}

static bool atomic_changes(const struct tw_atomic *a, uint64_t old)
{
	return a->op != TW_ATOMIC_LOAD && (a->op != TW_ATOMIC_COMPARE_EXCHANGE || old == a->expect);
}

static bool atomic_releases(const struct tw_atomic *a)
{
	return a->op != TW_ATOMIC_LOAD && a->order >= TW_RELEASE;
}

static bool atomic_acquires(const struct tw_atomic *a)
{
	return a->op != TW_ATOMIC_STORE && a->order != TW_RELAXED && a->order != TW_RELEASE;
}

/* A load that takes no lock, if nothing was released to the word that it must acquire. */
static bool atomic_peek(struct tw_proc *me, size_t offset, const struct tw_atomic *a, uint64_t *value)
{
	*value = 0;
	return a->op == TW_ATOMIC_LOAD && !tw_word_away(me) && tw_word_peek(me, offset, a->bytes, value) &&
	       (!atomic_acquires(a) || tw_acquire_needless(me, tw_lazy_word(me, offset)));
}

static uint64_t atomic_newest(struct tw_proc *me, size_t offset, const struct tw_atomic *a)
{
	struct tw_record record = tw_lazy_word(me, offset);
	uint64_t old;

	if (atomic_peek(me, offset, a, &old))
		return old;
	if (atomic_releases(a))
		tw_release_to(me, record, TW_SYNC_FLAG, 0, false);
	struct tw_word newest = tw_word_begin(me, offset, a->bytes, a->op == TW_ATOMIC_LOAD);
	do
		old = atomic_perform(newest.at, a);
	while (!tw_word_end(me, newest, offset, a->bytes, atomic_changes(a, old)));
	if (atomic_acquires(a))
		tw_acquire_from(me, record, TW_SYNC_FLAG, 0);
	return old;
}

/* Another process may need this core to change the value. */
static void atomic_wait(size_t offset, uint64_t value)
{
	static struct {
		size_t offset;
		uint64_t value;
		unsigned times;
	} last;

	if (offset != last.offset || value != last.value) {
		last.offset = offset;
		last.value = value;
		last.times = 0;
	}
	if (++last.times % ATOMIC_AGAIN == 0)
		sched_yield();
}

uint64_t tw_sync_atomic(struct tw_proc *me, volatile void *word, const struct tw_atomic *a, const char *function)
{
	size_t offset = (uintptr_t)word - (uintptr_t)me->app;
	int saved = errno;
	uint64_t old;

	if (offset >= me->config.memory || offset % a->bytes)
		tw_fatal("%s: the word at %p is not %s", function, (void *)(uintptr_t)word,
		         offset >= me->config.memory ? "in shared memory" : "aligned to its size");
	if (me->nodes == 1) {
		old = atomic_perform((void *)(uintptr_t)word, a);
	} else if (tw_word_direct(me)) {
		old = atomic_newest(me, offset, a);
	} else {
		tw_lock_t lock = tw_sync_word_lock(me, offset);
		tw_lock_acquire(lock);
		if (a->op != TW_ATOMIC_LOAD)
			tw_stores_add(me->app + offset, a->bytes);
		old = atomic_perform((void *)(uintptr_t)word, a);
		tw_lock_release(lock);
	}
	if (!atomic_changes(a, old))
		atomic_wait(offset, old);
	errno = saved;
	return old;
}

/* ---- the public functions --------------------------------------------------------------------------------------- */

#define ATOMIC(bits, function, operation, ...)                                                                         \
	return (uint##bits##_t)tw_sync_atomic(                                                                         \
	    tw_me_checked(function), (volatile void *)(uintptr_t)word,                                                 \
	    &(struct tw_atomic){.op = operation, .bytes = bits / 8, .order = order, __VA_ARGS__}, function)

#define ATOMIC_WITH(bits, name, operation)                                                                             \
	uint##bits##_t tw_atomic_##name##_u##bits(volatile uint##bits##_t *word, uint##bits##_t value,                 \
	                                          enum tw_order order)                                                 \
	{                                                                                                              \
		ATOMIC(bits, "tw_atomic_" #name "_u" #bits, operation, .value = value);                                \
	}

#define ATOMIC_BITS(bits)                                                                                              \
	uint##bits##_t tw_atomic_load_u##bits(const volatile uint##bits##_t *word, enum tw_order order)                \
	{                                                                                                              \
		ATOMIC(bits, "tw_atomic_load_u" #bits, TW_ATOMIC_LOAD, .value = 0);                                    \
	}                                                                                                              \
	static uint##bits##_t atomic_store_u##bits(volatile uint##bits##_t *word, uint##bits##_t value,                \
	                                           enum tw_order order)                                                \
	{                                                                                                              \
		ATOMIC(bits, "tw_atomic_store_u" #bits, TW_ATOMIC_STORE, .value = value);                              \
	}                                                                                                              \
	void tw_atomic_store_u##bits(volatile uint##bits##_t *word, uint##bits##_t value, enum tw_order order)         \
	{                                                                                                              \
		atomic_store_u##bits(word, value, order);                                                              \
	}                                                                                                              \
	uint##bits##_t tw_atomic_compare_exchange_u##bits(volatile uint##bits##_t *word, uint##bits##_t expect,        \
	                                                  uint##bits##_t value, enum tw_order order)                   \
	{                                                                                                              \
		ATOMIC(bits, "tw_atomic_compare_exchange_u" #bits, TW_ATOMIC_COMPARE_EXCHANGE, .value = value,         \
		       .expect = expect);                                                                              \
	}                                                                                                              \
	ATOMIC_WITH(bits, exchange, TW_ATOMIC_EXCHANGE)                                                                \
	ATOMIC_WITH(bits, fetch_add, TW_ATOMIC_ADD)                                                                    \
	ATOMIC_WITH(bits, fetch_and, TW_ATOMIC_AND)                                                                    \
	ATOMIC_WITH(bits, fetch_or, TW_ATOMIC_OR)                                                                      \
	ATOMIC_WITH(bits, fetch_xor, TW_ATOMIC_XOR)

ATOMIC_BITS(32)
ATOMIC_BITS(64)

double tw_atomic_fetch_add_double(volatile double *word, double value, enum tw_order order)
{
	struct tw_atomic a = {.op = TW_ATOMIC_ADD_DOUBLE, .bytes = sizeof(value), .order = order};
	double old;

	memcpy(&a.value, &value, sizeof(value));
	uint64_t bits =
	    tw_sync_atomic(tw_me_checked("tw_atomic_fetch_add_double"), word, &a, "tw_atomic_fetch_add_double");
	memcpy(&old, &bits, sizeof(old));
	return old;
}
