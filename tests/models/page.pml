/* SPDX-License-Identifier: BSD-3-Clause */
/* page.pml - one page, two words, three nodes: fetch, incoming diff, flush, flush-update, write notices and the time
 * stamps that coalesce them (Cashmere-2L, sections 2.4 and 2.5; protocols/cashmere/fault.c, release.c and acquire.c,
 * core/coherence/notice.c).
 *
 * Nodes: A with processors 0 and 1 on one frame, B with processor 2, and the home with processor 3.  Word x belongs
 * to lock 0, word y to lock 1; critical sections store junk first, as half-done work that another processor's flush
 * may carry home.  Remote writes of different endpoints are unordered; flush() makes an endpoint's own visible.  A
 * step that publishes and flushes, or sends a notice and flushes, is one step here: directory.pml has the details.
 *
 * Claim: every critical section finds the value that the one before it left.  At the end the home has the last
 *        values.  Nothing blocks for ever.
 *
 * Logical clocks are kept as ranks: only the order of a node's time stamps matters, so after each change they are
 * renumbered without gaps.  A stamp that is not stored needs no tick.
 *
 * P0 to P3 are the processors' programs, two operations each: 1 x++, 2 y++, 3 read x, 4 read y, 5 acquire another
 * lock, 0 none.
 *
 * pan:  -DP0=1,0 -DP1=2,0 -DP2=2,1                          false sharing on A, both words go between nodes
 * pan:  -DP0=2,2 -DP1=1,0 -DP2=1,0                          A collects notices while it fetches
 * pan:  -DP0=1,5 -DP1=2,1 -DP2=1,0                          one of A's processors acquires long before the other
 * pan:  -DP0=1,0 -DP1=2,0 -DP3=1,3                          the home writes and reads
 * pan:  -DP0=4,5 -DP1=3,0 -DP2=1,1                          A updates or unmaps while B writes again
 * pan:  -DP0=1,0 -DP1=2,0 -DP2=2,1 -DWAIT_FLUSHER           unlocks during the flush; the next access to the home's
 *                                                           copy waits
 * pan:  -DP0=1,5 -DP1=2,1 -DP2=1,0 -DKEEP_COPY              leaving without forgetting the copy: the self-notice
 *                                                           suffices
 * pan:  -DP0=1,1 -DP1=0,0 -DP2=1,1 -DRETAIN                 one processor rewrites: the page may stay writable over
 *                                                           releases
 * pan:  -DP0=1,1 -DP1=2,0 -DP2=1,0 -DRETAIN                 two processors rewrite
 * fail: -DP0=1,1 -DP1=2,0 -DP2=2,1 -DRETAIN -DRETAIN_UNKNOWN  stays writable, but is no writer: the twin is dropped
 * fail: -DP0=4,5 -DP1=3,0 -DP2=1,1 -DUPDATE_LATE_TS         stamps an update in place when it ends
 * fail: -DP0=1,5 -DP1=2,0 -DP2=1,0 -DUPDATE_OVERWRITES      an update in place ignores the twin
 * fail: -DP0=1,0 -DP1=2,0 -DP2=2,1 -DEMPTY_SILENT           an empty diff sends no notices and does not wait
 * fail: -DP0=1,0 -DP1=2,0 -DP2=1,0 -DNO_FLUSH_UPDATE        flushes without updating the twin
 * fail: -DP0=1,0 -DP1=2,0 -DP2=1,0 -DNO_INCOMING_DIFF       lets an incoming page overwrite the frame
 * fail: -DP0=1,0 -DP1=2,0 -DP2=2,1 -DNO_WAIT                skips a flush without waiting for the processor that
 *                                                           makes it
 * fail: -DP0=2,2 -DP1=1,0 -DP2=1,0 -DLATE_UPDATE_TS         stamps the fetch when it ends
 * fail: -DP0=2,2 -DP1=1,0 -DP2=1,0 -DNOTICE_FIRST           sends notices before the diffs are performed
 * fail: -DP0=2,2 -DP1=1,0 -DP2=1,0 -DHEAD_EARLY             empties the notice queue, then distributes
 * fail: -DP0=1,5 -DP1=2,1 -DP2=1,0 -DNO_SELF_NOTICE         maps a copy older than a notice that went to others only
 * fail: -DP0=1,0 -DP1=2,0 -DP2=2,1 -DUNLOCK_FIRST           unlocks the page while its diff is in flight, without a
 *                                                           wait
 * fail: -DP0=2,2 -DP1=1,0 -DP2=1,0 -DFETCH_EARLY            as -DWAIT_FLUSHER, but only the next flush waits, not a
 *                                                           fetch
 */
#ifndef P2
#define P2 0, 0
#endif
#ifndef P3
#define P3 0, 0
#endif
#if defined(NOTICE_FIRST) || defined(FETCH_EARLY)
#define WAIT_FLUSHER
#endif
#define A 0
#define B 1
#define H 2
#define OTHER(n) (1 - (n))
#define NODE(i) ((i) / 2)
#define LOCAL(i) ((i) % 2)
#define ME (1 << LOCAL(me))
#define JUNK 9

byte home[2], frame[4], twin[4]; /* [word], [node][word] */
byte air[8];                     /* [processor][word]: value in flight to the home + 1 */
bit has_twin[2], locked[2];      /* [node]: twin; page lock */
byte mapped[2], writers[2];      /* [node]: sets of local processors */
bit shares[2];                   /* [node]: its word in the directory */
byte queue[2];                   /* [node]: arrived notices */
bit distributing[2];             /* [node]: lock */
byte flusher[2];                 /* [node]: local processor of ts_flush */
bit noticed[4], dirty[4];        /* [processor]: its notice set, its dirty set */
bit taken[2];                    /* application locks */
byte truth[2];                   /* values of a sequential execution */
byte running;

/* Time stamps of a node. */
#define STAMPS 12
#define FLUSH 0
#define UPDATE 1
#define NOTICE 2
#define NOW 3
#define ACQUIRED 4 /* and following: one per local processor */
#define STARTED 6
#define DONE 8
#define WAIT 10
byte stamp[2 * STAMPS];
#define TS(n, k) stamp[(n)*STAMPS + (k)]

hidden byte old, i, gone;

/* put - time stamp k of node n becomes v; ranks stay without gaps. */
inline put(n, k, v)
{
	old = TS(n, k);
	TS(n, k) = v;
	gone = old;
	i = 0;
	do
	:: i < STAMPS ->
		if
		:: TS(n, i) == old -> gone = 0
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	do
	:: i < STAMPS && gone ->
		if
		:: TS(n, i) > gone -> TS(n, i) = TS(n, i) - 1
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

hidden byte last, j;

inline tick(n, k)
{
	last = 0;
	j = 0;
	do
	:: j < STAMPS ->
		if
		:: TS(n, j) > last -> last = TS(n, j)
		:: else
		fi;
		j++
	:: else -> break
	od;
	put(n, k, last + 1)
}

/* ---- acquire ---- */

inline collect()
{
	if
	:: queue[node] == 0
	:: d_step { queue[node] && !distributing[node] ->
			distributing[node] = 1;
			count = queue[node];
#ifdef HEAD_EARLY
			queue[node] = 0;
#endif
			tick(node, NOW) };
		d_step { locked[node] == 0 ->
			if
			:: TS(node, NOTICE) <= TS(node, UPDATE) -> put(node, NOTICE, TS(node, NOW))
			:: else
			fi;
			put(node, NOW, 0);
			w = 0;
			do
			:: w < 2 ->
				if
				:: mapped[node] & (1 << w) -> noticed[node * 2 + w] = 1
				:: else
				fi;
				w++
			:: else -> break
			od;
			w = 0 };
		d_step {
#ifndef HEAD_EARLY
			queue[node] = queue[node] - count;
#endif
			count = 0;
			distributing[node] = 0 }
	fi
}

/* ---- faults ---- */

/* The last flush of the page by a local processor is performed. */
#ifdef WAIT_FLUSHER
#define SETTLED(n) (TS(n, FLUSH) == 0 || flusher[n] == LOCAL(me) || TS(n, DONE + flusher[n]) > TS(n, FLUSH))
#else
#define SETTLED(n) true
#endif

#define IS_MAPPED (mapped[node] & ME)
/* Mapped here, with a later notice. */
#define NOTICED_SINCE (IS_MAPPED && TS(node, UPDATE) < TS(node, NOTICE))
#define STALE                                                                                                          \
	(TS(node, UPDATE) == 0 ||                                                                                      \
	 (TS(node, UPDATE) < TS(node, NOTICE) && TS(node, NOTICE) < TS(node, ACQUIRED + LOCAL(me))))

inline take(word)
{
	if
#ifdef NO_INCOMING_DIFF
	:: true -> frame[node * 2 + word] = in[word]
#else
	:: !has_twin[node] -> frame[node * 2 + word] = in[word]
	:: has_twin[node] && in[word] != twin[node * 2 + word] ->
		frame[node * 2 + word] = in[word];
		twin[node * 2 + word] = in[word]
	:: else
#endif
	fi;
	in[word] = 0
}

inline fetch()
{
	d_step { in[0] = home[0]; in[1] = home[1] };
	d_step { take(0); take(1);
#ifdef LATE_UPDATE_TS
		tick(node, UPDATE)
#endif
	}
}

inline fault(write)
{
#ifdef FETCH_EARLY
	d_step { locked[node] == 0 -> locked[node] = 1; shares[node] = 1 };
#else
	d_step { locked[node] == 0 && SETTLED(node) -> locked[node] = 1; shares[node] = 1 };
#endif
	if
	:: d_step { TS(node, UPDATE) == 0 || (!IS_MAPPED && STALE) ->
#ifdef LATE_UPDATE_TS
			skip
#else
			tick(node, UPDATE)
#endif
		};
		fetch()
	:: else
	fi;
	d_step {
		mapped[node] = mapped[node] | ME;
#ifndef NO_SELF_NOTICE
		if
		:: TS(node, UPDATE) < TS(node, NOTICE) -> noticed[me] = 1
		:: else
		fi;
#endif
		if
		:: write ->
			if
			:: !has_twin[node] ->
				has_twin[node] = 1;
				twin[node * 2] = frame[node * 2];
				twin[node * 2 + 1] = frame[node * 2 + 1]
			:: else
			fi;
			writers[node] = writers[node] | ME;
			dirty[me] = 1
		:: else
		fi;
		locked[node] = 0 }
}

/* A noticed page is unmapped, or updated in place and stays mapped: the code counts; the model tries both. */
inline acquire()
{
	collect();
	d_step { tick(node, ACQUIRED + LOCAL(me)) };
	if
	:: !noticed[me]
	:: d_step { noticed[me] -> noticed[me] = 0 };
		if
		:: d_step { NOTICED_SINCE && locked[node] == 0 ->
				mapped[node] = mapped[node] & ~ME;
				if
				:: mapped[node] == 0 && writers[node] == 0 ->
					shares[node] = 0;
#ifndef KEEP_COPY
					put(node, UPDATE, 0)
#endif
				:: else
				fi;
				skip }
		:: d_step { NOTICED_SINCE && locked[node] == 0 ->
				locked[node] = 1;
#ifndef UPDATE_LATE_TS
				tick(node, UPDATE)
#endif
			};
			d_step { in[0] = home[0]; in[1] = home[1] };
			d_step {
#ifdef UPDATE_OVERWRITES
				frame[node * 2] = in[0];
				frame[node * 2 + 1] = in[1];
				in[0] = 0;
				in[1] = 0;
#else
				take(0);
				take(1);
#endif
#ifdef UPDATE_LATE_TS
				tick(node, UPDATE);
#endif
				locked[node] = 0 }
		:: !NOTICED_SINCE && locked[node] == 0
		fi
	fi
}

/* ---- release ---- */

inline diff(word)
{
	if
	:: frame[node * 2 + word] != twin[node * 2 + word] ->
		air[me * 2 + word] = frame[node * 2 + word] + 1;
#ifndef NO_FLUSH_UPDATE
		twin[node * 2 + word] = frame[node * 2 + word]
#endif
	:: else
	fi
}

inline flush()
{
	do
	:: d_step { air[me * 2] -> home[0] = air[me * 2] - 1; air[me * 2] = 0 }
	:: d_step { air[me * 2 + 1] -> home[1] = air[me * 2 + 1] - 1; air[me * 2 + 1] = 0 }
	:: air[me * 2] == 0 && air[me * 2 + 1] == 0 -> break
	od
}

inline notify(to)
{
	if
	:: d_step { node != to && shares[to] -> queue[to]++ }
	:: node == to || !shares[to]
	fi
}

/* Nothing to flush: another processor's flush carried all of it. */
#define CLEAN (frame[node * 2] == twin[node * 2] && frame[node * 2 + 1] == twin[node * 2 + 1])

inline release_page()
{
	dirty[me] = 0;
	writers[node] = writers[node] & ~ME;
	if
	:: TS(node, FLUSH) > TS(node, STARTED + LOCAL(me)) && flusher[node] != LOCAL(me) ->
		put(node, WAIT + LOCAL(me), TS(node, FLUSH))
	:: else ->
#ifndef EMPTY_SILENT
		if
		:: CLEAN && flusher[node] != LOCAL(me) -> put(node, WAIT + LOCAL(me), TS(node, FLUSH))
		:: else
		fi;
#endif
		flushed = !CLEAN;
		if
		:: flushed -> tick(node, FLUSH); flusher[node] = LOCAL(me)
		:: else
		fi;
		diff(0);
		diff(1)
	fi;
	if
	:: retain ->
		dirty[me] = 1;
#ifndef RETAIN_UNKNOWN
		writers[node] = writers[node] | ME
#endif
	:: else
	fi;
	if
	:: writers[node] == 0 -> has_twin[node] = 0; twin[node * 2] = 0; twin[node * 2 + 1] = 0
	:: else
	fi;
	retain = 0
}

inline release()
{
#ifdef RETAIN
	/* The page stays writable, dirty and with its twin, or not: the code counts. */
	if
	:: IS_MAPPED && shares[OTHER(node)] -> retain = 1
	:: true
	fi;
#endif
	d_step { tick(node, STARTED + LOCAL(me)) };
#if defined(UNLOCK_FIRST) || defined(WAIT_FLUSHER)
	d_step { locked[node] == 0 && SETTLED(node) -> release_page() };
#else
	d_step { locked[node] == 0 -> locked[node] = 1; release_page() };
	flush();
	locked[node] = 0;
#endif
	if
	:: flushed ->
#ifndef NOTICE_FIRST
		flush();
#endif
		notify(A);
		notify(B);
		flush();
		flushed = 0
	:: else
	fi;
	d_step { tick(node, DONE + LOCAL(me)); put(node, STARTED + LOCAL(me), 0) };
#ifndef NO_WAIT
	TS(node, WAIT + LOCAL(me)) == 0 || TS(node, DONE + 1 - LOCAL(me)) > TS(node, WAIT + LOCAL(me));
#endif
	d_step { put(node, WAIT + LOCAL(me), 0) }
}

/* ---- programs ---- */

#ifdef RETAIN_UNKNOWN
#define WRITES_FREELY (IS_MAPPED && dirty[me])
#else
#define WRITES_FREELY (IS_MAPPED && (writers[node] & ME))
#endif

inline operation(op)
{
	word = (op - 1) % 2;
	if
	:: op == 5
	:: atomic { op < 5 && !taken[word] -> taken[word] = 1 }
	fi;
	acquire();
	if
	:: op == 5
	:: op < 5 && IS_MAPPED -> assert(frame[node * 2 + word] == truth[word])
	:: op < 5 && !IS_MAPPED
	fi;
	if
	:: op < 3 ->
		if
		:: WRITES_FREELY
		:: !WRITES_FREELY -> fault(true)
		fi;
		d_step { assert(frame[node * 2 + word] == truth[word]); frame[node * 2 + word] = JUNK };
		d_step { truth[word]++; frame[node * 2 + word] = truth[word] };
		release()
	:: op == 5 || (op >= 3 && IS_MAPPED)
	:: op < 5 && op >= 3 && !IS_MAPPED ->
		fault(false);
		assert(frame[node * 2 + word] == truth[word])
	fi;
	d_step { taken[word] = taken[word] && op == 5; word = 0 }
}

/* On the home the master copy is the frame: no twin; notices are sent, not obeyed. */
inline home_operation(op)
{
	word = (op - 1) % 2;
	atomic { !taken[word] -> taken[word] = 1 };
	d_step { assert(home[word] == truth[word]);
		if
		:: op < 3 -> home[word] = JUNK
		:: else
		fi;
		skip };
	if
	:: op < 3 ->
		d_step { truth[word]++; home[word] = truth[word] };
		notify(A);
		notify(B)
	:: else
	fi;
	d_step { taken[word] = 0; word = 0 }
}

proctype processor(byte me, node, first, second)
{
	byte w, word, count, in[2];
	bit flushed, retain;
	do
	:: first ->
		operation(first);
		d_step { first = second; second = 0 }
	:: else -> break
	od;
	running--
}

proctype home_processor(byte first, second)
{
	byte word, node = H;
	do
	:: first ->
		home_operation(first);
		d_step { first = second; second = 0 }
	:: else -> break
	od;
	running--
}

init
{
	atomic {
		running = 4;
		run processor(0, A, P0);
		run processor(1, A, P1);
		run processor(2, B, P2);
		run home_processor(P3)
	}
	d_step { running == 0 -> assert(home[0] == truth[0] && home[1] == truth[1]) }
}
