/* SPDX-License-Identifier: BSD-3-Clause */
/* queue_lock.c - TWEED_LOCK=queue: a queue of nodes. The last owner retains a free lock until another node asks for it.
 *
 * Each node has its own word for the lock; the home has the tail (0; the last node of the queue + 1; or RETURNED with
 * UNDONE):
 *
 *     0            not in the queue (or NEXT|FREE, which the node detects when it wants the lock again)
 *     BUSY         waits for the lock or holds it       BUSY|NEXT  and NEXT is its successor
 *     FREE         owns the lock, unused                FREE|NEXT  NEXT has taken it
 *     FREE|TRY     owns it, and another node's try_acquire is about to take it or to give up
 *     KEPT|NEXT    owns it, unused, and keeps it for a moment though NEXT waits
 *     SOON         beside BUSY: may be KEPT next        URGENT     beside BUSY|SOON|NEXT: NEXT has waited long enough
 *     UNDONE       beside FREE and KEPT: what the node that takes the lock has to do first (object.h)
 *
 * To enter: own word := BUSY; predecessor := swap(tail, me). Without a predecessor the lock is taken. Otherwise
 * fadd(predecessor's word, NEXT me): if the old word was FREE, this addition took the lock; if not, wait for the grant.
 * Both steps are one operation each, whatever other nodes do. To retake the own FREE lock: cas(own word, FREE, BUSY);
 * no other node is involved. To leave: cas(own word, BUSY, FREE). If that fails, there is a NEXT: own word := 0, then
 * grant the lock to it.
 *
 * At most one node holds the lock. The tail gives every node of the queue a distinct predecessor, so a word gets one
 * NEXT per stay in the queue, and there is one head: the node whose predecessor has left or never existed. Only the
 * head can be FREE or hold the lock. It stops being head by one atomic step on its own word: either its word changes
 * from FREE to having a NEXT, and that node becomes head, or it sees NEXT and grants. A word with NEXT cannot be taken
 * by cas(FREE, BUSY), so the old and the new head cannot both take the lock. A node returns to the queue only when its
 * word has NEXT or is 0, that is, after it stopped being head.
 *
 * Returning. A lock that came to its home, and that nobody waits for when it is released, is likely to leave again. So
 * the home then takes itself out of the queue: cas(tail, me, RETURNED). The next node has the lock by its swap of the
 * tail, without a second operation. While its word is BUSY, the home cannot be marked TRY, and if a node has it as
 * predecessor, the cas fails: so nobody uses its word until it enters again, and it resets the word behind the cas.
 *
 * try_acquire must not get stuck in the queue. It marks the head's word (FREE -> FREE|TRY), which keeps the owner from
 * taking the lock or leaving. Then it moves the tail from that node to itself, if that node is still the last. If so,
 * NEXT replaces TRY and the lock is taken. If not, another node is queued behind the owner: TRY is removed, and if that
 * node has linked itself meanwhile (it saw TRY, so it waits), the lock is granted to it on the owner's behalf.
 *
 * Keeping. Nodes that take a lock again and again for short sections would hand it over each time. So a node that was
 * soon back with the lock (lock.c) leaves it KEPT, and takes it again by cas(own word, KEPT|NEXT, BUSY|SOON|NEXT).  Its
 * successor waits for sync_keep_ns(), then takes it by cas(predecessor's word, KEPT|NEXT, 0), or adds URGENT: then the
 * next release grants. Each of these is one atomic step from a word that names the state and NEXT, so one of them
 * succeeds. The predecessor's word has this node as NEXT only until it has left the queue, and it cannot get this NEXT
 * again before this node has had the lock: so an old word is never taken for a new one.
 *
 * No lost wake-up. A grant is one write to the waiter's node, then a notification of the waiting processor, whose port
 * is part of NEXT. A grant is consumed (reset) before the node can enter again, so each entry gets exactly its own. The
 * owner's processors are notified of the end of TRY.
 *
 * Words are changed only by the transport's atomics, even the own word, because a network's atomics need not be atomic
 * with respect to the CPU's. tests/models/lock.pml checks this algorithm. */
#include "core/coherence/lazy.h"
#include "sync/object.h"

#define SYNC_BUSY         1ull
#define SYNC_FREE         2ull
#define SYNC_TRY          4ull
#define SYNC_KEPT         8ull
#define SYNC_URGENT       16ull
#define SYNC_SOON         32ull
#define SYNC_RETURNED     (1ull << 16) /* of the tail */
#define QUEUE_WORTH       4            /* releases that together cost what a demand does */
#define QUEUE_KEEP        16           /* atomic operations on another node that two hand-overs take, about */
#define QUEUE_TRIP_NS     250000u      /* one of them took longer for another reason */
#define QUEUE_EAGER       64           /* releases performed at once, at most, until they may be left pending */
#define SYNC_NEXT(me)     ((uint64_t)((me)->node + 1) << 8 | (uint64_t)(me)->local << 18)
#define SYNC_NEXT_NODE(w) ((unsigned)((w) >> 8 & 0x3ff) - 1)
#define SYNC_NEXT_PORT(w) ((unsigned)((w) >> 18 & 0x3f))
#define SYNC_HAS_NEXT(w)  (((w) >> 8 & 0x3ff) != 0)
_Static_assert(TW_MAX_NODES < 1 << 10 && TW_MAX_PROCESSORS <= 1 << 6, "NEXT has 16 bits");

static bool queue_granted(void *arg)
{
	struct sync_object *o = arg;

	return atomic_load_explicit(&o->own->grant, memory_order_acquire) != 0;
}

static bool queue_untried(void *arg)
{
	struct sync_object *o = arg;

	return !(atomic_load_explicit(&o->own->node, memory_order_acquire) & SYNC_TRY);
}

/* What atomic operations on other nodes took of late, on average. */
static uint64_t queue_trip_ns;

static void queue_trip(uint64_t begun)
{
	uint64_t ns = TW_MIN(tw_time_ns() - begun, QUEUE_TRIP_NS);

	queue_trip_ns += ns / 8 - queue_trip_ns / 8;
}

uint64_t sync_keep_ns(void)
{
	return TW_MAX(QUEUE_KEEP * queue_trip_ns, SYNC_KEEP_NS);
}

/* Grant the lock to NEXT of @word, with what is @undone. */
static void queue_grant(struct tw_proc *me, struct sync_object *o, uint64_t word, uint64_t undone)
{
	tw_net_write64(me->net, SYNC_NEXT_NODE(word), SYNC_WORD(o, grant), 1 | undone);
	tw_net_notify(me->net, SYNC_NEXT_NODE(word), SYNC_NEXT_PORT(word));
}

/* The own word of a node that takes the lock. */
static uint64_t queue_busy(const struct sync_object *o)
{
	return o->local->returns == SYNC_RETURNS ? SYNC_BUSY | SYNC_SOON : SYNC_BUSY;
}

/* Take the lock if this node retained it. Sets *@word to the own word's old value. Returns whether it was taken. */
static bool queue_retake(struct tw_proc *me, struct sync_object *o, uint64_t *word)
{
	uint64_t seen = atomic_load_explicit(&o->own->node, memory_order_acquire);

	*word = seen;
	if ((seen & ~SYNC_UNDONE) != SYNC_FREE && !(seen & SYNC_KEPT))
		return false;
	*word = tw_net_cas(me->net, me->node, SYNC_WORD(o, node), seen,
	                   (seen & ~(SYNC_FREE | SYNC_KEPT | SYNC_UNDONE)) | queue_busy(o));
	return *word == seen;
}

static bool queue_retakes(struct tw_proc *me, struct sync_object *o)
{
	uint64_t word;

	return queue_retake(me, o, &word);
}

/* Wait for the grant of @before, which may keep the lock, for some time.  Returns whether the lock was taken without a
 * grant, out of *@word. */
static bool queue_await(struct tw_proc *me, struct sync_object *o, unsigned before, uint64_t *word)
{
	uint64_t kept = SYNC_KEPT | SYNC_NEXT(me), busy = SYNC_BUSY | SYNC_SOON | SYNC_NEXT(me), seen;

	if (sync_wait_until(me, TW_WAIT_LOCK, o->id, 0, queue_granted, o, tw_time_ns() + sync_keep_ns()))
		return false;
	*word = kept;
	do {
		seen = *word;
		*word = tw_net_cas(me->net, before, SYNC_WORD(o, node), seen, 0);
		if (*word == seen)
			return true;
		if (*word == busy)
			*word = tw_net_cas(me->net, before, SYNC_WORD(o, node), busy, busy | SYNC_URGENT);
	} while ((*word & ~SYNC_UNDONE) == kept);
	return false;
}

/* The lock has come from @node, whose word or grant was @word. */
static void queue_came(struct sync_object *o, unsigned node, uint64_t word)
{
	o->local->from = (uint16_t)(node + 1);
	o->local->undone = word & SYNC_UNDONE;
	o->local->releases = 0;
	o->local->came = true;
}

/* The caller has changed the tail, which was @tail: no node's.  Returns whether the lock has come from another node. */
static bool queue_empty(struct tw_proc *me, struct sync_object *o, uint64_t tail)
{
	if (tail && o->home != me->node)
		queue_came(o, o->home, tail);
	return o->home != me->node;
}

static bool queue_is_empty(uint64_t tail)
{
	return tail == 0 || (tail & SYNC_RETURNED);
}

/* Another node has taken the lock, whose last release was pending.  If it has demanded that, that cost about what some
 * releases cost that are performed at once; so it was left pending too early if few came before. */
static void queue_demanded(struct tw_proc *me, struct sync_local *l)
{
	unsigned pending = l->releases - TW_MIN(l->releases, l->eager);
	bool early = tw_lock_demanded(me) && pending < QUEUE_WORTH;

	l->eager = (uint8_t)(early ? TW_MIN(TW_MAX(2 * l->eager, 1), QUEUE_EAGER) : l->eager / 2);
}

static bool queue_enter(struct tw_proc *me, struct sync_object *o)
{
	uint64_t word;

	for (;;) {
		if (queue_retake(me, o, &word))
			return false;
		if (!(word & SYNC_TRY))
			break;
		tw_wait(me, queue_untried, o);
	}
	word = tw_net_swap(me->net, me->node, SYNC_WORD(o, node), queue_busy(o));
	uint64_t tail = tw_net_swap(me->net, o->home, SYNC_WORD(o, tail), me->node + 1);
	if ((word >> SYNC_NUMBER_SHIFT) && !(o->home == me->node && queue_is_empty(tail)))
		queue_demanded(me, o->local);
	if (queue_is_empty(tail))
		return queue_empty(me, o, tail);
	TW_ASSERT(tail <= me->nodes && tail != me->node + 1);
	unsigned before = (unsigned)tail - 1;
	uint64_t begun = tw_time_ns();
	word = tw_net_fadd(me->net, before, SYNC_WORD(o, node), SYNC_NEXT(me));
	queue_trip(begun);
	if ((word & ~SYNC_UNDONE) != SYNC_FREE && !((word & SYNC_SOON) && queue_await(me, o, before, &word))) {
		sync_wait(me, TW_WAIT_LOCK, o->id, 0, queue_granted, o);
		word = atomic_load_explicit(&o->own->grant, memory_order_acquire);
		atomic_store_explicit(&o->own->grant, 0, memory_order_relaxed);
	}
	queue_came(o, before, word);
	return true;
}

/* Finish a try: the owner @tail - 1 is marked TRY and the own word is BUSY. Returns whether the lock was taken. */
static bool queue_try_tail(struct tw_proc *me, struct sync_object *o, uint64_t tail)
{
	unsigned owner = (unsigned)tail - 1;
	bool taken = tw_net_cas(me->net, o->home, SYNC_WORD(o, tail), tail, me->node + 1) == tail;
	uint64_t word = tw_net_fadd(me->net, owner, SYNC_WORD(o, node), (taken ? SYNC_NEXT(me) : 0) - SYNC_TRY);

	if (taken)
		queue_came(o, owner, word);
	else if (SYNC_HAS_NEXT(word))
		queue_grant(me, o, word, word & SYNC_UNDONE);
	sync_notify(me, owner);
	return taken;
}

/* Mark the word of @owner, if the lock is free there.  Returns whether it was. */
static bool queue_try_mark(struct tw_proc *me, struct sync_object *o, unsigned owner)
{
	uint64_t word = SYNC_FREE, seen;

	do {
		seen = word;
		word = tw_net_cas(me->net, owner, SYNC_WORD(o, node), seen, seen | SYNC_TRY);
		if (word == seen)
			return true;
	} while ((word & ~SYNC_UNDONE) == SYNC_FREE);
	return false;
}

static int queue_try(struct tw_proc *me, struct sync_object *o)
{
	uint64_t word;
	bool taken = false, remote = true;

	if (queue_retake(me, o, &word))
		return 1;
	if (word & SYNC_TRY)
		return 0;
	uint64_t tail = tw_net_read64(me->net, o->home, SYNC_WORD(o, tail));
	if (!queue_is_empty(tail) && !queue_try_mark(me, o, (unsigned)tail - 1))
		return 0;
	tw_net_swap(me->net, me->node, SYNC_WORD(o, node), queue_busy(o));
	if (!queue_is_empty(tail))
		taken = queue_try_tail(me, o, tail);
	else if ((taken = tw_net_cas(me->net, o->home, SYNC_WORD(o, tail), tail, me->node + 1) == tail))
		remote = queue_empty(me, o, tail);
	if (!taken)
		tw_net_swap(me->net, me->node, SYNC_WORD(o, node), 0);
	return taken ? 1 + remote : 0;
}

static unsigned queue_successor(struct tw_proc *me, struct sync_object *o)
{
	(void)me;
	return SYNC_NEXT_NODE(atomic_load_explicit(&o->own->node, memory_order_relaxed)) + 1;
}

/* The home gives up a lock that nobody waits for.  Returns whether nobody did. */
static bool queue_return(struct tw_proc *me, struct sync_object *o, uint64_t undone)
{
	uint64_t last = me->node + 1;

	if (tw_net_cas(me->net, me->node, SYNC_WORD(o, tail), last, SYNC_RETURNED | undone) != last)
		return false;
	tw_net_swap(me->net, me->node, SYNC_WORD(o, node), undone);
	return true;
}

static void queue_leave(struct tw_proc *me, struct sync_object *o, bool keep)
{
	uint64_t word = atomic_load_explicit(&o->own->node, memory_order_relaxed), seen;
	uint64_t undone = o->local->undone;
	bool came = o->local->came;

	o->local->came = false;
	if (came && o->home == me->node && !SYNC_HAS_NEXT(word) && queue_return(me, o, undone))
		return;
	do {
		bool keeps = keep && (word & SYNC_SOON) && !(word & SYNC_URGENT);
		uint64_t to = !SYNC_HAS_NEXT(word) ? SYNC_FREE | undone
		              : keeps              ? (word & ~(SYNC_BUSY | SYNC_SOON)) | SYNC_KEPT | undone
		                                   : 0;
		seen = word;
		word = tw_net_cas(me->net, me->node, SYNC_WORD(o, node), seen, to);
		if (word == seen && to)
			return;
	} while (word != seen);
	TW_ASSERT(word & SYNC_BUSY);
	queue_grant(me, o, word, undone);
}

static bool queue_held(struct tw_proc *me, struct sync_object *o)
{
	uint64_t tail = tw_net_read64(me->net, o->home, SYNC_WORD(o, tail));

	return !queue_is_empty(tail) &&
	       (tw_net_read64(me->net, (unsigned)tail - 1, SYNC_WORD(o, node)) & ~SYNC_UNDONE) != SYNC_FREE;
}

const struct sync_lock_ops sync_queue_lock = {.enter = queue_enter,
                                              .retake = queue_retakes,
                                              .try_enter = queue_try,
                                              .successor = queue_successor,
                                              .leave = queue_leave,
                                              .held = queue_held};
