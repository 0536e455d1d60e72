/* SPDX-License-Identifier: BSD-3-Clause */
/* lazy.h - lazy releases: what a release must send to other nodes is sent when one of them acquires from it. */
#ifndef TW_CORE_COHERENCE_LAZY_H
#define TW_CORE_COHERENCE_LAZY_H

#include "core/job/job.h"

/* An object that processors release and acquire: its record is a word of the exported memory of @node at @offset,
 * zero at first, which only these functions change. */
struct tw_record {
	unsigned node;
	size_t offset;
};

/* tw_lazy_open - step of tw_proc_enter of a processor.  Returns 0 or -errno, logged.  tw_lazy_close - undo it. */
int tw_lazy_open(struct tw_proc *me);
void tw_lazy_close(struct tw_proc *me);

/* tw_release_to - release: all that this processor has stored, and all that it has acquired, is visible to those that
 * acquire from the record after they have seen what the caller does next (gives up a lock, changes a word).
 * @wanted: another node is waiting for that, so it is performed on return.  With lazy releases, it also acquires what
 * was released to the record before.  Returns whether it is performed on return.
 * tw_acquire_from - acquire what was released to the record before.
 * tw_released - has something been released there that this processor has not acquired?  Without lazy releases: false.
 * tw_acquire_needless - may tw_acquire_from be left out, for it would find nothing new, and has nothing else to do?
 * tw_acquire_own - the same for an object at which this processor was the last to release.
 * tw_acquire_all - acquire what any processor has released.
 * Without lazy releases, and over networks, they are tw_release and tw_acquire for @object; but tw_acquire_all has
 * performed what is pending.
 * They wait for other processors, each of which answers by itself or by its thread (lazy.c).  No page lock held, nor
 * tw_protocol_enter.  [sync] */
bool tw_release_to(struct tw_proc *me, struct tw_record r, enum tw_sync_kind kind, uint64_t object, bool wanted);
void tw_acquire_from(struct tw_proc *me, struct tw_record r, enum tw_sync_kind kind, uint64_t object);
bool tw_released(const struct tw_proc *me, struct tw_record r);
bool tw_acquire_needless(struct tw_proc *me, struct tw_record r);
bool tw_acquire_own(struct tw_proc *me);
void tw_acquire_all(struct tw_proc *me);

/* Locks over networks, whose own words are the record.
 * tw_lazy_locks - are releases of locks lazy, and no others?  Then locks call the following instead.
 * tw_lock_released - release; if @now, or if that is better, it is performed on return.  Returns whether it is; else
 * *@number is that of the release, which the lock's word must have.
 * tw_release_trails - may a release trail (trail.h)?  Not while another one is pending, which a node may demand: the
 * reply is another endpoint's, and does not wait for what this one has in flight.
 * tw_lock_demand - have everything performed that @node, another one, has released up to @number; UINT64_MAX: of all
 * numbers.  If this processor does not know that it is, it waits for that node's reply.
 * tw_lock_demanded - has another node demanded something of this node since the last call?
 * tw_lock_acquired - acquire what @node has released.  @number: of the lock's last release, where @node is the own one;
 * UINT64_MAX: of all releases.
 * No page lock held, nor tw_protocol_enter.  [sync] */
bool tw_lazy_locks(void);
bool tw_lock_released(struct tw_proc *me, bool now, uint64_t *number);
bool tw_release_trails(void);
void tw_lock_demand(struct tw_proc *me, unsigned node, uint64_t number);
bool tw_lock_demanded(struct tw_proc *me);
void tw_lock_acquired(struct tw_proc *me, unsigned node, uint64_t number);

/* tw_lazy_demanded - TW_MSG_RELEASES: have the node's processors perform; the last one that has done so replies, with
 * the number of the release up to which that was.  It waits for none of them.  [agent] */
void tw_lazy_demanded(struct tw_proc *me, const struct tw_msg *msg);

/* tw_lazy_performed - this processor's thread has just run the protocol's release.  If @all, what it has acquired from
 * its neighbours is performed on return, too.  [hooks.c]
 * tw_lazy_idle - this processor is about to wait for others, or must keep its rights: perform what is pending. */
static inline void tw_lazy_performed(struct tw_proc *me, bool all)
{
	if (tw_laziness)
		tw_laziness->performed(me, all);
}
static inline void tw_lazy_idle(struct tw_proc *me)
{
	if (tw_laziness)
		tw_laziness->idle(me);
}

/* tw_lazy_word - the record of the word at app + @offset. */
struct tw_record tw_lazy_word(const struct tw_proc *me, size_t offset);

/* tw_lazy_exported_bytes - of each node. */
size_t tw_lazy_exported_bytes(const struct tw_config *config);

#endif
