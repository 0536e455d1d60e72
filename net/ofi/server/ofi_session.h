/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_session.h - the server's sessions with endpoints: bytes in, the node's memory changed and an answer out.  No
 * libfabric here; one thread.
 *
 * A message that is not an endpoint's of this job, or was received before, is refused and counted.  A valid message
 * with an entry that makes no sense is answered and counted as damaged; the entries before that one are executed.
 * Nothing outside the node's exported memory is touched, and the mailboxes in it by PUT and RING only. */
#ifndef TW_NET_OFI_SERVER_OFI_SESSION_H
#define TW_NET_OFI_SERVER_OFI_SESSION_H

#include "net/ofi/ofi_wire.h"

/* A message that waits for room in its mailbox. */
struct ofi_deferred {
	uint64_t session;
	uint16_t port;
	struct tw_msg msg;
};

struct ofi_client {
	struct tw_net_address address; /* of its last HANDSHAKE */
	uint64_t handshake;            /* number of its last HANDSHAKE: none is accepted twice */
	uint64_t session, offered;     /* offered: begins with the first work that uses it; 0: none */
	struct ofi_key key, offered_key;
	uint64_t number, placed; /* last work; messages that are in mailboxes */
	uint64_t credited;       /* of placed: as last reported to the endpoint */
	bool out;                /* shut out: nothing more is accepted */
	unsigned deferred;
	struct ofi_deferred later[2 * OFI_CREDITS]; /* of this session and the one before */
};

struct ofi_sessions {
	struct tw_net_config config;
	char *base;               /* the node's memory */
	struct ofi_window memory; /* for remote access through the server */
	struct tw_net_counts counts;
	unsigned deferring; /* clients with deferred messages */
	struct ofi_client client[];
};

/* ofi_sessions_create - for all endpoints of the job; NULL: out of memory.  Freed by free(). */
struct ofi_sessions *ofi_sessions_create(const struct tw_net_config *config, char *base);

/* ofi_session_client - the number of an endpoint among the clients. */
static inline unsigned ofi_session_client(const struct ofi_sessions *n, unsigned node, unsigned port)
{
	return node * n->config.ports + port;
}

/* ofi_session_receive - a received message of @bytes.  @answer: room for OFI_MESSAGE; the sealed answer to the
 * endpoint that @head names.  Returns the answer's length; 0: there is none. */
size_t ofi_session_receive(struct ofi_sessions *n, const struct ofi_head *head, size_t bytes, struct ofi_head *answer);
/* ofi_session_place - place the deferred messages of @client that fit.  @answer, and the result, as above; @answer
 * NULL: no answer now. */
size_t ofi_session_place(struct ofi_sessions *n, unsigned client, struct ofi_head *answer);
/* ofi_session_shut_out - @client has ended: nothing more of it is accepted. */
void ofi_session_shut_out(struct ofi_sessions *n, unsigned client);

#endif
