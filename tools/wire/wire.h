/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h - the messages between launcher and agents (doc/internals/wire.md).
 *
 *   launcher                          agent
 *             <------------------------  HANDSHAKE: version, build, host
 *     JOB, PROGRAM ------------------->  creates the node's memories
 *             <------------------------  MEMORY (with its server's address, or the exported memory's descriptor)
 *     NODES   ------------------------>  (with all nodes' addresses or descriptors) starts its service
 *             <------------------------  READY: what its host uses
 *     CLOCK   <---------------------->   a few times, when the job is traced and the agent's kernel is another
 *     GO      -- when all are ready -->  starts its processors
 *             <------------------------  DEATH, per processor that ended badly, or never joined the job
 *             <------------------------  EXITED, when all processors are gone and their output is sent
 *     STOP    -- when all exited ----->  stops its service
 *             <------------------------  TRACE, in pieces, when the job is traced
 *             <------------------------  STATS
 *     END     -- when all stopped ---->  stops its server, sends END and exits
 *             -- or at any time ------>  kills what it started, sends its TRACE and END, and exits
 *
 * From GO on, in both directions: BEAT: the sender is alive.  OUTPUT carries the processors' output, INPUT the standard
 * input, within a window of WIRE_WINDOW bytes that CREDIT reopens as they are written: so other messages never wait
 * long behind them.  DEAF: that output has no reader any more.  PAUSE and RESUME: the launcher, and so the processors,
 * are stopped in between.  CUT: another node's beats have stopped arriving through the transport.  WAITS asks for the
 * waits of the node's processors, when all BEATs say that all wait; the answer has the same type.  SIGNAL: to node 0,
 * whose processor 0 gets the signal if the program handles it; and the answer.  WHERE: where are the node's threads?
 * The answer comes in pieces of text, lines of `tweed where`; the last one is empty.  TOP: the node's statistics so
 * far; the answer is as STATS.
 *
 * In a job that survives deaths: SHUT goes to each agent after a DEATH or the end of another agent.  The agent's server
 * shuts the processor, or the whole node, out, then the agent answers SHUT.  When all have answered, DEAD informs them,
 * and they their processors.
 *
 * All agents send HANDSHAKE before the first JOB.  JOB and NODES are sent to node 0 first, and to the others after its
 * answer: a failure common to all is reported once.  An agent that cannot continue prints why on standard error, sends
 * FAILED and exits.  A closed connection is a death.  But another process may hold the stream open: so END is an
 * agent's last message, and the supervisor of an agent that ends otherwise sends GONE.
 *
 * A wire is a stream: a socket pair with an emulated node, which can pass descriptors where the transport joins the
 * nodes of one host (TW_NET_ONE_HOST); standard input and output of a remote shell; or a connection between processes
 * that a resource manager has started.  No function here blocks. */
#ifndef TW_TOOLS_WIRE_WIRE_H
#define TW_TOOLS_WIRE_WIRE_H

#include <poll.h>
#include <sys/types.h>

#include "core/base/base.h"
#include "core/job/settings.h"
#include "tweed/driver/stats.h"
#include "tweed/driver/trace.h"
#include "tweed/driver/transport.h"

enum wire_type {
	WIRE_HANDSHAKE = 1,
	WIRE_JOB,
	WIRE_PROGRAM,
	WIRE_MEMORY,
	WIRE_NODES,
	WIRE_READY,
	WIRE_GO,
	WIRE_DEATH,
	WIRE_EXITED,
	WIRE_STOP,
	WIRE_STATS,
	WIRE_END,
	WIRE_FAILED,
	WIRE_BEAT,
	WIRE_OUTPUT,
	WIRE_INPUT,
	WIRE_CREDIT,
	WIRE_DEAF,
	WIRE_PAUSE,
	WIRE_RESUME,
	WIRE_CUT,
	WIRE_GONE,
	WIRE_CLOCK,
	WIRE_TRACE,
	WIRE_SHUT,
	WIRE_DEAD,
	WIRE_WAITS,
	WIRE_SIGNAL,
	WIRE_WHERE,
	WIRE_TOP,
	WIRE_LAST = WIRE_TOP,
};

#define WIRE_BY_KEY          0x10000u /* beside SIGNAL's number: the processors got it from their terminal */
#define WIRE_NODES_MOST      64       /* nodes in one message */
#define WIRE_PIECE           ((size_t)16384)
#define WIRE_WINDOW          ((size_t)65536)   /* output, or input, in flight on one wire */
#define WIRE_PROGRAM_MOST    ((size_t)8 << 20) /* program, arguments and variables */
#define WIRE_HANDSHAKE_MAGIC "tweed-agent 1"

/* The first message.  Its layout never changes, so that different builds can compare their versions. */
struct wire_handshake {
	char magic[16], version[32], host[64];
	char boot[40];  /* identifies the running kernel: nodes that share it are on one host */
	uint64_t build; /* wire_build */
	uint64_t cpus;  /* a hash of the cpus that the agent may use */
	uint32_t cores, pid;
};

struct wire_job {
	uint32_t node;
	uint32_t host_processes;                      /* processors of the job on this host */
	uint32_t cores_first;                         /* the first of the node's among those that share its cores */
	uint32_t cores_processes;                     /* all of these */
	uint32_t output, input;                       /* flags: send the processors' output; take processor 0's input */
	uint32_t watch;                               /* flag: the launcher is on another host; end when it is silent */
	uint32_t program_bytes, arguments, variables; /* of PROGRAM, in all */
	uint8_t secret[TW_NET_SECRET_BYTES];
	struct tw_settings settings;
};

struct wire_nodes {
	uint32_t first, count; /* nodes first, first + 1, ...; count addresses, or count descriptors and no addresses */
	struct tw_net_address address[WIRE_NODES_MOST];
	char host[WIRE_NODES_MOST][TW_HOST_BYTES]; /* "": emulated */
};

struct wire_ready {
	char fault[16], shootdown[16]; /* of the configuration: auto is replaced by what this host uses */
};

struct wire_death {
	uint32_t processor;
	int32_t pid;
	int32_t status;                           /* as waitpid gives it */
	int32_t exec_errno;                       /* the program could not be executed */
	uint32_t initialized, finalized, refused; /* of its tw_stats */
	uint32_t joined;                          /* it has begun to join the job */
};

struct wire_beat {
	uint32_t stopped; /* some processor of the node is stopped: it may block the node's service */
	uint32_t joined;  /* some processor of the node has begun to join the job */
	uint32_t waits;   /* all processors of the node wait for calls of others */
	uint64_t begun;   /* number of waits that they have begun */
};

/* An agent's answer: as struct tw_waits. */
struct wire_wait {
	uint64_t call, object, value, held[TW_WAIT_HELD];
};
struct wire_waits {
	uint64_t all, begun; /* as in BEAT, but all is 0 when a signal handler may make a call */
	struct wire_wait processor[TW_MAX_PROCESSORS];
};

struct wire_output {
	uint32_t stream; /* 1: standard output; 2: standard error */
	char bytes[WIRE_PIECE];
};

struct wire_clock {
	uint64_t launcher_ns, agent_ns; /* when the question was sent, and answered */
};

#define WIRE_EVENTS_MOST 511u
struct wire_trace {
	uint16_t processor; /* of the node; number processors: its agent's service */
	uint16_t ring;      /* 0: events; 1: allocations */
	uint32_t events;
	uint64_t written; /* events recorded; pieces go from newest to oldest, ascending in each */
	uint64_t space;   /* of the ring */
	struct tw_trace_event event[WIRE_EVENTS_MOST];
};

struct wire_msg {
	uint32_t type; /* enum wire_type */
	uint32_t bytes;
	union {
		struct wire_handshake handshake;
		struct wire_job job;
		/* a piece of: directory ("": the agent's), file, arguments, variables; each ends with 0 */
		char program[WIRE_PIECE];
		struct tw_net_address memory; /* len 0: a descriptor instead */
		struct wire_nodes nodes;
		struct wire_ready ready;
		struct wire_death death;
		struct tw_stats stats[TW_MAX_PROCESSORS + 1];
		struct wire_beat beat;
		struct wire_waits waits;
		struct wire_output output;
		struct wire_clock clock;
		struct wire_trace trace;
		char input[WIRE_PIECE]; /* no bytes: end of input */
		char where[WIRE_PIECE];
		/* FAILED: the job's status.  CREDIT: bytes.  DEAF: the stream.  CUT: the node.  SIGNAL: its number,
		 * perhaps with WIRE_BY_KEY; 0, as an answer: the program has got it.  GONE: as waitpid gives it.
		 * SHUT, DEAD: the processor, counted over all nodes; from their number on, the node */
		uint32_t number;
	};
	/* not on the wire: */
	unsigned fds;
	int fd[WIRE_NODES_MOST];
};

struct wire_frame;
struct wire {
	int in, out;                     /* may be the same; -1: closed */
	bool passes;                     /* descriptors */
	size_t have;                     /* bytes of the frame received so far */
	struct wire_msg *msg;            /* the next, or last, message */
	struct wire_frame *first, *last; /* not sent yet */
};

/* wire_open - use these descriptors, which then belong to the wire and become non-blocking.  0 or -errno. */
int wire_open(struct wire *wire, int in, int out);
/* wire_close - unsent data is lost.  May be called twice. */
void wire_close(struct wire *wire);
/* wire_send - send @bytes of @body, and descriptors, which stay the caller's.  Data that the stream does not take now
 * waits for wire_push.  0 or -errno: the other side is gone; -EMFILE: no descriptors are left for waiting data. */
int wire_send(struct wire *wire, enum wire_type type, const void *body, size_t bytes, const int *fd, unsigned fds);
/* wire_push - send waiting data; when @out is writable.  0: all is sent; -EAGAIN; -errno: the other side is gone. */
int wire_push(struct wire *wire);
static inline bool wire_waits(const struct wire *wire)
{
	return wire->first;
}
/* wire_recv - the next message, in wire->msg until the next call; received descriptors are the caller's.
 * Returns 1; -EAGAIN when there is none yet; 0 when the other side has closed; -EPROTO when it is not valid; -EMFILE
 * when no descriptors are left for those received. */
int wire_recv(struct wire *wire);
/* wire_drop_descriptors - close the message's descriptors, which are not used. */
void wire_drop_descriptors(struct wire *wire);
/* wire_events - what to poll for at @in and @out; out is -1 in *@poller when there is nothing to send. */
void wire_events(const struct wire *wire, struct pollfd poller[2]);
/* wire_build - a hash of all that launcher and agents must have in common: tw_boot_interface, settings, names, the
 * layout. */
uint64_t wire_build(void);

#endif
