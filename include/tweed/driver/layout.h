/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.h - where things are in a node's two memories.
 *
 * The *exported* memory can be read and written by other nodes through the transport: it is the sum of the paper's
 * regions (Cashmere-2L, figure 1).  The *private* memory is shared by the processes of one node only.  Both are sparse
 * files; every offset follows from the configuration alone, so that all nodes agree without talking. */
#ifndef TWEED_DRIVER_LAYOUT_H
#define TWEED_DRIVER_LAYOUT_H

#include <stddef.h>

#define TW_SETS 3u /* page sets of each processor in the private memory */

struct tw_layout {
	unsigned nodes, processors, ports;
	unsigned page_shift;
	size_t page_bytes, pages;
	size_t superpages;

	/* exported memory, in this order */
	size_t frames;         /* [pages] the node's copy of the shared space; offset 0 */
	size_t control;        /* the transport's */
	size_t directory;      /* [pages][nodes] words, replicated: tw_dir_word */
	size_t homes;          /* [superpages] home words; authoritative at node superpage % nodes */
	size_t notices;        /* [nodes] struct of one circular queue per sending node */
	size_t sync;           /* synchronization objects: sync/ */
	size_t sync_bytes;
	size_t heap;           /* the shared heap's words: core/memory/heap.c */
	size_t heap_bytes;
	size_t beats;          /* [nodes] a word that node's agent counts up: core/job/message.c */
	size_t collective;     /* tw_bcast's buffer */
	size_t collective_bytes;
	size_t team;           /* words of a run-time of threads: runtime/openmp/team.h */
	size_t polled;         /* [pages] a byte each: core/coherence/polled.h */
	size_t polled_list; /* those that are polled, + 1, up to TW_POLLED_MOST; a 0; at node 0, how many were found */
	size_t protocol;       /* the protocol's own: driver/protocol.h */
	size_t protocol_bytes;
	size_t masters;        /* [pages] the master copies of the pages whose home is here; the frames, but with TWEED_RACE */
	size_t race;           /* locks: core/observe/race.c */
	size_t segments;       /* [processors] symmetric segments: pgas/segment/ */
	size_t segment_bytes;  /* of one; a multiple of 2 MiB */
	size_t exported_bytes; /* of all; a multiple of 2 MiB */

	/* private memory, in this order */
	size_t node;           /* struct tw_node: clock, locks */
	size_t stats;          /* [processors + 1] struct tw_stats; the last is the agent's */
	size_t page_table;     /* [pages] struct tw_page, the second-level directory */
	size_t sets;           /* [processors][TW_SETS] notice, no-longer-exclusive and shot sets */
	size_t set_bytes;      /* of one set */
	size_t shadows;        /* [processors] rights in each application view: driver/fault.h */
	size_t shadow_bytes;   /* of one view */
	size_t sync_local;     /* sync/'s node-local part */
	size_t sync_local_bytes;
	size_t tasks;          /* queues and records of tasks: runtime/openmp/queue.c */
	size_t protocol_private; /* the protocol's own */
	size_t protocol_private_bytes;
	size_t race_stores;    /* [pages] who made the page dirty: core/observe/race.c */
	size_t deaths;         /* struct tw_deaths, with TWEED_SURVIVE: core/job/deaths.h */
	size_t trace;          /* [processors + 1] rings of events, with TWEED_TRACE; the last are the agent's */
	size_t trace_bytes;    /* of one processor */
	size_t twins;          /* [twin_slots] pages */
	size_t twin_slots;
	size_t private_bytes;
};

#endif
