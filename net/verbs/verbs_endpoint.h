/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_endpoint.h - an endpoint under verbs: one reliable connection to the server of each node.
 *
 * Per node there is a send queue, in which work requests complete in order, and a ring of registered bytes, from which
 * writes are sent and in which the results of reads and atomics arrive.  Positions only rise:
 *
 *     ring:     freed <= ... <= taken, taken - freed <= ring_bytes; each piece is contiguous
 *     requests: done <= posted <= queued, queued - done <= depth; [posted, queued) is the batch,
 *               which the device does not have yet
 *     reported: behind the last posted request that reports; all requests before it are retired with it
 *
 * A batch is posted with one doorbell when a caller waits for it, when a message follows, when it is large, or in
 * progress().  Requests report (are signalled) when a caller waits for them, and at least once every eighth of the
 * queue and of the ring: so while either is full a report is in flight, and waiting for it makes room. */
#ifndef TW_NET_VERBS_VERBS_ENDPOINT_H
#define TW_NET_VERBS_VERBS_ENDPOINT_H

#include "net/mailbox.h"
#include "net/verbs/verbs.h"

#define VERBS_BATCH  16u  /* requests of one doorbell */
#define VERBS_DEPTH  128u /* requests of one send queue */
#define VERBS_INLINE 256u /* bytes that a request carries itself, where the device can */

/* A request that is not complete. */
struct verbs_slot {
	void *dst;   /* destination of the result; NULL: there is none */
	uint32_t at; /* in the ring */
	uint32_t len;
	uint64_t taken; /* the ring's position behind it */
};

struct verbs_peer {
	struct rdma_cm_id *id;
	uint64_t base; /* of the node's memory */
	uint32_t rkey;
	bool lost; /* while closing */
	char *ring;
	uint64_t taken, freed, posted_taken, answered_taken;
	uint64_t queued, posted, done, reported;
	uint64_t written; /* position behind the last write */
	uint64_t reading; /* position behind the last read */
	uint64_t proof;   /* position behind the last read that was queued to settle earlier requests */
	uint64_t settled; /* requests before it are performed at the node: a read or atomic behind them is complete */
	struct verbs_slot *slot; /* [depth] */
	struct ibv_send_wr wr[VERBS_BATCH];
	struct ibv_sge sge[VERBS_BATCH];
};

#define VERBS_LOOPS 32u /* at once; a further one waits */

/* A started atomic that the device lacks (verbs_loop.c). */
struct verbs_loop {
	struct tw_net_flow *flow; /* NULL: there is none */
	unsigned node, bytes;
	enum tw_amo op;
	size_t offset;
	uint64_t value, expect;
	void *old;          /* NULL: it is not wanted */
	uint64_t seen, was; /* the 8 bytes around: as assumed, and as found */
	uint64_t position;  /* behind its compare-and-swap */
};

/* The last compare-and-swap's new value and its place; @fresh: issued since answers were last handled. */
struct verbs_wrote {
	unsigned node;
	size_t offset;
	uint64_t value;
	bool fresh;
};

struct verbs {
	struct tw_mailbox *self;
	struct rdma_event_channel *events;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *rings;
	char *ring; /* [nodes] of ring_bytes; a shared mapping: a fork of the program must not take the pages away */
	size_t ring_bytes, chunk_bytes;
	uint32_t depth, inline_bytes, reads;
	unsigned batches;              /* peers whose batch is not empty, at most */
	unsigned read_first, read_end; /* range of nodes with reads not yet waited for; UINT_MAX, 0: none */
	bool armed;                    /* the channel gets, or holds, an event */
	bool closing;
	bool coherent; /* the device's atomics are atomic towards the processors' */
	struct verbs_slot *slots;
	unsigned loops; /* of loop[] */
	struct verbs_loop loop[VERBS_LOOPS];
	struct verbs_wrote wrote;
	struct verbs_peer peer[]; /* [nodes] */
};

static inline bool verbs_own(const struct tw_net *net, unsigned node)
{
	return node == net->config.node;
}

/* ---- verbs_queue.c
 *
 * verbs_fits - is there room for a request of @bytes to the peer?
 * verbs_room - wait for room for a request of @len bytes to @node; returns early if that is found lost while closing.
 * verbs_queue - queue a request of @len bytes, for which there is room; returns its bytes of the ring.  What arrives
 * goes to @dst.
 * verbs_atomic_queue - queue an atomic; waits for room.  The old value goes to @old, if not NULL.
 * verbs_behind - queue a small read behind everything that is queued to @node, and post: when it is done, all that is
 * performed.
 * verbs_post - pass the batch to the device; @report: its last request will be waited for.  verbs_post_all - all
 * batches.
 * verbs_poll - handle completions; true if there were any.
 * verbs_wait - until all requests to @node before @position are done; one at or behind it must have been posted to
 * report. */
bool verbs_fits(const struct verbs *v, struct verbs_peer *p, size_t bytes);
void verbs_room(struct tw_net *net, unsigned node, size_t len);
char *verbs_queue(struct verbs *v, unsigned node, enum ibv_wr_opcode opcode, size_t offset, size_t len, void *dst);
void verbs_atomic_queue(struct tw_net *net, unsigned node, size_t offset, enum ibv_wr_opcode opcode, uint64_t one,
                        uint64_t two, void *old);
void verbs_behind(struct tw_net *net, unsigned node);
void verbs_post(struct verbs *v, unsigned node, bool report);
void verbs_post_all(struct tw_net *net);
bool verbs_poll(struct verbs *v);
void verbs_wait(struct tw_net *net, unsigned node, uint64_t position);

/* ---- verbs_loop.c: atomics that the device lacks
 *
 * verbs_loop_start - start one.
 * verbs_loops_push - make sure that those in flight get answers.  verbs_loops_advance - handle the answers that have
 * arrived.
 * verbs_loops_any - are there any of @flow (NULL: of all) to @node (or TW_NET_ALL)?  verbs_loops_end - wait for
 * them. */
void verbs_loop_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
void verbs_loops_push(struct tw_net *net);
void verbs_loops_advance(struct tw_net *net);
bool verbs_loops_any(const struct verbs *v, const struct tw_net_flow *flow, unsigned node);
void verbs_loops_end(struct tw_net *net, const struct tw_net_flow *flow, unsigned node);

/* ---- verbs_rma.c, verbs_flow.c, verbs_open.c: operations of the transport */
void verbs_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
void verbs_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
void verbs_read_wait(struct tw_net *net);
uint64_t verbs_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value);
uint64_t verbs_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
uint64_t verbs_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
void verbs_fence(struct tw_net *net, unsigned node);
void verbs_flush(struct tw_net *net, unsigned node);
void verbs_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
bool verbs_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait);
int verbs_open(struct tw_net *net);
void verbs_close(struct tw_net *net);

#endif
