/* SPDX-License-Identifier: BSD-3-Clause */
/* async.c - asynchronous progress: a thread that does for an endpoint what its user's next call would do, if that call
 * is late.
 *
 * Endpoints gather small operations, and libraries send only when they are called; so the last operations may stay
 * here for as long as the user computes.  The thread checks whether something is pending (transport.h), and makes
 * progress if the user has not called since the check before.  It never spins: it sleeps for a short time between two
 * checks; when some checks in a row have found nothing, it sleeps until an operation leaves something pending.
 *
 * User and thread take turns.  The user's operations should cost as before, but a fence takes 48 ns where a put takes
 * 29: so they have no fence.  The user, at the beginning of an operation, stores that it is in, and then reads whether
 * it is the thread's turn.  The thread stores that it takes its turn, makes every thread of the process execute a
 * fence, by membarrier(2), and then reads whether the user is in.  A user that sees no turn has stored before that
 * fence, so the thread sees it, and gives its turn up: the thread never blocks.  The same holds for its sleep: it
 * stores that it sleeps before the fence.  A user that leaves stores that it is out, and then reads whether the thread
 * sleeps: a user that does not see the sleep was out at the fence, so the thread has checked what it left behind.
 * Without membarrier(2), operations execute fences of their own (tests/models/async.pml).
 *
 * A second user (tw_net_share) takes a turn in the same way for each of its operations.  It waits for its turn, and the
 * user for the end of it.  It has no turn between operations, when it may wait for a lock that the user holds.
 *
 * (A remaining cost of 2.9 ns in 29 is due to calls through two tables, and four words of a cache line.) */
#include "tweed/driver/transport.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "net/mailbox.h"

#define ASYNC_NAP_LEAST 50000u      /* ns */
#define ASYNC_NAP_MOST  2000000u    /* ns; operations are late by twice that at most */
#define ASYNC_POLLS     20u         /* checks in vain before the thread sleeps until woken */
#define ASYNC_SPINS     500u        /* of a user that waits for its turn: about as long as a turn takes */
#define ASYNC_PUSHES    8u          /* calls of progress in a turn, at most */
#define ASYNC_LOOK      1000000000u /* ns, after which a sleeper looks at its connections */
#define ASYNC_RETRY     20000u      /* ns until the second user asks for its turn again */

enum async_turn { ASYNC_USERS, ASYNC_THREADS, ASYNC_AWAITED };

struct tw_net_async {
	/* Stored by the user. */
	_Atomic uint32_t in;     /* in an operation */
	_Atomic uint32_t called; /* since the last check */
	/* Stored by the thread that has the turn. */
	_Atomic uint32_t turn; /* enum async_turn */
	/* Stored by the thread that makes progress. */
	_Atomic uint32_t asleep; /* or about to */
	_Atomic bool stopping;
	bool progresses;                /* there is that thread */
	pthread_mutex_t threads;        /* held in a thread's turn */
	bool fence;                     /* there is no membarrier(2) */
	struct tw_transport with;       /* the transport's operations */
	struct tw_transport ops;        /* the same in the user's turn: the endpoint's meanwhile */
	const struct tw_transport *own; /* the endpoint's before and after */
	struct tw_net *net;
	pthread_t thread;
};

static bool async_membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* ---- a thread's turn ---- */

/* Take the thread's turn; false: the user is in. */
static bool async_begin(struct tw_net_async *a)
{
	pthread_mutex_lock(&a->threads);
	atomic_store_explicit(&a->turn, ASYNC_THREADS, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	if (!a->fence)
		async_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	return !atomic_load_explicit(&a->in, memory_order_acquire);
}

static void async_end(struct tw_net_async *a)
{
	if (atomic_exchange(&a->turn, ASYNC_USERS) == ASYNC_AWAITED)
		tw_futex_wake(&a->turn, 1);
	pthread_mutex_unlock(&a->threads);
}

/* ---- the user's side ---- */

static _Thread_local bool async_second;    /* the calling thread is a second user */
static _Thread_local unsigned async_depth; /* of its operations: a transport's may use others */

static const struct tw_transport *async_enter_second(struct tw_net_async *a)
{
	if (async_depth++)
		return &a->with;
	while (!async_begin(a)) {
		async_end(a);
		nanosleep(&(struct timespec){.tv_nsec = ASYNC_RETRY}, NULL);
	}
	return &a->with;
}

static void async_wait_turn(struct tw_net_async *a)
{
	uint32_t seen = ASYNC_THREADS;

	for (unsigned i = 0; i < ASYNC_SPINS && atomic_load(&a->turn) != ASYNC_USERS; i++)
		tw_pause();
	atomic_compare_exchange_strong(&a->turn, &seen, ASYNC_AWAITED);
	if (seen != ASYNC_USERS)
		tw_futex_wait(&a->turn, ASYNC_AWAITED, 0);
}

/* Orders the user's store before its next load; without a fence here the thread's membarrier does it. */
static inline void async_order(const struct tw_net_async *a)
{
	if (__builtin_expect(a->fence, false))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
}

/* Begin an operation.  Sets *@outer for async_leave.  Operations nest: a transport's may use others, and a signal
 * handler may interrupt one. */
static inline const struct tw_transport *async_enter(struct tw_net *net, uint32_t *outer)
{
	struct tw_net_async *a = net->async;

	if (__builtin_expect(async_second, false))
		return async_enter_second(a);
	*outer = atomic_load_explicit(&a->in, memory_order_relaxed);
	for (;;) {
		atomic_store_explicit(&a->in, 1, memory_order_relaxed);
		async_order(a);
		if (__builtin_expect(atomic_load_explicit(&a->turn, memory_order_acquire) == ASYNC_USERS, true))
			return &a->with;
		atomic_store_explicit(&a->in, *outer, memory_order_release);
		async_wait_turn(a);
	}
}

/* The thread is asleep: wake it if something is pending. */
static void async_wake(struct tw_net *net)
{
	struct tw_net_async *a = net->async;
	uint32_t outer;
	bool pending = async_enter(net, &outer)->pending(net);

	atomic_store_explicit(&a->in, outer, memory_order_release);
	if (!pending)
		return;
	atomic_store(&a->asleep, 0);
	tw_futex_wake(&a->asleep, 1);
}

static void async_leave_second(struct tw_net_async *a)
{
	if (--async_depth)
		return;
	async_end(a);
	if (a->progresses) {
		atomic_store(&a->asleep, 0);
		tw_futex_wake(&a->asleep, 1);
	}
}

static inline void async_leave(struct tw_net *net, uint32_t outer)
{
	struct tw_net_async *a = net->async;

	if (__builtin_expect(async_second, false)) {
		async_leave_second(a);
		return;
	}
	atomic_store_explicit(&a->called, 1, memory_order_relaxed);
	atomic_store_explicit(&a->in, outer, memory_order_release);
	async_order(a);
	if (__builtin_expect(atomic_load_explicit(&a->asleep, memory_order_relaxed), false))
		async_wake(net);
}

/* An operation, in the user's turn. */
#define ASYNC_VOID(name, parameters, arguments)                                                                        \
	static void async_##name parameters                                                                            \
	{                                                                                                              \
		uint32_t outer = 0;                                                                                    \
		async_enter(net, &outer)->name arguments;                                                              \
		async_leave(net, outer);                                                                               \
	}
#define ASYNC_VALUE(type, name, parameters, arguments)                                                                 \
	static type async_##name parameters                                                                            \
	{                                                                                                              \
		uint32_t outer = 0;                                                                                    \
		type value = async_enter(net, &outer)->name arguments;                                                 \
		async_leave(net, outer);                                                                               \
		return value;                                                                                          \
	}

ASYNC_VOID(write, (struct tw_net * net, unsigned node, size_t offset, const void *src, size_t len),
           (net, node, offset, src, len))
ASYNC_VOID(read, (struct tw_net * net, unsigned node, size_t offset, void *dst, size_t len),
           (net, node, offset, dst, len))
ASYNC_VOID(read_wait, (struct tw_net * net), (net))
ASYNC_VALUE(uint64_t, cas, (struct tw_net * net, unsigned node, size_t offset, uint64_t expect, uint64_t to),
            (net, node, offset, expect, to))
ASYNC_VALUE(uint64_t, fadd, (struct tw_net * net, unsigned node, size_t offset, uint64_t by), (net, node, offset, by))
ASYNC_VALUE(uint64_t, swap, (struct tw_net * net, unsigned node, size_t offset, uint64_t to), (net, node, offset, to))
ASYNC_VALUE(uint64_t, amo,
            (struct tw_net * net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t operand,
             uint64_t expect),
            (net, node, offset, op, bytes, operand, expect))
ASYNC_VOID(amo_post,
           (struct tw_net * net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t operand,
            uint64_t expect),
           (net, node, offset, op, bytes, operand, expect))
ASYNC_VOID(cas_wide, (struct tw_net * net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t to[2]),
           (net, node, offset, seen, to))
ASYNC_VOID(start, (struct tw_net * net, struct tw_net_flow *flow, const struct tw_net_work *work), (net, flow, work))
ASYNC_VALUE(bool, settle, (struct tw_net * net, struct tw_net_flow *flow, bool wait), (net, flow, wait))
ASYNC_VOID(fence, (struct tw_net * net, unsigned node), (net, node))
ASYNC_VOID(flush, (struct tw_net * net, unsigned node), (net, node))
ASYNC_VALUE(int, send, (struct tw_net * net, unsigned node, unsigned port, const struct tw_msg *msg),
            (net, node, port, msg))
ASYNC_VALUE(bool, recv, (struct tw_net * net, struct tw_msg *msg), (net, msg))

/* Any thread may ring the own bell, at any time: that needs no turn. */
static void async_notify(struct tw_net *net, unsigned node, unsigned port)
{
	uint32_t outer = 0;

	if (node == net->config.node && port == net->config.port) {
		net->async->with.notify(net, node, port);
		return;
	}
	async_enter(net, &outer)->notify(net, node, port);
	async_leave(net, outer);
}

static void async_sleep_briefly(struct tw_net *net, uint32_t seen)
{
	uint32_t outer = 0;

	async_enter(net, &outer)->sleep(net, seen, 1);
	async_leave(net, outer);
}

/* The transport may work before and after a sleep.  While it sleeps, the user is out. */
static void async_sleep(struct tw_net *net, uint32_t seen, uint64_t timeout_ns)
{
	struct tw_mailbox *own = tw_mailbox_of(&net->config, net->base, net->config.port);

	async_sleep_briefly(net, ~seen);
	tw_mailbox_sleep(own, seen, timeout_ns ? TW_MIN(timeout_ns, ASYNC_LOOK) : ASYNC_LOOK);
	if (tw_mailbox_bell(own) == seen)
		async_sleep_briefly(net, seen);
}
ASYNC_VOID(progress, (struct tw_net * net), (net))
ASYNC_VALUE(bool, put_signal, (struct tw_net * net, unsigned node, unsigned port, const struct tw_net_signal *signal),
            (net, node, port, signal))
ASYNC_VALUE(bool, poll_signals, (struct tw_net * net), (net))
ASYNC_VOID(announce_sleep, (struct tw_net * net, unsigned node, unsigned port), (net, node, port))

/* All operations that use the endpoint; those that a transport lacks stay NULL. */
/* clang-format off */
#define ASYNC_OPS(X) \
	X(write) X(read) X(read_wait) X(cas) X(fadd) X(swap) X(amo) X(amo_post) X(cas_wide) X(start) X(settle) \
	X(fence) X(flush) X(send) X(recv) X(notify) X(sleep) X(progress) X(put_signal) X(poll_signals) X(announce_sleep)
/* clang-format on */

/* ---- the thread's side ---- */

enum async_found { ASYNC_NOTHING, ASYNC_RECENT, ASYNC_LATE };

/* A check.  A user that has called since the last one is not disturbed; else what is pending is late, and progress is
 * made. */
static enum async_found async_check(struct tw_net_async *a, bool sleeps)
{
	if (atomic_load(&a->called)) {
		atomic_store(&a->called, 0);
		return ASYNC_RECENT;
	}
	atomic_store_explicit(&a->asleep, sleeps, memory_order_relaxed);
	bool late = async_begin(a) && a->with.pending(a->net);
	if (late)
		atomic_store(&a->asleep, 0);
	for (unsigned i = 0; late && i < ASYNC_PUSHES && a->with.pending(a->net); i++)
		a->with.progress(a->net);
	async_end(a);
	return late ? ASYNC_LATE : ASYNC_NOTHING;
}

static void *async_run(void *arg)
{
	struct tw_net_async *a = arg;
	unsigned polls = 0;
	long nap = ASYNC_NAP_MOST;

	prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
	while (!atomic_load(&a->stopping)) {
		enum async_found found = async_check(a, polls == ASYNC_POLLS);

		nap = found == ASYNC_LATE ? (long)ASYNC_NAP_LEAST : TW_MIN(2 * nap, (long)ASYNC_NAP_MOST);
		polls = found || polls == ASYNC_POLLS ? 0 : polls + 1;
		while (atomic_load(&a->asleep) && !atomic_load(&a->stopping))
			tw_futex_wait(&a->asleep, 1, 0);
		nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
	}
	return NULL;
}

/* ---- beginning and end ---- */

int tw_net_share(struct tw_net *net)
{
	if (net->async)
		return 0;
	struct tw_net_async *a = calloc(1, sizeof(*a));
	if (!a) {
		tw_log("transport %s: out of memory", net->ops->name);
		return -ENOMEM;
	}
	a->net = net;
	a->own = net->ops;
	a->with = a->ops = *net->ops;
#define X(name) a->ops.name = a->ops.name ? async_##name : NULL;
	ASYNC_OPS(X)
#undef X
	a->fence = TW_TSAN || !async_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	pthread_mutex_init(&a->threads, NULL);
	net->async = a;
	net->ops = &a->ops;
	return 0;
}

void tw_net_second(void)
{
	async_second = true;
}

bool tw_net_inside(const struct tw_net *net)
{
	return net->async && atomic_load_explicit(&net->async->in, memory_order_relaxed);
}

int tw_net_async(struct tw_net *net)
{
	sigset_t all, old;

	if (!net->ops->pending || (net->async && net->async->progresses))
		return 0;
	int error = tw_net_share(net);
	if (error)
		return error;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&net->async->thread, NULL, async_run, net->async);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error) {
		tw_log("transport %s: cannot start the thread that lets operations progress: %s", net->ops->name,
		       strerror(error));
		return -error;
	}
	net->async->progresses = true;
	return 0;
}

void tw_net_async_end(struct tw_net *net)
{
	struct tw_net_async *a = net->async;

	if (!a)
		return;
	if (a->progresses) {
		atomic_store(&a->stopping, true);
		atomic_store(&a->asleep, 0);
		tw_futex_wake(&a->asleep, 1);
		pthread_join(a->thread, NULL);
	}
	net->ops = a->own;
	net->async = NULL;
	pthread_mutex_destroy(&a->threads);
	free(a);
}
