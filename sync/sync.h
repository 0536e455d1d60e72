/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.h - two-level locks, barriers and flags, for the rest of the library. The public functions are in tweed.h. */
#ifndef TW_SYNC_SYNC_H
#define TW_SYNC_SYNC_H

#include "core/coherence/word.h"
#include "core/job/job.h"
#include "tweed/tweed.h"

/* The bytes that sync/ reserves in each node's exported and private memory (core/memory/reserved.c). */
size_t tw_sync_exported_bytes(const struct tw_config *config);
size_t tw_sync_private_bytes(const struct tw_config *config);

/* tw_sync_barrier_job - the two-level barrier of all processors, without protocol action. All must come from the same
 * @call, or the job ends with a message. Returns the number of this barrier, from 1; barriers of tw_barrier_all count
 * too. */
uint64_t tw_sync_barrier_job(struct tw_proc *me, enum tw_wait_call call);

/* tw_sync_call_name - returns the name of the program's call, for messages. tw_sync_call_describe - writes it to @out,
 * with what it waits for. */
const char *tw_sync_call_name(enum tw_wait_call call);
void tw_sync_call_describe(enum tw_wait_call call, uint64_t object, uint64_t value, char *out, size_t bytes);

/* tw_sync_held_none - end the job with a message of @function if this processor holds a lock.
 * tw_sync_held_forget - before tw_finalize, for a program that may end with locks held. */
void tw_sync_held_none(struct tw_proc *me, const char *function);
void tw_sync_held_forget(struct tw_proc *me);

/* tw_sync_barrier_wait - tw_barrier_wait. Returns true in one of the processors that meet. */
bool tw_sync_barrier_wait(struct tw_proc *me, uint64_t id);

/* tw_sync_barrier_threads - a barrier of @n threads, of which a processor may have several; at most
 * TW_SYNC_BARRIER_MOST. */
#define TW_SYNC_BARRIER_MOST 0x7fffu
tw_barrier_t tw_sync_barrier_threads(struct tw_proc *me, unsigned n);

/* tw_sync_flag_raise - tw_flag_set of a flag that only @processor waits for and reads: it is raised only at that
 * processor's node. Calls for one flag must not overlap. */
void tw_sync_flag_raise(struct tw_proc *me, uint64_t id, uint64_t value, unsigned processor);

/* A run-time that runs several threads on a processor, one at a time.
 * switches - may other threads run during a wait of the calling thread in @call?
 * wait - as tw_wait_until; meanwhile, others run. @ready may be called in any thread of the processor, and no more once
 * it has returned true. */
struct tw_sync_threads {
	bool (*switches)(enum tw_wait_call call);
	bool (*wait)(bool (*ready)(void *arg), void *arg, uint64_t until_ns);
};
/* tw_sync_threads - the run-time of this process; NULL: one thread calls Tweed. */
extern const struct tw_sync_threads *tw_sync_threads;
/* tw_sync_others - may other processors run the program, and release this one's locks (tw_sync_lock_release_any)?  Then
 * a processor that takes a lock again waits for that.  NULL: no. */
extern const bool *tw_sync_others;

/* tw_sync_lock_mine - returns whether this processor holds lock @id, or waits for it before all other processors of its
 * node. */
bool tw_sync_lock_mine(struct tw_proc *me, uint64_t id);

/* tw_sync_lock_release - tw_lock_release, except that it returns false if this processor does not hold @lock. */
bool tw_sync_lock_release(struct tw_proc *me, tw_lock_t lock);

/* tw_sync_lock_release_any - tw_lock_release of a lock that another processor holds, which must not release it
 * meanwhile; for POSIX's plain mutexes.  Returns false if no processor holds it.  Costs an eager release, and a call of
 * one agent after the other until one's node holds the lock.  No page lock held.  [sync]
 * tw_sync_lock_serve - the agent's part of it (tw_message_lock).  Waits for nothing.  [agent] */
bool tw_sync_lock_release_any(struct tw_proc *me, tw_lock_t lock);
void tw_sync_lock_serve(struct tw_proc *me, const struct tw_msg *msg);

/* tw_sync_waits_next - set it around the release of a lock by a caller that waits next: its node does not keep the lock
 * while another one waits for it (queue_lock.c).  This process' own; other threads of the processor that run meanwhile
 * keep no lock, either. */
extern bool tw_sync_waits_next;

/* tw_sync_ends_early - set it before a wait that a handler of the program's signals may end early, where threads take
 * turns (runtime/threads/baton.c); the wait resets it.  This process' own. */
extern bool tw_sync_ends_early;

/* tw_sync_count_add - add @by to a count of 32 bits that belongs to @lock, 0 at first: one atomic operation, complete
 * on return.  tw_sync_count - returns the count.  Neither is a release or an acquire.  [sync] */
void tw_sync_count_add(struct tw_proc *me, tw_lock_t lock, int by);
uint32_t tw_sync_count(struct tw_proc *me, tw_lock_t lock);

/* tw_sync_word_lock - the lock of the word at app + @offset, for atomic operations where they need one.  There are
 * TW_SYNC_WORDS of each node, apart from TWEED_SYNC_OBJECTS. */
#define TW_SYNC_WORDS 64u
tw_lock_t tw_sync_word_lock(const struct tw_proc *me, size_t offset);

/* tw_sync_atomic - an atomic operation on the aligned word of shared memory at @word, as the functions of tweed.h.
 * @function: the caller, for messages.  Returns the previous value.  [sync] */
struct tw_atomic {
	struct tw_word_op is;
	enum tw_order order;
	bool stores; /* no acquire */
	bool posted; /* relaxed; the result is not used, and it may be performed later (tw_word_operate) */
};
uint64_t tw_sync_atomic(struct tw_proc *me, volatile void *word, const struct tw_atomic *a, const char *function);

/* tw_sync_lock_create_some - tw_lock_create, or id 0 once half of the node's slots have been used: the others are for
 * what must have one.  [sync] */
tw_lock_t tw_sync_lock_create_some(struct tw_proc *me);

/* Evictable locks (evictable.c): as many as the program likes, of which a slot each have only those in use.  Their ids
 * serve wherever a tw_lock_t does, but in tw_lock_destroy.  What is taken must be tested: if tw_sync_evictable_lives is
 * false then, the caller releases the lock, and creates another one, for all.
 * tw_sync_evictable_create - a new free lock's id, not 0.  Communicates only if no slot is free.  [sync]
 * tw_sync_evictable_lives - is it still what @id names?  If the caller holds it, until the release.
 * tw_sync_evictable_take - take and test it, if this node owns it and nobody holds it.  Returns whether.  [sync]
 * tw_sync_evictable_release - release a lock that was taken and does not live.  [sync]
 * tw_sync_evictable_await - before a thread takes it by a call that may wait.  Returns whether it lives; then no other
 * lock gets its slot before tw_sync_evictable_got, which follows whether it lives or not.
 * tw_sync_evictable_follow - acquire what was released with the lock, or with another of its slot, so far.  [sync]
 * tw_sync_evictable_destroy - the caller holds it: release it, and free its slot.  [sync]
 * tw_sync_slot - a number of the lock's slot, not 0.  Two locks of one slot, one of them evicted, are one to take.
 * tw_sync_slot_hash - its hash, below TW_SYNC_HASHES. */
uint64_t tw_sync_evictable_create(struct tw_proc *me);
bool tw_sync_evictable_lives(struct tw_proc *me, uint64_t id);
bool tw_sync_evictable_take(struct tw_proc *me, uint64_t id);
void tw_sync_evictable_release(struct tw_proc *me, uint64_t id);
bool tw_sync_evictable_await(struct tw_proc *me, uint64_t id);
void tw_sync_evictable_got(struct tw_proc *me, uint64_t id);
void tw_sync_evictable_follow(struct tw_proc *me, uint64_t id);
void tw_sync_evictable_destroy(struct tw_proc *me, uint64_t id);
#define TW_SYNC_HASHES 64u
static inline uint64_t tw_sync_slot(uint64_t id)
{
	return id >> 28;
}
static inline unsigned tw_sync_slot_hash(uint64_t slot)
{
	return (unsigned)(slot * 0x9e3779b97f4a7c15u >> 58);
}

/* tw_sync_short - returns a lock's slot in 32 bits, never 0. tw_sync_whole - returns the handle of the lock that is now
 * in that slot. */
uint32_t tw_sync_short(struct tw_proc *me, uint64_t id);
uint64_t tw_sync_whole(struct tw_proc *me, uint32_t number);

#endif
