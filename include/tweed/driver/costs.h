/* SPDX-License-Identifier: BSD-3-Clause */
/* costs.h - what the operations of a machine cost in virtual time (core/base/clock.h).  A machine file gives them by
 * these names (doc/reference/machines.md). */
#ifndef TWEED_DRIVER_COSTS_H
#define TWEED_DRIVER_COSTS_H

#include <stdint.h>

/* X(name, unit, meaning) */
#define TW_COSTS(X)                                                                                                    \
	X(work, ps, "a block of the program that tweed cc --count counts")                                             \
	X(trap, ns, "a fault: until its handler runs, and the way back")                                               \
	X(protect, ns, "one change of the rights on neighbouring pages")                                               \
	X(twin, ns, "making a twin, for each KiB")                                                                     \
	X(diff, ns, "comparing a page with its twin, for each KiB")                                                    \
	X(merge, ns, "comparing a page that was read with the twin and the copy, for each KiB")                        \
	X(copy, ns, "copying within a host, for each KiB")                                                             \
	X(directory, ns, "publishing a word of the directory")                                                         \
	X(lock, ns, "taking a lock within a node")                                                                     \
	X(message, ns, "serving a message")                                                                            \
	X(overhead, ns, "a processor's part of an operation on another host")                                          \
	X(latency, ns, "one way between hosts")                                                                        \
	X(link, MB, "MB/s: bandwidth of a host's link; 0: unlimited")                                                  \
	X(network, MB, "MB/s: bandwidth of the whole network; 0: unlimited")

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
