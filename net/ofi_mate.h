/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_mate.h - endpoints of the ofi transport that tell each other (net/ofi_wire.h): what one knows of another, and what it does with
 * messages: bytes in, a part of its node's memory out.  No libfabric here; one thread.
 *
 * Who tells never waits for who hears, for that one may compute: messages are numbered by weight, and beyond OFI_UNHEARD that the
 * other has not heard the next one is refused.  Each message says how many its sender has heard; whoever has nothing to tell says that alone,
 * at half of them. */
#ifndef TW_NET_OFI_MATE_H
#define TW_NET_OFI_MATE_H

#include "net/ofi_wire.h"

#define OFI_UNHEARD 64u
#define OFI_TELL_WEIGHT                                                                                                \
	2048u /* bytes that weigh 1: all that is unheard fits into what the system keeps of a connection */
#define OFI_TELL_MOST (OFI_MESSAGE - sizeof(struct ofi_tell)) /* bytes of data */

struct ofi_mate {
	uint16_t node; /* whom it is, on which lane */
	uint8_t port, lane;
	/* The way there. */
	enum { OFI_UNKNOWN, OFI_KNOWN, OFI_GREETED, OFI_CLOSED } way; /* CLOSED: we seek none any more */
	bool asleep; /* it waits for us, and its server alone can wake it */
	uint64_t to; /* libfabric's number for it */
	struct ofi_key key;
	uint64_t told, heard; /* the number of the last message; what it is known to have heard of them */
	/* The way back. */
	uint64_t session; /* it has drawn that; 0: no greeting has come */
	struct ofi_key its_key;
	uint64_t its_told, its_heard; /* the last that we have heard; that it has been told so */
	bool left;                    /* it tells nothing more */
	struct ofi_window memory;     /* of its node, at it */
};

struct ofi_mates {
	struct ofi_card card; /* our own */
	struct ofi_window memory;
	unsigned owed;        /* how often one has told half of OFI_UNHEARD, and has not been told that it is heard */
	unsigned mates;
	struct ofi_mate mate[];
};

/* ofi_mates_create - for all endpoints of the job; the card has no address yet.  NULL: no memory, or no random numbers.  Freed by free(). */
struct ofi_mates *ofi_mates_create(const struct tw_net_config *config);

static inline struct ofi_mate *ofi_mate_of(struct ofi_mates *m, const struct tw_net_config *config, unsigned node,
                                           unsigned port, unsigned lane)
{
	return &m->mate[(node * config->ports + port) * OFI_LANES + lane];
}

static inline unsigned ofi_mate_weight(size_t bytes)
{
	return 1 + (unsigned)(bytes / OFI_TELL_WEIGHT);
}

/* ofi_mate_know - @card is that of @mate; false: it has none yet.  ofi_mate_meet - the same by its greeting, which was taken. */
bool ofi_mate_know(struct ofi_mates *m, const struct tw_net_config *config, struct ofi_mate *mate,
                   const struct ofi_card *card);
void ofi_mate_meet(struct ofi_mates *m, const struct tw_net_config *config, struct ofi_mate *mate);

/* ofi_mate_may - may @bytes be told to it?  ofi_mate_owes - should it be told that it is heard?
 * ofi_mate_head - fill in and seal the head of the next message, of @head->bytes; ofi_mate_sent - it is on its way. */
static inline bool ofi_mate_may(const struct ofi_mate *mate, size_t bytes)
{
	return mate->told - mate->heard + ofi_mate_weight(bytes) <= OFI_UNHEARD;
}
static inline bool ofi_mate_owed(const struct ofi_mate *mate)
{
	return mate->its_told - mate->its_heard >= OFI_UNHEARD / 2;
}
void ofi_mate_head(const struct ofi_mates *m, const struct ofi_mate *mate, const struct tw_net_config *config,
                   enum ofi_kind kind, struct ofi_head *head);
void ofi_mate_sent(struct ofi_mates *m, struct ofi_mate *mate, const struct ofi_head *head);

/* ofi_mate_take - a message of @bytes that came to @net's endpoint.  What is no endpoint's of this job's, or was heard before, changes nothing: 0.
 * Else OFI_MATE_TOLD: memory has changed; GREETED: that was its greeting; ASKED, GIVEN: an ASK, a GIVE, for the caller; HEARD: it is there; RESTS: it
 * sleeps, or leaves.  -EPROTO: endpoint (head->node, head->port) tells what makes no sense, or something of it was lost. */
enum { OFI_MATE_TOLD = 1, OFI_MATE_GREETED, OFI_MATE_ASKED, OFI_MATE_GIVEN, OFI_MATE_HEARD, OFI_MATE_RESTS };
int ofi_mate_take(struct ofi_mates *m, const struct tw_net *net, const struct ofi_head *head, size_t bytes);

#endif
