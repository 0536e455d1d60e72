/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/mailbox.h"

#include <errno.h>
#include <string.h>

void tw_mailbox_ring(struct tw_mailbox *box)
{
	atomic_fetch_add(&box->bell, 1);
	if (atomic_load(&box->sleeping))
		tw_futex_wake(&box->bell, 1);
}

int tw_mailbox_put(struct tw_mailbox *box, const struct tw_msg *msg, unsigned node, unsigned port)
{
	uint64_t at = atomic_load_explicit(&box->tail, memory_order_relaxed);
	struct tw_mailbox_slot *slot;

	TW_ASSERT(msg->len <= TW_MSG_BODY);
	for (;;) {
		slot = &box->slot[at % MAILBOX_SLOTS];
		uint64_t free_turn = at / MAILBOX_SLOTS * 2;
		uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

		if (turn < free_turn)
			return -EAGAIN;
		if (turn == free_turn && atomic_compare_exchange_weak(&box->tail, &at, at + 1))
			break;
		if (turn > free_turn)
			at = atomic_load_explicit(&box->tail, memory_order_relaxed);
	}
	memcpy(&slot->msg, msg, offsetof(struct tw_msg, body) + msg->len);
	slot->msg.src_node = (uint16_t)node;
	slot->msg.src_port = (uint16_t)port;
	atomic_store_explicit(&slot->turn, at / MAILBOX_SLOTS * 2 + 1, memory_order_release);
	tw_mailbox_ring(box);
	return 0;
}

bool tw_mailbox_take(struct tw_mailbox *box, const struct tw_net_config *config, struct tw_msg *msg)
{
	struct tw_mailbox_slot *slot = &box->slot[box->head % MAILBOX_SLOTS];
	uint64_t lap = box->head / MAILBOX_SLOTS;

	if (atomic_load_explicit(&slot->turn, memory_order_acquire) != lap * 2 + 1)
		return false;
	memcpy(msg, &slot->msg, offsetof(struct tw_msg, body));
	if (msg->type == 0 || msg->len > TW_MSG_BODY || msg->src_node >= config->nodes ||
	    msg->src_port >= config->ports)
		tw_fatal("damaged message (type %u, %u bytes, from %u.%u)", msg->type, msg->len, msg->src_node,
		         msg->src_port);
	memcpy(msg->body, slot->msg.body, msg->len);
	box->head++;
	atomic_store_explicit(&slot->turn, lap * 2 + 2, memory_order_release);
	return true;
}

void tw_mailbox_sleep(struct tw_mailbox *box, uint32_t seen, uint64_t timeout_ns)
{
	atomic_store(&box->sleeping, 1);
	if (atomic_load(&box->bell) == seen)
		tw_futex_wait(&box->bell, seen, timeout_ns);
	atomic_store_explicit(&box->sleeping, 0, memory_order_relaxed);
}
