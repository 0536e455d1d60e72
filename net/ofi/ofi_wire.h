/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_wire.h - the messages between endpoints and servers of the ofi transport, and their proofs.  No libfabric here.
 *
 * Every message is one of these, in the byte order of the host:
 *
 *   endpoint                      server
 *     HELLO (its address)  ----->   once, when the endpoint opens
 *                          <-----  WELCOME: a number drawn for the session, and the key to the node's memory
 *     WORK (entries)       ----->   executed in order; numbered 1, 2, ... within the session
 *                          <-----  REPLY: all work up to this number is done; results of what the work has asked
 *
 * and, where an endpoint tells another one (driver/transport.h) without a server,
 *
 *   endpoint                      endpoint
 *     GREET                ----->   once: the number drawn for all that follows, and the key to the memory of the sender's node at the sender
 *     TELL (data, a word)  ----->   stored at once when it is looked at; numbered 1, 2, ...
 *     HEARD                ----->   no more than the head, which says how many messages of the other are heard; as all these do
 *     ASLEEP               ----->   the sender sleeps, and only its server can wake it
 *     LEAVES               ----->   the sender ends, and what it has told is all
 *     ASK (entries)        ----->   a batch for the server, without PUT and RING: the hearer may do it in its place, if it looks soon enough
 *                          <-----  GIVE: the batch of that number is done; its results
 *
 * They do so on two lanes, each with a connection, a greeting, and numbers of its own: on one they tell, on the other ASK and GIVE travel.  For TCP
 * acknowledges the second message in a row at once, in the time of who reads it, and a result mostly follows what was told.
 *
 * The other's address, and a number which it has drawn, are on its card: in its node's memory, behind the mailboxes.
 *
 * HELLO and WELCOME prove the job's secret (net/auth.h), over all that they say; the endpoint draws a number that WELCOME repeats.
 * Both derive the session's key from the secret, the session and who speaks to whom.  WORK and REPLY carry a proof with that key over
 * their head (SipHash-2-4 with 128 bits: keyed BLAKE2b takes ten times as long).  Between endpoints the key follows from both
 * numbers drawn.  A session's number is taken once, and a session is drawn by the server, a card's number by who hears, so nothing that was
 * heard before is taken again.  What follows the head of WORK and REPLY, and the data of TELL, are not proven: who can change what
 * travels between two others is not kept out.
 *
 * Heads are short for a reason: providers over TCP send up to 64 bytes at once and forget them. */
#ifndef TW_NET_OFI_OFI_WIRE_H
#define TW_NET_OFI_OFI_WIRE_H

#include <stddef.h>

#include "core/base/base.h"
#include "net/auth.h"

#define OFI_MESSAGE   16384u /* most bytes of a message: what the provider still sends without asking first */
#define OFI_CREDITS   16u    /* messages of one endpoint that its server keeps for full mailboxes */
#define OFI_ALL_PORTS 0xffffu

enum ofi_kind {
	OFI_HANDSHAKE = 1,
	OFI_WELCOME,
	OFI_WORK,
	OFI_REPLY,
	OFI_INTRODUCE,
	OFI_PUT_SIGNAL,
	OFI_ACK,
	OFI_ASLEEP,
	OFI_LEAVES,
	OFI_DELEGATE,
	OFI_DELEGATE_REPLY
};

enum ofi_lane { OFI_LANE_SIGNALS, OFI_LANE_DELEGATION, OFI_LANES };

/* ANSWER: when it is done.  AGAIN: the same, but an endpoint of the node was asked before: unless that has claimed it. */
enum ofi_answer { OFI_SILENT, OFI_ANSWER, OFI_AGAIN };

struct ofi_head {
	uint8_t proof[TW_AUTH_PROOF_BYTES]; /* of what follows: as far as said above */
	uint64_t number; /* HELLO, GREET: drawn by the sender; WELCOME: that; REPLY: all up to it are done; others: which */
	uint16_t bytes;  /* of the whole message */
	uint8_t kind;    /* enum ofi_kind */
	uint8_t ask;     /* WORK: enum ofi_answer; TELL and so on: lowest bits of how many are heard */
	uint16_t node;   /* WELCOME, REPLY: the server's; others: the sender's */
	uint8_t port;    /* WELCOME, REPLY: the endpoint's; others: the sender's */
	uint8_t lane;    /* between endpoints: enum ofi_lane */
};

struct ofi_handshake {
	struct ofi_head head;
	uint64_t server;                       /* the server's node */
	uint8_t address[TW_NET_ADDRESS_BYTES]; /* the endpoint's, as long as it is */
};

/* A node's memory at a port, for remote writes and reads. */
struct ofi_window {
	uint64_t key, base; /* base: of its first byte */
	uint64_t direct;    /* 0: it is not open to them */
};

struct ofi_welcome {
	struct ofi_head head;
	uint64_t session;
	struct ofi_window memory;
};

/* Proven is all of it. */
struct ofi_introduction {
	struct ofi_head head;
	struct ofi_window memory;
};

/* Behind it are results. */
struct ofi_reply {
	struct ofi_head head;
	uint64_t placed; /* messages of the session that are in mailboxes; proven as the head is */
};

/* Data are behind it.  Offsets are those of the hearer's node; proven are also these. */
struct ofi_signal {
	struct ofi_head head;
	uint64_t word, value; /* stored after the data */
	uint64_t offset;      /* of the data */
};

/* ASK, GIVE: entries, or results, are behind it. */
struct ofi_delegated {
	struct ofi_head head;
	uint64_t batch; /* its number in the session with the server; proven as the head is */
};

/* In memory of an endpoint's node: where others find it. */
struct ofi_card {
	uint8_t proof[TW_AUTH_PROOF_BYTES]; /* of what follows: as long as it does not hold, there is none */
	uint64_t session;
	uint64_t node, port;
	struct tw_net_address address;
};

enum ofi_op { OFI_WRITE = 1, OFI_READ, OFI_CAS, OFI_FADD, OFI_SWAP, OFI_PUT, OFI_RING, OFI_AMO, OFI_AMO_POST };

/* An entry of WORK, and behind it @bytes, filled up to 8.  WRITE: what to write.  READ: nothing, @bytes is how much.
 * CAS: expected and new value; FADD, SWAP: a value.  AMO: a value, and what CAS expects; it gives 8 bytes of
 * result, AMO_POST none.  PUT: a struct tw_msg as far as its len.  RING: nothing. */
struct ofi_entry {
	uint64_t offset;
	uint32_t bytes;
	uint16_t op;   /* enum ofi_op */
	uint16_t port; /* PUT, RING: whose mailbox; RING: perhaps OFI_ALL_PORTS.  AMO: 8 x enum tw_amo + the word's bytes / 4 */
};

#define OFI_ROOM (OFI_MESSAGE - sizeof(struct ofi_reply)) /* for entries, or for results */

/* ofi_entry_bytes - with what is behind it. */
static inline size_t ofi_entry_bytes(uint16_t op, uint32_t bytes)
{
	return sizeof(struct ofi_entry) + (op == OFI_READ ? 0 : TW_ALIGN_UP((size_t)bytes, (size_t)8));
}

/* A session's key. */
struct ofi_key {
	uint8_t bytes[TW_AUTH_TAG_KEY_BYTES];
};

/* ofi_key_derive - that of @session between @server and the endpoint (@node, @port). */
void ofi_key_derive(const uint8_t secret[TW_NET_SECRET_BYTES], uint64_t session, unsigned server, unsigned node,
                    unsigned port, struct ofi_key *key);

/* ofi_key_between - that of what endpoint (@node, @port), which has drawn @own, tells the one whose @card that is, on @lane. */
void ofi_key_between(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_card *card, uint64_t own,
                     unsigned node, unsigned port, unsigned lane, struct ofi_key *key);

/* ofi_seal - make the proof of a whole message, not HELLO or WELCOME.  ofi_sealed - does what came, @bytes, hold together, and is its
 * proof right? */
void ofi_seal(const struct ofi_key *key, struct ofi_head *head);
bool ofi_sealed(const struct ofi_key *key, const struct ofi_head *head, size_t bytes);
/* ofi_prove, ofi_proves - the same for HELLO and WELCOME.  ofi_card_prove, ofi_card_proves - for a card. */
void ofi_prove(const uint8_t secret[TW_NET_SECRET_BYTES], struct ofi_head *head);
bool ofi_proves(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_head *head, size_t bytes);
void ofi_card_prove(const uint8_t secret[TW_NET_SECRET_BYTES], struct ofi_card *card);
bool ofi_card_proves(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_card *card);

#endif
