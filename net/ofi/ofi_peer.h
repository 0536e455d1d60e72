/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_peer.h - a peer: another endpoint, reached without its server (net/ofi/ofi_wire.h); what its messages do: bytes
 * in, a part of this node's memory changed.  No libfabric here; one thread.
 *
 * Senders never block, because the peer may compute.  Sequence numbers advance by weight; beyond OFI_UNACKED
 * unacknowledged, messages are refused.  Every message acknowledges what its sender has received; an endpoint with
 * nothing to send acknowledges by a message of its own at half of OFI_UNACKED. */
#ifndef TW_NET_OFI_OFI_PEER_H
#define TW_NET_OFI_OFI_PEER_H

#include "net/ofi/ofi_wire.h"

#define OFI_UNACKED       64u
#define OFI_SIGNAL_WEIGHT 2048u /* bytes of weight 1: unacknowledged messages fit into the system's buffers */
#define OFI_SIGNAL_MOST   (OFI_MESSAGE - sizeof(struct ofi_signal)) /* bytes of data */

struct ofi_peer {
	uint16_t node; /* of the endpoint */
	uint8_t port, lane;
	/* To it. */
	enum { OFI_UNKNOWN, OFI_KNOWN, OFI_CONNECTED, OFI_CLOSED } state; /* CLOSED: not tried again */
	bool asleep; /* it waits for this endpoint, and only its server can wake it */
	uint64_t to; /* the port's number for it */
	struct ofi_key key;
	uint64_t sent, acked; /* sequence numbers: of the last message; of the last that is acknowledged */
	/* From it. */
	uint64_t session; /* the number that it drew; 0: no introduction has arrived */
	struct ofi_key its_key;
	uint64_t received, acked_back; /* sequence numbers: of the last message; of the last that was acknowledged */
	bool left;                     /* it sends nothing more */
	struct ofi_window memory;      /* its node's, for remote access through its port */
};

struct ofi_peers {
	struct ofi_card card; /* this endpoint's */
	struct ofi_window memory;
	unsigned unacked; /* peers for which ofi_peer_unacked holds */
	unsigned peers;
	struct ofi_peer peer[];
};

/* ofi_peers_create - for all endpoints of the job; the card has no address yet.  NULL: no memory, or no random numbers.
 * Freed by free(). */
struct ofi_peers *ofi_peers_create(const struct tw_net_config *config);

static inline struct ofi_peer *ofi_peer_of(struct ofi_peers *m, const struct tw_net_config *config, unsigned node,
                                           unsigned port, unsigned lane)
{
	return &m->peer[(node * config->ports + port) * OFI_LANES + lane];
}

static inline unsigned ofi_peer_weight(size_t bytes)
{
	return 1 + (unsigned)(bytes / OFI_SIGNAL_WEIGHT);
}

/* ofi_peer_know - derive the key to @peer from its card; false: @card is not valid, or not yet.
 * ofi_peer_know_back - the same from its introduction, which was accepted. */
bool ofi_peer_know(struct ofi_peers *m, const struct tw_net_config *config, struct ofi_peer *peer,
                   const struct ofi_card *card);
void ofi_peer_know_back(struct ofi_peers *m, const struct tw_net_config *config, struct ofi_peer *peer);

/* ofi_peer_may_send - may a message of @bytes be sent to it?
 * ofi_peer_unacked - does it need an acknowledgement?
 * ofi_peer_head - fill in and seal the head of the next message, of @head->bytes; ofi_peer_sent - that message was
 * sent. */
static inline bool ofi_peer_may_send(const struct ofi_peer *peer, size_t bytes)
{
	return peer->sent - peer->acked + ofi_peer_weight(bytes) <= OFI_UNACKED;
}
static inline bool ofi_peer_unacked(const struct ofi_peer *peer)
{
	return peer->received - peer->acked_back >= OFI_UNACKED / 2;
}
void ofi_peer_head(const struct ofi_peers *m, const struct ofi_peer *peer, const struct tw_net_config *config,
                   enum ofi_kind kind, struct ofi_head *head);
void ofi_peer_sent(struct ofi_peers *m, struct ofi_peer *peer, const struct ofi_head *head);

/* ofi_peer_receive - a message of @bytes that @net's endpoint received.  Returns 0 if it is not a new message of an
 * endpoint of this job: then nothing has changed.  Else:
 * OFI_PEER_SIGNALED - the memory of a put with signal has changed;
 * OFI_PEER_CONNECTED - it was the peer's introduction;
 * OFI_PEER_DELEGATED, OFI_PEER_REPLIED - a DELEGATE or DELEGATE_REPLY, for the caller to handle;
 * OFI_PEER_ACKED - an acknowledgement alone;
 * OFI_PEER_INACTIVE - the peer sleeps, or leaves;
 * -EPROTO - the message of (head->node, head->port) makes no sense, or one before it was lost. */
enum {
	OFI_PEER_SIGNALED = 1,
	OFI_PEER_CONNECTED,
	OFI_PEER_DELEGATED,
	OFI_PEER_REPLIED,
	OFI_PEER_ACKED,
	OFI_PEER_INACTIVE
};
int ofi_peer_receive(struct ofi_peers *m, const struct tw_net *net, const struct ofi_head *head, size_t bytes);

#endif
