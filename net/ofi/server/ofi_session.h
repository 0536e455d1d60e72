/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_session.h - what a server of the ofi transport does with messages: bytes in, the node's memory and an answer out.  No libfabric
 * here; one thread.
 *
 * A message that is no endpoint's of this job's, or was heard before, is refused and counted.  One that is, but asks for what makes no
 * sense, is answered and counted as damaged; what stands before the nonsense is done.  Nothing outside the node's
 * exported memory is touched, and the mailboxes in it by PUT and RING only. */
#ifndef TW_NET_OFI_SERVER_OFI_SESSION_H
#define TW_NET_OFI_SERVER_OFI_SESSION_H

#include "net/ofi/ofi_wire.h"

struct ofi_deferred {
	uint64_t session;
	uint16_t port;
	struct tw_msg msg;
};

struct ofi_client {
	struct tw_net_address address; /* of its last HELLO */
	uint64_t handshake;                /* its number: none is taken twice */
	uint64_t session, offered;     /* offered: its first work begins that one; 0: none */
	struct ofi_key key, offered_key;
	uint64_t number, placed;
	uint64_t credited; /* of placed */
	bool out;      /* it has ended: nothing more is taken */
	unsigned deferred;
	struct ofi_deferred later[2 * OFI_CREDITS]; /* of this session, and of the one before it */
};

struct ofi_sessions {
	struct tw_net_config config;
	char *base;                 /* the node's memory */
	struct ofi_window memory;   /* as its server shows it */
	struct tw_net_counts counts;
	unsigned deferring; /* clients with kept messages */
	struct ofi_client client[];
};

/* ofi_sessions_create - for all endpoints of the job; NULL: out of memory.  Freed by free(). */
struct ofi_sessions *ofi_sessions_create(const struct tw_net_config *config, char *base);

/* ofi_session_client - the number of an endpoint among the clients. */
static inline unsigned ofi_session_client(const struct ofi_sessions *n, unsigned node, unsigned port)
{
	return node * n->config.ports + port;
}

/* ofi_session_receive - a message of @bytes that came.  @answer: room for OFI_MESSAGE, and the answer, sealed, to whom @head names.  Returns
 * its length; 0: there is none. */
size_t ofi_session_receive(struct ofi_sessions *n, const struct ofi_head *head, size_t bytes, struct ofi_head *answer);
/* ofi_session_place - place what fits of the kept messages of @client.  @answer as above; NULL: it is told another time. */
size_t ofi_session_place(struct ofi_sessions *n, unsigned client, struct ofi_head *answer);
/* ofi_session_shut_out - @client has ended: nothing of it is taken any more. */
void ofi_session_shut_out(struct ofi_sessions *n, unsigned client);

#endif
