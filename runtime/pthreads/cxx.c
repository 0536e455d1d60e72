/* SPDX-License-Identifier: BSD-3-Clause */
/* cxx.c - the functions of the C++ library that its threads call: std::thread, std::condition_variable, the futexes of
 * std::future.  The rest (mutexes, call_once) is in headers, and calls POSIX's functions. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "runtime/pthreads/posix.h"
#include "runtime/pthreads/pthreads.h"
#include "runtime/pthreads/thread.h"

/* A function of the C++ library, by its mangled name. */
#define CXX(type, name, mangled, parameters)                                                                           \
	type name parameters __asm__(mangled);                                                                         \
	type name parameters

/* std::thread::_State: a thread's function object, with its virtual functions. */
struct cxx_state {
	const struct {
		void (*destroy)(struct cxx_state *state);
		void (*destroy_and_free)(struct cxx_state *state);
		void (*run)(struct cxx_state *state);
	} * table;
};

static void *cxx_run(void *arg)
{
	struct cxx_state *state = arg;

	th_call(TH_CALLED(state->table->run), state, NULL, NULL);
	state->table->destroy_and_free(state);
	return NULL;
}

/* @state: a unique_ptr, which is emptied. */
CXX(void, cxx_thread_start, "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
    (pthread_t * thread, struct cxx_state **state, void (*depend)(void)))
{
	struct cxx_state *run = *state;
	const char *library = th_library_foreign(__builtin_return_address(0));

	if (library)
		th_refuse("std::thread in %s, which gcc has made: its mutexes work inside one process; compile it with "
		          "'tweed c++ --pthreads', or link its archive",
		          library);
	(void)depend;
	*state = NULL;
	pt_create(thread, NULL, cxx_run, run, (const void *)(uintptr_t)run->table->run);
}

static void cxx_thread_end(pthread_t *thread, int error, const char *function)
{
	if (error)
		th_refuse("std::thread::%s: %s", function,
		          error == EDEADLK ? "a thread waits for itself" : "this is no thread that can be waited for");
	*thread = 0;
}

CXX(void, cxx_thread_join, "_ZNSt6thread4joinEv", (pthread_t * thread))
{
	cxx_thread_end(thread, *thread ? tw_pthread_join(*thread, NULL) : EINVAL, "join");
}

CXX(void, cxx_thread_detach, "_ZNSt6thread6detachEv", (pthread_t * thread))
{
	cxx_thread_end(thread, *thread ? tw_pthread_detach(*thread) : EINVAL, "detach");
}

CXX(unsigned, cxx_thread_concurrency, "_ZNSt6thread20hardware_concurrencyEv", (void))
{
	return (unsigned)tw_count();
}

/* ---- std::condition_variable: POSIX's; all zeros is a valid one ---- */

CXX(void, cxx_condition_create, "_ZNSt18condition_variableC1Ev", (pthread_cond_t * condition))
{
	*condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

CXX(void, cxx_condition_destroy, "_ZNSt18condition_variableD1Ev", (pthread_cond_t * condition))
{
	(void)condition;
}

/* @lock: a unique_lock, which begins with its mutex. */
CXX(void, cxx_condition_wait, "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
    (pthread_cond_t * condition, pthread_mutex_t **lock))
{
	tw_pthread_cond_wait(condition, *lock);
}

CXX(void, cxx_condition_one, "_ZNSt18condition_variable10notify_oneEv", (pthread_cond_t * condition))
{
	tw_pthread_cond_signal(condition);
}

CXX(void, cxx_condition_all, "_ZNSt18condition_variable10notify_allEv", (pthread_cond_t * condition))
{
	tw_pthread_cond_broadcast(condition);
}

struct cxx_unique_lock {
	pthread_mutex_t *mutex;
	bool owns;
};

/* std::notify_all_at_thread_exit: behind the destructors of thread_local objects. */
static __thread struct cxx_notice {
	struct cxx_notice *next;
	pthread_cond_t *condition;
	pthread_mutex_t *mutex;
} * cxx_notices;

/* @lock: a unique_lock, which is left without a mutex. */
CXX(void, cxx_notify_late, "_ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE",
    (pthread_cond_t * condition, struct cxx_unique_lock *lock))
{
	struct cxx_notice *n = malloc(sizeof(*n));

	if (!n)
		th_refuse("std::notify_all_at_thread_exit: no memory is left");
	*n = (struct cxx_notice){cxx_notices, condition, lock->mutex};
	cxx_notices = n;
	*lock = (struct cxx_unique_lock){NULL, false};
}

void pt_notices_end(void)
{
	struct cxx_notice *n;

	while ((n = cxx_notices)) {
		cxx_notices = n->next;
		tw_pthread_mutex_unlock(n->mutex);
		tw_pthread_cond_broadcast(n->condition);
		free(n);
	}
}

/* ---- atomic_load and others of std::shared_ptr: in the program, both ends are a lock's ---- */

CXX(void, cxx_pointer_lock, "_ZNSt10_Sp_lockerC1EPKv", (unsigned char *keys, const void *pointer))
{
	(void)pointer;
	keys[0] = pt_enter();
	if (keys[0])
		th_lock_acquire(th_locks.pointers);
}

CXX(void, cxx_pointers_lock, "_ZNSt10_Sp_lockerC1EPKvS1_", (unsigned char *keys, const void *a, const void *b))
{
	(void)b;
	cxx_pointer_lock(keys, a);
}

CXX(void, cxx_pointers_unlock, "_ZNSt10_Sp_lockerD1Ev", (const unsigned char *keys))
{
	if (keys[0])
		tw_lock_release(th_locks.pointers);
}

/* ---- std::future ---- */

/* The C++ library stores the state itself, by an instruction. */
CXX(void, cxx_ready_late, "_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv", (void *ready))
{
	static void (*set)(void *ready);

	if (tw_me && tw_me->nodes > 1)
		th_refuse("std::promise: set_value_at_thread_exit and its kin work within one node: call set_value, or "
		          "start the job with one node (tweed run -n 1)");
	if (!set)
		*(void **)&set = dlsym(RTLD_NEXT, "_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv");
	set(ready);
}

static bool cxx_futex_wait(unsigned *word, unsigned value, bool timed, clockid_t clock, const struct timespec *at)
{
	pt_enter();
	return pt_futex_wait(word, ~0x80000000u, value, timed ? pt_until(clock, at) : 0) != ETIMEDOUT;
}

#define CXX_FUTEX "_ZNSt28__atomic_futex_unsigned_base"
#define CXX_TIME  "EPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"

CXX(bool, cxx_futex_wait_system, CXX_FUTEX "19_M_futex_wait_until" CXX_TIME,
    (void *base, unsigned *word, unsigned value, bool timed, int64_t s, int64_t ns))
{
	(void)base;
	return cxx_futex_wait(word, value, timed, CLOCK_REALTIME, &(struct timespec){s, ns});
}

CXX(bool, cxx_futex_wait_steady, CXX_FUTEX "26_M_futex_wait_until_steady" CXX_TIME,
    (void *base, unsigned *word, unsigned value, bool timed, int64_t s, int64_t ns))
{
	(void)base;
	return cxx_futex_wait(word, value, timed, CLOCK_MONOTONIC, &(struct timespec){s, ns});
}

CXX(void, cxx_futex_notify, CXX_FUTEX "19_M_futex_notify_allEPj", (unsigned *word))
{
	pt_enter();
	tw_wait_queue_wake(tw_wait_queue_lock(word), word, TW_WAKE_ALL);
}
