/* SPDX-License-Identifier: BSD-3-Clause */
/* costs.h - what the operations of a machine cost in virtual time (core/base/clock.h).  A machine file gives them by
 * these names (doc/reference/machines.md). */
#ifndef TWEED_DRIVER_COSTS_H
#define TWEED_DRIVER_COSTS_H

#include <stdint.h>

/* X(name, unit, meaning); unit: ps, ns, kib (ns for each KiB), MB (MB/s; 0: unlimited) */
#define TW_COSTS(X)                                                                                                    \
	X(work, ps, "a block of the program that tweed cc --count counts")                                             \
	X(trap, ns, "a fault: until its handler runs, and the way back")                                               \
	X(protect, ns, "one change of the rights on neighbouring pages")                                               \
	X(twin, kib, "making a twin")                                                                                  \
	X(diff, kib, "comparing a page with its twin")                                                                 \
	X(merge, kib, "comparing a page that was read with the twin and the copy")                                     \
	X(copy, kib, "copying within a host")                                                                          \
	X(directory, ns, "publishing a word of the directory; an access to memory of a PE of the same node")           \
	X(lock, ns, "taking a lock within a node")                                                                     \
	X(message, ns, "serving a message")                                                                            \
	X(serve, ns, "a processor's part of a read of its host's memory by another host; 0: the network reads it")     \
	X(land, kib, "moving what was read to its place")                                                              \
	X(overhead, ns, "a processor's part of an operation on another host")                                          \
	X(latency, ns, "one way between hosts")                                                                        \
	X(link, MB, "bandwidth of a host's link")                                                                      \
	X(network, MB, "bandwidth of the whole network")

enum tw_cost {
#define TW_COST(name, unit, meaning) TW_COST_##name,
	TW_COSTS(TW_COST)
#undef TW_COST
	    TW_COST_KINDS
};

struct tw_costs {
	uint64_t of[TW_COST_KINDS];
};

#endif
