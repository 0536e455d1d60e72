/* SPDX-License-Identifier: BSD-3-Clause */
/* cashmere.h - Cashmere-2L: what its files share.  README.md beside it has the state table. */
#ifndef TW_PROTOCOLS_CASHMERE_H
#define TW_PROTOCOLS_CASHMERE_H

#include "tweed/driver/protocol.h"

/* tw_page.state */
#define CASH_EXCLUSIVE 1u /* this node holds the page in exclusive mode, confirmed */
#define CASH_BUSY      2u /* its diff is under way in a message: cash_lock */
#define CASH_AWAITED   4u /* somebody waits for the end of that */
#define CASH_DEFERRED      8u /* a writer has arrived at a barrier and left its changes to those that come: they must flush */

/* In a directory word that names no right: how often the node has left the directory, modulo 256. */
#define CASH_LEFT_SHIFT 40

/* What makes a member of the family: choices.c.  Zero is what 2L chose. */
enum cash_writes { CASH_WRITES_TWIN, CASH_WRITES_STORES };
enum cash_updates { CASH_UPDATES_WRITE, CASH_UPDATES_MESSAGE, CASH_UPDATES_DOUBLING };
enum cash_home { CASH_HOME_FIRST_TOUCH, CASH_HOME_MIGRATE };
enum cash_local { CASH_LOCAL_DIFF, CASH_LOCAL_SHOOTDOWN };
struct cash_variant {
	unsigned char levels;  /* 1 or 2 */
	unsigned char writes;  /* how they are found: enum cash_writes */
	unsigned char updates; /* how they travel: enum cash_updates */
	unsigned char home;    /* enum cash_home */
	unsigned char local;   /* concurrent local writers: enum cash_local */
};

/* Messages to agents. */
enum {
	CASH_MSG_DIFF =
	    TW_MSG_PROTOCOL + 2, /* word[0] bytes in the sender's buffer: apply these diffs; replied when done */
	CASH_MSG_BREAK = TW_MSG_PROTOCOL, /* word[0] first page, word[1] count: end exclusive mode; replied when done */
	CASH_MSG_SETTLE, /* word[0] page, of whose superpage the agent's node is the tentative home, word[1] 1:
	                                     the sender becomes its home if nobody else holds a page of it; replied */
};

/* Most pages that one operation locks at a time. */
#define CASH_CHUNK      64u
#define CASH_WINDOW_MAX 256u

#define CASH_LOG        16384u /* entries of a processor's log of faults */
#define CASH_TERMS      1024u  /* intervals: longer turns, and steps of half as many, are not learnt */

#define CASH_BUFFER ((size_t)256 << 10) /* for one sender's diffs at one receiver: message.c */

/* Diffs on their way into messages. */
struct cash_outbox {
	char *body; /* [CASH_BUFFER], or NULL: updates travel otherwise */
	size_t bytes;
	unsigned diffs;
	struct {
		size_t at, len;
		unsigned home;
	} diff[CASH_CHUNK];
};

/* Detector of sequential faults: see ahead.c. */
struct cash_stream {
	tw_page_t next; /* the page after the last window */
	unsigned run;   /* pages of the run at work, windows included */
	unsigned last;  /* of the run before it */
	unsigned same;  /* how many runs in a row had that length */
};

/* What a processor remembers of a page. */
struct cash_past {
	uint32_t got[2]; /* the interval (cash.releases) in which it last got the right to read, to write; 0: none */
	uint32_t behind; /* that in which it was last flushed behind the writer */
	uint8_t again;   /* and was written again in it: not flushed behind any more */
	uint8_t pins;    /* how often this processor has pinned it */
	/* Its turns: yield.c. */
	uint8_t wanders; /* they begin with stores */
	uint8_t given;   /* the last one ended by giving the page back */
	uint8_t left;    /* and others had left it so often then, modulo 256 */
	uint32_t since;  /* the interval in which it began; 0: another node has written the page since */
	uint32_t taken;  /* that in which this processor last took the page into exclusive mode */
	uint32_t term;   /* after so many intervals another node wrote it, the last time; 0: it is not known */
	uint32_t due;    /* its neighbour in cash.due, plus 2; 1: it has none; 0: it is not in there */
};

/* What a fault, or a replay in place of it, took: replay.c. */
struct cash_entry {
	tw_page_t first;
	uint16_t count;
	uint8_t want;
	uint8_t seen; /* it was in the same interval of so many steps before, up to 2 */
};

/* What to take at a fault. */
struct cash_guess {
	unsigned window; /* pages from the one that faults on */
	unsigned known;  /* so many were taken together the last time; 0: it is not known */
	bool probe;      /* of those the one behind the window is left out */
	bool sure;       /* may disturb other nodes for those of the window */
	unsigned fresh;  /* so many of the window's first pages may be untouched ones, whose home this node becomes */
};

struct cash {
	struct cash_stream reads, writes;
	uint32_t releases; /* begun, and one */
	bool arrived;      /* at a barrier of all, and not gone on */
	bool doubled;      /* doubled stores are under way */
	char *scratch;     /* one page: an incoming page on its way to an incoming diff */
	struct cash_outbox outbox;
	struct cash_past *past; /* [layout.pages] */
	uint32_t dice;          /* of probes */
	uint32_t due[CASH_TERMS]; /* first page plus 1, of those to be given back at the release of that number modulo CASH_TERMS */
	struct cash_entry log[CASH_LOG]; /* of the last ones, by their number modulo CASH_LOG */
	uint32_t logged;            /* entries ever written */
	uint32_t begun[CASH_TERMS]; /* how many they were when the interval of that number modulo CASH_TERMS began */
	uint32_t period;            /* so many intervals make a step, it seems; 0: not known */
	unsigned trust;             /* how sure that is */
	struct tw_pageset *migratory; /* those of the release at work */
	/* Of each page of the window at work, when its home was told: cash_extra.withdrawn, and tw_page.home. */
	uint32_t notified_at[CASH_WINDOW_MAX];
	uint16_t notified_home[CASH_WINDOW_MAX];
	int16_t holder[CASH_WINDOW_MAX]; /* whose exclusive mode must end: window_break */
};

/* The protocol's part of a page's entry, in tw_page.extra.  Page locked. */
struct cash_extra {
	/* How often the page is brought up to date at acquires before a notice unmaps it again: */
	uint8_t credits; /* granted at the last fetch by a fault */
	uint8_t left;
	uint8_t patience;        /* how many releases may still leave the page writable that find no change in it */
	uint8_t trapped;         /* the release (cash.releases) that took the right to write it */
	uint32_t granted : 8;    /* of patience, at the last write fault */
	uint32_t fetched : 1;    /* a fault has fetched it before */
	uint32_t missed : 1;     /* a notice came while nobody here mapped it, after one had unmapped it */
	uint32_t withdrawn : 22; /* how often this node left the directory: a telling (cash_notify_home) holds for one count */
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

static inline const struct cash_variant *cash_chose(const struct tw_proc *me)
{
	return me->protocol->choices;
}

/* Where homes are and how updates travel has no part in races: with TWEED_RACE both are as in 2L. */
static inline bool cash_migrates(const struct tw_proc *me)
{
	return cash_chose(me)->home == CASH_HOME_MIGRATE && !me->config.race;
}

static inline bool cash_messages(const struct tw_proc *me)
{
	return cash_chose(me)->updates == CASH_UPDATES_MESSAGE && !me->config.race;
}

/* Are stores doubled?  Then there are no twins: doubling.c. */
static inline bool cash_doubles(const struct tw_proc *me)
{
	return cash_chose(me)->writes == CASH_WRITES_STORES;
}

static inline bool cash_shoots(const struct tw_proc *me)
{
	return cash_chose(me)->local == CASH_LOCAL_SHOOTDOWN;
}

static inline uint64_t cash_bit(const struct tw_proc *me)
{
	return (uint64_t)1 << me->local;
}

static inline bool cash_is_home(const struct tw_proc *me, const struct tw_page *e)
{
	return e->home == me->node + 1 && !me->config.race; /* then the home is as any other */
}

/* The right that this processor's mapping of the page has.  Page locked. */
static inline enum tw_rights cash_rights(const struct tw_proc *me, const struct tw_page *e)
{
	uint64_t bit = cash_bit(me);
	return !(e->mapped & bit) ? TW_NONE : e->writers & bit ? TW_WRITE : TW_READ;
}

/* cash_shared - does another node hold the page, by the local replica of the directory? */
bool cash_shared(const struct tw_proc *me, tw_page_t p);
/* cash_holder - another node, but @notified (-1: any), that holds, or claims, the page in exclusive mode; -1: none. */
int cash_holder(const struct tw_proc *me, tw_page_t p, int notified);
/* cash_settle - if @p has a tentative home at another node, ask it to make this node the home.  No page lock held. */
void cash_settle(struct tw_proc *me, tw_page_t p);
/* cash_notify_home - let @node, which holds @count pages from @first exclusively and is their home, know that this node
 * takes copies: known there on return.  No page lock held. */
void cash_notify_home(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count);
/* cash_broken - this node, the home of @p (locked), was told: end exclusive mode, if it is on. */
void cash_broken(struct tw_proc *me, tw_page_t p);
/* cash_break - have @node, which is not their home, end exclusive mode on @count pages from @first, wherever it holds
 * them.  No page lock held. */
void cash_break(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count);

/* What comes along with a page that faults: ahead.c.  cash_guess - at a fault on @p.  cash_write_behind - @p and what came along
 * were made writable: flush what lies before them in a long run.  cash_behind_wrong - @p is written: was it flushed
 * behind the writer too soon? */
struct cash_guess cash_guess(struct tw_proc *me, struct cash_stream *s, tw_page_t p, enum tw_rights want);
void cash_write_behind(struct tw_proc *me, tw_page_t p);
void cash_behind_wrong(struct tw_proc *me, tw_page_t p);
/* cash_dice - 0 to @sides - 1, by chance: of probes. */
unsigned cash_dice(struct cash *c, unsigned sides);

/* cash_prefetch_run - of @count pages from @first, give this processor @want on those that may come along and that nobody is at work on.
 * Returns how many did.  @replay: none of them has faulted, nor is it to stay writable. */
unsigned cash_prefetch_run(struct tw_proc *me, tw_page_t first, unsigned count, enum tw_rights want, bool replay);

/* Steps that come again: replay.c.  cash_replay_begins - an interval does.  cash_replay_fault - a fault on @p gave this processor @want on
 * @count pages from it; the last time it got that right in interval @last (0: never).  cash_replay - behind a barrier: take what this
 * interval took in the three steps before. */
void cash_replay_begins(struct cash *c);
void cash_replay_fault(struct tw_proc *me, tw_page_t p, unsigned count, enum tw_rights want, uint32_t last);
void cash_replay(struct tw_proc *me);

/* cash_flush_range - an early release of the pages of the range that this processor wrote.  No page lock held. */
void cash_flush_range(struct tw_proc *me, tw_page_t first, unsigned count);
/* cash_flush_neighbours - an early release of @p for all processors of the node, which are shot down.  No page lock
 * held. */
void cash_flush_neighbours(struct tw_proc *me, tw_page_t p);

/* cash_withdraw - nothing of @p (locked) is mapped or unflushed here: leave the directory.  The caller flushes. */
void cash_withdraw(struct tw_proc *me, tw_page_t p);

/* cash_unmap - take this processor's right on those pages of the chunk (locked) that are in @mask. */
void cash_unmap(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t mask);

/* Pages that nodes write in turns: yield.c.  All with the page locked but the last one.  cash_migratory_turn - this processor gets the
 * right @want on @p and had less.  cash_migratory_taken - it has taken it into exclusive mode.  cash_migratory_leaves - a notice came: is
 * this processor's turn over, so that it need not stay in the directory?  cash_migratory_home - the same at the home: shall it drop its right?
 * cash_migratory_ended - it has dropped it.  cash_migratory - give back, without being asked, what is due at the release at work. */
void cash_migratory_turn(struct tw_proc *me, tw_page_t p, enum tw_rights want);
void cash_migratory_taken(struct tw_proc *me, tw_page_t p);
bool cash_migratory_leaves(struct tw_proc *me, tw_page_t p);
bool cash_migratory_home(struct tw_proc *me, tw_page_t p);
void cash_migratory_ended(struct tw_proc *me, tw_page_t p);
void cash_migratory(struct tw_proc *me);

/* cash_fetch - bring the node's copy of @p (locked) up to date from the home, by an incoming diff where it has a
 * twin.  Complete after cash_fetched.  The page's time of update is taken before the fetch begins, and before the
 * home is asked for where homes migrate: a notice distributed later counts as newer. */
void cash_fetch(struct tw_proc *me, tw_page_t p);
void cash_fetched(struct tw_proc *me);

/* cash_lock - lock @p when it is not busy.  No page lock held.  cash_idle - @p (locked) is no longer busy. */
void cash_lock_busy(struct tw_proc *me, tw_page_t p);
static inline void cash_lock(struct tw_proc *me, tw_page_t p)
{
	tw_page_lock(me, p);
	if (me->page[p].state & CASH_BUSY)
		cash_lock_busy(me, p);
}
void cash_idle(struct tw_proc *me, tw_page_t p);
/* cash_lock_run - lock pages from @first up to the first one that is busy, at least one, at most @count.  Returns how
 * many. */
static inline unsigned cash_lock_run(struct tw_proc *me, tw_page_t first, unsigned count)
{
	cash_lock(me, first);
	for (unsigned n = 1; n < count; n++) {
		tw_page_lock(me, first + n);
		if (me->page[first + n].state & CASH_BUSY) {
			tw_page_unlock(me, first + n);
			return n;
		}
	}
	return count;
}
/* cash_unlock_run - the end of that.  cash_by_chunks - all pages of a run by @chunk, which locks, does and unlocks the first of them, at most @most,
 * and returns how many. */
static inline void cash_unlock_run(struct tw_proc *me, tw_page_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		tw_page_unlock(me, first + i);
}
static inline void cash_by_chunks(unsigned (*chunk)(void *ctx, tw_page_t first, unsigned most), void *ctx,
                                  tw_page_t first, unsigned count)
{
	for (unsigned done = 0; done < count;)
		done += chunk(ctx, first + done, TW_MIN(count - done, CASH_CHUNK));
}

/* Diffs as messages.  cash_message_pages - how many pages one outbox holds for sure.  cash_message_begin, _run (a
 * tw_run_fn), _end - put the diff of @p (locked) into the outbox; _end returns whether there was one.
 * cash_message_send - have the homes apply them all; performed on return; no page lock held.  cash_message_apply - in
 * the home's agent; false: damaged. */
size_t cash_exported_bytes(const struct tw_layout *layout);
unsigned cash_message_pages(const struct tw_proc *me);
void cash_message_begin(struct tw_proc *me, tw_page_t p);
void cash_message_run(void *ctx, size_t offset, const void *bytes, size_t len);
bool cash_message_end(struct tw_proc *me);
void cash_message_send(struct tw_proc *me);
bool cash_message_apply(struct tw_proc *me, const struct tw_msg *msg);

/* Homes that migrate.  Page locked.  cash_home_settled - wait until no migration of @p is in progress, and read its
 * home. cash_migrate - try to make this node, about to write and published so, the home. */
void cash_home_settled(struct tw_proc *me, tw_page_t p);
void cash_migrate(struct tw_proc *me, tw_page_t p);

/* Write doubling.  cash_stored - the hook.  cash_doubled - what it sent is performed at the homes on return.
 * doubling.c. */
bool cash_stored(struct tw_proc *me, size_t offset, size_t bytes);
void cash_doubled(struct tw_proc *me);

int cash_init(struct tw_proc *me);
void cash_fini(struct tw_proc *me);
void cash_read_fault(struct tw_proc *me, tw_page_t p);
void cash_write_fault(struct tw_proc *me, tw_page_t p);
void cash_prefetch(struct tw_proc *me, tw_page_t first, unsigned count);
int cash_pin(struct tw_proc *me, tw_page_t first, unsigned count);
void cash_unpin(struct tw_proc *me, tw_page_t first, unsigned count);
void cash_noticed(struct tw_proc *me, tw_page_t p);
void cash_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void cash_freshen(struct tw_proc *me);
void cash_hide(struct tw_proc *me, tw_page_t p);
void cash_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void cash_arrive(struct tw_proc *me, uint64_t object);
void cash_message(struct tw_proc *me, const struct tw_msg *msg);

#endif
