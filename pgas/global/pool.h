/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.h - the control words at the start of the layer's part of each segment, and the objects after them. */
#ifndef TW_PGAS_POOL_H
#define TW_PGAS_POOL_H

#include "pgas/global/access.h"

#define POOL_CHUNK   ((size_t)64 << 10)
#define POOL_RING    8192u /* returned objects that were not taken in yet */
#define POOL_BATCH   64u   /* objects that are returned together */
#define EPOCHS       8u    /* managers of a job */
#define EPOCH_TOKENS 64u   /* of a PE and manager */

/* A manager's words at one PE.  copy and global are only changed by atomics; slots by stores of the PE. */
struct epoch_words {
	uint64_t global; /* the epoch; only PE 0's is used */
	uint64_t dead;   /* number of ignored PEs; only PE 0's is used.  Which: struct pool_control */
	uint64_t room[6];
	uint64_t copy; /* the PE's copy of the epoch */
	uint64_t room2[7];
	uint64_t slot[EPOCH_TOKENS]; /* 0, or epoch << 1 | 1 */
};

struct pool_control {
	uint64_t bump; /* offset of the first free chunk */
	uint64_t room[7];
	uint64_t
	    ring_tail; /* objects that senders have reserved, and that the PE has taken in; adjacent, for one get */
	uint64_t ring_head;
	uint64_t room2[6];
	uint64_t root[TW_ROOTS]; /* only PE 0's is used */
	uint64_t sum[32];        /* tw_pgas_stats_sum; only PE 0's is used */
	uint64_t dead[256];      /* PEs whose sections are ignored, a bit each; only PE 0's is used */
	struct epoch_words epoch[EPOCHS];
	uint64_t ring[POOL_RING]; /* raw pointers; 0: not arrived yet, or taken */
};

#define POOL_CONTROL(member) (tw_pgas.at + offsetof(struct pool_control, member))

/* This PE's own. */
static inline struct pool_control *pool_own(void)
{
	return (struct pool_control *)(void *)(tw_segment.base + tw_pgas.at);
}

/* pool_new_stamped - an object of POOL_STAMPED_BYTES in memory that always holds stamped objects of this manager, so
 * that its last word is always some object's tw_pool_stamp().  The pointer's marks are those with which it was deleted,
 * initially 0.
 * @pe: as nodes_pe in pgas.h. */
#define POOL_STAMPED_BYTES 32u
tw_gptr pool_new_stamped(unsigned manager, unsigned pe);

/* pool_mend - take in the own ring, skipping gaps that dead PEs have left.  All living PEs are between two barriers. */
void pool_mend(void);

int pool_open(void);
void pool_close(void);

#endif
