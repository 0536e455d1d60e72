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

/* What keeps others out of a critical region. */
struct lock_region {
	tw_lock_t lock;
	uint32_t *word; /* not NULL: has the lock's number */
};

/* Those that main is in, the outermost first, while the program has one thread. */
#define LOCK_ALONE 16u
static struct {
	struct lock_region in[LOCK_ALONE];
	unsigned n;
} lock_alone;

static tw_lock_t lock_whose(const struct lock_region *r)
{
	return r->word ? th_lock_in(r->word) : r->lock;
}

static void lock_take(struct lock_region r)
{
	th_stack_reserve();
	if (th_others)
		th_lock_acquire(lock_whose(&r));
	else if (lock_alone.n++ < LOCK_ALONE)
		lock_alone.in[lock_alone.n - 1] = r;
}

static void lock_release(tw_lock_t lock)
{
	th_lock_release(lock);
	if (__builtin_expect(th_turn_is_over, 0))
		th_turn_end();
}

static void lock_give(struct lock_region r)
{
	th_stack_reserve();
	if (th_others)
		lock_release(lock_whose(&r));
	else
		lock_alone.n -= lock_alone.n > 0;
}

void omp_locks_crowd(void)
{
	if (lock_alone.n > LOCK_ALONE)
		th_refuse("a thread is made inside more than %u critical regions", LOCK_ALONE);
	for (unsigned i = 0; i < lock_alone.n; i++)
		tw_lock_acquire(lock_whose(&lock_alone.in[i]));
	lock_alone.n = 0;
}

void GOMP_critical_start(void)
{
	lock_take((struct lock_region){.lock = omp_locks.critical});
}

void GOMP_critical_end(void)
{
	lock_give((struct lock_region){.lock = omp_locks.critical});
}

/* The compiler's word for a name holds the lock's number. */
void GOMP_critical_name_start(void **name)
{
	lock_take((struct lock_region){.word = (uint32_t *)(void *)name});
}

void GOMP_critical_name_end(void **name)
{
	lock_give((struct lock_region){.word = (uint32_t *)(void *)name});
}

void GOMP_atomic_start(void)
{
	if (th_atomic_before)
		th_atomic_before();
	lock_take((struct lock_region){.lock = omp_locks.atomic});
}

void GOMP_atomic_end(void)
{
	lock_give((struct lock_region){.lock = omp_locks.atomic});
}

/* ---- omp.h --------------------------------------------------------------------------------------------------------
 * gcc's omp_lock_t has four bytes: LOCK_MADE, and what pthreads/objects/spin.c has there.  Its omp_nest_lock_t has
 * sixteen. */
#define LOCK_MADE 0x80000000u

struct lock_nested {
	uint32_t lock;
	uint32_t count;
	uint64_t owner; /* the task that holds it, or 0; equals the caller's only if that holds it */
};
_Static_assert(sizeof(struct lock_nested) <= 16, "it fits into gcc's omp_nest_lock_t");

static uint32_t *lock_made(uint32_t *word, const char *function)
{
	th_stack_reserve();
	if (!*word)
		th_refuse("%s: this lock was not initialized", function);
	return word;
}

static void lock_destroy(uint32_t *word, const char *function)
{
	pt_spin_end(lock_made(word, function));
	*word = 0;
}

void omp_init_lock(uint32_t *lock)
{
	*lock = LOCK_MADE;
}

void omp_init_lock_with_hint(uint32_t *lock, int hint)
{
	(void)hint;
	omp_init_lock(lock);
}

void omp_destroy_lock(uint32_t *lock)
{
	lock_destroy(lock, "omp_destroy_lock");
}

void omp_set_lock(uint32_t *lock)
{
	pt_spin_take(lock_made(lock, "omp_set_lock"));
}

void omp_unset_lock(uint32_t *lock)
{
	pt_spin_give(lock_made(lock, "omp_unset_lock"));
}

int omp_test_lock(uint32_t *lock)
{
	return pt_spin_try(lock_made(lock, "omp_test_lock"));
}

void omp_init_nest_lock(struct lock_nested *lock)
{
	*lock = (struct lock_nested){.lock = LOCK_MADE};
}

void omp_init_nest_lock_with_hint(struct lock_nested *lock, int hint)
{
	(void)hint;
	omp_init_nest_lock(lock);
}

void omp_destroy_nest_lock(struct lock_nested *lock)
{
	lock_destroy(&lock->lock, "omp_destroy_nest_lock");
	memset(lock, 0, sizeof(*lock));
}

static int lock_nest(struct lock_nested *l, bool wait, const char *function)
{
	uint32_t *lock = lock_made(&l->lock, function);
	uint64_t self = (uintptr_t)omp_team->task; /* on a stack, in shared memory */

	if (l->owner != self) {
		if (wait)
			pt_spin_take(lock);
		else if (!pt_spin_try(lock))
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
	pt_spin_give(lock_made(&lock->lock, "omp_unset_nest_lock"));
}
