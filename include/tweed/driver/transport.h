/* SPDX-License-Identifier: BSD-3-Clause */
/* transport.h - what a network must do: the interface that the author of a transport implements and that everything
 * above calls.
 *
 * There are two kinds.  Where all nodes are on one host (TW_NET_ONE_HOST) every process maps every node's memory, and
 * nothing listens.  Else each node has a *server*, a thread in its agent's process: it executes accesses to the node's
 * memory where the hardware does not, accepts the connections of endpoints that hold the job's secret, and puts their
 * messages and notifies into the mailboxes of the node's processes (net/mailbox.h).  Endpoints connect to servers, so
 * a node has one connection for each process of the job; and to the endpoints to which they put with signal.
 *
 * Every node exports one range of memory, addressed by (node, offset); parts of it are the *regions* of Cashmere-2L
 * section 2.1 (frames, directory, notice bins, ...: driver/layout.h).  Every process of the job, that is each
 * processor and each node's agent, opens one endpoint, (node, port): processors are ports 0 to ports - 2, the agent is
 * port ports - 1.
 *
 * Ordering promises, which tests/conformance asserts for every transport:
 *   - writes of one endpoint to one node may become visible in any order, unless a fence, flush, notify or send to
 *     that node lies between them;
 *   - an aligned 8-byte write is seen whole or not at all; each aligned element of 1, 2, 4 or 8 bytes is stored once,
 *     also of a longer write;
 *   - after flush(node) returns, all earlier writes to it are visible there, to every process;
 *   - atomics and reads see this endpoint's own earlier writes to that node, and are performed after them;
 *   - messages from one endpoint to one endpoint arrive once, whole, in order, and after the writes before them;
 *   - notify rings after the writes before it are visible: a target that reads its bell, tests a condition and then
 *     sleeps on that bell value cannot miss a wake-up;
 *   - nothing is promised between different senders (no total order: doc/internals/publication.md).
 *
 * A node may be lost (config.lost, TW_NET_LOSES_NODES).  Operations on it, begun before or later, then end soon:
 * writes, messages and notifies to it vanish, and results of reads and atomics have no meaning; operations on other
 * nodes continue as before.  Until the loss is known, operations on a broken connection wait.
 *
 * Context: every operation may be called from fault handlers: no allocation, no stdio, no lock that an application can
 * hold.  One thread at a time per endpoint.  Access to this process's own node is direct memory access. */
#ifndef TWEED_DRIVER_TRANSPORT_H
#define TWEED_DRIVER_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tweed/driver/setting.h"

#define TW_NET_ALL (~0u) /* every node, or every port of a node */

enum tw_net_cap {
	TW_NET_COHERENT_ATOMICS = 1u << 0, /* atomics here and CPU atomics at the target may be mixed on one word */
	TW_NET_ORDERED_WRITES = 1u << 1,   /* writes of one endpoint to one node become visible in order */
	TW_NET_REMOTE_READ = 1u << 2,      /* read() needs no process at the target */
	TW_NET_TOTAL_ORDER = 1u << 3,      /* as the Memory Channel had; nothing relies on it */
	TW_NET_ONE_HOST = 1u << 4,         /* needs all nodes' memory files; serve is NULL */
	TW_NET_PINNED = 1u << 5,           /* exported memory is resident from the start: choose TWEED_MEMORY to fit */
	TW_NET_ASCENDING_READS = 1u << 6,  /* a read of up to 128 bytes reads aligned words in rising order */
	TW_NET_LOSES_NODES = 1u << 7,      /* goes on when a node is lost (config.lost) */
};

/* Atomic operations; each gives the old value.  TW_AMO_ADD_REAL: of floating point, of the word's size. */
enum tw_amo {
	TW_AMO_FETCH,
	TW_AMO_SWAP,
	TW_AMO_ADD,
	TW_AMO_AND,
	TW_AMO_OR,
	TW_AMO_XOR,
	TW_AMO_CAS,
	TW_AMO_ADD_REAL,
	TW_AMO_OPS
};

#define TW_NET_ADDRESS_BYTES 254
#define TW_NET_SECRET_BYTES  32
/* A node's server: how to reach and use it.  In the transport's own format, opaque to all others. */
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
	const struct tw_costs *costs; /* of virtual time; NULL: time is real */
	unsigned node, nodes;
	unsigned port, ports;
	size_t bytes;          /* exported memory per node */
	size_t control_offset; /* control_bytes(ports) of it belong to the transport */
	const int *fd;         /* [nodes] the nodes' memory files: the own one; under TW_NET_ONE_HOST all; else -1 */
	const struct tw_net_address *address; /* [nodes] the nodes' servers; NULL under TW_NET_ONE_HOST */
	uint8_t secret[TW_NET_SECRET_BYTES];  /* the job's: processes without it are refused */
	const char *interface;                /* to use: a name (eth0), an address, a subnet (10.0.0.0/24); "": any */
	bool near;            /* a server's: all nodes are on this host, so by default it listens for them alone */
	const char *device;   /* verbs: DEVICE or DEVICE:PORT; ofi: the domain; "": the transport's choice */
	const char *provider; /* ofi: libfabric's provider; "": the transport's choice */
	unsigned host_nodes;  /* so many nodes, from a multiple of it on, share a host (one-level protocols); 0 is 1 */
	unsigned spin_ns;     /* how long a wait spins before it sleeps */
	bool huge;            /* advise huge pages for exported memory */
	bool survive;         /* endpoints and nodes may end at any time; shut_out must be exact */
	/* An endpoint's.  lost: [nodes / 64], a bit for each node that is lost, set from outside; NULL: none ever is.
	 * dead: the same for dead processors, ports 0 to ports - 2 of each node in turn, which are shut out
	 * everywhere. */
	const _Atomic uint64_t *lost, *dead;
};

/* Messages sent; payload written and read; how often the user waited for other nodes' memory or agents: for reads, for
 * a flush behind writes, for an atomic operation, for started work, for a reply.  @reads: some are not waited for yet.
 * @writes: some to nodes with these numbers, modulo 64, are not. */
struct tw_traffic {
	uint64_t messages, bytes_out, bytes_in, round_trips;
	uint64_t writes;
	bool reads;
};

struct tw_net {
	const struct tw_transport *ops;
	struct tw_net_config config;
	char *base;                     /* this node's exported memory, mapped readable and writable */
	void *priv;                     /* the transport's */
	struct tw_net_async *async;     /* tw_net_async's, tw_net_share's; NULL: only the user's calls make progress */
	size_t signal_at, signal_bytes; /* the part of base that puts with signal to this endpoint may change */
	struct tw_traffic *traffic;     /* counted by the wrappers: own_traffic, or where its opener wants it */
	struct tw_traffic own_traffic;
};

/* Operations that are started, and completed together.  In the user's memory, one for each independent sequence of
 * them. */
struct tw_net_flow {
	bool open;          /* an operation was started that no settle has completed */
	unsigned in_flight; /* the transport's */
	uint64_t mark[];    /* the transport's: [nodes], how far started operations reach */
};

/* An operation to start: @len bytes between @local and (node, offset), or an atomic.  @local belongs to the transport,
 * which reads or writes it, until the flow is settled. */
enum tw_net_kind {
	TW_NET_PUT,   /* a write; @local may be used again on return */
	TW_NET_WRITE, /* a write */
	TW_NET_READ,
	TW_NET_AMO, /* @op with @value and @expect on a word of 4 or 8 bytes (@len); old value to @local, or NULL */
};
struct tw_net_work {
	enum tw_net_kind kind;
	unsigned node;
	size_t offset, len;
	void *local;
	enum tw_amo op;
	uint64_t value, expect;
};

/* A put with signal: @len bytes of @local to @offset of the target's node, and then @value to the aligned word at
 * @word. */
struct tw_net_signal {
	size_t offset, len;
	const void *local;
	size_t word;
	uint64_t value;
};

struct tw_net_server; /* the transport's */
struct tw_net_async;  /* net/async.c's */

/* What a server counts. */
struct tw_net_counts {
	uint64_t connections; /* accepted */
	uint64_t refused;     /* without the secret, for another job, or repeated */
	uint64_t damaged;     /* messages and requests that make no sense, which are dropped */
};

/* The operations table: `static const`.  Optional are serve, serve_end, shut_out, direct, amo and amo_post, cas_wide,
 * start and settle, pending, and the last three; all others are mandatory. */
struct tw_transport {
	const char *name, *help;
	unsigned caps; /* enum tw_net_cap */
	/* parameters - the table of what users may write behind the name; NULL: nothing.  values - the struct that the
	 * table fills when the transport is found.
	 * check - do the values go with a job of @nodes?  Returns 0 or -EINVAL, logged.  NULL: they do. */
	const struct tw_setting *parameters;
	void *values;
	int (*check)(unsigned nodes);

	/* probe - can this transport work on this host?  Returns 0, or -errno with one clause in @why. */
	int (*probe)(char *why, size_t why_bytes);
	/* control_bytes - exported memory that the transport needs for itself, a multiple of 4096. */
	size_t (*control_bytes)(unsigned ports);
	/* serve - in each node's agent, before the node's first open: start the server of @config->node, in threads of
	 * its own.  @own receives its address.  @config: port and address have no meaning.  Returns 0 or -errno,
	 * logged.
	 * serve_end - stop it, after the last close of all endpoints that use it; @counts, if not NULL, is filled in.
	 * Both NULL under TW_NET_ONE_HOST. */
	int (*serve)(const struct tw_net_config *config, struct tw_net_server **server, struct tw_net_address *own);
	void (*serve_end)(struct tw_net_server *server, struct tw_net_counts *counts);
	/* shut_out - the process of endpoint (node, port) has ended: after return no operation of it changes the
	 * memory of the server's node, and no other endpoint can take its place.  In jobs with config.survive.  NULL:
	 * operations of a process are complete when it ends. */
	void (*shut_out)(struct tw_net_server *server, unsigned node, unsigned port);
	/* open - make @net (config filled in) usable; sets base and priv.  May allocate.  Control memory of every node
	 * is zero before its first open.  All servers run.  Returns 0 or -errno. */
	int (*open)(struct tw_net *net);
	void (*close)(struct tw_net *net);

	/* write - copy @len bytes from @src to (node, offset).  @src may be reused on return. */
	void (*write)(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
	/* direct - the address of (node, offset) in this process's memory: a store there, before any other call, is as
	 * a write.
	 * NULL: nodes do not share memory. */
	void *(*direct)(struct tw_net *net, unsigned node, size_t offset);
	/* read - start copying @len bytes at (node, offset) to @dst; done after read_wait(). */
	void (*read)(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
	void (*read_wait)(struct tw_net *net);
	/* atomics on aligned 64-bit words; blocking; return the old value. */
	uint64_t (*cas)(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value);
	uint64_t (*fadd)(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
	uint64_t (*swap)(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
	/* amo - @op, with @value and for CAS @expect, on an aligned word of @bytes, 4 or 8; blocking; returns the old
	 * value, zero-extended.  amo_post - the same without a result: to fence and flush it is a write.  Both NULL:
	 * tw_net_amo makes them of the three above. */
	uint64_t (*amo)(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes,
	                uint64_t value, uint64_t expect);
	void (*amo_post)(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes,
	                 uint64_t value, uint64_t expect);
	/* cas_wide - compare and swap the aligned 16 bytes at (node, offset): @seen is what is expected, and on return
	 * what was there.  Blocking; atomic with the others and with the CPU's.  NULL: there is none. */
	void (*cas_wide)(struct tw_net *net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t value[2]);
	/* start - begin @work, on another node, as part of @flow.  Waits for room only.  To fence, notify and send it
	 * is what write, read and atomics are.  flush and read_wait may complete it, but only settle reports that.
	 * settle - are all operations that were started in @flow performed: visible there, or arrived here?  @wait:
	 * return when they are.  Else return whether they are, having begun what that needs.  Other flows' operations
	 * are waited for only where the network keeps them in order with this one's.  Both NULL: tw_net_start performs
	 * the work at once. */
	void (*start)(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
	bool (*settle)(struct tw_net *net, struct tw_net_flow *flow, bool wait);
	/* fence - writes to @node (or TW_NET_ALL) before it become visible before those after it. */
	void (*fence)(struct tw_net *net, unsigned node);
	/* flush - return when all earlier writes to @node (or TW_NET_ALL) are visible there.  Also a full
	 * memory barrier of this processor: later local loads are performed after it. */
	void (*flush)(struct tw_net *net, unsigned node);
	/* send - 0, or -EAGAIN when the target's queue is full: the caller handles its own messages, then tries
	 * again. */
	int (*send)(struct tw_net *net, unsigned node, unsigned port, const struct tw_msg *msg);
	/* recv - the next message for this endpoint: true and *msg, or false. */
	bool (*recv)(struct tw_net *net, struct tw_msg *msg);
	/* notify - ring the bell of (node, port), or of TW_NET_ALL ports of the node; also of the own node.  Another
	 * thread of the process may ring this endpoint's own bell, at any time: that touches no other state. */
	void (*notify)(struct tw_net *net, unsigned node, unsigned port);
	/* bell - this endpoint's bell value; a notify or an arriving message changes it. */
	uint32_t (*bell)(struct tw_net *net);
	/* sleep - until the bell is no longer @seen, or @timeout_ns (0: no limit) passed; may return early. */
	void (*sleep)(struct tw_net *net, uint32_t seen, uint64_t timeout_ns);
	/* progress - let delayed work of this endpoint advance; cheap. */
	void (*progress)(struct tw_net *net);
	/* pending - does delayed work of this endpoint, or an answer that it must read, need a later call?  Cheap.
	 * NULL: never, or delayed work should stay delayed (tw_net_async). */
	bool (*pending)(struct tw_net *net);
	/* put_signal - @signal, executed by endpoint (node, port) itself, of another node, without its server: at once
	 * where that endpoint waits for it, else when it polls or waits the next time.  Executed in the order of the
	 * calls, and after all earlier writes of this endpoint to that node.  @signal's memory may be used again on
	 * return.  It may wait until the peer reads, where data are longer than a transport's message and the system
	 * does not take them.
	 * False: nothing was done and nothing waited for; the caller then writes and notifies.  This happens until
	 * there is a connection; while such writes are not known to be done (this call then requests an answer to
	 * them); while too much is unacknowledged; after the peer has announced sleep for this endpoint; and for more
	 * than 128 KiB.
	 * poll_signals - execute received puts with signal; true if there were any, or other reasons to poll again
	 * soon.
	 * announce_sleep - this endpoint is about to sleep on its bell, in a wait for writes or puts with signal of
	 * (node, port), whose next put_signal is refused, because only a notify wakes.
	 * Not in fault context.  All NULL: the transport has no puts with signal. */
	bool (*put_signal)(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *signal);
	bool (*poll_signals)(struct tw_net *net);
	void (*announce_sleep)(struct tw_net *net, unsigned node, unsigned port);
};

/* tw_transport_find - the transport of that name ("shm", "sim", ...), with the parameters behind it ("sim:seed=2") in
 * its values.  Returns NULL when there is none, or it refuses a parameter; tw_transport_why() then returns the reason
 * as one sentence.  One thread at a time; finding the same text again changes nothing.  tw_transport_list: all,
 * NULL-ended. */
const struct tw_transport *tw_transport_find(const char *text);
const char *tw_transport_why(void);
const struct tw_transport *const *tw_transport_list(void);

/* tw_net_open - open an endpoint: allocates @*net.  Not in fault context.  Returns 0 or -errno, logged. */
int tw_net_open(const struct tw_transport *ops, const struct tw_net_config *config, struct tw_net **net);
void tw_net_close(struct tw_net *net);
/* tw_net_async - asynchronous progress: from now on this endpoint's operations complete without further calls.  A
 * thread makes the progress, some milliseconds late while the user computes.  Not in fault context.  Further calls
 * have no effect.  tw_net_close ends it.  Returns 0 or -errno, logged.
 * tw_net_share - from now on the endpoint may have a second user, a thread that has called tw_net_second.  Each
 * operation of one waits for the end of the other's.  Not in fault context.  Returns 0 or -errno, logged.
 * tw_net_second - the calling thread is the second user, of each endpoint that it uses.
 * tw_net_inside - after tw_net_share: is the caller, which is the first user, in an operation?
 * tw_net_async_end - end both. */
int tw_net_async(struct tw_net *net);
int tw_net_share(struct tw_net *net);
void tw_net_second(void);
bool tw_net_inside(const struct tw_net *net);
void tw_net_async_end(struct tw_net *net);

/* Thin wrappers: count, and short-cut this process's own node to plain memory. */
void tw_net_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len);
void tw_net_write64(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
/* tw_net_direct - the address for a store in place of a write to (node, offset) of another node, before any other
 * call; NULL: there is none.  tw_net_stored - count so many bytes that were stored there. */
void *tw_net_direct(struct tw_net *net, unsigned node, size_t offset);
void tw_net_stored(struct tw_net *net, size_t bytes);
/* tw_net_wrote - count the next flush of @node as a round trip: for the wrappers. */
static inline void tw_net_wrote(struct tw_net *net, unsigned node)
{
	net->traffic->writes |= 1ull << node % 64;
}
void tw_net_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len);
static inline void tw_net_read_wait(struct tw_net *net)
{
	net->traffic->round_trips += net->traffic->reads;
	net->traffic->reads = false;
	net->ops->read_wait(net);
}
uint64_t tw_net_read64(struct tw_net *net, unsigned node, size_t offset); /* blocking */
uint64_t tw_net_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value);
uint64_t tw_net_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
uint64_t tw_net_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value);
/* tw_net_amo, tw_net_amo_post - as the operations; without them, loops of the transport's cas on the 8 bytes around. */
uint64_t tw_net_amo(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                    uint64_t expect);
void tw_net_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                     uint64_t expect);
/* tw_net_cas_wide - as the operation; any node.  false: the transport has none. */
bool tw_net_cas_wide(struct tw_net *net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t value[2]);
/* tw_net_flow_new - an empty flow; NULL: no memory.  Not in fault context; free() when it is settled.
 * tw_net_start, tw_net_settle - as the operations; any node. */
struct tw_net_flow *tw_net_flow_new(const struct tw_net *net);
void tw_net_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work);
bool tw_net_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait);
/* tw_net_put_signal - as the operation; false also for the own node, and where the transport has none. */
bool tw_net_put_signal(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *signal);
/* tw_amo_sum - the sum of two numbers of floating point.
 * tw_amo_result - the value after @op of a word with value @old.
 * tw_amo_here - @op by this processor, on memory that it can address; sequentially consistent.
 * tw_amo_wide - the same, a compare-and-swap of 16 bytes: cas_wide.  Returns whether they were swapped. */
bool tw_amo_wide(void *at, uint64_t seen[2], const uint64_t value[2]);
uint64_t tw_amo_sum(unsigned bytes, uint64_t a, uint64_t b);
static inline uint64_t tw_amo_result(enum tw_amo op, unsigned bytes, uint64_t old, uint64_t value, uint64_t expect)
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
	case TW_AMO_ADD_REAL:
		return tw_amo_sum(bytes, old, value);
	default:
		return old;
	}
}
uint64_t tw_amo_here(void *word, enum tw_amo op, unsigned bytes, uint64_t value, uint64_t expect);
/* tw_net_lost - is @node lost?  @config: an endpoint's. */
static inline bool tw_net_lost(const struct tw_net_config *config, unsigned node)
{
	return config->lost && atomic_load_explicit(&config->lost[node / 64], memory_order_acquire) >> node % 64 & 1;
}
/* tw_net_dead - has the process of endpoint (node, port) ended, so that nothing more arrives from it? */
static inline bool tw_net_dead(const struct tw_net_config *config, unsigned node, unsigned port)
{
	unsigned processor = node * (config->ports - 1) + port;

	if (port == config->ports - 1)
		return tw_net_lost(config, node);
	return config->dead &&
	       atomic_load_explicit(&config->dead[processor / 64], memory_order_acquire) >> processor % 64 & 1;
}
static inline void tw_net_fence(struct tw_net *net, unsigned node)
{
	net->ops->fence(net, node);
}
static inline void tw_net_flush(struct tw_net *net, unsigned node)
{
	uint64_t to = node == TW_NET_ALL ? UINT64_MAX : 1ull << node % 64;

	net->traffic->round_trips += (net->traffic->writes & to) != 0;
	net->traffic->writes &= ~to;
	net->ops->flush(net, node);
}
/* tw_net_broadcast64 - write a word to every node, this one included (a broadcast region of section 2.3). */
void tw_net_broadcast64(struct tw_net *net, size_t offset, uint64_t value);
/* tw_net_send - as send, but waits while the target's queue is full, unless the node is lost. */
void tw_net_send(struct tw_net *net, unsigned node, unsigned port, struct tw_msg *msg);
bool tw_net_recv(struct tw_net *net, struct tw_msg *msg);
static inline void tw_net_notify(struct tw_net *net, unsigned node, unsigned port)
{
	net->ops->notify(net, node, port);
}

/* tw_net_wait - wait until @ready(@arg) is true: spin for config.spin_ns, then sleep on the bell.  The process that
 * makes it true must notify this endpoint afterwards.  @ready is called often, in this thread, and must be cheap. */
void tw_net_wait(struct tw_net *net, bool (*ready)(void *arg), void *arg);
/* tw_net_wait_until - the same, until @until_ns of tw_time_ns() at most (0: no limit).  Returns whether @ready is
 * true. */
bool tw_net_wait_until(struct tw_net *net, bool (*ready)(void *arg), void *arg, uint64_t until_ns);

#endif
