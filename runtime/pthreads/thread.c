/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c - a program's threads: each is run by a processor without one.
 *
 * Processor 0 runs main().  A processor runs a thread by an order, and another one when that thread has ended and was
 * joined or detached.  A thread's pthread_t is the C library's own for the thread that runs it
 * (runtime/threads/stack.c): the address of its descriptor, which is in shared memory and so differs between
 * processors. */
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "core/process/fork.h"
#include "core/memory/globals.h"
#include "runtime/pthreads/pthreads.h"

#define THREAD_DETACHED_NS 2000000000u /* how long to wait for a detached thread's end */

/* In shared memory, under the table's lock, except @self. */
struct thread {
	_Alignas(64) pthread_t self; /* written once, before the job's first barrier */
	uint64_t orders;             /* given to the processor; processor 0 began with one */
	void *(*start)(void *arg);   /* NULL: end */
	void *arg, *result;
	bool busy; /* has a thread that was not joined */
	bool ended, detached;
};

struct thread_handles {
	tw_flag_t go, done; /* number of orders given, and of those completed */
};

static struct thread *threads;
static struct thread_handles *handles; /* private */
static struct {
	bool open; /* the others have been released from the job's first barrier */
	void *result;
	void *frame; /* of the caller of the thread's function; NULL in main's */
	jmp_buf end;
	__pthread_unwind_buf_t *cleanup; /* pthread_cleanup_push, in C */
} here;

static unsigned thread_count(void)
{
	return tw_me->nodes * tw_me->locals;
}

static struct tw_wait_queue *threads_lock(void)
{
	return tw_wait_queue_lock(threads);
}

static void threads_unlock(struct tw_wait_queue *queue)
{
	tw_wait_queue_unlock(queue);
}

/* The processor that runs @thread; thread_count(): none. */
static unsigned thread_find(pthread_t thread)
{
	unsigned k = 0;

	while (k < thread_count() && (!threads[k].self || threads[k].self != thread))
		k++;
	return k;
}

size_t th_kind_open(void)
{
	unsigned count = thread_count();

	if (!tw_globals_shared && tw_id() == 0)
		th_refuse("this program uses threads: link it with 'tweed cc --pthreads'");
	pt_objects_open();
	threads = tw_malloc_all(count * sizeof(*threads));
	handles = calloc(count, sizeof(*handles));
	if (!threads || !handles)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	for (unsigned k = 0; k < count && tw_id() == 0; k++)
		handles[k] = (struct thread_handles){tw_flag_create(), tw_flag_create()};
	tw_bcast(handles, count * sizeof(*handles), 0);
	return 0;
}

/* On processor 0, before others run threads. */
static void threads_open(void)
{
	if (here.open || tw_id())
		return;
	here.open = true;
	threads[0].self = pthread_self();
	threads[0].busy = true;
	threads[0].orders = 1;
	tw_barrier_all();
}

/* ---- a thread's life --------------------------------------------------------------------------------------------- */

/* Set the program's thread-local variables to their initial values. */
static int thread_fresh(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	for (unsigned i = 0; i < info->dlpi_phnum && info->dlpi_tls_data; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type != PT_TLS)
			continue;
		memcpy(info->dlpi_tls_data, (const void *)(info->dlpi_addr + part->p_vaddr), part->p_filesz);
		memset((char *)info->dlpi_tls_data + part->p_filesz, 0, part->p_memsz - part->p_filesz);
	}
	return 1; /* the program is the first entry; libraries keep their variables */
}

static void thread_end(uint64_t order)
{
	struct thread *t = &threads[tw_id()];

	pt_keys_end();
	th_stack_reserve();
	struct tw_wait_queue *queue = threads_lock();
	t->result = here.result;
	t->ended = true;
	t->busy = !t->detached;
	threads_unlock(queue);
	tw_flag_set(handles[tw_id()].done, order);
}

static __attribute__((noinline)) void thread_run(void *(*start)(void *arg), void *arg)
{
	here.frame = __builtin_frame_address(0);
	here.cleanup = NULL;
	if (setjmp(here.end) == 0)
		here.result = start(arg);
}

void th_kind_work(void)
{
	threads[tw_id()].self = pthread_self();
	tw_barrier_all();
	th_far = tw_me->nodes > 1;
	th_others = true;
	for (uint64_t order = 1;; order++) {
		tw_flag_wait(handles[tw_id()].go, order);
		struct thread t = threads[tw_id()];
		if (!t.start)
			return;
		if (order > 1)
			dl_iterate_phdr(thread_fresh, NULL);
		thread_run(t.start, t.arg);
		thread_end(order);
	}
}

static void thread_order(unsigned k)
{
	tw_flag_set(handles[k].go, threads[k].orders);
}

static bool threads_at_work(void)
{
	bool some = false;
	struct tw_wait_queue *queue = threads_lock();

	for (unsigned k = 1; k < thread_count(); k++)
		some |= threads[k].busy && !threads[k].ended;
	threads_unlock(queue);
	return some;
}

void th_kind_exit(int status)
{
	th_stack_reserve();
	threads_open();
	if (tw_id() || threads_at_work())
		th_end_job(status & 255);
	for (unsigned k = 1; k < thread_count(); k++) {
		threads[k].start = NULL;
		threads[k].orders++;
		thread_order(k);
	}
}

/* ---- create, join, detach ---------------------------------------------------------------------------------------- */

/* Find a processor without a thread, for @start.  Returns it; 0: none, and in *@may_come whether a thread will end
 * soon. */
static unsigned thread_take(void *(*start)(void *arg), void *arg, bool detached, bool *may_come)
{
	unsigned k = 1;
	struct tw_wait_queue *queue = threads_lock();

	*may_come = false;
	for (; k < thread_count() && threads[k].busy; k++)
		*may_come |= threads[k].detached;
	if (k < thread_count()) {
		struct thread *t = &threads[k];
		t->busy = true;
		t->ended = false;
		t->detached = detached;
		t->start = start;
		t->arg = arg;
		t->orders++;
	}
	threads_unlock(queue);
	return k < thread_count() ? k : 0;
}

static bool thread_detached(const pthread_attr_t *attr)
{
	size_t bytes;
	int state = PTHREAD_CREATE_JOINABLE;

	if (!attr)
		return false;
	pthread_attr_getdetachstate(attr, &state);
	if (pthread_attr_getstacksize(attr, &bytes) == 0 && bytes > th_stack_bytes())
		th_refuse(
		    "pthread_create: a stack of %zu bytes, but each has %zu: raise the limit of stacks (ulimit -s)",
		    bytes, th_stack_bytes());
	return state == PTHREAD_CREATE_DETACHED;
}

int tw_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *arg), void *arg)
{
	uint64_t until = tw_time_ns() + THREAD_DETACHED_NS;
	unsigned k, round = 0;
	bool may_come;

	if (!pt_leave() && tw_forked())
		tw_fork_refuse();
	if (!pt_leave())
		return EAGAIN;
	threads_open();
	th_far = tw_me->nodes > 1;
	th_others = true;
	while (!(k = thread_take(start, arg, thread_detached(attr), &may_come)))
		if (!may_come || !pt_poll(&round, until))
			th_refuse("pthread_create: all %u processors of the job have a thread that was not joined: "
			          "start it with more (tweed "
			          "run -n NODES -p PROCESSORS)",
			          thread_count());
	*thread = threads[k].self;
	thread_order(k);
	return 0;
}

/* @until: as in tw_wait_until; 1 has passed. */
static int thread_join(pthread_t thread, void **result, uint64_t until, int late)
{
	if (!pt_leave())
		return ESRCH;
	unsigned k = thread_find(thread);
	if (k == thread_count())
		return ESRCH;
	if (k == (unsigned)tw_id())
		return EDEADLK;
	struct tw_wait_queue *queue = threads_lock();
	struct thread t = threads[k];
	threads_unlock(queue);
	if (!t.busy || t.detached)
		return EINVAL;
	if (!pt_flag_wait(handles[k].done, t.orders, until))
		return late;
	queue = threads_lock();
	if (result)
		*result = threads[k].result;
	threads[k].busy = false;
	threads_unlock(queue);
	return 0;
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
	uint64_t until = pt_until(clock, at);
	return until ? thread_join(thread, result, until, ETIMEDOUT) : EINVAL;
}

int tw_pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *at)
{
	return tw_pthread_clockjoin_np(thread, result, CLOCK_REALTIME, at);
}

int tw_pthread_detach(pthread_t thread)
{
	if (!pt_enter())
		return ESRCH;
	unsigned k = thread_find(thread);
	if (k == thread_count())
		return k || !here.open ? 0 : ESRCH;
	struct tw_wait_queue *queue = threads_lock();
	int error = threads[k].busy && !threads[k].detached ? 0 : EINVAL;
	if (!error) {
		threads[k].detached = true;
		threads[k].busy = !threads[k].ended;
	}
	threads_unlock(queue);
	return error;
}

/* ---- exit -------------------------------------------------------------------------------------------------------- */

/* For pthread_cleanup_push in C: the C library's functions use lists of their own. */
void tw_pthread_register_cancel(__pthread_unwind_buf_t *buffer)
{
	buffer->__pad[0] = here.cleanup;
	here.cleanup = buffer;
}

void tw_pthread_unregister_cancel(__pthread_unwind_buf_t *buffer)
{
	here.cleanup = buffer->__pad[0];
}

/* After the end of main's thread, the program ends when the other threads have ended. */
static void __attribute__((noreturn)) main_end(void)
{
	unsigned round = 0;

	if (here.open)
		thread_end(1);
	while (here.open && threads_at_work())
		pt_poll(&round, 0);
	exit(0);
}

/* The C library's buffer ends before the signal mask, which was not saved. */
static void __attribute__((noreturn)) exit_to(const __pthread_unwind_buf_t *buffer)
{
	jmp_buf to;

	memset(&to, 0, sizeof(to));
	memcpy(&to, buffer->__cancel_jmp_buf, sizeof(buffer->__cancel_jmp_buf));
	longjmp(to, 1);
}

/* Unwind from the thread's last frame; C++'s destructors run in between. */
static _Unwind_Reason_Code exit_step(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                     struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *arg)
{
	uintptr_t frame = _Unwind_GetCFA(context);

	(void)version;
	(void)class;
	(void)exception;
	(void)arg;
	if (here.cleanup && ((actions & _UA_END_OF_STACK) || frame > (uintptr_t)here.cleanup))
		exit_to(here.cleanup);
	if (here.frame && ((actions & _UA_END_OF_STACK) || frame > (uintptr_t)here.frame))
		longjmp(here.end, 1);
	if (actions & _UA_END_OF_STACK)
		main_end();
	return _URC_NO_REASON;
}

static void __attribute__((noreturn)) exit_unwind(void)
{
	static struct _Unwind_Exception exception;

	memset(&exception, 0, sizeof(exception));
	_Unwind_ForcedUnwind(&exception, exit_step, NULL);
	th_refuse("pthread_exit: this thread's stack cannot be unwound");
}

void tw_pthread_unwind_next(__pthread_unwind_buf_t *buffer)
{
	here.cleanup = buffer->__pad[0];
	exit_unwind();
}

void tw_pthread_exit(void *result)
{
	th_stack_reserve();
	here.result = result;
	exit_unwind();
}

/* ---- what is not supported ----------------------------------------------------------------------------------- */

int tw_pthread_kill(pthread_t thread, int number)
{
	if (thread == pthread_self())
		return pthread_kill(thread, number);
	if (number)
		th_refuse("pthread_kill: a signal to another thread is not supported");
	return !pt_enter() || thread_find(thread) == thread_count() ? ESRCH : 0;
}

int tw_pthread_cancel(pthread_t thread)
{
	(void)thread;
	th_refuse("pthread_cancel is not supported: let the thread look at a variable");
}

int tw_pthread_sigqueue(pthread_t thread, int number, const union sigval value)
{
	(void)thread;
	(void)number;
	(void)value;
	th_refuse("pthread_sigqueue is not supported");
}

int tw_thrd_create(void)
{
	th_refuse("thrd_create is not supported: use pthread_create");
}
