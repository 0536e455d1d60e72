/* SPDX-License-Identifier: BSD-3-Clause */
/* timestamp.h - TS: state and functions that its files share.  README.md has the argument and the state table.
 *
 * A file calls only files of lines above its own:
 *
 *   section.c signature.c exclusive.c  a page's critical section; the node's notices and clock; exclusive mode
 *   page.c                             the node's copy of a page
 *   lease.c commit.c word.c            a processor's readable pages; releases of a page; atomic operations
 *   fault.c sync.c                     hooks of faults, pins; hooks of synchronization
 *   timestamp.c                        memory, the table */
#ifndef TW_PROTOCOLS_TIMESTAMP_H
#define TW_PROTOCOLS_TIMESTAMP_H

#include "tweed/driver/protocol.h"

#define TS_SIGNATURE_MAX     4096u
#define TS_SIGNATURE_WAIT_NS 20000u
#define TS_TOGETHER          32u    /* pages, at most, whose fetches share round trips */
#define TS_OBJECTS           65536u /* words of synchronization objects per node; objects may share one */

/* The parameters: timestamp.c. */
struct ts_parameters {
	uint64_t signature; /* write notices that a node remembers, at most TS_SIGNATURE_MAX */
	uint64_t lease;     /* logical time for which a copy is granted */
	uint64_t doublings; /* most doublings of the lease of a page that does not change; 0: none */
	uint64_t retention; /* most releases that leave a rewritten page writable without a change found */
	uint64_t refresh;   /* most updates in place of a page by acquires before one unmaps it */
};

/* A write notice: version @wts of the page, of which copies are granted until @rts, is at @from: in that node's public
 * copy, or, with TS_SHARED_COPY, in its shared copy. */
#define TS_SHARED_COPY 0x8000u
struct ts_notice {
	uint32_t page, from;
	uint64_t wts, rts;
};

/* A node's signature, in exported memory; written under ts_node.lock, read anywhere under @seq (odd: being written). */
struct ts_signature {
	_Alignas(64) _Atomic uint64_t seq;
	_Atomic uint64_t count;
	_Atomic uint64_t min_wr_ts; /* writes up to this time may lack a notice here */
	_Atomic uint64_t wanted;    /* another node has not found it unchanged long enough to read it */
	_Alignas(64) struct ts_notice notice[TS_SIGNATURE_MAX];
};

/* Pages form groups.  For each, a node counts in exported memory how often others have ended exclusive mode here. */
#define TS_GROUPS 256u
static inline unsigned ts_group(tw_page_t p)
{
	return p / 64 % TS_GROUPS;
}

/* Of each page and node, in exported memory.  All words but @link belong to the processor in the critical section, and
 * are valid at the node where the chain of links ends. */
struct ts_meta {
	_Atomic uint64_t link;  /* section.c */
	_Atomic uint64_t hand;  /* 1: the section was handed over to this node */
	_Atomic uint64_t stamp; /* ts_stamp: the newest version, and until when copies of it are granted */
	/* node that has it + 1, TS_EXCLUSIVE, TS_BUSY, TS_SHARED; 0: none, zeros at the first home */
	_Atomic uint64_t home;
	_Atomic uint64_t read;    /* another node has read this node's copy since its last commit: a hint */
	_Atomic uint64_t entered; /* nodes that operate on the shared copy of the page here: word.c */
};

/* At its home alone: no other node has a copy of this version, and the home's processors write on without commits
 * (exclusive.c).  Busy: another node is ending that. */
#define TS_EXCLUSIVE ((uint64_t)1 << 32)
#define TS_BUSY      ((uint64_t)1 << 33)
#define TS_ALONE     (TS_EXCLUSIVE | TS_BUSY)
/* Its shared copy is the newest version, to which all nodes commit (word.c). */
#define TS_SHARED ((uint64_t)1 << 34)

/* The newest version of a page, as its section says. */
struct ts_newest {
	uint64_t wts, rts;
	unsigned end;  /* node whose ts_meta says so */
	unsigned home; /* node that has it, */
	bool shared;   /* in its shared copy */
	bool ended;    /* its exclusive mode has just been ended: the scratch page has that version */
};

/* Of each page, in the node's private memory; guarded by the page lock unless said otherwise. */
struct ts_page {
	_Alignas(64) uint64_t wts; /* the copy has every commit up to this version, at least */
	_Atomic uint64_t rts;      /* and no commit lies in (wts, rts]; only grows */
	uint64_t need;             /* a processor here must see commits up to this time */
	uint64_t need_rts;         /* of the notice that says so */
	uint16_t need_from;        /* ts_notice.from of it + 1; 0: ask the home */
	uint16_t notice;           /* slot of the page's notice in the signature + 1; of ts_node.lock */
	uint8_t copy;              /* there is a copy */
	uint8_t twin;              /* the public copy is the frame's twin */
	uint8_t lease;             /* how often its lease was doubled */
	uint8_t retention;         /* releases that may still leave it writable though they find no change */
	uint8_t quiet;             /* commits in a row without a sign of another node's request in between */
	uint8_t patience;          /* more of them than this lead to exclusive mode */
	uint8_t unmapped;          /* since the last fault */
	uint8_t credits;           /* updates in place by acquires before one unmaps: granted at the last fault */
	uint8_t left;              /* of these, not yet used */
	uint8_t alone : 1;         /* the last commit entered exclusive mode */
	uint8_t silent : 1;        /* no commit found a change since the last write fault */
	uint8_t operated;          /* commits and notices without an operation until this node leaves (word.c) */
	uint8_t announce;          /* there are operations by this node that no version of it has announced */
	_Atomic uint32_t busy;     /* local processor in, or entering, the critical section + 1; lock-free */
	_Atomic uint32_t shared;   /* how often this node left << 16 | node of the shared copy it operates on + 1 */
	_Atomic uint64_t waiters;  /* local processors that wait for @busy, one bit each; lock-free */
};
_Static_assert(sizeof(struct ts_page) == 64, "a cache line");

struct ts_node {
	_Alignas(64) struct tw_mutex lock; /* the signature; taken last, after a page lock */
	unsigned look_at;                  /* before this slot, no notice is as old as look_for */
	uint64_t look_for;
	_Alignas(64) _Atomic uint64_t clock; /* the latest time stamp known here */
	_Atomic uint64_t arrived;            /* arrivals at barriers of all, of the node's processors */
};

/* Readable pages of this processor by the time their copies end: a binary heap.  A page is in it at most once; keys
 * may be too early, never too late. */
struct ts_lease {
	uint64_t rts;
	tw_page_t page;
};

/* Detector of sequential read faults. */
struct ts_stream {
	tw_page_t next; /* the page after the last window */
	unsigned run;   /* pages of the current run */
	unsigned last;  /* of the run before it */
	unsigned same;  /* runs in a row with that length */
};

/* A signature that this processor has read, and the values of its ts_signature.seq then. */
#define TS_KNOWN   16u
#define TS_NOTHING UINT64_MAX
struct ts_known {
	uint64_t acquired; /* all notices up to this were acted on; or TS_NOTHING */
	uint64_t merged;   /* and up to this they are in the own signature */
	unsigned node;     /* + 1 */
};

/* This processor's last release of an object: the word then, and the node's signature, which has nothing new while
 * @seq is the same. */
struct ts_released {
	uint64_t object, word, seq;
};

enum ts_listed { TS_LEASED = 1, TS_LISTED_ALONE = 2 };

/* State of a process: tw_proc.proto. */
struct ts {
	struct ts_node *node;
	struct ts_page *page;
	struct ts_signature *own;  /* this node's */
	struct ts_signature *seen; /* private: the one that an acquire reads */
	char *scratch;             /* one page */
	uint64_t released;      /* time when the release at work began: its commits are of one time, if leases permit */
	bool demanded;          /* the processor stores while that release runs */
	struct ts_lease *lease; /* [pages] */
	size_t leases;
	/* Pages written here in exclusive mode, as yet, which are in no dirty set: lists, linked by page + 1. */
	tw_page_t alone[TS_GROUPS], *alone_next;
	uint64_t ended[TS_GROUPS]; /* the group's count of ends at the last look at that list */
	uint8_t *listed;           /* [pages]: in which of the two it is: enum ts_listed */
	struct ts_stream reads;
	struct ts_known known[TS_KNOWN]; /* by node, modulo */
	struct ts_released last;
	uint16_t *pins; /* [pages]: pins of this processor, less unpins */
};

static inline struct ts *ts_of(struct tw_proc *me)
{
	return me->proto;
}
static inline const struct ts_parameters *ts_parameters(const struct tw_proc *me)
{
	return me->protocol->values;
}
static inline struct ts_page *ts_page(struct tw_proc *me, tw_page_t p)
{
	return &ts_of(me)->page[p];
}
static inline uint64_t ts_bit(const struct tw_proc *me)
{
	return (uint64_t)1 << me->local;
}

/* The node of the shared copy that this node operates on; -1: it has not entered one. */
static inline int ts_entered(const struct ts_page *x)
{
	return (int)(atomic_load(&x->shared) & 0xffff) - 1;
}

/* Exported memory: the signature, words of objects, counts of groups, ts_meta, the public and the shared copy of each
 * page. */
#define TS_OBJECTS_AT TW_ALIGN_UP(sizeof(struct ts_signature), 4096)
#define TS_ENDED_AT   (TS_OBJECTS_AT + TS_OBJECTS * sizeof(uint64_t))
#define TS_META_AT    (TS_ENDED_AT + TS_GROUPS * sizeof(uint64_t))
static inline size_t ts_public_at(const struct tw_layout *l)
{
	return TW_ALIGN_UP(TS_META_AT + l->pages * sizeof(struct ts_meta), 4096);
}
static inline size_t ts_object_offset(const struct tw_proc *me, uint64_t object)
{
	return me->layout.protocol + TS_OBJECTS_AT + (object >> 28) % TS_OBJECTS * sizeof(uint64_t);
}
static inline size_t ts_ended_offset(const struct tw_proc *me, unsigned group)
{
	return me->layout.protocol + TS_ENDED_AT + group * sizeof(uint64_t);
}
static inline size_t ts_meta_offset(const struct tw_proc *me, tw_page_t p)
{
	return me->layout.protocol + TS_META_AT + p * sizeof(struct ts_meta);
}
static inline size_t ts_public_offset(const struct tw_proc *me, tw_page_t p)
{
	return me->layout.protocol + ts_public_at(&me->layout) + ((size_t)p << me->layout.page_shift);
}
static inline size_t ts_shared_offset(const struct tw_proc *me, tw_page_t p)
{
	return ts_public_offset(me, p) + (me->layout.pages << me->layout.page_shift);
}
/* Where a node has a version of @p for others: in its public copy, or in its shared one. */
static inline size_t ts_copy_offset(const struct tw_proc *me, tw_page_t p, bool shared)
{
	return shared ? ts_shared_offset(me, p) : ts_public_offset(me, p);
}
/* The node that @home, a word of ts_meta, names. */
static inline unsigned ts_home_node(const struct tw_proc *me, tw_page_t p, uint64_t home)
{
	return (home ? (unsigned)(uint32_t)home : me->page[p].home) - 1u;
}
static inline struct ts_meta *ts_meta(struct tw_proc *me, tw_page_t p)
{
	return (struct ts_meta *)(void *)(me->net->base + ts_meta_offset(me, p));
}
static inline char *ts_public(struct tw_proc *me, tw_page_t p)
{
	return me->net->base + ts_public_offset(me, p);
}

/* A version and its lease in one word, so that both are read at once: write time << 24 | read time - write time. */
#define TS_LEASE_BITS 24
static inline uint64_t ts_stamp(uint64_t wts, uint64_t rts)
{
	return wts << TS_LEASE_BITS | (rts - wts);
}
static inline uint64_t ts_stamp_wts(uint64_t stamp)
{
	return stamp >> TS_LEASE_BITS;
}
static inline uint64_t ts_stamp_rts(uint64_t stamp)
{
	return (stamp >> TS_LEASE_BITS) + (stamp & (((uint64_t)1 << TS_LEASE_BITS) - 1));
}

/* The right that this processor's mapping of @p (locked) has. */
static inline enum tw_rights ts_rights(const struct tw_proc *me, tw_page_t p)
{
	const struct tw_page *e = &me->page[p];
	return !(e->mapped & ts_bit(me)) ? TW_NONE : e->writers & ts_bit(me) ? TW_WRITE : TW_READ;
}

/* May @p be taken along, updated in place, taken into exclusive mode, or left writable by a release?  A polled page may
 * not. */
static inline bool ts_ordinary(const struct tw_proc *me, tw_page_t p)
{
	return !tw_polled(me, p);
}

/* ---- section.c ------------------------------------------------------------------------------------------------- */

/* ts_section_enter - take the critical section of @p, whose first home is known here.  Returns the node whose ts_meta
 * is the page's.  No page lock and no other section held.  [fault, sync]
 * ts_section_leave - release it; this node's ts_meta is the page's from then on.
 * ts_section_try - take it if the chain ends here and it is free.  Returns whether.
 * ts_section_ends - does the chain end here, and is the section free?
 * ts_section_next - the node after @node in the chain, by @link, the node's; @node itself: none.  [all contexts] */
unsigned ts_section_enter(struct tw_proc *me, tw_page_t p);
bool ts_section_try(struct tw_proc *me, tw_page_t p);
bool ts_section_ends(struct tw_proc *me, tw_page_t p);
unsigned ts_section_next(const struct tw_proc *me, tw_page_t p, unsigned node, uint64_t link);
void ts_section_leave(struct tw_proc *me, tw_page_t p);

/* ---- signature.c ----------------------------------------------------------------------------------------------- */

/* ts_clock_raise - this node knows of time @t.
 * ts_notice_add - put @n into this node's signature.
 * ts_signature_seq - @node's sequence number now: as before only if nothing has changed.
 * ts_signature_read - read @node's signature, whole, into ts.seen.  No page lock held.
 * ts_signature_merge - merge ts.seen into this node's; without @notices only its min_wr_ts, which is wrong (a planted
 * bug). */
void ts_clock_raise(struct tw_proc *me, uint64_t t);
void ts_notice_add(struct tw_proc *me, const struct ts_notice *n);
uint64_t ts_signature_seq(struct tw_proc *me, unsigned node);
void ts_signature_read(struct tw_proc *me, unsigned node);
void ts_signature_merge(struct tw_proc *me, bool notices);

/* ---- exclusive.c ----------------------------------------------------------------------------------------------- */

/* ts_alone_add - @p (locked) stays writable, and in no dirty set, until exclusive mode ends.
 * ts_alone_look - before a release: pages whose exclusive mode was ended are dirty.
 * ts_break - end exclusive mode at @home.  The scratch page has the version then.  In the section; no page lock
 * held. */
void ts_alone_add(struct tw_proc *me, tw_page_t p);
void ts_alone_look(struct tw_proc *me);
void ts_break(struct tw_proc *me, tw_page_t p, unsigned home);

/* ---- page.c ---------------------------------------------------------------------------------------------------- */

/* ts_race - a tw_run_fn that reports a race; @ctx: struct ts_race, the merge.
 * ts_newest_read - the newest version by the section, whose state is at @end; ends exclusive mode elsewhere.  In the
 * section.
 * ts_held - is that version held here?  Page locked.
 * ts_has - the copy of @p (locked) has version @wts, which is the newest up to @rts.
 * ts_read - read the newest version where it is (ts_newest, or the shared copy that this node has entered) into the
 * copy of @p (locked), around what local processors write.
 * ts_publish - publish that @wts, with copies granted until @rts, is the newest version, and that @home (with
 * TS_EXCLUSIVE, TS_SHARED or neither) has it.  In the section, page locked.
 * ts_publish_again - publish what ts_newest_read has found, without a change.  In the section, page locked.
 * ts_twin - make the public copy the twin of the frame of @p (locked, valid).
 * ts_unmap - remove this processor's mapping of @p (locked); writes not yet committed stay in the frame.
 * ts_updates - shall the copy of @p (locked), which has become stale, be updated in place?  Takes a credit for it.
 * ts_valid_cheaply - is the copy of @p (locked) valid, or was it made so without the section?
 * ts_fetch_noticed - bring the copies of @count pages, at most TS_TOGETHER, up to their notices by round trips that
 * they share.  Pages that are polled, that processors here write to, or whose newest version needs the section are left
 * as they are.  No page lock held.
 * ts_lock_valid - lock @p with a valid copy.  No page lock held.
 * ts_refresh - bring the copy up to what this node knows of, in place.  No page lock held.
 * ts_renew - grant this node's copy more time, if it is the newest and this takes no other node.  No page lock
 * held. */
struct ts_race {
	struct tw_proc *me;
	tw_page_t page;
	unsigned other; /* the last other node that wrote the page */
};
void ts_race(void *ctx, size_t offset, const void *bytes, size_t len);
void ts_newest_read(struct tw_proc *me, tw_page_t p, unsigned end, struct ts_newest *n);
bool ts_held(struct tw_proc *me, tw_page_t p, const struct ts_newest *n);
void ts_has(struct tw_proc *me, tw_page_t p, uint64_t wts, uint64_t rts);
void ts_read(struct tw_proc *me, tw_page_t p, unsigned node, bool shared);
void ts_publish(struct tw_proc *me, tw_page_t p, uint64_t wts, uint64_t rts, uint64_t home);
void ts_publish_again(struct tw_proc *me, tw_page_t p, const struct ts_newest *n);
void ts_twin(struct tw_proc *me, tw_page_t p);
void ts_unmap(struct tw_proc *me, tw_page_t p);
bool ts_updates(struct tw_proc *me, tw_page_t p);
bool ts_valid_cheaply(struct tw_proc *me, tw_page_t p);
void ts_fetch_noticed(struct tw_proc *me, const tw_page_t *page, unsigned count);
void ts_lock_valid(struct tw_proc *me, tw_page_t p);
void ts_refresh(struct tw_proc *me, tw_page_t p);
void ts_renew(struct tw_proc *me, tw_page_t p);

/* ---- lease.c, commit.c ----------------------------------------------------------------------------------------- */

/* ts_lease_add - @p (locked) was mapped: it is to be found by its read time.
 * ts_lease_expire - renew, update or unmap the pages whose copies may end before @before.  No page lock held.
 * ts_commit - a release of @p: merge what this node changed into the newest version; this node is its home, or
 * changes the shared copy.
 * ts_announce - the same for atomic operations, which have changed that.  No page lock held. */
void ts_lease_add(struct tw_proc *me, tw_page_t p);
void ts_lease_expire(struct tw_proc *me, uint64_t before);
void ts_commit(struct tw_proc *me, tw_page_t p);
void ts_announce(struct tw_proc *me, tw_page_t p);

/* ---- word.c ---------------------------------------------------------------------------------------------------- */

/* ts_shared_stays - is @n in a shared copy, and does a node still operate on it?  In the section, at a commit by this
 * node; page locked.
 * ts_shared_unused - a notice has come, or a commit, and no operation since: this node leaves the shared copy of @p
 * (locked) after some of these in a row. */
bool ts_shared_stays(struct tw_proc *me, tw_page_t p, const struct ts_newest *n);
void ts_shared_unused(struct tw_proc *me, tw_page_t p);

/* ---- hooks (struct tw_protocol) -------------------------------------------------------------------------------- */

void ts_read_fault(struct tw_proc *me, tw_page_t p);
void ts_write_fault(struct tw_proc *me, tw_page_t p);
void ts_prefetch(struct tw_proc *me, tw_page_t first, unsigned count);
int ts_pin(struct tw_proc *me, tw_page_t first, unsigned count);
void ts_unpin(struct tw_proc *me, tw_page_t first, unsigned count);
void ts_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void ts_arrive(struct tw_proc *me, uint64_t object);
void ts_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
bool ts_word(struct tw_proc *me, size_t offset, size_t bytes, bool loads, bool wait, struct tw_location *where);
bool ts_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value);
void ts_word_done(struct tw_proc *me, size_t offset, size_t bytes, bool changed, const void *now);

#endif
