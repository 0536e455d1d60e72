/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol.h - all that the author of a coherence protocol reads: the hooks to fill in, and the core's services.
 * doc/internals/writing-a-protocol.md leads through it, with an example.
 *
 * A protocol is one `const struct tw_protocol tw_protocol_NAME`, listed in protocols/protocols.c.  The path of a
 * fault: hardware -> fault backend -> core (which page) -> the protocol's hook -> services below -> tw_map -> retry.
 *
 * Contexts.  *fault*: in a fault handler, all signals blocked.  *sync*: in the application thread, inside a
 * synchronization call.  *agent*: in the node's service thread.  Faults and sync of one processor never overlap.  In
 * all three: no malloc, no stdio, no lock that application code holds, no access to the application view.
 *
 * Locks: tw_page_lock(p) is node-local; several are taken in rising page order.  A hook never waits for another node
 * while it holds one, except in the transport's own read, flush and atomics. */
#ifndef TWEED_DRIVER_PROTOCOL_H
#define TWEED_DRIVER_PROTOCOL_H

#include "tweed/driver/config.h"
#include "tweed/driver/diff.h"
#include "tweed/driver/fault.h"
#include "tweed/driver/layout.h"
#include "tweed/driver/setting.h"
#include "tweed/driver/stats.h"
#include "tweed/driver/trace.h"
#include "tweed/driver/transport.h"
#include "tweed/driver/util.h"

typedef uint32_t tw_page_t; /* page number in the shared space */

struct tw_proc;

/* ---- a node's shared state ------------------------------------------------------------------------------------- */

/* An entry of the second-level directory (Cashmere-2L, section 2.3): one per page and node, one cache line.  Fields
 * are guarded by @lock unless said otherwise.  The protocol maintains @mapped and @writers, and the core reads them:
 * a notice goes to the processors in @mapped (tw_notice_collect); and where the hardware does not distinguish loads
 * from stores, a fault of a processor in @mapped but not in @writers counts as a store. */
struct tw_page {
	struct tw_mutex lock;
	uint32_t twin;            /* twin slot + 1; 0: none */
	_Atomic uint64_t mapped;  /* local processors with a mapping, one bit each */
	_Atomic uint64_t writers; /* those with a write mapping, or with unflushed writes */
	uint64_t ts_flush;        /* node time when the last flush of the page to its home began */
	uint64_t ts_update;       /* node time when the last fetch of it began; 0: never had a copy */
	uint64_t ts_notice;       /* node time when a write notice was distributed: the first one since ts_update */
	uint16_t home;            /* home node + 1 as last seen; 0: not known here */
	uint16_t flusher;         /* local processor that made the last flush (ts_flush) */
	uint32_t state;           /* the protocol's */
	uint64_t extra;           /* the protocol's */
};

/* The node's header. */
struct tw_node {
	_Alignas(64) _Atomic uint64_t clock;    /* logical clock: ticks at fetches, flushes, acquires and releases */
	_Alignas(64) struct tw_mutex notice_in; /* held to distribute the node's write notices */
	/* release_done - node time when each processor's last release had sent all its diffs and notices.
	 * arrivals - how many arrivals each processor has begun (hook arrive).
	 * passed - for the protocol: node time of the node's first acquire after such a barrier. */
	_Alignas(64) _Atomic uint64_t release_done[TW_MAX_PROCESSORS];
	_Alignas(64) _Atomic uint64_t arrivals[TW_MAX_PROCESSORS];
	_Alignas(64) _Atomic uint64_t passed[2];
	struct tw_notice_out {
		_Alignas(64) struct tw_mutex lock; /* held to append to this node's queue at that node */
		uint64_t tail, head;               /* notices ever appended; taken out, as last read */
	} notice_out[TW_MAX_NODES];
	_Alignas(64) _Atomic uint64_t twin_free; /* head of the free twin slots: tag << 32 | slot + 1 */
	_Atomic uint64_t twin_used;              /* twins in use */
	_Atomic uint64_t twin_top;               /* slots ever used */
	struct tw_target {                       /* requests for shootdown of a processor: core/coherence/shootdown.c */
		_Alignas(64) _Atomic uint32_t asked; /* requests * 2, plus 1 while no application code runs there */
		_Atomic uint32_t done;               /* requests * 2 that are served */
		_Atomic uint32_t waiters;            /* processors that sleep on done */
		int32_t pid, tid;
	} target[TW_MAX_PROCESSORS];
	_Alignas(64) _Atomic uint64_t barriers_done; /* tw_barrier_all's passed; 0: the program still initializes */
};

/* A set of pages: three levels of bitmap.  Adding is idempotent; members are passed in rising order and in runs.
 * Zeroed memory is an empty set.  Any number of processes add, one drains, without a lock. */
struct tw_pageset;
/* tw_pageset_init - set the number of pages, up to 2^28, of a set in zeroed memory; any process, the same number
 * each time. */
void tw_pageset_init(struct tw_pageset *set, size_t pages);
void tw_pageset_add(struct tw_pageset *set, tw_page_t page);
/* tw_pageset_add_fenced - the same behind an atomic, sequentially consistent read-modify-write, which follows the
 * stores that a drainer must see. */
void tw_pageset_add_fenced(struct tw_pageset *set, tw_page_t page);
/* tw_pageset_drain - take out all members, calling @run for each maximal run of neighbours found (at most 65536
 * pages at once).  A page added before the call (happens-before) is passed.  @run may add to the set.  Returns how
 * many pages. */
size_t tw_pageset_drain(struct tw_pageset *set, void (*run)(void *ctx, tw_page_t first, unsigned count), void *ctx);
bool tw_pageset_empty(const struct tw_pageset *set);
/* tw_pageset_look - call @visit for each member, in rising order, without taking it out; from any process. */
void tw_pageset_look(const struct tw_pageset *set, void (*visit)(void *ctx, tw_page_t page), void *ctx);
size_t tw_pageset_bytes(size_t pages);

/* ---- a processor ------------------------------------------------------------------------------------------------ */

struct tw_protocol;

struct tw_proc {
	unsigned id, node, local; /* job-wide number; its node; its number on the node (= bit in masks, = port) */
	unsigned nodes, locals;   /* shape: nodes, processors per node */
	bool agent;               /* this is the node's agent: local is the agent's port */
	struct tw_layout layout;
	struct tw_config config;
	const struct tw_protocol *protocol;
	struct tw_net *net;
	struct tw_fault fault;
	char *app, *view;  /* the two views of the frames */
	char *private_mem; /* the node's private memory */
	struct tw_node *n;
	struct tw_page *page; /* [layout.pages] */
	char *twin_mem;
	struct tw_pageset *notices;    /* pages this processor must invalidate at its next acquire */
	struct tw_pageset *nle;        /* no-longer-exclusive list: written where exclusive mode ends */
	struct tw_pageset *shot;       /* pages that neighbours asked it to make readable only */
	struct tw_pageset *revoked;    /* pages that they asked it to unmap */
	struct tw_target *target;      /* where they ask; NULL: they do it themselves, or never shoot */
	struct tw_pageset *dirty;      /* pages this processor wrote since its last release; private */
	struct tw_pageset *noticing;   /* pages flushed by the release at work, notices not yet sent; private */
	struct tw_notice_batch *batch; /* [nodes] write notices not yet appended: core/coherence/notice.c */
	uint64_t acquire_ts;           /* node time of the last acquire */
	struct tw_stats *stats;
	void *trace;                         /* its rings; NULL: nothing is traced */
	bool timing;                         /* times are measured */
	bool crowd;                          /* other threads run here while one waits at a barrier: hook arrive */
	bool trails;                         /* writes may be in flight that the next hook waits for (trail.h) */
	unsigned successor;                  /* of a release: the only node that acquires from it, + 1 (trail.h) */
	tw_page_t last_stored;               /* page of this processor's last write fault */
	const struct tw_fence_hooks *fences; /* NULL: no fence was made here yet: tw_polled */
	void *proto;                         /* the protocol's */
};

/* tw_trail_settle - wait for what tw_proc.trails says is in flight.  The acquire behind a barrier calls it before it
 * takes pages; other hooks need not.  No page lock held. */
void tw_trail_settle(struct tw_proc *me);

/* Polled pages: the program waits for flags on them with fences alone, as with OpenMP's flush
 * (core/coherence/polled.h).
 * tw_polled - is @p one?  Then a fault alone may fetch the page, and a store to it faults at least once between two
 * releases.  It is never taken along with other pages, updated in place, taken into exclusive mode, or left writable
 * by a release.  [all contexts]
 * tw_dirty_drain has the order in which a release publishes them.
 * Where tw_proc.fences is not NULL, a neighbour's fault may bring a flag to the node before this processor has acquired
 * what the flag announces: the hook freshen. */
static inline bool tw_polled(const struct tw_proc *me, tw_page_t p)
{
	return __atomic_load_n(&me->net->base[me->layout.polled + p], __ATOMIC_RELAXED);
}

/* tw_same_host - is @node, a node of a one-level protocol, on this processor's host?  A fetch from there is no
 * traffic of the network: it counts in host_transfers beside page_transfers. */
static inline bool tw_same_host(const struct tw_proc *me, unsigned node)
{
	return node / me->config.host_nodes == me->node / me->config.host_nodes;
}

/* ---- the hooks -------------------------------------------------------------------------------------------------- */

/* TW_SYNC_NODE - all that was released at a node: the object is its number.
 * TW_SYNC_DEMAND - such a release, run by a thread beside the processor's, which stores meanwhile.  What it stored
 * before the call is to be performed.  So a right must be taken before the page is compared, or kept.
 * Both: core/coherence/lazy.c. */
enum tw_sync_kind {
	TW_SYNC_LOCK,
	TW_SYNC_FLAG,
	TW_SYNC_BARRIER,
	TW_SYNC_JOB,
	TW_SYNC_HEAP,
	TW_SYNC_NODE,
	TW_SYNC_DEMAND
};

enum tw_protocol_flag {
	TW_PROTOCOL_ONE_NODE = 1u << 0,     /* only for jobs of one node */
	TW_PROTOCOL_NO_FAULTS = 1u << 1,    /* everything is mapped writable from the start */
	TW_PROTOCOL_ONE_LEVEL = 1u << 2,    /* every processor is a node of its own to the protocol */
	TW_PROTOCOL_NEEDS_STORES = 1u << 3, /* the program's stores must be announced: the hook stored */
	TW_PROTOCOL_NO_DIRECTORY = 1u << 4, /* tw_dir_* and tw_notice_* are not used */
	TW_PROTOCOL_HOMES_MOVE = 1u << 5,   /* a page's home may change at any time: it must be read anew */
	TW_PROTOCOL_SHOOTDOWN = 1u << 6,    /* calls tw_shootdown */
	TW_PROTOCOL_INCOHERENT = 1u << 7,   /* nodes do not see each other's writes; `tweed run` warns */
	TW_PROTOCOL_BY_OBJECT = 1u << 8,    /* an acquire covers only the releases of its object */
	TW_PROTOCOL_RACES = 1u << 9,        /* reports races where config.race; others refuse TWEED_RACE */
	/* a store waits until no other node has the page, so plain accesses need no release and no acquire; calls
	 * tw_revoke, so shootdowns are requests */
	TW_PROTOCOL_REVOKES = 1u << 10,
};

/* A place in a node's exported memory. */
struct tw_location {
	char *at; /* in this process's memory; NULL: it has no address here, but is @offset of @node's memory */
	unsigned node;
	size_t offset;
};

/* Page hooks are mandatory unless TW_PROTOCOL_NO_FAULTS; other hooks may be NULL (replaced once by empty ones). */
struct tw_protocol {
	const char *name, *summary;
	unsigned flags;
	/* parameters - the table of what users may write behind the name; NULL: nothing.  values - the struct that the
	 * table fills when the protocol is found.  variant - parameters of this protocol of a family, set before the
	 * user's.  flags_of - further flags, by the values; NULL: none. */
	const struct tw_setting *parameters;
	void *values;
	const char *variant;
	unsigned (*flags_of)(const void *values);
	/* exported_bytes, private_bytes - size of the protocol's own memory: at layout.protocol of every node's
	 * exported memory and at layout.protocol_private of its private memory, both zero at first, page-aligned and
	 * sparse.  They may depend on the shape, the page count and page size in @layout only. */
	size_t (*exported_bytes)(const struct tw_layout *layout);
	size_t (*private_bytes)(const struct tw_layout *layout);
	/* refuse - why these settings do not go with the protocol, as one sentence; NULL: they do.  [start] */
	const char *(*refuse)(const struct tw_protocol *self, const struct tw_config *config);
	/* init, fini - per process (processors and agent), not in fault context; may allocate.  0 or -errno, logged. */
	int (*init)(struct tw_proc *me);
	void (*fini)(struct tw_proc *me);
	/* read_fault, write_fault - give this processor at least the right that it lacks on @page.  No page lock
	 * held.  [fault] */
	void (*read_fault)(struct tw_proc *me, tw_page_t page);
	void (*write_fault)(struct tw_proc *me, tw_page_t page);
	/* prefetch - read @count pages from @first as read faults would; a hint.  [sync] */
	void (*prefetch)(struct tw_proc *me, tw_page_t first, unsigned count);
	/* freshen - update in place what other processors of the node have mapped and this processor's acquires have
	 * received notices of, except polled pages.  Not needed where acquires do so when tw_proc.fences is not
	 * NULL.  [fault] */
	void (*freshen)(struct tw_proc *me);
	/* hide - make a polled page fault again that this processor can read but not write, if other nodes write its
	 * frame at any time, as at a home.  NULL: there is no such page.  [sync, fault] */
	void (*hide)(struct tw_proc *me, tw_page_t page);
	/* pin - make @count pages from @first writable for this processor and leave them so over acquires and
	 * releases, which keep them coherent in place, until as many unpins.  NULL: the protocol cannot.  Returns 0,
	 * or -ENOTSUP where it cannot do so for a page: then none is pinned.  [sync] */
	int (*pin)(struct tw_proc *me, tw_page_t first, unsigned count);
	void (*unpin)(struct tw_proc *me, tw_page_t first, unsigned count);
	/* release - make this processor's earlier writes visible to every processor that acquires after it: returns
	 * when diffs and notices are performed at their targets.  @object: the handle's id, for protocols with data
	 * per object.  [sync] */
	void (*release)(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
	/* acquire - see all that was released before the matching release.  [sync] */
	void (*acquire)(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
	/* arrive - a release at a barrier in which all processors of the job take part: the last arriving local
	 * writer of a page may do the work for the others.  Where tw_proc.crowd is set, this processor goes on to
	 * store, release and acquire before the barrier's acquire.  Default: release.  [sync] */
	void (*arrive)(struct tw_proc *me, uint64_t object);
	/* stored - the program has stored @bytes at app + @offset since this processor's last release, arrive or
	 * acquire.  Called for each run of such bytes within one page, each byte once, before the hook of the next
	 * one; in programs built by `tweed cc` only, and for the library's own stores.  Where the page is not
	 * writable here nothing was stored: a library function such as qsort announces all that it may store.
	 * Returns whether the page's further runs are wanted; if not, they are forgotten.  Accounted as
	 * write_doubling.  Called under TW_PROTOCOL_NEEDS_STORES alone.  [sync] */
	bool (*stored)(struct tw_proc *me, size_t offset, size_t bytes);
	/* word - one atomic operation is about to be executed on @bytes bytes, at most 16, at app + @offset, within a
	 * page.  @loads: it changes nothing.  @where: the place of the newest copy, the same for all nodes.  The page
	 * stays locked until word_done; in between only that operation is executed.  Without @wait it is called outside
	 * tw_protocol_enter, too, and returns false where it would have to wait or to ask another node.  Called where
	 * processors and transport may both operate on one word (TW_NET_COHERENT_ATOMICS).  NULL: operations take a
	 * lock.  [sync]
	 * word_done - the operation was executed.  @changed: it may have changed these bytes, and was a sequentially
	 * consistent read-modify-write; then the next release announces them as if this processor had stored them.
	 * @now: their value; NULL: at the place of the newest copy, which has an address here.  This node's copy has
	 * their value on return.  The operation may still be under way to another node, and @now what it makes of this
	 * node's copy: then it is performed before this processor's next hook but these (core/coherence/word.c).
	 * [sync] */
	bool (*word)(struct tw_proc *me, size_t offset, size_t bytes, bool loads, bool wait, struct tw_location *where);
	/* word_peek - load an aligned word of 1, 2, 4 or 8 bytes at app + @offset from its newest copy, as word would,
	 * for an atomic load that orders nothing else.  Takes no lock.  false: @value is not to be used, call word.
	 * Called where the transport has direct.  NULL: no such loads.  [sync] */
	bool (*word_peek)(struct tw_proc *me, size_t offset, size_t bytes, void *value);
	void (*word_done)(struct tw_proc *me, size_t offset, size_t bytes, bool changed, const void *now);
	/* broken - another node takes copies of @page, which this node held in exclusive mode as its home: what
	 * tw_notice_break announces there.  Returns whether it has published a word: then the caller flushes before it
	 * unlocks the page.  Page locked; within tw_notice_collect, in any process of the node.  [all contexts] */
	bool (*broken)(struct tw_proc *me, tw_page_t page);
	/* noticed - a write notice was received for @page, which no processor of the node has mapped.  Page locked;
	 * within tw_notice_collect, in any process of the node.  [all contexts] */
	void (*noticed)(struct tw_proc *me, tw_page_t page);
	/* message - a message of type >= TW_MSG_PROTOCOL that is not a reply was received.  [agent; sync for
	 * processors] */
	void (*message)(struct tw_proc *me, const struct tw_msg *msg);
};

/* tw_protocol_find - the protocol of that name, with the parameters behind it ("2L:retention=0,refresh=4") in its
 * values.  Returns NULL when there is none, or it refuses a parameter; tw_protocol_why() then returns the reason as one
 * sentence.  What was found is valid until another text is looked for.  One thread at a time; finding the same text
 * again changes nothing. */
const struct tw_protocol *tw_protocol_find(const char *text);
const char *tw_protocol_why(void);
const struct tw_protocol *const *tw_protocol_list(void);

/* ---- services ------------------------------------------------------------------------------------------------------
 * The context of a service is any of the three unless said otherwise. */

static inline void tw_page_lock(struct tw_proc *me, tw_page_t p)
{
	tw_mutex_lock(&me->page[p].lock);
}
static inline bool tw_page_trylock(struct tw_proc *me, tw_page_t p)
{
	return tw_mutex_trylock(&me->page[p].lock);
}
static inline void tw_page_unlock(struct tw_proc *me, tw_page_t p)
{
	tw_mutex_unlock(&me->page[p].lock);
}
/* Whether any processor of the node had it locked at the call.  Takes no lock. */
static inline bool tw_page_locked(const struct tw_proc *me, tw_page_t p)
{
	return atomic_load_explicit(&me->page[p].lock.word, memory_order_acquire) != 0;
}

/* The node's copy of a page, in the protocol view; and its offset in every node's exported memory. */
static inline size_t tw_frame_offset(const struct tw_proc *me, tw_page_t p)
{
	return me->layout.frames + ((size_t)p << me->layout.page_shift);
}
static inline char *tw_frame(const struct tw_proc *me, tw_page_t p)
{
	return me->view + ((size_t)p << me->layout.page_shift);
}

/* tw_shootdown - take the write right on @count pages from @first from other processors of the node
 * (TWEED_SHOOTDOWN).  @victims: local processors, one bit each, not this one.  A page that a victim has not mapped
 * writable stays as it is there.
 * Context:  fault, sync, agent; jobs of protocols with TW_PROTOCOL_SHOOTDOWN.
 * Locks:    the page locks of all the pages, held by the caller.  Victims need no lock to comply: two processors may
 * shoot at each other, and a victim that waits for one of these locks, or elsewhere, or is stopped, delays no other.
 * Ordering: on return all stores of the victims to these pages are visible in the frames, and later ones trap: a
 * write fault, in which the victim waits for the page lock.  The caller changes the masks before it unlocks the
 * pages.
 * Waits:    for the kernel (protect); else until the victims have reached a poll or a call of Tweed, or a signal
 * handler has run there.
 * Source:   Cashmere-2L, sections 2.6 and 3.3.4. */
void tw_shootdown(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims);

/* tw_revoke - the same for all rights: the victims' next loads trap, too.  In jobs of protocols with
 * TW_PROTOCOL_REVOKES. */
void tw_revoke(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims);

/* tw_shootdown_comply - serve the requests of neighbours to this processor. */
void tw_shootdown_comply(struct tw_proc *me);
static inline bool tw_target_asked(const struct tw_target *t)
{
	return (atomic_load_explicit(&t->asked, memory_order_relaxed) & ~1u) !=
	       atomic_load_explicit(&t->done, memory_order_relaxed);
}
/* tw_shootdown_poll - the same, if there are any; two loads.  [application between two accesses, sync] */
static inline void tw_shootdown_poll(struct tw_proc *me)
{
	if (me->target && tw_target_asked(me->target))
		tw_shootdown_comply(me);
}

/* tw_master_offset - where the master copy of a page is in the home's exported memory: the home's frame, except with
 * TWEED_RACE, when the home's own processors have twins as all others have. */
static inline size_t tw_master_offset(const struct tw_proc *me, tw_page_t p)
{
	return me->layout.masters + ((size_t)p << me->layout.page_shift);
}

/* Write-write data races (TWEED_RACE=ww; doc/guide/races.md).  To be called only when me->config.race is set.
 * tw_race_found - report that this node and @other_node (-1u: not known) wrote @bytes bytes of @page at @offset
 * without a synchronization in between; printed at the processor's next safe point, once for each store and page.
 * tw_race_check - before an incoming diff of @incoming into @page (locked, with a twin): report what both sides
 * wrote.
 * tw_race_lock, tw_race_unlock - around fetch and flush of a dirty page, so that of two nodes the second finds what
 * the first flushed.  One page at a time, with its page lock held; in between nothing waits but for the network.
 * Unlocking flushes.
 * tw_race_wrote - the store of the current fault makes @count pages from @first dirty here; tw_map calls it. */
void tw_race_found(struct tw_proc *me, tw_page_t page, size_t offset, size_t bytes, unsigned other_node);
void tw_race_check(struct tw_proc *me, tw_page_t page, const void *incoming);
void tw_race_lock(struct tw_proc *me, unsigned home, tw_page_t page);
void tw_race_unlock(struct tw_proc *me, unsigned home, tw_page_t page);
void tw_race_wrote(struct tw_proc *me, tw_page_t first, unsigned count);

/* tw_map - change this processor's rights on @count pages, which all have @from.  Does not touch masks. */
static inline void tw_map(struct tw_proc *me, tw_page_t first, unsigned count, enum tw_rights from, enum tw_rights to)
{
	tw_shootdown_poll(me); /* requests made before the pages were unlocked must be served before this */
	if (me->config.race && to == TW_WRITE)
		tw_race_wrote(me, first, count);
	tw_charge(TW_COST_protect, 1);
	me->fault.ops->set(&me->fault, (size_t)first << me->layout.page_shift, (size_t)count << me->layout.page_shift,
	                   from, to);
}

/* Events for the trace (driver/trace.h); without TWEED_TRACE a branch each.
 * tw_trace - an event of this processor or agent.  tw_trace_page - an event that has only a page.
 * tw_trace_bytes - @kind doubled, diff_out or diff_update: @bytes bytes of @page from @offset go to its home @node.
 * tw_trace_diff - before @frame (page locked) is compared or merged with @twin: the bytes in which they differ,
 * likewise. */
void tw_trace_record(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, uint32_t page, uint64_t a, uint64_t b);
void tw_trace_bytes(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, tw_page_t page, size_t offset,
                    size_t bytes);
void tw_trace_diff(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, tw_page_t page, const void *frame,
                   const void *twin);
static inline void tw_trace(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, uint32_t page, uint64_t a,
                            uint64_t b)
{
	if (__builtin_expect(me->trace != NULL, 0))
		tw_trace_record(me, kind, node, page, a, b);
}
static inline void tw_trace_page(struct tw_proc *me, enum tw_trace_kind kind, tw_page_t page)
{
	tw_trace(me, kind, TW_TRACE_NONE, page, 0, 0);
}

/* tw_word_merge - for the hooks word and word_done, @bytes bytes, at most 16: where @now differs from @twin, store it
 * to @to and to the twin.  Page locked; waits for the transport where @to has no address.  Returns whether they
 * differ. */
bool tw_word_merge(struct tw_proc *me, struct tw_location to, const char *now, char *twin, size_t bytes);

/* tw_tick - advance the node's logical clock; returns the new time, unique on the node. */
static inline uint64_t tw_tick(struct tw_proc *me)
{
	return atomic_fetch_add(&me->n->clock, 1) + 1;
}

/* Twins.  tw_twin_create - give @p (locked, without twin) a twin slot with undefined contents.  Returns it.  Never
 * fails: there is a slot for every page.
 * tw_twins_scarce - is more than TWEED_TWINS in use, so that a processor should flush early? */
char *tw_twin_create(struct tw_proc *me, tw_page_t p);
void tw_twin_destroy(struct tw_proc *me, tw_page_t p);
static inline char *tw_twin(const struct tw_proc *me, tw_page_t p)
{
	return me->twin_mem + ((size_t)(me->page[p].twin - 1) << me->layout.page_shift);
}
bool tw_twins_scarce(const struct tw_proc *me);

/* First-level directory: one word per node, written by that node alone, replicated everywhere (section 2.3). */
#define TW_DIR_RIGHTS       3ull /* bits 0-1: loosest rights on the node: enum tw_rights */
#define TW_DIR_EXCLUSIVE    4ull /* bit 2: the node holds the page in exclusive mode */
#define TW_DIR_DIFF         8ull /* bit 3: the node is sending a diff (homes that migrate) */
#define TW_DIR_HOME_SHIFT   8    /* bits 8-23: home node + 1 as this node knows it */
#define TW_DIR_HOLDER_SHIFT 24   /* bits 24-39: processor that took exclusive mode + 1 */
static inline size_t tw_dir_offset(const struct tw_proc *me, tw_page_t p, unsigned node)
{
	return me->layout.directory + ((size_t)p * me->layout.nodes + node) * sizeof(uint64_t);
}
/* tw_dir_word - node's word in the local replica. */
static inline uint64_t tw_dir_word(const struct tw_proc *me, tw_page_t p, unsigned node)
{
	return atomic_load_explicit((_Atomic uint64_t *)(void *)(me->net->base + tw_dir_offset(me, p, node)),
	                            memory_order_acquire);
}
/* tw_dir_publish - write this node's word everywhere; visible everywhere after tw_net_flush(TW_NET_ALL).  Page
 * locked. */
void tw_dir_publish(struct tw_proc *me, tw_page_t p, uint64_t word);

/* tw_home_get - the home node of @p, or -1 when the page is untouched.  tw_home_claim - the same, but an untouched
 * page gets a home by the configured policy, with this node as the first to touch.  Page locked. */
int tw_home_get(struct tw_proc *me, tw_page_t p);
unsigned tw_home_claim(struct tw_proc *me, tw_page_t p);
/* tw_home_learn - have tw_home_get know the homes of these pages without asking for each; where homes do not move, and
 * but for those that a neighbour has locked.  No page lock held. */
void tw_home_learn(struct tw_proc *me, const tw_page_t *page, unsigned count);
/* tw_home_touched - which of the @n pages from @p have a home, by first touch or tw_home_set?  One read from each node;
 * each answer is of some moment during the call.  @room: private memory for @n words.  Takes no locks; it waits for the
 * network, so not in fault context. */
void tw_home_touched(struct tw_proc *me, tw_page_t p, unsigned n, uint64_t *room, bool *touched);
/* tw_home_propose - make @node the home of @p's superpage, unless it has one.  Page locked.  Returns whether it was
 * done. */
bool tw_home_propose(struct tw_proc *me, tw_page_t p, unsigned node);
/* tw_home_propose_all - the same for all pages from @first to @last, many at a time; @flow is settled before and after.
 * Takes their locks.  Returns whether it was done for all.  Waits for the network: not in fault context. */
bool tw_home_propose_all(struct tw_proc *me, tw_page_t first, tw_page_t last, unsigned node, struct tw_net_flow *flow);

/* Homes after initialization (TWEED_HOME=after-init, section 2.3): pages that processor 0 touches before the first
 * tw_barrier_all have its node as a tentative home, until another node touches them.
 * tw_home_tentative - the other node that is @p's tentative home, or -1.  To be called before tw_home_claim, while
 * no page lock is held that its agent's settling could wait for.
 * tw_home_settle - make @to the home of the superpage of @p (locked), whose tentative home is @from.  Returns
 * whether it still was. */
int tw_home_tentative(struct tw_proc *me, tw_page_t p);
bool tw_home_settle(struct tw_proc *me, tw_page_t p, unsigned from, unsigned to);

/* Homes that migrate (TW_PROTOCOL_HOMES_MOVE, superpages of one page).  Page locked.
 * tw_home_refresh - read @p's home anew from its keeper.  Returns whether a migration is in progress.
 * tw_home_move_begin - begin a migration, unless the home is no longer the one last read, or a migration is in
 * progress.  Returns whether it began.
 * tw_home_move_end - end the migration that this processor began: @to is the home; performed on return. */
bool tw_home_refresh(struct tw_proc *me, tw_page_t p);
bool tw_home_move_begin(struct tw_proc *me, tw_page_t p);
void tw_home_move_end(struct tw_proc *me, tw_page_t p, unsigned to);

/* Write notices (section 2.3, figure 2).
 * tw_notice_send - append to this node's queue at @node; performed after tw_notice_flush.  Waits while the queue is
 * full: the receiver's agent empties it.  No page lock held.
 * tw_notice_collect - distribute what has arrived at this node: stamps ts_notice and adds to the notice sets of
 * processors with a mapping.  Complete: what was in the queues at the call is distributed at return.  No page lock
 * held. */
void tw_notice_send(struct tw_proc *me, unsigned node, tw_page_t p);
void tw_notice_flush(struct tw_proc *me);
/* tw_notice_break - append that this node takes copies of @p, held exclusively by @node; otherwise as
 * tw_notice_send. */
void tw_notice_break(struct tw_proc *me, unsigned node, tw_page_t p);
/* tw_notice_room - may this processor append @count notices to its queue at @node without a wait and without others of
 * its node that append?  Page locks may be held, as for the next.
 * tw_notice_follow - append what was added for @node, at most so many; not flushed, but performed before what this
 * processor reads at @node next. */
bool tw_notice_room(const struct tw_proc *me, unsigned node, uint32_t count);
void tw_notice_follow(struct tw_proc *me, unsigned node);
void tw_notice_collect(struct tw_proc *me);
/* tw_notices_of - the set (tw_proc.notices) of processor @local of this node, to be read. */
struct tw_pageset *tw_notices_of(struct tw_proc *me, unsigned local);

/* tw_dirty_drain - for a release: take all pages out of tw_proc.dirty, pass them to @run, as tw_pageset_drain does, and
 * call @perform, on whose return all that @run began is performed.  @perform may be NULL, where that is so when @run
 * returns.  In a program that fences, polled pages come after all others, one by one, each with its own call of
 * @perform.  The page stored to last comes at the end: it may be going to be polled.  [fault, sync] */
void tw_dirty_drain(struct tw_proc *me, void (*run)(void *ctx, tw_page_t first, unsigned count),
                    void (*perform)(void *ctx), void *ctx);

enum tw_msg_type {
	TW_MSG_REPLY = 1,     /* to a processor: token returned */
	TW_MSG_COLLECT,       /* to an agent: run tw_notice_collect */
	TW_MSG_WIDE,          /* to an agent: an atomic on 16 bytes of a segment (core/memory/wide.h) */
	TW_MSG_LOCK_RELEASE,  /* to an agent: release a lock, if its node holds it (sync/lock.c) */
	TW_MSG_RELEASES,      /* to an agent: reply when all that its node has released is performed (lazy.h) */
	TW_MSG_PROTOCOL = 64, /* first type of the protocols' own */
};
/* tw_send - send @msg to @port of @node, as tw_net_send; it is traced.
 * tw_call - send @msg to the agent of @node and wait for the reply with its token; *msg becomes the reply.  No page
 * lock held.  [fault, sync] */
void tw_send(struct tw_proc *me, unsigned node, unsigned port, struct tw_msg *msg);
void tw_call(struct tw_proc *me, unsigned node, struct tw_msg *msg);
/* tw_reply - answer @request with @reply.  [agent] */
void tw_reply(struct tw_proc *me, const struct tw_msg *request, struct tw_msg *reply);

/* tw_planted - true when the build has planted bugs and TWEED_PLANT names this one. */
#ifdef TW_PLANT
#include <string.h>
#define tw_planted(me, name) (strcmp((me)->config.plant, name) == 0)
#else
#define tw_planted(me, name) false
#endif

#endif
