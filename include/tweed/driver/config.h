/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h - the values of the job's settings, the same in every process.  doc/reference/settings.md explains each. */
#ifndef TWEED_DRIVER_CONFIG_H
#define TWEED_DRIVER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "tweed/driver/costs.h"

#define TW_MAX_NODES      256
#define TW_MAX_PROCESSORS 64 /* per node: one bit each in a page entry */

/* Plain data, passed to every process of the job unchanged. */
struct tw_config {
	uint64_t nodes;         /* TWEED_NODES 1; -n */
	uint64_t processors;    /* TWEED_PROCESSORS 1, per node; -p */
	char protocol[128];     /* TWEED_PROTOCOL 2L: NAME[:PARAMETER=VALUE,...] */
	char fault[16];         /* TWEED_FAULT auto */
	char shootdown[16];     /* TWEED_SHOOTDOWN auto | protect | polled | interrupt; in a job: auto means none */
	char transport[96];     /* TWEED_TRANSPORT shm: NAME[:PARAMETER=VALUE,...] */
	char net_interface[64]; /* TWEED_NET_INTERFACE "": a name, an address, a subnet */
	char net_device[64];    /* TWEED_NET_DEVICE "": verbs: DEVICE[:PORT]; ofi: the domain */
	char net_provider[32];  /* TWEED_NET_PROVIDER "": ofi: libfabric's provider */
	uint64_t page_size;     /* TWEED_PAGE_SIZE 4K, power of two, 4K..64K */
	uint64_t memory;        /* TWEED_MEMORY 64G, sparse; a multiple of 2M, 2M..1T */
	uint64_t segment;       /* TWEED_SEGMENT auto (UINT64_MAX), else the bytes of a symmetric segment, 0..1T */
	char collectives[256];  /* OpenSHMEM: CALL=ALGORITHM,... */
	bool shmem_check;       /* TWEED_SHMEM_CHECK 0 | 1 */
	uint64_t superpage;     /* TWEED_SUPERPAGE 1: pages that get a home together; power of two, 1..512 */
	char home[16];          /* TWEED_HOME first-touch | after-init | round-robin */
	uint64_t prefetch;      /* TWEED_PREFETCH 32: most pages taken along with one that faults; 0: none; 0..256 */
	uint64_t diff_unit;     /* TWEED_DIFF_UNIT 1: bytes that diffs take or leave together; 1, 2, 4, 8 */
	uint64_t twins;         /* TWEED_TWINS 256M: most memory for twins per node before pages are flushed early */
	char lock[16];          /* TWEED_LOCK queue | array */
	char release[8];        /* TWEED_RELEASE lazy | eager */
	uint64_t sync_objects;  /* TWEED_SYNC_OBJECTS 65536: locks, barriers and flags per node */
	char stats[512];        /* TWEED_STATS "" | summary | FILE; --stats */
	uint64_t spin_us;       /* TWEED_SPIN auto (UINT64_MAX), else microseconds, 0..10000 */
	char huge[8];           /* TWEED_HUGE auto | on | off */
	uint64_t host_nodes;    /* no setting: nodes of a one-level protocol that share a host, else 1 */
	uint64_t watch;         /* TWEED_WATCH 10: seconds of silence that end the job; 0: never; 0..86400 */
	bool survive;           /* TWEED_SURVIVE 0 | 1: a processor's death does not end the job; --survive */
	bool race;              /* TWEED_RACE off | ww: report write-write data races; --race */
	bool core_shared;       /* TWEED_CORE_SHARED 0 | 1: core files contain shared memory; --core-shared */
	char trace[512];        /* TWEED_TRACE "" | FILE; --trace */
	uint64_t trace_events;  /* TWEED_TRACE_EVENTS 64K: per processor; power of two, 256..64M */
	bool virtual_time;      /* no setting: TWEED_TIME is virtual */
	struct tw_costs costs;  /* no setting: of the machine whose time is virtual, TWEED_MACHINE */
	char plant[32];         /* TWEED_PLANT "": a planted bug, only in builds with -Dplant=true */
};

#endif
