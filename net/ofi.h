/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi.h - what endpoint and server of the ofi transport share: libfabric, and the messages they exchange.
 *
 * A reliable datagram endpoint of libfabric on either side; every message is one of these, in the byte order of the host:
 *
 *   endpoint                      server
 *     HELLO (its address)  ----->   once, when the endpoint opens
 *                          <-----  WELCOME, with a number drawn for the session, and the key to the node's memory
 *     WORK (entries)       ----->   executed in order; numbered 1, 2, ... within the session
 *                          <-----  REPLY: all work up to this number is done; results of what the work has asked
 *
 * Long transfers are the provider's own remote writes and reads, with that key, a random number drawn by the server.
 *
 * Each head carries a proof (net/auth.h) over itself, and over what follows in HELLO and WELCOME.  It says who speaks to whom, in which
 * session, and which number this is: a session's number is taken once, and a session is drawn by the server, so nothing that was
 * heard before is taken again.  What follows the head of WORK and REPLY is not proven: who can change what travels between two
 * others is not kept out. */
#ifndef TW_NET_OFI_H
#define TW_NET_OFI_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/util.h"
#include "net/auth.h"
#include "net/transports.h"

#define OFI_MESSAGE   16384u /* most bytes of a message: what the provider still sends without asking first */
#define OFI_CREDITS   16u    /* messages of one endpoint that its server keeps for full mailboxes */
#define OFI_ALL_PORTS 0xffffu

enum ofi_kind { OFI_HELLO = 1, OFI_WELCOME, OFI_WORK, OFI_REPLY };

struct ofi_head {
	uint8_t proof[TW_AUTH_PROOF_BYTES]; /* of what follows in the head; of all that follows in HELLO, WELCOME */
	uint32_t bytes;                     /* of the whole message */
	uint8_t kind;                       /* enum ofi_kind */
	uint8_t ask;                        /* WORK: is to be answered when it is done */
	uint16_t server;                    /* the server's node */
	uint16_t node, port;                /* the endpoint's */
	uint32_t zero;
	uint64_t session; /* HELLO: the endpoint's own number; WELCOME repeats it in @number */
	uint64_t number;  /* WORK: which; REPLY: all up to it are done */
	uint64_t placed;  /* REPLY: messages of the session that are in mailboxes */
};

/* What follows WELCOME's head. */
struct ofi_welcome {
	uint64_t key, base; /* of the node's memory, for remote writes and reads; base: of its first byte */
	uint64_t direct;    /* 0: it has none */
};

enum ofi_op { OFI_WRITE = 1, OFI_READ, OFI_CAS, OFI_FADD, OFI_SWAP, OFI_PUT, OFI_RING };

/* An entry of WORK, and behind it @bytes, filled up to 8.  WRITE: what to write.  READ: nothing, @bytes is how much.
 * CAS: expected and new value; FADD, SWAP: a value.  PUT: a struct tw_msg as far as its len.  RING: nothing. */
struct ofi_entry {
	uint64_t offset;
	uint32_t bytes;
	uint16_t op;   /* enum ofi_op */
	uint16_t port; /* PUT, RING: whose mailbox; RING: perhaps OFI_ALL_PORTS */
};

#define OFI_ROOM (OFI_MESSAGE - sizeof(struct ofi_head)) /* for entries, or for results */

/* ofi_entry_bytes - with what is behind it. */
static inline size_t ofi_entry_bytes(uint16_t op, uint32_t bytes)
{
	return sizeof(struct ofi_entry) + (op == OFI_READ ? 0 : TW_ALIGN_UP((size_t)bytes, (size_t)8));
}

/* ofi_seal - make @head's proof.  ofi_sealed - does a message of @bytes hold together, and is its proof right? */
void ofi_seal(const uint8_t secret[TW_NET_SECRET_BYTES], struct ofi_head *head);
bool ofi_sealed(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_head *head, size_t bytes);

/* One buffer, to send from or to receive into. */
struct ofi_buffer {
	struct fi_context2 context; /* libfabric's while it is under way */
	struct ofi_head *head;
	enum { OFI_SENDS, OFI_RECEIVES, OFI_TRANSFERS } use;
	unsigned peer; /* not receiving: whom it goes to, the user's own number */
};

/* Buffers, or contexts, that are not in use. */
struct ofi_idle {
	struct ofi_buffer **stack;
	unsigned count, all;
};

/* A libfabric endpoint with its buffers.  One thread at a time; after ofi_port_open nothing here allocates. */
struct ofi_port {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;     /* of all buffers, where the provider wants that */
	struct fid_mr *memory; /* of the node's memory, for others to reach */
	void *desc;
	bool direct; /* remote writes and reads work from anywhere to all of a sparse memory */
	int wait;    /* readable when there is something to poll for */
	char *arena;
	struct ofi_buffer *buffer;
	struct ofi_idle sends, transfers;
	unsigned receives;
	struct tw_net_address address; /* its own */
};

/* ofi_load - the library, once.  Returns 0, or -errno with one clause in @why.  ofi_works - and has it a provider? */
int ofi_load(char *why, size_t why_bytes);
int ofi_works(const char *provider, char *why, size_t why_bytes);
/* ofi_text - libfabric's words for one of its errors. */
const char *ofi_text(ssize_t error);

/* ofi_port_open - with so many buffers to send and to receive, and that many transfers at once; what is to receive is posted.
 * Returns 0 or -errno, logged. */
int ofi_port_open(struct ofi_port *port, const struct tw_net_config *config, unsigned sends, unsigned receives,
                  unsigned transfers);
void ofi_port_close(struct ofi_port *port);
/* ofi_port_peer - a peer's address as this port's number for it.  Allocates.  Returns 0 or -errno. */
int ofi_port_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer);

/* ofi_port_export - let others who hold the key write and read @bytes at @base; @welcome is filled in, which says so or not. */
void ofi_port_export(struct ofi_port *port, void *base, size_t bytes, struct ofi_welcome *welcome);

enum ofi_event { OFI_NOTHING, OFI_SENT, OFI_RECEIVED, OFI_FAILED };
/* ofi_poll - the next event, and its buffer: SENT, it is idle again; RECEIVED, @*bytes are in it, and ofi_again gives it back; FAILED,
 * @*bytes is libfabric's error, and the buffer, if not NULL, is as after SENT, or posted again. */
enum ofi_event ofi_poll(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *bytes);
void ofi_again(struct ofi_port *port, struct ofi_buffer *buffer);
/* ofi_take - one that is idle, or NULL. */
static inline struct ofi_buffer *ofi_take(struct ofi_idle *idle)
{
	return idle->count ? idle->stack[--idle->count] : NULL;
}
/* ofi_send - a message, of head->bytes.  ofi_transfer - a remote write, or read.  Return 0: the buffer is libfabric's until
 * ofi_poll says SENT or FAILED; -FI_EAGAIN: poll, then try again; or libfabric's error, and the buffer stays the caller's. */
ssize_t ofi_send(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *buffer);
ssize_t ofi_transfer(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *transfer, bool write, void *local,
                     size_t bytes, uint64_t remote, uint64_t key);
/* ofi_sleep - until there may be something to poll for, @also (if >= 0) is readable, or @timeout_ns passed. */
void ofi_sleep(struct ofi_port *port, int also, uint64_t timeout_ns);

#endif
