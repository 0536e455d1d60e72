/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - the public atomic operations.
 *
 * Where the protocol can (core/coherence/word.h), the processor's own instruction acts on the word's newest copy.
 * Before it comes a release and behind it an acquire, as the order requires: core/coherence/lazy.c says why that
 * suffices.  Elsewhere the word's lock is held, and the instruction accesses memory as any store does.  On one node the
 * instruction is all. */
#include <errno.h>
#include <string.h>

#include "core/base/base.h"
#include "core/coherence/lazy.h"
#include "core/coherence/word.h"
#include "core/memory/stores.h"
#include "sync/sync.h"

#define ATOMIC_AGAIN 64u /* equal values that loads find, between two of which the core is given up */

static bool atomic_changes(const struct tw_atomic *a, uint64_t old)
{
	return a->is.op != TW_AMO_FETCH && (a->is.op != TW_AMO_CAS || old == a->is.expect);
}

static bool atomic_releases(const struct tw_atomic *a)
{
	return a->is.op != TW_AMO_FETCH && a->order >= TW_RELEASE;
}

static bool atomic_acquires(const struct tw_atomic *a)
{
	return !a->stores && a->order != TW_RELAXED && a->order != TW_RELEASE;
}

/* A load that takes no lock, if nothing was released to the word that it must acquire. */
static bool atomic_peek(struct tw_proc *me, size_t offset, const struct tw_atomic *a, uint64_t *value)
{
	*value = 0;
	return a->is.op == TW_AMO_FETCH && !tw_word_away(me) && tw_word_peek(me, offset, a->is.bytes, value) &&
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
	old = tw_word_operate(me, offset, &a->is, a->posted);
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
		tw_yield();
}

uint64_t tw_sync_atomic(struct tw_proc *me, volatile void *word, const struct tw_atomic *a, const char *function)
{
	size_t offset = (uintptr_t)word - (uintptr_t)me->app;
	int saved = errno;
	uint64_t old;

	if (offset >= me->config.memory || offset % a->is.bytes)
		tw_fatal("%s: the word at %p is not %s", function, (void *)(uintptr_t)word,
		         offset >= me->config.memory ? "in shared memory" : "aligned to its size");
	if (me->nodes == 1) {
		tw_word_near();
		old = tw_word_perform((void *)(uintptr_t)word, &a->is);
	} else if (tw_word_direct(me)) {
		old = atomic_newest(me, offset, a);
	} else {
		tw_lock_t lock = tw_sync_word_lock(me, offset);
		tw_lock_acquire(lock);
		if (a->is.op != TW_AMO_FETCH)
			tw_stores_add(me->app + offset, a->is.bytes);
		old = tw_word_perform((void *)(uintptr_t)word, &a->is);
		tw_lock_release(lock);
	}
	if (!atomic_changes(a, old))
		atomic_wait(offset, old);
	errno = saved;
	return old;
}

/* ---- the public functions --------------------------------------------------------------------------------------- */

#define ATOMIC(bits, function, ...)                                                                                    \
	(uint##bits##_t)                                                                                               \
	    tw_sync_atomic(tw_me_checked(function), (volatile void *)(uintptr_t)word,                                  \
	                   &(struct tw_atomic){.is = {.bytes = bits / 8, __VA_ARGS__}, .order = order}, function)

#define ATOMIC_WITH(bits, name, operation)                                                                             \
	uint##bits##_t tw_atomic_##name##_u##bits(volatile uint##bits##_t *word, uint##bits##_t value,                 \
	                                          enum tw_order order)                                                 \
	{                                                                                                              \
		return ATOMIC(bits, "tw_atomic_" #name "_u" #bits, .op = operation, .value = value);                   \
	}

#define ATOMIC_BITS(bits)                                                                                              \
	uint##bits##_t tw_atomic_load_u##bits(const volatile uint##bits##_t *word, enum tw_order order)                \
	{                                                                                                              \
		return ATOMIC(bits, "tw_atomic_load_u" #bits, .op = TW_AMO_FETCH);                                     \
	}                                                                                                              \
	void tw_atomic_store_u##bits(volatile uint##bits##_t *word, uint##bits##_t value, enum tw_order order)         \
	{                                                                                                              \
		struct tw_atomic a = {{TW_AMO_SWAP, bits / 8, value, 0}, order, .stores = true};                       \
		tw_sync_atomic(tw_me_checked("tw_atomic_store_u" #bits), word, &a, "tw_atomic_store_u" #bits);         \
	}                                                                                                              \
	void tw_atomic_add_u##bits(volatile uint##bits##_t *word, uint##bits##_t value)                                \
	{                                                                                                              \
		struct tw_atomic a = {{TW_AMO_ADD, bits / 8, value, 0}, .posted = true};                               \
		tw_sync_atomic(tw_me_checked("tw_atomic_add_u" #bits), word, &a, "tw_atomic_add_u" #bits);             \
	}                                                                                                              \
	uint##bits##_t tw_atomic_compare_exchange_u##bits(volatile uint##bits##_t *word, uint##bits##_t expect,        \
	                                                  uint##bits##_t value, enum tw_order order)                   \
	{                                                                                                              \
		return ATOMIC(bits, "tw_atomic_compare_exchange_u" #bits, .op = TW_AMO_CAS, .value = value,            \
		              .expect = expect);                                                                       \
	}                                                                                                              \
	ATOMIC_WITH(bits, exchange, TW_AMO_SWAP)                                                                       \
	ATOMIC_WITH(bits, fetch_add, TW_AMO_ADD)                                                                       \
	ATOMIC_WITH(bits, fetch_and, TW_AMO_AND)                                                                       \
	ATOMIC_WITH(bits, fetch_or, TW_AMO_OR)                                                                         \
	ATOMIC_WITH(bits, fetch_xor, TW_AMO_XOR)

ATOMIC_BITS(32)
ATOMIC_BITS(64)

static double atomic_add_double(volatile double *word, double value, enum tw_order order, bool posted,
                                const char *function)
{
	struct tw_atomic a = {.is = {TW_AMO_ADD_REAL, sizeof(value), 0, 0}, .order = order, .posted = posted};
	double old;

	memcpy(&a.is.value, &value, sizeof(value));
	uint64_t bits = tw_sync_atomic(tw_me_checked(function), word, &a, function);
	memcpy(&old, &bits, sizeof(old));
	return old;
}

double tw_atomic_fetch_add_double(volatile double *word, double value, enum tw_order order)
{
	return atomic_add_double(word, value, order, false, "tw_atomic_fetch_add_double");
}

void tw_atomic_add_double(volatile double *word, double value)
{
	atomic_add_double(word, value, TW_RELAXED, true, "tw_atomic_add_double");
}
