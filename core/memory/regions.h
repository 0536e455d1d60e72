/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.h - how the layout of a node's memories (driver/layout.h) follows from the configuration. */
#ifndef TW_CORE_MEMORY_REGIONS_H
#define TW_CORE_MEMORY_REGIONS_H

#include "core/base/base.h"
#include "core/job/settings.h"
#include "tweed/driver/layout.h"

/* First address of the shared space, but for programs that share global variables (core/memory/globals.h); sanitizers reserve ranges
 * of their own. */
#define TW_SPACE_BASE (TW_TSAN ? (uintptr_t)0x1000000000 : (uintptr_t)0x200000000000)

/* For openmp/, of each node and of each of its processors: who needs more of it says so there. */
#define TW_TASK_NODE_BYTES      ((size_t)8 << 10)
#define TW_TASK_PROCESSOR_BYTES ((size_t)64 << 10)

#define TW_NOTICE_SLOTS 16384u /* write notices per (receiver, sender) queue; a power of two */

void tw_layout_compute(struct tw_layout *layout, const struct tw_config *config);

#endif
