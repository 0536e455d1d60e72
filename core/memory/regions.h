/* SPDX-License-Identifier: BSD-3-Clause */
/* regions.h - computes the layout of a node's memories (driver/layout.h) from the configuration. */
#ifndef TW_CORE_MEMORY_REGIONS_H
#define TW_CORE_MEMORY_REGIONS_H

#include "core/base/base.h"
#include "core/job/settings.h"
#include "tweed/driver/layout.h"

/* First address of the shared space, except in programs that share global variables (core/memory/globals.h). Sanitizers
 * reserve ranges of their own. */
#define TW_SPACE_BASE (TW_TSAN ? (uintptr_t)0x1000000000 : (uintptr_t)0x200000000000)

#define TW_NOTICE_SLOTS 16384u /* write notices per (receiver, sender) queue; a power of two */

/* The bytes that a layer above the core reserves in each node's exported and private memory. They must follow from the
 * configuration alone, because agents and processors compute the layout separately. The memory is zero when the job
 * starts. */
struct tw_reservation {
	size_t (*exported_bytes)(const struct tw_config *config);
	size_t (*private_bytes)(const struct tw_config *config);
};
extern const struct tw_reservation tw_reservations[TW_RESERVED_KINDS]; /* reserved.c */

/* tw_layout_compute - the layout that follows from @config. */
void tw_layout_compute(struct tw_layout *layout, const struct tw_config *config);

#endif
