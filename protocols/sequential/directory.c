/* SPDX-License-Identifier: BSD-3-Clause */
/* directory.c - a page's directory entry, in its home's exported memory: locked by an atomic operation, then read and
 * written.  The processor that holds the lock makes all changes of the nodes' rights on the page, one transaction after
 * the other. */
#include <stddef.h>

#include "protocols/sequential/sequential.h"

#define DIRECTORY_SPINS    16u
#define DIRECTORY_SPIN_NS  50u
#define DIRECTORY_PAUSE_NS 2000u /* first, and at most */
#define DIRECTORY_MOST_NS  200000u

_Static_assert(sizeof(struct seq_entry) <= SEQ_ENTRY_BYTES, "an entry fits its place");

static size_t directory_at(const struct tw_proc *me, tw_page_t p)
{
	return me->layout.protocol + (size_t)p * SEQ_ENTRY_BYTES;
}

unsigned seq_home(struct tw_proc *me, tw_page_t p)
{
	unsigned home = __atomic_load_n(&me->page[p].home, __ATOMIC_RELAXED);

	if (home)
		return home - 1u;
	tw_page_lock(me, p);
	home = tw_home_claim(me, p);
	tw_page_unlock(me, p);
	return home;
}

bool seq_entry_lock(struct tw_proc *me, unsigned home, tw_page_t p, enum tw_rights want, struct seq_entry *entry)
{
	uint64_t pause_ns = DIRECTORY_PAUSE_NS;

	for (unsigned tries = 1; tw_net_cas(me->net, home, directory_at(me, p), 0, me->id + 1u); tries++) {
		if (want && seq_has(&me->page[p], want))
			return false;
		if (tries < DIRECTORY_SPINS) {
			tw_delay(DIRECTORY_SPIN_NS);
			continue;
		}
		tw_delay(pause_ns);
		pause_ns = TW_MIN(2 * pause_ns, (uint64_t)DIRECTORY_MOST_NS);
	}
	tw_net_read(me->net, home, directory_at(me, p), entry, sizeof(*entry));
	tw_net_read_wait(me->net);
	return true;
}

void seq_entry_unlock(struct tw_proc *me, unsigned home, tw_page_t p, const struct seq_entry *entry)
{
	size_t first = offsetof(struct seq_entry, owner);

	tw_net_write(me->net, home, directory_at(me, p) + first, (const char *)entry + first, sizeof(*entry) - first);
	tw_net_flush(me->net, home);
	tw_net_swap(me->net, home, directory_at(me, p), 0);
}
