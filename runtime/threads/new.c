/* SPDX-License-Identifier: BSD-3-Clause */
/* new.c - C++'s operators new and delete, which the C++ library calls, too: shared memory, as malloc; and the functions
 * around the initialization of a function's static variable (__cxa_guard_...). */
#include <stdlib.h>

#include "runtime/threads/support.h"

extern void *tw_shared_aligned_alloc(size_t align, size_t bytes);
extern void *tw_shared_malloc(size_t bytes);
extern void tw_shared_free(void *ptr);

/* An exception would need C++. */
static void *new_got(void *block)
{
	if (!block)
		th_refuse("operator new: no memory is left of TWEED_MEMORY: raise it");
	return block;
}

/* Mangled names: new and new[] (nw, na) of a size (m), aligned (St11align_val_t), nothrow (RKSt9nothrow_t). */
#define NEW(name, arguments, block)                                                                                    \
	void *th_##name arguments __asm__("_Z" #name);                                                                 \
	void *th_##name arguments                                                                                      \
	{                                                                                                              \
		return block;                                                                                          \
	}
#define DELETE(name, arguments)                                                                                        \
	void th_##name arguments __asm__("_Z" #name);                                                                  \
	void th_##name arguments                                                                                       \
	{                                                                                                              \
		tw_shared_free(ptr);                                                                                   \
	}

NEW(nwm, (size_t n), new_got(tw_shared_malloc(n ? n : 1)))
NEW(nam, (size_t n), new_got(tw_shared_malloc(n ? n : 1)))
NEW(nwmSt11align_val_t, (size_t n, size_t a), new_got(tw_shared_aligned_alloc(a, n ? n : 1)))
NEW(namSt11align_val_t, (size_t n, size_t a), new_got(tw_shared_aligned_alloc(a, n ? n : 1)))
NEW(nwmRKSt9nothrow_t, (size_t n), tw_shared_malloc(n ? n : 1))
NEW(namRKSt9nothrow_t, (size_t n), tw_shared_malloc(n ? n : 1))
DELETE(dlPv, (void *ptr))
DELETE(daPv, (void *ptr))
DELETE(dlPvm, (void *ptr))
DELETE(daPvm, (void *ptr))
DELETE(dlPvSt11align_val_t, (void *ptr))
DELETE(daPvSt11align_val_t, (void *ptr))
DELETE(dlPvmSt11align_val_t, (void *ptr))
DELETE(daPvmSt11align_val_t, (void *ptr))
DELETE(dlPvRKSt9nothrow_t, (void *ptr))
DELETE(daPvRKSt9nothrow_t, (void *ptr))

/* Compiled code reads the first byte atomically; not 0: initialized. */
struct new_guard {
	uint8_t done;
	uint32_t lock; /* th_lock_in: held from acquire to release */
};

int __cxa_guard_acquire(struct new_guard *guard);
int __cxa_guard_acquire(struct new_guard *guard)
{
	if (!tw_me)
		return !guard->done;
	th_stack_reserve();
	tw_lock_t lock = th_lock_in(&guard->lock);
	th_lock_acquire(lock);
	if (guard->done)
		tw_lock_release(lock);
	return !guard->done;
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
