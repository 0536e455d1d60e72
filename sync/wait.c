/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - waits that end only by other processors' calls, made visible to others in the processor's statistics (struct
 * tw_waits).
 *
 * Waits that end by themselves after a time are not recorded. The record may be stale after a signal handler has jumped
 * out of a wait; but then the count of polls, @polls, does not grow. */
#include "core/coherence/lazy.h"
#include "sync/object.h"

#define SYNC_POLL_NS 50000u /* pause between two polls while other threads of the processor may run */

static const void *_Atomic sync_waiter; /* the thread in a wait; NULL: none */
const struct tw_sync_threads *tw_sync_threads;
const bool *tw_sync_others;

static const void *sync_thread(void)
{
	static _Thread_local char here;

	return &here;
}

const char *tw_sync_call_name(enum tw_wait_call call)
{
	static const char *const name[TW_WAIT_CALLS] = {
	    [TW_WAIT_NONE] = "no call",
	    [TW_WAIT_LOCK] = "tw_lock_acquire",
	    [TW_WAIT_BARRIER] = "tw_barrier_wait",
	    [TW_WAIT_FLAG] = "tw_flag_wait",
	    [TW_WAIT_BARRIER_ALL] = "tw_barrier_all",
	    [TW_WAIT_INIT] = "tw_init",
	    [TW_WAIT_FINALIZE] = "tw_finalize",
	    [TW_WAIT_BCAST] = "tw_bcast or tw_malloc_all",
	};

	return name[call < TW_WAIT_CALLS ? call : TW_WAIT_NONE];
}

void tw_sync_call_describe(enum tw_wait_call call, uint64_t object, uint64_t value, char *out, size_t bytes)
{
	const char *name = tw_sync_call_name(call);
	unsigned long id = object, wanted = value;

	if (call == TW_WAIT_LOCK)
		tw_format(out, bytes, "%s of lock %lx", name, id);
	else if (call == TW_WAIT_BARRIER)
		tw_format(out, bytes, "%s of barrier %lx for %u %s", name, id, (unsigned)(id >> SYNC_GEN_BITS & 0x7fff),
		          id >> SYNC_GEN_BITS & 0x8000 ? "threads" : "processors");
	else if (call == TW_WAIT_FLAG)
		tw_format(out, bytes, "%s of flag %lx for %lu", name, id, wanted);
	else
		tw_format(out, bytes, "%s", name);
}

void sync_alone(const char *function)
{
	const void *waiter = atomic_load_explicit(&sync_waiter, memory_order_relaxed);

	if (waiter && waiter != sync_thread())
		tw_fatal("%s was called by a second thread of this processor, while another thread of it waits in %s: "
		         "one thread of each processor may call Tweed",
		         function, tw_sync_call_name(atomic_load(&tw_me->stats->waits.call)));
}

struct sync_check {
	struct tw_waits *waits;
	bool (*ready)(void *arg);
	void *arg;
};

static bool sync_check(void *arg)
{
	struct sync_check *l = arg;

	if (l->ready(l->arg))
		return true;
	uint64_t polls = atomic_load_explicit(&l->waits->polls, memory_order_relaxed);
	atomic_store_explicit(&l->waits->polls, polls + 1, memory_order_relaxed);
	return false;
}

/* Show that a wait begins. Returns the argument of sync_wait_end: the thread that waited before, because a wait in a
 * signal handler is inside another one. */
static const void *sync_wait_begin(struct tw_waits *w, enum tw_wait_call call, uint64_t object, uint64_t value)
{
	const void *outer = atomic_load_explicit(&sync_waiter, memory_order_relaxed);

	atomic_store_explicit(&w->object, object, memory_order_relaxed);
	atomic_store_explicit(&w->value, value, memory_order_relaxed);
	atomic_store_explicit(&w->begun, atomic_load_explicit(&w->begun, memory_order_relaxed) + 1,
	                      memory_order_relaxed);
	atomic_store_explicit(&w->call, call, memory_order_release);
	if (!tw_sync_threads)
		atomic_store_explicit(&sync_waiter, sync_thread(), memory_order_relaxed);
	return outer;
}

static void sync_wait_end(struct tw_waits *w, const void *outer)
{
	atomic_store_explicit(&sync_waiter, outer, memory_order_relaxed);
	atomic_store_explicit(&w->call, TW_WAIT_NONE, memory_order_release);
}

bool sync_wait_until(struct tw_proc *me, enum tw_wait_call call, uint64_t object, uint64_t value,
                     bool (*ready)(void *arg), void *arg, uint64_t until_ns)
{
	struct sync_check look = {&me->stats->waits, ready, arg};

	if (ready(arg))
		return true;
	tw_lazy_idle(me);
	const void *outer = sync_wait_begin(look.waits, call, object, value);
	bool done = tw_sync_threads && tw_sync_threads->switches(call)
	                ? tw_sync_threads->wait(sync_check, &look, until_ns)
	                : tw_wait_until(me, sync_check, &look, until_ns);
	sync_wait_end(look.waits, outer);
	return done;
}

void sync_wait(struct tw_proc *me, enum tw_wait_call call, uint64_t object, uint64_t value, bool (*ready)(void *arg),
               void *arg)
{
	sync_wait_until(me, call, object, value, ready, arg, 0);
}

static bool sync_never(void *arg)
{
	(void)arg;
	return false;
}

void sync_poll(struct tw_proc *me, enum tw_wait_call call, uint64_t object, bool (*ready)(void *arg),
               void (*pause)(void *arg), void *arg)
{
	struct sync_check look = {&me->stats->waits, ready, arg};

	if (ready(arg))
		return;
	const void *outer = sync_wait_begin(look.waits, call, object, 0);
	do
		if (tw_sync_threads && tw_sync_threads->switches(call))
			tw_sync_threads->wait(sync_never, NULL, tw_time_ns() + SYNC_POLL_NS);
		else
			pause(arg);
	while (!sync_check(&look));
	sync_wait_end(look.waits, outer);
}

/* ---- locks that are held ---- */

static void sync_held_change(struct tw_stats *stats, uint64_t from, uint64_t to)
{
	_Atomic uint64_t *held = stats->waits.held;

	for (unsigned i = 0; i < TW_WAIT_HELD; i++) {
		if (atomic_load_explicit(&held[i], memory_order_relaxed) == from) {
			atomic_store_explicit(&held[i], to, memory_order_relaxed);
			return;
		}
	}
}

void sync_held_add(struct tw_stats *stats, uint64_t lock)
{
	sync_held_change(stats, 0, lock);
}

void sync_held_remove(struct tw_stats *stats, uint64_t lock)
{
	sync_held_change(stats, lock, 0);
}

void tw_sync_held_none(struct tw_proc *me, const char *function)
{
	for (unsigned i = 0; i < TW_WAIT_HELD; i++) {
		uint64_t lock = atomic_load_explicit(&me->stats->waits.held[i], memory_order_relaxed);

		if (lock)
			tw_fatal("%s: this processor holds lock %lx: release it first", function, (unsigned long)lock);
	}
}

void tw_sync_held_forget(struct tw_proc *me)
{
	for (unsigned i = 0; i < TW_WAIT_HELD; i++)
		atomic_store_explicit(&me->stats->waits.held[i], 0, memory_order_relaxed);
}
