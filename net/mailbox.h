/* SPDX-License-Identifier: BSD-3-Clause */
/* mailbox.h - where an endpoint waits: its bell and its queue of messages, in the control memory of its node.
 *
 * Every process that maps a node's exported memory can use its mailboxes: processes of the node, processes of the host
 * under shm, and the node's server (driver/transport.h, serve), which places messages that arrived over a network.
 * Zeroed memory is an empty, silent mailbox.  No function here allocates or takes a lock.
 *
 * Bell.  tw_mailbox_sleep publishes `sleeping`, then the kernel compares the bell with @seen before it sleeps; ringing
 * increments the bell, then reads `sleeping`.  Both sides are store-then-load with sequentially consistent operations
 * between, so of a racing pair at least one sees the other's store: either the ringer sees `sleeping` and wakes, or
 * the kernel sees a bell that is not @seen and does not sleep.  (The kernel compares under the futex's own lock, which
 * the wake takes as well: a wake between compare and sleep is not lost.)
 *
 * Messages.  One bounded ring per endpoint, many senders, one receiver.  Position p uses slot p % MAILBOX_SLOTS in lap
 * p / MAILBOX_SLOTS; the slot's turn holds the lap, and whether it is free, filled, or being filled and by which
 * endpoint.  The sender that claims the slot at the tail advances the tail; so does a sender that finds this slot
 * claimed and the tail not advanced.  A sender that stalls between claim and fill delays later messages but loses
 * none: the bell is rung after its own fill.  The slot of a dead sender (tw_net_dead) is skipped; the process that
 * publishes the death rings. */
#ifndef TW_NET_MAILBOX_H
#define TW_NET_MAILBOX_H

#include "core/base/base.h"
#include "tweed/driver/transport.h"

#define MAILBOX_SLOTS 64u

/* A turn's lowest bits, below the lap: 0: free; 1: filled; else 2 + (node << 8 | port) of the sender that fills it. */
#define MAILBOX_WHO_BITS 26u

struct tw_mailbox_slot {
	_Atomic uint64_t turn;
	struct tw_msg msg;
};

struct tw_mailbox {
	TW_LINE_ALIGNED _Atomic uint32_t bell;
	_Atomic uint32_t sleeping;             /* threads of the endpoint in, or near, futex wait on bell */
	TW_LINE_ALIGNED _Atomic uint64_t tail; /* next position for senders to claim, or one just claimed */
	TW_LINE_ALIGNED uint64_t head;         /* next position to take; the receiver's own */
	TW_LINE_ALIGNED struct tw_mailbox_slot slot[MAILBOX_SLOTS];
};

_Static_assert(sizeof(struct tw_mailbox_slot) == 256, "slots are whole cache lines");

/* tw_mailbox_bytes - of all mailboxes of a node with @ports ports: whole 4096-byte pages. */
static inline size_t tw_mailbox_bytes(unsigned ports)
{
	return TW_ALIGN_UP(ports * sizeof(struct tw_mailbox), (size_t)4096);
}

/* tw_mailbox_of - the mailbox of @port, in a node's exported memory mapped at @base. */
static inline struct tw_mailbox *tw_mailbox_of(const struct tw_net_config *config, char *base, unsigned port)
{
	return (struct tw_mailbox *)(void *)(base + config->control_offset) + port;
}

/* tw_mailbox_put - append a copy of @msg, from (node, port), and ring.  Returns 0, or -EAGAIN when the queue is
 * full. */
int tw_mailbox_put(struct tw_mailbox *box, const struct tw_msg *msg, unsigned node, unsigned port);
/* tw_mailbox_claim, tw_mailbox_fill - its two halves: claim a slot for (node, port), NULL: the queue is full; copy,
 * and ring. */
struct tw_mailbox_slot *tw_mailbox_claim(struct tw_mailbox *box, unsigned node, unsigned port);
void tw_mailbox_fill(struct tw_mailbox *box, struct tw_mailbox_slot *slot, const struct tw_msg *msg, unsigned node,
                     unsigned port);
/* tw_mailbox_take - take the next message, checked against the job's shape (@config); false: there is none.  By the
 * owner. */
bool tw_mailbox_take(struct tw_mailbox *box, const struct tw_net_config *config, struct tw_msg *msg);
/* tw_mailbox_ring - change the bell, and wake the owner if it sleeps. */
void tw_mailbox_ring(struct tw_mailbox *box);
/* tw_mailbox_sleep - until the bell is not @seen, or @timeout_ns have passed (0: no limit).  May return early.  By the
 * owner. */
void tw_mailbox_sleep(struct tw_mailbox *box, uint32_t seen, uint64_t timeout_ns);
static inline uint32_t tw_mailbox_bell(struct tw_mailbox *box)
{
	return atomic_load(&box->bell);
}

#endif
