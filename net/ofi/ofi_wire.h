/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_wire.h - the messages between endpoints and servers of the ofi transport, and their proofs.  No libfabric here.
 *
 * Messages are in the byte order of the host.  Between an endpoint and a server:
 *
 *   endpoint                           server
 *     HANDSHAKE (its address)  ----->    once, when the endpoint opens
 *                              <-----  WELCOME: a random number for the session, and the key to the node's memory
 *     WORK (entries)           ----->    executed in order; numbered 1, 2, ... within the session
 *                              <-----  REPLY: all work up to this number is done; results that the work requested
 *
 * Between two endpoints, without a server (put with signal in driver/transport.h, and delegation):
 *
 *   endpoint                           endpoint
 *     INTRODUCE                ----->    once: a random number for all that follows; the key to the memory of the
 *                                        sender's node at the sender
 *     PUT_SIGNAL (data, word)  ----->    stored when the receiver polls
 *     ACK                      ----->    the head alone, which acknowledges, as all these messages do
 *     ASLEEP                   ----->    the sender announces sleep: only its server can wake it
 *     LEAVES                   ----->    the sender ends; it sends nothing more
 *     DELEGATE (entries)       ----->    a batch for the server, without PUT and RING: the receiver may execute it
 *                                        in the server's place, if it polls soon enough
 *                              <-----  DELEGATE_REPLY: the batch of that number is done; its results
 *
 * There are two lanes, each with a connection, an introduction and numbers of its own: one for puts with signal, the
 * other for DELEGATE and DELEGATE_REPLY.  The reason: TCP acknowledges the second message in a row at once, in the
 * receiver's time, and a result mostly follows a put with signal.
 *
 * The address of an endpoint, and a random number of it, are on its card: in its node's memory, behind the mailboxes.
 *
 * HANDSHAKE and WELCOME prove the job's secret (net/auth.h), over all that they say; WELCOME repeats the endpoint's
 * random number.  Both sides derive the session's key from the secret, the session and both names.  WORK and REPLY
 * carry a proof with that key over their head (SipHash-2-4 with 128 bits: keyed BLAKE2b takes ten times as long).
 * Between endpoints the key follows from both random numbers.  A number of a session is accepted once; the server
 * draws the session, and the receiver draws its card's number; so no message is accepted twice.  What follows the head
 * of WORK and REPLY, and the data of PUT_SIGNAL, are not proven: there is no protection against a third party that can
 * change the traffic between two others.
 *
 * Heads are short because providers over TCP send up to 64 bytes at once, from a buffer that is idle again then. */
#ifndef TW_NET_OFI_OFI_WIRE_H
#define TW_NET_OFI_OFI_WIRE_H

#include <stddef.h>

#include "core/base/base.h"
#include "net/auth.h"

#define OFI_MESSAGE   16384u /* most bytes of a message: the provider sends so many without a request before */
#define OFI_CREDITS   16u    /* messages of an endpoint that a server keeps for full mailboxes */
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

/* ANSWER: reply when the work is done.  AGAIN: the same, but the batch was delegated before: only if it is not
 * claimed. */
enum ofi_answer { OFI_SILENT, OFI_ANSWER, OFI_AGAIN };

struct ofi_head {
	uint8_t proof[TW_AUTH_PROOF_BYTES]; /* of what follows, as said above */
	/* HANDSHAKE, INTRODUCE: drawn by the sender; WELCOME: that, repeated; REPLY: all up to it are done; else its
	 * own. */
	uint64_t number;
	uint16_t bytes; /* of the whole message */
	uint8_t kind;   /* enum ofi_kind */
	uint8_t ask;    /* WORK: enum ofi_answer; between endpoints: lowest bits of the number that is acknowledged */
	uint16_t node;  /* WELCOME, REPLY: the server's; others: the sender's */
	uint8_t port;   /* WELCOME, REPLY: the endpoint's; others: the sender's */
	uint8_t lane;   /* between endpoints: enum ofi_lane */
};

struct ofi_handshake {
	struct ofi_head head;
	uint64_t server;                       /* the server's node */
	uint8_t address[TW_NET_ADDRESS_BYTES]; /* the endpoint's, as many bytes as it has */
};

/* A node's memory at a port, for remote writes and reads. */
struct ofi_window {
	uint64_t key, base; /* base: of its first byte */
	uint64_t direct;    /* 0: there is no such access */
};

struct ofi_welcome {
	struct ofi_head head;
	uint64_t session;
	struct ofi_window memory;
};

/* The proof covers all of it. */
struct ofi_introduction {
	struct ofi_head head;
	struct ofi_window memory;
};

/* Results follow. */
struct ofi_reply {
	struct ofi_head head;
	uint64_t placed; /* messages of the session that are in mailboxes; covered by the proof */
};

/* Data follow.  Offsets are in the receiver's node's memory.  The proof covers these fields. */
struct ofi_signal {
	struct ofi_head head;
	uint64_t word, value; /* stored after the data */
	uint64_t offset;      /* of the data */
};

/* DELEGATE, DELEGATE_REPLY: entries, or results, follow. */
struct ofi_delegated {
	struct ofi_head head;
	uint64_t batch; /* its number in the session with the server; covered by the proof */
};

/* In the memory of an endpoint's node: how peers find it. */
struct ofi_card {
	uint8_t proof[TW_AUTH_PROOF_BYTES]; /* of what follows; unless it holds, there is no card */
	uint64_t session;
	uint64_t node, port;
	struct tw_net_address address;
};

enum ofi_op {
	OFI_WRITE = 1,
	OFI_READ,
	OFI_CAS,
	OFI_FADD,
	OFI_SWAP,
	OFI_PUT,
	OFI_RING,
	OFI_AMO,
	OFI_AMO_POST,
	OFI_CAS_WIDE
};

/* An entry of WORK; @bytes of operands follow, padded to a multiple of 8.  WRITE: what to write.  READ: no operands,
 * @bytes is the length.  CAS: expected and new value; FADD, SWAP: a value.  AMO, AMO_POST: a value, and what a
 * compare-and-swap expects; AMO gives 8 bytes of result, AMO_POST none.  CAS_WIDE: expected and new value, of 16 bytes
 * each.  PUT: a struct tw_msg as far as its len.  RING: none. */
struct ofi_entry {
	uint64_t offset;
	uint32_t bytes;
	uint16_t op;   /* enum ofi_op */
	uint16_t port; /* PUT, RING: the mailbox's, or OFI_ALL_PORTS.  AMO: 8 * enum tw_amo + the word's bytes / 4 */
};

#define OFI_ROOM (OFI_MESSAGE - sizeof(struct ofi_reply)) /* for entries, or for results */

/* ofi_entry_bytes - of an entry with its operands. */
static inline size_t ofi_entry_bytes(uint16_t op, uint32_t bytes)
{
	return sizeof(struct ofi_entry) + (op == OFI_READ ? 0 : TW_ALIGN_UP((size_t)bytes, (size_t)8));
}

/* A session's key. */
struct ofi_key {
	uint8_t bytes[TW_AUTH_TAG_KEY_BYTES];
};

/* ofi_key_derive - the key of @session between node @server's server and endpoint (@node, @port). */
void ofi_key_derive(const uint8_t secret[TW_NET_SECRET_BYTES], uint64_t session, unsigned server, unsigned node,
                    unsigned port, struct ofi_key *key);

/* ofi_key_between - the key of messages on @lane from endpoint (@node, @port), which drew @own, to the endpoint of
 * @card. */
void ofi_key_between(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_card *card, uint64_t own,
                     unsigned node, unsigned port, unsigned lane, struct ofi_key *key);

/* ofi_seal - make the proof of a complete message, other than HANDSHAKE and WELCOME.
 * ofi_sealed - does a received message of @bytes have the length that it says, and the right proof? */
void ofi_seal(const struct ofi_key *key, struct ofi_head *head);
bool ofi_sealed(const struct ofi_key *key, const struct ofi_head *head, size_t bytes);
/* ofi_prove, ofi_proves - the same for HANDSHAKE and WELCOME.  ofi_card_prove, ofi_card_proves - for a card. */
void ofi_prove(const uint8_t secret[TW_NET_SECRET_BYTES], struct ofi_head *head);
bool ofi_proves(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_head *head, size_t bytes);
void ofi_card_prove(const uint8_t secret[TW_NET_SECRET_BYTES], struct ofi_card *card);
bool ofi_card_proves(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_card *card);

#endif
