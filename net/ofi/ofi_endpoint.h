/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_endpoint.h - an endpoint of the ofi transport: what its files share.
 *
 * Sections are in the order of dependence: each file calls only those above it.  Progress calls upwards through struct
 * ofi_upcalls. */
#ifndef TW_NET_OFI_OFI_ENDPOINT_H
#define TW_NET_OFI_OFI_ENDPOINT_H

#include "net/mailbox.h"
#include "net/ofi/port/ofi_port.h"
#include "net/ofi/ofi_peer.h"
#include "net/ofi/ofi_link.h"

#define OFI_TRANSFERS_MOST 8u          /* at once */
#define OFI_LOST_NS        5000000000u /* from a loss to the end of the job, unless the job ends by itself before */
#define OFI_DIRECT         16384u      /* from this size on writes and reads are the provider's own */
#define OFI_SIGNALS_MORE   16u         /* send buffers for peers, beyond one for each node */

/* What progress calls; none of these is on the path of a put or get. */
struct ofi_upcalls {
	void (*introduced)(struct tw_net *net, struct ofi_buffer *first);             /* ofi_peer_accept */
	void (*disconnected)(struct tw_net *net, fi_addr_t to);                       /* ofi_peer_broken */
	void (*delegated)(struct tw_net *net, const struct ofi_delegated *request);   /* ofi_delegate_serve */
	int (*delegate_reply)(struct tw_net *net, const struct ofi_delegated *reply); /* ofi_delegate_reply */
	bool (*delegate_wait)(struct tw_net *net, unsigned node, uint64_t now);       /* ofi_delegate_wait */
};

struct ofi {
	struct ofi_port port;
	const struct ofi_upcalls *upcalls;
	struct tw_mailbox *self;
	struct ofi_spin spin;
	unsigned opens;          /* open batches */
	unsigned reading;        /* remote reads that read_wait waits for */
	unsigned reading_node;   /* node of the last of them */
	struct ofi_peers *peers; /* NULL: no messages between endpoints */
	bool signaled;           /* a put with signal, or a delegated batch, arrived since this was cleared */
	uint64_t polled;         /* time of the last poll for signals */
	uint64_t lost_since;     /* time since when a signal from or to lost_node is known to be lost; 0: none is */
	unsigned lost_node;
	bool delegate_push; /* the provider may still hold replies to delegated batches */
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

/* ---- ofi_progress.c: what arrives, and waiting for it
 *
 * ofi_lost - end the process: the connection to @node is lost because of @why.
 * ofi_broken - sending to @node, or a sent message, failed with libfabric's @error.  Returns in jobs that survive;
 * else ends the process after OFI_LOST_NS.
 * ofi_signal_lost - a signal to or from a processor of @node may be lost.  ofi_signal_lost_end - end the process if
 * that was more than OFI_LOST_NS ago. */
void ofi_lost(const struct tw_net *net, unsigned node, const char *why) __attribute__((noreturn));
void ofi_broken(const struct tw_net *net, unsigned node, ssize_t error);
void ofi_signal_lost(struct ofi *o, unsigned node);
void ofi_signal_lost_end(const struct tw_net *net);

/* ofi_advance - handle one event of the port; false: there was none.
 * ofi_relax - after ofi_advance has returned false, in a wait for @node since @begun: yield, sleep, and in the end
 * give up.
 * ofi_wait - advance until *@done >= @number or @node is lost.  ofi_wait_none - until *@in_flight is 0; @node is
 * waited for.
 * ofi_idle_buffer - take a buffer of @idle, which is to go to @node; waits until there is one.
 * ofi_signals_push - advance until the provider has sent all messages to peers, for a millisecond at most: libfabric
 * sends only when it is called.  ofi_delegate_push - the same, if replies to delegated batches may be among them. */
bool ofi_advance(struct tw_net *net);
void ofi_relax(struct tw_net *net, unsigned node, uint64_t begun);
void ofi_wait(struct tw_net *net, unsigned node, const uint64_t *done, uint64_t number);
void ofi_wait_none(struct tw_net *net, unsigned node, const unsigned *in_flight);
struct ofi_buffer *ofi_idle_buffer(struct tw_net *net, unsigned node, struct ofi_pool *idle);
void ofi_signals_push(struct tw_net *net);
void ofi_delegate_push(struct tw_net *net);

/* ---- ofi_submit.c: messages given to the provider
 *
 * ofi_submit - send @buffer to @node's server; waits until the provider takes it.  @answered: an answer will come, and
 * is waited for.
 * ofi_push - advance until the provider has sent all messages to servers of nodes that are not lost; @node is waited
 * for.
 * ofi_peer_send - send @buffer, of head->bytes, as the next message to the connected @peer.  False: the provider does
 * not take it now; the buffer is idle again. */
void ofi_submit(struct tw_net *net, unsigned node, struct ofi_buffer *buffer, bool answered);
void ofi_push(struct tw_net *net, unsigned node);
bool ofi_peer_send(struct tw_net *net, struct ofi_peer *peer, struct ofi_buffer *buffer, enum ofi_kind kind);

/* ---- ofi_delegate.c: batches executed by an endpoint in place of its node's server
 *
 * ofi_delegate - send the closed @batch to an endpoint of @node that seems to wait; false: to the server, by the
 * caller.
 * ofi_delegate_wait - @node's delegated batch has no reply at @now.  True: wait on.  Else it has been sent to the
 * server.  Only while delegation.batch is not NULL.
 * ofi_delegate_reply - take the results; -EPROTO: the reply is not to an outstanding batch.
 * ofi_delegate_serve - execute a peer's batch, if a reply can be sent.
 * ofi_delegate_seen - a message of endpoint (node, @port) shows that it is polling (@there), or that it is not. */
bool ofi_delegate(struct tw_net *net, unsigned node, struct ofi_buffer *batch);
bool ofi_delegate_wait(struct tw_net *net, unsigned node, uint64_t now);
int ofi_delegate_reply(struct tw_net *net, const struct ofi_delegated *reply);
void ofi_delegate_serve(struct tw_net *net, const struct ofi_delegated *request);
static inline void ofi_delegate_seen(struct ofi_delegation *delegation, unsigned port, bool there)
{
	if (there || delegation->candidate == port + 1)
		delegation->candidate = there ? port + 1 : 0;
}

/* ---- ofi_batch.c
 *
 * ofi_add - append an entry, with entry.bytes behind it, to @node's open batch, which is opened if there is none;
 * returns the entry.  Its results take @results bytes of the answer.
 * ofi_close_batch - send @node's open batch, if there is one.  @ask: it, or an empty one, is to be answered.
 * ofi_answer_batch - the same with @ask, by a caller that waits for the answer and for nothing else: the batch may be
 * delegated.
 * ofi_close_all - ofi_close_batch of all nodes, without @ask. */
struct ofi_entry *ofi_add(struct tw_net *net, unsigned node, struct ofi_entry entry, size_t results);
void ofi_close_batch(struct tw_net *net, unsigned node, bool ask);
void ofi_answer_batch(struct tw_net *net, unsigned node);
void ofi_close_all(struct tw_net *net);

/* ---- ofi_rma.c: remote memory access and atomics
 *
 * ofi_direct - start the provider's own write to, or read of, (node, offset); it counts in *@in_flight until it is
 * complete.
 * ofi_amo_result - add an atomic to the batch; the first @stored bytes of the old value go to @old.  The others are
 * operations of the transport. */
void ofi_direct(struct tw_net *net, unsigned node, bool write, size_t offset, void *local, size_t bytes,
                unsigned *in_flight);
void ofi_amo_result(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                    uint64_t expect, void *old, uint32_t stored);
void ofi_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
void ofi_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
void ofi_read_wait(struct tw_net *net);
uint64_t ofi_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value);
uint64_t ofi_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
uint64_t ofi_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
uint64_t ofi_amo(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                 uint64_t expect);
void ofi_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                  uint64_t expect);
void ofi_cas_wide(struct tw_net *net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t value[2]);
void ofi_fence(struct tw_net *net, unsigned node);
void ofi_flush(struct tw_net *net, unsigned node);

/* ---- ofi_connect.c: connections to peers
 *
 * ofi_cards_bytes - size of the cards in control memory.
 * ofi_peers_open - publish this endpoint's card, so that peers can connect; not in jobs that survive, whose dead
 * endpoints must be shut out exactly.  Returns 0 or -errno, logged.
 * ofi_peers_leave - send OFI_LEAVES on all connections, and wait a while for those that are being opened.
 * ofi_peer_connect - is @peer connected?  If not, its card is read and both lanes are tried.
 * ofi_peer_send_head - send a message without data, or an introduction; false: not now.
 * ofi_peer_accept - an introduction arrived in @first: take the connection that it requests, or find the route back.
 * ofi_peer_broken - the connection of libfabric's number @to is broken. */
size_t ofi_cards_bytes(unsigned ports);
int ofi_peers_open(struct tw_net *net);
void ofi_peers_leave(struct tw_net *net);
bool ofi_peer_connect(struct tw_net *net, struct ofi_peer *peer);
bool ofi_peer_send_head(struct tw_net *net, struct ofi_peer *peer, enum ofi_kind kind);
void ofi_peer_accept(struct tw_net *net, struct ofi_buffer *first);
void ofi_peer_broken(struct tw_net *net, fi_addr_t to);

/* ---- ofi_put_signal.c, ofi_flow.c, ofi_open.c: operations of the transport */
bool ofi_put_signal(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *put);
bool ofi_poll_signals(struct tw_net *net);
void ofi_announce_sleep(struct tw_net *net, unsigned node, unsigned port);
void ofi_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
bool ofi_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait);
int ofi_open(struct tw_net *net);
void ofi_close(struct tw_net *net);

#endif
