/* SPDX-License-Identifier: BSD-3-Clause */
/* migratory.c - migratory pages: pages that nodes write in turn, for some time each (a matrix swept by rows, then by
 * columns).
 *
 * A page is migratory for a processor whose last turn on it began with a store, or with a load and a store in the
 * same interval (between two releases).  The turn is over when another node writes the page and this processor has
 * not stored to it for more intervals than retention lasts (the parameter; nodes that write it in the same intervals
 * share it falsely).  Then an update in place would be useless, and a node that stays in the directory only prevents
 * the other's exclusive mode.  So the node leaves at the first notice, also at the page's home.
 *
 * If another node's store ends exclusive mode, the page is shared by both, with twin, diffs and notices, until this
 * node has left it.  So a processor remembers how many intervals a turn took, and after as many gives the page back
 * by itself: the next node that stores has it exclusively at once.  These are guesses: giving back too early costs a
 * fault, after which the length is learnt anew.
 *
 * Giving back does in one step what another node's break, this node's release and the notice of the other's stores
 * would do one after the other (exclusive.c, flush.c, acquire.c).  The processor must be the only one of its node
 * that maps the page.
 * 1. It takes its own right; from then on it stores no more.
 * 2. The master gets the page, where the home is elsewhere; performed.
 * 3. Only then the directory says that the node has nothing.
 * No notice is due to any node.  A node whose break was in the queue before this release collected it has ended
 * exclusive mode, and the page stays.  A node that breaks later reads all that was stored before the release
 * (tests/models/home_notice.pml and exclusive.pml, GIVES; for homes that leave at a notice, turns.pml). */
#include "protocols/cashmere/cashmere.h"

/* How often the other nodes have left the directory of the page, modulo 256. */
static uint8_t migratory_left(const struct tw_proc *me, tw_page_t p)
{
	uint64_t left = 0;

	for (unsigned n = 0; n < me->nodes; n++)
		if (n != me->node)
			left += tw_dir_word(me, p, n) >> CASH_LEFT_SHIFT;
	return (uint8_t)left;
}

static void migratory_enqueue(struct cash *c, tw_page_t p)
{
	struct cash_past *past = &c->past[p];
	uint32_t *due = &c->due[(past->since + past->term) % CASH_TERMS];

	if (past->due)
		return;
	past->due = *due + 1;
	*due = p + 1;
}

void cash_migratory_turn(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct cash_past *past = &cash_of(me)->past[p];

	if (cash_doubles(me) || !cash_parameters(me)->migratory)
		return;
	if (cash_rights(me, &me->page[p]) != TW_NONE) {
		past->migratory |= !past->since || past->since == cash_of(me)->releases;
		return;
	}
	if (past->given && past->left == migratory_left(me, p)) {
		past->term = 0; /* given back too early */
	} else {
		past->since = cash_of(me)->releases;
		past->migratory = want == TW_WRITE;
	}
	past->given = 0;
}

void cash_migratory_taken(struct tw_proc *me, tw_page_t p)
{
	struct cash_past *past = &cash_of(me)->past[p];

	past->taken = cash_of(me)->releases;
	if (past->term && !cash_fences(me) && past->term < CASH_TERMS &&
	    past->since + past->term > cash_of(me)->releases)
		migratory_enqueue(cash_of(me), p);
}

void cash_migratory_ended(struct tw_proc *me, tw_page_t p)
{
	struct cash_past *past = &cash_of(me)->past[p];
	uint32_t interval = cash_of(me)->releases - 1;

	if (past->since && past->since < interval)
		past->term = interval - past->since;
	if (past->taken == interval)
		past->got[1] = 0; /* another node wanted it in the interval of the taking: perhaps taken in vain */
	past->since = 0;
}

bool cash_migratory_leaves(struct tw_proc *me, tw_page_t p)
{
	const struct cash_past *past = &cash_of(me)->past[p];

	return past->migratory && !cash_fences(me) && past->got[1] + cash_retention(me) < cash_of(me)->releases - 1;
}

bool cash_migratory_home(struct tw_proc *me, tw_page_t p)
{
	struct cash_past *past = &cash_of(me)->past[p];
	uint64_t writers = me->page[p].writers;

	/* This processor's stores precede its release for the barrier.  If that release found exclusive mode, a node
	 * ended the mode since, and took its copy after the release had read the queue.  But a neighbour that has
	 * arrived at the next barrier already may have left its stores to this processor. */
	if (cash_of(me)->arrived && !(me->page[p].state & CASH_DEFERRED))
		writers &= ~cash_bit(me);
	if (cash_migratory_leaves(me, p) && !writers && !past->pins)
		return true;
	past->since = 0;
	return false;
}

static bool migratory_may(struct tw_proc *me, tw_page_t p)
{
	const struct tw_page *e = &me->page[p];

	return (e->state & CASH_EXCLUSIVE) && e->mapped == cash_bit(me) && !(e->writers & ~cash_bit(me)) && !e->twin &&
	       !cash_of(me)->past[p].pins;
}

static unsigned migratory_chunk(void *ctx, tw_page_t first, unsigned most)
{
	struct tw_proc *me = ctx;
	unsigned count = cash_lock_run(me, first, most);
	uint64_t mask = 0;
	bool sent = false;

	_Static_assert(CASH_CHUNK <= 64, "one bit a page");
	for (unsigned i = 0; i < count; i++)
		mask |= (uint64_t)migratory_may(me, first + i) << i;
	cash_unmap(me, first, count, mask);
	for (uint64_t m = mask; m; m &= m - 1) {
		tw_page_t p = first + (unsigned)__builtin_ctzll(m);
		struct tw_page *e = &me->page[p];

		e->mapped = e->writers = 0;
		e->state &= ~CASH_EXCLUSIVE;
		if (cash_is_home(me, e))
			continue;
		tw_net_write(me->net, e->home - 1u, tw_master_offset(me, p), tw_frame(me, p), me->layout.page_bytes);
		sent = true;
	}
	if (sent)
		tw_net_flush(me->net, TW_NET_ALL);
	for (uint64_t m = mask; m; m &= m - 1) {
		tw_page_t p = first + (unsigned)__builtin_ctzll(m);
		struct cash_past *past = &cash_of(me)->past[p];

		past->given = 1;
		past->left = migratory_left(me, p);
		cash_withdraw(me, p);
		me->stats->now.exclusive_returns++;
	}
	if (mask)
		tw_net_flush(me->net, TW_NET_ALL);
	cash_unlock_run(me, first, count);
	return count;
}

static void migratory_run(void *ctx, tw_page_t first, unsigned count)
{
	cash_by_chunks(migratory_chunk, ctx, first, count);
}

void cash_migratory(struct tw_proc *me)
{
	struct cash *c = cash_of(me);
	uint32_t next = c->due[c->releases % CASH_TERMS];

	c->due[c->releases % CASH_TERMS] = 0;
	while (next) {
		tw_page_t p = next - 1;
		struct cash_past *past = &c->past[p];
		int32_t left = (int32_t)(past->since + past->term - c->releases);

		next = past->due - 1;
		past->due = 0;
		if (!past->since || !past->term || left < 0)
			continue;
		if (left)
			migratory_enqueue(c, p);
		else
			tw_pageset_add(c->migratory, p);
	}
	if (!tw_pageset_empty(c->migratory))
		tw_pageset_drain(c->migratory, migratory_run, me);
}
