/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_endpoint.h - an endpoint under verbs: one reliable connection to the server of each node.
 *
 * Per node there is a send queue, in which work requests complete in order, and a ring of registered bytes, from which
 * writes go out and in which reads and atomics arrive.  Positions only rise:
 *
 *     ring:     freed <= ... <= taken, taken - freed <= ring_bytes; each piece is contiguous
 *     requests: done <= posted <= queued, queued - done <= depth; [posted, queued) is the batch, not told to the device
 *     told:     behind the last posted request that reports; all before it are retired with it
 *
 * A batch is posted with one doorbell when somebody waits for it, when a message follows, when it is large, or in
 * progress(). Requests report (are signalled) when somebody waits for them, and at least once every eighth of the
 * queue and of the ring: so while either is full a report is under way, and waiting for it makes room. */
#ifndef TW_NET_VERBS_VERBS_ENDPOINT_H
#define TW_NET_VERBS_VERBS_ENDPOINT_H

#include "net/mailbox.h"
#include "net/verbs/verbs.h"

#define VERBS_BATCH  16u  /* requests of one doorbell */
#define VERBS_DEPTH  128u /* requests of one send queue */
#define VERBS_INLINE 256u /* bytes that a request carries itself, where the device can */

/* A request that is not done. */
struct verbs_slot {
	void *dst;   /* where what arrives goes; NULL: nothing arrives */
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
	uint64_t queued, posted, done, told;
	uint64_t written; /* position behind the last write */
	uint64_t reading; /* position behind the last read */
	uint64_t proof;   /* position behind the last read that was queued to settle what is before it */
	uint64_t settled; /* requests before it have been performed at the node: a read or atomic behind them is done */
	struct verbs_slot *slot; /* [depth] */
	struct ibv_send_wr wr[VERBS_BATCH];
	struct ibv_sge sge[VERBS_BATCH];
};

#define VERBS_LOOPS 32u /* at a time; then a new one waits */

/* A started atomic that the device lacks (verbs_loop.c). */
struct verbs_loop {
	struct tw_net_flow *flow; /* NULL: there is none */
	unsigned node, bytes;
	enum tw_amo op;
	size_t offset;
	uint64_t value, expect;
	void *old;          /* NULL: it is not wanted */
	uint64_t seen, was; /* what the 8 bytes around were taken for, and were */
	uint64_t position;  /* behind its compare-and-swap */
};

/* What the last of them put where; @fresh: since the last look at answers. */
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
	char *ring; /* [nodes] of ring_bytes; shared mapping, so that a fork of the program leaves the pages to us */
	size_t ring_bytes, chunk_bytes;
	uint32_t depth, inline_bytes, reads;
	unsigned batches;              /* peers whose batch is not empty, at most */
	unsigned read_first, read_end; /* nodes with reads that nobody has waited for, at most; UINT_MAX, 0: none */
	bool armed;                    /* the channel gets, or holds, an event */
	bool closing;
	bool coherent; /* the device's atomics are atomic to the processors' too */
	struct verbs_slot *slots;
	unsigned loops; /* of loop[] */
	struct verbs_loop loop[VERBS_LOOPS];
	struct verbs_wrote wrote;
	struct verbs_peer peer[]; /* [nodes] */
};

/* verbs_open, verbs_close - the operations open and close. */
int verbs_open(struct tw_net *net);
void verbs_close(struct tw_net *net);

/* verbs_room - make room for a request of @len bytes to @node, unless that is found lost while closing.
 * verbs_queue - queue a request of @len bytes, which the ring must have room for; its bytes of the ring.  verbs_atomic_queue - an atomic,
 * with room; the old value goes to @old, if not NULL.
 * verbs_post - tell the device of the batch; @report: somebody will wait for its last request.
 * verbs_wait - until all requests to @node before @position are done, which have been posted to report. */
void verbs_room(struct tw_net *net, unsigned node, size_t len);
char *verbs_queue(struct verbs *v, unsigned node, enum ibv_wr_opcode opcode, size_t offset, size_t len, void *dst);
void verbs_atomic_queue(struct tw_net *net, unsigned node, size_t offset, enum ibv_wr_opcode opcode, uint64_t one,
                        uint64_t two, void *old);
void verbs_post(struct verbs *v, unsigned node, bool report);
void verbs_wait(struct tw_net *net, unsigned node, uint64_t position);

/* Operations. */
void verbs_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
void verbs_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
void verbs_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
bool verbs_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait);

/* verbs_loop_start - an atomic that the device lacks.  verbs_loops_push - let those under way be answered; verbs_loops_advance - take the
 * answers that have come.  verbs_loops_any - are there of @flow (NULL: all) to @node (or TW_NET_ALL)?  verbs_loops_end - wait for them. */
void verbs_loop_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
void verbs_loops_push(struct tw_net *net);
void verbs_loops_advance(struct tw_net *net);
bool verbs_loops_any(const struct verbs *v, const struct tw_net_flow *flow, unsigned node);
void verbs_loops_end(struct tw_net *net, const struct tw_net_flow *flow, unsigned node);

/* verbs_poll - take what completed; true if anything did. */
bool verbs_poll(struct verbs *v);
/* verbs_behind - queue a small read behind all that is queued to @node, and post: when it is done, all that is
 * performed. */
void verbs_behind(struct tw_net *net, unsigned node);

#endif
