/* SPDX-License-Identifier: BSD-3-Clause */
/* directory.c - the first-level page directory and the homes.
 *
 * A page's homes word lives at node (superpage mod nodes): one atomic there decides who was first to touch it, in place
 * of the paper's global lock.  Everyone caches the answer in the second-level entry. */
#include <string.h>

#include "tweed/driver/protocol.h"

void tw_dir_publish(struct tw_proc *me, tw_page_t p, uint64_t word)
{
	word |= (uint64_t)me->page[p].home << TW_DIR_HOME_SHIFT;
	tw_net_broadcast64(me->net, tw_dir_offset(me, p, me->node), word);
	me->stats->now.directory_updates++;
}

static unsigned home_keeper(const struct tw_proc *me, size_t superpage)
{
	return (unsigned)(superpage % me->nodes);
}

static size_t home_offset(const struct tw_proc *me, size_t superpage)
{
	return me->layout.homes + superpage * sizeof(uint64_t);
}

int tw_home_get(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	if (!e->home) {
		size_t s = p / me->config.superpage;
		e->home = (uint16_t)tw_net_read64(me->net, home_keeper(me, s), home_offset(me, s));
	}
	return (int)e->home - 1;
}

bool tw_home_propose(struct tw_proc *me, tw_page_t p, unsigned node)
{
	size_t s = p / me->config.superpage;
	uint64_t old = tw_net_cas(me->net, home_keeper(me, s), home_offset(me, s), 0, node + 1);
	me->page[p].home = (uint16_t)(old ? old : node + 1);
	return old == 0;
}

unsigned tw_home_claim(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	if (!e->home) {
		bool first_touch = me->config.home[0] == 'f';
		tw_home_propose(me, p, first_touch ? me->node : home_keeper(me, p / me->config.superpage));
	}
	return e->home - 1u;
}
