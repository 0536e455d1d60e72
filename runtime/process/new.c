/* SPDX-License-Identifier: BSD-3-Clause */
/* new.c - C++'s operators new and delete: as malloc (program_heap.c), here because jemalloc has operators of its own;
 * and the functions around the initialization of a function's static variable (__cxa_guard_...). */
#include <stdlib.h>

#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

/* The C++ library's: std::get_new_handler and a function that throws std::bad_alloc. */
extern void (*new_handler(void))(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern void new_fail(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak, noreturn));

static void *new_take(size_t align, size_t bytes, const void *caller)
{
	void *block;

	while (!(block = th_heap_take(align, bytes ? bytes : 1, caller))) {
		void (*handler)(void) = new_handler ? new_handler() : NULL;
		if (handler)
			handler();
		else if (new_fail)
			new_fail();
		else
			th_refuse("operator new: no memory is left of TWEED_MEMORY: raise it");
	}
	return block;
}

#define NEW_CALLER __builtin_return_address(0)

/* Mangled names: new and new[] (nw, na) of a size (m), aligned (St11align_val_t), nothrow (RKSt9nothrow_t).  The
 * program may replace each; those of the others that the C++ standard defines by it call it then. */
#define NEW(name, arguments, block)                                                                                    \
	TH_WEAK void *th_##name arguments __asm__("_Z" #name);                                                         \
	TH_WEAK void *th_##name arguments                                                                              \
	{                                                                                                              \
		return block;                                                                                          \
	}
#define DELETE(name, arguments, call)                                                                                  \
	TH_WEAK void th_##name arguments __asm__("_Z" #name);                                                          \
	TH_WEAK void th_##name arguments                                                                               \
	{                                                                                                              \
		call;                                                                                                  \
	}

extern const char tw_text_start[], tw_text_end[]; /* Tweed's code (runtime/stores/globals.ld) */

static bool new_own(void (*function)(void))
{
	return (uintptr_t)function - (uintptr_t)tw_text_start < (size_t)(tw_text_end - tw_text_start);
}

#define NEW_OWN(function) new_own((void (*)(void))(uintptr_t)(function))

NEW(nwm, (size_t n), new_take(0, n, NEW_CALLER))
NEW(nwmSt11align_val_t, (size_t n, size_t a), new_take(a, n, NEW_CALLER))
NEW(nam, (size_t n), NEW_OWN(th_nwm) ? new_take(0, n, NEW_CALLER) : th_nwm(n))
NEW(namSt11align_val_t, (size_t n, size_t a),
    NEW_OWN(th_nwmSt11align_val_t) ? new_take(a, n, NEW_CALLER) : th_nwmSt11align_val_t(n, a))
NEW(nwmRKSt9nothrow_t, (size_t n), NEW_OWN(th_nwm) ? th_heap_take(0, n ? n : 1, NEW_CALLER) : th_nwm(n))
NEW(namRKSt9nothrow_t, (size_t n),
    NEW_OWN(th_nam) && NEW_OWN(th_nwm) ? th_heap_take(0, n ? n : 1, NEW_CALLER) : th_nam(n))
NEW(nwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a),
    NEW_OWN(th_nwmSt11align_val_t) ? th_heap_take(a, n ? n : 1, NEW_CALLER) : th_nwmSt11align_val_t(n, a))
NEW(namSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a),
    NEW_OWN(th_namSt11align_val_t) && NEW_OWN(th_nwmSt11align_val_t) ? th_heap_take(a, n ? n : 1, NEW_CALLER)
                                                                     : th_namSt11align_val_t(n, a))
DELETE(dlPv, (void *ptr), free(ptr))
DELETE(dlPvSt11align_val_t, (void *ptr, size_t a), ((void)a, free(ptr)))
DELETE(daPv, (void *ptr), th_dlPv(ptr))
DELETE(daPvSt11align_val_t, (void *ptr, size_t a), th_dlPvSt11align_val_t(ptr, a))
DELETE(dlPvm, (void *ptr), th_dlPv(ptr))
DELETE(daPvm, (void *ptr), th_daPv(ptr))
DELETE(dlPvmSt11align_val_t, (void *ptr, size_t n, size_t a), ((void)n, th_dlPvSt11align_val_t(ptr, a)))
DELETE(daPvmSt11align_val_t, (void *ptr, size_t n, size_t a), ((void)n, th_daPvSt11align_val_t(ptr, a)))
DELETE(dlPvRKSt9nothrow_t, (void *ptr), th_dlPv(ptr))
DELETE(daPvRKSt9nothrow_t, (void *ptr), th_daPv(ptr))
DELETE(dlPvSt11align_val_tRKSt9nothrow_t, (void *ptr, size_t a), th_dlPvSt11align_val_t(ptr, a))
DELETE(daPvSt11align_val_tRKSt9nothrow_t, (void *ptr, size_t a), th_daPvSt11align_val_t(ptr, a))

/* Compiled code reads the first byte atomically; not 0: initialized. */
struct new_guard {
	uint8_t done;
	uint32_t lock; /* th_lock_in: held from acquire to release */
};

/* Guards of variables that this processor knows to be initialized: a program may pass one a million times, and the lock
 * of its first pass made all visible that the initialization has stored. */
#define NEW_KNOWN 1024u
static const struct new_guard *new_known[NEW_KNOWN];

static const struct new_guard **new_known_at(const struct new_guard *guard)
{
	return &new_known[((uintptr_t)guard / 8 * 0x9e3779b97f4a7c15u) >> 54];
}

int __cxa_guard_acquire(struct new_guard *guard);
int __cxa_guard_acquire(struct new_guard *guard)
{
	const struct new_guard **known = new_known_at(guard);

	if (!tw_me)
		return !guard->done;
	if (*known == guard && guard->done) /* the place may have another library's guard meanwhile */
		return 0;
	th_stack_reserve();
	tw_lock_t lock = th_lock_in(&guard->lock);
	th_lock_acquire(lock);
	if (!guard->done)
		return 1;
	tw_lock_release(lock);
	*known = guard;
	return 0;
}

void __cxa_guard_abort(struct new_guard *guard);
void __cxa_guard_abort(struct new_guard *guard)
{
	th_stack_reserve();
	if (tw_me)
		tw_lock_release(th_lock_in(&guard->lock));
}

void __cxa_guard_release(struct new_guard *guard);
void __cxa_guard_release(struct new_guard *guard)
{
	guard->done = 1;
	__cxa_guard_abort(guard);
}
