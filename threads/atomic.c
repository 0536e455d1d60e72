/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - atomic operations.
 *
 * With -fno-inline-atomics gcc calls a function for each atomic operation of C, C++ and OpenMP, which is here.  What it still puts
 * in line (flush, __sync_..., assembler in the source) our assembler replaces or brackets (as.c).
 *
 * Where one node is at work the processor's own instruction does it.  Between nodes the word's lock is taken, and the operation is
 * done on memory like any other: whatever the protocol, it takes effect once, and what was stored before it is seen by
 * whoever operates on the word later. */
#include <string.h>

#include "core/polled.h"
#include "threads/threads.h"

static tw_lock_t atomic_lock(const volatile void *ptr)
{
	return th_locks.word[((uintptr_t)ptr / 16 * 0x9e3779b97f4a7c15u) >> 58];
}

/* Of inline ones: the lock that the bracket holds. */
static tw_lock_t atomic_held;

/* tw_threads_atomic_begin, tw_threads_atomic_end - around an instruction at @ptr; called with all registers kept (atomic.S). */
void th_atomic_begin(const void *ptr);
void th_atomic_end(void);

void th_atomic_begin(const void *ptr)
{
	th_stack_reserve();
	atomic_held.id = 0;
	if (!th_far)
		return;
	atomic_held = atomic_lock(ptr);
	tw_lock_acquire(atomic_held);
}

void th_atomic_end(void)
{
	if (atomic_held.id)
		tw_lock_release(atomic_held);
	atomic_held.id = 0;
}

static void fence_enter(void)
{
	tw_lock_acquire(th_locks.fence);
}

static void fence_leave(void)
{
	tw_lock_release(th_locks.fence);
}

/* On the own stack, whose pages are pinned, nobody waits. */
static const void *fence_flag(const void *ptr)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	return (uintptr_t)ptr - here < th_stack_bytes() ? NULL : ptr;
}

/* Both ends of a happens-before: who has fenced before this one sees what was stored before it. */
void th_fence(const void *ptr)
{
	static const struct tw_fence fence = {.enter = fence_enter, .leave = fence_leave};

	th_stack_reserve();
	if (th_far)
		tw_polled_fence(tw_me, &fence, fence_flag(ptr));
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* @near: the processor's own operation; @away: the same as plain C on *p. */
#define ATOMIC(near, away)                                                                                             \
	do {                                                                                                           \
		if (!th_far) {                                                                                         \
			near;                                                                                          \
			break;                                                                                         \
		}                                                                                                      \
		th_stack_reserve();                                                                                    \
		tw_lock_acquire(atomic_lock(p));                                                                       \
		away;                                                                                                  \
		tw_lock_release(atomic_lock(p));                                                                       \
	} while (0)

/* The compiler has declarations of its own for these names. */
#define ATOMIC_NAME(name, bytes) __asm__("__atomic_" #name "_" #bytes)

#define ATOMIC_FETCH(type, bytes, name, op)                                                                            \
	type th_fetch_##name##_##bytes(volatile type *p, type v, int order) ATOMIC_NAME(fetch_##name, bytes);          \
	type th_fetch_##name##_##bytes(volatile type *p, type v, int order)                                            \
	{                                                                                                              \
		type old;                                                                                              \
		(void)order;                                                                                           \
		ATOMIC(old = __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST), (old = *p, *p = (type)(op)));              \
		return old;                                                                                            \
	}                                                                                                              \
	type th_##name##_fetch_##bytes(volatile type *p, type v, int order) ATOMIC_NAME(name##_fetch, bytes);          \
	type th_##name##_fetch_##bytes(volatile type *p, type v, int order)                                            \
	{                                                                                                              \
		type old = th_fetch_##name##_##bytes(p, v, order);                                                     \
		return (type)(op);                                                                                     \
	}

#define ATOMIC_SIZE(type, bytes)                                                                                       \
	type th_load_##bytes(const volatile type *p, int order) ATOMIC_NAME(load, bytes);                              \
	type th_load_##bytes(const volatile type *p, int order)                                                        \
	{                                                                                                              \
		type v;                                                                                                \
		(void)order;                                                                                           \
		ATOMIC(v = __atomic_load_n(p, __ATOMIC_SEQ_CST), v = *p);                                              \
		return v;                                                                                              \
	}                                                                                                              \
	void th_store_##bytes(volatile type *p, type v, int order) ATOMIC_NAME(store, bytes);                          \
	void th_store_##bytes(volatile type *p, type v, int order)                                                     \
	{                                                                                                              \
		(void)order;                                                                                           \
		ATOMIC(__atomic_store_n(p, v, __ATOMIC_SEQ_CST), *p = v);                                              \
	}                                                                                                              \
	type th_exchange_##bytes(volatile type *p, type v, int order) ATOMIC_NAME(exchange, bytes);                    \
	type th_exchange_##bytes(volatile type *p, type v, int order)                                                  \
	{                                                                                                              \
		type old;                                                                                              \
		(void)order;                                                                                           \
		ATOMIC(old = __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST), (old = *p, *p = v));                         \
		return old;                                                                                            \
	}                                                                                                              \
	bool th_compare_exchange_##bytes(volatile type *p, type *expected, type v, int success, int failure)           \
	    ATOMIC_NAME(compare_exchange, bytes);                                                                      \
	bool th_compare_exchange_##bytes(volatile type *p, type *expected, type v, int success, int failure)           \
	{                                                                                                              \
		type old;                                                                                              \
		(void)success;                                                                                         \
		(void)failure;                                                                                         \
		old = *expected;                                                                                       \
		ATOMIC(__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST),             \
		       (old = *p, *p = old == *expected ? v : old));                                                   \
		if (old == *expected)                                                                                  \
			return true;                                                                                   \
		*expected = old;                                                                                       \
		return false;                                                                                          \
	}                                                                                                              \
	ATOMIC_FETCH(type, bytes, add, old + v)                                                                        \
	ATOMIC_FETCH(type, bytes, sub, old - v)                                                                        \
	ATOMIC_FETCH(type, bytes, and, old &v)                                                                         \
	ATOMIC_FETCH(type, bytes, or, old | v)                                                                         \
	ATOMIC_FETCH(type, bytes, xor, old ^ v)                                                                        \
	ATOMIC_FETCH(type, bytes, nand, ~(old & v))

ATOMIC_SIZE(uint8_t, 1)
ATOMIC_SIZE(uint16_t, 2)
ATOMIC_SIZE(uint32_t, 4)
ATOMIC_SIZE(uint64_t, 8)
