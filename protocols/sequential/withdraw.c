/* SPDX-License-Identifier: BSD-3-Clause */
/* withdraw.c - takes rights on a page from a node: from each of its processors, which comply before the request is
 * answered.
 *
 * A node keeps a page for a while after it got it (the parameter hold; Mirage's time window), so that the access that
 * asked for it is executed, and an instruction on two pages finds both.  Until then the agent answers with the time
 * that is left, and the requester, which holds the directory entry, asks again. */

#include "protocols/sequential/sequential.h"

void seq_withdraw(struct tw_proc *me, unsigned node, tw_page_t p, enum tw_rights left)
{
	for (;;) {
		struct tw_msg msg = {.type = SEQ_MSG_WITHDRAW, .len = 16};
		msg.word[0] = p;
		msg.word[1] = left;
		tw_call(me, node, &msg);
		if (!msg.word[0])
			return;
		tw_delay(msg.word[0]);
	}
}

/* Returns for how long the node keeps the page; 0: the right is taken. */
static uint64_t withdraw_here(struct tw_proc *me, tw_page_t p, enum tw_rights left)
{
	const struct seq_parameters *values = me->protocol->values;
	struct tw_page *e = &me->page[p];
	uint64_t hold = values->hold * 1000, held;

	if (e->state == SEQ_RELAXED) {
		seq_relaxed_end(me, p);
	} else if (e->state > (left == TW_READ ? SEQ_SHARED : SEQ_INVALID)) {
		held = tw_time_ns() - e->ts_notice;
		if (held < hold)
			return hold - held;
		uint64_t victims = left == TW_READ ? e->writers : e->mapped;
		e->writers = 0;
		if (left == TW_NONE)
			e->mapped = 0;
		__atomic_store_n(&e->state, left == TW_READ ? SEQ_SHARED : SEQ_INVALID, __ATOMIC_SEQ_CST);
		if (left == TW_READ)
			tw_shootdown(me, p, 1, victims);
		else
			tw_revoke(me, p, 1, victims);
		me->stats->now.invalidations++;
		tw_trace_page(me, TW_TRACE_invalidation, p);
	}
	return 0;
}

void seq_message(struct tw_proc *me, const struct tw_msg *msg)
{
	struct tw_msg reply = {.len = 8};
	uint64_t p = msg->word[0], left = msg->word[1];

	if (!me->agent || msg->type != SEQ_MSG_WITHDRAW || msg->len != 16 || p >= me->layout.pages || left > TW_READ)
		tw_fatal("node %u sent a damaged request of type %u", msg->src_node, msg->type);
	tw_page_lock(me, (tw_page_t)p);
	reply.word[0] = withdraw_here(me, (tw_page_t)p, (enum tw_rights)left);
	tw_page_unlock(me, (tw_page_t)p);
	if (!reply.word[0])
		seq_relaxed_flush_all(me);
	tw_reply(me, msg, &reply);
}
