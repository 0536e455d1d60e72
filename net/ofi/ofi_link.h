/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_link.h - an endpoint's session with a node's server: sequence numbers, outstanding results, and what answers do
 * to them.  No libfabric here. */
#ifndef TW_NET_OFI_OFI_LINK_H
#define TW_NET_OFI_OFI_LINK_H

#include "net/ofi/ofi_wire.h"

#define OFI_READS 64u /* outstanding results of a node */

struct ofi_buffer;

struct ofi_result {
	void *to;
	uint32_t bytes;
	uint32_t stored; /* so many of them, the first, go to @to */
};

/* Delegation to an endpoint of the node (net/ofi/ofi_delegate.c). */
struct ofi_delegation {
	struct ofi_buffer *batch; /* the one that is delegated and not answered; NULL: none */
	uint64_t since;           /* when it was delegated */
	unsigned candidate;       /* port + 1 of the last message's sender; 0: none, or delegation was in vain */
	unsigned penalty;         /* batches that are not delegated after the next one in vain */
	unsigned skip;            /* batches that are not delegated from now on */
};

struct ofi_link {
	uint64_t to;              /* the port's number for the server */
	uint64_t handshake;       /* the number that this endpoint drew */
	bool broken;              /* the connection is */
	uint64_t session;         /* 0: the server has not answered the handshake yet */
	struct ofi_key key;       /* of the session */
	uint64_t sent;            /* number of the last batch; an open batch has the next number */
	uint64_t wrote;           /* number of the last batch with writes */
	uint64_t transferred;     /* number of the batch whose answer says that remote writes are done */
	uint64_t asked, answered; /* the last batch that requests an answer; the last that is done */
	bool ask;                 /* the next batch must request an answer */
	uint64_t puts, placed;    /* messages sent, and known to be in mailboxes */
	struct ofi_window memory;
	struct ofi_buffer *open; /* the batch that is being filled, or NULL */
	size_t results;          /* bytes of results that it requests */
	bool rings;              /* it has messages or bells */
	struct ofi_delegation delegation;
	unsigned first, reads; /* of the ring read[] */
	struct ofi_result read[OFI_READS];
};

/* ofi_link_take - a received message of @bytes; @link: [nodes].  It changes nothing unless it is a new one of a server
 * of this job.  Results are stored where reads want them.  Returns 0, or -EPROTO: node head->node answers what was not
 * asked. */
int ofi_link_take(struct ofi_link *link, const struct tw_net_config *config, const struct ofi_head *head, size_t bytes);
/* ofi_link_delegated - an accepted reply of a peer to a delegated batch: the same. */
int ofi_link_delegated(struct ofi_link *link, const struct ofi_delegated *reply);

#endif
