/* SPDX-License-Identifier: BSD-3-Clause */
/* notice.h - the circular queue of write notices from one node to another, in the receiver's exported memory
 * (Cashmere-2L, figure 2). */
#ifndef TW_CORE_COHERENCE_NOTICE_H
#define TW_CORE_COHERENCE_NOTICE_H

#include "core/memory/regions.h"

struct tw_notice_queue {
	_Alignas(64) uint64_t tail; /* notices ever appended; written by the sending node */
	_Alignas(64) uint64_t head; /* notices distributed; written by the receiver, read by the sender when full */
	_Alignas(64) uint32_t slot[TW_NOTICE_SLOTS];
};

/* tw_notice_open - allocate @me's batches.  Returns 0 or -ENOMEM. */
struct tw_proc;
int tw_notice_open(struct tw_proc *me);
void tw_notice_close(struct tw_proc *me);

#endif
