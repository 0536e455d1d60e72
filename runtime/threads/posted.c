/* SPDX-License-Identifier: BSD-3-Clause */
/* posted.c - atomic operations that the transport, or the processor, executes by name, and those of them whose result
 * the program does not use (tools/compile/sums.c).
 *
 * Sums of floating point. gcc's loop loads the old value, adds, and exchanges.  Here the load returns -0.0 and takes
 * nothing.  Since -0.0 + x is x for every x, the exchange's new value is what is to be added to the word, which then is
 * one operation.  The loop ends, because the exchange has succeeded.
 *
 * Which exchange belongs to such a load: that of the same word which expects -0.0.  Where another one of the same word
 * comes in between, by another thread of the processor, that one adds its own number, and this one is an ordinary
 * exchange: it fails unless the word is -0.0, and then its new value is right, or the loop goes on with the old one.
 *
 * Only a relaxed or releasing operation is left under way: one that acquires must know which value it has found. */
#include <string.h>

#include "core/coherence/lazy.h"
#include "runtime/threads/atomic.h"

bool th_word_named(const volatile void *p, size_t bytes)
{
	return th_words && bytes >= 4 && (uintptr_t)p - (uintptr_t)tw_me->app < tw_me->config.memory &&
	       (uintptr_t)p % bytes == 0;
}

uint64_t th_word_operate(const volatile void *p, int order, const struct tw_word_op *op, bool posted)
{
	struct tw_proc *me = tw_me;
	size_t offset = (uintptr_t)p - (uintptr_t)me->app;

	th_atomic_enter();
	if (th_order_releases(order))
		tw_release_to(me, tw_lazy_word(me, offset), TW_SYNC_FLAG, 0, false);
	uint64_t old = tw_word_operate(me, offset, op, posted && !th_order_acquires(order));
	if (th_order_acquires(order) || (op->op == TW_AMO_CAS && old != op->expect))
		tw_acquire_from(me, tw_lazy_word(me, offset), TW_SYNC_FLAG, 0);
	th_atomic_leave();
	return old;
}

/* Returns whether the operation was executed so. */
static bool posted_operate(volatile void *p, size_t bytes, int order, enum tw_amo op, uint64_t value)
{
	if (!th_far || !th_word_named(p, bytes))
		return false;
	th_word_operate(p, order, &(struct tw_word_op){op, (unsigned)bytes, value, 0}, true);
	return true;
}

#define POSTED(type, bytes, name, op, value)                                                                           \
	void th_post_##name##_##bytes(volatile type *p, type v,                                                        \
	                              int order) __asm__("tw_threads_post_" #name "_" #bytes);                         \
	void th_post_##name##_##bytes(volatile type *p, type v, int order)                                             \
	{                                                                                                              \
		if (!posted_operate(p, bytes, order, op, value))                                                       \
			th_fetch_##name##_##bytes(p, v, order);                                                        \
	}

/* The word that a load has taken nothing from. */
static const volatile void *sum_word;

/* The bits of -0.0. */
#define SUM_NONE(type) ((type)1 << (sizeof(type) * 8 - 1))

#define SUM(type, bytes)                                                                                               \
	type th_sum_load_##bytes(const volatile type *p, int order) __asm__("tw_threads_sum_load_" #bytes);            \
	type th_sum_load_##bytes(const volatile type *p, int order)                                                    \
	{                                                                                                              \
		if (!th_far || !th_word_named(p, bytes))                                                               \
			return th_load_##bytes(p, order);                                                              \
		sum_word = p;                                                                                          \
		return SUM_NONE(type);                                                                                 \
	}                                                                                                              \
	bool th_sum_##bytes(volatile type *p, type *expected, type v, int success,                                     \
	                    int failure) __asm__("tw_threads_sum_" #bytes);                                            \
	bool th_sum_##bytes(volatile type *p, type *expected, type v, int success, int failure)                        \
	{                                                                                                              \
		bool one = sum_word == p && *expected == SUM_NONE(type);                                               \
                                                                                                                       \
		sum_word = NULL;                                                                                       \
		return (one && posted_operate(p, bytes, success, TW_AMO_ADD_REAL, v)) ||                               \
		       th_compare_exchange_##bytes(p, expected, v, success, failure);                                  \
	}

#define POSTED_SIZE(type, bytes)                                                                                       \
	POSTED(type, bytes, add, TW_AMO_ADD, v)                                                                        \
	POSTED(type, bytes, sub, TW_AMO_ADD, (type)-v)                                                                 \
	POSTED(type, bytes, and, TW_AMO_AND, v)                                                                        \
	POSTED(type, bytes, or, TW_AMO_OR, v)                                                                          \
	POSTED(type, bytes, xor, TW_AMO_XOR, v)                                                                        \
	SUM(type, bytes)

POSTED_SIZE(uint32_t, 4)
POSTED_SIZE(uint64_t, 8)
