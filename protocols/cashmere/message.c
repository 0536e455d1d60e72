/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c - diffs as messages (Cashmere-2LOffMC and 2LMigr, section 2.6), for data that is not remotely writable.
 *
 * As on the Memory Channel, a message's body lies in a buffer of the sender's own at the receiver, written remotely.
 * A small message then asks the home's agent to apply it; the reply confirms that.
 *
 * A processor that waits for an agent holds no page lock, because that agent may wait for page locks itself.  So a
 * release marks pages whose diffs are in flight as busy and unlocks them.  No processor of the node flushes, fetches
 * or withdraws a busy page: the home's copy must have the diff first (tests/models/message.pml; page.pml,
 * UNLOCK_FIRST and FETCH_EARLY).  Agents never wait for a busy page. */
#include <string.h>

#include "protocols/cashmere/cashmere.h"

/* In a buffer: for each page this, then runs: two uint16_t (offset, length - 1) and the bytes. */
struct message_diff {
	uint32_t page, bytes; /* of the runs */
};

size_t cash_exported_bytes(const struct tw_layout *layout)
{
	return (size_t)layout->nodes * layout->processors * CASH_BUFFER;
}

static size_t message_buffer(const struct tw_layout *l, unsigned node, unsigned local)
{
	return l->protocol + ((size_t)node * l->processors + local) * CASH_BUFFER;
}

unsigned cash_message_pages(const struct tw_proc *me)
{
	/* A run has at least one byte, and at least one byte that is not in it behind it. */
	size_t most = sizeof(struct message_diff) + me->layout.page_bytes / 2 * 5;
	return (unsigned)TW_MIN(CASH_BUFFER / most, CASH_CHUNK);
}

/* ---- the sender ---- */

static void message_put(struct cash_outbox *out, const void *bytes, size_t len)
{
	TW_ASSERT(out->bytes + len <= CASH_BUFFER);
	memcpy(out->body + out->bytes, bytes, len);
	out->bytes += len;
}

void cash_message_begin(struct tw_proc *me, tw_page_t p)
{
	struct cash_outbox *out = &cash_of(me)->outbox;
	struct message_diff head = {.page = p};

	out->diff[out->diffs].at = out->bytes;
	out->diff[out->diffs].home = me->page[p].home - 1u;
	message_put(out, &head, sizeof(head));
}

void cash_message_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	struct tw_proc *me = ctx;
	uint16_t head[2] = {(uint16_t)offset, (uint16_t)(len - 1)};

	message_put(&cash_of(me)->outbox, head, sizeof(head));
	message_put(&cash_of(me)->outbox, bytes, len);
}

bool cash_message_end(struct tw_proc *me)
{
	struct cash_outbox *out = &cash_of(me)->outbox;
	struct message_diff head;
	size_t at = out->diff[out->diffs].at;

	memcpy(&head, out->body + at, sizeof(head));
	head.bytes = (uint32_t)(out->bytes - at - sizeof(head));
	memcpy(out->body + at, &head, sizeof(head));
	if (!head.bytes) {
		out->bytes = at;
		return false;
	}
	out->diff[out->diffs++].len = sizeof(head) + head.bytes;
	return true;
}

static void message_deliver(struct tw_proc *me, unsigned home)
{
	struct cash_outbox *out = &cash_of(me)->outbox;
	struct tw_msg msg = {.type = CASH_MSG_DIFF, .len = 8};
	size_t at = message_buffer(&me->layout, me->node, me->local);

	for (unsigned i = 0; i < out->diffs; i++) {
		if (out->diff[i].home != home)
			continue;
		tw_net_write(me->net, home, at + msg.word[0], out->body + out->diff[i].at, out->diff[i].len);
		msg.word[0] += out->diff[i].len;
	}
	if (msg.word[0])
		tw_call(me, home, &msg);
}

void cash_message_send(struct tw_proc *me)
{
	struct cash_outbox *out = &cash_of(me)->outbox;

	for (unsigned home = 0; home < me->nodes && out->diffs; home++)
		message_deliver(me, home);
	out->diffs = 0;
	out->bytes = 0;
}

/* ---- the home's agent ---- */

static bool message_apply_page(struct tw_proc *me, const struct message_diff *head, const char *runs)
{
	if (head->page >= me->layout.pages)
		return false;
	for (size_t at = 0; at < head->bytes;) {
		uint16_t run[2];
		if (head->bytes - at < sizeof(run))
			return false;
		memcpy(run, runs + at, sizeof(run));
		at += sizeof(run);
		size_t len = (size_t)run[1] + 1;
		if (len > head->bytes - at || run[0] + len > me->layout.page_bytes)
			return false;
		tw_diff_apply(tw_frame(me, head->page) + run[0], runs + at, len);
		at += len;
	}
	return true;
}

bool cash_message_apply(struct tw_proc *me, const struct tw_msg *msg)
{
	const char *body = me->net->base + message_buffer(&me->layout, msg->src_node, msg->src_port);

	if (msg->len != 8 || msg->src_port >= me->layout.processors || msg->word[0] > CASH_BUFFER)
		return false;
	for (size_t at = 0; at < msg->word[0];) {
		struct message_diff head;
		if (msg->word[0] - at < sizeof(head))
			return false;
		memcpy(&head, body + at, sizeof(head));
		at += sizeof(head);
		if (head.bytes > msg->word[0] - at || !message_apply_page(me, &head, body + at))
			return false;
		at += head.bytes;
	}
	return true;
}

/* ---- busy pages ---- */

struct message_idle {
	struct tw_proc *me;
	tw_page_t p;
};

static bool message_is_idle(void *arg)
{
	struct message_idle *w = arg;
	return !(__atomic_load_n(&w->me->page[w->p].state, __ATOMIC_ACQUIRE) & CASH_BUSY);
}

void cash_lock_busy(struct tw_proc *me, tw_page_t p)
{
	struct message_idle wait = {.me = me, .p = p};

	while (me->page[p].state & CASH_BUSY) {
		me->page[p].state |= CASH_AWAITED;
		tw_page_unlock(me, p);
		tw_net_wait(me->net, message_is_idle, &wait);
		tw_page_lock(me, p);
	}
}

void cash_idle(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];
	bool awaited = e->state & CASH_AWAITED;

	__atomic_store_n(&e->state, e->state & ~(CASH_BUSY | CASH_AWAITED), __ATOMIC_RELEASE);
	if (awaited)
		tw_net_notify(me->net, me->node, TW_NET_ALL);
}
