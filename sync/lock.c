/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - the public locks, and their lower level: which processor of a node has the node's *turn* to operate on the
 * lock.
 *
 * Exclusion. A processor takes @turn from 0 by compare-and-swap, or gets it from its previous holder, so one processor
 * has it. Only that processor runs the algorithm between the nodes (queue_lock.c, array_lock.c), and it keeps the turn
 * until it releases. So at most one processor per node holds the lock, and the algorithm ensures that at most one node
 * does.
 *
 * No lost wake-up. A waiter sets its bit, then tests @turn, then sleeps on its bell. A processor that gives up the turn
 * stores 0, then reads the bits (all sequentially consistent). Either it sees the bit and rings, or the waiter sees 0.
 * One waiter is rung; if another processor takes the turn first, that one passes it to a waiter when it has finished.
 *
 * Fairness. The turn goes round the node in rising order of processors. A node passes the lock on internally at most
 * LOCK_STREAK times while another node waits for it. A node that was soon back with the lock, when it had to hand it
 * over, may take it again and again for a while (sync_keep_ns, queue_lock.c).
 *
 * Coherence. The release comes before any processor can take the lock, the acquire after it was taken; also within a
 * node, where protocols make both cheap. A processor that was the last one to release the lock has nothing to acquire:
 * all that was released with it before, it had acquired then. */
#include "core/coherence/lazy.h"
#include "core/coherence/trail.h"
#include "sync/object.h"
#include "tweed/tweed.h"

#define LOCK_STREAK  16
#define LOCK_SOON_NS 5000u  /* what a hand-over between nodes takes, about */
#define LOCK_LONG_NS 10000u /* a release that takes longer does not count as time away */

struct lock_wait {
	struct sync_local *local;
	uint32_t mine;
};

/* One node: the turn is all of the lock. */
static bool lock_alone_enter(struct tw_proc *me, struct sync_object *o)
{
	(void)me, (void)o;
	return false;
}

static bool lock_alone_retake(struct tw_proc *me, struct sync_object *o)
{
	(void)me, (void)o;
	return true;
}

static int lock_alone_try(struct tw_proc *me, struct sync_object *o)
{
	(void)me, (void)o;
	return 1;
}

static unsigned lock_alone_successor(struct tw_proc *me, struct sync_object *o)
{
	(void)me, (void)o;
	return 0;
}

static void lock_alone_leave(struct tw_proc *me, struct sync_object *o, bool keep)
{
	(void)me, (void)o, (void)keep;
}

static bool lock_alone_held(struct tw_proc *me, struct sync_object *o)
{
	(void)me;
	return atomic_load(&o->local->turn) != 0;
}

static const struct sync_lock_ops *lock_ops(const struct tw_proc *me)
{
	static const struct sync_lock_ops alone = {.enter = lock_alone_enter,
	                                           .retake = lock_alone_retake,
	                                           .try_enter = lock_alone_try,
	                                           .successor = lock_alone_successor,
	                                           .leave = lock_alone_leave,
	                                           .held = lock_alone_held};

	return me->nodes == 1 ? &alone : me->config.lock[0] == 'a' ? &sync_array_lock : &sync_queue_lock;
}

/* Take the turn if it is free.  A node's only processor has no rival. */
static bool lock_turn_free(const struct tw_proc *me, struct sync_local *l)
{
	uint32_t expect = 0;

	if (me->locals > 1)
		return atomic_compare_exchange_strong(&l->turn, &expect, me->local + 1);
	if (atomic_load_explicit(&l->turn, memory_order_acquire))
		return false;
	atomic_store_explicit(&l->turn, me->local + 1, memory_order_relaxed);
	return true;
}

static bool lock_turn_near(void *arg)
{
	struct lock_wait *w = arg;
	uint32_t turn = atomic_load(&w->local->turn);

	return turn == 0 || turn == w->mine;
}

static bool lock_turn_gone(void *arg)
{
	struct lock_wait *w = arg;

	return atomic_load(&w->local->turn) != w->mine;
}

static bool lock_turn_held(const struct sync_local *l, uint32_t mine)
{
	return atomic_load_explicit(&l->turn, memory_order_relaxed) == mine &&
	       atomic_load_explicit(&l->held, memory_order_relaxed);
}

static void lock_turn_take(struct tw_proc *me, struct sync_local *l, uint64_t id)
{
	struct lock_wait wait = {l, me->local + 1};
	uint64_t bit = 1ull << me->local;

	if (lock_turn_free(me, l))
		return;
	if (atomic_load(&l->turn) == wait.mine) {
		if (lock_turn_held(l, wait.mine) && (!tw_sync_others || !*tw_sync_others))
			tw_fatal("a lock is taken by the processor that holds the lock already, and locks are not "
			         "recursive");
		/* Another thread unsets it (tw_sync_lock_release_any).  The lock may not be held any more; until the
		 * turn has gone, that thread acts for this processor. */
		sync_wait(me, TW_WAIT_LOCK, id, 0, lock_turn_gone, &wait);
	}
	atomic_fetch_or(&l->waiters, bit);
	for (;;) {
		sync_wait(me, TW_WAIT_LOCK, id, 0, lock_turn_near, &wait);
		if (atomic_load(&l->turn) == wait.mine)
			return; /* handed over, the bit is cleared */
		if (lock_turn_free(me, l)) {
			atomic_fetch_and(&l->waiters, ~bit);
			return;
		}
	}
}

/* Returns the local waiter that follows this processor in the round; @waiters is not 0. */
static unsigned lock_next_local(const struct tw_proc *me, uint64_t waiters)
{
	uint64_t above = me->local >= 63 ? 0 : waiters & ~((2ull << me->local) - 1);

	return (unsigned)__builtin_ctzll(above ? above : waiters);
}

/* Pass the turn to a local waiter, or free it. @kept: the lock goes with it; only if there is a waiter. Called with the
 * turn, which is given up. */
static void lock_turn_pass(struct tw_proc *me, struct sync_local *l, bool kept)
{
	uint64_t waiters = atomic_load(&l->waiters);

	l->kept = kept;
	if (me->locals == 1 && !waiters) {
		atomic_store_explicit(&l->turn, 0, memory_order_release);
		return;
	}
	if (waiters) {
		unsigned next = lock_next_local(me, waiters);

		atomic_fetch_and(&l->waiters, ~(1ull << next));
		atomic_store(&l->turn, next + 1);
		tw_net_notify(me->net, me->node, next);
		return;
	}
	atomic_store(&l->turn, 0);
	waiters = atomic_load(&l->waiters);
	if (waiters)
		tw_net_notify(me->net, me->node, lock_next_local(me, waiters));
}

/* Are the lock's words the record of its releases? */
static bool lock_is_record(const struct tw_proc *me)
{
	return tw_lazy_locks() && me->config.lock[0] != 'a';
}

/* Acquire what was released with the lock, which the caller has got. */
static void lock_acquire(struct tw_proc *me, const struct sync_object *o)
{
	struct sync_local *l = o->local;
	unsigned from = l->from;
	uint64_t undone = l->undone;

	l->from = 0;
	l->undone &= ~SYNC_OTHER;
	if (from) {
		l->undone = 0;
		tw_lock_demand(me, from - 1, sync_pending_of(undone));
		tw_lock_acquired(me, from - 1, 0);
	} else {
		tw_lock_acquired(me, me->node, l->released);
	}
	for (unsigned node = 0; (undone & SYNC_OTHER) && node < me->nodes; node++)
		if (node != me->node)
			tw_lock_acquired(me, node, 0);
}

bool sync_lock_try(struct tw_proc *me, struct sync_object *o)
{
	if (!lock_turn_free(me, o->local))
		return false;
	if (lock_ops(me)->try_enter(me, o)) {
		if (lock_is_record(me))
			lock_acquire(me, o);
		return true;
	}
	lock_turn_pass(me, o->local, false);
	return false;
}

void sync_lock_leave(struct tw_proc *me, struct sync_object *o)
{
	lock_ops(me)->leave(me, o, false);
	lock_turn_pass(me, o->local, false);
}

static struct tw_record lock_record(const struct sync_object *o)
{
	return (struct tw_record){o->home, SYNC_WORD(o, value)};
}

void sync_lock_follow(struct tw_proc *me, const struct sync_object *o)
{
	if (!lock_is_record(me)) {
		tw_acquire_from(me, lock_record(o), TW_SYNC_LOCK, o->id);
		return;
	}
	if (o->home != me->node)
		tw_lock_demand(me, o->home, UINT64_MAX);
	tw_lock_acquired(me, o->home, UINT64_MAX);
}

static void lock_got(struct tw_proc *me, const struct sync_object *o, bool remote)
{
	uint64_t id = o->id;

	atomic_store_explicit(&o->local->held, true, memory_order_relaxed);
	me->stats->now.lock_acquires++;
	tw_charge(TW_COST_lock, 1);
	sync_held_add(me->stats, id);
	me->stats->now.lock_remote += remote;
	tw_trace(me, TW_TRACE_lock_take, TW_TRACE_NONE, TW_TRACE_NO_PAGE, id, remote);
	bool own = (!remote && o->local->last == me->local + 1) || tw_planted(me, "own-lock");
	if (own && tw_acquire_own(me))
		return;
	if (lock_is_record(me))
		lock_acquire(me, o);
	else
		tw_acquire_from(me, lock_record(o), TW_SYNC_LOCK, id);
}

/* The processor with the turn is about to take the lock: was its node away for long, when another one waited? */
static void lock_returns(struct sync_local *l)
{
	if (!l->left)
		return;
	l->returns = tw_time_ns() - l->left >= LOCK_SOON_NS ? 0 : TW_MIN(l->returns + 1u, SYNC_RETURNS);
	l->left = 0;
}

bool tw_sync_waits_next;
bool tw_sync_ends_early;

/* Another node waits for the lock, which is released.  May this node take it again before? */
static bool lock_keeps(struct sync_local *l)
{
	l->left = tw_time_ns();
	if (!l->asked)
		l->asked = l->left;
	return l->returns == SYNC_RETURNS && !tw_sync_waits_next && l->left - l->asked < sync_keep_ns();
}

/* The release and the hand-over that began at @left are done. */
static void lock_left(struct sync_local *l)
{
	uint64_t now = tw_time_ns();

	if (now - l->left >= LOCK_LONG_NS)
		l->left = now;
}

tw_lock_t tw_lock_create(void)
{
	struct tw_proc *me = tw_me_checked("tw_lock_create");

	return (tw_lock_t){sync_create(me, SYNC_LOCK, 0, "tw_lock_create")};
}

tw_lock_t tw_sync_lock_create_some(struct tw_proc *me)
{
	bool some =
	    atomic_load_explicit(&sync_private(me)->created, memory_order_relaxed) < me->config.sync_objects / 2;

	return some ? tw_lock_create() : (tw_lock_t){0};
}

void tw_lock_acquire(tw_lock_t lock)
{
	struct tw_proc *me = tw_me_checked("tw_lock_acquire");
	struct sync_object o = sync_find(me, lock.id, SYNC_LOCK, "tw_lock_acquire");
	bool remote = false;

	sync_alone("tw_lock_acquire");
	tw_trace(me, TW_TRACE_lock_wait, TW_TRACE_NONE, TW_TRACE_NO_PAGE, lock.id, 0);
	lock_turn_take(me, o.local, lock.id);
	if (!o.local->kept) {
		lock_returns(o.local);
		remote = lock_ops(me)->enter(me, &o);
		if (remote)
			o.local->streak = o.local->asked = 0;
	}
	lock_got(me, &o, remote);
}

bool sync_lock_retake(struct tw_proc *me, struct sync_object *o)
{
	const struct sync_lock_ops *ops = lock_ops(me);

	if (!ops->retake || !lock_turn_free(me, o->local))
		return false;
	lock_returns(o->local);
	if (!ops->retake(me, o)) {
		lock_turn_pass(me, o->local, false);
		return false;
	}
	lock_got(me, o, false);
	return true;
}

bool tw_sync_lock_mine(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = sync_find(me, id, SYNC_LOCK, "tw_lock_acquire");

	return atomic_load_explicit(&o.local->turn, memory_order_relaxed) == me->local + 1;
}

bool tw_lock_try_acquire(tw_lock_t lock)
{
	struct tw_proc *me = tw_me_checked("tw_lock_try_acquire");
	struct sync_object o = sync_find(me, lock.id, SYNC_LOCK, "tw_lock_try_acquire");

	if (!lock_turn_free(me, o.local))
		return false;
	/* A free turn never carries the lock, so @kept is false. */
	lock_returns(o.local);
	int taken = lock_ops(me)->try_enter(me, &o);
	if (taken == 2)
		o.local->streak = o.local->asked = 0;
	if (!taken) {
		lock_turn_pass(me, o.local, false);
		return false;
	}
	lock_got(me, &o, taken == 2);
	return true;
}

/* What a release does for coherence.  @wanted: another node waits; @next: it is the node that gets the lock next, + 1,
 * or 0. */
static void lock_release_to(struct tw_proc *me, const struct sync_object *o, bool wanted, unsigned next)
{
	struct sync_local *l = o->local;
	bool performed;

	tw_trace(me, TW_TRACE_lock_release, TW_TRACE_NONE, TW_TRACE_NO_PAGE, o->id, 0);
	if (next && tw_release_trails())
		tw_trail_begin(me, next - 1);
	if (lock_is_record(me)) {
		performed = tw_lock_released(me, wanted || l->releases < l->eager, &l->released);
		l->undone = performed ? 0 : sync_pending(l->released);
		l->releases += l->releases < UINT8_MAX;
	} else {
		performed = tw_release_to(me, lock_record(o), TW_SYNC_LOCK, o->id, wanted);
	}
	/* Flushes as sync_release does.  A release that stays pending has written nothing. */
	if (performed && me->nodes > 1)
		tw_trail_end(me);
}

void sync_lock_release(struct tw_proc *me, struct sync_object *o)
{
	const struct sync_lock_ops *ops = lock_ops(me);

	sync_held_remove(me->stats, o->id);
	unsigned next = ops->successor ? ops->successor(me, o) : 0;
	bool keep = next && lock_keeps(o->local), wanted = !ops->successor || (next && !keep);
	lock_release_to(me, o, wanted, keep ? 0 : next);
	atomic_store_explicit(&o->local->held, false, memory_order_relaxed);
	o->local->last = (uint8_t)(me->local + 1);
	if (ops->successor && atomic_load(&o->local->waiters)) {
		wanted = ops->successor(me, o);

		if (!wanted || o->local->streak < LOCK_STREAK) {
			o->local->streak = wanted ? o->local->streak + 1 : 0;
			lock_turn_pass(me, o->local, true);
			return;
		}
	}
	ops->leave(me, o, keep);
	if (next)
		lock_left(o->local);
	lock_turn_pass(me, o->local, false);
}

bool tw_sync_lock_release(struct tw_proc *me, tw_lock_t lock)
{
	struct sync_object o = sync_find(me, lock.id, SYNC_LOCK, "tw_lock_release");

	if (!lock_turn_held(o.local, me->local + 1) || atomic_load_explicit(&o.own->gen, memory_order_relaxed) != o.gen)
		return false;
	sync_lock_release(me, &o);
	return true;
}

/* If a processor of this node holds the lock: release it, without coherence.  Returns whether one does.
 *
 * The program says that the lock is held, and that its holder does not release it.  So the holder does nothing with the
 * lock but wait until the turn has gone (lock_turn_take), and the caller may act in its place: leave() and
 * lock_turn_pass() use the node's words and an endpoint, of whatever process. */
static bool lock_take_away(struct tw_proc *me, struct sync_object *o)
{
	unsigned holder = atomic_load(&o->local->turn);

	if (!holder || !atomic_exchange(&o->local->held, false))
		return false;
	sync_held_remove(&me->stats[(int)holder - 1 - (int)me->local], o->id);
	o->local->last = 0;
	o->local->undone |= SYNC_OTHER;
	lock_ops(me)->leave(me, o, false);
	lock_turn_pass(me, o->local, false);
	tw_net_notify(me->net, me->node, holder - 1); /* it may wait for this */
	return true;
}

void tw_sync_lock_serve(struct tw_proc *me, const struct tw_msg *msg)
{
	struct tw_msg answer = {.len = sizeof(answer.word[0])};

	if (msg->len != sizeof(msg->word[0]))
		tw_fatal("node %u asks for the release of a lock without naming it", msg->src_node);
	struct sync_object o = sync_find(me, msg->word[0], SYNC_LOCK, "tw_lock_release");
	answer.word[0] = lock_take_away(me, &o);
	tw_reply(me, msg, &answer);
}

bool tw_sync_lock_release_any(struct tw_proc *me, tw_lock_t lock)
{
	struct sync_object o = sync_find(me, lock.id, SYNC_LOCK, "tw_lock_release");
	uint64_t number;
	bool done;

	tw_trace(me, TW_TRACE_lock_release, TW_TRACE_NONE, TW_TRACE_NO_PAGE, o.id, 0);
	if (lock_is_record(me))
		tw_lock_released(me, true, &number);
	else
		tw_release_to(me, lock_record(&o), TW_SYNC_LOCK, o.id, true);
	tw_net_flush(me->net, TW_NET_ALL);
	done = lock_take_away(me, &o);
	for (unsigned node = 0; node < me->nodes && !done; node++) {
		struct tw_msg msg = {.type = TW_MSG_LOCK_RELEASE, .len = sizeof(lock.id), .word = {lock.id}};

		if (node == me->node)
			continue;
		tw_protocol_enter(me); /* replies come to one caller of the process at a time */
		tw_call(me, node, &msg);
		tw_protocol_leave(me);
		done = msg.word[0];
	}
	return done;
}

void tw_lock_release(tw_lock_t lock)
{
	if (!tw_sync_lock_release(tw_me_checked("tw_lock_release"), lock))
		tw_fatal("tw_lock_release: this processor does not hold the lock");
}

void tw_sync_count_add(struct tw_proc *me, tw_lock_t lock, int by)
{
	struct sync_object o = sync_find(me, lock.id, SYNC_LOCK, "tw_sync_count_add");

	tw_net_fadd(me->net, o.home, SYNC_WORD(&o, count), (uint64_t)(int64_t)by);
}

uint32_t tw_sync_count(struct tw_proc *me, tw_lock_t lock)
{
	struct sync_object o = sync_find(me, lock.id, SYNC_LOCK, "tw_sync_count");

	return (uint32_t)tw_net_read64(me->net, o.home, SYNC_WORD(&o, count));
}

void tw_lock_destroy(tw_lock_t lock)
{
	struct tw_proc *me = tw_me_checked("tw_lock_destroy");
	struct sync_object o = sync_find(me, lock.id, SYNC_LOCK, "tw_lock_destroy");

	tw_net_flush(me->net, TW_NET_ALL);
	if (lock_ops(me)->held(me, &o))
		tw_fatal("tw_lock_destroy: the lock is held");
	sync_destroy(me, &o);
}
