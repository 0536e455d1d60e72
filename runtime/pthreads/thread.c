/* thread.c - a program's threads: each lives on a processor, together with others if there are more threads than
 * processors (runtime/threads/baton.c).
 *
 * Processor 0 runs main().  A new thread gets a processor without one, or else the one with the fewest.  Its creator
 * makes its stack, at the processor's node, and puts the thread into the processor's list of orders; the processor's
 * dispatcher starts it.  A thread's pthread_t is the C library's own: the address of its descriptor, on its stack, so
 * it differs between processors, and is known before the thread starts.  Stacks are used again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "core/process/syscalls.h"
#include "core/memory/globals.h"
#include "runtime/process/events/events.h"
#include "runtime/pthreads/thread.h"
#include "runtime/threads/baton.h"

/* In shared memory, under the lock of all threads; its dispatcher reads without it what was stored before the flag of
 * its orders was raised. */
#define PROCESSOR_THREADS 4096u
#define CREATE_NS         2000000000u /* for which a new thread waits for room */
struct processor {
	_Alignas(64) unsigned threads; /* that live here; main's until it ends */
	bool open;                     /* may get some */
	uint64_t orders;               /* given until now */
	struct thread *unused;         /* stacks */
	struct thread *order[PROCESSOR_THREADS];
};

static struct {
	unsigned at_work; /* threads that have not ended, without main's; under the lock of all threads */
	unsigned stacks;  /* made */
	struct processor processor[];
} * threads;
static tw_flag_t *orders;     /* private; of each processor: number of orders given */
static ptrdiff_t thread_room; /* from a pthread_t to its struct thread; the same for all */
static struct {
	bool open;
	uint64_t taken; /* orders of this processor that were executed */
} here;
__thread struct pt_own pt_own;

static unsigned processor_count(void)
{
	return tw_me->nodes * tw_me->locals;
}

struct tw_wait_queue *pt_threads_lock(void)
{
	return tw_wait_queue_lock(threads);
}

/* NULL: @thread is not one of the program's. */
struct thread *pt_thread_find(pthread_t thread)
{
	struct thread *t = (struct thread *)(thread + (uintptr_t)thread_room);

	if (!thread || thread % 64 || (uintptr_t)t - (uintptr_t)tw_me->app >= tw_me->config.memory - sizeof(*t))
		return NULL;
	return t->self == thread ? t : NULL;
}

char *pt_thread_stack(pthread_t thread, bool *detached)
{
	char *own = th_stack_own();

	if (thread == pthread_self()) {
		*detached = pt_own.thread && pt_own.thread->detached;
		return own;
	}
	pt_threads_open();
	struct tw_wait_queue *queue = pt_threads_lock();
	struct thread *t = pt_thread_find(thread);
	*detached = t && t->detached;
	tw_wait_queue_unlock(queue);
	return t ? (char *)t + (own - (char *)th_stack_room(own)) : NULL;
}

void pt_threads_prepare(void)
{
	unsigned count = processor_count();

	threads = tw_malloc_all(sizeof(*threads) + count * sizeof(struct processor));
	orders = calloc(count, sizeof(*orders));
	if (!threads || !orders)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	for (unsigned k = 0; k < count && tw_id() == 0; k++)
		orders[k] = tw_flag_create();
	tw_bcast(orders, count * sizeof(*orders), 0);
}

/* Each processor, on its first shared stack. */
static void thread_room_find(void)
{
	thread_room = (ptrdiff_t)((uintptr_t)th_stack_room(th_stack_own()) - (uintptr_t)pthread_self());
}

/* ---- a thread's life --------------------------------------------------------------------------------------------- */

/* @number: of the stacks. */
static void thread_waits(struct thread *t, unsigned number)
{
	t->waits = tw_wait_queue_entry(number);
	if (!t->waits)
		t->waits = t->entry;
}

/* Main's number is its processor's: locks that it holds since before the first thread have it. */
static void thread_enter(struct thread *t)
{
	pt_own.thread = t;
	if (t->stack)
		pt_number = (uint32_t)(((uintptr_t)t - (uintptr_t)tw_me->app) >> 12) | 0x40000000u;
	tw_wait_queue_thread(t->waits);
	struct tw_wait_queue *queue = pt_threads_lock();
	t->pid = (pid_t)syscall(SYS_getpid);
	t->tid = (pid_t)syscall(SYS_gettid);
	bool cancelled = t->cancelled;
	tw_wait_queue_unlock(queue);
	if (cancelled && pt_cancel_begin)
		pt_cancel_begin();
}

static __attribute__((noinline)) void thread_run(void *(*start)(void *arg), void *arg)
{
	pt_own.frame = __builtin_frame_address(0);
	errno = 0; /* Tweed has made calls in this thread */
	if (setjmp(pt_own.end) == 0)
		pt_own.result = (void *)th_call(TH_CALLED(start), arg, NULL, NULL);
}

/* Behind all thread_local objects' destructors, because it was registered before them.  What the C library calls later
 * must not allocate: jemalloc has left the thread by then, and gives private memory. */
static void thread_values_end(void *arg)
{
	(void)arg;
	pt_keys_end();
}

extern int __cxa_thread_atexit_impl(void (*function)(void *arg), void *arg, void *library);
extern char __dso_handle __attribute__((visibility("hidden")));

static void thread_begin(void *arg)
{
	struct thread *t = arg;

	if (t->self != pthread_self())
		th_refuse("pthread_create: the C library has placed a thread elsewhere");
	thread_enter(t);
	pthread_sigmask(SIG_SETMASK, &t->mask, NULL);
	if (t->name[0])
		pthread_setname_np(pthread_self(), t->name);
	if (t->schedule.own)
		pthread_setschedparam(pthread_self(), t->schedule.policy, &t->schedule.how);
	th_signals_thread();
	th_kind_thread();
	__cxa_thread_atexit_impl(thread_values_end, NULL, &__dso_handle);
	thread_run(t->start, t->arg);
}

/* Its stack can be used again: a thread that has ended leaves it before the processor's dispatcher starts another. */
static void thread_left(struct thread *t)
{
	struct processor *p = &threads->processor[t->processor];

	if (t->live || !t->ended)
		return;
	t->next = p->unused;
	p->unused = t;
}

/* In its last moments; main's: when it has ended. */
static void thread_end(void *arg)
{
	struct thread *t = arg;

	pt_keys_end();
	if (pt_notices_end)
		pt_notices_end();
	pt_mutexes_end();
	th_signals_thread_end();
	th_stack_reserve();
	struct tw_wait_queue *queue = pt_threads_lock();
	t->result = pt_own.result;
	t->ended = true;
	t->live = !t->detached;
	threads->processor[t->processor].threads--;
	threads->at_work -= pt_own.frame != NULL;
	if (pt_own.frame)
		thread_left(t);
	tw_wait_queue_wake(queue, t, TW_WAKE_ALL);
}

static const struct th_baton_work thread_work = {.run = thread_begin, .end = thread_end};

/* By the dispatcher: start what is ordered, until the program ends. */
static void threads_dispatch(void)
{
	struct processor *p = &threads->processor[tw_id()];

	for (;;) {
		tw_flag_wait(orders[tw_id()], ++here.taken);
		struct thread *t = p->order[here.taken % PROCESSOR_THREADS];
		if (!t)
			return;
		th_baton_start(t->stack, &thread_work, t);
	}
}

static bool threads_ordered(void)
{
	return tw_flag_get(orders[tw_id()]) >= here.taken;
}

static void processor_begin(bool dispatches)
{
	here.open = true;
	th_far = tw_me->nodes > 1;
	th_others = true;
	th_baton_open(dispatches);
	th_turns_open(threads_ordered);
	tw_syscalls_block = pt_block;
	tw_syscalls_wait = pt_wait;
	if (pt_cancel_open)
		pt_cancel_open();
	tw_syscalls_again = pt_block_again;
}

/* By the processor's first thread, which goes on with the program.  @all: so do or will all processors, before they run
 * more of it. */
static void processor_open(bool all)
{
	struct thread *t = th_stack_room(th_stack_own());

	thread_room_find();
	struct tw_wait_queue *queue = pt_threads_lock();
	t->self = pthread_self();
	t->processor = (unsigned)tw_id();
	t->live = true;
	thread_waits(t, threads->stacks++);
	threads->processor[0].threads += tw_id() == 0;
	for (unsigned k = 0; k < processor_count(); k++)
		threads->processor[k].open |= all || k == t->processor;
	tw_wait_queue_unlock(queue);
	thread_enter(t);
	processor_begin(false);
	th_baton_dispatcher(threads_dispatch);
	th_turns_begin();
}

void pt_threads_open(void)
{
	if (!here.open)
		processor_open(th_kind_crowd());
}

/* A processor with one thread waits in Tweed, where handlers are deferred. */
void pt_interruptible(void)
{
	if (!th_siblings && th_signals_handled())
		pt_threads_open();
}

void pt_threads_follow(void)
{
	if (!here.open)
		processor_open(false);
}

void pt_threads_serve(void)
{
	thread_room_find();
	processor_begin(true);
	threads_dispatch();
	th_turns_end();
}

static bool threads_at_work(void)
{
	struct tw_wait_queue *queue = pt_threads_lock();
	bool some = threads->at_work;

	tw_wait_queue_unlock(queue);
	return some;
}

/* With the lock, which is released.  @t: NULL: the program ends. */
static void processor_order(struct tw_wait_queue *queue, unsigned k, struct thread *t)
{
	struct processor *p = &threads->processor[k];
	uint64_t number = ++p->orders;

	p->order[number % PROCESSOR_THREADS] = t;
	tw_wait_queue_unlock(queue);
	tw_flag_set(orders[k], number);
}

bool pt_threads_alive(void)
{
	return pt_own.frame || (here.open && threads_at_work()) || pt_notify_runs();
}

void pt_threads_stop(void)
{
	if (!here.open)
		th_kind_crowd(); /* the others wait for it */
	th_turns_end();
	for (unsigned k = 1; k < processor_count(); k++)
		processor_order(pt_threads_lock(), k, NULL);
}

/* ---- create, join, detach ---------------------------------------------------------------------------------------- */

/* How far @k is from the caller's processor. */
static unsigned processor_distance(unsigned k)
{
	return k == tw_me->id ? 0 : k / tw_me->locals == tw_me->node ? 1 : 2;
}

/* The processor for a new thread. */
static unsigned processor_choose(void)
{
	const struct processor *p = threads->processor;
	unsigned best = (unsigned)tw_id();

	for (unsigned k = 0; k < processor_count(); k++)
		if (p[k].open && (p[k].threads < p[best].threads || (p[k].threads == p[best].threads && p[k].threads &&
		                                                     processor_distance(k) < processor_distance(best))))
			best = k;
	return best;
}

static bool thread_detached(const pthread_attr_t *attr)
{
	int state = PTHREAD_CREATE_JOINABLE;

	if (attr)
		pthread_attr_getdetachstate(attr, &state);
	return state == PTHREAD_CREATE_DETACHED;
}

/* Its mask of signals, if @attr has one. */
static void thread_mask(const pthread_attr_t *attr, sigset_t *mask)
{
#ifdef PTHREAD_ATTR_NO_SIGMASK_NP
	sigset_t own;

	if (attr && pthread_attr_getsigmask_np(attr, &own) == 0)
		*mask = own;
#else
	(void)attr, (void)mask;
#endif
}

/* Bytes of its stack, at least. */
static size_t thread_stack(const pthread_attr_t *attr)
{
	size_t bytes = 0;

	if (attr)
		pthread_attr_getstacksize(attr, &bytes);
	return bytes;
}

/* Returns 0 or an error. */
static int thread_schedule(const pthread_attr_t *attr, struct thread_schedule *s)
{
	int inherit = PTHREAD_INHERIT_SCHED;

	*s = (struct thread_schedule){.own = false};
	if (attr)
		pthread_attr_getinheritsched(attr, &inherit);
	if (inherit != PTHREAD_EXPLICIT_SCHED)
		return 0;
	s->own = true;
	pthread_attr_getschedpolicy(attr, &s->policy);
	pthread_attr_getschedparam(attr, &s->how);
	bool fits = s->how.sched_priority >= sched_get_priority_min(s->policy) &&
	            s->how.sched_priority <= sched_get_priority_max(s->policy);
	return fits ? 0 : EINVAL;
}

/* Of an unused stack of processor @k with @bytes bytes, if there is one. */
static struct thread *thread_unused(unsigned k, size_t bytes)
{
	struct thread **place = &threads->processor[k].unused;

	while (*place && !th_stack_holds((*place)->stack, bytes))
		place = &(*place)->next;
	struct thread *t = *place;
	if (t)
		*place = t->next;
	return t;
}

/* NULL: there is no memory for one more. */
static struct thread *thread_make(unsigned k, size_t bytes)
{
	char *stack = th_stack_create(k / tw_me->locals, bytes);
	struct thread *t = stack ? th_stack_room(stack) : NULL;

	if (!t)
		return NULL;
	t->self = (pthread_t)((uintptr_t)t - (uintptr_t)thread_room);
	t->stack = stack;
	t->processor = k;
	return t;
}

/* A thread of processor @k, which has not been ordered yet; NULL: there is no room for it.  With the lock. */
static struct thread *thread_new(struct tw_wait_queue **queue, unsigned k, size_t bytes, void *(*start)(void *arg),
                                 void *arg)
{
	if (threads->processor[k].threads == PROCESSOR_THREADS)
		return NULL;
	struct thread *t = thread_unused(k, bytes);
	threads->processor[k].threads++;
	if (!t) {
		tw_wait_queue_unlock(*queue);
		t = thread_make(k, bytes);
		*queue = pt_threads_lock();
		if (!t) {
			threads->processor[k].threads--;
			return NULL;
		}
		thread_waits(t, threads->stacks++);
	}
	t->start = start;
	t->arg = arg;
	t->ended = t->cancelled = t->schedule.own = false;
	t->tid = 0;
	t->live = t->detached = true;
	pthread_sigmask(SIG_SETMASK, NULL, &t->mask);
	memcpy(t->name, pt_own.thread ? pt_own.thread->name : "", pt_own.thread ? sizeof(t->name) : 1);
	return t;
}

/* The same, of the processor that suits; waits for others to end where there is no room. */
static struct thread *thread_room_for(struct tw_wait_queue **queue, unsigned *k, size_t bytes,
                                      void *(*start)(void *arg), void *arg, const void *code)
{
	uint64_t until = 0;
	struct thread *t;

	for (unsigned round = 0;;) {
		/* Other processes may not have opened a library, and have other variables of it. */
		*k = th_library_private(code) ? (unsigned)tw_id() : processor_choose();
		t = thread_new(queue, *k, bytes, start, arg);
		if (t)
			return t;
		bool full = threads->processor[*k].threads == PROCESSOR_THREADS;
		tw_wait_queue_unlock(*queue);
		until = until ? until : tw_time_ns() + CREATE_NS;
		if (!pt_poll(&round, until)) {
			if (full)
				th_refuse("pthread_create: each processor has %u threads: start the job with more "
				          "processors",
				          PROCESSOR_THREADS);
			th_stack_scarce(bytes);
		}
		*queue = pt_threads_lock();
	}
}

int pt_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *arg), void *arg, const void *code)
{
	if (!pt_enter() && tw_forked())
		th_refuse("pthread_create: a child of fork() has one thread: create threads in the parent, or let the "
		          "child call exec");
	if (!pt_enter())
		return EAGAIN;
	struct thread_schedule schedule;
	int error = thread_schedule(attr, &schedule);
	if (error)
		return error;
	pt_threads_open();
	struct tw_wait_queue *queue = pt_threads_lock();
	unsigned k;
	struct thread *t = thread_room_for(&queue, &k, thread_stack(attr), start, arg, code);
	threads->at_work++;
	t->detached = thread_detached(attr);
	thread_mask(attr, &t->mask);
	t->schedule = schedule;
	*thread = t->self;
	processor_order(queue, k, t);
	return 0;
}

void pt_thread_here(void *(*start)(void *arg), void *arg)
{
	struct tw_wait_queue *queue = pt_threads_lock();
	struct thread *t = thread_new(&queue, (unsigned)tw_id(), 0, start, arg);

	if (!t)
		th_stack_scarce(0);
	processor_order(queue, (unsigned)tw_id(), t);
}

int tw_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *arg), void *arg)
{
	return pt_create(thread, attr, start, arg, (const void *)(uintptr_t)start);
}

/* Returns an error's number: it was joined, or was detached and has ended; it is detached. */
static int thread_joinable(const struct thread *t)
{
	return !t->live ? ESRCH : t->detached ? EINVAL : 0;
}

/* @until: as in tw_wait_until; 1 has passed. */
static int thread_join(pthread_t thread, void **result, uint64_t until, int late)
{
	if (!pt_enter())
		return ESRCH;
	th_order(); /* the thread may wait for a variable between sleeps */
	pt_threads_open();
	struct thread *t = pt_thread_find(thread);
	if (!t)
		return ESRCH;
	if (thread == pthread_self())
		return EDEADLK;
	struct tw_wait_queue *queue = pt_threads_lock();
	int error = thread_joinable(t);
	while (!error && !t->ended) {
		uint64_t ticket = pt_join(queue, t);
		tw_wait_queue_unlock(queue);
		error = tw_wait_queue_wait_in(queue, ticket, until) ? 0 : late;
		queue = pt_threads_lock();
	}
	if (!error || (t->live && t->ended)) {
		if (result)
			*result = t->result;
		t->live = false;
		if (t->stack)
			thread_left(t);
		error = 0;
	}
	tw_wait_queue_unlock(queue);
	return error;
}

int tw_pthread_join(pthread_t thread, void **result)
{
	return thread_join(thread, result, 0, 0);
}

int tw_pthread_tryjoin_np(pthread_t thread, void **result)
{
	return thread_join(thread, result, 1, EBUSY);
}

int tw_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *at)
{
	uint64_t until = at ? pt_until(clock, at) : 0;

	return until || !at ? thread_join(thread, result, until, ETIMEDOUT) : EINVAL;
}

int tw_pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *at)
{
	return tw_pthread_clockjoin_np(thread, result, CLOCK_REALTIME, at);
}

int tw_pthread_detach(pthread_t thread)
{
	if (!pt_enter())
		return ESRCH;
	pt_threads_open();
	struct thread *t = pt_thread_find(thread);
	if (!t)
		return ESRCH;
	struct tw_wait_queue *queue = pt_threads_lock();
	int error = thread_joinable(t);
	if (!error) {
		t->detached = true;
		t->live = !t->ended;
		if (t->stack)
			thread_left(t);
	}
	tw_wait_queue_unlock(queue);
	return error;
}

/* ---- exit -------------------------------------------------------------------------------------------------------- */

/* After the end of main's thread, the program ends when the other threads have ended. */
void pt_main_end(void)
{
	unsigned round = 0;
	bool others = here.open && !tw_forked();

	if (others)
		thread_end(pt_own.thread);
	while (others && threads_at_work())
		pt_poll(&round, 0);
	exit(0);
}
