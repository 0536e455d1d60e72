/* SPDX-License-Identifier: BSD-3-Clause */
/* notice.c - write notices, in two levels (Cashmere-2L section 2.3, figure 2).
 *
 * Sending. Each processor gathers notices in its own batches. A batch is appended under the node's lock for that
 * receiver: slots, fence, tail, flush. The flush lies inside the lock because the next appender uses another endpoint,
 * and its tail must not become visible before these slots. A release appends to all receivers before it flushes. The
 * flush is left out where this node has no other appender, and the receiver alone acquires (trail.h) or a read at the
 * receiver follows.
 *
 * Distributing. The tails are read first, then the clock ticks, then the notices are stamped with that time. A fetch
 * that began before the stamp therefore counts as older than the notice. A fetch that began after it found the writer's
 * diff at the home, because the diff was performed before the notice was sent. The head moves only after distribution:
 * when a queue is empty, its notices are in the processors' sets. */
#include "core/coherence/notice.h"

#include <errno.h>
#include <stdlib.h>

#include "core/coherence/trail.h"

#define BATCH_SLOTS  256u
#define NOTICE_BREAK (1u << 31) /* in a slot, with the page: end exclusive mode */

struct tw_notice_batch {
	uint32_t count;
	uint32_t page[BATCH_SLOTS];
};

static size_t notice_queue_offset(const struct tw_proc *me, unsigned sender)
{
	return me->layout.notices + sender * sizeof(struct tw_notice_queue);
}

int tw_notice_open(struct tw_proc *me)
{
	me->batch = calloc(me->nodes, sizeof(*me->batch));
	return me->batch ? 0 : -ENOMEM;
}

void tw_notice_close(struct tw_proc *me)
{
	free(me->batch);
	me->batch = NULL;
}

/* Wait until @count slots are free at @node. Called with out->lock held, and with those of lower nodes, perhaps: the
 * receiver's agent needs none of this node's locks. */
static void notice_make_room(struct tw_proc *me, unsigned node, struct tw_notice_out *out, uint32_t count)
{
	size_t head = notice_queue_offset(me, me->node) + offsetof(struct tw_notice_queue, head);
	uint64_t pause_ns = 1000;

	while (out->tail - out->head + count > TW_NOTICE_SLOTS) {
		out->head = tw_net_read64(me->net, node, head);
		if (out->tail - out->head + count <= TW_NOTICE_SLOTS)
			return;
		if (pause_ns == 1000) {
			struct tw_msg ask = {.type = TW_MSG_COLLECT};
			tw_send(me, node, me->layout.ports - 1, &ask);
		}
		_Atomic uint32_t word = 0;
		tw_futex_wait(&word, 0, pause_ns);
		pause_ns = TW_MIN(pause_ns * 2, 1000000u);
	}
}

/* Write this processor's batch to @node's queue. Takes out->lock, which notice_end gives back after a flush. */
static void notice_begin(struct tw_proc *me, unsigned node)
{
	struct tw_notice_batch *batch = &me->batch[node];
	struct tw_notice_out *out = &me->n->notice_out[node];
	size_t queue = notice_queue_offset(me, me->node);

	tw_mutex_lock(&out->lock);
	notice_make_room(me, node, out, batch->count);
	for (uint32_t done = 0; done < batch->count;) {
		uint32_t slot = (uint32_t)((out->tail + done) % TW_NOTICE_SLOTS);
		uint32_t n = TW_MIN(batch->count - done, TW_NOTICE_SLOTS - slot);
		tw_net_write(me->net, node, queue + offsetof(struct tw_notice_queue, slot) + slot * sizeof(uint32_t),
		             batch->page + done, n * sizeof(uint32_t));
		done += n;
	}
	tw_net_fence(me->net, node);
	out->tail += batch->count;
	tw_net_write64(me->net, node, queue + offsetof(struct tw_notice_queue, tail), out->tail);
}

static void notice_end(struct tw_proc *me, unsigned node)
{
	me->batch[node].count = 0;
	tw_mutex_unlock(&me->n->notice_out[node].lock);
}

static void notice_add(struct tw_proc *me, unsigned node, uint32_t slot)
{
	struct tw_notice_batch *batch = &me->batch[node];
	if (batch->count == BATCH_SLOTS) {
		notice_begin(me, node);
		tw_net_flush(me->net, node);
		notice_end(me, node);
	}
	batch->page[batch->count++] = slot;
}

void tw_notice_send(struct tw_proc *me, unsigned node, tw_page_t p)
{
	if (me->successor && node + 1 != me->successor && !tw_planted(me, "early-notice"))
		tw_trail_leave(me);
	notice_add(me, node, p);
	me->stats->now.write_notices++;
	tw_trace(me, TW_TRACE_notice_out, node, p, 0, 0);
}

void tw_notice_break(struct tw_proc *me, unsigned node, tw_page_t p)
{
	notice_add(me, node, p | NOTICE_BREAK);
}

/* One flush for all receivers: a release waits for one round trip, not for one per receiver. Locks are taken in the
 * order of nodes, so two processors that hold some of them do not wait for each other. */
void tw_notice_flush(struct tw_proc *me)
{
	bool any = false;

	for (unsigned node = 0; node < me->nodes; node++)
		if (me->batch[node].count) {
			notice_begin(me, node);
			any = true;
		}
	if (!any)
		return;
	if (!me->successor) /* else all are for that node */
		tw_net_flush(me->net, TW_NET_ALL);
	for (unsigned node = 0; node < me->nodes; node++)
		if (me->batch[node].count)
			notice_end(me, node);
}

bool tw_notice_room(const struct tw_proc *me, unsigned node, uint32_t count)
{
	const struct tw_notice_out *out = &me->n->notice_out[node];

	return me->locals == 1 && out->tail - out->head + count <= TW_NOTICE_SLOTS && count <= BATCH_SLOTS;
}

/* The node has no other appender, whose tail could become visible before these slots. */
void tw_notice_follow(struct tw_proc *me, unsigned node)
{
	if (!me->batch[node].count)
		return;
	notice_begin(me, node);
	notice_end(me, node);
}

static struct tw_notice_queue *notice_queue(struct tw_proc *me, unsigned sender)
{
	return (struct tw_notice_queue *)(void *)(me->net->base + notice_queue_offset(me, sender));
}

static uint64_t notice_load(uint64_t *word)
{
	return atomic_load_explicit((_Atomic uint64_t *)word, memory_order_acquire);
}

static bool notice_pending(struct tw_proc *me)
{
	for (unsigned s = 0; s < me->nodes; s++) {
		struct tw_notice_queue *q = notice_queue(me, s);
		if (s != me->node && notice_load(&q->tail) != notice_load(&q->head))
			return true;
	}
	return false;
}

struct tw_pageset *tw_notices_of(struct tw_proc *me, unsigned local)
{
	size_t set = me->layout.sets + TW_SETS * local * me->layout.set_bytes;

	return (struct tw_pageset *)(void *)(me->private_mem + set);
}

/* Pages whose exclusive mode has ended.  They stay locked until the words that say so are performed: by one flush for
 * many.  Where releases may trail, the next hook waits for them, before another endpoint writes these words
 * (trail.h). */
struct notice_broken {
	unsigned count;
	tw_page_t page[BATCH_SLOTS];
};

static void notice_perform(struct tw_proc *me, struct notice_broken *b)
{
	if (!b->count)
		return;
	if (!me->agent && tw_trails(me)) {
		tw_net_fence(me->net, TW_NET_ALL); /* before this hook writes one of the words again */
		me->trails = true;
	} else {
		tw_net_flush(me->net, TW_NET_ALL);
	}
	while (b->count)
		tw_page_unlock(me, b->page[--b->count]);
}

/* Other processors may hold @p, and wait for one of the others: nobody waits for a lock while it holds these. */
static void notice_lock(struct tw_proc *me, struct notice_broken *b, tw_page_t p)
{
	if (b->count < BATCH_SLOTS && tw_page_trylock(me, p))
		return;
	notice_perform(me, b);
	tw_page_lock(me, p);
}

static void notice_distribute(struct tw_proc *me, unsigned sender, uint32_t slot, uint64_t now, struct notice_broken *b)
{
	tw_page_t p = slot & ~NOTICE_BREAK;
	struct tw_page *e = &me->page[p];

	notice_lock(me, b, p);
	if (slot & NOTICE_BREAK) {
		if (me->protocol->broken && me->protocol->broken(me, p))
			b->page[b->count++] = p;
		else
			tw_page_unlock(me, p);
		return;
	}
	tw_trace(me, TW_TRACE_notice_in, sender, p, 0, 0);
	if (e->ts_notice <= e->ts_update)
		e->ts_notice = now;
	uint64_t mapped = atomic_load_explicit(&e->mapped, memory_order_relaxed);
	if (!mapped && me->protocol->noticed)
		me->protocol->noticed(me, p);
	for (uint64_t m = mapped; m; m &= m - 1)
		tw_pageset_add(tw_notices_of(me, (unsigned)__builtin_ctzll(m)), p);
	tw_page_unlock(me, p);
}

void tw_notice_collect(struct tw_proc *me)
{
	uint64_t tail[TW_MAX_NODES];
	struct notice_broken broken;

	if (!notice_pending(me))
		return;
	tw_mutex_lock(&me->n->notice_in);
	for (unsigned s = 0; s < me->nodes; s++)
		tail[s] = notice_load(&notice_queue(me, s)->tail);
	uint64_t now = tw_tick(me);
	broken.count = 0;
	for (unsigned s = 0; s < me->nodes; s++) {
		struct tw_notice_queue *q = notice_queue(me, s);
		if (s == me->node)
			continue;
		if (tail[s] - q->head > TW_NOTICE_SLOTS)
			tw_fatal("node %u sent a damaged queue of write notices", s);
		for (uint64_t i = q->head; i < tail[s]; i++) {
			uint32_t slot = q->slot[i % TW_NOTICE_SLOTS];
			if ((slot & ~NOTICE_BREAK) >= me->layout.pages)
				tw_fatal("node %u sent a write notice for page %u, which does not exist", s,
				         slot & ~NOTICE_BREAK);
			notice_distribute(me, s, slot, now, &broken);
		}
		notice_perform(me, &broken);
		atomic_store_explicit((_Atomic uint64_t *)&q->head, tail[s], memory_order_release);
	}
	tw_mutex_unlock(&me->n->notice_in);
}
