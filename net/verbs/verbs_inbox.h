/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_inbox.h - bytes that a server of verbs received: messages go into the mailboxes of the node's endpoints,
 * notifies ring their bells.  No device is needed.
 *
 * A message whose mailbox is full stays in its buffer, in its port's list; later ones for that port wait behind it. */
#ifndef TW_NET_VERBS_VERBS_INBOX_H
#define TW_NET_VERBS_VERBS_INBOX_H

#include "net/mailbox.h"
#include "net/verbs/verbs_wire.h"

#define VERBS_BUFFERS      4096u
#define VERBS_BUFFER_BYTES 256u
#define VERBS_NONE         UINT32_MAX

_Static_assert(VERBS_MESSAGE_BYTES <= VERBS_BUFFER_BYTES, "a message fits into a buffer");

struct verbs_queue {
	uint32_t first, last; /* buffers, oldest first; VERBS_NONE: none */
};

struct verbs_inbox {
	const struct tw_net_config *config;
	char *base;       /* of the node's exported memory */
	char *buffer;     /* [count] of VERBS_BUFFER_BYTES; shared: a processor's fork must not take the pages */
	unsigned count;   /* at most VERBS_BUFFERS */
	unsigned kept;    /* buffers in lists */
	uint64_t damaged; /* received bytes that are neither message nor notify */
	uint32_t next[VERBS_BUFFERS]; /* in its port's list */
	struct verbs_queue *queue;    /* [ports] */
};

/* verbs_inbox_init - with @count buffers, for the node whose exported memory is at @base.  Keeps @config.  Returns 0 or
 * -errno; verbs_inbox_fini undoes it, also after an error, and of zeroed memory. */
int verbs_inbox_init(struct verbs_inbox *in, const struct tw_net_config *config, char *base, unsigned count);
void verbs_inbox_fini(struct verbs_inbox *in);

static inline char *verbs_inbox_buffer(const struct verbs_inbox *in, uint32_t buffer)
{
	return in->buffer + (size_t)buffer * VERBS_BUFFER_BYTES;
}

/* verbs_inbox_received - @bytes were received into @buffer, with the immediate data @port; true if the buffer is free
 * again. */
bool verbs_inbox_received(struct verbs_inbox *in, uint32_t buffer, uint32_t port, size_t bytes);
/* verbs_inbox_retry - try to place one message that waits.  Returns its buffer, which is free again; VERBS_NONE: no
 * mailbox has room. */
uint32_t verbs_inbox_retry(struct verbs_inbox *in);

#endif
