/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/mailbox.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

void tw_mailbox_ring(struct tw_mailbox *box)
{
	atomic_fetch_add(&box->bell, 1);
	if (atomic_load(&box->sleeping))
		tw_futex_wake(&box->bell, INT_MAX);
}

static uint64_t mailbox_lap(uint64_t position)
{
	return position / MAILBOX_SLOTS << MAILBOX_WHO_BITS;
}

struct tw_mailbox_slot *tw_mailbox_claim(struct tw_mailbox *box, unsigned node, unsigned port)
{
	uint64_t who = 2 + (node << 8 | port);

	TW_ASSERT(node < 1u << 16 && port < 1u << 8);
	for (;;) {
		uint64_t at = atomic_load_explicit(&box->tail, memory_order_relaxed), lap = mailbox_lap(at);
		struct tw_mailbox_slot *slot = &box->slot[at % MAILBOX_SLOTS];
		uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

		if (turn < lap)
			return NULL;
		bool claimed = turn == lap && atomic_compare_exchange_strong(&slot->turn, &turn, lap | who);
		atomic_compare_exchange_strong(&box->tail, &at, at + 1);
		if (claimed)
			return slot;
	}
}

void tw_mailbox_fill(struct tw_mailbox *box, struct tw_mailbox_slot *slot, const struct tw_msg *msg, unsigned node,
                     unsigned port)
{
	uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);

	TW_ASSERT(msg->len <= TW_MSG_BODY);
	memcpy(&slot->msg, msg, offsetof(struct tw_msg, body) + msg->len);
	slot->msg.src_node = (uint16_t)node;
	slot->msg.src_port = (uint16_t)port;
	atomic_store_explicit(&slot->turn, (turn >> MAILBOX_WHO_BITS << MAILBOX_WHO_BITS) | 1, memory_order_release);
	tw_mailbox_ring(box);
}

int tw_mailbox_put(struct tw_mailbox *box, const struct tw_msg *msg, unsigned node, unsigned port)
{
	struct tw_mailbox_slot *slot = tw_mailbox_claim(box, node, port);

	if (!slot)
		return -EAGAIN;
	tw_mailbox_fill(box, slot, msg, node, port);
	return 0;
}

/* Free the slot at the head for the next lap. */
static void mailbox_pass(struct tw_mailbox *box)
{
	struct tw_mailbox_slot *slot = &box->slot[box->head % MAILBOX_SLOTS];

	atomic_store_explicit(&slot->turn, mailbox_lap(box->head++ + MAILBOX_SLOTS), memory_order_release);
}

/* The next slot with a message, after slots of dead senders are freed; NULL: none. */
static const struct tw_mailbox_slot *mailbox_next(struct tw_mailbox *box, const struct tw_net_config *config)
{
	for (;;) {
		const struct tw_mailbox_slot *slot = &box->slot[box->head % MAILBOX_SLOTS];
		uint64_t who = atomic_load_explicit(&slot->turn, memory_order_acquire) - mailbox_lap(box->head);

		if (who < 2)
			return who ? slot : NULL;
		if (!tw_net_dead(config, (unsigned)(who - 2) >> 8, (unsigned)(who - 2) & 255))
			return NULL;
		mailbox_pass(box);
	}
}

bool tw_mailbox_take(struct tw_mailbox *box, const struct tw_net_config *config, struct tw_msg *msg)
{
	const struct tw_mailbox_slot *slot = mailbox_next(box, config);

	if (!slot)
		return false;
	memcpy(msg, &slot->msg, offsetof(struct tw_msg, body));
	if (msg->type == 0 || msg->len > TW_MSG_BODY || msg->src_node >= config->nodes ||
	    msg->src_port >= config->ports)
		tw_fatal("damaged message (type %u, %u bytes, from %u.%u)", msg->type, msg->len, msg->src_node,
		         msg->src_port);
	memcpy(msg->body, slot->msg.body, msg->len);
	mailbox_pass(box);
	return true;
}

void tw_mailbox_sleep(struct tw_mailbox *box, uint32_t seen, uint64_t timeout_ns)
{
	atomic_fetch_add(&box->sleeping, 1);
	if (atomic_load(&box->bell) == seen)
		tw_futex_wait(&box->bell, seen, timeout_ns);
	atomic_fetch_sub_explicit(&box->sleeping, 1, memory_order_relaxed);
}
