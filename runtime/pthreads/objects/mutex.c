/* SPDX-License-Identifier: BSD-3-Clause */
/* mutex.c - mutexes, each a lock of Tweed, created at its first use; pthread_once.
 *
 * C++ does not destroy its mutexes: so their locks are evictable (sync/sync.h).
 *
 * Only recursive, error-checking and robust mutexes record their owner: locking a plain mutex writes no shared memory.
 * A thread lists the robust mutexes that it holds, and releases them when it ends. */
#include <errno.h>

#include "runtime/pthreads/pthreads.h"
#include "runtime/threads/baton.h"
#include "sync/sync.h"

struct pt_mutex {
	uint32_t unused;
	uint32_t count;
	uint32_t owner; /* pt_self(), or 0; equals the caller only if the caller holds it */
	enum { MUTEX_PLAIN, MUTEX_ROBUST, MUTEX_INCONSISTENT, MUTEX_LOST } robust;
	int32_t kind;          /* at the same place as in the C library's type */
	struct pt_mutex *next; /* robust: in its owner's list */
	uint64_t lock;         /* an evictable lock; 0: none yet, as in the C library's initialisers */
};
static __thread struct pt_mutex *mutex_robust; /* that the thread holds */
_Static_assert(sizeof(struct pt_mutex) <= sizeof(pthread_mutex_t), "it fits");
_Static_assert(offsetof(struct pt_mutex, kind) == offsetof(pthread_mutex_t, __data.__kind),
               "the static initialisers' place");

#define MUTEX_POLL_MIN_NS 20000u
#define MUTEX_POLL_MAX_NS 1000000u

bool pt_poll(unsigned *round, uint64_t until)
{
	uint64_t now = tw_time_ns(),
	         pause = TW_MIN((uint64_t)MUTEX_POLL_MIN_NS << TW_MIN(*round, 6u), MUTEX_POLL_MAX_NS);

	if (until && now >= until)
		return false;
	++*round;
	th_sleep(until ? TW_MIN(now + pause, until) : now + pause);
	return true;
}

/* ---- mutexes ----------------------------------------------------------------------------------------------------- */

static bool mutex_counts(const struct pt_mutex *m)
{
	return m->kind == PTHREAD_MUTEX_RECURSIVE || m->kind == PTHREAD_MUTEX_ERRORCHECK;
}

/* What the caller's copy of the word says, which may be old.  Protocols without atomic operations store the word in
 * parts, the highest byte last (tw_words_store): it is 0 until the first lock is there as a whole. */
static uint64_t mutex_seen(const struct pt_mutex *m)
{
	uint64_t id = *(const volatile uint64_t *)&m->lock;

	return id >> 56 ? id : 0;
}

/* The mutex' lock, if it was not evicted; else what it was, or 0. */
static uint64_t mutex_lock_of(struct pt_mutex *m)
{
	uint64_t id = mutex_seen(m);

	return id && tw_sync_evictable_lives(tw_me, id) ? id : th_compare_and_swap_8(&m->lock, 0, 0);
}

/* Was the lock not evicted before it was taken?  If it was, it is released. */
static bool mutex_has(uint64_t id)
{
	if (__builtin_expect(tw_sync_evictable_lives(tw_me, id), 1))
		return true;
	tw_sync_evictable_release(tw_me, id);
	return false;
}

/* Wait for the lock.  Returns false if it was evicted. */
static bool mutex_wait(uint64_t id)
{
	bool lives = tw_sync_evictable_await(tw_me, id);

	if (lives)
		th_lock_acquire((tw_lock_t){id});
	tw_sync_evictable_got(tw_me, id);
	return lives && mutex_has(id);
}

/* Another lock, in place of @was, which was evicted, or is 0.  It is held when others learn of it, by a thread that has
 * seen what was released with the former one.  Returns false if another thread was first. */
static bool mutex_renew(struct pt_mutex *m, uint64_t was)
{
	static uint64_t spare;
	uint64_t id;

	do {
		id = spare ? spare : tw_sync_evictable_create(tw_me);
		spare = 0;
	} while (!mutex_wait(id));
	if (was)
		tw_sync_evictable_follow(tw_me, was);
	if (th_compare_and_swap_8(&m->lock, was, id) == was)
		return true;
	th_lock_release((tw_lock_t){id});
	spare = id;
	return false;
}

static bool mutex_take_or_try(struct pt_mutex *m, bool waits)
{
	uint64_t id = mutex_seen(m);

	if (id && th_evictable_take(id))
		return true;
	for (;;) {
		id = mutex_lock_of(m);
		if (!id || !tw_sync_evictable_lives(tw_me, id)) {
			if (mutex_renew(m, id))
				return true;
		} else if (waits) {
			if (mutex_wait(id))
				return true;
		} else if (th_lock_try((tw_lock_t){id})) {
			if (mutex_has(id))
				return true;
		} else if (tw_sync_evictable_lives(tw_me, id)) {
			return false;
		}
	}
}

/* 0, or ETIMEDOUT. */
static int mutex_take_until(struct pt_mutex *m, uint64_t until)
{
	unsigned round = 0;

	while (!mutex_take_or_try(m, false))
		if (!pt_poll(&round, until))
			return ETIMEDOUT;
	return 0;
}

/* Is its owner recorded? */
static bool mutex_owned(const struct pt_mutex *m)
{
	return mutex_counts(m) || m->robust;
}

/* The caller already holds the mutex. */
static int mutex_again(struct pt_mutex *m)
{
	if (m->kind == PTHREAD_MUTEX_ERRORCHECK)
		return EDEADLK;
	m->count++;
	return 0;
}

static void mutex_own(struct pt_mutex *m)
{
	m->owner = pt_self();
	m->count = 1;
	if (m->robust) {
		m->next = mutex_robust;
		mutex_robust = m;
	}
}

static void mutex_disown(struct pt_mutex *m)
{
	struct pt_mutex **place = &mutex_robust;

	m->owner = 0;
	while (*place && *place != m)
		place = &(*place)->next;
	if (*place)
		*place = m->next;
}

/* Its lock was taken: 0, or an error of a robust mutex. */
static int mutex_got(struct pt_mutex *m)
{
	if (m->robust == MUTEX_LOST) {
		tw_lock_release((tw_lock_t){mutex_lock_of(m)});
		return ENOTRECOVERABLE;
	}
	if (mutex_owned(m))
		mutex_own(m);
	return m->robust == MUTEX_INCONSISTENT ? EOWNERDEAD : 0;
}

void pt_mutexes_end(void)
{
	struct pt_mutex *m;

	while ((m = mutex_robust)) {
		mutex_disown(m);
		m->robust = MUTEX_INCONSISTENT;
		tw_lock_release((tw_lock_t){mutex_lock_of(m)});
	}
}

int tw_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	int kind = PTHREAD_MUTEX_DEFAULT, robust = PTHREAD_MUTEX_STALLED;

	if (attr) {
		pthread_mutexattr_gettype(attr, &kind);
		pthread_mutexattr_getrobust(attr, &robust);
	}
	*(struct pt_mutex *)mutex =
	    (struct pt_mutex){.kind = kind, .robust = robust == PTHREAD_MUTEX_ROBUST ? MUTEX_ROBUST : MUTEX_PLAIN};
	return 0;
}

int tw_pthread_mutex_consistent(pthread_mutex_t *mutex)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;

	if (!pt_enter() || m->robust != MUTEX_INCONSISTENT || m->owner != pt_self())
		return EINVAL;
	m->robust = MUTEX_ROBUST;
	return 0;
}

int tw_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;

	if (!pt_enter() || !m->lock)
		return 0;
	if (m->robust && m->owner == pt_self()) /* which the C library does not refuse */
		mutex_disown(m);
	else if (!mutex_take_or_try(m, false))
		return EBUSY;
	tw_sync_evictable_destroy(tw_me, mutex_lock_of(m));
	m->lock = 0;
	return 0;
}

int tw_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;

	if (!pt_enter())
		return 0;
	if (mutex_counts(m) && m->owner == pt_self())
		return mutex_again(m);
	mutex_take_or_try(m, true);
	return mutex_got(m);
}

int tw_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;

	if (!pt_enter())
		return 0;
	if (mutex_counts(m) && m->owner == pt_self())
		return m->kind == PTHREAD_MUTEX_RECURSIVE ? mutex_again(m) : EBUSY;
	return mutex_take_or_try(m, false) ? mutex_got(m) : EBUSY;
}

int tw_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *at)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;

	if (!pt_enter())
		return 0;
	if (mutex_counts(m) && m->owner == pt_self())
		return mutex_again(m);
	uint64_t until = pt_until(clock, at);
	if (!until)
		return EINVAL;
	int error = mutex_take_until(m, until);
	return error ? error : mutex_got(m);
}

int tw_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *at)
{
	return tw_pthread_mutex_clocklock(mutex, CLOCK_REALTIME, at);
}

int tw_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;

	if (!pt_enter())
		return 0;
	if (mutex_owned(m)) {
		if (m->owner != pt_self())
			return EPERM;
		if (--m->count)
			return 0;
		mutex_disown(m);
		if (m->robust == MUTEX_INCONSISTENT)
			m->robust = MUTEX_LOST;
	}
	uint64_t id = m->lock;
	if (!id || !tw_sync_lock_release(tw_me, (tw_lock_t){id})) {
		id = mutex_lock_of(m);
		if (id) /* else no thread has locked it, and it stays free, as in the C library */
			th_lock_release((tw_lock_t){id});
	}
	if (__builtin_expect(th_turn_is_over, 0))
		th_turn_end();
	return 0;
}

bool pt_mutex_mine(const pthread_mutex_t *mutex)
{
	const struct pt_mutex *m = (const struct pt_mutex *)mutex;

	return !mutex_owned(m) || m->owner == pt_self();
}

uint32_t pt_mutex_give(pthread_mutex_t *mutex)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;
	uint32_t count = m->count;

	if (mutex_counts(m))
		m->count = 1;
	tw_pthread_mutex_unlock(mutex);
	return count;
}

int pt_mutex_take(pthread_mutex_t *mutex, uint32_t count)
{
	struct pt_mutex *m = (struct pt_mutex *)mutex;
	int error = tw_pthread_mutex_lock(mutex);

	if (mutex_counts(m) && (!error || error == EOWNERDEAD))
		m->count = count;
	return error;
}

/* ---- once -------------------------------------------------------------------------------------------------------- */

/* In the control: PTHREAD_ONCE_INIT at first. */
enum { ONCE_NEW = PTHREAD_ONCE_INIT, ONCE_RUNS, ONCE_DONE };

/* Under the lock of the control's wait queue: nothing is created, since programs may initialise controls again. */
static void once_set(pthread_once_t *once, int state)
{
	struct tw_wait_queue *queue = tw_wait_queue_lock(once);

	*once = state;
	tw_wait_queue_wake(queue, once, TW_WAKE_ALL);
}

/* A function that ends by an exception, or with its thread, will be called again. */
static void once_failed(pthread_once_t *const *once)
{
	if (*once)
		once_set(*once, ONCE_NEW);
}

int tw_pthread_once(pthread_once_t *once, void (*function)(void))
{
	bool waits = pt_enter();
	struct tw_wait_queue *queue = waits ? tw_wait_queue_lock(once) : NULL;

	while (waits && *once == ONCE_RUNS) {
		uint64_t ticket = tw_wait_queue_join(queue, once);
		tw_wait_queue_unlock(queue);
		tw_wait_queue_wait(once, ticket, 0);
		queue = tw_wait_queue_lock(once);
	}
	bool done = *once == ONCE_DONE;
	if (!done)
		*once = ONCE_RUNS;
	if (waits)
		tw_wait_queue_unlock(queue);
	if (done)
		return 0;
	__attribute__((cleanup(once_failed))) pthread_once_t *running = waits ? once : NULL;
	th_call(function, NULL, NULL, NULL);
	running = NULL;
	if (waits)
		once_set(once, ONCE_DONE);
	else
		*once = ONCE_DONE;
	return 0;
}
