/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_link.h - what an endpoint of the ofi transport knows of another node, and what it takes from that node's answers.  No
 * libfabric here. */
#ifndef TW_NET_OFI_OFI_LINK_H
#define TW_NET_OFI_OFI_LINK_H

#include "net/ofi/ofi_wire.h"

#define OFI_READS 64u /* unanswered reads of a node */

struct ofi_buffer;

struct ofi_result {
	void *to;
	uint32_t bytes;
	uint32_t stored; /* so many of them, the first */
};

/* What an endpoint of the node that seems to wait is asked to do in its server's place (net/ofi/ofi_delegate.c). */
struct ofi_delegation {
	struct ofi_buffer *batch; /* the last one, which that endpoint has; NULL: none */
	uint64_t since;
	unsigned candidate; /* the port of the endpoint that was heard last, + 1; 0: none, or it was asked in vain */
	unsigned penalty; /* so many batches are not lent after the next one that was lent in vain */
	unsigned skip;    /* are still not */
};

struct ofi_link {
	uint64_t to;              /* libfabric's number for its server */
	uint64_t handshake;           /* the number of ours to it */
	bool broken;              /* the connection to it */
	uint64_t session;         /* 0: it has not answered yet */
	struct ofi_key key;       /* of the session */
	uint64_t sent;            /* number of the last batch; an open one has the next */
	uint64_t wrote;           /* of the last batch with writes in it */
	uint64_t transferred;     /* of the batch whose answer says that remote writes are done */
	uint64_t asked, answered; /* of the last batch that was to be answered; all up to it are done */
	bool ask;                 /* the next batch is to be answered */
	uint64_t puts, placed;    /* messages sent, and known to be in mailboxes */
	struct ofi_window memory;
	struct ofi_buffer *open; /* the batch that is being filled, or NULL */
	size_t results;          /* that it asks for */
	bool rings;              /* it has messages or bells */
	struct ofi_delegation delegation;
	unsigned first, reads;   /* of read: a ring */
	struct ofi_result read[OFI_READS];
};

/* ofi_link_take - a message of @bytes that came; @link: [nodes].  What is not a server's of this job's, or was heard before, changes
 * nothing.  Results go where reads want them.  Returns 0; -EPROTO: node head->node answers what was not asked. */
int ofi_link_take(struct ofi_link *link, const struct tw_net_config *config, const struct ofi_head *head, size_t bytes);
/* ofi_link_delegated - the results of a batch from an endpoint, whose message was taken: the same. */
int ofi_link_delegated(struct ofi_link *link, const struct ofi_delegated *reply);

#endif
