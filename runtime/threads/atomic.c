/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - atomic operations.
 *
 * With -fno-inline-atomics gcc calls a function for each atomic operation of C, C++ and OpenMP.  These functions are
 * here, as are libatomic's, whose own locks and instructions only work inside one process.  Tweed's assembler replaces
 * or encloses what gcc still generates inline: flush, __sync_..., assembler in the source (tools/compile/as.c).
 *
 * When all data is used on one node only, the processor's own instruction executes the operation.  Between nodes, where
 * protocol and transport allow it (core/coherence/word.h), that instruction acts on the word's newest copy; before it
 * comes a release and behind it an acquire, as the operation's order requires.  Otherwise the word's lock is taken, and
 * the operation accesses memory normally.  Either way it takes effect once, and what was stored before a releasing
 * operation is visible behind an acquiring one that has read its value.
 *
 * posted.c has operations that need less.
 *
 * Why. All operations on a word act on one place, by instructions that are atomic for all nodes: they have one order,
 * and a thread's are performed one after the other. A release leaves its record before the value is there; the acquire
 * of a thread that has read the value reads the record behind that (core/coherence/lazy.c). */
#include <errno.h>
#include <string.h>

#include "core/base/base.h"
#include "core/coherence/lazy.h"
#include "core/coherence/polled.h"
#include "runtime/threads/atomic.h"
#include "runtime/threads/baton.h"
#include "runtime/threads/support.h"
#include "sync/sync.h"

static tw_lock_t atomic_lock(const volatile void *ptr)
{
	return tw_sync_word_lock(tw_me, (uintptr_t)ptr - (uintptr_t)tw_me->app);
}

/* ---- on the newest copy ---- */

enum word_kind { WORD_LOADS, WORD_CHANGES, WORD_STORES };

/* A store releases, relaxed or not: programs publish data by `omp atomic write` without an order, which x86 allows.  A
 * load is no release.  But some programs store to a plain variable, for which another thread waits, and then wait
 * themselves by loads: so some of these release. */
#define WORD_AGAIN 64u
static unsigned word_loads;
static bool word_gives(int order, enum word_kind kind)
{
	return kind == WORD_STORES ||
	       (th_order_releases(order) && (kind == WORD_CHANGES || ++word_loads % WORD_AGAIN == 0));
}

/* What comes before an operation: a release, as its order says.  A loop of fences and plain loads may wait for a store,
 * and acquires nothing that this word's record names. */
static void word_publish(struct tw_proc *me, size_t offset, int order, enum word_kind kind)
{
	if (word_gives(order, kind))
		tw_release_to(me, tw_lazy_word(me, offset), TW_SYNC_FLAG, 0, kind == WORD_STORES && me->fences);
}

/* Where to operate on @bytes bytes at @p.  at NULL: there, with the lock. */
static struct tw_word word_begin(const volatile void *p, size_t bytes, int order, enum word_kind kind)
{
	struct tw_proc *me = tw_me;
	size_t offset = (uintptr_t)p - (uintptr_t)me->app, page = me->layout.page_bytes;

	if (!th_words || offset >= me->config.memory || (offset & (page - 1)) + bytes > page)
		return (struct tw_word){0};
	word_publish(me, offset, order, kind);
	return tw_word_begin(me, offset, bytes, kind == WORD_LOADS);
}

/* Does the program find the same value again and again?  It may wait for a process that needs this core. */
static bool word_same(const volatile void *p, const void *to, size_t bytes)
{
	static struct {
		const volatile void *p;
		uint64_t value;
		unsigned times;
	} last;
	uint64_t value = 0;

	memcpy(&value, to, TW_MIN(bytes, sizeof(value)));
	if (p != last.p || value != last.value) {
		last.p = p;
		last.value = value;
		last.times = 0;
	}
	return ++last.times % TH_SPINS == 0;
}

/* Threads that wait for plain variables with fences must see what another one stores: core/coherence/polled.h.
 * Returns false if the operation is to be executed again. */
static bool word_end(const volatile void *p, struct tw_word w, size_t bytes, int order, enum word_kind kind)
{
	struct tw_proc *me = tw_me;

	if (!tw_word_end(me, w, (uintptr_t)p - (uintptr_t)me->app, bytes, kind != WORD_LOADS))
		return false;
	bool waits = kind == WORD_LOADS && word_same(p, w.at, bytes);
	if (kind == WORD_STORES && tw_polled_any(me))
		tw_release(me, TW_SYNC_FLAG, 0);
	if (th_order_acquires(order) || kind == WORD_LOADS) {
		struct tw_record r = tw_lazy_word(me, (uintptr_t)p - (uintptr_t)me->app);
		if (th_order_acquires(order) || tw_released(me, r) || tw_word_away(me))
			tw_acquire_from(me, r, TW_SYNC_FLAG, 0);
	}
	if (waits)
		tw_yield();
	return true;
}

/* A load of an element, if nothing was released to it that it might show, which no record says between nodes without
 * common memory.  What acquires needs no more then, where there are records. */
static bool word_load(const volatile void *p, void *to, size_t bytes, int order)
{
	struct tw_proc *me = tw_me;
	size_t offset = (uintptr_t)p - (uintptr_t)me->app;

	if (offset >= me->config.memory || offset % bytes || tw_word_away(me) || !tw_word_peek(me, offset, bytes, to) ||
	    !(th_order_acquires(order) ? tw_acquire_needless(me, tw_lazy_word(me, offset))
	                               : !tw_released(me, tw_lazy_word(me, offset))))
		return false;
	if (word_same(p, to, bytes))
		tw_yield();
	return true;
}

/* Loops that compare and swap begin with a relaxed load, as those for floating point that the compiler generates.
 * Between nodes without common memory it costs a round trip, and the swap finds the value, too.  So a load is an
 * ordinary one where the last load at this place of the program was followed by a swap of the same word.  It has what
 * happened before it, and no less than this node has seen.  In a loop that only loads, all loads but the first ask for
 * the newest value. */
static struct word_site {
	const void *caller;
	const volatile void *p;
	bool swapped;
} word_sites[64], *word_loaded;

static bool word_swap_follows(const volatile void *p, int order, const void *caller)
{
	struct word_site *s = &word_sites[(uintptr_t)caller * 0x9e3779b97f4a7c15u >> 58];
	bool follows = s->caller == caller && s->swapped && !th_order_acquires(order);

	*s = (struct word_site){.caller = caller, .p = p};
	word_loaded = s;
	return follows && tw_word_away(tw_me);
}

static void word_swaps(const volatile void *p)
{
	if (word_loaded && word_loaded->p == p)
		word_loaded->swapped = true;
	word_loaded = NULL;
}

/* ---- inline instructions ---- */

/* What the calls around an instruction have saved (atomic.S): r15 to r12, rbx, r11 to r8, rdi, rsi, rdx, rcx, rax, rbp,
 * flags, the return address. */
#define FRAME_RDI 9u
struct th_atomic_frame {
	uint64_t word[17];
};

/* Between begin and end: the lock that is held, or WORD_HELD; 0: neither. */
#define WORD_HELD UINT64_MAX
extern tw_lock_t th_atomic_held;
tw_lock_t th_atomic_held;
/* The bytes that contain the instruction's operand: the program's address, where they are newest, and before it; and
 * the registers before it. */
#define INLINE_MOST 16u
static struct {
	char *at;
	struct tw_word to;
	size_t bytes;
	enum word_kind kind;
	char before[INLINE_MOST];
	struct th_atomic_frame frame;
} inline_word;
/* How many more of them within a node need no call. */
#define ATOMIC_NEAR 512u
extern unsigned th_atomic_left;
unsigned th_atomic_left;

/* tw_threads_atomic_begin, tw_threads_atomic_begin_load, tw_threads_atomic_begin_wide, tw_threads_atomic_end - enclose
 * an instruction on the operand at @ptr, of at most 8 bytes; one that leaves it as it is; or one on 16 bytes.  Called
 * with all registers preserved, except that %rdi is the result: where it is to be executed (atomic.S).  The end may
 * change @frame, so that the instruction is executed again. */
void *th_atomic_begin(void *ptr, const struct th_atomic_frame *frame);
void *th_atomic_begin_load(void *ptr, const struct th_atomic_frame *frame);
void *th_atomic_begin_wide(void *ptr, const struct th_atomic_frame *frame);
void th_atomic_end(const void *none, struct th_atomic_frame *frame);

/* What signals do where they interrupt the program's code (turns.c): they seldom do in a loop of such instructions,
 * most of whose time is Tweed's. */
void th_turn_point(void)
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

/* The operand's size is not known: as many bytes as it may have, at most @most. */
static void *inline_begin(char *ptr, size_t most, enum word_kind kind, const struct th_atomic_frame *frame)
{
	size_t page = tw_me->layout.page_bytes, left = page - ((uintptr_t)ptr & (page - 1));

	if (tw_word_away(tw_me) && most == 8) /* an aligned one ends there */
		left = 8 - (uintptr_t)ptr % 8;
	inline_word.at = ptr;
	inline_word.bytes = TW_MIN(left, most);
	inline_word.kind = kind;
	inline_word.to = word_begin(ptr, inline_word.bytes, __ATOMIC_SEQ_CST, kind);
	if (!inline_word.to.at)
		return NULL;
	memcpy(inline_word.before, inline_word.to.at, inline_word.bytes);
	if (inline_word.to.away) {
		inline_word.frame = *frame;
		inline_word.frame.word[FRAME_RDI] = (uintptr_t)inline_word.to.at;
	}
	th_atomic_held.id = WORD_HELD;
	return inline_word.to.at;
}

static void *atomic_begin(void *ptr, size_t most, enum word_kind kind, const struct th_atomic_frame *frame)
{
	void *to = ptr;

	th_stack_reserve();
	th_atomic_held.id = 0;
	th_turn_point();
	if (!th_far) {
		if (th_siblings)
			th_spun_often();
		th_atomic_left = tw_virtual ? 0 : ATOMIC_NEAR;
		tw_word_near();
		return ptr;
	}
	int saved = errno;
	th_spun(ptr);
	if (!(to = inline_begin(ptr, most, kind, frame))) {
		to = ptr;
		th_atomic_held = atomic_lock(ptr);
		tw_lock_acquire(th_atomic_held);
	}
	errno = saved;
	return to;
}

void *th_atomic_begin(void *ptr, const struct th_atomic_frame *frame)
{
	return atomic_begin(ptr, 8, WORD_CHANGES, frame);
}

void *th_atomic_begin_load(void *ptr, const struct th_atomic_frame *frame)
{
	return atomic_begin(ptr, 8, WORD_LOADS, frame);
}

void *th_atomic_begin_wide(void *ptr, const struct th_atomic_frame *frame)
{
	return atomic_begin(ptr, INLINE_MOST, WORD_CHANGES, frame);
}

bool th_atomic_inside(void)
{
	return th_atomic_held.id != 0;
}

static bool inline_end(void)
{
	bool changed =
	    inline_word.kind == WORD_CHANGES && memcmp(inline_word.before, inline_word.to.at, inline_word.bytes) != 0;

	return word_end(inline_word.at, inline_word.to, inline_word.bytes, __ATOMIC_SEQ_CST,
	                changed ? WORD_CHANGES : WORD_LOADS);
}

void th_atomic_end(const void *none, struct th_atomic_frame *frame)
{
	int saved = errno;
	tw_lock_t held = th_atomic_held;

	(void)none;
	th_atomic_held.id = 0;
	atomic_thread_fence(memory_order_seq_cst); /* it may have been a plain store */
	if (held.id == WORD_HELD && !inline_end()) {
		memcpy(inline_word.before, inline_word.to.at, inline_word.bytes);
		*frame = inline_word.frame;
		th_atomic_held.id = WORD_HELD;
	} else if (held.id && held.id != WORD_HELD) {
		tw_lock_release(held);
	}
	errno = saved;
}

#define FENCE_NS 20u /* in virtual time */

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

/* Both ends of a happens-before relation: what was stored before an earlier fence is visible after this one.  Under a
 * protocol that takes pages from others before a store, plain variables are what others have stored. */
void th_fence(const void *ptr)
{
	static const struct tw_fence fence = {.enter = fence_enter, .leave = fence_leave};

	th_stack_reserve();
	th_spun(ptr);
	if (tw_virtual)
		tw_gate_look(FENCE_NS);
	if (th_far && !(tw_me->protocol->flags & TW_PROTOCOL_REVOKES)) {
		tw_polled_fence(tw_me, &fence, fence_flag(ptr));
		return;
	}
	th_order();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* tw_threads_order - for a fence that orders relaxed operations; those that take a lock need none. */
void th_order_words(void);
void th_order_words(void)
{
	int saved = errno;

	if (!th_words)
		return;
	th_stack_reserve();
	tw_release(tw_me, TW_SYNC_FLAG, 0);
	tw_acquire_all(tw_me);
	errno = saved;
}

/* Where words are operated on without a lock, an acquire collects what all others have released. */
void th_order(void)
{
	int saved = errno;

	if (!th_far)
		return;
	if (th_words) {
		th_order_words();
		return;
	}
	th_stack_reserve();
	tw_lock_acquire(th_locks.order);
	tw_lock_release(th_locks.order);
	errno = saved;
}

/* tw_threads_pause - before a pause instruction of the program, in a loop that waits, perhaps for a plain variable. */
void th_pause(void)
{
	th_atomic_left = tw_virtual ? 0 : ATOMIC_NEAR;
	th_stack_reserve();
	th_turn_point();
	if (tw_virtual)
		tw_yield();
	if (th_siblings)
		th_spun_often();
	th_order();
}

/* A thread may do nothing but such operations, most of whose time is Tweed's. */
void th_atomic_leave(void)
{
	if (__builtin_expect(th_turn_is_over || th_due_here, 0))
		th_turn_point();
}

void (*th_atomic_before)(void);

static void atomic_before(void)
{
	int saved = errno;

	th_atomic_before();
	errno = saved;
}

/* @near: the processor's own operation on *p; @away: the same in plain C.  Another node may use the data. */
#define ATOMIC_FAR(order, kind, near, away)                                                                            \
	do {                                                                                                           \
		const volatile void *program = p;                                                                      \
		struct tw_word newest = word_begin(program, sizeof(*p), order, kind);                                  \
		if (newest.at) {                                                                                       \
			p = newest.at;                                                                                 \
			do                                                                                             \
				near;                                                                                  \
			while (!word_end(program, newest, sizeof(*p), order, kind));                                   \
		} else {                                                                                               \
			tw_lock_acquire(atomic_lock(p));                                                               \
			away;                                                                                          \
			tw_lock_release(atomic_lock(p));                                                               \
		}                                                                                                      \
	} while (0)

void th_atomic_enter(void)
{
	th_stack_reserve();
	if (__builtin_expect(th_atomic_before != NULL, 0))
		atomic_before();
}

#define ATOMIC(order, kind, near, away)                                                                                \
	do {                                                                                                           \
		if (!th_far) {                                                                                         \
			tw_word_near();                                                                                \
			near;                                                                                          \
			break;                                                                                         \
		}                                                                                                      \
		th_atomic_enter();                                                                                     \
		ATOMIC_FAR(order, kind, near, away);                                                                   \
		th_atomic_leave();                                                                                     \
	} while (0)

#define COMPARE_AND_SWAP(type, name)                                                                                   \
	type name(type *p, type seen, type value)                                                                      \
	{                                                                                                              \
		type old = seen;                                                                                       \
                                                                                                                       \
		if (!th_far) {                                                                                         \
			tw_word_near();                                                                                \
			__atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
			return old;                                                                                    \
		}                                                                                                      \
		th_stack_reserve();                                                                                    \
		ATOMIC_FAR(__ATOMIC_RELAXED, WORD_CHANGES,                                                             \
		           (old = seen,                                                                                \
		            __atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)),   \
		           (old = *p, *p = old == seen ? value : old));                                                \
		return old;                                                                                            \
	}

COMPARE_AND_SWAP(uint32_t, th_compare_and_swap)
COMPARE_AND_SWAP(uint64_t, th_compare_and_swap_8)

/* The compiler has its own declarations of these names. */
#define ATOMIC_NAME(name, bytes) __asm__("__atomic_" #name "_" #bytes)

/* Operations that the transport has, by one round trip; on a copy they would take two if it is old. */
static bool word_away_named(const volatile void *p, size_t bytes)
{
	return th_far && tw_word_away(tw_me) && th_word_named(p, bytes);
}

static void word_store(const volatile void *p, size_t bytes, int order, uint64_t value)
{
	struct tw_proc *me = tw_me;
	size_t offset = (uintptr_t)p - (uintptr_t)me->app;

	th_atomic_enter();
	word_publish(me, offset, order, WORD_STORES);
	tw_word_operate(me, offset, &(struct tw_word_op){TW_AMO_SWAP, (unsigned)bytes, value, 0}, false);
	if (tw_polled_any(me))
		tw_release(me, TW_SYNC_FLAG, 0);
	if (th_order_acquires(order))
		tw_acquire_from(me, tw_lazy_word(me, offset), TW_SYNC_FLAG, 0);
	th_atomic_leave();
}

#define ATOMIC_FETCH(type, bytes, name, op, amo, by)                                                                   \
	type th_fetch_##name##_##bytes(volatile type *p, type v, int order) ATOMIC_NAME(fetch_##name, bytes);          \
	type th_fetch_##name##_##bytes(volatile type *p, type v, int order)                                            \
	{                                                                                                              \
		type old;                                                                                              \
		if (amo != TW_AMO_OPS && word_away_named(p, bytes))                                                    \
			return (type)th_word_operate(p, order, &(struct tw_word_op){amo, bytes, by, 0}, false);        \
		ATOMIC(order, WORD_CHANGES, old = __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST),                       \
		       (old = *p, *p = (type)(op)));                                                                   \
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
		th_spun(p);                                                                                            \
		if (th_far && th_words) {                                                                              \
			if (word_load(p, &v, sizeof(v), order))                                                        \
				return v;                                                                              \
			if (word_swap_follows(p, order, __builtin_return_address(0)))                                  \
				return __atomic_load_n(p, __ATOMIC_RELAXED);                                           \
		}                                                                                                      \
		ATOMIC(order, WORD_LOADS, v = __atomic_load_n(p, __ATOMIC_SEQ_CST), v = *p);                           \
		return v;                                                                                              \
	}                                                                                                              \
	void th_store_##bytes(volatile type *p, type v, int order) ATOMIC_NAME(store, bytes);                          \
	void th_store_##bytes(volatile type *p, type v, int order)                                                     \
	{                                                                                                              \
		if (word_away_named(p, bytes))                                                                         \
			word_store(p, bytes, order, v);                                                                \
		else                                                                                                   \
			ATOMIC(order, WORD_STORES, __atomic_store_n(p, v, __ATOMIC_SEQ_CST), *p = v);                  \
	}                                                                                                              \
	type th_exchange_##bytes(volatile type *p, type v, int order) ATOMIC_NAME(exchange, bytes);                    \
	type th_exchange_##bytes(volatile type *p, type v, int order)                                                  \
	{                                                                                                              \
		type old;                                                                                              \
		th_spun(p);                                                                                            \
		if (word_away_named(p, bytes))                                                                         \
			return (type)th_word_operate(p, order, &(struct tw_word_op){TW_AMO_SWAP, bytes, v, 0}, false); \
		ATOMIC(order, WORD_CHANGES, old = __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST), (old = *p, *p = v));    \
		return old;                                                                                            \
	}                                                                                                              \
	bool th_compare_exchange_##bytes(volatile type *p, type *expected, type v, int success, int failure)           \
	    ATOMIC_NAME(compare_exchange, bytes);                                                                      \
	bool th_compare_exchange_##bytes(volatile type *p, type *expected, type v, int success, int failure)           \
	{                                                                                                              \
		type wanted = *expected, old = wanted;                                                                 \
		(void)failure;                                                                                         \
		word_swaps(p);                                                                                         \
		if (word_away_named(p, bytes))                                                                         \
			old = (type)th_word_operate(p, success, &(struct tw_word_op){TW_AMO_CAS, bytes, v, wanted},    \
			                            false);                                                            \
		else                                                                                                   \
			ATOMIC(success, old == wanted ? WORD_CHANGES : WORD_LOADS,                                     \
			       (old = wanted,                                                                          \
			        __atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)),   \
			       (old = *p, *p = old == wanted ? v : old));                                              \
		/* The operation may have made @expected another thread's: a node's link to the next one. */           \
		if (old == wanted)                                                                                     \
			return true;                                                                                   \
		*expected = old;                                                                                       \
		th_spun(p);                                                                                            \
		return false;                                                                                          \
	}                                                                                                              \
	ATOMIC_FETCH(type, bytes, add, old + v, TW_AMO_ADD, v)                                                         \
	ATOMIC_FETCH(type, bytes, sub, old - v, TW_AMO_ADD, (type)-v)                                                  \
	ATOMIC_FETCH(type, bytes, and, old &v, TW_AMO_AND, v)                                                          \
	ATOMIC_FETCH(type, bytes, or, old | v, TW_AMO_OR, v)                                                           \
	ATOMIC_FETCH(type, bytes, xor, old ^ v, TW_AMO_XOR, v)                                                         \
	ATOMIC_FETCH(type, bytes, nand, ~(old & v), TW_AMO_OPS, v)

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

static atomic_wide wide_apply(volatile atomic_wide *p, int order, atomic_wide (*op)(atomic_wide old, atomic_wide v),
                              atomic_wide v)
{
	atomic_wide old;

	ATOMIC(order, WORD_CHANGES, old = wide_near(p, op, v), (old = *p, *p = op(old, v)));
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
		return wide_apply(p, order, wide_##name, v);                                                           \
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

	th_spun(p);
	ATOMIC(order, WORD_LOADS, v = wide_cas((volatile atomic_wide *)(uintptr_t)p, 0, 0), v = *p);
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
	return wide_apply(p, order, wide_second, v);
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
	atomic_wide wanted = *expected, old = wanted;

	(void)failure;
	ATOMIC(success, old == wanted ? WORD_CHANGES : WORD_LOADS, old = wide_cas(p, wanted, v),
	       (old = *p, *p = old == wanted ? v : old));
	if (old == wanted)
		return true;
	*expected = old;
	th_spun(p);
	return false;
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
