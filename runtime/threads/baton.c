/* SPDX-License-Identifier: BSD-3-Clause */
/* baton.c - which of a processor's threads runs.
 *
 * The ring of threads is changed and searched by the thread with the baton alone.  The others change their own @state
 * only, when they come back from the kernel, and ring the processor's bell, so that a thread that waits for all looks
 * again.  The search begins behind the thread that gives the baton, so it goes round.
 *
 * Shootdowns (core/coherence/shootdown.c) see one thread: from the giver's tw_shootdown_enter until the taker's
 * tw_shootdown_leave, the processor runs no application code. */
#include "runtime/threads/baton.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/coherence/shootdown.h"
#include "core/process/fork.h"
#include "runtime/process/hosts/first_host.h"
#include "sync/sync.h"

#define BATON_SIGNAL_STACK ((size_t)256 << 10) /* private: for fault handlers */
#define BATON_STACK        ((size_t)1 << 20)   /* of a dispatcher that has no shared one */

#define LOCK_SPINS 1024u /* acquisitions of one lock in a row, then others run */

enum baton_state { BATON_READY, BATON_WAITS, BATON_AWAY };

/* In private memory, below the thread's stack for signals. */
struct th_thread {
	_Atomic uint32_t go;    /* futex: 1: has the baton */
	_Atomic uint32_t state; /* enum baton_state; the thread that runs is READY */
	bool (*ready)(void *arg);
	void *arg;
	uint64_t until;       /* 0: no limit */
	_Atomic bool due;     /* a signal's handler is to be called */
	bool met;             /* the condition, when the wait has ended */
	bool ended_by_signal; /* the last sleep */
	struct th_thread *next, *before;
	pthread_t self;
	int32_t tid;
	bool ends;
	uint64_t acquiring;               /* tw_sync_slot of the lock that it waits for or takes; 0: none */
	bool switches;                    /* others may run while it waits for that: not in a handler */
	bool ends_early;                  /* a handler without SA_RESTART ends the wait */
	uint64_t call, object, value;     /* the wait, as in struct tw_waits */
	char *stack;                      /* its end */
	const struct th_baton_work *work; /* of a program's thread */
	void *work_arg;
};

unsigned th_siblings, th_crowd, th_spins;
const volatile void *th_spun_at[TH_SPUN];
volatile unsigned th_turn_is_over;
unsigned (*th_due)(void);
__thread volatile bool th_due_here;
static __thread struct th_thread *own;   /* NULL: not one of those that pass the baton */
static struct th_thread *_Atomic holder; /* has the baton */
static _Atomic uint64_t turn = 1;
static _Atomic bool idles;
static struct th_thread *dispatcher;
static struct th_thread *ended;     /* gives the baton away by its end */
static struct th_thread *idle_list; /* unused, linked by next */
static pthread_key_t baton_end;
static bool baton_end_made;

/* ---- passing the baton ------------------------------------------------------------------------------------------- */

static void baton_sleep(void)
{
	int saved = errno;

	while (!atomic_load(&own->go))
		syscall(SYS_futex, &own->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	errno = saved;
	atomic_store(&own->go, 0);
	tw_gate_attach();
	atomic_store(&holder, own);
	atomic_fetch_add(&turn, 1);
	th_turn_is_over = 0;
	tw_shootdown_next(tw_me, own->tid);
	tw_shootdown_leave(tw_me);
}

static void baton_give(struct th_thread *t)
{
	tw_shootdown_enter(tw_me);
	atomic_store(&tw_me->stats->waits.call, TW_WAIT_NONE);
	tw_gate_detach();
	atomic_store(&t->go, 1);
	syscall(SYS_futex, &t->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* May it run?  Its wait has ended then. */
static bool baton_can(struct th_thread *t, uint64_t *now)
{
	uint32_t state = atomic_load(&t->state);

	if (state != BATON_WAITS)
		return state == BATON_READY;
	t->met = t->ready(t->arg);
	if (!t->met && atomic_load(&t->due)) {
		atomic_store(&t->state, BATON_READY);
		return true;
	}
	if (!t->met && t->until && !*now)
		*now = tw_time_ns();
	if (!t->met && (!t->until || *now < t->until))
		return false;
	atomic_store(&t->state, BATON_READY);
	return true;
}

/* The next thread that can run, the caller last; NULL: none. */
static struct th_thread *baton_find(void)
{
	struct th_thread *t = own->next;
	uint64_t now = 0;

	for (;; t = t->next) {
		if (baton_can(t, &now))
			return t;
		if (t == own)
			return NULL;
	}
}

static bool baton_found(void *found)
{
	*(struct th_thread **)found = baton_find();
	return *(struct th_thread **)found != NULL;
}

/* The earliest end of a wait; 0: none has one.  *@away: a thread is in the kernel. */
static uint64_t baton_limit(bool *away)
{
	uint64_t limit = 0;
	struct th_thread *t = own;

	*away = false;
	do {
		uint32_t state = atomic_load(&t->state);
		if (state == BATON_WAITS && t->until && (!limit || t->until < limit))
			limit = t->until;
		*away |= state == BATON_AWAY;
		t = t->next;
	} while (t != own);
	return limit;
}

/* Wait for all threads.  A wait without end of the processor is visible to the agent if no thread has an end. */
static struct th_thread *baton_idle(void)
{
	struct tw_waits *w = &tw_me->stats->waits;
	struct th_thread *found = NULL;
	bool away;
	uint64_t limit = baton_limit(&away);

	if (limit || away) {
		atomic_store(&w->call, TW_WAIT_NONE);
	} else {
		atomic_store(&w->object, own->object);
		atomic_store(&w->value, own->value);
		atomic_store(&w->call, (uint32_t)own->call);
	}
	atomic_store(&idles, true);
	tw_wait_until(tw_me, baton_found, &found, limit);
	atomic_store(&idles, false);
	atomic_fetch_add(&turn, 1);
	return found;
}

/* Until the caller can run. */
static void baton_pass(void)
{
	while (atomic_load(&own->state) != BATON_READY) {
		struct th_thread *t = baton_find();
		if (!t)
			t = baton_idle();
		if (!t || t == own)
			continue;
		baton_give(t);
		baton_sleep();
		if (own == dispatcher && ended)
			return;
	}
}

static void baton_reap(void);

static bool baton_never(void *arg)
{
	(void)arg;
	return false;
}

/* Has a signal, not the condition nor the time, ended the wait?  Its handler may have waited, too. */
static bool baton_interrupted(void)
{
	if (!atomic_exchange(&own->due, false))
		return false;
	bool met = own->met, late = own->until && tw_time_ns() >= own->until, sleeps = own->ready == baton_never;
	bool early = own->ends_early, switches = own->switches;
	own->ends_early = own->switches = false;
	unsigned called = th_due ? th_due() : 0;
	own->ends_early = early;
	own->switches = switches;
	own->met = met;
	own->ended_by_signal = !late && ((called && sleeps) || (called == 2 && early && !met));
	return !met && !late && !own->ended_by_signal;
}

bool th_wait(bool (*ready)(void *arg), void *arg, uint64_t until_ns)
{
	bool early = tw_sync_ends_early;

	tw_sync_ends_early = false;
	if (!own)
		return tw_wait_until(tw_me, ready, arg, until_ns);
	if (ready(arg))
		return true;
	struct tw_waits *w = &tw_me->stats->waits;
	uint64_t call = until_ns ? TW_WAIT_NONE : atomic_load(&w->call), object = atomic_load(&w->object),
	         value = atomic_load(&w->value);
	do {
		own->ready = ready;
		own->arg = arg;
		own->until = until_ns;
		own->ends_early = early;
		own->call = call;
		own->object = object;
		own->value = value;
		atomic_store(&own->state, BATON_WAITS);
		for (;;) {
			baton_pass();
			if (own != dispatcher || !ended)
				break;
			baton_reap();
		}
		atomic_store(&w->call, TW_WAIT_NONE);
	} while (baton_interrupted());
	own->ends_early = false;
	return own->met;
}

bool th_sleep(uint64_t until_ns)
{
	if (!own) { /* before the program's first thread */
		tw_wait_until(tw_me, baton_never, NULL, until_ns);
		return true;
	}
	own->ended_by_signal = false;
	th_wait(baton_never, NULL, until_ns);
	return !own->ended_by_signal;
}

void th_yield(void)
{
	if (!th_siblings || !own)
		return;
	struct th_thread *t = baton_find();
	if (t == own || !t)
		return;
	baton_give(t);
	baton_sleep();
}

void th_spun_often(void)
{
	th_spins = 0;
	if (tw_me && own) {
		th_stack_reserve();
		th_yield();
	}
}

void th_lock_spun(uint64_t id)
{
	static uint64_t last;
	static unsigned spins;

	if (th_crowd < 2 || !own)
		return;
	spins = id == last ? spins + 1 : 0;
	last = id;
	if (spins < LOCK_SPINS)
		return;
	spins = 0;
	th_yield();
}

void th_turn_end(void)
{
	th_turn_is_over = 0;
	th_yield();
}

uint64_t th_baton_turn(int32_t *tid)
{
	const struct th_thread *t = atomic_load(&holder);

	*tid = t ? t->tid : 0;
	return t && !atomic_load(&idles) ? atomic_load(&turn) : 0;
}

void th_baton_interrupt(const sigset_t *mask)
{
	if (!own || own != atomic_load(&holder) || atomic_load(&own->state) != BATON_READY || atomic_load(&idles))
		return;
	th_yield();
	if (mask && th_turn_look)
		th_turn_look(mask);
}

bool th_baton_mine(void)
{
	return !tw_me ||
	       (own ? own == atomic_load(&holder) && atomic_load(&own->state) == BATON_READY && !atomic_load(&idles)
	            : th_stack_own() != NULL);
}

void th_baton_due(void)
{
	th_due_here = true;
	if (!own || !tw_me)
		return;
	atomic_store(&own->due, true);
	tw_net_notify(tw_me->net, tw_me->node, tw_me->local);
}

void th_away(void)
{
	struct th_thread *t = own ? own->next : NULL;
	uint64_t now = 0;

	tw_shootdown_came = false;
	if (!th_siblings || !own)
		return;
	th_turn_came = false;
	atomic_store(&own->state, BATON_AWAY);
	while (t != own && !baton_can(t, &now))
		t = t->next;
	baton_give(t != own ? t : dispatcher); /* which waits for all */
}

void th_back(void)
{
	int saved = errno;

	if (!own || atomic_load(&own->state) != BATON_AWAY)
		return;
	atomic_store(&own->state, BATON_READY);
	tw_net_notify(tw_me->net, tw_me->node, tw_me->local);
	baton_sleep();
	errno = saved;
}

/* ---- waits of sync/, and the program's locks --------------------------------------------------------------------- */

/* The locks of Tweed and of the run-times are held for a short time, by a thread with the baton. */
static bool baton_switches(enum tw_wait_call call)
{
	return own && (call == TW_WAIT_FLAG || call == TW_WAIT_BARRIER || call == TW_WAIT_BARRIER_ALL ||
	               (call == TW_WAIT_LOCK && own->switches));
}

static const struct tw_sync_threads baton_threads = {.switches = baton_switches, .wait = th_wait};

/* The locks that threads of this processor acquire.  Of those with one hash, the first is here, the others are counted,
 * and then searched for: so threads that wait for one lock do not search all threads each. */
static struct {
	uint64_t slot;
	unsigned count;
} acquired[TW_SYNC_HASHES];
static unsigned acquired_beside;

/* Returns where it is counted; the caller counts down. */
static unsigned *lock_acquires(uint64_t slot)
{
	unsigned h = tw_sync_slot_hash(slot);
	bool here = !acquired[h].count || acquired[h].slot == slot;
	unsigned *count = here ? &acquired[h].count : &acquired_beside;

	if (here)
		acquired[h].slot = slot;
	++*count;
	return count;
}

static bool lock_acquired_beside(uint64_t slot)
{
	const struct th_thread *first = atomic_load(&holder), *t = first;

	do {
		if (t->acquiring == slot)
			return true;
		t = t->next;
	} while (t != first);
	return false;
}

/* Has another thread of this processor the lock, or is it about to get it?  Then Tweed believes that the processor has
 * it. */
static bool lock_near(uint64_t id)
{
	uint64_t slot = tw_sync_slot(id);
	unsigned h = tw_sync_slot_hash(slot);

	return tw_sync_lock_mine(tw_me, id) || (acquired[h].count && acquired[h].slot == slot) ||
	       (acquired_beside && lock_acquired_beside(slot));
}

static bool lock_not_near(void *arg)
{
	return !lock_near(*(const uint64_t *)arg);
}

void th_lock_among(tw_lock_t lock)
{
	if (!own) {
		tw_lock_acquire(lock);
		return;
	}
	while (th_crowd > 1 && lock_near(lock.id)) {
		atomic_store(&tw_me->stats->waits.object, lock.id);
		atomic_store(&tw_me->stats->waits.call, TW_WAIT_LOCK);
		th_wait(lock_not_near, &lock.id, 0);
	}
	uint64_t outer = own->acquiring; /* the caller is a handler that has interrupted that */
	uint64_t slot = tw_sync_slot(lock.id);
	unsigned *count = lock_acquires(slot);
	own->acquiring = slot;
	own->switches = true;
	tw_lock_acquire(lock);
	own->switches = false;
	own->acquiring = outer;
	--*count;
}

void th_lock_release(tw_lock_t lock)
{
	if (!tw_sync_lock_release(tw_me, lock))
		tw_sync_lock_release_any(tw_me, lock);
}

bool th_evictable_take(uint64_t id)
{
	th_lock_spun(id);
	return (!own || th_crowd < 2 || !lock_near(id)) && tw_sync_evictable_take(tw_me, id);
}

bool th_lock_try(tw_lock_t lock)
{
	if ((!own || th_crowd < 2 || !lock_near(lock.id)) && tw_lock_try_acquire(lock))
		return true;
	th_spun(NULL);
	return false;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static struct th_thread *baton_thread(void)
{
	struct th_thread *t = idle_list;

	if (t) {
		idle_list = t->next;
		memset(t, 0, sizeof(*t));
		return t;
	}
	t = mmap(NULL, BATON_SIGNAL_STACK + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	         -1, 0);
	if (t == MAP_FAILED)
		th_refuse("no memory for a thread: %s", strerror(errno));
	return t;
}

/* Behind the thread with the baton; the first one: alone. */
static void baton_add(struct th_thread *t, struct th_thread *before)
{
	t->before = before ? before : t;
	t->next = before ? before->next : t;
	t->before->next = t;
	t->next->before = t;
	th_siblings += before != NULL;
}

static void baton_own(struct th_thread *t)
{
	own = t;
	t->self = pthread_self();
	t->tid = (int32_t)syscall(SYS_gettid);
}

void th_baton_open(bool dispatches)
{
	struct th_thread *t = baton_thread();

	baton_own(t);
	t->stack = th_stack_own();
	baton_add(t, NULL);
	holder = t;
	if (dispatches)
		dispatcher = t;
	else
		th_crowd = 1;
	tw_me->crowd = true;
	tw_sync_threads = &baton_threads;
}

void th_baton_forget(void)
{
	own = NULL;
	holder = NULL;
	th_siblings = th_crowd = 0;
	tw_sync_threads = NULL;
}

bool th_baton_stacks(void (*each)(char *stack, void *arg), void *arg)
{
	struct th_thread *first = atomic_load(&holder), *t = first;

	while (t) {
		if (t->stack)
			each(t->stack, arg);
		t = t->next == first ? NULL : t->next;
	}
	return first != NULL;
}

static void *dispatcher_run(void *work)
{
	baton_own(dispatcher);
	baton_sleep();
	((void (*)(void))(uintptr_t)work)();
	for (;;)
		th_wait(baton_never, NULL, 0);
	return NULL;
}

static void baton_create(struct th_thread *t, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
	int error = th_hosts_create(&t->self, attr, run, arg); /* no signals until it has a stack for them */

	if (error)
		th_refuse("pthread_create: this host cannot start more threads: %s", strerror(error));
}

void th_baton_dispatcher(void (*work)(void))
{
	pthread_attr_t attr;

	dispatcher = baton_thread();
	baton_add(dispatcher, own);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, BATON_STACK);
	baton_create(dispatcher, &attr, dispatcher_run, (void *)(uintptr_t)work);
	pthread_attr_destroy(&attr);
}

/* After the destructors of thread_local variables: the C library calls it for the value of a key.  From its return on,
 * the C library uses the thread's stack, and the dispatcher waits until the thread has ended. */
static void baton_thread_end(void *arg)
{
	struct th_thread *t = arg;

	if (tw_forked())
		return;
	/* Destructors of other keys come first: those of libraries, which may call the run-time. */
	if (!t->ends) {
		t->ends = true;
		pthread_setspecific(baton_end, t);
		return;
	}
	th_stack_reserve();
	th_hosts_leave();
	th_stack_leave();
	t->work->end(t->work_arg);
	t->before->next = t->next;
	t->next->before = t->before;
	th_siblings--;
	th_crowd--;
	ended = t;
	baton_give(dispatcher);
}

/* In the dispatcher, which got the baton by a thread's end. */
static void baton_reap(void)
{
	struct th_thread *t = ended;

	ended = NULL;
	pthread_join(t->self, NULL);
	t->next = idle_list;
	idle_list = t;
}

void th_baton_rest(_Atomic uint32_t *resting)
{
	sigset_t all;

	th_stack_reserve();
	th_hosts_leave();
	sigfillset(&all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, (size_t)NSIG / 8);
	own->before->next = own->next;
	own->next->before = own->before;
	th_siblings--;
	th_crowd--;
	baton_give(dispatcher);
	__asm__ volatile("	lock incl (%[resting])\n" /* from here on, only registers */
	                 "1:	movl	%[pause], %%eax\n"
	                 "	syscall\n"
	                 "	jmp	1b\n"
	                 :
	                 : [resting] "b"(resting), [pause] "i"(SYS_pause)
	                 : "rax", "rcx", "r11", "memory", "cc");
	__builtin_unreachable();
}

static void *baton_run(void *arg)
{
	struct th_thread *t = arg;

	baton_own(t);
	tw_signal_stack(&(stack_t){.ss_sp = (char *)t + 4096, .ss_size = BATON_SIGNAL_STACK});
	th_hosts_enter();
	baton_sleep(); /* up to here only private memory, and the pinned part of the stack: the dispatcher runs, too */
	th_stack_enter(t->stack);
	pthread_setspecific(baton_end, t);
	t->work->run(t->work_arg);
	return NULL;
}

void th_baton_start(char *stack, const struct th_baton_work *work, void *arg)
{
	struct th_thread *t = baton_thread();
	pthread_attr_t attr;

	if (!baton_end_made && pthread_key_create(&baton_end, baton_thread_end))
		th_refuse("pthread_create: the C library has no key left");
	baton_end_made = true;
	t->stack = stack;
	t->work = work;
	t->work_arg = arg;
	baton_add(t, own->before); /* last of the round */
	th_crowd++;
	th_stack_attr(stack, &attr);
	baton_create(t, &attr, baton_run, t);
	pthread_attr_destroy(&attr);
	th_turns_begin();
}
