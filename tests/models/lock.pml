/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.pml - the queue lock between nodes (sync/queue_lock.c), with kept locks, one-sided taking and try_acquire, and
 * locks that are kept for a moment though another node waits.
 *
 * One process per node: the processor that has the node's turn.  Atomics on other nodes' words are one step each; the
 * grant is a plain write that arrives some time later.  Every node enters ROUNDS times, by acquire or by try.
 *
 * With PENDS, a release may stay pending until the node that gets the lock demands it (core/coherence/lazy.c), unless
 * it knows that the release's number is performed.  A node may also take the lock and give it up without a release.
 * OTHERS: it has released another lock before, which is pending, and it may have demanded what others have released.
 * RETURNS: the home, node 0, may take itself out of the queue when it gives up the lock.
 *
 * Claim:    at most one node is inside (assert in use()).  No node waits for ever: at the end all are through (pan's
 *           invalid end states).  A node that has the lock has had the last release performed.
 * Not here: the turn inside a node, sleeping and bells, destruction.
 * By hand:  spin -a lock.pml && gcc -O2 -DNODES=3 -o pan pan.c && ./pan -m100000   (pass -D to spin as well)
 *
 * pan:  -DNODES=3                 three nodes, three entries each
 * pan:  -DNODES=4 -DROUNDS=1      a longer queue
 * pan:  -DNODES=3 -DROUNDS=2 -DKEEPS   nodes keep the lock, as often as they like, though another one waits
 * pan:  -DNODES=3 -DROUNDS=2 -DPENDS -DNO_TRIES   releases stay pending
 * pan:  -DNODES=3 -DROUNDS=1 -DPENDS
 * pan:  -DNODES=2 -DPENDS
 * pan:  -DNODES=2 -DROUNDS=2 -DPENDS -DKEEPS
 * pan:  -DNODES=2 -DROUNDS=2 -DPENDS -DOTHERS
 * pan:  -DNODES=3 -DROUNDS=1 -DPENDS -DOTHERS
 * pan:  -DNODES=3 -DROUNDS=2 -DRETURNS
 * pan:  -DNODES=3 -DROUNDS=1 -DRETURNS -DPENDS
 * pan:  -DNODES=2 -DROUNDS=2 -DRETURNS -DPENDS -DKEEPS
 * fail: -DNODES=2 -DPENDS -DRETURNS -DLOSE_RETURNED   a node that takes the returned lock demands nothing
 * fail: -DNODES=2 -DRETURNS -DBLIND_RETURN   the home returns the lock by read and write
 * fail: -DNODES=3 -DRETURNS -DFREE_RETURN   the home frees the lock before it leaves the queue
 * fail: -DNODES=2 -DPENDS -DLOSE_FREE   a node that takes the free lock demands nothing
 * fail: -DNODES=3 -DPENDS -DLOSE_GRANT   a grant does not say that releases are pending
 * fail: -DNODES=3 -DROUNDS=1 -DPENDS -DLOSE_TRY   nor does a grant in place of the owner
 * fail: -DNODES=2 -DPENDS -DKEEPS -DLOSE_KEPT   a node that takes the kept lock demands nothing
 * fail: -DNODES=2 -DPENDS -DOTHERS -DLATE_NUMBER   the number of an answer is read when all is performed
 * fail: -DNODES=3 -DPENDS -DLOSE_OWN   a node that gives its own lock up without a release forgets it
 * fail: -DNODES=2 -DKEEPS -DBLIND_KEPT   the owner takes the kept lock back by read and write
 * fail: -DNODES=2 -DKEEPS -DBLIND_TAKE   the successor takes the kept lock by read and write
 * fail: -DNODES=2 -DKEEPS -DBLIND_URGENT   the successor adds URGENT by read and write
 * fail: -DNODES=2 -DKEEPS -DNEVER_TAKES   the successor waits for the grant alone
 * fail: -DNODES=3 -DBLIND_RETAKE  the owner takes its free lock back by read and write
 * fail: -DNODES=3 -DBLIND_LEAVE   the owner frees the lock by read and write: NEXT is lost
 * fail: -DNODES=3 -DNO_TRY_MARK   try moves the tail without stopping the owner first
 * fail: -DNODES=3 -DNO_TRY_GRANT  a failing try does not grant to a node that linked itself meanwhile
 * fail: -DNODES=3 -DKEEP_GRANT    a consumed grant is not reset
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

#define BUSY 1
#define FREE 2
#define TRY 4
#define KEPT 8
#define URGENT 16
#define SOON 32
#define NEXT(n) (((n) + 1) << 7)
#define NEXT_NODE(w) (((w) >> 7 & 7) - 1)
#define HAS_NEXT(w) ((w) >> 7 & 7)
#define NUMBER(n) ((n) << 10)
#define NUMBER_OF(w) ((w) >> 10)
#define PLAIN(w) ((w) & 1023)
#define NONE 255
#define RETURNED 64
#define NOBODY(t) ((t) == 0 || ((t) & RETURNED))

short word[NODES];
short tail;       /* last node of the queue + 1, or RETURNED + NUMBER */
bit grant[NODES];
bit air[NODES];   /* a grant is in flight */
byte says[NODES]; /* the number that the grant names */
byte inside;
byte through;
byte undone[NODES];    /* the number that the node writes beside FREE and KEPT */
byte number[NODES];    /* of the node's last release */
byte performed[NODES]; /* all of the node's releases up to this number are */
byte known[NODES * NODES];
byte releaser = NONE, released; /* of the lock: node and number, 0 if that was performed at once */

inline give(n, u) { d_step { assert(!air[n]); air[n] = 1; says[n] = u } }

/* Have performed what a node has released. */
inline demand(from)
{
#ifdef OTHERS
	answer = number[from];
	performed[from] = (answer > performed[from] -> answer : performed[from]);
#else
	d_step { answer = number[from]; performed[from] = answer }
#endif
#ifdef LATE_NUMBER
	answer = number[from];
#endif
	d_step {
		if
		:: answer > known[me * NODES + from] -> known[me * NODES + from] = answer
		:: else
		fi;
		answer = 0
	}
}

/* The node has got the lock: from @last - 1, whose word or grant was @seen, or it had the lock itself. */
inline follow()
{
#ifdef PENDS
	if
	:: came ->
		if
		:: NUMBER_OF(seen) > known[me * NODES + last - 1] -> demand(last - 1)
		:: else
		fi;
		undone[me] = 0
	:: else
	fi;
	assert(releaser == NONE || releaser == me || performed[releaser] >= released)
#else
	skip
#endif
}

inline release()
{
#ifdef PENDS
	if
	:: d_step { number[me]++; undone[me] = number[me]; releaser = me; released = number[me] }
	:: d_step { performed[me] = number[me]; undone[me] = 0; releaser = me; released = 0 }
#ifdef LOSE_OWN
	:: undone[me] = 0
#else
	:: skip
#endif
	fi
#else
	skip
#endif
}

inline use()
{
	inside++;
	assert(inside == 1);
	inside--
}

/* The own word of a node that takes the lock. */
inline choose()
{
	busy = BUSY;
#ifdef KEEPS
	if
	:: busy = BUSY + SOON
	:: skip
	fi
#endif
}

/* Sets @seen to the old own word; if that was FREE or KEPT, the lock was retained and is taken. */
inline retake()
{
	choose();
#ifdef BLIND_KEPT
	seen = word[me];
	if
	:: seen & KEPT -> word[me] = seen - KEPT + busy
	:: seen == FREE -> word[me] = busy
	:: else
	fi
#elif defined(BLIND_RETAKE)
	seen = word[me];
	if
	:: seen == FREE -> word[me] = BUSY
	:: else
	fi
#else
	d_step {
		seen = word[me];
		if
		:: PLAIN(seen) == FREE -> word[me] = busy
		:: seen & KEPT -> word[me] = PLAIN(seen) - KEPT + busy
		:: else
		fi
	}
#endif
}

#define RETAKEN (PLAIN(seen) == FREE || (seen & KEPT))

/* The predecessor may keep the lock. Either the grant comes, or the time is over. */
inline await()
{
	if
	:: grant[me]
#ifndef NEVER_TAKES
	:: do
	   ::
#ifdef BLIND_TAKE
		kept = (word[last - 1] == KEPT + NEXT(me));
		if
		:: kept -> word[last - 1] = 0; break
		:: else
		fi;
#else
		d_step {
			kept = (PLAIN(word[last - 1]) == KEPT + NEXT(me));
			if
#ifdef LOSE_KEPT
			:: kept -> seen = 0; word[last - 1] = 0
#else
			:: kept -> seen = word[last - 1]; word[last - 1] = 0
#endif
			:: else
			fi
		};
		if
		:: kept -> break
		:: else
		fi;
#endif
#ifdef BLIND_URGENT
		if
		:: word[last - 1] == BUSY + SOON + NEXT(me) -> word[last - 1] = BUSY + SOON + URGENT + NEXT(me); break
		:: word[last - 1] == KEPT + NEXT(me)
		:: else -> break
		fi
#else
		d_step {
			again = (PLAIN(word[last - 1]) == KEPT + NEXT(me));
			if
			:: word[last - 1] == BUSY + SOON + NEXT(me) -> word[last - 1] = BUSY + SOON + URGENT + NEXT(me)
			:: else
			fi
		};
		if
		:: again
		:: else -> break
		fi
#endif
	   od
#endif
	fi
}

/* The lock was returned to its home: node 0 has released it. */
inline returned()
{
#ifdef LOSE_RETURNED
	seen = 0;
#else
	seen = last - RETURNED;
#endif
	came = (me != 0);
	last = 1
}

inline enter()
{
	do
	:: retake();
		if
		:: seen & TRY -> !(word[me] & TRY)
		:: else -> break
		fi
	od;
	if
	:: RETAKEN
	:: else ->
		word[me] = busy;
		d_step { last = tail; tail = me + 1 };
		if
		:: last == 0
		:: last & RETURNED -> returned()
		:: else ->
			assert(last != me + 1);
			came = 1;
			d_step { seen = word[last - 1]; assert(!HAS_NEXT(seen) && seen != 0); word[last - 1] = seen + NEXT(me) };
			kept = 0;
			if
			:: seen & SOON -> await()
			:: else
			fi;
			if
#ifdef LOSE_FREE
			:: PLAIN(seen) == FREE -> seen = 0
#else
			:: PLAIN(seen) == FREE
#endif
			:: kept
			:: PLAIN(seen) != FREE && !kept ->
				grant[me];
				seen = NUMBER(says[me]);
#ifndef KEEP_GRANT
				grant[me] = 0
#endif
			fi
		fi
	fi;
	taken = 1
}

/* The owner is marked and the own word is BUSY. */
inline try_tail()
{
	d_step {
		taken = (tail == last);
		if
		:: taken -> tail = me + 1
		:: else
		fi
	};
	d_step {
		seen = word[last - 1];
#ifdef NO_TRY_MARK
		word[last - 1] = seen + (taken -> NEXT(me) : 0)
#else
		assert((seen & TRY) && !(taken && HAS_NEXT(seen)));
		word[last - 1] = seen + (taken -> NEXT(me) : 0) - TRY
#endif
	};
#if !defined(NO_TRY_GRANT) && !defined(NO_TRY_MARK)
	if
#ifdef LOSE_TRY
	:: !taken && HAS_NEXT(seen) -> give(NEXT_NODE(seen), 0)
#else
	:: !taken && HAS_NEXT(seen) -> give(NEXT_NODE(seen), NUMBER_OF(seen))
#endif
	:: else
	fi;
#endif
	came = taken
}

inline try_enter()
{
	taken = 0;
	retake();
	if
	:: RETAKEN -> taken = 1
	:: (seen & TRY) && !RETAKEN
	:: else ->
		last = tail;
		if
		:: NOBODY(last) ->
			word[me] = busy;
			d_step {
				taken = (tail == last);
				if
				:: taken -> tail = me + 1
				:: else
				fi
			};
			if
			:: taken && (last & RETURNED) -> returned()
			:: else
			fi
		:: else ->
#ifdef NO_TRY_MARK
			seen = word[last - 1];
#else
			d_step {
				seen = word[last - 1];
				if
				:: PLAIN(seen) == FREE -> word[last - 1] = seen + TRY
				:: else
				fi
			};
#endif
			if
			:: PLAIN(seen) == FREE -> word[me] = busy; try_tail()
			:: else -> last = -1 /* the own word was not touched */
			fi
		fi;
		if
		:: !taken && last != -1 -> word[me] = 0
		:: else
		fi
	fi
}

#ifdef LOSE_GRANT
#define SAID 0
#else
#define SAID undone[me]
#endif

/* The home takes itself out of the queue, or not. */
inline give_back()
{
	left = 0;
#ifdef RETURNS
	if
	:: me == 0 && !HAS_NEXT(word[me]) ->
#ifdef FREE_RETURN
		word[me] = FREE + NUMBER(undone[me]);
#endif
#ifdef BLIND_RETURN
		left = (tail == me + 1);
		if
		:: left -> tail = RETURNED + NUMBER(undone[me])
		:: else
		fi;
#else
		d_step {
			left = (tail == me + 1);
			if
			:: left -> tail = RETURNED + NUMBER(undone[me])
			:: else
			fi
		};
#endif
		if
		:: left -> word[me] = 0
#ifdef FREE_RETURN
		:: else -> left = 1
#else
		:: else
#endif
		fi
	:: skip
	fi
#endif
}

inline leave()
{
#ifdef BLIND_LEAVE
	seen = word[me];
	if
	:: !HAS_NEXT(seen) -> word[me] = FREE
	:: else -> word[me] = 0; give(NEXT_NODE(seen), SAID)
	fi
#else
	d_step {
		seen = word[me];
		assert(seen & BUSY);
		if
		:: !HAS_NEXT(seen) -> word[me] = FREE + NUMBER(undone[me])
		:: else
		fi
	};
	if
	:: !HAS_NEXT(seen)
	:: HAS_NEXT(seen) && (seen & SOON) && !(seen & URGENT) ->
		/* By compare-and-swap from @seen: URGENT may come meanwhile. */
		d_step {
			kept = (word[me] == seen);
			if
			:: kept -> word[me] = KEPT + NEXT(NEXT_NODE(seen)) + NUMBER(undone[me])
			:: else -> seen = word[me]
			fi
		};
		if
		:: kept
		:: else -> word[me] = 0; give(NEXT_NODE(seen), SAID)
		fi
	:: HAS_NEXT(seen) ->
		d_step { seen = word[me]; word[me] = 0 };
		give(NEXT_NODE(seen), SAID)
	fi
#endif
}

proctype node(byte me)
{
	byte round;
	short seen, busy, last;
	byte answer, other;
	bit taken, kept, again, came, left;

	do
	:: round < ROUNDS ->
		round++;
#ifdef OTHERS
		if
		:: number[me]++
		:: skip
		fi;
		if
		:: other = (me + 1) % NODES; demand(other)
		:: skip
		fi;
#endif
		if
		:: enter()
#ifndef NO_TRIES
		:: try_enter()
#endif
		fi;
		if
		:: taken ->
			follow();
			use();
			release();
			give_back();
			if
			:: left
			:: else -> leave()
			fi
		:: else
		fi;
		d_step { left = 0; seen = 0; busy = 0; last = 0; other = 0; taken = 0; kept = 0; again = 0; came = 0 }
	:: else -> break
	od;
	through++
}

/* Grants arrive at any time. */
proctype network(byte to)
{
	do
	:: d_step { air[to] -> air[to] = 0; grant[to] = 1 }
	:: through == NODES && !air[to] -> break
	od
}

init
{
	byte i;

	atomic {
		do
		:: i < NODES -> run node(i); run network(i); i++
		:: else -> break
		od
	}
}
