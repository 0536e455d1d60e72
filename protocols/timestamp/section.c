/* SPDX-License-Identifier: BSD-3-Clause */
/* section.c - a page's critical section: chains of probable owners that are a queue lock at their end (the paper's
 * listing 1).
 *
 * A node's link is UNLOCKED at the chain's end, LOCKED in or before the section, else the node that is next in the
 * chain.  Zero is UNLOCKED at the page's first home and a link to that node elsewhere, so nothing is initialized.
 *
 * Within a node @busy lets one processor at a time use the link.  It is no page lock, and a processor that waits for
 * it or for another node holds no page lock and no other section.  A processor in a section takes page locks of its
 * own node, whose holders wait only for the transport, and leaves.  So chains of waiting processors end at a running
 * one.
 *
 * No cycle of waiting nodes.  Cut at LOCKED, links form trees.  Each tree has one head: a node in the section, an
 * end that is free, or a node that seeks.  A seeking node cuts itself off from the tree that it then seeks in, and
 * appends its own tree behind that tree's end.  "Seeks in" is a forest over trees; cutting and appending preserve
 * that.  So no node waits behind itself. */
#include "protocols/timestamp/timestamp.h"

#define UNLOCKED     1ull
#define LOCKED       2ull
#define LINK(me)     (4ull | (uint64_t)(me)->node << 8 | (uint64_t)(me)->local << 24)
#define LINK_NODE(w) ((unsigned)((w) >> 8 & 0xffff))
#define LINK_PORT(w) ((unsigned)((w) >> 24))

struct section_wait {
	struct tw_proc *me;
	tw_page_t page;
};

static bool section_idle(void *arg)
{
	struct section_wait *w = arg;
	struct ts_page *x = ts_page(w->me, w->page);
	/* On every poll: a wake-up clears the bit, and a faster neighbour may have entered again by now. */
	atomic_fetch_or(&x->waiters, ts_bit(w->me));
	return atomic_load(&x->busy) == 0;
}

static bool section_handed(void *arg)
{
	struct section_wait *w = arg;
	return atomic_load_explicit(&ts_meta(w->me, w->page)->hand, memory_order_acquire) != 0;
}

static void section_busy(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);
	struct section_wait wait = {me, p};

	for (;;) {
		uint32_t idle = 0;
		if (atomic_compare_exchange_strong(&x->busy, &idle, me->local + 1))
			return;
		tw_net_wait(me->net, section_idle, &wait);
	}
}

static void section_idle_again(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);

	atomic_store(&x->busy, 0);
	for (uint64_t w = atomic_exchange(&x->waiters, 0); w; w &= w - 1)
		tw_net_notify(me->net, me->node, (unsigned)__builtin_ctzll(w));
}

/* The meaning of a node's word; zero is decoded. */
static uint64_t section_meaning(const struct tw_proc *me, tw_page_t p, unsigned node, uint64_t word)
{
	unsigned first = me->page[p].home - 1u;
	return word ? word : node == first ? UNLOCKED : 4ull | (uint64_t)first << 8;
}

/* Replace @node's word if it is UNLOCKED or LOCKED, as @from says.  Returns its meaning before. */
static uint64_t section_cas(struct tw_proc *me, tw_page_t p, unsigned node, uint64_t from, uint64_t to)
{
	size_t at = ts_meta_offset(me, p) + offsetof(struct ts_meta, link);
	uint64_t word = tw_net_cas(me->net, node, at, from, to);

	if (word == 0 && section_meaning(me, p, node, 0) == from) {
		word = tw_net_cas(me->net, node, at, 0, to);
		if (word == 0)
			return from;
		if (word == from) /* it became explicit meanwhile */
			return section_cas(me, p, node, from, to);
	}
	return section_meaning(me, p, node, word);
}

static unsigned section_seek(struct tw_proc *me, tw_page_t p, unsigned node)
{
	struct section_wait wait = {me, p};

	for (;;) {
		uint64_t word = section_cas(me, p, node, UNLOCKED, LINK(me));
		if (word == UNLOCKED)
			return node;
		if (word == LOCKED && section_cas(me, p, node, LOCKED, LINK(me)) == LOCKED) {
			tw_net_wait(me->net, section_handed, &wait);
			return node;
		}
		if (word != LOCKED)
			node = LINK_NODE(word);
	}
}

unsigned ts_section_enter(struct tw_proc *me, tw_page_t p)
{
	size_t at = ts_meta_offset(me, p) + offsetof(struct ts_meta, link);

	section_busy(me, p);
	uint64_t word = section_cas(me, p, me->node, UNLOCKED, LOCKED);
	if (word == UNLOCKED)
		return me->node;
	TW_ASSERT(word != LOCKED);
	atomic_store(&ts_meta(me, p)->hand, 0);
	tw_net_swap(me->net, me->node, at, LOCKED);
	return section_seek(me, p, LINK_NODE(word));
}

bool ts_section_ends(struct tw_proc *me, tw_page_t p)
{
	return section_meaning(me, p, me->node, atomic_load(&ts_meta(me, p)->link)) == UNLOCKED;
}

bool ts_section_try(struct tw_proc *me, tw_page_t p)
{
	uint32_t idle = 0;

	if (!ts_section_ends(me, p) || !atomic_compare_exchange_strong(&ts_page(me, p)->busy, &idle, me->local + 1))
		return false;
	if (section_cas(me, p, me->node, UNLOCKED, LOCKED) == UNLOCKED)
		return true;
	section_idle_again(me, p);
	return false;
}

unsigned ts_section_next(const struct tw_proc *me, tw_page_t p, unsigned node, uint64_t link)
{
	uint64_t word = section_meaning(me, p, node, link);
	return word == UNLOCKED || word == LOCKED ? node : LINK_NODE(word);
}

void ts_section_leave(struct tw_proc *me, tw_page_t p)
{
	size_t at = ts_meta_offset(me, p);
	uint64_t word = tw_net_cas(me->net, me->node, at + offsetof(struct ts_meta, link), LOCKED, UNLOCKED);

	if (word != LOCKED) {
		tw_net_write64(me->net, LINK_NODE(word), at + offsetof(struct ts_meta, hand), 1);
		tw_net_notify(me->net, LINK_NODE(word), LINK_PORT(word));
	}
	section_idle_again(me, p);
}
