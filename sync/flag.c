/* SPDX-License-Identifier: BSD-3-Clause */
/* flag.c - flags: a flag's value is replicated in every node's memory, so that waiting reads only local memory
 * (Cashmere-2L, section 2.3).
 *
 * A setter reaches the nodes one after another. Meanwhile a waiter that has seen the value at its own node may set the
 * next value and overtake the first setter at a third node. So words are only raised, by compare-and-swap, and the late
 * smaller value changes nothing.
 *
 * No lost wake-up: the setter writes to a node, then rings the bells of its processors; a waiter reads its bell, tests,
 * then sleeps. */
#include "core/coherence/lazy.h"
#include "core/coherence/trail.h"
#include "sync/object.h"
#include "tweed/tweed.h"

struct flag_wait {
	struct sync_object *object;
	uint64_t wanted, seen;
};

static bool flag_ready(void *arg)
{
	struct flag_wait *w = arg;
	struct sync_object *o = w->object;

	w->seen = atomic_load_explicit(&o->own->value, memory_order_acquire);
	if (w->seen >= w->wanted)
		return true;
	if (atomic_load_explicit(&o->own->gen, memory_order_acquire) == o->gen)
		return false;
	/* Destroyed by a waiter that was woken earlier: it had reached the value. */
	w->seen = w->wanted;
	return true;
}

tw_flag_t tw_flag_create(void)
{
	struct tw_proc *me = tw_me_checked("tw_flag_create");

	return (tw_flag_t){sync_create(me, SYNC_FLAG, 0, "tw_flag_create")};
}

/* Raise the word at @node to @value. */
static void flag_raise(struct tw_proc *me, unsigned node, size_t offset, uint64_t value)
{
	uint64_t expect = atomic_load_explicit((_Atomic uint64_t *)sync_words(me, offset), memory_order_relaxed), old;

	while (expect < value && (old = tw_net_cas(me->net, node, offset, expect, value)) != expect)
		expect = old;
}

/* The same without the answer, so that a waiter need not wait for that; it may not have been done. */
static void flag_post(struct tw_proc *me, unsigned node, size_t offset, uint64_t value)
{
	uint64_t expect = atomic_load_explicit((_Atomic uint64_t *)sync_words(me, offset), memory_order_relaxed);

	if (expect >= value)
		return;
	tw_net_amo_post(me->net, node, offset, TW_AMO_CAS, sizeof(value), value, expect);
	sync_notify(me, node);
}

void tw_flag_set(tw_flag_t flag, uint64_t value)
{
	struct tw_proc *me = tw_me_checked("tw_flag_set");
	struct sync_object o = sync_find(me, flag.id, SYNC_FLAG, "tw_flag_set");

	tw_trace(me, TW_TRACE_flag_set, TW_TRACE_NONE, TW_TRACE_NO_PAGE, flag.id, value);
	bool early = me->nodes == 2 && !me->net->ops->direct;

	/* Of two nodes, the other one learns of this from its word alone: the release trails. */
	if (me->nodes == 2 && tw_release_trails())
		tw_trail_begin(me, 1 - me->node);
	tw_release(me, TW_SYNC_FLAG, flag.id);
	tw_trail_end(me);
	/* The own node last: its word is the initial guess of the other nodes' values. */
	for (unsigned i = 1; i <= me->nodes; i++) {
		unsigned node = (me->node + i) % me->nodes;
		if (early && node != me->node)
			flag_post(me, node, SYNC_WORD(&o, value), value);
		flag_raise(me, node, SYNC_WORD(&o, value), value);
		sync_notify(me, node);
	}
}

void tw_sync_flag_raise(struct tw_proc *me, uint64_t id, uint64_t value, unsigned processor)
{
	struct sync_object o = sync_find(me, id, SYNC_FLAG, "tw_sync_flag_raise");
	unsigned node = processor / me->locals;

	tw_trace(me, TW_TRACE_flag_set, TW_TRACE_NONE, TW_TRACE_NO_PAGE, id, value);
	if (tw_release_trails())
		tw_trail_begin(me, node);
	tw_release(me, TW_SYNC_FLAG, id);
	tw_trail_end(me);
	tw_net_write64(me->net, node, SYNC_WORD(&o, value), value);
	tw_net_notify(me->net, node, processor % me->locals);
}

uint64_t tw_flag_wait(tw_flag_t flag, uint64_t value)
{
	struct tw_proc *me = tw_me_checked("tw_flag_wait");
	struct sync_object o = sync_find(me, flag.id, SYNC_FLAG, "tw_flag_wait");
	struct flag_wait wait = {&o, value, 0};

	sync_alone("tw_flag_wait");
	tw_trace(me, TW_TRACE_flag_wait, TW_TRACE_NONE, TW_TRACE_NO_PAGE, flag.id, value);
	sync_wait(me, TW_WAIT_FLAG, flag.id, value, flag_ready, &wait);
	me->stats->now.flag_acquires++;
	tw_trace(me, TW_TRACE_flag_seen, TW_TRACE_NONE, TW_TRACE_NO_PAGE, flag.id, wait.seen);
	tw_acquire(me, TW_SYNC_FLAG, flag.id);
	return wait.seen;
}

uint64_t tw_flag_get(tw_flag_t flag)
{
	struct tw_proc *me = tw_me_checked("tw_flag_get");
	struct sync_object o = sync_find(me, flag.id, SYNC_FLAG, "tw_flag_get");

	return atomic_load_explicit(&o.own->value, memory_order_relaxed);
}

void tw_flag_destroy(tw_flag_t flag)
{
	struct tw_proc *me = tw_me_checked("tw_flag_destroy");
	struct sync_object o = sync_find(me, flag.id, SYNC_FLAG, "tw_flag_destroy");

	tw_net_flush(me->net, TW_NET_ALL);
	sync_settle(me, SYNC_WORD(&o, value), "tw_flag_destroy");
	sync_destroy(me, &o);
}
