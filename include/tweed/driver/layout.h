/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.h - the regions of a node's two memories.
 *
 * The *exported* memory can be read and written by other nodes through the transport: it is the sum of the paper's
 * regions (Cashmere-2L, figure 1). The *private* memory is shared by the processes of one node only. Both are sparse
 * files. Every offset follows from the configuration alone, so all nodes agree without communication. */
#ifndef TWEED_DRIVER_LAYOUT_H
#define TWEED_DRIVER_LAYOUT_H

#include <stddef.h>

#define TW_SETS 4u /* page sets of each processor in the private memory */

/* Layers above the core that reserve memory of each node: core/memory/reserved.c. */
enum tw_reserved {
	TW_RESERVED_SYNC,    /* locks, barriers, flags: sync/ */
	TW_RESERVED_THREADS, /* a run-time of threads: runtime/openmp/ */
	TW_RESERVED_KINDS
};

struct tw_layout {
	unsigned nodes, processors, ports;
	unsigned page_shift;
	size_t page_bytes, pages;
	size_t superpages;

	/* exported memory, in this order */
	size_t frames;    /* [pages] the node's copy of the shared space; offset 0 */
	size_t control;   /* the transport's words */
	size_t directory; /* [pages][nodes] words, replicated: tw_dir_word */
	size_t homes;     /* [superpages] home words; authoritative at node superpage % nodes */
	size_t notices;   /* [nodes] struct tw_notice_queue, one per sending node */
	size_t heap;      /* the shared heap's words: core/memory/heap.c */
	size_t heap_bytes;
	size_t beats;      /* [nodes] a word that each node's agent increments: core/job/service.c */
	size_t collective; /* tw_bcast's buffer */
	size_t collective_bytes;
	size_t reserved[TW_RESERVED_KINDS];
	size_t lazy;        /* releases by their numbers, records of words: core/coherence/lazy.c */
	size_t polled;      /* [pages] a byte each, not 0 if polled: core/coherence/polled.h */
	size_t polled_list; /* polled pages + 1, at most TW_POLLED_MOST; a 0; at node 0, how many were found */
	size_t gate;        /* of node 0: core/base/clock.h */
	size_t protocol;    /* the protocol's own: driver/protocol.h */
	size_t protocol_bytes;
	size_t masters;        /* [pages] master copies of pages homed here; equal to frames, except with TWEED_RACE */
	size_t race;           /* locks: core/observe/race.c */
	size_t segments;       /* [processors] symmetric segments: pgas/segment/ */
	size_t segment_bytes;  /* of one; a multiple of 2 MiB */
	size_t exported_bytes; /* of all; a multiple of 2 MiB */

	/* private memory, in this order */
	size_t node;         /* struct tw_node: clock, locks */
	size_t stats;        /* [processors + 1] struct tw_stats; the last is the agent's */
	size_t page_table;   /* [pages] struct tw_page, the second-level directory */
	size_t sets;         /* [processors][TW_SETS] notice, no-longer-exclusive, shot and revoked sets */
	size_t set_bytes;    /* of one set */
	size_t shadows;      /* [processors] rights in each application view: driver/fault.h */
	size_t shadow_bytes; /* of one view */
	size_t reserved_private[TW_RESERVED_KINDS];
	size_t protocol_private; /* the protocol's own */
	size_t protocol_private_bytes;
	size_t race_stores; /* [pages] the store that made the page dirty: core/observe/race.c */
	size_t deaths;      /* struct tw_deaths, with TWEED_SURVIVE: core/job/deaths.h */
	size_t trace;       /* [processors + 1] rings of events, with TWEED_TRACE; the last are the agent's */
	size_t trace_bytes; /* of one processor */
	size_t twins;       /* [twin_slots] pages */
	size_t twin_slots;
	size_t private_bytes;
};

#endif
