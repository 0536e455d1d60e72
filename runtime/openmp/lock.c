/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - critical sections and the locks of omp.h. */
#include <string.h>

#include "runtime/openmp/team.h"
#include "runtime/pthreads/pthreads.h"
#include "sync/sync.h"

struct omp_locks omp_locks;

void omp_locks_open(void)
{
	tw_lock_t *lock = (tw_lock_t *)(void *)&omp_locks;

	if (tw_id() == 0)
		for (size_t i = 0; i < sizeof(omp_locks) / sizeof(*lock); i++)
			lock[i] = tw_lock_create();
	tw_bcast(&omp_locks, sizeof(omp_locks), 0);
}

/* ---- critical --------------------------------------------------------------------------------------------------- */

/* In serial parts, too: other threads of the program may be there. */
static void lock_take(tw_lock_t lock)
{
	th_stack_reserve();
	if (tw_me)
		th_lock_acquire(lock);
}

static void lock_give(tw_lock_t lock)
{
	th_stack_reserve();
	if (tw_me)
		tw_lock_release(lock);
	if (__builtin_expect(th_turn_is_over, 0))
		th_turn_end();
}

void GOMP_critical_start(void)
{
	lock_take(omp_locks.critical);
}

void GOMP_critical_end(void)
{
	lock_give(omp_locks.critical);
}

/* The compiler's word for a name holds the lock's number. */
static tw_lock_t lock_named(void **name)
{
	th_stack_reserve();
	return tw_me ? th_lock_in((uint32_t *)(void *)name) : (tw_lock_t){0};
}

void GOMP_critical_name_start(void **name)
{
	lock_take(lock_named(name));
}

void GOMP_critical_name_end(void **name)
{
	lock_give(lock_named(name));
}

void GOMP_atomic_start(void)
{
	lock_take(omp_locks.atomic);
}

void GOMP_atomic_end(void)
{
	lock_give(omp_locks.atomic);
}

/* ---- omp.h --------------------------------------------------------------------------------------------------------
 * gcc's omp_lock_t has four bytes, enough for the slot's number of a Tweed lock, from 1. Its omp_nest_lock_t has
 * sixteen. */

struct lock_nested {
	uint32_t lock;
	uint32_t count;
	uint64_t owner; /* the holder's pt_self(), or 0; equals the caller's only if the caller holds it */
};
_Static_assert(sizeof(struct lock_nested) <= 16, "it fits into gcc's omp_nest_lock_t");

static tw_lock_t lock_of(uint32_t number, const char *function)
{
	th_stack_reserve();
	if (!number)
		th_refuse("%s: this lock was not initialized", function);
	return (tw_lock_t){tw_sync_whole(tw_me, number)};
}

static uint32_t lock_new(void)
{
	th_stack_reserve();
	return tw_sync_short(tw_me, tw_lock_create().id);
}

void omp_init_lock(uint32_t *lock)
{
	*lock = lock_new();
}

void omp_init_lock_with_hint(uint32_t *lock, int hint)
{
	(void)hint;
	omp_init_lock(lock);
}

void omp_destroy_lock(uint32_t *lock)
{
	tw_lock_destroy(lock_of(*lock, "omp_destroy_lock"));
	*lock = 0;
}

void omp_set_lock(uint32_t *lock)
{
	th_lock_acquire(lock_of(*lock, "omp_set_lock"));
}

void omp_unset_lock(uint32_t *lock)
{
	lock_give(lock_of(*lock, "omp_unset_lock"));
}

int omp_test_lock(uint32_t *lock)
{
	return th_lock_try(lock_of(*lock, "omp_test_lock"));
}

void omp_init_nest_lock(struct lock_nested *lock)
{
	*lock = (struct lock_nested){.lock = lock_new()};
}

void omp_init_nest_lock_with_hint(struct lock_nested *lock, int hint)
{
	(void)hint;
	omp_init_nest_lock(lock);
}

void omp_destroy_nest_lock(struct lock_nested *lock)
{
	tw_lock_destroy(lock_of(lock->lock, "omp_destroy_nest_lock"));
	memset(lock, 0, sizeof(*lock));
}

static int lock_nest(struct lock_nested *l, bool wait, const char *function)
{
	tw_lock_t lock = lock_of(l->lock, function);
	uint64_t self = pt_self();

	if (l->owner != self) {
		if (wait)
			th_lock_acquire(lock);
		else if (!th_lock_try(lock))
			return 0;
		l->owner = self;
	}
	return (int)++l->count;
}

void omp_set_nest_lock(struct lock_nested *lock)
{
	lock_nest(lock, true, "omp_set_nest_lock");
}

int omp_test_nest_lock(struct lock_nested *lock)
{
	return lock_nest(lock, false, "omp_test_nest_lock");
}

void omp_unset_nest_lock(struct lock_nested *lock)
{
	if (--lock->count)
		return;
	lock->owner = 0;
	lock_give(lock_of(lock->lock, "omp_unset_nest_lock"));
}
