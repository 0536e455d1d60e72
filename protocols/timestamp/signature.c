/* SPDX-License-Identifier: BSD-3-Clause */
/* signature.c - writes that a node knows of: the newest notice of each of a bounded number of pages, and min_wr_ts
 * for all others (section 3.3).  It only grows: a processor that reads a later state than necessary learns too much,
 * never too little.
 *
 * A node may change its signature by each of its operations, more often than another one can read it over a network.
 * So a reader that has failed often says that it wants it, and changes wait for that reader, but not for long, since it
 * may have died. */
#include "protocols/timestamp/timestamp.h"

#include <string.h>

#define SIGNATURE_TRIES 16u /* then the reader says so, */
#define SIGNATURE_NAPS  20u /* and changes wait at most so many times TS_SIGNATURE_WAIT_NS */

static void signature_nap(void)
{
	_Atomic uint32_t nobody = 0;

	tw_futex_wait(&nobody, 0, TS_SIGNATURE_WAIT_NS);
}

static void signature_concede(struct ts_signature *s)
{
	for (unsigned i = 0; atomic_load_explicit(&s->wanted, memory_order_relaxed); i++) {
		if (i == SIGNATURE_NAPS)
			atomic_store(&s->wanted, 0);
		else
			signature_nap();
	}
}

void ts_clock_raise(struct tw_proc *me, uint64_t t)
{
	_Atomic uint64_t *clock = &ts_of(me)->node->clock;
	uint64_t now = atomic_load(clock);
	while (now < t && !atomic_compare_exchange_weak(clock, &now, t))
		;
}

/* Open for changes, until signature_close.  Locked. */
static void signature_open(struct ts_signature *s)
{
	uint64_t seq = atomic_load_explicit(&s->seq, memory_order_relaxed);

	if (seq % 2)
		return;
	atomic_store_explicit(&s->seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

static void signature_close(struct ts_signature *s)
{
	uint64_t seq = atomic_load_explicit(&s->seq, memory_order_relaxed);

	if (seq % 2)
		atomic_store(&s->seq, seq + 1);
}

static void signature_raise(struct tw_proc *me, struct ts_signature *s, uint64_t wts)
{
	(void)me;
	if (tw_planted(me, "ts-drop-min") || atomic_load(&s->min_wr_ts) >= wts)
		return;
	signature_open(s);
	atomic_store(&s->min_wr_ts, wts);
}

/* The slot of an oldest notice.  The notices of one release have one time, and no notice enters that is older than a
 * dropped one: so the search continues where the last one ended.  Locked. */
static unsigned signature_oldest(struct ts_node *node, const struct ts_signature *s, unsigned count)
{
	for (unsigned i = node->look_at; i < count; i++)
		if (s->notice[i].wts <= node->look_for)
			return node->look_at = i;
	unsigned oldest = 0;
	for (unsigned i = 1; i < count; i++)
		if (s->notice[i].wts < s->notice[oldest].wts)
			oldest = i;
	node->look_for = s->notice[oldest].wts;
	return node->look_at = oldest;
}

/* A slot for a new notice.  If all are taken, the oldest notice's slot, or -1 when @n is older than all.  Locked. */
static int signature_slot(struct tw_proc *me, struct ts_signature *s, const struct ts_notice *n)
{
	uint64_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

	if (count < ts_parameters(me)->signature) {
		signature_open(s);
		atomic_store_explicit(&s->count, count + 1, memory_order_relaxed);
		return (int)count;
	}
	unsigned oldest = signature_oldest(ts_of(me)->node, s, (unsigned)count);
	if (n->wts <= s->notice[oldest].wts) {
		signature_raise(me, s, n->wts);
		return -1;
	}
	signature_raise(me, s, s->notice[oldest].wts);
	ts_page(me, s->notice[oldest].page)->notice = 0;
	return (int)oldest;
}

static void signature_put(struct tw_proc *me, struct ts_signature *s, const struct ts_notice *n)
{
	struct ts_page *x = ts_page(me, n->page);
	int slot = x->notice - 1;

	if (slot >= 0 && s->notice[slot].wts >= n->wts)
		return;
	if (slot < 0) {
		slot = n->wts > atomic_load(&s->min_wr_ts) ? signature_slot(me, s, n) : -1;
		if (slot < 0)
			return;
		x->notice = (uint16_t)(slot + 1);
	}
	signature_open(s);
	s->notice[slot] = *n;
}

void ts_notice_add(struct tw_proc *me, const struct ts_notice *n)
{
	struct ts *t = ts_of(me);

	signature_concede(t->own);
	tw_mutex_lock(&t->node->lock);
	signature_put(me, t->own, n);
	signature_close(t->own);
	tw_mutex_unlock(&t->node->lock);
}

void ts_signature_merge(struct tw_proc *me, bool notices)
{
	struct ts *t = ts_of(me);
	uint64_t count = notices ? atomic_load(&t->seen->count) : 0;

	signature_concede(t->own);
	tw_mutex_lock(&t->node->lock);
	signature_raise(me, t->own, atomic_load(&t->seen->min_wr_ts));
	for (uint64_t i = 0; i < count; i++)
		signature_put(me, t->own, &t->seen->notice[i]);
	signature_close(t->own);
	tw_mutex_unlock(&t->node->lock);
}

static void signature_copy(struct tw_proc *me)
{
	struct ts *t = ts_of(me);
	tw_mutex_lock(&t->node->lock);
	memcpy(t->seen, t->own, offsetof(struct ts_signature, notice));
	memcpy(t->seen->notice, t->own->notice, t->seen->count * sizeof(struct ts_notice));
	tw_mutex_unlock(&t->node->lock);
}

uint64_t ts_signature_seq(struct tw_proc *me, unsigned node)
{
	return tw_net_read64(me->net, node, me->layout.protocol + offsetof(struct ts_signature, seq));
}

/* Returns whether the signature was not written meanwhile. */
static bool signature_fetch(struct tw_proc *me, unsigned node)
{
	struct ts_signature *s = ts_of(me)->seen;
	size_t at = me->layout.protocol;

	tw_net_read(me->net, node, at, s, offsetof(struct ts_signature, notice));
	tw_net_read_wait(me->net);
	uint64_t seq = atomic_load(&s->seq), count = atomic_load(&s->count);
	if (seq % 2 || count > TS_SIGNATURE_MAX)
		return false;
	if (count)
		tw_net_read(me->net, node, at + offsetof(struct ts_signature, notice), s->notice,
		            count * sizeof(struct ts_notice));
	tw_net_read_wait(me->net);
	return ts_signature_seq(me, node) == seq;
}

/* A writer writes for less than a microsecond at a time, unless it is preempted. */
void ts_signature_read(struct tw_proc *me, unsigned node)
{
	size_t wanted = me->layout.protocol + offsetof(struct ts_signature, wanted);
	unsigned tries = 0;

	if (node == me->node) {
		signature_copy(me);
		return;
	}
	while (!signature_fetch(me, node)) {
		me->net->ops->progress(me->net);
		if (++tries >= SIGNATURE_TRIES)
			tw_net_write64(me->net, node, wanted, 1);
		signature_nap();
	}
	if (tries >= SIGNATURE_TRIES)
		tw_net_write64(me->net, node, wanted, 0);
}
