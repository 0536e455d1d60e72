/* SPDX-License-Identifier: BSD-3-Clause */
/* transport.h - what a network must do: the interface that the author of a transport implements and that everything
 * above calls.
 *
 * Two kinds.  Where all nodes are on one host (TW_NET_ONE_HOST) every process maps every node's memory, and nothing
 * listens.  Else each node has a *server*, a thread in its agent's process: it answers for the node's memory where the
 * hardware does not, accepts the connections of endpoints that hold the job's secret, and drops their messages and
 * notifies into the mailboxes of the node's processes (net/mailbox.h).  Endpoints connect to servers only, so a node has
 * one connection for each process of the job; and to those that they tell something.
 *
 * Every node exports one range of memory, addressed by (node, offset); parts of it are the *regions* of
 * Cashmere-2L section 2.1 (frames, directory, notice bins, ...: driver/layout.h).  Every process of the job, that is each
 * processor and each node's agent, opens one endpoint, (node, port): processors are ports 0 to ports - 2, the agent is
 * port ports - 1.
 *
 * Ordering promises, which tests/conformance asserts for every transport:
 *   - writes of one endpoint to one node may become visible in any order, unless a fence, flush, notify or send to
 *     that node lies between them;
 *   - an aligned 8-byte write is seen whole or not at all; each aligned element of 1, 2, 4 or 8 bytes is stored once, also of a
 *     longer write;
 *   - after flush(node) returns, all earlier writes to it are visible there, to every process;
 *   - atomics and reads see this endpoint's own earlier writes to that node, and are performed after them;
 *   - messages from one endpoint to one endpoint arrive once, whole, in order, and after the writes before them;
 *   - notify rings after the writes before it are visible: a target that reads its bell, tests a condition and then
 *     sleeps on that bell value cannot miss a wake-up;
 *   - nothing is promised between different senders (no total order: see doc/internals/design.md, "publication").
 *
 * A node may be lost (config.lost, TW_NET_LOSES_NODES).  What was begun before or comes later then ends soon: writes, messages and
 * notifies to it vanish, what reads or atomics give has no meaning; other nodes' goes on as before.  Until that is known, a broken
 * connection is waited for.
 *
 * Context: every operation may be called from fault handlers: no allocation, no stdio, no lock that an application
 * can hold.  One thread at a time per endpoint.  Access to this process's own node is direct memory access. */
#ifndef TWEED_DRIVER_TRANSPORT_H
#define TWEED_DRIVER_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TW_NET_ALL (~0u) /* every node, or every port of a node */

enum tw_net_cap {
	TW_NET_COHERENT_ATOMICS = 1u << 0, /* atomics here and CPU atomics at the target may be mixed on one word */
	TW_NET_ORDERED_WRITES = 1u << 1,   /* writes of one endpoint to one node become visible in order */
	TW_NET_REMOTE_READ = 1u << 2,      /* read() needs no process at the target */
	TW_NET_TOTAL_ORDER = 1u << 3,      /* as the Memory Channel had; nobody relies on it */
	TW_NET_ONE_HOST = 1u << 4,         /* needs all nodes' memory files; serve is NULL */
	TW_NET_PINNED = 1u << 5,           /* exported memory is resident from the start: choose TWEED_MEMORY to fit */
	TW_NET_ASCENDING_READS = 1u << 6,  /* the aligned words of a read of up to 128 bytes are read in rising order */
	TW_NET_LOSES_NODES = 1u << 7,      /* goes on when a node is lost (config.lost) */
};

/* Atomic operations; each gives the old value. */
enum tw_amo { TW_AMO_FETCH, TW_AMO_SWAP, TW_AMO_ADD, TW_AMO_AND, TW_AMO_OR, TW_AMO_XOR, TW_AMO_CAS, TW_AMO_OPS };

#define TW_NET_ADDRESS_BYTES 254
#define TW_NET_SECRET_BYTES  32
/* Where a node's server is found, and what is needed to use it; the transport's own words, opaque to all others. */
struct tw_net_address {
	uint16_t len;
	uint8_t bytes[TW_NET_ADDRESS_BYTES];
};

#define TW_MSG_BODY 232
/* A message: fixed size; @len bytes of @body count.  The transport fills in the source. */
struct tw_msg {
	uint16_t type; /* enum tw_msg_type of core, or the protocol's own, from TW_MSG_PROTOCOL */
	uint16_t len;
	uint16_t src_node;
	uint16_t src_port;
	uint64_t token; /* echoed in replies */
	union {
		uint8_t body[TW_MSG_BODY];
		uint64_t word[TW_MSG_BODY / 8];
	};
};

struct tw_net_config {
	unsigned node, nodes;
	unsigned port, ports;
	size_t bytes;          /* exported memory per node */
	size_t control_offset; /* control_bytes(ports) of it belong to the transport */
	const int *fd;         /* [nodes] the nodes' memory files: the own one; under TW_NET_ONE_HOST all; else -1 */
	const struct tw_net_address *address; /* [nodes] the nodes' servers; NULL under TW_NET_ONE_HOST */
	uint8_t secret[TW_NET_SECRET_BYTES];  /* the job's: whoever does not hold it is refused */
	const char *interface; /* to listen at and connect from: a name (eth0), an address, a subnet (10.0.0.0/24); "" any */
	bool near;             /* a server's: all nodes are this host's, so it listens for them alone, if nothing else is said */
	const char *device;    /* verbs: DEVICE or DEVICE:PORT; ofi: the domain; "" the transport's choice */
	const char *provider;  /* ofi: libfabric's provider; "" the transport's choice */
	uint64_t seed;         /* sim */
	const char *profile;   /* sim: latency and bandwidth profile, or NULL */
	const char *lose;      /* sim: "NODE@SECONDS": from then on it is cut off; or NULL */
	const char *stall;     /* sim: "NODE@SECONDS+SECONDS": nothing reaches or leaves it meanwhile; or NULL */
	unsigned host_nodes;   /* so many nodes, from a multiple of it, are on one host (one-level protocols); 0 is 1 */
	unsigned spin_ns;      /* how long a wait spins before it sleeps */
	bool huge;             /* advise huge pages for exported memory */
	bool survive;          /* endpoints and nodes may end at any time, and shut_out is to be exact */
	/* An endpoint's, [nodes / 64]: a bit for each node that is lost, set by others; NULL: none is ever.  So for dead processors, ports 0 to
	 * ports - 2 of each node in turn, which are shut out everywhere. */
	const _Atomic uint64_t *lost, *dead;
};

struct tw_net {
	const struct tw_transport *ops;
	struct tw_net_config config;
	char *base;                           /* this node's exported memory, mapped readable and writable */
	void *priv;                           /* the transport's */
	struct tw_net_async *async;           /* tw_net_async's; NULL: nobody but the user lets it progress */
	size_t signal_at, signal_bytes;           /* what others tell this endpoint may change this part of base alone */
	uint64_t messages, bytes_out, bytes_in; /* counted by the wrappers below: messages sent, payload written, read */
};

/* Operations that are started, and completed together: the user's memory, one for each of his flows of work. */
struct tw_net_flow {
	bool open;          /* something was started that no settle has completed */
	unsigned in_flight; /* the transport's; and so, by node, how far what was started goes */
	uint64_t mark[];    /* [nodes] */
};

/* What is started: @len bytes between @local and (node, offset), or an atomic.  @local belongs to the transport until the flow is
 * settled: it is read, or written. */
enum tw_net_kind {
	TW_NET_PUT,   /* a write; only of this @local may be used again on return */
	TW_NET_WRITE, /* a write */
	TW_NET_READ,
	TW_NET_AMO, /* @op with @value and @expect on a word of @len bytes, 4 or 8; the old value to @local, if not NULL */
};
struct tw_net_work {
	enum tw_net_kind kind;
	unsigned node;
	size_t offset, len;
	void *local;
	enum tw_amo op;
	uint64_t value, expect;
};

/* What an endpoint is told: to copy @len bytes of @local to @offset of its node, and then to store @value in the aligned word at @word. */
struct tw_net_signal {
	size_t offset, len;
	const void *local;
	size_t word;
	uint64_t value;
};

struct tw_net_server; /* the transport's */
struct tw_net_async;  /* net/async.c's */

/* What a server has seen. */
struct tw_net_counts {
	uint64_t connections; /* accepted */
	uint64_t refused;     /* without the secret, or for another job, or twice */
	uint64_t damaged;     /* messages and requests that make no sense: dropped */
};

/* The operations table: `static const`, all mandatory but serve, serve_end, shut_out, amo and amo_post, start and settle, pending, and
 * the last three. */
struct tw_transport {
	const char *name, *help;
	unsigned caps; /* enum tw_net_cap */

	/* probe - can this transport work on this host?  Returns 0, or -errno with one clause in @why. */
	int (*probe)(char *why, size_t why_bytes);
	/* control_bytes - exported memory that the transport needs for itself, a multiple of 4096. */
	size_t (*control_bytes)(unsigned ports);
	/* serve - in each node's agent, before the node's first open: start the server of @config->node, in threads of its own, and
	 * tell in @own where it is.  @config: port and address have no meaning.  serve_end - stop it, after the last close of all
	 * endpoints that use it; @counts, if not NULL, is filled in.  NULL under TW_NET_ONE_HOST.  serve returns 0 or
	 * -errno, logged. */
	int (*serve)(const struct tw_net_config *config, struct tw_net_server **server, struct tw_net_address *own);
	void (*serve_end)(struct tw_net_server *server, struct tw_net_counts *counts);
	/* shut_out - the process of endpoint (node, port) has ended: on return nothing of it changes the server's node's memory any
	 * more, and no other endpoint takes its place.  In jobs with config.survive.  NULL: what a process has done is done when it ends. */
	void (*shut_out)(struct tw_net_server *server, unsigned node, unsigned port);
	/* open - make @net (config filled in) usable; sets base and priv.  May allocate.  Control memory of every node
	 * is zero before its first open.  All servers run.  Returns 0 or -errno. */
	int (*open)(struct tw_net *net);
	void (*close)(struct tw_net *net);

	/* write - copy @len bytes from @src to (node, offset).  @src may be reused on return. */
	void (*write)(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
	/* direct - where (node, offset) is in this process's memory: a store there, before any other call, is as a write.  NULL: nodes
	 * do not share memory. */
	void *(*direct)(struct tw_net *net, unsigned node, size_t offset);
	/* read - start copying @len bytes at (node, offset) to @dst; done after read_wait(). */
	void (*read)(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
	void (*read_wait)(struct tw_net *net);
	/* atomics on aligned 64-bit words; blocking; return the old value. */
	uint64_t (*cas)(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value);
	uint64_t (*fadd)(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
	uint64_t (*swap)(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
	/* amo - @op, with @value and for CAS @expect, on an aligned word of @bytes, 4 or 8; blocking; returns the old value,
	 * zero-extended.  amo_post - the same without a result: to fence and flush it is a write.  Both NULL: they are made of
	 * the three above (tw_net_amo). */
	uint64_t (*amo)(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
	                uint64_t expect);
	void (*amo_post)(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
	                 uint64_t expect);
	/* start - begin @work as part of @flow, of another node.  It waits for nothing but room.  To fence, notify and send it is what
	 * write, read and atomics are.  flush and read_wait may complete it, but only settle says so.
	 * settle - is all performed that was started in @flow: visible there, arrived here?  @wait: return when it is.  Else return
	 * whether it is, having begun what it needs.  Other flows' work is waited for where the network keeps it in order with
	 * this one's, and then only.  Both NULL: what is started is done at once (tw_net_start). */
	void (*start)(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
	bool (*settle)(struct tw_net *net, struct tw_net_flow *flow, bool wait);
	/* fence - writes to @node (or TW_NET_ALL) before it become visible before those after it. */
	void (*fence)(struct tw_net *net, unsigned node);
	/* flush - return when all earlier writes to @node (or TW_NET_ALL) are visible there.  Also a full
	 * memory barrier of this processor: later local loads are performed after it. */
	void (*flush)(struct tw_net *net, unsigned node);
	/* send - 0, or -EAGAIN when the target's queue is full (serve your own, then try again). */
	int (*send)(struct tw_net *net, unsigned node, unsigned port, const struct tw_msg *msg);
	/* recv - the next message for this endpoint: true and *msg, or false. */
	bool (*recv)(struct tw_net *net, struct tw_msg *msg);
	/* notify - ring the bell of (node, port), or of TW_NET_ALL ports of the node; also of the own node. */
	void (*notify)(struct tw_net *net, unsigned node, unsigned port);
	/* bell - this endpoint's bell value; a notify or an arriving message changes it. */
	uint32_t (*bell)(struct tw_net *net);
	/* sleep - until the bell is no longer @seen, or @timeout_ns (0: no limit) passed; may return early. */
	void (*sleep)(struct tw_net *net, uint32_t seen, uint64_t timeout_ns);
	/* progress - let delayed work of this endpoint advance; cheap. */
	void (*progress)(struct tw_net *net);
	/* pending - does delayed work of this endpoint, or an answer that it reads itself, still need a later call?  Cheap.  NULL: never, or
	 * it is to stay delayed (tw_net_async). */
	bool (*pending)(struct tw_net *net);
	/* tell - what @signal says, by endpoint (node, port) itself, of another node, without its server: sooner, where that endpoint waits for it;
	 * else when it hears or waits the next time.  Done in the order of telling, and after all earlier writes of this endpoint to
	 * that node.  @signal's memory may be used again on return.  False: nothing was done and nothing waited for: then write and notify.  More than a transport's messages
	 * hold may wait until the other one reads, where the system does not take it; more than 128 KiB is refused.  So it
	 * is at first, until a way is found; while such writes are not known to be done, which is asked for then; and while much is told that
	 * was not heard.  hear - do what others have told this one; has something come?  doze - this endpoint is about to sleep on its bell, in a wait for what
	 * (node, port) writes or tells: whose next tell is refused, for a notify wakes.  Not in fault context; all NULL: there is no such way. */
	bool (*put_signal)(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *signal);
	bool (*poll_signals)(struct tw_net *net);
	void (*announce_sleep)(struct tw_net *net, unsigned node, unsigned port);
};

/* tw_transport_find - the transport of that name ("shm", "sim", ...), or NULL.  tw_transport_list: all, NULL-ended. */
const struct tw_transport *tw_transport_find(const char *name);
const struct tw_transport *const *tw_transport_list(void);

/* tw_net_open - open an endpoint: allocates @*net.  Not in fault context.  Returns 0 or -errno, logged. */
int tw_net_open(const struct tw_transport *ops, const struct tw_net_config *config, struct tw_net **net);
void tw_net_close(struct tw_net *net);
/* tw_net_async - from now on what this endpoint's operations have begun goes on, and becomes visible, though no call follows: a thread lets it
 * progress, some milliseconds late where its user computes.  Not in fault context; once is enough.  tw_net_close ends it.  Returns
 * 0 or -errno, logged.  tw_net_async_end - as if it had not been called. */
int tw_net_async(struct tw_net *net);
void tw_net_async_end(struct tw_net *net);

/* Thin wrappers: count, and short-cut this process's own node to plain memory. */
void tw_net_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
void tw_net_write64(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
/* tw_net_direct - where to store in place of writing to (node, offset) of another node, before any other call; NULL: no such place.
 * tw_net_stored - so many bytes were. */
void *tw_net_direct(struct tw_net *net, unsigned node, size_t offset);
void tw_net_stored(struct tw_net *net, size_t bytes);
void tw_net_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
static inline void tw_net_read_wait(struct tw_net *net) { net->ops->read_wait(net); }
uint64_t tw_net_read64(struct tw_net *net, unsigned node, size_t offset); /* blocking */
uint64_t tw_net_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value);
uint64_t tw_net_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
uint64_t tw_net_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
/* tw_net_amo, tw_net_amo_post - as the operations; what a transport lacks is a loop of its cas on the 8 bytes around. */
uint64_t tw_net_amo(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                    uint64_t expect);
void tw_net_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                     uint64_t expect);
/* tw_net_flow_new - nothing is started in it; NULL: no memory.  Not in fault context; free() when it is settled.
 * tw_net_start, tw_net_settle - as the operations; any node. */
struct tw_net_flow *tw_net_flow_new(const struct tw_net *net);
void tw_net_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
bool tw_net_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait);
/* tw_net_put_signal - as the operation; false also where there is none. */
bool tw_net_put_signal(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *signal);
/* tw_amo_result - what a word that holds @old holds after @op.
 * tw_amo_here - @op by this processor, on memory that it can address; sequentially consistent. */
static inline uint64_t tw_amo_result(enum tw_amo op, uint64_t old, uint64_t value, uint64_t expect)
{
	switch (op) {
	case TW_AMO_SWAP:
		return value;
	case TW_AMO_ADD:
		return old + value;
	case TW_AMO_AND:
		return old & value;
	case TW_AMO_OR:
		return old | value;
	case TW_AMO_XOR:
		return old ^ value;
	case TW_AMO_CAS:
		return old == expect ? value : old;
	default:
		return old;
	}
}
uint64_t tw_amo_here(void *word, enum tw_amo op, unsigned bytes, uint64_t value, uint64_t expect);
/* tw_net_lost - is @node?  @config: an endpoint's. */
static inline bool tw_net_lost(const struct tw_net_config *config, unsigned node)
{
	return config->lost && atomic_load_explicit(&config->lost[node / 64], memory_order_acquire) >> node % 64 & 1;
}
/* tw_net_dead - has the process of endpoint (node, port) ended, so that nothing of it comes any more? */
static inline bool tw_net_dead(const struct tw_net_config *config, unsigned node, unsigned port)
{
	unsigned processor = node * (config->ports - 1) + port;

	if (port == config->ports - 1)
		return tw_net_lost(config, node);
	return config->dead &&
	       atomic_load_explicit(&config->dead[processor / 64], memory_order_acquire) >> processor % 64 & 1;
}
static inline void tw_net_fence(struct tw_net *net, unsigned node) { net->ops->fence(net, node); }
static inline void tw_net_flush(struct tw_net *net, unsigned node) { net->ops->flush(net, node); }
/* tw_net_broadcast64 - write a word to every node, this one included (a broadcast region of section 2.3). */
void tw_net_broadcast64(struct tw_net *net, size_t offset, uint64_t value);
/* tw_net_send - as send, but waits while the target's queue is full. */
void tw_net_send(struct tw_net *net, unsigned node, unsigned port, struct tw_msg *msg);
bool tw_net_recv(struct tw_net *net, struct tw_msg *msg);
static inline void tw_net_notify(struct tw_net *net, unsigned node, unsigned port) { net->ops->notify(net, node, port); }

/* tw_net_wait - wait until @ready(@arg) is true: spin for config.spin_ns, then sleep on the bell.  Whoever makes it true
 * must notify this endpoint afterwards.  @ready is called often, in this thread, and must be cheap. */
void tw_net_wait(struct tw_net *net, bool (*ready)(void *arg), void *arg);
/* tw_net_wait_until - the same, but not beyond @until_ns of tw_time_ns() (0: no limit).  Returns whether it is true. */
bool tw_net_wait_until(struct tw_net *net, bool (*ready)(void *arg), void *arg, uint64_t until_ns);

#endif
