/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - atomic operations.
 *
 * With -fno-inline-atomics gcc calls a function for each atomic operation of C, C++ and OpenMP.  These functions are
 * here, as are libatomic's, whose own locks and instructions only work inside one process.  Tweed's assembler replaces
 * or encloses what gcc still generates inline: flush, __sync_..., assembler in the source (tools/compile/as.c).
 *
 * When all data is used on one node only, the processor's own instruction executes the operation.  Between nodes the
 * word's lock is taken, and the operation accesses memory normally.  So under every protocol it takes effect once, and
 * what was stored before it is visible to later operations on the word. */
#include <errno.h>
#include <string.h>

#include "core/coherence/polled.h"
#include "runtime/threads/baton.h"
#include "runtime/threads/support.h"

static tw_lock_t atomic_lock(const volatile void *ptr)
{
	return th_locks.word[((uintptr_t)ptr / 16 * 0x9e3779b97f4a7c15u) >> 58];
}

/* For inline ones: the lock held between begin and end; 0: none. */
extern tw_lock_t th_atomic_held;
tw_lock_t th_atomic_held;
/* How many more of them within a node need no call. */
#define ATOMIC_NEAR 512u
extern unsigned th_atomic_left;
unsigned th_atomic_left;

/* tw_threads_atomic_begin, tw_threads_atomic_end - enclose an instruction at @ptr; called with all registers preserved
 * (atomic.S). */
void th_atomic_begin(const void *ptr);
void th_atomic_end(void);

/* What signals do where they interrupt the program's code (turns.c): they seldom do in a loop of such instructions,
 * most of whose time is Tweed's. */
static void atomic_signals(void)
{
	sigset_t mask;

	th_due_now();
	if (!th_turn_is_over)
		return;
	th_turn_end();
	if (th_turn_look) {
		pthread_sigmask(SIG_BLOCK, NULL, &mask);
		th_turn_look(&mask);
	}
}

void th_atomic_begin(const void *ptr)
{
	th_stack_reserve();
	th_atomic_held.id = 0;
	atomic_signals();
	if (!th_far) {
		if (th_siblings)
			th_spun_often();
		th_atomic_left = ATOMIC_NEAR;
		return;
	}
	int saved = errno;
	th_spun();
	th_atomic_held = atomic_lock(ptr);
	tw_lock_acquire(th_atomic_held);
	errno = saved;
}

bool th_atomic_inside(void)
{
	return th_atomic_held.id != 0;
}

void th_atomic_end(void)
{
	int saved = errno;

	if (th_atomic_held.id)
		tw_lock_release(th_atomic_held);
	errno = saved;
	th_atomic_held.id = 0;
}

static void fence_enter(void)
{
	tw_lock_acquire(th_locks.fence);
}

static void fence_leave(void)
{
	tw_lock_release(th_locks.fence);
}

/* No thread waits for a variable of its own stack, whose pages are pinned. */
static const void *fence_flag(const void *ptr)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	return (uintptr_t)ptr - here < th_stack_bytes() ? NULL : ptr;
}

/* Both ends of a happens-before relation: what was stored before an earlier fence is visible after this one. */
void th_fence(const void *ptr)
{
	static const struct tw_fence fence = {.enter = fence_enter, .leave = fence_leave};

	th_stack_reserve();
	th_spun();
	if (th_far)
		tw_polled_fence(tw_me, &fence, fence_flag(ptr));
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void th_order(void)
{
	int saved = errno;

	if (!th_far)
		return;
	th_stack_reserve();
	tw_lock_acquire(th_locks.order);
	tw_lock_release(th_locks.order);
	errno = saved;
}

/* tw_threads_pause - before a pause instruction of the program, in a loop that waits, perhaps for a plain variable. */
void th_pause(void);
void th_pause(void)
{
	th_atomic_left = ATOMIC_NEAR;
	th_stack_reserve();
	atomic_signals();
	if (th_siblings)
		th_spun_often();
	th_order();
}

/* @near: the processor's own operation; @away: the same in plain C on *p. */
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

/* The compiler has its own declarations of these names. */
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
		th_spun();                                                                                             \
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
		th_spun();                                                                                             \
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
		th_spun();                                                                                             \
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

/* ---- 16 bytes ---- */

#if defined(__x86_64__)
__extension__ typedef unsigned __int128 atomic_wide;

/* Returns the previous value. */
static atomic_wide wide_cas(volatile atomic_wide *p, atomic_wide expected, atomic_wide v)
{
	uint64_t low = (uint64_t)expected, high = (uint64_t)(expected >> 64);

	__asm__ volatile("lock cmpxchg16b %0"
	                 : "+m"(*p), "+a"(low), "+d"(high)
	                 : "b"((uint64_t)v), "c"((uint64_t)(v >> 64))
	                 : "memory", "cc");
	return (atomic_wide)high << 64 | low;
}

static atomic_wide wide_near(volatile atomic_wide *p, atomic_wide (*op)(atomic_wide old, atomic_wide v), atomic_wide v)
{
	atomic_wide old = 0, seen;

	while ((seen = wide_cas(p, old, op(old, v))) != old)
		old = seen;
	return old;
}

static atomic_wide wide_apply(volatile atomic_wide *p, atomic_wide (*op)(atomic_wide old, atomic_wide v), atomic_wide v)
{
	atomic_wide old;

	ATOMIC(old = wide_near(p, op, v), (old = *p, *p = op(old, v)));
	return old;
}

#define WIDE_FETCH(name, expression)                                                                                   \
	static atomic_wide wide_##name(atomic_wide old, atomic_wide v)                                                 \
	{                                                                                                              \
		return expression;                                                                                     \
	}                                                                                                              \
	atomic_wide th_fetch_##name##_16(volatile atomic_wide *p, atomic_wide v, int order)                            \
	    ATOMIC_NAME(fetch_##name, 16);                                                                             \
	atomic_wide th_fetch_##name##_16(volatile atomic_wide *p, atomic_wide v, int order)                            \
	{                                                                                                              \
		(void)order;                                                                                           \
		return wide_apply(p, wide_##name, v);                                                                  \
	}                                                                                                              \
	atomic_wide th_##name##_fetch_16(volatile atomic_wide *p, atomic_wide v, int order)                            \
	    ATOMIC_NAME(name##_fetch, 16);                                                                             \
	atomic_wide th_##name##_fetch_16(volatile atomic_wide *p, atomic_wide v, int order)                            \
	{                                                                                                              \
		return wide_##name(th_fetch_##name##_16(p, v, order), v);                                              \
	}
WIDE_FETCH(add, old + v)
WIDE_FETCH(sub, old - v)
WIDE_FETCH(and, old &v)
WIDE_FETCH(or, old | v)
WIDE_FETCH(xor, old ^ v)
WIDE_FETCH(nand, ~(old &v))

atomic_wide th_load_16(const volatile atomic_wide *p, int order) ATOMIC_NAME(load, 16);
atomic_wide th_load_16(const volatile atomic_wide *p, int order)
{
	atomic_wide v;

	(void)order;
	th_spun();
	ATOMIC(v = wide_cas((volatile atomic_wide *)(uintptr_t)p, 0, 0), v = *p);
	return v;
}

static atomic_wide wide_second(atomic_wide old, atomic_wide v)
{
	(void)old;
	return v;
}

atomic_wide th_exchange_16(volatile atomic_wide *p, atomic_wide v, int order) ATOMIC_NAME(exchange, 16);
atomic_wide th_exchange_16(volatile atomic_wide *p, atomic_wide v, int order)
{
	(void)order;
	return wide_apply(p, wide_second, v);
}

void th_store_16(volatile atomic_wide *p, atomic_wide v, int order) ATOMIC_NAME(store, 16);
void th_store_16(volatile atomic_wide *p, atomic_wide v, int order)
{
	th_exchange_16(p, v, order);
}

bool th_compare_exchange_16(volatile atomic_wide *p, atomic_wide *expected, atomic_wide v, int success, int failure)
    ATOMIC_NAME(compare_exchange, 16);
bool th_compare_exchange_16(volatile atomic_wide *p, atomic_wide *expected, atomic_wide v, int success, int failure)
{
	atomic_wide old, wanted = *expected;

	(void)success;
	(void)failure;
	ATOMIC(old = wide_cas(p, wanted, v), (old = *p, *p = old == wanted ? v : old));
	*expected = old;
	if (old != wanted)
		th_spun();
	return old == wanted;
}

/* ---- objects of any other size: under the lock of their first byte, also inside a node ---- */

/* @n if an operation above handles it, else 0. */
static size_t any_element(size_t n, const volatile void *p)
{
	return n - 1 < 16 && !(n & (n - 1)) && !((uintptr_t)p & (n - 1)) ? n : 0;
}

/* @each(type, bytes) for an element, else @away. */
#define ANY(n, p, each, away)                                                                                          \
	switch (any_element(n, p)) {                                                                                   \
	case 1:                                                                                                        \
		each(uint8_t, 1);                                                                                      \
		break;                                                                                                 \
	case 2:                                                                                                        \
		each(uint16_t, 2);                                                                                     \
		break;                                                                                                 \
	case 4:                                                                                                        \
		each(uint32_t, 4);                                                                                     \
		break;                                                                                                 \
	case 8:                                                                                                        \
		each(uint64_t, 8);                                                                                     \
		break;                                                                                                 \
	case 16:                                                                                                       \
		each(atomic_wide, 16);                                                                                 \
		break;                                                                                                 \
	default:                                                                                                       \
		any_begin(p);                                                                                          \
		away;                                                                                                  \
		any_end(p);                                                                                            \
	}

/* The lock of the object at @p.  None before the job and in a child of fork: there only one thread exists. */
static tw_lock_t any_lock(const volatile void *p)
{
	return tw_me ? atomic_lock(p) : (tw_lock_t){0};
}

static void any_begin(const volatile void *p)
{
	tw_lock_t lock = any_lock(p);

	if (!lock.id)
		return;
	th_stack_reserve();
	tw_lock_acquire(lock);
}

static void any_end(const volatile void *p)
{
	tw_lock_t lock = any_lock(p);

	if (lock.id)
		tw_lock_release(lock);
}

void th_load_any(size_t n, const void *p, void *to, int order) __asm__("__atomic_load");
void th_load_any(size_t n, const void *p, void *to, int order)
{
#define EACH(type, bytes) *(type *)to = th_load_##bytes(p, order)
	ANY(n, p, EACH, memcpy(to, p, n));
#undef EACH
}

void th_store_any(size_t n, void *p, const void *from, int order) __asm__("__atomic_store");
void th_store_any(size_t n, void *p, const void *from, int order)
{
#define EACH(type, bytes) th_store_##bytes(p, *(const type *)from, order)
	ANY(n, p, EACH, memcpy(p, from, n));
#undef EACH
}

void th_exchange_any(size_t n, void *p, const void *from, void *to, int order) __asm__("__atomic_exchange");
void th_exchange_any(size_t n, void *p, const void *from, void *to, int order)
{
#define EACH(type, bytes) *(type *)to = th_exchange_##bytes(p, *(const type *)from, order)
	ANY(n, p, EACH, (memcpy(to, p, n), memcpy(p, from, n)));
#undef EACH
}

bool th_compare_exchange_any(size_t n, void *p, void *expected, const void *from, int success,
                             int failure) __asm__("__atomic_compare_exchange");
bool th_compare_exchange_any(size_t n, void *p, void *expected, const void *from, int success, int failure)
{
	bool equal;

#define EACH(type, bytes) equal = th_compare_exchange_##bytes(p, expected, *(const type *)from, success, failure)
	ANY(n, p, EACH, (equal = memcmp(p, expected, n) == 0, memcpy(equal ? p : expected, equal ? from : p, n)));
#undef EACH
	return equal;
}

bool th_is_lock_free(size_t n, const void *p) __asm__("__atomic_is_lock_free");
bool th_is_lock_free(size_t n, const void *p)
{
	return any_element(n, p) != 0;
}
#endif /* __x86_64__ */
