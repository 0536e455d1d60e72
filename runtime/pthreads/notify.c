/* SPDX-License-Identifier: BSD-3-Clause */
/* notify.c - SIGEV_THREAD: a thread of the program's calls a function; timers whose ends are such calls.
 *
 * These timers are Tweed's own, in shared memory: a thread of the run-time waits for the next end. */
#include <errno.h>
#include <time.h>

#include "runtime/pthreads/posix.h"
#include "runtime/pthreads/thread.h"
#include "runtime/process/events/events.h"

#define NOTIFY_TIMERS 256u

struct notify_timer {
	bool used;
	struct sigevent event;
	clockid_t clock;
	uint64_t next;     /* tw_time_ns(); 0: it is not set */
	uint64_t interval; /* ns; 0: once */
	int overrun;       /* ends that the last call stands for, beside its own */
};

/* In shared memory; under the lock of its wait queue, which is also what the run-time's thread waits for. */
static struct notify_timers {
	bool runs; /* that thread */
	struct notify_timer timer[NOTIFY_TIMERS];
} * notify;

static void *notify_thread(void *arg)
{
	struct sigevent event = *(struct sigevent *)arg;

	tw_free(arg);
	th_call(TH_CALLED(event.sigev_notify_function), event.sigev_value.sival_ptr, NULL, NULL);
	return NULL;
}

int pt_notify(const struct sigevent *event)
{
	struct sigevent *copy = tw_malloc(sizeof(*copy));
	int state = PTHREAD_CREATE_JOINABLE;
	pthread_t thread;

	if (!copy)
		return EAGAIN;
	*copy = *event;
	int error = tw_pthread_create(&thread, event->sigev_notify_attributes, notify_thread, copy);
	if (!error && event->sigev_notify_attributes)
		pthread_attr_getdetachstate(event->sigev_notify_attributes, &state);
	if (!error && state == PTHREAD_CREATE_JOINABLE)
		tw_pthread_detach(thread);
	return error;
}

/* ---- the run-time's thread --------------------------------------------------------------------------------------- */

/* With the lock.  Returns the timer whose end comes first, NULL: none is set. */
static struct notify_timer *notify_first(void)
{
	struct notify_timer *first = NULL;

	for (unsigned i = 0; i < NOTIFY_TIMERS; i++) {
		struct notify_timer *t = &notify->timer[i];
		if (t->used && t->next && (!first || t->next < first->next))
			first = t;
	}
	return first;
}

static void notify_ended(struct notify_timer *t, uint64_t now)
{
	uint64_t more = t->interval ? (now - t->next) / t->interval : 0;

	t->overrun = (int)more;
	t->next = t->interval ? t->next + (more + 1) * t->interval : 0;
}

static void *notify_run(void *arg)
{
	th_signals_thread_end();
	th_signals_none();
	for (;;) {
		struct tw_wait_queue *queue = tw_wait_queue_lock(notify);
		struct notify_timer *t = notify_first();
		uint64_t now = tw_time_ns();
		if (t && t->next <= now) {
			struct sigevent event = t->event;
			notify_ended(t, now);
			tw_wait_queue_unlock(queue);
			pt_notify(&event);
			continue;
		}
		uint64_t until = t ? t->next : 0, ticket = tw_wait_queue_join(queue, notify);
		tw_wait_queue_unlock(queue);
		tw_wait_queue_wait(notify, ticket, until);
	}
	return arg;
}

/* ---- the program's calls ----------------------------------------------------------------------------------------- */

static bool notify_owns(timer_t timer)
{
	uintptr_t at = (uintptr_t)timer - (uintptr_t)notify->timer;

	return at < sizeof(notify->timer) && at % sizeof(*notify->timer) == 0;
}

static int notify_create(clockid_t clock, const struct sigevent *event, timer_t *timer)
{
	struct notify_timer *t = notify->timer;

	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		th_refuse("timer_create: SIGEV_THREAD by a clock of processor time is not supported: let a thread call "
		          "sigwait, and then the function");
	pt_enter();
	pt_threads_open();
	struct tw_wait_queue *queue = tw_wait_queue_lock(notify);
	while (t < notify->timer + NOTIFY_TIMERS && t->used)
		t++;
	bool found = t < notify->timer + NOTIFY_TIMERS, starts = found && !notify->runs;
	if (found)
		*t = (struct notify_timer){.used = true, .event = *event, .clock = clock};
	notify->runs |= starts;
	tw_wait_queue_unlock(queue);
	if (starts)
		pt_thread_here(notify_run, NULL);
	*timer = t;
	return th_result(found ? 0 : EAGAIN);
}

static struct itimerspec notify_left(const struct notify_timer *t)
{
	uint64_t now = tw_time_ns(), left = !t->next ? 0 : t->next > now ? t->next - now : 1;

	return (struct itimerspec){{(time_t)(t->interval / 1000000000), (long)(t->interval % 1000000000)},
	                           {(time_t)(left / 1000000000), (long)(left % 1000000000)}};
}

static int notify_get(timer_t timer, struct itimerspec *now)
{
	struct notify_timer *t = timer;

	pt_enter();
	struct tw_wait_queue *queue = tw_wait_queue_lock(notify);
	bool used = t->used;
	if (used)
		*now = notify_left(t);
	tw_wait_queue_unlock(queue);
	return th_result(used ? 0 : EINVAL);
}

static uint64_t notify_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static int notify_set(timer_t timer, int flags, const struct itimerspec *now, struct itimerspec *old)
{
	struct notify_timer *t = timer;
	const struct timespec *first = &now->it_value;

	if (first->tv_nsec < 0 || first->tv_nsec >= 1000000000 || now->it_interval.tv_nsec < 0 ||
	    now->it_interval.tv_nsec >= 1000000000)
		return th_result(EINVAL);
	pt_enter();
	uint64_t next = flags & TIMER_ABSTIME ? pt_until(t->clock, first) : tw_time_ns() + notify_ns(first);
	struct tw_wait_queue *queue = tw_wait_queue_lock(notify);
	bool used = t->used;
	if (used && old)
		*old = notify_left(t);
	if (used) {
		t->next = notify_ns(first) ? next : 0;
		t->interval = notify_ns(&now->it_interval);
	}
	tw_wait_queue_wake(queue, notify, TW_WAKE_ALL);
	return th_result(used ? 0 : EINVAL);
}

static int notify_delete(timer_t timer)
{
	struct notify_timer *t = timer;

	pt_enter();
	struct tw_wait_queue *queue = tw_wait_queue_lock(notify);
	bool used = t->used;
	t->used = false;
	tw_wait_queue_unlock(queue);
	return th_result(used ? 0 : EINVAL);
}

static int notify_overrun(timer_t timer)
{
	const struct notify_timer *t = timer;

	pt_enter();
	struct tw_wait_queue *queue = tw_wait_queue_lock(notify);
	int overrun = t->overrun;
	tw_wait_queue_unlock(queue);
	return overrun;
}

bool pt_notify_runs(void)
{
	pt_enter();
	struct tw_wait_queue *queue = tw_wait_queue_lock(notify);
	bool runs = notify->runs;
	tw_wait_queue_unlock(queue);
	return runs;
}

static const struct th_timers notify_timers = {
    .owns = notify_owns,
    .create = notify_create,
    .get = notify_get,
    .set = notify_set,
    .remove = notify_delete,
    .overrun = notify_overrun,
};

void pt_notify_open(void)
{
	notify = th_allocate_all(sizeof(*notify));
	th_timers = &notify_timers;
}
