/* SPDX-License-Identifier: BSD-3-Clause */
/* boot.h - what an agent hands to its node's processors when it starts them.
 *
 * The agent makes a memory file that holds one struct tw_boot, and starts each processor with TWEED_BOOT=<its
 * descriptor's number> and TWEED_PROCESSOR=<0..processors-1> in the environment; the descriptors named inside are inherited.
 * Whoever reads it checks magic, bytes and every number before use. */
#ifndef TW_CORE_JOB_BOOT_H
#define TW_CORE_JOB_BOOT_H

#include "core/base/base.h"
#include "core/job/settings.h"
#include "tweed/driver/transport.h"

#define TW_BOOT_MAGIC 0x3130544f4f425754ull /* "TWBOOT01" */

struct tw_boot {
	uint64_t magic;
	uint64_t bytes; /* sizeof(struct tw_boot) */
	struct tw_config config;
	uint32_t node;
	uint32_t host_processes;      /* processors of the whole job on this host, for the spin policy */
	int32_t first_fd;             /* where Tweed's own descriptors begin (core/base/fd.h); all below are there */
	int32_t private_fd;           /* the node's private memory */
	int32_t handle_fd[TW_MAX_PROCESSORS + 1][2]; /* socket pairs, by which processors, and last the agent, get the others' views
	                                              to shoot at: [0] is theirs to read; -1 when not needed */
	int32_t exported_fd[TW_MAX_NODES]; /* nodes' exported memories: the own one, under TW_NET_ONE_HOST all; -1 otherwise */
	uint8_t secret[TW_NET_SECRET_BYTES];
	struct tw_net_address address[TW_MAX_NODES]; /* their servers; len 0 under TW_NET_ONE_HOST */
	char host[TW_MAX_NODES][TW_HOST_BYTES];      /* what messages call their hosts; "": this one */
};

/* tw_service_start - in the agent: serve other nodes' requests from a thread of its own, until tw_service_stop.
 * Memory files must have their full size (core/memory/regions.h).  Returns 0, or -errno, logged. */
int tw_service_start(const struct tw_boot *boot);
void tw_service_stop(void);
/* tw_service_beat - how often the agent of @node has let us know through the transport that it lives; where the transport does
 * not leave the host nobody does.  In the agent, while the service runs, in another thread too. */
uint64_t tw_service_beat(unsigned node);
/* tw_service_ring - wake all processes of the node that wait for something of others, of whom some are dead (core/job/deaths.h).  As tw_service_beat. */
void tw_service_ring(void);

#endif
