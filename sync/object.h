/* SPDX-License-Identifier: BSD-3-Clause */
/* object.h - the memory and the handles behind locks, barriers and flags. Private to sync/.
 *
 * A handle's id:  kind 63-60 | creator node 59-52 | index 51-28 | n (barriers) 27-12 | generation 11-0; of an evictable
 * lock (evictable.c):  kind | node | index | 1 | generation 26-0.
 * Creator and index name a slot. A slot has the same offset in every node's exported memory (a struct sync_line, and an
 * array with one word per node) and one struct sync_local in every node's private memory. The generation counts how
 * often the slot was recycled, and each node's line holds it. A handle of another generation was destroyed, which its
 * user detects without communication.
 *
 * Exported: free list head, sentences, free list head of evictable locks | counts [locals] | job's arrival array |
 * lines [slots] | arrays [slots][nodes].
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
#define SYNC_EVICTABLE  (1ull << 27)
#define SYNC_JOB_ID     ((uint64_t)SYNC_BARRIER << 60) /* tw_barrier_all's; no created barrier has n = 0 */

/* The words of one object that other nodes read or write. "Own" words belong to the node in whose memory they lie. Each
 * kind uses only its own words. Destroying the object resets those before @next. */
struct sync_line {
	_Alignas(64) _Atomic uint64_t tail; /* queue lock, at its home: last node of the queue + 1; SYNC_RETURNED with
	                                     * what is undone; 0: never taken */
	_Atomic uint64_t node;              /* queue lock, own: SYNC_BUSY and so on */
	_Atomic uint64_t grant;             /* queue lock, own: 1 | undone when the predecessor has granted the lock */
	_Atomic uint64_t value;             /* flag: value; barrier of some: generation completed; lock: record */
	_Atomic uint64_t count;             /* barrier of some, at its home: slot's generation << 40 | arrivals */
	_Atomic uint64_t local;             /* barrier of all, own: arrivals of local processors; evictable lock, at its
	                                     * home: SYNC_IN_USE, or 0, changed by its holder */
	_Atomic uint64_t next;              /* at the creator: next free slot's index + 1 */
	_Atomic uint64_t gen;
};

/* The node's own part of a lock. */
struct sync_local {
	_Alignas(64) _Atomic uint64_t waiters; /* local processors waiting for @turn, one bit each */
	_Atomic uint32_t turn;                 /* local processor with the node's turn + 1; 0: none */
	uint32_t streak;                       /* hand-overs within the node since another node asked; under @turn */
	bool kept;                             /* the turn was passed together with the lock; under @turn */
	_Atomic bool held;                     /* the processor with @turn has got the lock; stored under @turn */
	/* Under @turn: */
	uint8_t last;    /* the processor of this node that released it last, + 1; 0: none */
	uint8_t returns; /* how often the node was soon back, at most SYNC_RETURNS: then it may keep the lock */
	bool came;       /* from another node, and this one has not released it since */
	uint64_t asked;  /* when another node was first seen to wait, since this one got the lock, ns; 0: never */
	uint64_t left;   /* when its last release began, or ended if it was long, if another node waited, ns; 0: none */
	/* Over networks, where the lock's words are the record of its releases (lazy.c): */
	uint64_t released; /* the number of the node's last release that was not performed at once */
	uint64_t undone;   /* what the last release has not done: SYNC_UNDONE */
	uint16_t from;     /* the node that the lock has just come from, + 1; 0: none */
	uint8_t releases;  /* of the node since the lock came, at most UINT8_MAX */
	uint8_t eager;     /* so many of them, the first ones, are performed at once */
};
_Static_assert(sizeof(struct sync_local) == 64, "a line");

#define SYNC_IN_USE (1ull << 63) /* more than arrive at any barrier */

/* How many threads of a processor may wait for evictable locks, by the locks' hash: changed by it, read by others. */
struct sync_counts {
	_Alignas(64) volatile uint16_t of[TW_SYNC_HASHES];
};

struct sync_private {
	_Alignas(64) _Atomic uint64_t created; /* slots of this node's range ever used */
	_Atomic uint64_t hand;                 /* the slot to be looked at next for eviction */
	_Alignas(64) _Atomic uint64_t local;   /* job barrier: arrivals of local processors */
	_Atomic uint64_t call; /* the first of them in this epoch: epoch << 16 | processor << 8 | call */
};

#define SYNC_RETURNS 2u

/* What is undone when a node gives up a lock, as bits of the queue lock's words.  SYNC_OTHER: another node has released
 * the lock in its place, and this one has not acquired from it.  Above SYNC_NUMBER_SHIFT: the number of the node's last
 * release, which may be pending; 0: none is; SYNC_NUMBER_MOST: that or a greater one.
 * sync_pending - the bits for release @number.
 * sync_pending_of - the number in @undone; UINT64_MAX: it is not known. */
#define SYNC_OTHER        64ull
#define SYNC_NUMBER_SHIFT 24
#define SYNC_NUMBER_MOST  (UINT64_MAX >> SYNC_NUMBER_SHIFT)
#define SYNC_UNDONE       (SYNC_OTHER | SYNC_NUMBER_MOST << SYNC_NUMBER_SHIFT)
static inline uint64_t sync_pending(uint64_t number)
{
	return (number < SYNC_NUMBER_MOST ? number : SYNC_NUMBER_MOST) << SYNC_NUMBER_SHIFT;
}
static inline uint64_t sync_pending_of(uint64_t undone)
{
	uint64_t number = undone >> SYNC_NUMBER_SHIFT;

	return number < SYNC_NUMBER_MOST ? number : UINT64_MAX;
}

/* A decoded handle. */
struct sync_object {
	uint64_t id;
	unsigned home; /* the creator, whose node has the central words */
	unsigned n;
	uint64_t gen;
	size_t slot;
	size_t line; /* offset in exported memory */
	struct sync_line *own;
	struct sync_local *local;
};

/* sync_keep_ns - for how long a node may keep a lock for which another one waits: for about twice what a hand-over
 * takes, by what atomic operations on other nodes have taken; at least SYNC_KEEP_NS. */
#define SYNC_KEEP_NS 50000u
uint64_t sync_keep_ns(void);

#define SYNC_WORD(object, name) ((object)->line + offsetof(struct sync_line, name))

/* sync_create - create an object without communication. Returns its id. */
uint64_t sync_create(struct tw_proc *me, enum sync_kind kind, unsigned n, const char *function);
/* sync_destroy - reset the slot everywhere and return it to its creator. No write of another processor to the slot may
 * be in flight, unless it stores the same values as the reset. */
void sync_destroy(struct tw_proc *me, struct sync_object *o);

/* Slots of this node. @list: where the head of a list of recycled ones is.
 * sync_pop - take one of the list. Returns its index + 1; 0: the list is empty.
 * sync_push - add one to its home's list.
 * sync_unused - take one that was never used, of the first @limit. Returns its index + 1; 0: there is none.
 * sync_full - end the job with a message: there is no slot for @function. */
uint64_t sync_pop(struct tw_proc *me, size_t list);
void sync_push(struct tw_proc *me, const struct sync_object *o, size_t list);
uint64_t sync_unused(struct tw_proc *me, uint64_t limit);
void sync_full(struct tw_proc *me, const char *function) __attribute__((noreturn));

/* For evictable.c; none of these waits for a holder.
 * sync_lock_retake - tw_lock_acquire, if this node owns the lock and nobody holds it. Returns whether.
 * sync_lock_follow - acquire what was released with a lock that its home has taken since by sync_lock_try.
 * sync_lock_release - tw_lock_release of a lock that the caller holds, whatever its generation.
 * sync_lock_try, sync_lock_leave - acquire a lock, and give it up without a release. */
bool sync_lock_retake(struct tw_proc *me, struct sync_object *o);
void sync_lock_follow(struct tw_proc *me, const struct sync_object *o);
void sync_lock_release(struct tw_proc *me, struct sync_object *o);
bool sync_lock_try(struct tw_proc *me, struct sync_object *o);
void sync_lock_leave(struct tw_proc *me, struct sync_object *o);

/* sync_slots - of a node: those of objects, then those of tw_sync_word_lock, which are always in use. */
static inline size_t sync_slots(const struct tw_config *config)
{
	return config->sync_objects + TW_SYNC_WORDS;
}
/* sync_at - offset of sync/'s part of the exported memory, whose first word is the free list's head. */
static inline size_t sync_at(const struct tw_proc *me)
{
	return me->layout.reserved[TW_RESERVED_SYNC];
}
static inline size_t sync_counts(const struct tw_proc *me)
{
	return sync_at(me) + 64;
}
static inline size_t sync_job_array(const struct tw_proc *me)
{
	return sync_counts(me) + me->locals * sizeof(struct sync_counts);
}
static inline size_t sync_array_bytes(size_t nodes)
{
	return TW_ALIGN_UP(nodes * sizeof(uint64_t), 64);
}
static inline size_t sync_lines(const struct tw_proc *me)
{
	return sync_job_array(me) + sync_array_bytes(me->nodes);
}
/* sync_array - offset of the object's array of [nodes] words. */
size_t sync_array(const struct tw_proc *me, const struct sync_object *o);
/* sync_job_sentences - offset of a word at node 0: the processor that changes it from 0 prints the message that ends
 * the job. */
size_t sync_job_sentences(const struct tw_proc *me);
static inline struct sync_private *sync_private(const struct tw_proc *me)
{
	return (struct sync_private *)(void *)(me->private_mem + me->layout.reserved_private[TW_RESERVED_SYNC]);
}
static inline _Atomic uint64_t *sync_words(const struct tw_proc *me, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(me->net->base + offset);
}

/* sync_release - tw_release; moreover, this endpoint's earlier synchronization writes are visible everywhere, so that a
 * flag set before a lock's release cannot overtake the next holder's writes. */
void sync_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
/* sync_notify - wake all processors of @node except this one. Its agent never waits for synchronization. */
void sync_notify(struct tw_proc *me, unsigned node);
/* sync_sleep - sleep for about @ns, in loops that get no notification. */
void sync_sleep(struct tw_proc *me, uint64_t ns);
/* sync_alone - call it before a call that may wait: ends the job with a message if another thread of this processor is
 * waiting. Costs a load.
 * sync_wait - tw_wait that shows others the wait: in @call, for @object and @value of it.
 * sync_wait_until - the same, at most until a time (0: for ever); returns whether it is ready.
 * sync_poll - the same where no notification comes: calls @pause(@arg) between two polls. */
void sync_alone(const char *function);
void sync_wait(struct tw_proc *me, enum tw_wait_call call, uint64_t object, uint64_t value, bool (*ready)(void *arg),
               void *arg);
bool sync_wait_until(struct tw_proc *me, enum tw_wait_call call, uint64_t object, uint64_t value,
                     bool (*ready)(void *arg), void *arg, uint64_t until_ns);
void sync_poll(struct tw_proc *me, enum tw_wait_call call, uint64_t object, bool (*ready)(void *arg),
               void (*pause)(void *arg), void *arg);
/* sync_held_add, sync_held_remove - record that the processor of @stats holds, or no longer holds, @lock. */
void sync_held_add(struct tw_stats *stats, uint64_t lock);
void sync_held_remove(struct tw_stats *stats, uint64_t lock);
/* sync_settle - wait until every node's word at @offset equals the local one. Called before the object is destroyed,
 * because the processor that released the caller may still be writing the word to other nodes. */
void sync_settle(struct tw_proc *me, size_t offset, const char *function);

/* One lock algorithm between nodes, called by the processor that has the node's turn. */
struct sync_lock_ops {
	/* enter - wait until this node holds the lock. Returns whether another node was involved.  enter and try_enter
	 * set local->from and undone if the lock came from another node. */
	bool (*enter)(struct tw_proc *me, struct sync_object *o);
	/* retake - enter, if that needs no other node. Returns whether. NULL: it always needs one. */
	bool (*retake)(struct tw_proc *me, struct sync_object *o);
	/* try_enter - enter without waiting for a holder. Returns 0: not taken; 1: taken; 2: taken, and another node
	 * was involved. */
	int (*try_enter)(struct tw_proc *me, struct sync_object *o);
	/* successor - returns the node that waits for the lock + 1; it gets the lock when this node leaves.  0: none
	 * waits.  NULL: the lock cannot be passed on within the node. */
	unsigned (*successor)(struct tw_proc *me, struct sync_object *o);
	/* leave - release the lock; if @keep, this node may take it again for some time though another one waits. On
	 * return, no write of this endpoint to the lock is in flight that could harm a later holder on this node. */
	void (*leave)(struct tw_proc *me, struct sync_object *o, bool keep);
	/* held - returns whether any node holds the lock. */
	bool (*held)(struct tw_proc *me, struct sync_object *o);
};
extern const struct sync_lock_ops sync_queue_lock, sync_array_lock;

/* sync_place - decode @id, of whatever generation. */
static inline struct sync_object sync_place(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = {
	    .id = id, .home = id >> 52 & 0xff, .n = id >> SYNC_GEN_BITS & 0xffff, .gen = id & SYNC_GEN_MASK};

	if (id >> 60 == SYNC_LOCK && (id & SYNC_EVICTABLE)) {
		o.n = 0;
		o.gen = id & (SYNC_EVICTABLE - 1);
	}
	o.slot = o.home * sync_slots(&me->config) + (id >> 28 & SYNC_INDEX_MASK);
	o.line = sync_lines(me) + o.slot * sizeof(struct sync_line);
	o.own = (struct sync_line *)(void *)(me->net->base + o.line);
	o.local = (struct sync_local *)(void *)(sync_private(me) + 1) + o.slot;
	return o;
}

/* sync_refuse - end the job with a message about a handle that is not one of a living object of @kind.
 * sync_find - decode @id, and check that it is one. */
void sync_refuse(struct tw_proc *me, uint64_t id, enum sync_kind kind, const char *function)
    __attribute__((noreturn, cold));
static inline struct sync_object sync_find(struct tw_proc *me, uint64_t id, enum sync_kind kind, const char *function)
{
	if (id >> 60 != kind || (id >> 52 & 0xff) >= me->nodes ||
	    (id >> 28 & SYNC_INDEX_MASK) >= sync_slots(&me->config))
		sync_refuse(me, id, kind, function);
	struct sync_object o = sync_place(me, id);
	if (!(kind == SYNC_LOCK && (id & SYNC_EVICTABLE)) &&
	    atomic_load_explicit(&o.own->gen, memory_order_acquire) != o.gen)
		sync_refuse(me, id, kind, function);
	return o;
}

#endif
