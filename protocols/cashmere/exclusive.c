/* SPDX-License-Identifier: BSD-3-Clause */
/* exclusive.c - the end of exclusive mode (Cashmere-2L, section 2.4.1).  It interrupts no process and changes no
 * mapping: the holder's writers keep theirs and find the page in their no-longer-exclusive set at their next
 * release.
 *
 * If the holder is the page's home, its frame is the master and up to date.  The other node appends a break to the
 * holder's queue of notices, flushes, and fetches; no process of the holder takes part.  If the home is elsewhere,
 * the holder's agent is asked; it sends the page home first.
 *
 * The order against the writer's release is essential.  The breaking side first publishes the break (queue entry
 * performed, or page in the writers' sets); then the page is read or copied.  A writer stores; then, after a full
 * fence, it reads queue and set.  So if a writer did not find the page, it stored before the page was read
 * (tests/models/exclusive.pml, doc/internals/publication.md). */
#include <string.h>

#include "protocols/cashmere/cashmere.h"

bool cash_shared(const struct tw_proc *me, tw_page_t p)
{
	for (unsigned n = 0; n < me->nodes; n++)
		if (n != me->node && (tw_dir_word(me, p, n) & TW_DIR_RIGHTS))
			return true;
	return false;
}

int cash_holder(const struct tw_proc *me, tw_page_t p, int notified)
{
	for (unsigned n = 0; n < me->nodes; n++)
		if (n != me->node && (int)n != notified && (tw_dir_word(me, p, n) & TW_DIR_EXCLUSIVE))
			return (int)n;
	return -1;
}

void cash_notify_home(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count)
{
	if (tw_planted(me, "no-break-wait"))
		return;
	for (unsigned i = 0; i < count; i++)
		tw_notice_break(me, node, first + i);
	tw_notice_flush(me);
}

void cash_break(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count)
{
	struct tw_msg msg = {.type = CASH_MSG_BREAK, .len = 16};
	msg.word[0] = first;
	msg.word[1] = count;
	if (tw_planted(me, "no-break-wait"))
		tw_send(me, node, me->layout.ports - 1, &msg);
	else
		tw_call(me, node, &msg);
}

static struct tw_pageset *exclusive_nle(struct tw_proc *me, unsigned local)
{
	return (struct tw_pageset *)(void *)(me->private_mem + me->layout.sets +
	                                     (TW_SETS * local + 1) * me->layout.set_bytes);
}

/* Send the page to the master as it is now.  A twin, where there are any, gets the same bytes.  Page locked, home
 * elsewhere. */
static void exclusive_send_home(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	char *sent = tw_frame(me, p);

	if (!cash_doubles(me))
		sent = memcpy(tw_twin_create(me, p), sent, me->layout.page_bytes);
	tw_net_write(me->net, e->home - 1u, tw_master_offset(me, p), sent, me->layout.page_bytes);
	e->ts_update = tw_tick(me);
	e->ts_flush = 0;
}

/* Page locked.  After this the writers' next releases find the page. */
static void exclusive_drop(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	e->state &= ~CASH_EXCLUSIVE;
	cash_extra(me, p)->patience = 0; /* retention was granted before exclusive mode */
	for (uint64_t w = e->writers; w; w &= w - 1)
		tw_pageset_add(exclusive_nle(me, (unsigned)__builtin_ctzll(w)), p);
	atomic_thread_fence(memory_order_seq_cst);
	me->stats->now.exclusive_breaks++;
	tw_trace_page(me, TW_TRACE_exclusive_break, p);
}

bool cash_broken(struct tw_proc *me, tw_page_t p)
{
	if (!(me->page[p].state & CASH_EXCLUSIVE))
		return false;
	exclusive_drop(me, p);
	cash_publish(me, p, TW_WRITE);
	return true;
}

/* Returns whether the page was sent home: that must be performed before the directory says that the mode has ended. */
static bool exclusive_end(struct tw_proc *me, tw_page_t p)
{
	exclusive_drop(me, p);
	if (cash_is_home(me, &me->page[p]) || cash_doubles(me))
		return false;
	exclusive_send_home(me, p);
	return true;
}

static void exclusive_end_run(struct tw_proc *me, tw_page_t first, unsigned count)
{
	uint64_t ended = 0;
	bool sent = false;

	_Static_assert(CASH_CHUNK <= 64, "one bit a page");
	for (unsigned i = 0; i < count; i++) {
		tw_page_lock(me, first + i);
		if (!(me->page[first + i].state & CASH_EXCLUSIVE))
			continue;
		ended |= (uint64_t)1 << i;
		sent |= exclusive_end(me, first + i);
	}
	if (sent)
		tw_net_flush(me->net, TW_NET_ALL);
	for (uint64_t e = ended; e; e &= e - 1)
		cash_publish(me, first + (unsigned)__builtin_ctzll(e), TW_WRITE);
	tw_net_flush(me->net, TW_NET_ALL);
	cash_unlock_run(me, first, count);
}

/* ---- homes after initialization (section 2.3) ---- */

void cash_settle(struct tw_proc *me, tw_page_t p)
{
	int home = tw_home_tentative(me, p);
	struct tw_msg msg = {.type = CASH_MSG_SETTLE, .len = 16};

	if (home < 0 || !atomic_load(&me->n->barriers_done))
		return;
	msg.word[0] = p;
	msg.word[1] = 1;
	tw_call(me, (unsigned)home, &msg);
}

/* May the page (locked) get another home?  Not when another node holds it, nor with unflushed changes. */
static bool settle_movable(struct tw_proc *me, tw_page_t p)
{
	const struct tw_page *e = &me->page[p];
	return !me->config.race && !(e->state & CASH_BUSY) && !cash_shared(me, p) && !e->twin &&
	       ((e->state & CASH_EXCLUSIVE) || !e->writers);
}

/* Send the contents to the page's new home, which is known.  Page locked. */
static void settle_move(struct tw_proc *me, tw_page_t p, unsigned to)
{
	struct tw_page *e = &me->page[p];

	e->home = (uint16_t)(to + 1);
	if (e->state & CASH_EXCLUSIVE) {
		exclusive_drop(me, p);
		exclusive_send_home(me, p);
		cash_publish(me, p, TW_WRITE);
	} else if (tw_dir_word(me, p, me->node) & TW_DIR_RIGHTS) {
		tw_net_write(me->net, to, tw_frame_offset(me, p), tw_frame(me, p), me->layout.page_bytes);
		e->ts_update = tw_tick(me);
	}
	me->stats->now.migrations++;
	tw_trace(me, TW_TRACE_migration, to, p, 0, 0);
}

static void settle_superpage(struct tw_proc *me, tw_page_t p, unsigned to)
{
	unsigned count = (unsigned)me->config.superpage;
	tw_page_t first = p - p % count;
	bool movable = true;

	for (unsigned i = 0; i < count; i++) {
		tw_page_lock(me, first + i);
		movable &= settle_movable(me, first + i);
	}
	if (tw_home_settle(me, p, me->node, movable ? to : me->node) && movable)
		for (unsigned i = 0; i < count; i++)
			settle_move(me, first + i, to);
	tw_net_flush(me->net, TW_NET_ALL);
	cash_unlock_run(me, first, count);
}

void cash_message(struct tw_proc *me, const struct tw_msg *msg)
{
	struct tw_msg reply = {0};
	uint64_t first = msg->word[0], count = msg->word[1];

	if (me->agent && msg->type == CASH_MSG_DIFF && cash_message_apply(me, msg)) {
		tw_reply(me, msg, &reply);
		return;
	}
	if (!me->agent || (msg->type != CASH_MSG_BREAK && msg->type != CASH_MSG_SETTLE) || msg->len != 16 ||
	    first >= me->layout.pages || count == 0 || count > me->layout.pages - first)
		tw_fatal("node %u sent a damaged request of type %u", msg->src_node, msg->type);
	if (msg->type == CASH_MSG_SETTLE) {
		settle_superpage(me, (tw_page_t)first, msg->src_node);
		tw_reply(me, msg, &reply);
		return;
	}
	for (uint64_t done = 0; done < count; done += CASH_CHUNK)
		exclusive_end_run(me, (tw_page_t)(first + done), (unsigned)TW_MIN(count - done, CASH_CHUNK));
	if (!tw_planted(me, "no-break-wait"))
		tw_reply(me, msg, &reply);
}
