/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_endpoint.h - an endpoint of the ofi transport: what its parts share. */
#ifndef TW_NET_OFI_OFI_ENDPOINT_H
#define TW_NET_OFI_OFI_ENDPOINT_H

#include "net/mailbox.h"
#include "net/ofi/port/ofi_port.h"
#include "net/ofi/ofi_peer.h"
#include "net/ofi/ofi_link.h"

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
	struct ofi_peers *peers; /* NULL: nobody is told anything */
	bool signaled;               /* something, since this was false */
	uint64_t polled;       /* when */
	uint64_t lost_since;         /* since when what was told to lost_node is known to be lost; 0: nothing is */
	unsigned lost_node;
	bool delegate_push; /* with results that are perhaps still to be given away, since this was false */
	struct ofi_link link[];
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
 * ofi_signal_lost - what was told to a processor of @node may be lost, or what that one has told.  ofi_signal_lost_end - end,
 * if that was long ago.
 * ofi_advance - one event of the port; false when there is none.  ofi_relax - there was none, and @node is waited for since @begun: spin,
 * then sleep, and at last give up.
 * ofi_wait - advance until @*done has reached @number; @node is whom we wait for.  ofi_wait_none - until @*in_flight is 0. */
void ofi_signal_lost(struct ofi *o, unsigned node);
void ofi_signal_lost_end(const struct tw_net *net);
void ofi_lost(const struct tw_net *net, unsigned node, const char *why) __attribute__((noreturn));
bool ofi_advance(struct tw_net *net);
void ofi_relax(struct tw_net *net, unsigned node, uint64_t begun);
void ofi_wait(struct tw_net *net, unsigned node, const uint64_t *done, uint64_t number);
void ofi_wait_none(struct tw_net *net, unsigned node, const unsigned *in_flight);

/* ofi_idle_buffer - an idle buffer for @node, waited for.  ofi_submit - give a message to the provider; @answered: it will be, and we wait for that.
 * ofi_push - until the provider has given away all that was sent, to @node at last. */
struct ofi_buffer *ofi_idle_buffer(struct tw_net *net, unsigned node, struct ofi_pool *idle);
void ofi_submit(struct tw_net *net, unsigned node, struct ofi_buffer *buffer, bool answered);
void ofi_push(struct tw_net *net, unsigned node);

/* ofi_close_batch - send the open batch to @node, if there is one; @ask: it, or an empty one, is to be answered.  ofi_close_all - of all nodes.
 * ofi_answer_batch - the same, which is answered, and the caller waits for nothing else: whoever is asked may be an endpoint of the node.
 * ofi_add - a new entry in the batch to @node, with entry.bytes behind it; returns it.  Its results take @results. */
void ofi_close_batch(struct tw_net *net, unsigned node, bool ask);
void ofi_answer_batch(struct tw_net *net, unsigned node);
void ofi_close_all(struct tw_net *net);
struct ofi_entry *ofi_add(struct tw_net *net, unsigned node, struct ofi_entry entry, size_t results);

/* ---- ofi.c */

/* ofi_add_result - as ofi_add, of which @bytes of results come, the first @stored of them to @to. */
struct ofi_entry *ofi_add_result(struct tw_net *net, unsigned node, struct ofi_entry entry, void *to, uint32_t bytes,
                          uint32_t stored);
/* ofi_direct - start a remote write or read, which counts in @*in_flight until it is over.
 * ofi_amo_result - add an atomic to the batch, whose old value comes to @old. */
void ofi_direct(struct tw_net *net, unsigned node, bool write, size_t offset, void *local, size_t bytes,
                unsigned *in_flight);
void ofi_amo_result(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                 uint64_t expect, void *old, uint32_t stored);

/* Operations. */
void ofi_read_wait(struct tw_net *net);
void ofi_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
void ofi_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
void ofi_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                  uint64_t expect);

/* ---- ofi_put_signal.c */

#define OFI_SIGNALS_MORE 16u /* than one for each node: buffers to tell from */

/* ofi_cards_bytes - of control memory, for cards.  ofi_peers_open - let others find and tell this endpoint; not in jobs that survive, where
 * whoever dies is to be shut out.  Returns 0 or -errno, logged. */
size_t ofi_cards_bytes(unsigned ports);
int ofi_peers_open(struct tw_net *net);

/* ofi_peer_accept - an endpoint has greeted us with its first message: find the way back, where that is a connection which it asks for.
 * ofi_peer_broken - the connection to a peer is broken.  ofi_peers_leave - tell all to whom there is a way that we end. */
void ofi_peer_accept(struct tw_net *net, struct ofi_buffer *first);
void ofi_peer_broken(struct tw_net *net, fi_addr_t to);
void ofi_peers_leave(struct tw_net *net);

/* As the operations of the transport. */
bool ofi_put_signal(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *put);
bool ofi_poll_signals(struct tw_net *net);
void ofi_announce_sleep(struct tw_net *net, unsigned node, unsigned port);

/* ofi_peer_send - give @buffer to the provider, as the next message to @peer; false: not now, and it is idle.
 * ofi_signals_push - until the provider has given away what was told, for libfabric sends only when it is called; a millisecond at most. */
void ofi_signals_push(struct tw_net *net);
bool ofi_peer_send(struct tw_net *net, struct ofi_peer *peer, struct ofi_buffer *buffer, enum ofi_kind kind);

/* ---- ofi_delegate_serve.c
 *
 * ofi_delegate - ask an endpoint of @node to do @batch, if one seems to wait; false: nobody is asked.  ofi_delegate_wait - nothing came: is it still to do it?
 * Else the server is asked, if it was.  ofi_delegate_reply - the results have come; -EPROTO: nobody asked.  ofi_delegate_seen - (@node, @port) is there, or is @not.
 * ofi_delegate_serve - do what another one asks, if we can.  ofi_delegate_push - we may not look for a while: give away what is left. */
bool ofi_delegate(struct tw_net *net, unsigned node, struct ofi_buffer *batch);
bool ofi_delegate_wait(struct tw_net *net, unsigned node, uint64_t now);
int ofi_delegate_reply(struct tw_net *net, const struct ofi_delegated *reply);
static inline void ofi_delegate_seen(struct ofi_delegation *delegation, unsigned port, bool there)
{
	if (there || delegation->candidate == port + 1)
		delegation->candidate = there ? port + 1 : 0;
}
void ofi_delegate_serve(struct tw_net *net, const struct ofi_delegated *request);
void ofi_delegate_push(struct tw_net *net);

/* ---- ofi_open.c, ofi_flow.c: as the operations of the transport. */
int ofi_open(struct tw_net *net);
void ofi_close(struct tw_net *net);
void ofi_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
bool ofi_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait);

#endif
