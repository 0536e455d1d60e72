/* SPDX-License-Identifier: BSD-3-Clause */
/* wide.h - atomic operations on aligned 128-bit words, which no network provides. The CPU of the word's node executes
 * them. Nothing else may change such a word. */
#ifndef TW_CORE_MEMORY_WIDE_H
#define TW_CORE_MEMORY_WIDE_H

#include "core/job/job.h"

struct tw_wide128 {
	uint64_t word[2];
} __attribute__((aligned(16)));

/* LOAD returns the value. SWAP stores @value. CAS stores @value if both words equal @expect, CAS_OBJECT if the first
 * does. The COUNTED operations store value.word[0], and the old second word plus 1. */
enum tw_wide_op {
	TW_WIDE_LOAD,
	TW_WIDE_SWAP,
	TW_WIDE_CAS,
	TW_WIDE_SWAP_COUNTED,
	TW_WIDE_CAS_COUNTED,
	TW_WIDE_CAS_OBJECT_COUNTED,
	TW_WIDE_OPS
};

/* tw_wide_here - execute @op on a word that this process can address. Returns the old value. */
struct tw_wide128 tw_wide_here(struct tw_wide128 *at, enum tw_wide_op op, struct tw_wide128 value,
                               struct tw_wide128 expect);
/* tw_wide_call - the same at @offset of @node's exported memory, executed by its agent. */
struct tw_wide128 tw_wide_call(struct tw_proc *me, unsigned node, size_t offset, enum tw_wide_op op,
                               struct tw_wide128 value, struct tw_wide128 expect);
/* tw_wide_serve - in the agent: execute and answer a request of tw_wide_call. */
void tw_wide_serve(struct tw_proc *me, const struct tw_msg *msg);

#endif
