/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_peer.h - endpoints of the ofi transport that tell each other (net/ofi/ofi_wire.h): what one knows of another, and what it does with
 * messages: bytes in, a part of its node's memory out.  No libfabric here; one thread.
 *
 * Who tells never waits for who hears, for that one may compute: messages are numbered by weight, and beyond OFI_UNACKED that the
 * other has not heard the next one is refused.  Each message says how many its sender has heard; whoever has nothing to tell says that alone,
 * at half of them. */
#ifndef TW_NET_OFI_OFI_PEER_H
#define TW_NET_OFI_OFI_PEER_H

#include "net/ofi/ofi_wire.h"

#define OFI_UNACKED 64u
#define OFI_SIGNAL_WEIGHT                                                                                                \
	2048u /* bytes that weigh 1: all that is unheard fits into what the system keeps of a connection */
#define OFI_SIGNAL_MOST (OFI_MESSAGE - sizeof(struct ofi_signal)) /* bytes of data */

struct ofi_peer {
	uint16_t node; /* whom it is, on which lane */
	uint8_t port, lane;
	/* The way there. */
	enum { OFI_UNKNOWN, OFI_KNOWN, OFI_CONNECTED, OFI_CLOSED } state; /* CLOSED: we seek none any more */
	bool asleep; /* it waits for us, and its server alone can wake it */
	uint64_t to; /* libfabric's number for it */
	struct ofi_key key;
	uint64_t sent, acked; /* the number of the last message; what it is known to have heard of them */
	/* The way back. */
	uint64_t session; /* it has drawn that; 0: no greeting has come */
	struct ofi_key its_key;
	uint64_t received, acked_back; /* the last that we have heard; that it has been told so */
	bool left;                    /* it tells nothing more */
	struct ofi_window memory;     /* of its node, at it */
};

struct ofi_peers {
	struct ofi_card card; /* our own */
	struct ofi_window memory;
	unsigned unacked;        /* how often one has told half of OFI_UNACKED, and has not been told that it is heard */
	unsigned peers;
	struct ofi_peer peer[];
};

/* ofi_peers_create - for all endpoints of the job; the card has no address yet.  NULL: no memory, or no random numbers.  Freed by free(). */
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

/* ofi_peer_know - @card is that of @peer; false: it has none yet.  ofi_peer_know_back - the same by its greeting, which was taken. */
bool ofi_peer_know(struct ofi_peers *m, const struct tw_net_config *config, struct ofi_peer *peer,
                   const struct ofi_card *card);
void ofi_peer_know_back(struct ofi_peers *m, const struct tw_net_config *config, struct ofi_peer *peer);

/* ofi_peer_may_send - may @bytes be told to it?  ofi_peer_unacked - should it be told that it is heard?
 * ofi_peer_head - fill in and seal the head of the next message, of @head->bytes; ofi_peer_sent - it is on its way. */
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

/* ofi_peer_receive - a message of @bytes that came to @net's endpoint.  What is no endpoint's of this job's, or was heard before, changes nothing: 0.
 * Else OFI_PEER_SIGNALED: memory has changed; GREETED: that was its greeting; ASKED, GIVEN: an ASK, a GIVE, for the caller; HEARD: it is there; RESTS: it
 * sleeps, or leaves.  -EPROTO: endpoint (head->node, head->port) tells what makes no sense, or something of it was lost. */
enum { OFI_PEER_SIGNALED = 1, OFI_PEER_CONNECTED, OFI_PEER_DELEGATED, OFI_PEER_REPLIED, OFI_PEER_ACKED, OFI_PEER_INACTIVE };
int ofi_peer_receive(struct ofi_peers *m, const struct tw_net *net, const struct ofi_head *head, size_t bytes);

#endif
