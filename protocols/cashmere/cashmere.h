/* SPDX-License-Identifier: BSD-3-Clause */
/* cashmere.h - Cashmere-2L: what its files share.  README.md beside it has the state table. */
#ifndef TW_PROTOCOLS_CASHMERE_H
#define TW_PROTOCOLS_CASHMERE_H

#include "tweed/driver/protocol.h"

/* tw_page.state */
#define CASH_EXCLUSIVE 1u /* this node holds the page in exclusive mode, confirmed */

/* Messages to agents. */
enum {
	CASH_MSG_BREAK = TW_MSG_PROTOCOL, /* word[0] first page, word[1] count: end exclusive mode; replied when done */
	CASH_MSG_SETTLE, /* word[0] page, of whose superpage the agent's node is the tentative home, word[1] 1:
	                                     the sender becomes its home if nobody else holds a page of it; replied */
};

/* Most pages that one operation locks at a time. */
#define CASH_CHUNK      64u
#define CASH_WINDOW_MAX 256u

/* Detector of sequential faults: see fault.c. */
struct cash_stream {
	tw_page_t next; /* the page after the last window */
	unsigned run;   /* pages of the run at work, windows included */
	unsigned last;  /* of the run before it */
	unsigned same;  /* how many runs in a row had that length */
};

struct cash {
	struct cash_stream reads, writes;
	char *scratch; /* one page: an incoming page on its way to an incoming diff */
	uint32_t told_at
	    [CASH_WINDOW_MAX]; /* of each page of the window at work: cash_extra.withdrawn when its home was told */
};

/* The protocol's part of a page's entry, in tw_page.extra.  Page locked. */
struct cash_extra {
	/* How often the page is brought up to date at acquires before a notice unmaps it again: */
	uint8_t credits; /* granted at the last fetch by a fault */
	uint8_t left;
	uint8_t patience; /* how many releases may still leave the page writable that find no change in it */
	uint8_t fetched; /* a fault has fetched it before */
	uint32_t withdrawn; /* how often this node left the directory; a telling (cash_tell) holds for one count only */
};

static inline struct cash_extra *cash_extra(struct tw_proc *me, tw_page_t p)
{
	_Static_assert(sizeof(struct cash_extra) == sizeof(me->page[p].extra), "it is kept there");
	return (struct cash_extra *)(void *)&me->page[p].extra;
}

static inline struct cash *cash_of(struct tw_proc *me)
{
	return me->proto;
}

static inline uint64_t cash_bit(const struct tw_proc *me)
{
	return (uint64_t)1 << me->local;
}

static inline bool cash_is_home(const struct tw_proc *me, const struct tw_page *e)
{
	return e->home == me->node + 1;
}

/* The right that this processor's mapping of the page has.  Page locked. */
static inline enum tw_rights cash_rights(const struct tw_proc *me, const struct tw_page *e)
{
	uint64_t bit = cash_bit(me);
	return !(e->mapped & bit) ? TW_NONE : e->writers & bit ? TW_WRITE : TW_READ;
}

/* cash_shared - does another node hold the page, by the local replica of the directory? */
bool cash_shared(const struct tw_proc *me, tw_page_t p);
/* cash_holder - another node, but @told (-1: any), that holds, or claims, the page in exclusive mode; -1: none. */
int cash_holder(const struct tw_proc *me, tw_page_t p, int told);
/* cash_settle - if @p has a tentative home at another node, ask it to make this node the home.  No page lock held. */
void cash_settle(struct tw_proc *me, tw_page_t p);
/* cash_tell - let @node, which holds @count pages from @first exclusively and is their home, know that this node takes copies:
 * known there on return.  No page lock held. */
void cash_tell(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count);
/* cash_broken - this node, the home of @p (locked), was told: end exclusive mode, if it is on. */
void cash_broken(struct tw_proc *me, tw_page_t p);
/* cash_break - have @node, which is not their home, end exclusive mode on @count pages from @first, wherever it holds them.  No page lock held. */
void cash_break(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count);

/* cash_flush_range - an early release of the pages of the range that this processor wrote.  No page lock held. */
void cash_flush_range(struct tw_proc *me, tw_page_t first, unsigned count);

/* cash_withdraw - nothing of @p (locked) is mapped or unflushed here: leave the directory.  The caller flushes. */
void cash_withdraw(struct tw_proc *me, tw_page_t p);

/* cash_fetch - bring the node's copy of @p (locked) up to date from the home, by an incoming diff where it has a twin.  Complete
 * after tw_net_read_wait.  The page's time of update is taken before the fetch begins: a notice distributed later counts
 * as newer. */
void cash_fetch(struct tw_proc *me, tw_page_t p);

void cash_read_fault(struct tw_proc *me, tw_page_t p);
void cash_write_fault(struct tw_proc *me, tw_page_t p);
void cash_prefetch(struct tw_proc *me, tw_page_t first, unsigned count);
void cash_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void cash_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void cash_arrive(struct tw_proc *me, uint64_t object);
void cash_message(struct tw_proc *me, const struct tw_msg *msg);

#endif
