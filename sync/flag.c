/* SPDX-License-Identifier: BSD-3-Clause */
/* flag.c - a flag's value is replicated in every node's memory, so that waiting reads local memory only (Cashmere-2L,
 * section 2.3).
 *
 * Setters that are ordered by the program are ordered at every node: the later one's release was preceded by the earlier
 * one's, which flushed (sync_release).  No lost wake-up: the setter writes to a node, then rings the bells of its
 * processors; a waiter reads its bell, tests, then sleeps. */
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
	/* Destroyed by a waiter that was woken before this one: it had reached the value. */
	w->seen = w->wanted;
	return true;
}

tw_flag_t tw_flag_create(void)
{
	struct tw_proc *me = tw_me_checked("tw_flag_create");

	return (tw_flag_t){sync_create(me, SYNC_FLAG, 0, "tw_flag_create")};
}

void tw_flag_set(tw_flag_t flag, uint64_t value)
{
	struct tw_proc *me = tw_me_checked("tw_flag_set");
	struct sync_object o = sync_find(me, flag.id, SYNC_FLAG, "tw_flag_set");

	sync_release(me, TW_SYNC_FLAG, flag.id);
	tw_net_broadcast64(me->net, SYNC_WORD(&o, value), value);
	for (unsigned node = 0; node < me->nodes; node++)
		sync_notify(me, node);
}

uint64_t tw_flag_wait(tw_flag_t flag, uint64_t value)
{
	struct tw_proc *me = tw_me_checked("tw_flag_wait");
	struct sync_object o = sync_find(me, flag.id, SYNC_FLAG, "tw_flag_wait");
	struct flag_wait wait = {&o, value, 0};

	tw_wait(me, flag_ready, &wait);
	me->stats->now.flag_acquires++;
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
