/* SPDX-License-Identifier: BSD-3-Clause */
/* object.h - the memory and the handles behind locks, barriers and flags; only for sync/.
 *
 * A handle's id:  kind 63-60 | creator node 59-52 | index 51-28 | n (barriers) 27-12 | generation 11-0.
 * Creator and index name a slot.  A slot is the same offset in every node's exported memory (struct sync_line, and
 * one word per node for those that want an array), and one struct sync_local in every node's private memory.  The
 * generation is the number of times the slot was recycled, kept in each node's line: a handle of another generation
 * was destroyed, and its user finds out without communication.
 *
 * Exported: free list head, sentences | job's arrival array | lines [slots] | arrays [slots][nodes].
 * Private:  struct sync_private | struct sync_local [slots].
 * All of it is sparse and starts as zero, which is the state of a new object of each kind. */
#ifndef TW_SYNC_OBJECT_H
#define TW_SYNC_OBJECT_H

#include "core/base/base.h"
#include "sync/sync.h"

enum sync_kind { SYNC_LOCK = 1, SYNC_BARRIER, SYNC_FLAG };

#define SYNC_GEN_BITS   12
#define SYNC_GEN_MASK   ((1u << SYNC_GEN_BITS) - 1)
#define SYNC_INDEX_MASK 0xffffffu
#define SYNC_JOB_ID     ((uint64_t)SYNC_BARRIER << 60) /* tw_barrier_all's; no created barrier has n = 0 */

/* Words that other nodes write, or read, of one object.  "Own" words belong to the node whose memory it is; the words
 * of a kind are used by that kind alone, and those before @next are reset when the object is destroyed. */
struct sync_line {
	_Alignas(64) _Atomic uint64_t tail; /* queue lock, at its home: last node of the queue + 1; 0: never taken */
	_Atomic uint64_t node;              /* queue lock, own: SYNC_BUSY and so on */
	_Atomic uint64_t grant;             /* queue lock, own: 1 when the predecessor handed the lock over */
	_Atomic uint64_t value;             /* flag: the value; barrier of some: generation completed */
	_Atomic uint64_t count;             /* barrier of some, at its home: slot's generation << 40 | arrivals */
	_Atomic uint64_t local;             /* barrier of all, own: arrivals of local processors */
	_Atomic uint64_t next;              /* at the creator: next free slot's index + 1 */
	_Atomic uint64_t gen;
};

/* The node's own part of a lock. */
struct sync_local {
	_Alignas(64) _Atomic uint64_t waiters; /* local processors that wait for @turn, one bit each */
	_Atomic uint32_t turn;                 /* local processor that has the node's turn + 1; 0: nobody */
	uint32_t streak;                       /* hand-overs inside the node since another node asked; of @turn */
	bool kept;                             /* the turn came together with the lock itself; of @turn */
};

struct sync_private {
	_Alignas(64) _Atomic uint64_t created; /* slots of this node's range ever used */
	_Alignas(64) _Atomic uint64_t local;   /* job barrier: arrivals of local processors */
	_Atomic uint64_t call; /* the first of them in this epoch: epoch << 16 | processor << 8 | call */
};

/* A handle, taken apart. */
struct sync_object {
	uint64_t id;
	unsigned home; /* the creator: where central words are */
	unsigned n;
	uint64_t gen;
	size_t line;   /* offset in exported memory */
	size_t array;  /* of [nodes] words, likewise */
	struct sync_line *own;
	struct sync_local *local;
};

#define SYNC_WORD(object, name) ((object)->line + offsetof(struct sync_line, name))

/* sync_find - take @id apart and check it; ends the job with a sentence when it is no living object of @kind. */
struct sync_object sync_find(struct tw_proc *me, uint64_t id, enum sync_kind kind, const char *function);
/* sync_create - a new object, without communication.  Returns its id. */
uint64_t sync_create(struct tw_proc *me, enum sync_kind kind, unsigned n, const char *function);
/* sync_destroy - reset the slot everywhere and give it back to its creator.  No write of another processor to the
 * slot may be under way, save such as store what the reset stores. */
void sync_destroy(struct tw_proc *me, struct sync_object *o);

size_t sync_job_array(const struct tw_proc *me);
/* sync_job_sentences - at node 0: who makes it other than 0 says what ends the job. */
size_t sync_job_sentences(const struct tw_proc *me);
static inline struct sync_private *sync_private(const struct tw_proc *me)
{
	return (struct sync_private *)(void *)(me->private_mem + me->layout.sync_local);
}
static inline _Atomic uint64_t *sync_words(const struct tw_proc *me, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(me->net->base + offset);
}

/* sync_release - tw_release, and this endpoint's own earlier synchronization writes are visible everywhere as well: a
 * flag set before a lock's release cannot overtake what the lock's next holder writes. */
void sync_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
/* sync_notify - wake all processors of @node but this one.  Not its agent, who waits for none of this. */
void sync_notify(struct tw_proc *me, unsigned node);
/* sync_sleep - give way for about @ns; for loops that nobody wakes. */
void sync_sleep(struct tw_proc *me, uint64_t ns);
/* sync_alone - before a call that may wait: end the job with a sentence if another thread of this processor waits
 * already.  A load.
 * sync_wait - tw_wait, as others see it: in @call, for @object and @value of it.
 * sync_poll - the same for what nothing wakes: @pause(@arg) between two looks. */
void sync_alone(const char *function);
void sync_wait(struct tw_proc *me, enum tw_wait_call call, uint64_t object, uint64_t value, bool (*ready)(void *arg),
               void *arg);
void sync_poll(struct tw_proc *me, enum tw_wait_call call, uint64_t object, bool (*ready)(void *arg),
               void (*pause)(void *arg), void *arg);
/* sync_held_add, sync_held_remove - this processor holds the lock @lock; not any more. */
void sync_held_add(struct tw_proc *me, uint64_t lock);
void sync_held_remove(struct tw_proc *me, uint64_t lock);
/* sync_settle - wait until every node's word at @offset is the one here.  Called by who destroys the object: the
 * writer of a word that released him may still be writing it to others. */
void sync_settle(struct tw_proc *me, size_t offset, const char *function);

/* One lock algorithm between nodes.  Called by the processor that has the node's turn. */
struct sync_lock_ops {
	/* enter - wait until this node holds the lock.  Returns whether another node took part. */
	bool (*enter)(struct tw_proc *me, struct sync_object *o);
	/* try_enter - the same without waiting for a holder: 0 not taken, 1 taken, 2 taken and another node took
	 * part. */
	int (*try_enter)(struct tw_proc *me, struct sync_object *o);
	/* wanted - another node waits for it; NULL when the lock cannot be kept for a neighbour. */
	bool (*wanted)(struct tw_proc *me, struct sync_object *o);
	/* leave - this node lets go.  On return no write of this endpoint to the lock is under way that could harm a
	 * later holder on this node. */
	void (*leave)(struct tw_proc *me, struct sync_object *o);
	/* held - some node holds the lock. */
	bool (*held)(struct tw_proc *me, struct sync_object *o);
};
extern const struct sync_lock_ops sync_queue_lock, sync_array_lock;

#endif
