/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h - what launcher and agent say to each other.
 *
 *   launcher                          agent
 *     JOB     ------------------------>  makes the node's memories
 *             <------------------------  MEMORY (with its server's address, or the exported memory's descriptor)
 *     NODES   ------------------------>  (with all nodes' addresses or descriptors) starts its service
 *             <------------------------  READY
 *     GO      -- when all are ready -->  starts its processors
 *             <------------------------  DEATH, per processor that ended badly
 *             <------------------------  EXITED, when all processors are gone
 *     STOP    -- when all exited ----->  stops its service
 *             <------------------------  STATS, then it exits
 *     END     -- at any time --------->  kills what it started and exits
 *
 * JOB and NODES go to node 0 first, and to the others when it has answered: what fails everywhere is said once.
 * An agent that cannot go on says why on standard error, sends FAILED and exits.  A closed connection is a death.
 * Emulated nodes use a SOCK_SEQPACKET pair.  Descriptors are passed only where the transport joins the nodes of one
 * host (TW_NET_ONE_HOST); else addresses. */
#ifndef TW_TOOLS_WIRE_H
#define TW_TOOLS_WIRE_H

#include <sys/types.h>

#include "core/config.h"
#include "tweed/driver/stats.h"
#include "tweed/driver/transport.h"

enum wire_type {
	WIRE_JOB = 1,
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
};

#define WIRE_NODES_MOST 64 /* nodes in one message */

struct wire_job {
	uint32_t node, host_processes;
	uint8_t secret[TW_NET_SECRET_BYTES];
	struct tw_config config;
};

struct wire_nodes {
	uint32_t first, count; /* nodes first, first + 1, ...; as many addresses, or descriptors and no addresses */
	struct tw_net_address address[WIRE_NODES_MOST];
};

struct wire_death {
	uint32_t processor;
	int32_t pid;
	int32_t status;                           /* as waitpid gives it */
	int32_t exec_errno;                       /* the program could not be executed */
	uint32_t initialized, finalized, refused; /* of its tw_stats */
};

struct wire_msg {
	uint32_t type; /* enum wire_type */
	uint32_t bytes;
	union {
		struct wire_job job;
		struct tw_net_address memory; /* len 0: there is a descriptor */
		struct wire_nodes nodes;
		struct wire_death death;
		struct tw_stats stats[TW_MAX_PROCESSORS + 1];
	};
	/* not on the wire: */
	unsigned fds;
	int fd[WIRE_NODES_MOST];
};

/* wire_send - send @bytes of @body (and descriptors, which stay the caller's).  0 or -errno. */
int wire_send(int sock, enum wire_type type, const void *body, size_t bytes, const int *fd, unsigned fds);
/* wire_recv - the next message; descriptors received are the caller's.
 * Returns 1; 0 when the other side has closed; -EAGAIN when @wait is false and there is none; -EPROTO when it is damaged. */
int wire_recv(int sock, bool wait, struct wire_msg *msg);

#endif
