/* SPDX-License-Identifier: BSD-3-Clause */
/* array_lock.c - TWEED_LOCK=array: the lock of Cashmere-2L, section 2.3, with writes and reads only.
 *
 * There is one word per node, replicated in every node's memory. To enter, a node sets its own word everywhere,
 * flushes, and reads all words in its own memory. If no other word is set, it holds the lock; otherwise it clears its
 * word, backs off and retries.
 *
 * At most one node holds the lock. Take two nodes that both set, flushed and read, and whose words stay set. Each one's
 * flush returned when its word was visible at the other, before it read. The node whose flush returned last reads after
 * the other's word arrived in its memory, so it sees that word and gives up. The Memory Channel's total order is not
 * needed: it suffices that a flush means visible at the target, and that later local loads are performed after it.
 *
 * A node's words are written by the processor that has the node's turn, each through its own endpoint. Endpoints are
 * not ordered with respect to each other, so the turn is passed on only after the clearing write is flushed. */
#include "sync/object.h"

#define ARRAY_BACK_OFF_MIN_NS 1000u
#define ARRAY_BACK_OFF_MAX_NS 1000000u
#define ARRAY_SPIN_NS         4000u /* below this, a pause spins instead of sleeping, if waits spin at all */

static bool array_alone(const struct tw_proc *me, const struct sync_object *o)
{
	const _Atomic uint64_t *word = sync_words(me, sync_array(me, o));

	for (unsigned node = 0; node < me->nodes; node++) {
		if (node != me->node && atomic_load_explicit(&word[node], memory_order_acquire))
			return false;
	}
	return true;
}

static void array_set(struct tw_proc *me, const struct sync_object *o, uint64_t value)
{
	tw_net_broadcast64(me->net, sync_array(me, o) + me->node * sizeof(uint64_t), value);
	tw_net_flush(me->net, TW_NET_ALL);
}

static void array_pause(struct tw_proc *me, uint64_t ns)
{
	if (ns > ARRAY_SPIN_NS || me->net->config.spin_ns < ARRAY_SPIN_NS) {
		sync_sleep(me, ns);
		return;
	}
	tw_delay(ns);
}

/* A processor that enters. @limit: bounds the next pause, in ns; @random: the last random number. */
struct array_wait {
	struct tw_proc *me;
	struct sync_object *o;
	uint64_t limit, random;
};

static bool array_once(struct tw_proc *me, struct sync_object *o)
{
	if (!array_alone(me, o))
		return false;
	array_set(me, o, 1);
	if (array_alone(me, o))
		return true;
	array_set(me, o, 0);
	return false;
}

static bool array_again(void *arg)
{
	struct array_wait *w = arg;

	return array_once(w->me, w->o);
}

static void array_back_off(void *arg)
{
	struct array_wait *w = arg;

	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	array_pause(w->me, w->limit / 2 + w->random % w->limit);
	w->limit = TW_MIN(2 * w->limit, ARRAY_BACK_OFF_MAX_NS);
}

static bool array_enter(struct tw_proc *me, struct sync_object *o)
{
	struct array_wait wait = {me, o, ARRAY_BACK_OFF_MIN_NS, (me->id + 1) * 0x9e3779b97f4a7c15ull ^ tw_time_ns()};

	sync_poll(me, TW_WAIT_LOCK, o->id, array_again, array_back_off, &wait);
	return me->nodes > 1;
}

static int array_try(struct tw_proc *me, struct sync_object *o)
{
	return array_once(me, o) ? 1 + (me->nodes > 1) : 0;
}

static void array_leave(struct tw_proc *me, struct sync_object *o, bool keep)
{
	(void)keep;
	array_set(me, o, 0);
}

static bool array_held(struct tw_proc *me, struct sync_object *o)
{
	return !array_alone(me, o) || *(sync_words(me, sync_array(me, o)) + me->node) != 0;
}

const struct sync_lock_ops sync_array_lock = {
    .enter = array_enter, .try_enter = array_try, .leave = array_leave, .held = array_held};
