/* SPDX-License-Identifier: BSD-3-Clause */
/* directory.c - the first-level page directory and the homes.
 *
 * A page's homes word lies at node (superpage mod nodes). One atomic there decides which node touched the page first,
 * in place of the paper's global lock. Every node caches the answer in its second-level entry. */
#include <string.h>

#include "tweed/driver/protocol.h"

void tw_dir_publish(struct tw_proc *me, tw_page_t p, uint64_t word)
{
	word |= (uint64_t)me->page[p].home << TW_DIR_HOME_SHIFT;
	tw_net_broadcast64(me->net, tw_dir_offset(me, p, me->node), word);
	me->stats->now.directory_updates++;
	tw_charge(TW_COST_directory, 1);
	tw_trace(me, TW_TRACE_directory, TW_TRACE_NONE, p, word, 0);
}

static unsigned home_keeper(const struct tw_proc *me, size_t superpage)
{
	return (unsigned)(superpage % me->nodes);
}

static size_t home_offset(const struct tw_proc *me, size_t superpage)
{
	return me->layout.homes + superpage * sizeof(uint64_t);
}

/* A homes word: home node + 1, or 0. HOME_TENTATIVE is set while only processor 0 has touched the page, during the
 * program's initialization, under the policy after-init. */
#define HOME_TENTATIVE ((uint64_t)1 << 16)
#define HOME_MOVING    ((uint64_t)1 << 17) /* a migration is in progress */

#define HOME_BATCH 64 /* words under way */

/* Cache the word's answer. Another node's tentative home may still move, so it is not cached. */
static int home_note(struct tw_proc *me, tw_page_t p, uint64_t word)
{
	if (!(word & HOME_TENTATIVE) || (uint16_t)word == me->node + 1)
		me->page[p].home = (uint16_t)word;
	return (int)(uint16_t)word - 1;
}

int tw_home_get(struct tw_proc *me, tw_page_t p)
{
	size_t s = p / me->config.superpage;
	if (me->page[p].home && !(me->protocol->flags & TW_PROTOCOL_HOMES_MOVE))
		return me->page[p].home - 1;
	return home_note(me, p, tw_net_read64(me->net, home_keeper(me, s), home_offset(me, s)));
}

void tw_home_learn(struct tw_proc *me, const tw_page_t *page, unsigned count)
{
	uint64_t word[HOME_BATCH];
	tw_page_t of[HOME_BATCH];

	if (me->protocol->flags & TW_PROTOCOL_HOMES_MOVE)
		return;
	for (unsigned i = 0, n; i < count;) {
		for (n = 0; n < HOME_BATCH && i < count; i++) {
			size_t s = page[i] / me->config.superpage;
			if (me->page[page[i]].home)
				continue;
			of[n] = page[i];
			tw_net_read(me->net, home_keeper(me, s), home_offset(me, s), &word[n++], sizeof(*word));
		}
		tw_net_read_wait(me->net);
		while (n-- > 0)
			if (tw_page_trylock(me, of[n])) {
				if (!me->page[of[n]].home)
					home_note(me, of[n], word[n]);
				tw_page_unlock(me, of[n]);
			}
	}
}

void tw_home_touched(struct tw_proc *me, tw_page_t p, unsigned n, uint64_t *room, bool *touched)
{
	size_t s = p / me->config.superpage, words = (p + n - 1) / me->config.superpage - s + 1;

	for (unsigned node = 0; node < me->nodes; node++) {
		tw_net_read(me->net, node, home_offset(me, s), room, words * sizeof(*room));
		tw_net_read_wait(me->net);
		for (unsigned i = 0; i < n; i++) {
			size_t of = (p + i) / me->config.superpage;
			if (home_keeper(me, of) == node)
				touched[i] = room[of - s] != 0;
		}
	}
}

static bool home_propose(struct tw_proc *me, tw_page_t p, uint64_t word)
{
	size_t s = p / me->config.superpage;
	uint64_t old = tw_net_cas(me->net, home_keeper(me, s), home_offset(me, s), 0, word);
	home_note(me, p, old ? old : word);
	return old == 0;
}

bool tw_home_propose(struct tw_proc *me, tw_page_t p, unsigned node)
{
	return home_propose(me, p, node + 1);
}

bool tw_home_propose_all(struct tw_proc *me, tw_page_t first, tw_page_t last, unsigned node, struct tw_net_flow *flow)
{
	const size_t superpage = me->config.superpage, end = last / superpage;
	uint64_t old[HOME_BATCH];
	bool all = true;

	for (size_t s = first / superpage, n; s <= end; s += n) {
		n = TW_MIN(end - s + 1, (size_t)HOME_BATCH);
		for (size_t i = 0; i < n; i++) {
			struct tw_net_work work = {.kind = TW_NET_AMO, .node = home_keeper(me, s + i)};

			work.offset = home_offset(me, s + i), work.len = sizeof(*old), work.local = &old[i];
			work.op = TW_AMO_CAS, work.value = node + 1, work.expect = 0;
			tw_net_start(me->net, flow, &work);
		}
		tw_net_settle(me->net, flow, true);
		for (size_t p = TW_MAX(first, s * superpage); p <= last && p < (s + n) * superpage; p++) {
			if (old[p / superpage - s]) {
				all = false; /* and that home may have moved since */
				continue;
			}
			tw_page_lock(me, (tw_page_t)p);
			if (!me->page[p].home)
				home_note(me, (tw_page_t)p, node + 1);
			tw_page_unlock(me, (tw_page_t)p);
		}
	}
	return all;
}

unsigned tw_home_claim(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	if (e->home)
		return e->home - 1u;
	if (me->config.home[0] == 'r')
		home_propose(me, p, home_keeper(me, p / me->config.superpage) + 1);
	else if (me->config.home[0] == 'a' && me->id == 0 && !me->agent && !atomic_load(&me->n->barriers_done))
		home_propose(me, p, (me->node + 1) | HOME_TENTATIVE);
	else
		home_propose(me, p, me->node + 1);
	/* Another node has become tentative home since tw_home_tentative was called: make it permanent. */
	while (!e->home) {
		unsigned home = (unsigned)tw_home_get(me, p);
		tw_home_settle(me, p, home, home);
	}
	return e->home - 1u;
}

int tw_home_tentative(struct tw_proc *me, tw_page_t p)
{
	size_t s = p / me->config.superpage;

	if (me->config.home[0] != 'a' || me->page[p].home)
		return -1;
	uint64_t word = tw_net_read64(me->net, home_keeper(me, s), home_offset(me, s));
	return word & HOME_TENTATIVE && (uint16_t)word != me->node + 1 ? (int)(uint16_t)word - 1 : -1;
}

bool tw_home_settle(struct tw_proc *me, tw_page_t p, unsigned from, unsigned to)
{
	size_t s = p / me->config.superpage;
	uint64_t expect = (from + 1) | HOME_TENTATIVE;

	if (tw_net_cas(me->net, home_keeper(me, s), home_offset(me, s), expect, to + 1) != expect)
		return false;
	me->page[p].home = (uint16_t)(to + 1);
	return true;
}

bool tw_home_refresh(struct tw_proc *me, tw_page_t p)
{
	size_t s = p / me->config.superpage;
	uint64_t word = tw_net_read64(me->net, home_keeper(me, s), home_offset(me, s));

	me->page[p].home = (uint16_t)word;
	return word & HOME_MOVING;
}

bool tw_home_move_begin(struct tw_proc *me, tw_page_t p)
{
	size_t s = p / me->config.superpage;
	uint64_t expect = me->page[p].home;

	return tw_net_cas(me->net, home_keeper(me, s), home_offset(me, s), expect, expect | HOME_MOVING) == expect;
}

void tw_home_move_end(struct tw_proc *me, tw_page_t p, unsigned to)
{
	size_t s = p / me->config.superpage;

	me->page[p].home = (uint16_t)(to + 1);
	tw_net_cas(me->net, home_keeper(me, s), home_offset(me, s),
	           tw_net_read64(me->net, home_keeper(me, s), home_offset(me, s)), to + 1u);
}
