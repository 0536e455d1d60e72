/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_node.h - what a server of the ofi transport does with messages: bytes in, the node's memory and an answer out.  No libfabric
 * here; one thread.
 *
 * A message that is no endpoint's of this job's, or was heard before, is refused and counted.  One that is, but asks for what makes no
 * sense, is answered and counted as damaged; what stands before the nonsense is done.  Nothing outside the node's
 * exported memory is touched, and the mailboxes in it by PUT and RING only. */
#ifndef TW_NET_OFI_NODE_H
#define TW_NET_OFI_NODE_H

#include "net/ofi_wire.h"

struct ofi_kept {
	uint64_t session;
	uint16_t port;
	struct tw_msg msg;
};

struct ofi_client {
	struct tw_net_address address; /* of its last HELLO */
	uint64_t hello;                /* its number: none is taken twice */
	uint64_t session, offered;     /* offered: its first work begins that one; 0: none */
	struct ofi_key key, offered_key;
	uint64_t number, placed;
	uint64_t told; /* of placed */
	bool out;      /* it has ended: nothing more is taken */
	unsigned keeps;
	struct ofi_kept kept[2 * OFI_CREDITS]; /* of this session, and of the one before it */
};

struct ofi_node {
	struct tw_net_config config;
	char *base;                 /* the node's memory */
	struct ofi_window memory;   /* as its server shows it */
	struct tw_net_counts counts;
	unsigned keepers; /* clients with kept messages */
	struct ofi_client client[];
};

/* ofi_node_create - for all endpoints of the job; NULL: out of memory.  Freed by free(). */
struct ofi_node *ofi_node_create(const struct tw_net_config *config, char *base);

/* ofi_node_client - the number of an endpoint among the clients. */
static inline unsigned ofi_node_client(const struct ofi_node *n, unsigned node, unsigned port)
{
	return node * n->config.ports + port;
}

/* ofi_node_take - a message of @bytes that came.  @answer: room for OFI_MESSAGE, and the answer, sealed, to whom @head names.  Returns
 * its length; 0: there is none. */
size_t ofi_node_take(struct ofi_node *n, const struct ofi_head *head, size_t bytes, struct ofi_head *answer);
/* ofi_node_place - place what fits of the kept messages of @client.  @answer as above; NULL: it is told another time. */
size_t ofi_node_place(struct ofi_node *n, unsigned client, struct ofi_head *answer);
/* ofi_node_shut_out - @client has ended: nothing of it is taken any more. */
void ofi_node_shut_out(struct ofi_node *n, unsigned client);

#endif
