/* SPDX-License-Identifier: BSD-3-Clause */
/* sequential.h - SC, sequential consistency by pages: state and functions that its files share.  README.md has the
 * state table.
 *
 * A file calls only files of lines above its own:
 *
 *   relaxed.c      copies of pages that another node has pinned
 *   directory.c    a page's directory entry, at its home
 *   withdraw.c     the agent takes rights from its node
 *   obtain.c       a node gets a right
 *   word.c         atomic operations on words
 *   fault.c        hooks of faults, pins
 *   sequential.c   hooks of synchronization, the protocol's table */
#ifndef TW_PROTOCOLS_SEQUENTIAL_H
#define TW_PROTOCOLS_SEQUENTIAL_H

#include "tweed/driver/protocol.h"

/* tw_page.state: what the node has of a page.  Changed with the page locked, in the order of the directory's lock.
 * Beside it: tw_page.extra counts the pins of the node's processors, ts_notice is the time of the last grant in
 * nanoseconds, ts_update the node time when a relaxed copy was fetched. */
enum seq_state {
	SEQ_INVALID,
	SEQ_SHARED,    /* a copy; no node may store */
	SEQ_EXCLUSIVE, /* the only copy */
	SEQ_RELAXED,   /* a copy of a page that another node has pinned: relaxed.c */
};

/* A page's entry in the directory, in the home's exported memory.  It is used by the processor that holds the lock. */
struct seq_entry {
	uint64_t lock;  /* processor + 1; 0: free */
	uint64_t owner; /* node + 1 whose frame is the newest copy, and SEQ_WRITING, SEQ_PINNED; 0: untouched */
	uint64_t copies[TW_MAX_NODES / 64]; /* nodes that have any right */
};
#define SEQ_ENTRY_BYTES 64u
#define SEQ_WRITING     ((uint64_t)1 << 16) /* the owner is SEQ_EXCLUSIVE */
#define SEQ_PINNED      ((uint64_t)1 << 17) /* and keeps the page, which is homed there */

/* To agents. */
enum {
	/* word[0]: a page; word[1]: the right that is left, TW_READ or TW_NONE.  Reply: word[0] nanoseconds after which
	 * the request is to be made again; 0: done. */
	SEQ_MSG_WITHDRAW = TW_MSG_PROTOCOL,
};

struct seq_parameters {
	uint64_t hold; /* microseconds for which a node keeps a page that it got */
};

/* State of a processor, or of an agent: tw_proc.proto. */
struct seq {
	uint64_t dropped; /* node time when it last dropped its relaxed copies: older ones are stale */
	char *scratch;    /* one page: an incoming page before the incoming diff */
};

static inline struct seq *seq_of(const struct tw_proc *me)
{
	return me->proto;
}

static inline uint64_t seq_bit(const struct tw_proc *me)
{
	return (uint64_t)1 << me->local;
}

/* The right of this processor's mapping.  Page locked. */
static inline enum tw_rights seq_rights(const struct tw_proc *me, const struct tw_page *e)
{
	if (!(e->mapped & seq_bit(me)))
		return TW_NONE;
	return e->writers & seq_bit(me) ? TW_WRITE : TW_READ;
}

/* Does the node's state suffice?  Of a relaxed copy it suffices for anything. */
static inline bool seq_has(const struct tw_page *e, enum tw_rights want)
{
	uint32_t state = __atomic_load_n(&e->state, __ATOMIC_RELAXED);

	return state >= SEQ_EXCLUSIVE || (state == SEQ_SHARED && want == TW_READ);
}

/* ---- relaxed.c; page locked, SEQ_RELAXED, unless said otherwise ---- */

/* Give this processor the right. */
void seq_relaxed_map(struct tw_proc *me, tw_page_t p, enum tw_rights want);
/* Send home what the node's processors stored; performed on return. */
void seq_relaxed_flush(struct tw_proc *me, tw_page_t p);
/* The node has no copy from now on.  [agent] */
void seq_relaxed_end(struct tw_proc *me, tw_page_t p);
/* Send home what all processors of the node stored to such pages.  No page locked.  [agent] */
void seq_relaxed_flush_all(struct tw_proc *me);
/* The same for this processor's stores; and drop what it has mapped.  No page locked. */
void seq_relaxed_release(struct tw_proc *me);
void seq_relaxed_acquire(struct tw_proc *me);

/* ---- directory.c; no page locked ---- */

/* The home of the page: this node's, if it is untouched. */
unsigned seq_home(struct tw_proc *me, tw_page_t p);
/* Lock the page's entry and read it.  Returns false, and has not locked it, if the node got the right @want meanwhile;
 * TW_NONE: lock it in any case. */
bool seq_entry_lock(struct tw_proc *me, unsigned home, tw_page_t p, enum tw_rights want, struct seq_entry *entry);
/* Write the entry and unlock it. */
void seq_entry_unlock(struct tw_proc *me, unsigned home, tw_page_t p, const struct seq_entry *entry);

/* ---- withdraw.c ---- */

/* Let @node keep the right @left at most.  The entry is locked, no page is. */
void seq_withdraw(struct tw_proc *me, unsigned node, tw_page_t p, enum tw_rights left);
/* The hook message.  [agent] */
void seq_message(struct tw_proc *me, const struct tw_msg *msg);

/* ---- obtain.c ---- */

/* Give the node a copy or, for @want TW_WRITE, the only one.  @pin: 1: the node, which is the home, keeps it; -1: the
 * reverse; 0.  No page locked.  [fault, sync] */
void seq_obtain(struct tw_proc *me, tw_page_t p, enum tw_rights want, int pin);
/* Lock the page, in a state that suffices. */
void seq_lock(struct tw_proc *me, tw_page_t p, enum tw_rights want);

/* ---- hooks ---- */

bool seq_word(struct tw_proc *me, size_t offset, size_t bytes, bool loads, bool wait, struct tw_location *where);
bool seq_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value);
void seq_word_done(struct tw_proc *me, size_t offset, size_t bytes, bool changed, const void *now);
void seq_read_fault(struct tw_proc *me, tw_page_t p);
void seq_write_fault(struct tw_proc *me, tw_page_t p);
int seq_pin(struct tw_proc *me, tw_page_t first, unsigned count);
void seq_unpin(struct tw_proc *me, tw_page_t first, unsigned count);

#endif
