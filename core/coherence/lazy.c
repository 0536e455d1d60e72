/* SPDX-License-Identifier: BSD-3-Clause */
/* lazy.c - lazy releases (Keleher, Cox, Zwaenepoel 1992, with eager protocols beneath).
 *
 * A protocol's release sends what was stored to other nodes.  Most locks and words are used again by the node that
 * used them last, which needs none of that.  So a release only leaves a record at the object: the node, and the number
 * of this release among the node's.  A processor of another node that finds the record demands that all releases of
 * that node up to this number are performed, and waits for it; then it runs the protocol's acquire.
 *
 * A processor has releases *pending* from the first one that sent nothing.  It performs all of them at once, by the
 * protocol's release: at its next synchronization after a demand, before it waits, at a barrier or flag; or, while it
 * computes, a thread of the process does so for it.
 *
 * Correctness.  Claim: a processor that acquires from a record, having seen what a releaser R did after its release,
 * sees all that R had stored or acquired.
 *
 * (1) A record names a release of the node, numbered after all before it.  If R's own record is there, its node's
 *     releases up to its number are performed before the acquire.  They include those of R's neighbours from which R
 *     has acquired, because a number is taken after what was acquired.
 * (2) If another record has replaced R's, then that releaser has first acquired from R's, and only then taken its
 *     number (tw_release_to), whether or not its operation is an acquire.  So by induction R's release, if it is of
 *     another node, is performed by the time when that number exists.  And the releaser has acquired it: from its own
 *     record it acquires nothing.
 * (3) R writes its record before it does what the acquirer sees.  An acquirer that operates on a word reads the record
 *     behind its operation.
 * (4) An acquire is left out when the record's number is known: then a run of the protocol's acquire has begun after
 *     all releases up to that number of that node were performed.  By (2) those that it stands for were, too.  From
 *     neighbours: that run has begun after a record with this number or a greater one was read, and what the neighbours
 *     had acquired by their numbers was in the node by then.
 * (5) A processor sets `pending` before it takes a number, and clears it when it has performed, in its own thread.  So
 *     a processor that reads the node's number first, then finds nothing pending, knows that all up to that number is
 *     performed.  The thread that performs on demand reads the number first, and stores that.
 *
 * Acquires without a record (barriers, flags, tasks) follow releases that were performed at once, together with those
 * of neighbours from which this processor has acquired (learned).  A fence may order any operation: it demands
 * everything (tw_acquire_all).  So does each 256th acquire, and each 256th release is performed at once: programs that
 * wait for a plain variable in a loop of other synchronization see it at last.
 *
 * A releaser that finds that its record was demanded soon is eager the next time (hint), and as long as another node
 * acquires from there between its releases.
 *
 * Networks.  Where nodes do not share memory, a record at another node would cost as much as it saves.  There, only
 * releases of locks are lazy, and the lock's own words are the record (sync/queue_lock.c): they have the number of the
 * node's last release, if that may be pending.  The node that takes the lock from it demands by a message to its agent
 * all that it has released, unless an answer has named this number or a greater one, and then acquires from it.  The
 * agent does not wait: it asks its processors, and the last one that has performed replies, with the number that the
 * agent read first.  Otherwise an agent could wait for a processor that waits for that agent.  A processor performs its
 * own releases before it demands, since it waits with tw_protocol_enter.  All other releases, and those of locks for
 * which a node waits, are performed at once, with what was learned from neighbours.  A fence reads which nodes have
 * something pending, and demands that.  (1) to (5) hold with the lock in place of the record: only its holder changes
 * it, having acquired from the holder before.
 *
 * tests/models/deferred.pml checks (1) to (5), tests/models/lock.pml the lock's words. */
#include "core/coherence/lazy.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/coherence/polled.h"
#include "core/coherence/shootdown.h"
#include "core/job/job.h"

#define LAZY_RECORDS  ((size_t)1 << 18) /* of words, at each node */
#define LAZY_AGAIN    256u              /* lazy operations until everything is performed, or demanded */
#define LAZY_SPIN_NS  10000u            /* for which a demand waits for the processor itself to begin, */
#define LAZY_BEGUN_NS 100000u           /* and to end */
#define LAZY_SLEEP_NS 1000000u

/* A record: number << 18 | hint << 16 | local << 10 | node + 1. */
#define REC_NUMBER    18
#define REC_HINT      16
#define REC_LOCAL     10
#define REC_HINT_MOST 3u
#define REC_HINT_MORE 2u /* for a demand: the next release of the same node takes 1 off, and is eager if some is left */
static unsigned rec_node(uint64_t rec)
{
	return (unsigned)(rec & 0x3ff) - 1;
}
static unsigned rec_local(uint64_t rec)
{
	return (unsigned)(rec >> REC_LOCAL & 0x3f);
}
static unsigned rec_hint(uint64_t rec)
{
	return (unsigned)(rec >> REC_HINT & 3);
}
static uint64_t rec_number(uint64_t rec)
{
	return rec >> REC_NUMBER;
}

struct lazy_processor {
	_Alignas(64) _Atomic uint64_t pending; /* 0: nothing; else 1 + the number up to which all is performed */
	_Atomic uint32_t asked;                /* demands */
	_Atomic uint32_t begun;                /* of these, the last one that the processor's thread serves */
	_Atomic uint32_t done;                 /* how often this processor has performed */
	_Atomic uint32_t sleepers;             /* processors that sleep on done */
};

struct lazy_demand {
	uint64_t number, token;
	uint16_t node, port; /* whose it is */
};

struct lazy_node {
	_Alignas(64) _Atomic uint64_t number; /* of the node's last release */
	struct lazy_processor processor[TW_MAX_PROCESSORS];
	/* Demands by message that are not answered.  Each processor of another node has one at most. */
	_Alignas(64) _Atomic uint32_t unanswered;
	_Atomic uint32_t demanded; /* how many there were */
	struct tw_mutex lock;      /* for what follows, and changes of unanswered */
	struct lazy_demand demand[TW_MAX_NODES * TW_MAX_PROCESSORS];
	_Alignas(64) _Atomic uint64_t word[LAZY_RECORDS]; /* not over networks */
};

static struct {
	struct lazy_processor *own;
	uint64_t known[TW_MAX_NODES]; /* all up to this number is performed; with records, before the last acquire */
	uint64_t learned;             /* the last number of this node from which this processor acquired */
	uint32_t served;              /* demands seen by the processor's thread */
	uint32_t demanded;            /* those of the node, when tw_lock_demanded was called last */
	unsigned releases, acquires;  /* until the next one that leaves nothing out */
	bool messages;                /* demands are messages: nodes do not share memory */
	uint64_t *pending;            /* then: of each processor of the job, as it was read */
	_Atomic bool stopping;
} lazy;
static void lazy_performed(struct tw_proc *me, bool all), lazy_perform(struct tw_proc *me);
static struct tw_laziness laziness = {.performed = lazy_performed, .idle = lazy_perform};

size_t tw_lazy_exported_bytes(const struct tw_config *config)
{
	const struct tw_transport *transport = tw_transport_find(config->transport);

	if (config->nodes == 1 || !transport)
		return 0;
	return transport->direct ? sizeof(struct lazy_node) : offsetof(struct lazy_node, word);
}

/* Are releases lazy in this job?  All processors get the same answer. */
static bool lazy_wanted(const struct tw_proc *me)
{
	unsigned no = TW_PROTOCOL_NEEDS_STORES | TW_PROTOCOL_NO_FAULTS | TW_PROTOCOL_INCOHERENT | TW_PROTOCOL_REVOKES;

	return me->nodes > 1 && me->config.release[0] == 'l' && !(me->protocol->flags & no) && !me->config.race &&
	       !me->config.survive;
}

bool tw_lazy_locks(void)
{
	return tw_laziness && lazy.messages;
}

/* Are all releases lazy, with records that each node reaches? */
static bool lazy_records(void)
{
	return tw_laziness && !lazy.messages;
}

static void *lazy_at(const struct tw_proc *me, unsigned node, size_t offset)
{
	return node == me->node ? me->net->base + offset : tw_net_direct(me->net, node, offset);
}

static struct lazy_node *lazy_node(const struct tw_proc *me, unsigned node)
{
	return lazy_at(me, node, me->layout.lazy);
}

struct tw_record tw_lazy_word(const struct tw_proc *me, size_t offset)
{
	size_t word = offset / 16; /* operations of all sizes on a word have one record */

	return (struct tw_record){word / 512 % me->nodes, me->layout.lazy + offsetof(struct lazy_node, word) +
	                                                      word % LAZY_RECORDS * sizeof(uint64_t)};
}

static uint64_t demand_node(struct tw_proc *me, unsigned node, uint64_t number, bool *waited);

/* ---- demands by message ----------------------------------------------------------------------------------------- */

static bool demand_met(const struct lazy_processor *p, uint64_t number)
{
	uint64_t pending = atomic_load(&p->pending);

	return pending == 0 || pending - 1 >= number;
}

/* Take a demand that is met by all processors of the node out of the list.  Returns whether there was one. */
static bool demand_take(struct tw_proc *me, struct lazy_node *n, struct lazy_demand *taken)
{
	bool found = false;

	tw_mutex_lock(&n->lock);
	for (unsigned i = 0; i < n->unanswered && !found; i++) {
		found = true;
		for (unsigned p = 0; p < me->locals; p++)
			found = found && demand_met(&n->processor[p], n->demand[i].number);
		if (found) {
			*taken = n->demand[i];
			n->demand[i] = n->demand[n->unanswered - 1];
			atomic_fetch_sub(&n->unanswered, 1);
		}
	}
	tw_mutex_unlock(&n->lock);
	return found;
}

/* Reply to the demands that are met.  Called by each that has performed, and by the agent: a demand is in the list
 * before the agent looks whether it is met, and a processor performs before it looks at the list.  So the last one of
 * them replies. */
static void lazy_answer(struct tw_proc *me)
{
	struct lazy_node *n = lazy_node(me, me->node);
	struct lazy_demand d = {0};

	while (atomic_load(&n->unanswered) && demand_take(me, n, &d)) {
		struct tw_msg request = {.token = d.token, .src_node = d.node, .src_port = d.port};
		struct tw_msg reply = {.len = sizeof(d.number), .word = {d.number}};

		tw_reply(me, &request, &reply);
	}
}

void tw_lazy_demanded(struct tw_proc *me, const struct tw_msg *msg)
{
	struct lazy_node *n = lazy_node(me, me->node);
	uint64_t number = atomic_load(&n->number);

	tw_mutex_lock(&n->lock);
	TW_ASSERT(n->unanswered < TW_MAX_NODES * TW_MAX_PROCESSORS);
	n->demand[n->unanswered] = (struct lazy_demand){number, msg->token, msg->src_node, msg->src_port};
	atomic_fetch_add(&n->unanswered, 1);
	atomic_fetch_add_explicit(&n->demanded, 1, memory_order_relaxed);
	tw_mutex_unlock(&n->lock);
	for (unsigned p = 0; p < me->locals; p++)
		if (!demand_met(&n->processor[p], number)) {
			atomic_fetch_add(&n->processor[p].asked, 1);
			tw_futex_wake(&n->processor[p].asked, 1);
		}
	lazy_answer(me);
}

/* ---- performing ------------------------------------------------------------------------------------------------- */

/* Wake and answer those that wait for it. */
static void lazy_done(struct tw_proc *me)
{
	struct lazy_processor *own = lazy.own;

	atomic_fetch_add(&own->done, 1);
	if (atomic_load(&own->sleepers))
		tw_futex_wake(&own->done, INT_MAX);
	if (lazy.messages)
		lazy_answer(me);
}

static void lazy_performed(struct tw_proc *me, bool all)
{
	bool waited;

	uint32_t asked = atomic_load(&lazy.own->asked);
	if (atomic_load_explicit(&lazy.own->pending, memory_order_relaxed)) {
		tw_shootdown_enter(me);
		tw_protocol_enter(me); /* behind this the thread takes no right until releases are pending again */
		atomic_store(&lazy.own->pending, 0);
		tw_protocol_leave(me);
		tw_shootdown_leave(me);
	}
	lazy.releases = LAZY_AGAIN;
	if (asked != lazy.served) {
		lazy.served = asked;
		tw_shootdown_enter(me);
		tw_protocol_enter(me); /* not beside the thread, which answers, too */
		lazy_done(me);
		tw_protocol_leave(me);
		tw_shootdown_leave(me);
	}
	if (all && me->locals > 1)
		demand_node(me, me->node, lazy.learned, &waited);
}

/* In the processor's thread. */
static void lazy_perform(struct tw_proc *me)
{
	if (atomic_load_explicit(&lazy.own->pending, memory_order_relaxed))
		tw_release(me, TW_SYNC_NODE, me->node);
	else
		lazy_performed(me, false);
}

static inline void lazy_serve(struct tw_proc *me)
{
	uint32_t asked = atomic_load_explicit(&lazy.own->asked, memory_order_relaxed);

	if (asked == lazy.served)
		return;
	atomic_store_explicit(&lazy.own->begun, asked, memory_order_relaxed);
	lazy_perform(me);
}

/* In the thread beside the processor's.  What trails or was posted (trail.h) comes before. */
static void lazy_perform_aside(struct tw_proc *me)
{
	if (lazy.messages)
		tw_net_flush(me->net, TW_NET_ALL);
	me->protocol->release(me, TW_SYNC_DEMAND, me->node);
}

/* The thread that performs the processor's pending releases while that computes. */
static void *lazy_main(void *arg)
{
	struct tw_proc *me = arg;
	struct lazy_processor *own = lazy.own;

	if (lazy.messages)
		tw_net_second();
	tw_unwatched_begin(); /* it does what the processor's thread does, under tw_protocol_enter */
	for (uint32_t seen = 0, now;; seen = now) {
		now = atomic_load(&own->asked);
		if (atomic_load(&lazy.stopping))
			break;
		if (now == seen) {
			tw_futex_wait(&own->asked, seen, 0);
			continue;
		}
		tw_protocol_enter_aside(me);
		uint64_t number = atomic_load(&lazy_node(me, me->node)->number), pending = atomic_load(&own->pending);
		if (pending && pending - 1 < number) {
			lazy_perform_aside(me);
			atomic_store(&own->pending, number + 1);
		}
		lazy_done(me);
		tw_protocol_leave_aside(me);
	}
	tw_unwatched_end();
	return NULL;
}

/* ---- demanding -------------------------------------------------------------------------------------------------- */

/* Wait until @p has performed all up to @number, as demand @asked. */
static void demand_wait(struct tw_proc *me, struct lazy_processor *p, uint64_t number, uint32_t asked)
{
	uint64_t start = tw_time_ns(), spin = me->net->config.spin_ns;
	bool begun = false;

	for (unsigned i = 1; spin; i++) {
		lazy_serve(me);
		if (demand_met(p, number))
			return;
		tw_pause();
		begun = (int32_t)(atomic_load_explicit(&p->begun, memory_order_relaxed) - asked) >= 0;
		if (i % 32 == 0 && tw_time_ns() - start >= (begun ? LAZY_BEGUN_NS : LAZY_SPIN_NS))
			break;
	}
	while (!demand_met(p, number)) {
		lazy_serve(me);
		uint32_t seen = atomic_load(&p->done);
		tw_futex_wake(&p->asked, 1);
		atomic_fetch_add(&p->sleepers, 1);
		if (!demand_met(p, number))
			tw_futex_wait(&p->done, seen, LAZY_SLEEP_NS);
		atomic_fetch_sub(&p->sleepers, 1);
	}
}

/* Returns the number up to which all of @p's releases are performed, at least @number.  Sets *@waited if it waited. */
static uint64_t demand(struct tw_proc *me, struct lazy_processor *p, uint64_t number, bool *waited)
{
	if (!demand_met(p, number) && !tw_planted(me, "no-demand")) {
		*waited = true;
		me->stats->now.demands++;
		uint32_t asked = atomic_fetch_add(&p->asked, 1) + 1;
		uint64_t t = tw_time_begin(me);
		tw_shootdown_enter(me);
		demand_wait(me, p, number, asked);
		tw_shootdown_leave(me);
		tw_time_end(me, &me->stats->now.comm_wait_ns, t);
	}
	uint64_t pending = atomic_load(&p->pending);
	return pending ? pending - 1 : UINT64_MAX;
}

/* The same for all processors of @node but this one; @number UINT64_MAX: all that was released. */
static uint64_t demand_node(struct tw_proc *me, unsigned node, uint64_t number, bool *waited)
{
	struct lazy_node *n = lazy_node(me, node);
	uint64_t all = atomic_load(&n->number);

	for (unsigned p = 0; p < me->locals; p++)
		if (node != me->node || p != me->local) {
			uint64_t performed = demand(me, &n->processor[p], number, waited);
			all = TW_MIN(all, performed);
		}
	return all;
}

/* Have the release @number of @node, another one, performed, and acquire it, unless that is known.  Returns whether
 * this processor had to wait. */
static bool lazy_learn(struct tw_proc *me, unsigned node, uint64_t number)
{
	bool waited = false;

	if (number <= lazy.known[node])
		return false;
	uint64_t all = demand_node(me, node, number, &waited);
	tw_acquire(me, TW_SYNC_NODE, node);
	lazy.known[node] = all;
	return waited;
}

/* Acquire what a processor of this node has released as @rec. */
static void lazy_neighbour(struct tw_proc *me, uint64_t rec)
{
	if (rec_local(rec) == me->local || rec_number(rec) <= lazy.learned)
		return;
	lazy.learned = rec_number(rec);
	tw_acquire(me, TW_SYNC_NODE, me->node);
}

/* ---- releases and acquires -------------------------------------------------------------------------------------- */

static void release_now(struct tw_proc *me)
{
	me->stats->now.eager_releases++;
	tw_release(me, TW_SYNC_NODE, me->node);
}

static void release_later(struct tw_proc *me, const _Atomic uint64_t *number)
{
	me->stats->now.lazy_releases++;
	if (!atomic_load_explicit(&lazy.own->pending, memory_order_relaxed))
		atomic_store(&lazy.own->pending, atomic_load(number) + 1);
}

/* Take the next number.  A node's only processor takes all of them. */
static uint64_t release_number(const struct tw_proc *me, _Atomic uint64_t *number)
{
	if (me->locals > 1)
		return atomic_fetch_add(number, 1) + 1;
	uint64_t next = atomic_load_explicit(number, memory_order_relaxed) + 1;
	atomic_store_explicit(number, next, memory_order_release);
	return next;
}

bool tw_release_to(struct tw_proc *me, struct tw_record r, enum tw_sync_kind kind, uint64_t object, bool wanted)
{
	bool performed;

	if (!lazy_records()) {
		tw_release(me, kind, object);
		return true;
	}
	_Atomic uint64_t *record = lazy_at(me, r.node, r.offset);
	_Atomic uint64_t *number = &lazy_node(me, me->node)->number;
	uint64_t seen = atomic_load(record), next;

	lazy_serve(me);
	do {
		unsigned hint = rec_hint(seen);
		if (seen && rec_node(seen) != me->node) {
			if (lazy_learn(me, rec_node(seen), rec_number(seen)))
				hint = TW_MIN(hint + REC_HINT_MORE, REC_HINT_MOST);
		} else {
			hint -= hint > 0;
			if (seen)
				lazy_neighbour(me, seen);
		}
		performed = wanted || hint || tw_polled_any(me) || --lazy.releases == 0;
		if (performed)
			release_now(me);
		else
			release_later(me, number);
		next = release_number(me, number) << REC_NUMBER | hint << REC_HINT | me->local << REC_LOCAL |
		       (me->node + 1);
	} while (!atomic_compare_exchange_strong(record, &seen, next));
	return performed;
}

/* Over networks: ask the agents of the nodes where something is pending. */
static void acquire_pending(struct tw_proc *me)
{
	unsigned locals = me->locals;

	for (unsigned i = 0; i < me->nodes * locals; i++) {
		lazy.pending[i] = 0;
		if (i / locals != me->node)
			tw_net_read(me->net, i / locals,
			            me->layout.lazy + offsetof(struct lazy_node, processor[i % locals].pending),
			            &lazy.pending[i], sizeof(*lazy.pending));
	}
	tw_net_read_wait(me->net);
	for (unsigned node = 0; node < me->nodes; node++) {
		uint64_t any = 0;

		for (unsigned p = 0; p < locals; p++)
			any |= lazy.pending[node * locals + p];
		if (any) {
			tw_lock_demand(me, node, UINT64_MAX);
			tw_acquire(me, TW_SYNC_NODE, node);
		}
	}
}

void tw_acquire_all(struct tw_proc *me)
{
	if (!tw_laziness) {
		tw_acquire(me, TW_SYNC_FLAG, 0);
		return;
	}
	lazy_serve(me);
	lazy.acquires = LAZY_AGAIN;
	if (lazy.messages) {
		acquire_pending(me);
		lazy.learned = atomic_load(&lazy_node(me, me->node)->number);
		tw_acquire(me, TW_SYNC_FLAG, 0);
		return;
	}
	for (unsigned node = 0; node < me->nodes; node++)
		if (node != me->node)
			lazy_learn(me, node, atomic_load(&lazy_node(me, node)->number));
	lazy.learned = atomic_load(&lazy_node(me, me->node)->number);
	tw_acquire(me, TW_SYNC_NODE, me->node);
}

void tw_acquire_from(struct tw_proc *me, struct tw_record r, enum tw_sync_kind kind, uint64_t object)
{
	if (!lazy_records()) {
		tw_acquire(me, kind, object);
		return;
	}
	_Atomic uint64_t *record = lazy_at(me, r.node, r.offset);
	uint64_t seen = atomic_load(record);

	lazy_serve(me);
	if (--lazy.acquires == 0) {
		tw_acquire_all(me);
		return;
	}
	if (tw_polled_any(me))
		tw_acquire(me, kind, object);
	if (!seen)
		return;
	if (rec_node(seen) == me->node) {
		lazy_neighbour(me, seen);
		return;
	}
	uint64_t more = TW_MIN(REC_HINT_MORE, REC_HINT_MOST - rec_hint(seen));
	bool unknown = rec_number(seen) > lazy.known[rec_node(seen)];
	bool waited = lazy_learn(me, rec_node(seen), rec_number(seen));
	if (unknown && more && (waited || rec_hint(seen)))
		atomic_compare_exchange_strong(record, &seen, seen + (more << REC_HINT));
}

bool tw_released(const struct tw_proc *me, struct tw_record r)
{
	if (!lazy_records())
		return false;
	uint64_t seen = atomic_load((_Atomic uint64_t *)lazy_at(me, r.node, r.offset));
	if (!seen)
		return false;
	if (rec_node(seen) != me->node)
		return rec_number(seen) > lazy.known[rec_node(seen)];
	return rec_local(seen) != me->local && rec_number(seen) > lazy.learned;
}

bool tw_acquire_needless(struct tw_proc *me, struct tw_record r)
{
	if (!lazy_records() || lazy.acquires == 1 || tw_polled_any(me) ||
	    atomic_load_explicit(&lazy.own->asked, memory_order_relaxed) != lazy.served)
		return false;
	lazy.acquires--;
	return !tw_released(me, r);
}

/* Now and then it is not: programs wait in loops of such synchronization. */
bool tw_acquire_own(struct tw_proc *me)
{
	static unsigned left = LAZY_AGAIN;

	if (tw_polled_any(me) || (me->protocol->flags & TW_PROTOCOL_REVOKES) ||
	    (tw_laziness && atomic_load_explicit(&lazy.own->asked, memory_order_relaxed) != lazy.served))
		return false;
	left = left ? left - 1 : LAZY_AGAIN;
	return left;
}

/* ---- locks over networks ---------------------------------------------------------------------------------------- */

bool tw_lock_released(struct tw_proc *me, bool now, uint64_t *number)
{
	_Atomic uint64_t *all = &lazy_node(me, me->node)->number;
	bool waited;

	lazy_serve(me);
	if (now || tw_polled_any(me) || --lazy.releases == 0) {
		release_now(me);
		if (me->locals > 1)
			demand_node(me, me->node, lazy.learned, &waited);
		return true;
	}
	release_later(me, all);
	*number = release_number(me, all);
	return false;
}

bool tw_release_trails(void)
{
	return !tw_laziness || !atomic_load_explicit(&lazy.own->pending, memory_order_relaxed);
}

bool tw_lock_demanded(struct tw_proc *me)
{
	uint32_t now = atomic_load_explicit(&lazy_node(me, me->node)->demanded, memory_order_relaxed);
	bool demanded = now != lazy.demanded;

	lazy.demanded = now;
	return demanded;
}

void tw_lock_demand(struct tw_proc *me, unsigned node, uint64_t number)
{
	struct tw_msg msg = {.type = TW_MSG_RELEASES};

	if (number <= lazy.known[node] || tw_planted(me, "no-demand"))
		return;
	me->stats->now.demands++;
	lazy_perform(me);
	tw_shootdown_enter(me);
	tw_protocol_enter(me); /* replies come to one caller of the process at a time */
	tw_call(me, node, &msg);
	tw_protocol_leave(me);
	tw_shootdown_leave(me);
	lazy.known[node] = TW_MAX(lazy.known[node], msg.word[0]);
}

void tw_lock_acquired(struct tw_proc *me, unsigned node, uint64_t number)
{
	lazy_serve(me);
	if (node == me->node) {
		number = TW_MIN(number, atomic_load(&lazy_node(me, node)->number));
		lazy.learned = TW_MAX(lazy.learned, number);
	}
	tw_acquire(me, TW_SYNC_NODE, node);
	if (--lazy.acquires == 0)
		tw_acquire_all(me);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

int tw_lazy_open(struct tw_proc *me)
{
	sigset_t all, old;
	int err;

	if (!lazy_wanted(me))
		return 0;
	memset(&lazy, 0, sizeof(lazy));
	lazy.own = &lazy_node(me, me->node)->processor[me->local];
	lazy.releases = lazy.acquires = LAZY_AGAIN;
	lazy.messages = !me->net->ops->direct || !(me->net->ops->caps & TW_NET_COHERENT_ATOMICS);
	if (lazy.messages && (err = tw_net_share(me->net)))
		return err;
	if (lazy.messages && !(lazy.pending = calloc((size_t)me->nodes * me->locals, sizeof(*lazy.pending)))) {
		tw_log("out of memory for lazy releases");
		return -ENOMEM;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&laziness.thread, NULL, lazy_main, me);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err) {
		tw_laziness = &laziness;
		return 0;
	}
	tw_log("cannot start the thread for lazy releases: %s", strerror(err));
	return -err;
}

void tw_lazy_close(struct tw_proc *me)
{
	(void)me;
	if (!tw_laziness)
		return;
	tw_laziness = NULL;
	atomic_store(&lazy.stopping, true);
	atomic_fetch_add(&lazy.own->asked, 1);
	tw_futex_wake(&lazy.own->asked, 1);
	pthread_join(laziness.thread, NULL);
	free(lazy.pending);
}
