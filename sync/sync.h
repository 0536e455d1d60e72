/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.h - two-level locks, barriers and flags, to the rest of the library.  The public calls are in tweed.h; they
 * check the handle, call these, and count. */
#ifndef TW_SYNC_SYNC_H
#define TW_SYNC_SYNC_H

#include "core/job/job.h"

/* Bytes wanted in each node's exported and private memory (core/memory/regions.c asks). */
size_t tw_sync_exported_bytes(const struct tw_config *config);
size_t tw_sync_private_bytes(const struct tw_config *config);

/* tw_sync_barrier_job - the two-level barrier of all processors, without any protocol action.  All come from the same
 * @call, or the job ends with a sentence.  Returns which it is, from 1, of these and those of tw_barrier_all. */
uint64_t tw_sync_barrier_job(struct tw_proc *me, enum tw_wait_call call);

/* tw_sync_call_name - what the program has called, for sentences.  tw_sync_call_describe - with what it waits for
 * there, in @out. */
const char *tw_sync_call_name(enum tw_wait_call call);
void tw_sync_call_describe(enum tw_wait_call call, uint64_t object, uint64_t value, char *out, size_t bytes);

/* tw_sync_held_none - end the job with a sentence of @function if this processor holds a lock.  tw_sync_held_forget -
 * before tw_finalize: this program may end with locks held. */
void tw_sync_held_none(struct tw_proc *me, const char *function);
void tw_sync_held_forget(struct tw_proc *me);

/* tw_sync_barrier_wait - tw_barrier_wait.  Returns true in one of those who meet. */
bool tw_sync_barrier_wait(struct tw_proc *me, uint64_t id);

/* tw_sync_flag_raise - tw_flag_set of a flag that @processor alone waits for, and nobody else looks at: it is raised at that processor's node
 * only.  Values of one flag are told one after the other. */
void tw_sync_flag_raise(struct tw_proc *me, uint64_t id, uint64_t value, unsigned processor);

/* tw_sync_short - a lock's slot in 32 bits, never 0; tw_sync_whole - the handle of the lock in that slot now. */
uint32_t tw_sync_short(struct tw_proc *me, uint64_t id);
uint64_t tw_sync_whole(struct tw_proc *me, uint32_t number);

#endif
