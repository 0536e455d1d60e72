/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_endpoint.h - an endpoint of the ofi transport: what its parts share. */
#ifndef TW_NET_OFI_ENDPOINT_H
#define TW_NET_OFI_ENDPOINT_H

#include "net/mailbox.h"
#include "net/ofi.h"
#include "net/ofi_mate.h"
#include "net/ofi_peer.h"

#define OFI_TRANSFERS_MOST 8u          /* at once */
#define OFI_LOST_NS        5000000000u /* from a loss to the end of the job, unless it ends of what caused it */
#define OFI_DIRECT         16384u      /* from here on a write or read is the provider's own */

struct ofi {
	struct ofi_port port;
	struct tw_mailbox *self;
	struct ofi_spin spin;
	unsigned opens;        /* open batches */
	unsigned reading;      /* remote reads that read_wait waits for */
	unsigned reading_node; /* of the last of them */
	struct ofi_mates *mates; /* NULL: nobody is told anything */
	bool told;               /* something, since this was false */
	uint64_t listened;       /* when */
	uint64_t untold;         /* since when what was told to untold_node is known to be lost; 0: nothing is */
	unsigned untold_node;
	bool helped; /* with results that are perhaps still to be given away, since this was false */
	struct ofi_peer peer[];
};

static inline bool ofi_own(const struct tw_net *net, unsigned node)
{
	return node == net->config.node;
}

static inline struct tw_mailbox *ofi_mailbox(const struct tw_net *net, unsigned port)
{
	return tw_mailbox_of(&net->config, net->base, port);
}

/* ---- ofi_batch.c */

/* ofi_lost - end: the connection to @node is, for that reason.
 * ofi_untold - what was told to a processor of @node may be lost, or what that one has told.  ofi_untold_end - end,
 * if that was long ago.
 * ofi_advance - one event of the port; false when there is none.  ofi_rest - there was none, and @node is waited for since @begun: spin,
 * then sleep, and at last give up.
 * ofi_wait - advance until @*done has reached @number; @node is whom we wait for.  ofi_wait_none - until @*under_way is 0. */
void ofi_untold(struct ofi *o, unsigned node);
void ofi_untold_end(const struct tw_net *net);
void ofi_lost(const struct tw_net *net, unsigned node, const char *why) __attribute__((noreturn));
bool ofi_advance(struct tw_net *net);
void ofi_rest(struct tw_net *net, unsigned node, uint64_t begun);
void ofi_wait(struct tw_net *net, unsigned node, const uint64_t *done, uint64_t number);
void ofi_wait_none(struct tw_net *net, unsigned node, const unsigned *under_way);

/* ofi_idle - an idle buffer for @node, waited for.  ofi_give - give a message to the provider; @answered: it will be, and we wait for that.
 * ofi_push - until the provider has given away all that was sent, to @node at last. */
struct ofi_buffer *ofi_idle(struct tw_net *net, unsigned node, struct ofi_idle *idle);
void ofi_give(struct tw_net *net, unsigned node, struct ofi_buffer *buffer, bool answered);
void ofi_push(struct tw_net *net, unsigned node);

/* ofi_close_batch - send the open batch to @node, if there is one; @ask: it, or an empty one, is to be answered.  ofi_close_all - of all nodes.
 * ofi_ask_batch - the same, which is answered, and the caller waits for nothing else: whoever is asked may be an endpoint of the node.
 * ofi_add - a new entry in the batch to @node, with entry.bytes behind it; returns it.  Its results take @results. */
void ofi_close_batch(struct tw_net *net, unsigned node, bool ask);
void ofi_ask_batch(struct tw_net *net, unsigned node);
void ofi_close_all(struct tw_net *net);
struct ofi_entry *ofi_add(struct tw_net *net, unsigned node, struct ofi_entry entry, size_t results);

/* ---- ofi.c */

/* ofi_ask - as ofi_add, of which @bytes of results come, the first @stored of them to @to. */
struct ofi_entry *ofi_ask(struct tw_net *net, unsigned node, struct ofi_entry entry, void *to, uint32_t bytes,
                          uint32_t stored);
/* ofi_direct - start a remote write or read, which counts in @*under_way until it is over.
 * ofi_amo_ask - add an atomic to the batch, whose old value comes to @old. */
void ofi_direct(struct tw_net *net, unsigned node, bool write, size_t offset, void *local, size_t bytes,
                unsigned *under_way);
void ofi_amo_ask(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                 uint64_t expect, void *old, uint32_t stored);

/* Operations. */
void ofi_read_wait(struct tw_net *net);
void ofi_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
void ofi_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
void ofi_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                  uint64_t expect);

/* ---- ofi_tell.c */

#define OFI_TELLS_MORE 16u /* than one for each node: buffers to tell from */

/* ofi_cards_bytes - of control memory, for cards.  ofi_mates_open - let others find and tell this endpoint; not in jobs that survive, where
 * whoever dies is to be shut out.  Returns 0 or -errno, logged. */
size_t ofi_cards_bytes(unsigned ports);
int ofi_mates_open(struct tw_net *net);

/* ofi_mate_back - an endpoint has greeted us with its first message: find the way back, where that is a connection which it asks for.
 * ofi_mate_broken - the connection to a peer is broken.  ofi_mates_leave - tell all to whom there is a way that we end. */
void ofi_mate_back(struct tw_net *net, struct ofi_buffer *first);
void ofi_mate_broken(struct tw_net *net, fi_addr_t to);
void ofi_mates_leave(struct tw_net *net);

/* As the operations of the transport. */
bool ofi_tell(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_told *told);
bool ofi_hear(struct tw_net *net);
void ofi_doze(struct tw_net *net, unsigned node, unsigned port);

/* ofi_tell_give - give @buffer to the provider, as the next message to @mate; false: not now, and it is idle.
 * ofi_tells_push - until the provider has given away what was told, for libfabric sends only when it is called; a millisecond at most. */
void ofi_tells_push(struct tw_net *net);
bool ofi_tell_give(struct tw_net *net, struct ofi_mate *mate, struct ofi_buffer *buffer, enum ofi_kind kind);

/* ---- ofi_help.c
 *
 * ofi_lend - ask an endpoint of @node to do @batch, if one seems to wait; false: nobody is asked.  ofi_lent_rest - nothing came: is it still to do it?
 * Else the server is asked, if it was.  ofi_given - the results have come; -EPROTO: nobody asked.  ofi_lent_heard - (@node, @port) is there, or is @not.
 * ofi_help - do what another one asks, if we can.  ofi_help_end - we may not look for a while: give away what is left. */
bool ofi_lend(struct tw_net *net, unsigned node, struct ofi_buffer *batch);
bool ofi_lent_rest(struct tw_net *net, unsigned node, uint64_t now);
int ofi_given(struct tw_net *net, const struct ofi_ask *give);
static inline void ofi_lent_heard(struct ofi_lent *lent, unsigned port, bool there)
{
	if (there || lent->near == port + 1)
		lent->near = there ? port + 1 : 0;
}
void ofi_help(struct tw_net *net, const struct ofi_ask *ask);
void ofi_help_end(struct tw_net *net);

/* ---- ofi_open.c, ofi_flow.c: as the operations of the transport. */
int ofi_open(struct tw_net *net);
void ofi_close(struct tw_net *net);
void ofi_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
bool ofi_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait);

#endif
