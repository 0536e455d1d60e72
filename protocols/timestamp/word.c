/* SPDX-License-Identifier: BSD-3-Clause */
/* word.c - atomic operations on words, in a shared copy of the page: at one node, in exported memory, beside the public
 * copy.
 *
 * The home of a page that is operated on does not move.  The first node to operate copies the newest version, in the
 * page's section, into its shared copy, and the section's state says so (TS_SHARED).  A node enters the shared copy in
 * the section, too, and counts itself there (ts_meta.entered).  Until it leaves, all versions are in the shared copy: a
 * commit sends it what the node has changed (commit.c).  A commit that finds that no node has entered ends this: it
 * merges the shared copy as any version of another node, and its node is the home.  So while a node has entered, the
 * shared copy is the newest copy, and all nodes that operate choose the same; the processor's instruction, or the
 * transport's compare-and-swap (core/coherence/word.c), orders the operations.
 *
 * Loads.  A page that no node changes atomically should be exclusive as any other, so a load does not begin a shared
 * copy where this node is the home and the chain of links ends here: its frame is the newest copy, at the time of that
 * look (word_here).  An operation by another node needs the section first, and is not before the load.
 *
 * Other accesses.  What the node's processors have stored to the word, and what no release has sent yet, goes to the
 * shared copy before the operation.  Behind it, frame and twin have the new value: the word is in no diff, and the
 * node's processors load what they have stored.  Bytes around the word may be treated as the word, as what differs
 * between frame and twin may be sent at any time before the release.
 *
 * Versions.  An operation is in the shared copy before it is in a version: readers may see it early, as any store of
 * another node.  The next release of the node makes a version for it (ts_announce), unless a commit of this node has.
 * Its time is later than that of all copies that may lack the operation.  Until then the page counts as
 * changed (ts_page.announce), so a neighbour's release whose stores the operation has sent makes that version, too.
 *
 * What this node reads.  A copy without its own operations would undo them here.  A node that has entered reads the
 * shared copy, whatever version it needs, for that has all of them.  It leaves when all are announced, and then needs
 * the version that has announced them, or a later one.
 *
 * The shared copy never gets older, also behind its end: so it can be read by a notice, without the section.
 *
 * Loads without the lock (ts_word_peek), which order nothing else: the node is in the same shared copy before and
 * behind the load, and has not left in between, so that was the newest copy throughout.  Where processors here have
 * stored what no release has sent, there is no such load; nor where the frame, in which a plain load follows, has
 * another value, or may get an older one by a neighbour's fetch, which has the page locked.
 *
 * tests/models/shared.pml and peek.pml check it. */
#include "protocols/timestamp/timestamp.h"

#include <string.h>

#define WORD_MOST   16u /* bytes */
#define WORD_UNUSED 3u  /* commits and notices without an operation */

/* ---- the shared copy --------------------------------------------------------------------------------------------- */

static void shared_count(struct tw_proc *me, tw_page_t p, unsigned node, uint64_t change)
{
	tw_net_fadd(me->net, node, ts_meta_offset(me, p) + offsetof(struct ts_meta, entered), change);
}

/* Make the shared copy here the newest version, which @n is.  In the section, page locked. */
static void shared_begin(struct tw_proc *me, tw_page_t p, struct ts_newest *n)
{
	if (!ts_held(me, p, n))
		ts_read(me, p, n->home, false);
	ts_has(me, p, n->wts, n->rts);
	ts_twin(me, p);
	memcpy(me->net->base + ts_shared_offset(me, p), ts_public(me, p), me->layout.page_bytes);
	n->home = me->node;
	n->shared = true;
}

/* No page lock held. */
static void shared_enter(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);
	struct ts_newest n;

	tw_page_lock(me, p);
	tw_home_claim(me, p);
	tw_page_unlock(me, p);
	ts_newest_read(me, p, ts_section_enter(me, p), &n);
	if (n.home == me->node && (atomic_load(&ts_meta(me, p)->home) & TS_EXCLUSIVE))
		ts_break(me, p, me->node);
	tw_page_lock(me, p);
	if (!n.shared)
		shared_begin(me, p, &n);
	ts_publish_again(me, p, &n);
	if (ts_entered(x) < 0) {
		atomic_store(&x->shared, (atomic_load(&x->shared) & ~0xffffu) | (n.home + 1));
		x->operated = WORD_UNUSED;
		shared_count(me, p, n.home, 1);
	}
	tw_page_unlock(me, p);
	ts_section_leave(me, p);
}

void ts_shared_unused(struct tw_proc *me, tw_page_t p)
{
	struct ts_page *x = ts_page(me, p);
	int node = ts_entered(x);

	if (node < 0 || x->announce || (x->operated && --x->operated))
		return;
	atomic_store(&x->shared, (atomic_load(&x->shared) & ~0xffffu) + 0x10000u);
	shared_count(me, p, (unsigned)node, (uint64_t)-1);
}

bool ts_shared_stays(struct tw_proc *me, tw_page_t p, const struct ts_newest *n)
{
	if (!n->shared)
		return false;
	ts_shared_unused(me, p);
	return ts_entered(ts_page(me, p)) >= 0 ||
	       tw_net_read64(me->net, n->home, ts_meta_offset(me, p) + offsetof(struct ts_meta, entered));
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static struct tw_location word_at(struct tw_proc *me, tw_page_t p, size_t at)
{
	struct tw_location to = {.node = (unsigned)ts_entered(ts_page(me, p)), .offset = ts_shared_offset(me, p) + at};

	if (to.node == me->node)
		to.at = me->net->base + to.offset;
	else if (me->net->ops->direct)
		to.at = tw_net_direct(me->net, to.node, to.offset);
	return to;
}

/* Is the frame the newest copy: no shared copy, and no other node that has a later version?  Page locked. */
static bool word_here(struct tw_proc *me, tw_page_t p)
{
	if (!me->page[p].home || !ts_section_ends(me, p))
		return false;
	uint64_t home = atomic_load(&ts_meta(me, p)->home);
	return !(home & (TS_SHARED | TS_BUSY)) && ts_home_node(me, p, home) == me->node;
}

/* Can the node operate on @p (locked)? */
static bool word_ready(struct tw_proc *me, tw_page_t p, bool loads)
{
	return ts_entered(ts_page(me, p)) >= 0 || (loads && word_here(me, p));
}

static void word_lock(struct tw_proc *me, tw_page_t p, bool loads)
{
	tw_page_lock(me, p);
	while (!word_ready(me, p, loads)) {
		tw_page_unlock(me, p);
		shared_enter(me, p);
		tw_page_lock(me, p);
	}
}

bool ts_word(struct tw_proc *me, size_t offset, size_t bytes, bool loads, bool wait, struct tw_location *where)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	size_t at = offset & (me->layout.page_bytes - 1);
	struct ts_page *x = ts_page(me, p);

	if (wait) {
		word_lock(me, p, loads);
	} else if (!tw_page_trylock(me, p)) {
		return false;
	} else if (!word_ready(me, p, loads)) {
		tw_page_unlock(me, p);
		return false;
	}
	if (ts_entered(x) < 0) {
		*where = (struct tw_location){.at = tw_frame(me, p) + at};
		return true;
	}
	x->operated = WORD_UNUSED;
	*where = word_at(me, p, at);
	if (x->twin) { /* stores that no release has sent yet */
		char now[WORD_MOST];
		tw_diff_load(now, tw_frame(me, p) + at, bytes);
		if (tw_word_merge(me, *where, now, ts_public(me, p) + at, bytes)) {
			x->announce = 1;
			tw_pageset_add(me->noticing, p);
		}
	}
	return true;
}

void ts_word_done(struct tw_proc *me, size_t offset, size_t bytes, bool changed, const void *now)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	size_t at = offset & (me->layout.page_bytes - 1);
	struct ts_page *x = ts_page(me, p);
	char value[WORD_MOST], *frame = tw_frame(me, p) + at;

	if (ts_entered(x) < 0) {
		tw_page_unlock(me, p);
		return;
	}
	if (now)
		memcpy(value, now, bytes);
	else
		tw_diff_load(value, word_at(me, p, at).at, bytes);
	/* Without a twin no neighbour stores to the page meanwhile.  Where the node has no copy, the frame keeps the
	 * value for the next load without the lock, and @now as the next operation's guess (core/coherence/word.c). */
	if (x->twin)
		tw_word_merge(me, (struct tw_location){.at = frame}, value, ts_public(me, p) + at, bytes);
	else if (x->copy || now || !changed)
		tw_diff_apply(frame, value, bytes);
	if (changed) {
		x->announce = 1;
		tw_pageset_add_fenced(me->noticing, p);
	}
	tw_page_unlock(me, p);
}

bool ts_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value)
{
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	const struct ts_page *x = ts_page(me, p);
	uint32_t shared = atomic_load(&x->shared);

	/* A node that only loads leaves after some notices: the lock's way renews that. */
	if (!(shared & 0xffff) || __atomic_load_n(&x->operated, __ATOMIC_RELAXED) < WORD_UNUSED ||
	    atomic_load(&me->page[p].writers))
		return false;
	unsigned node = (shared & 0xffff) - 1;
	size_t in_page = offset & (me->layout.page_bytes - 1), at = ts_shared_offset(me, p) + in_page;
	char own[WORD_MOST];

	tw_diff_load(value, node == me->node ? me->net->base + at : tw_net_direct(me->net, node, at), bytes);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&x->shared, memory_order_relaxed) != shared || tw_page_locked(me, p))
		return false;
	tw_diff_load(own, tw_frame(me, p) + in_page, bytes);
	return memcmp(own, value, bytes) == 0;
}
