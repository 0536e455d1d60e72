/* SPDX-License-Identifier: BSD-3-Clause */
/* cashmere.h - the Cashmere family: state and functions that its files share.  README.md has the state table.
 *
 * A file calls only files of lines above its own (migratory.c, prefetch.c and replay.c are in predictors/):
 *
 *   doubling.c message.c copy.c      stores doubled; diffs as messages, busy pages; the node's copy of a page
 *   exclusive.c migrate.c migratory.c  end of exclusive mode; homes that migrate; migratory pages
 *   flush.c                          diffs and notices of written pages
 *   window.c prefetch.c              rights on a run of pages; which pages a fault takes along
 *   word.c                           atomic operations on words
 *   replay.c                         faults replayed at barriers
 *   release.c acquire.c              hooks of synchronization
 *   fault.c                          hooks of faults, pins
 *   variants.c cashmere.c            the table of protocols; state of a process */
#ifndef TW_PROTOCOLS_CASHMERE_H
#define TW_PROTOCOLS_CASHMERE_H

#include "tweed/driver/protocol.h"

/* tw_page.state */
#define CASH_EXCLUSIVE 1u /* this node holds the page in exclusive mode, confirmed */
#define CASH_BUSY      2u /* its diff is in flight in a message: cash_lock */
#define CASH_AWAITED   4u /* a processor waits for the end of CASH_BUSY */
#define CASH_DEFERRED                                                                                                  \
	8u /* a writer has arrived at a barrier and left its changes to a later arriver, which must flush */
#define CASH_PEEKED      16u  /* word.c: an operation has found the node in the directory, and the home steady */
#define CASH_PEEKED_ENDS 256u /* from here on: counts how often that has ended */

/* In a directory word without rights: how often the node has left the directory, modulo 256. */
#define CASH_LEFT_SHIFT 40

/* The family's parameters (variants.c).  Enumerators are in the order of the choices. */
enum cash_writes { CASH_WRITES_TWIN, CASH_WRITES_STORES };
enum cash_updates { CASH_UPDATES_WRITE, CASH_UPDATES_MESSAGE, CASH_UPDATES_DOUBLING };
enum cash_home { CASH_HOME_FIRST_TOUCH, CASH_HOME_MIGRATE };
enum cash_local { CASH_LOCAL_DIFF, CASH_LOCAL_SHOOTDOWN };
struct cash_parameters {
	uint64_t levels;       /* 1 or 2 */
	unsigned char writes;  /* how they are found: enum cash_writes */
	unsigned char updates; /* how they travel: enum cash_updates */
	unsigned char home;    /* enum cash_home */
	unsigned char local;   /* concurrent local writers: enum cash_local */
	uint64_t retention;    /* most releases that leave a rewritten page writable without a change found */
	uint64_t refresh;      /* most updates in place of a page by acquires before one unmaps it */
	bool windows, runs;    /* prefetch.c: neighbouring faults; pages that came together */
	bool behind;           /* prefetch.c: flushes behind the writer */
	bool replay;           /* replay.c */
	bool migratory;        /* migratory.c */
};

/* Messages to agents; each is answered with an empty reply when done. */
enum {
	CASH_MSG_DIFF = TW_MSG_PROTOCOL + 2, /* apply the diffs, word[0] bytes, in the sender's buffer */
	CASH_MSG_BREAK = TW_MSG_PROTOCOL,    /* end exclusive mode on word[1] pages from word[0] */
	/* word[0]: a page; its tentative home is the agent's node; word[1]: 1.  The sender becomes the home of its
	 * superpage, unless another node holds one of the pages or a page has unflushed changes. */
	CASH_MSG_SETTLE,
};

#define CASH_CHUNK      64u  /* most pages that release and acquire lock at a time: one bit each in a mask */
#define CASH_WINDOW_MAX 256u /* most pages that a fault locks at a time */

#define CASH_STAGE_PAGES 16u                /* most pages with twins that are fetched together, */
#define CASH_STAGE_BYTES ((size_t)64 << 10) /* and most bytes of them, if they are several */

#define CASH_LOG   16384u /* entries of a processor's log of faults */
#define CASH_TERMS 1024u  /* intervals: longer turns, and steps of half as many, are not learnt */

#define CASH_BUFFER ((size_t)256 << 10) /* for one sender's diffs at one receiver: message.c */

/* Diffs that wait to be sent as messages. */
struct cash_outbox {
	char *body; /* [CASH_BUFFER]; NULL: updates travel otherwise */
	size_t bytes;
	unsigned diffs;
	struct {
		size_t at, len;
		unsigned home;
	} diff[CASH_CHUNK];
};

/* Detector of sequential faults: prefetch.c. */
struct cash_stream {
	tw_page_t next; /* the page that comes after the last window */
	unsigned run;   /* pages of the current run, windows included */
	unsigned last;  /* of the run before it */
	unsigned same;  /* runs in a row with that length */
};

/* What a processor remembers of a page. */
struct cash_past {
	uint32_t got[2];   /* the interval (cash.releases) in which it last got the right to read, to write; 0: none */
	uint32_t behind;   /* the interval in which it was last flushed behind the writer */
	uint8_t again;     /* it was written again in that interval: not flushed behind the writer any more */
	uint8_t pins;      /* pins of this processor, less unpins */
	uint8_t migratory; /* the processor's turns begin with stores: migratory.c */
	uint8_t given;     /* the last turn ended by giving the page back */
	uint8_t left;      /* at that time: how often other nodes had left the directory, modulo 256 */
	uint32_t since;    /* the interval in which the turn began; 0: another node has written the page since */
	uint32_t taken;    /* the interval in which this processor last took the page into exclusive mode */
	uint32_t term;     /* intervals until another node wrote it, the last time; 0: not known */
	uint32_t due;      /* list of cash.due: the next page plus 2; 1: the last one; 0: not in a list */
};

/* What one fault, or the replay of one, took: replay.c. */
struct cash_entry {
	tw_page_t first;
	uint16_t count;
	uint8_t want;
	uint8_t seen; /* found in the same interval of so many earlier steps, up to 2 */
};

/* What to take at a fault: cash_guess. */
struct cash_guess {
	unsigned window;  /* pages from the faulting one on */
	tw_page_t stride; /* from each of them to the next; 1: neighbours */
	unsigned known;   /* pages that were taken together the last time; 0: not known */
	bool probe;       /* the page behind the window is left out, though known */
	bool sure;        /* the window may disturb other nodes */
	unsigned fresh;   /* so many of the window's first pages may be untouched: this node becomes their home */
};

/* Pages to get a right on: cash_window_take. */
struct cash_window {
	tw_page_t *page;     /* on return: those that were taken */
	unsigned count;      /* on return: of these */
	enum tw_rights want; /* on return: TW_WRITE if the first page was dirty and unmapped */
	bool faulted;        /* the first page has faulted, so it is taken in any case */
	bool scattered;      /* the pages are no neighbours: those behind one that may not be taken may be */
	bool enter;          /* only enter the directory: no copy, no mapping */
	bool replay;         /* no page has faulted: none is left writable by releases */
	bool sure;           /* cash_guess */
	unsigned known;      /* cash_guess: so many may also be written at their home while others have copies */
	unsigned fresh;      /* cash_guess */
	bool locked;         /* the window has been locked before */
	bool along;          /* words and breaks that go along with the read are in flight */
	uint64_t claimed[CASH_WINDOW_MAX / 64];  /* pages that this round took into exclusive mode */
	uint64_t notified[CASH_WINDOW_MAX / 64]; /* pages whose home was notified in an earlier round */
};

/* A flush at work: flush.c. */
struct cash_flush {
	struct tw_proc *me;
	uint64_t started;                     /* node time before it began */
	bool sent;                            /* the page at work: a diff is in flight */
	bool published;                       /* a directory word is in flight */
	bool at_barrier;                      /* all processors take part: leave pages to later local arrivers */
	bool demanded;                        /* the processor stores while this flush runs */
	bool retention;                       /* pages may stay writable */
	bool for_all;                         /* flush what any processor of the node wrote */
	uint64_t wait_for[TW_MAX_PROCESSORS]; /* node times of flushes by others that stand for this one */
};

/* Bytes that one read is to bring from a node's exported memory. */
struct cash_run {
	unsigned node;
	size_t offset;
	char *to;
	size_t bytes; /* 0: none */
};

/* Detector of faults at equal distances in one interval: columns of a matrix. */
struct cash_strides {
	tw_page_t next;    /* the page that comes after the last one taken, */
	tw_page_t last;    /* which is this one */
	tw_page_t stride;  /* from each page to the next, modulo 2^32 */
	tw_page_t usual;   /* the stride of the run before */
	uint32_t interval; /* of the last fault */
	unsigned run;      /* pages of the current run */
	unsigned length;   /* of the run before it */
	unsigned same;     /* runs in a row with that length */
};

/* State of a processor, or of an agent: tw_proc.proto. */
struct cash {
	struct cash_stream stream[2];   /* of faults by loads, by stores */
	struct cash_strides strides[2]; /* the same */
	uint32_t releases;              /* releases begun, plus one: the number of the interval */
	bool arrived;                   /* at a barrier of all, and its acquire is not done */
	bool doubled;                   /* doubled stores are in flight */
	char *stage;                    /* [cash_stage_pages]: incoming pages before the incoming diffs */
	tw_page_t staged_page[CASH_STAGE_PAGES];
	unsigned staged;
	struct cash_run fetching; /* pages to be fetched, not yet asked for */
	struct cash_outbox outbox;
	struct cash_past *past;   /* [layout.pages] */
	uint32_t dice;            /* state of cash_dice */
	uint32_t due[CASH_TERMS]; /* lists of pages to be given back at the release of that number modulo CASH_TERMS:
	                             first page plus 1 */
	struct cash_entry log[CASH_LOG]; /* the last entries, by their number modulo CASH_LOG */
	uint32_t logged;                 /* entries ever written */
	uint32_t begun[CASH_TERMS];      /* value of logged at the beginning of that interval modulo CASH_TERMS */
	uint32_t period;                 /* intervals of a step; 0: not known */
	unsigned trust;                  /* confidence in period */
	struct tw_pageset *migratory;    /* pages to be given back by the release at work */
	/* Of each page of the window at work, when its home was notified: cash_extra.withdrawn, and tw_page.home. */
	uint32_t notified_at[CASH_WINDOW_MAX];
	uint16_t notified_home[CASH_WINDOW_MAX];
	tw_page_t window[CASH_WINDOW_MAX]; /* the pages of a window */
	/* Pages that an acquire holds locked, until its words are performed and its copies have come: acquire.c. */
	tw_page_t held[CASH_WINDOW_MAX];
	unsigned helds;
	bool held_flush, held_fetch;
	int16_t holder[CASH_WINDOW_MAX]; /* the node whose exclusive mode must end: window_break */
};

/* The protocol's part of a page's entry, in tw_page.extra.  Page locked. */
struct cash_extra {
	uint8_t credits;         /* updates in place that the last fetch by a fault granted */
	uint8_t left;            /* of these, not yet used */
	uint8_t patience;        /* releases that may still leave the page writable though it was not changed */
	uint8_t trapped;         /* the release (cash.releases) that took the right to write it */
	uint32_t granted : 8;    /* value of patience at the last write fault */
	uint32_t fetched : 1;    /* a fault has fetched the page before */
	uint32_t missed : 1;     /* a notice arrived after one had unmapped the page at all processors of the node */
	uint32_t entered : 1;    /* word.c: in the directory, and no other node was in exclusive mode since */
	uint32_t steady : 1;     /* word.c: and the home has not moved since, and does not */
	uint32_t operated : 2;   /* word.c: so many more acquires with a notice leave the node there */
	uint32_t withdrawn : 18; /* how often this node left the directory: a notification of the home
	                            (cash_notify_home) is valid for one count */
};

static inline struct cash_extra *cash_extra(struct tw_proc *me, tw_page_t p)
{
	_Static_assert(sizeof(struct cash_extra) == sizeof(me->page[p].extra), "it is kept there");
	return (struct cash_extra *)(void *)&me->page[p].extra;
}

/* Loads of words without the lock end.  Page locked. */
static inline void cash_peeked_ends(struct tw_page *e)
{
	if (e->state & CASH_PEEKED)
		__atomic_store_n(&e->state, (e->state & ~CASH_PEEKED) + CASH_PEEKED_ENDS, __ATOMIC_RELEASE);
}

static inline struct cash *cash_of(struct tw_proc *me)
{
	return me->proto;
}

static inline const struct cash_parameters *cash_parameters(const struct tw_proc *me)
{
	return me->protocol->values;
}

static inline unsigned cash_stage_pages(const struct tw_proc *me)
{
	return TW_MAX(1u, TW_MIN(CASH_STAGE_PAGES, (unsigned)(CASH_STAGE_BYTES / me->layout.page_bytes)));
}

/* With TWEED_RACE each interval's first store faults, so that a report can name it. */
static inline unsigned cash_retention(const struct tw_proc *me)
{
	return me->config.race ? 0 : (unsigned)cash_parameters(me)->retention;
}

/* With TWEED_RACE homes stay and diffs are written, as in 2L: neither matters to races. */
static inline bool cash_migrates(const struct tw_proc *me)
{
	return cash_parameters(me)->home == CASH_HOME_MIGRATE && !me->config.race;
}

static inline bool cash_messages(const struct tw_proc *me)
{
	return cash_parameters(me)->updates == CASH_UPDATES_MESSAGE && !me->config.race;
}

/* Are stores doubled?  Then there are no twins: doubling.c. */
static inline bool cash_doubles(const struct tw_proc *me)
{
	return cash_parameters(me)->writes == CASH_WRITES_STORES;
}

static inline bool cash_shoots(const struct tw_proc *me)
{
	return cash_parameters(me)->local == CASH_LOCAL_SHOOTDOWN;
}

static inline uint64_t cash_bit(const struct tw_proc *me)
{
	return (uint64_t)1 << me->local;
}

/* Is the page's home here?  With TWEED_RACE a home is treated as any other node. */
static inline bool cash_is_home(const struct tw_proc *me, const struct tw_page *e)
{
	return e->home == me->node + 1 && !me->config.race;
}

/* The right of this processor's mapping of the page.  Page locked. */
static inline enum tw_rights cash_rights(const struct tw_proc *me, const struct tw_page *e)
{
	uint64_t bit = cash_bit(me);
	return !(e->mapped & bit) ? TW_NONE : e->writers & bit ? TW_WRITE : TW_READ;
}

/* cash_ordinary - may @p be taken along, updated in place, taken into exclusive mode, or left writable by a release?  A
 * polled page may not.
 * cash_fences - does the program fence?  Then a neighbour's fault may bring a flag to the node before this processor
 * acquires; no page is migratory, and nothing is replayed. */
static inline bool cash_ordinary(const struct tw_proc *me, tw_page_t p)
{
	return !tw_polled(me, p);
}
static inline bool cash_fences(const struct tw_proc *me)
{
	return me->fences != NULL;
}

/* cash_publish - tw_dir_publish of @p (locked); a node that operates on words of a page keeps its home where it is. */
static inline void cash_publish(struct tw_proc *me, tw_page_t p, uint64_t word)
{
	tw_dir_publish(me, p, word | (cash_extra(me, p)->steady && (word & TW_DIR_RIGHTS) ? TW_DIR_DIFF : 0));
}

/* ---- doubling.c: write doubling -------------------------------------------------------------------------------- */

/* cash_stored - the hook.  cash_doubled - on return what it sent is performed at the homes. */
bool cash_stored(struct tw_proc *me, size_t offset, size_t bytes);
void cash_doubled(struct tw_proc *me);

/* ---- message.c: diffs as messages, busy pages ------------------------------------------------------------------ */

/* cash_message_pages - how many pages one outbox holds for sure.
 * cash_message_begin, _run (a tw_run_fn), _end - put the diff of @p (locked) into the outbox.  _end returns whether
 * there was a change.
 * cash_message_send - have the homes apply all diffs; performed on return.  No page lock held.
 * cash_message_apply - apply @msg in the home's agent.  Returns false when it is damaged. */
size_t cash_exported_bytes(const struct tw_layout *layout);
unsigned cash_message_pages(const struct tw_proc *me);
void cash_message_begin(struct tw_proc *me, tw_page_t p);
void cash_message_run(void *ctx, size_t offset, const void *bytes, size_t len);
bool cash_message_end(struct tw_proc *me);
void cash_message_send(struct tw_proc *me);
bool cash_message_apply(struct tw_proc *me, const struct tw_msg *msg);

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
 * many.  cash_unlock_run - unlock them.
 * cash_by_chunks - pass all pages of a run to @chunk, which locks, treats and unlocks the first of them, at most
 * @most, and returns how many. */
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

/* ---- copy.c: the node's copy of a page ------------------------------------------------------------------------- */

/* cash_fetch - bring the node's copy of @p (locked) up to date from the home; by an incoming diff where it has a twin.
 * Complete after cash_fetched.  The page's time of update is taken before the fetch begins, and before the homes word
 * is read where homes migrate: a notice distributed later counts as newer.
 * cash_fetch_begin - what cash_fetch has asked for is under way.
 * cash_unmap - take this processor's rights on those pages of the chunk (locked) that are in @mask; masks stay.
 * cash_withdraw - leave the directory: no mapping and no unflushed change of @p (locked) is left here.  The caller
 * flushes the word. */
void cash_fetch(struct tw_proc *me, tw_page_t p);
void cash_fetch_begin(struct tw_proc *me);
void cash_fetched(struct tw_proc *me);
void cash_unmap(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t mask);
void cash_withdraw(struct tw_proc *me, tw_page_t p);

/* ---- exclusive.c: exclusive mode, and homes after initialization ----------------------------------------------- */

/* cash_shared - does another node hold the page, by the local replica of the directory?
 * cash_holder - a node, neither this one nor @notified (-1: none), that holds or claims the page in exclusive mode;
 * -1: none.
 * cash_notify_home - notify @node, which holds @count pages from @first exclusively and is their home, that this node
 * takes copies; performed there on return.  No page lock held.
 * cash_broken - the hook: this node, the home of @p (locked), was notified; ends exclusive mode, if it is on.
 * cash_break - have @node, which is not their home, end exclusive mode on those of @count pages from @first that it
 * holds so.  No page lock held.
 * cash_settle - if @p has a tentative home at another node, ask that node to make this one the home.  No page lock
 * held. */
bool cash_shared(const struct tw_proc *me, tw_page_t p);
int cash_holder(const struct tw_proc *me, tw_page_t p, int notified);
void cash_notify_home(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count);
bool cash_broken(struct tw_proc *me, tw_page_t p);
void cash_break(struct tw_proc *me, unsigned node, tw_page_t first, unsigned count);
void cash_settle(struct tw_proc *me, tw_page_t p);
void cash_message(struct tw_proc *me, const struct tw_msg *msg);

/* ---- migrate.c: homes that migrate ----------------------------------------------------------------------------- */

/* Page locked.  cash_home_settled - wait until no migration of @p is in progress, and read its home.
 * cash_migrate - try to make this node, which has published that it writes @p, the home. */
void cash_home_settled(struct tw_proc *me, tw_page_t p);
void cash_migrate(struct tw_proc *me, tw_page_t p);

/* ---- flush.c: diffs and notices of written pages --------------------------------------------------------------- */

/* cash_flush_pages - flush those pages of the run that need it, and put them into tw_proc.noticing.  Diffs are
 * performed on return.
 * cash_flush_end - send the notices, performed on return; then wait for flushes that stand for this one.
 * cash_flush_range - an early release of the pages of the range that this processor wrote.
 * cash_flush_neighbours - an early release of @p for all processors of the node, after their shootdown.
 * All: no page lock held. */
void cash_flush_pages(struct cash_flush *f, tw_page_t first, unsigned count);
void cash_flush_end(struct cash_flush *f);
void cash_flush_range(struct tw_proc *me, tw_page_t first, unsigned count);
void cash_flush_neighbours(struct tw_proc *me, tw_page_t p);

/* ---- window.c: rights on some pages ---------------------------------------------------------------------------- */

/* cash_window_take - give this processor @w->want on the pages of the window that may come along and are not locked;
 * on the first one in any case, if it has faulted.
 * cash_prefetch_list - the same for the first @count pages in cash.window.  Returns how many were taken.  @replay:
 * cash_window.replay.
 * cash_prefetch_run - the same for @count pages from @first.
 * All: no page lock held. */
void cash_window_take(struct tw_proc *me, struct cash_window *w);
unsigned cash_prefetch_list(struct tw_proc *me, unsigned count, enum tw_rights want, bool replay);
unsigned cash_prefetch_run(struct tw_proc *me, tw_page_t first, unsigned count, enum tw_rights want);
/* cash_window_enter - enter the directory for @p as a reader does, without a copy, and keep its home where it is.  No
 * page lock held. */
void cash_window_enter(struct tw_proc *me, tw_page_t p);

/* ---- predictors ------------------------------------------------------------------------------------------------
 *
 * Five predictors guess what a processor or a node will access next.  Their common contract:
 *
 * - A predictor observes only what the protocol does anyway: faults, releases, notices.  No message and no trap is
 *   spent on observation, except for probes: a page is left out at random, to see whether it still faults.
 * - It proposes; window.c, flush.c, acquire.c and copy.c decide under the page lock whether the proposal is allowed.
 *   A wrong guess costs time and nothing else: no predictor is part of an argument of correctness, except that a
 *   migratory page is given back in the order that migratory.c proves.
 * - What it remembers is the processor's own (struct cash, cash_past), or the page's on this node (cash_extra, page
 *   locked).
 * - Polled pages (cash_ordinary) are never taken along, replayed, given back, retained or updated.
 *
 * - Each can be switched off, by a parameter (variants.c) or a setting.  README.md has a table of what each gains.
 *
 * Prefetch (prefetch.c; state: cash_stream, cash_past.got, .behind, .again).
 *   observes  sequences of faults on neighbouring pages; the interval in which each right was obtained.
 *   proposes  pages to take along with the one that faults (cash_guess); and, behind a long run of writes, pages to
 *             flush before the release (cash_write_behind).
 *   off       windows=off (neighbours), runs=off (intervals), TWEED_PREFETCH=0 (both).  The flush: behind=off,
 *             TWEED_RACE, doubled stores, pages at home, a page that was written again after such a flush.
 *
 * Replay (replay.c; state: cash.log, .begun, .period, .trust).
 *   observes  what faults took in each interval, and after how many intervals the same faults come again.
 *   proposes  at a barrier of all: what the next interval took in each of the last three steps.
 *   off       replay=off, TWEED_PREFETCH=0, TWEED_RACE, programs with fences (cash_fences), scarce twins, too little
 *             trust.
 *
 * Migratory pages (migratory.c; state: cash.due, cash_past.migratory to .due).
 *   observes  whether this processor's turns on a page begin with a store, and after how many intervals another node
 *             writes it.
 *   proposes  to leave the directory at the first notice, also at the home; and to give an exclusive page back at the
 *             release at which the turn should end.
 *   off       migratory=off, programs with fences, doubled stores, pins.  retention: a turn lasts at least that many
 *             intervals after the last store.  No page is given back with TWEED_RACE, which has no exclusive mode.
 *
 * Retention (window_retention, flush_may_retain; state: cash_extra.granted, .patience, .trapped).
 *   observes  a write fault less than retention releases after a release took the right to write.
 *   proposes  that the page stays writable and dirty over releases: 1, 2, 4, ... retention that find no change; each
 *             change found renews the grant.  At home each release counts as one that finds no change.
 *   off       retention=0, scarce twins, pages that no other node holds, early and replayed pages.  Away from home
 *             also: refresh=0, doubled stores, shootdown.
 *
 * Updates in place (acquire_updates, window_fetch; state: cash_extra.credits, .left, .fetched, .missed).
 *   observes  a fault on a page that was fetched before and unmapped by a notice.
 *   proposes  that an acquire fetches the page and leaves it mapped: 1, 2, 4, ... refresh times; half as many
 *             when a second notice arrived before the fault.  A retained page that is dirty is updated without limit.
 *   off       refresh=0, pages at home; with shootdown, pages with a twin. */

/* cash_guess - what to take at a fault on @p.  cash_guessed - so many pages were taken by guess @g.
 * cash_write_behind - @p and the pages taken along are writable: flush what lies before them in a long run.  No page
 * lock held.
 * cash_behind_wrong - @p is about to be written: if it was flushed behind the writer in this interval, it is not again.
 * cash_dice - 0 to @sides - 1, pseudo-random: for probes. */
struct cash_guess cash_guess(struct tw_proc *me, tw_page_t p, enum tw_rights want);
void cash_guessed(struct cash *c, tw_page_t p, enum tw_rights want, const struct cash_guess *g, unsigned taken);
void cash_write_behind(struct tw_proc *me, tw_page_t p);
void cash_behind_wrong(struct tw_proc *me, tw_page_t p);
unsigned cash_dice(struct cash *c, unsigned sides);

/* cash_replay_begins - an interval begins.
 * cash_replay_fault - a fault on @p gave this processor @want on @count pages from it; the last time it got that right
 * in interval @last (0: never).
 * cash_replay - after the acquire of a barrier of all: take what the same interval took in the last three steps.  No
 * page lock held. */
void cash_replay_begins(struct cash *c);
void cash_replay_fault(struct tw_proc *me, tw_page_t p, unsigned count, enum tw_rights want, uint32_t last);
void cash_replay(struct tw_proc *me);

/* All with the page locked but the last one.
 * cash_migratory_turn - this processor, which had less, gets the right @want on @p.
 * cash_migratory_taken - it has taken @p into exclusive mode.
 * cash_migratory_leaves - a notice arrived: is this processor's turn over, so that it need not stay in the directory?
 * cash_migratory_home - a notice arrived at the home: shall the processor drop its right?
 * cash_migratory_ended - the processor has dropped its right.
 * cash_migratory - at a release: give back the pages that are due. */
void cash_migratory_turn(struct tw_proc *me, tw_page_t p, enum tw_rights want);
void cash_migratory_taken(struct tw_proc *me, tw_page_t p);
bool cash_migratory_leaves(struct tw_proc *me, tw_page_t p);
bool cash_migratory_home(struct tw_proc *me, tw_page_t p);
void cash_migratory_ended(struct tw_proc *me, tw_page_t p);
void cash_migratory(struct tw_proc *me);

/* ---- hooks (struct tw_protocol) -------------------------------------------------------------------------------- */

int cash_init(struct tw_proc *me);
void cash_fini(struct tw_proc *me);
void cash_read_fault(struct tw_proc *me, tw_page_t p);
void cash_write_fault(struct tw_proc *me, tw_page_t p);
void cash_prefetch(struct tw_proc *me, tw_page_t first, unsigned count);
int cash_pin(struct tw_proc *me, tw_page_t first, unsigned count);
void cash_unpin(struct tw_proc *me, tw_page_t first, unsigned count);
bool cash_word(struct tw_proc *me, size_t offset, size_t bytes, bool loads, bool wait, struct tw_location *where);
bool cash_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value);
void cash_word_done(struct tw_proc *me, size_t offset, size_t bytes, bool changed, const void *now);
void cash_noticed(struct tw_proc *me, tw_page_t p);
void cash_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void cash_freshen(struct tw_proc *me);
void cash_hide(struct tw_proc *me, tw_page_t p);
void cash_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void cash_arrive(struct tw_proc *me, uint64_t object);

#endif
