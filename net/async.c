/* SPDX-License-Identifier: BSD-3-Clause */
/* async.c - asynchronous progress: a thread that does for an endpoint what its user's next call would do, when that does not come.
 *
 * Endpoints gather small operations, and libraries send only when they are called; so what was put last may stay here for as long as its
 * user computes.  The thread looks whether something is pending (transport.h), and lets it advance when the user has not called since
 * the look before.  It never spins: it naps between two looks, and sleeps when some looks in a row have found nothing, until an
 * operation leaves something behind.
 *
 * User and thread take turns.  The user's operations are to cost as before, and a fence is 48 ns where a put is 29: so they have none.  Who
 * begins an operation stores that he is in, and then looks whether the thread has its turn.  The thread stores that it has, makes every
 * thread of the process execute a fence, by membarrier(2), and then looks whether the user is in.  A user who sees no turn has stored before
 * that fence, so the thread sees him, and gives its turn up: it waits for nobody.  The same holds for its sleep: it
 * stores that it sleeps before the fence.  A user who leaves stores that he is out, and then looks for that: who does not see it was out
 * at the fence, so the thread has looked at what he left.  Where there is no membarrier(2), operations fence by themselves
 * (tests/models/async.pml).
 * (2.9 ns for 29 are what is left: calls through two tables, and four words of a line.) */
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

#define ASYNC_NAP_LEAST 50000u   /* ns */
#define ASYNC_NAP_MOST  2000000u /* so what was put is late by so much, twice at most */
#define ASYNC_POLLS     20u      /* in vain, before it sleeps */
#define ASYNC_SPINS     500u     /* of who waits for its turn: about as long as one takes */
#define ASYNC_PUSHES    8u       /* at most, in a turn */

enum async_turn { ASYNC_USERS, ASYNC_THREADS, ASYNC_AWAITED };

struct tw_net_async {
	/* The user's. */
	_Atomic uint32_t in;     /* an operation */
	_Atomic uint32_t called; /* since the last look */
	/* The thread's. */
	_Atomic uint32_t turn;   /* enum async_turn */
	_Atomic uint32_t asleep; /* or about to */
	_Atomic bool stopping;
	bool fence;                     /* there is no membarrier(2) */
	struct tw_transport with;       /* does the work */
	struct tw_transport ops;        /* the same, in turns */
	const struct tw_transport *own; /* the endpoint's before */
	struct tw_net *net;
	pthread_t thread;
};

static bool async_membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* ---- the user's side ---- */

static void async_wait_turn(struct tw_net_async *a)
{
	uint32_t seen = ASYNC_THREADS;

	for (unsigned i = 0; i < ASYNC_SPINS && atomic_load(&a->turn) != ASYNC_USERS; i++)
		tw_pause();
	atomic_compare_exchange_strong(&a->turn, &seen, ASYNC_AWAITED);
	if (seen != ASYNC_USERS)
		tw_futex_wait(&a->turn, ASYNC_AWAITED, 0);
}

/* Between what the user says and what the thread has said: the thread makes it one. */
static inline void async_order(const struct tw_net_async *a)
{
	if (__builtin_expect(a->fence, false))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
}

static inline const struct tw_transport *async_enter(struct tw_net *net)
{
	struct tw_net_async *a = net->async;

	for (;;) {
		atomic_store_explicit(&a->in, 1, memory_order_relaxed);
		async_order(a);
		if (__builtin_expect(atomic_load_explicit(&a->turn, memory_order_acquire) == ASYNC_USERS, true))
			return &a->with;
		atomic_store_explicit(&a->in, 0, memory_order_release);
		async_wait_turn(a);
	}
}

/* The thread is asleep: wake it for what is pending. */
static void async_wake(struct tw_net *net)
{
	struct tw_net_async *a = net->async;
	bool pending = async_enter(net)->pending(net);

	atomic_store_explicit(&a->in, 0, memory_order_release);
	if (!pending)
		return;
	atomic_store(&a->asleep, 0);
	tw_futex_wake(&a->asleep, 1);
}

static inline void async_leave(struct tw_net *net)
{
	struct tw_net_async *a = net->async;

	atomic_store_explicit(&a->called, 1, memory_order_relaxed);
	atomic_store_explicit(&a->in, 0, memory_order_release);
	async_order(a);
	if (__builtin_expect(atomic_load_explicit(&a->asleep, memory_order_relaxed), false))
		async_wake(net);
}

/* An operation, in the user's turn. */
#define ASYNC_VOID(name, parameters, arguments)                                                                        \
	static void async_##name parameters                                                                            \
	{                                                                                                              \
		async_enter(net)->name arguments;                                                                      \
		async_leave(net);                                                                                      \
	}
#define ASYNC_VALUE(type, name, parameters, arguments)                                                                 \
	static type async_##name parameters                                                                            \
	{                                                                                                              \
		type value = async_enter(net)->name arguments;                                                         \
		async_leave(net);                                                                                      \
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
ASYNC_VOID(start, (struct tw_net * net, struct tw_net_flow *flow, const struct tw_net_work *work), (net, flow, work))
ASYNC_VALUE(bool, settle, (struct tw_net * net, struct tw_net_flow *flow, bool wait), (net, flow, wait))
ASYNC_VOID(fence, (struct tw_net * net, unsigned node), (net, node))
ASYNC_VOID(flush, (struct tw_net * net, unsigned node), (net, node))
ASYNC_VALUE(int, send, (struct tw_net * net, unsigned node, unsigned port, const struct tw_msg *msg),
            (net, node, port, msg))
ASYNC_VALUE(bool, recv, (struct tw_net * net, struct tw_msg *msg), (net, msg))
ASYNC_VOID(notify, (struct tw_net * net, unsigned node, unsigned port), (net, node, port))
ASYNC_VOID(sleep, (struct tw_net * net, uint32_t seen, uint64_t timeout_ns), (net, seen, timeout_ns))
ASYNC_VOID(progress, (struct tw_net * net), (net))
ASYNC_VALUE(bool, put_signal, (struct tw_net * net, unsigned node, unsigned port, const struct tw_net_signal *signal),
            (net, node, port, signal))
ASYNC_VALUE(bool, poll_signals, (struct tw_net * net), (net))
ASYNC_VOID(announce_sleep, (struct tw_net * net, unsigned node, unsigned port), (net, node, port))

/* All that uses the endpoint; what a transport lacks stays away. */
#define ASYNC_OPS(X)                                                                                                   \
	X(write)                                                                                                       \
	X(read)                                                                                                        \
	X(read_wait)                                                                                                   \
	X(cas)                                                                                                         \
	X(fadd)                                                                                                        \
	X(swap) X(amo) X(amo_post) X(start) X(settle) X(fence) X(flush) X(send) X(recv) X(notify) X(sleep) X(progress) \
	    X(put_signal) X(poll_signals) X(announce_sleep)

/* ---- the thread's side ---- */

/* Take the thread's turn, which is to @sleep behind it; false: the user is in. */
static bool async_begin(struct tw_net_async *a, bool sleep)
{
	atomic_store_explicit(&a->turn, ASYNC_THREADS, memory_order_relaxed);
	atomic_store_explicit(&a->asleep, sleep, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (!a->fence)
		async_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	return !atomic_load_explicit(&a->in, memory_order_acquire);
}

static void async_end(struct tw_net_async *a)
{
	if (atomic_exchange(&a->turn, ASYNC_USERS) == ASYNC_AWAITED)
		tw_futex_wake(&a->turn, 1);
}

enum async_found { ASYNC_NOTHING, ASYNC_RECENT, ASYNC_LATE };

/* A look.  Who has called since the one before is not disturbed; else what is pending is late, and pushed. */
static enum async_found async_look(struct tw_net_async *a, bool sleeps)
{
	if (atomic_load(&a->called)) {
		atomic_store(&a->called, 0);
		return ASYNC_RECENT;
	}
	bool late = async_begin(a, sleeps) && a->with.pending(a->net);
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
	unsigned looks = 0;
	long nap = ASYNC_NAP_MOST;

	prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
	while (!atomic_load(&a->stopping)) {
		enum async_found found = async_look(a, looks == ASYNC_POLLS);

		nap = found == ASYNC_LATE ? (long)ASYNC_NAP_LEAST : TW_MIN(2 * nap, (long)ASYNC_NAP_MOST);
		looks = found || looks == ASYNC_POLLS ? 0 : looks + 1;
		while (atomic_load(&a->asleep) && !atomic_load(&a->stopping))
			tw_futex_wait(&a->asleep, 1, 0);
		nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
	}
	return NULL;
}

/* ---- beginning and end ---- */

int tw_net_async(struct tw_net *net)
{
	sigset_t all, old;

	if (net->async || !net->ops->pending)
		return 0;
	struct tw_net_async *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->net = net;
	a->own = net->ops;
	a->with = a->ops = *net->ops;
#define X(name) a->ops.name = a->ops.name ? async_##name : NULL;
	ASYNC_OPS(X)
#undef X
	a->fence = TW_TSAN || !async_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_create(&a->thread, NULL, async_run, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error) {
		tw_log("transport %s: cannot start the thread that lets operations progress: %s", net->ops->name,
		       strerror(error));
		free(a);
		return -error;
	}
	net->async = a;
	net->ops = &a->ops;
	return 0;
}

void tw_net_async_end(struct tw_net *net)
{
	struct tw_net_async *a = net->async;

	if (!a)
		return;
	atomic_store(&a->stopping, true);
	atomic_store(&a->asleep, 0);
	tw_futex_wake(&a->asleep, 1);
	pthread_join(a->thread, NULL);
	net->ops = a->own;
	net->async = NULL;
	free(a);
}
