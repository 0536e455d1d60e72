/* SPDX-License-Identifier: BSD-3-Clause */
/* boot.h - what an agent passes to its node's processors when it starts them.
 *
 * The agent creates a memory file that holds one struct tw_boot. It starts each processor with TWEED_BOOT=<the file's
 * descriptor> and TWEED_PROCESSOR=<0..processors-1> in the environment. The descriptors named in the struct are
 * inherited. The reader checks tw_boot_same and every number before use. */
#ifndef TW_CORE_JOB_BOOT_H
#define TW_CORE_JOB_BOOT_H

#include "core/base/base.h"
#include "core/job/settings.h"
#include "tweed/driver/transport.h"

#define TW_BOOT_MAGIC     0x3130544f4f425754ull /* "TWBOOT01" */
#define TW_BOOT_INHERITED 1024                  /* descriptors below this number are inherited */

struct tw_boot {
	uint64_t magic;
	uint64_t bytes;     /* sizeof(struct tw_boot) */
	uint64_t interface; /* tw_boot_interface of the agent */
	struct tw_config config;
	uint32_t node;
	int32_t agent;           /* its process */
	uint32_t host_processes; /* the job's processors on this host, for the spin policy */
	int32_t first_fd;        /* the first number of Tweed's descriptors (core/base/fd.h) */
	int32_t private_fd;      /* the node's private memory */
	/* socket pairs that pass views for shootdowns, the last the agent's; [0]: its owner's end; -1: none */
	int32_t handle_fd[TW_MAX_PROCESSORS + 1][2];
	int32_t exported_fd[TW_MAX_NODES]; /* nodes' exported memories: the own; under TW_NET_ONE_HOST all; else -1 */
	/* of node 0: a bit for each descriptor that processor 0 has from the job's caller, all below first_fd */
	uint64_t inherited[TW_BOOT_INHERITED / 64];
	uint8_t secret[TW_NET_SECRET_BYTES];
	struct tw_net_address address[TW_MAX_NODES]; /* of the nodes' servers; len 0 under TW_NET_ONE_HOST */
	char host[TW_MAX_NODES][TW_HOST_BYTES];      /* the hosts' names in messages; "": this host */
};

/* A number that differs where a program's structs in the job's memory and messages may differ from the agent's
 * (interface.py). */
extern const uint64_t tw_boot_interface;

/* tw_boot_same - was @boot, of which @bytes were read, made by an agent with this program's interface? Any thread. */
bool tw_boot_same(const struct tw_boot *boot, long bytes);

/* tw_service_start - in the agent: serve other nodes' requests in a thread of its own until tw_service_stop. The memory
 * files must have their full size (core/memory/regions.h). Returns 0, or -errno, logged. */
int tw_service_start(const struct tw_boot *boot);
void tw_service_stop(void);
/* tw_service_beat - returns how many beats of @node's agent have arrived through the transport. None arrive where the
 * transport does not leave the host. In the agent while the service runs; any thread. */
uint64_t tw_service_beat(unsigned node);
/* tw_service_ring - wake all processes of the node that wait for others, some of which are dead (core/job/deaths.h). In
 * the agent while the service runs; any thread. */
void tw_service_ring(void);

#endif
