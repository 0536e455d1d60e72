/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.h - atomic operations of the program on data that another node may use: what atomic.c and posted.c share. */
#ifndef TW_RUNTIME_THREADS_ATOMIC_H
#define TW_RUNTIME_THREADS_ATOMIC_H

#include "core/coherence/word.h"
#include "runtime/threads/support.h"

/* What an operation's order means.  The compiler may add bits for hints. */
#define TH_ORDER 0xf
static inline bool th_order_releases(int order)
{
	return (order & TH_ORDER) >= __ATOMIC_RELEASE;
}
static inline bool th_order_acquires(int order)
{
	return (order & TH_ORDER) != __ATOMIC_RELAXED && (order & TH_ORDER) != __ATOMIC_RELEASE;
}

/* th_atomic_enter, th_atomic_leave - before and behind each operation, if th_far. */
void th_atomic_enter(void);
void th_atomic_leave(void);

/* th_word_named - can the operation on the @bytes bytes at @p be named to the transport, or the processor?
 * th_word_operate - execute it on the newest copy; a release and an acquire as @order says, and an acquire if a
 * compare-and-swap fails.  @posted: as in
 * core/coherence/word.h.  Returns the previous value.  Only if th_far, and th_word_named. */
bool th_word_named(const volatile void *p, size_t bytes);
uint64_t th_word_operate(const volatile void *p, int order, const struct tw_word_op *op, bool posted);

/* The functions that the compiler calls by their other names: __atomic_load_4 and so on. */
#define TH_ATOMIC(type, bytes)                                                                                         \
	type th_load_##bytes(const volatile type *p, int order) __asm__("__atomic_load_" #bytes);                      \
	bool th_compare_exchange_##bytes(volatile type *p, type *expected, type v, int success,                        \
	                                 int failure) __asm__("__atomic_compare_exchange_" #bytes);                    \
	type th_fetch_add_##bytes(volatile type *p, type v, int order) __asm__("__atomic_fetch_add_" #bytes);          \
	type th_fetch_sub_##bytes(volatile type *p, type v, int order) __asm__("__atomic_fetch_sub_" #bytes);          \
	type th_fetch_and_##bytes(volatile type *p, type v, int order) __asm__("__atomic_fetch_and_" #bytes);          \
	type th_fetch_or_##bytes(volatile type *p, type v, int order) __asm__("__atomic_fetch_or_" #bytes);            \
	type th_fetch_xor_##bytes(volatile type *p, type v, int order) __asm__("__atomic_fetch_xor_" #bytes);
TH_ATOMIC(uint32_t, 4)
TH_ATOMIC(uint64_t, 8)

#endif
