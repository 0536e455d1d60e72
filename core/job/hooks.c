/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.c - runs the protocol's synchronization hooks: timed, after the log of stores was handed over, together with
 * the heap's remote frees. */
#include "core/coherence/lazy.h"
#include "core/memory/heap.h"
#include "core/job/job.h"
#include "core/coherence/polled.h"
#include "core/observe/race.h"
#include "core/coherence/shootdown.h"
#include "core/coherence/trail.h"
#include "core/memory/stores.h"

void (*tw_acquired)(void);

/* One node: its processors store to the same frames, and no other one needs to know. */
static bool hooks_alone(const struct tw_proc *me)
{
	return me->nodes == 1 && !(me->protocol->flags & (TW_PROTOCOL_ONE_LEVEL | TW_PROTOCOL_NEEDS_STORES)) &&
	       !me->config.race;
}

static void hooks_run(struct tw_proc *me, void (*hook)(struct tw_proc *, enum tw_sync_kind, uint64_t),
                      enum tw_sync_kind kind, uint64_t object)
{
	if (!hook || hooks_alone(me))
		return;
	tw_shootdown_enter(me);
	/* trail.h (4) */
	if (kind == TW_SYNC_BARRIER && hook == me->protocol->acquire)
		tw_protocol_enter_trailing(me);
	else
		tw_protocol_enter(me);
	tw_stores_drain(me);
	uint64_t t = tw_time_begin(me);
	hook(me, kind, object);
	tw_time_end(me, &me->stats->now.protocol_ns, t);
	tw_protocol_leave(me);
	tw_shootdown_leave(me);
}

/* After a release or an acquire: was it made in a fault, which may have interrupted the heap? */
static bool hooks_synced(struct tw_proc *me, bool acquire)
{
	return me->fences && me->fences->synced(me, acquire);
}

/* A block that returns to its owner carries what was released before (heap_remote.c). */
static void hooks_ship(struct tw_proc *me)
{
	if (hooks_synced(me, false))
		return;
	if (me->successor && tw_heap_ships(me))
		tw_trail_leave(me);
	if ((me->protocol->flags & TW_PROTOCOL_BY_OBJECT) && tw_heap_ships(me))
		hooks_run(me, me->protocol->release, TW_SYNC_HEAP, 0);
	tw_heap_ship(me);
}

void tw_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	hooks_run(me, me->protocol->release, kind, object);
	tw_lazy_performed(me, kind != TW_SYNC_NODE);
	if (kind != TW_SYNC_NODE || me->locals == 1)
		hooks_ship(me);
}

void tw_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	hooks_run(me, me->protocol->acquire, kind, object);
	if (hooks_synced(me, true))
		return;
	if ((me->protocol->flags & TW_PROTOCOL_BY_OBJECT) && tw_heap_takes(me))
		hooks_run(me, me->protocol->acquire, TW_SYNC_HEAP, 0);
	tw_heap_take(me);
	if (me->config.race)
		tw_race_print(me);
	if (tw_acquired)
		tw_acquired();
}

void tw_arrive(struct tw_proc *me, uint64_t object)
{
	if (!me->protocol->arrive) {
		tw_release(me, TW_SYNC_BARRIER, object);
		return;
	}
	tw_lazy_idle(me); /* a neighbour may do the work of an arrival, but a demand would not wait for that one */
	tw_shootdown_enter(me);
	tw_protocol_enter(me);
	tw_stores_drain(me);
	uint64_t t = tw_time_begin(me);
	me->protocol->arrive(me, object);
	tw_time_end(me, &me->stats->now.protocol_ns, t);
	tw_protocol_leave(me);
	tw_shootdown_leave(me);
	tw_lazy_performed(me, false);
	hooks_ship(me);
}
