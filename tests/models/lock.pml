/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.pml - the queue lock between nodes (sync/queue_lock.c), with kept locks, one-sided taking and try_acquire.
 *
 * One process per node: the processor that has the node's turn.  Atomics on other nodes' words are one step each; the
 * grant is a plain write that arrives some time later.  Every node enters ROUNDS times, by acquire or by try.
 *
 * Claim:    at most one node is inside (assert in use()).  No node waits for ever: at the end all are through (pan's
 *           invalid end states).
 * Not here: the turn inside a node, sleeping and bells, destruction.
 * By hand:  spin -a lock.pml && gcc -O2 -DNODES=3 -o pan pan.c && ./pan -m100000   (pass -D to spin as well)
 *
 * pan:  -DNODES=3                 three nodes, three entries each
 * pan:  -DNODES=4 -DROUNDS=1      a longer queue
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
#define NEXT(n) (((n) + 1) << 3)
#define NEXT_NODE(w) (((w) >> 3) - 1)
#define HAS_NEXT(w) ((w) >> 3)

byte word[NODES];
byte tail;        /* last node of the queue + 1 */
bit grant[NODES];
bit air[NODES];   /* a grant is in flight */
byte inside;
byte through;

inline give(n) { d_step { assert(!air[n]); air[n] = 1 } }

inline use()
{
	inside++;
	assert(inside == 1);
	inside--
}

/* Sets @seen to the old own word; if that was FREE, the lock was kept and is taken. */
inline retake()
{
#ifdef BLIND_RETAKE
	seen = word[me];
	if
	:: seen == FREE -> word[me] = BUSY
	:: else
	fi
#else
	d_step {
		seen = word[me];
		if
		:: seen == FREE -> word[me] = BUSY
		:: else
		fi
	}
#endif
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
	:: seen == FREE
	:: else ->
		word[me] = BUSY;
		d_step { last = tail; tail = me + 1 };
		if
		:: last == 0
		:: else ->
			assert(last != me + 1);
			d_step { seen = word[last - 1]; assert(!HAS_NEXT(seen) && seen != 0); word[last - 1] = seen + NEXT(me) };
			if
			:: seen == FREE
			:: else ->
				grant[me];
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
	:: !taken && HAS_NEXT(seen) -> give(NEXT_NODE(seen))
	:: else
	fi
#endif
}

inline try_enter()
{
	taken = 0;
	retake();
	if
	:: seen == FREE -> taken = 1
	:: seen & TRY
	:: else ->
		last = tail;
		if
		:: last == 0 ->
			word[me] = BUSY;
			d_step {
				taken = (tail == 0);
				if
				:: taken -> tail = me + 1
				:: else
				fi
			}
		:: else ->
#ifdef NO_TRY_MARK
			seen = word[last - 1];
#else
			d_step {
				seen = word[last - 1];
				if
				:: seen == FREE -> word[last - 1] = FREE + TRY
				:: else
				fi
			};
#endif
			if
			:: seen == FREE -> word[me] = BUSY; try_tail()
			:: else -> last = 255 /* the own word was not touched */
			fi
		fi;
		if
		:: !taken && last != 255 -> word[me] = 0
		:: else
		fi
	fi
}

inline leave()
{
#ifdef BLIND_LEAVE
	seen = word[me];
	if
	:: seen == BUSY -> word[me] = FREE
	:: else
	fi;
#else
	d_step {
		seen = word[me];
		if
		:: seen == BUSY -> word[me] = FREE
		:: else
		fi
	};
#endif
	if
	:: seen == BUSY
	:: else ->
		assert((seen & BUSY) && HAS_NEXT(seen));
		word[me] = 0;
		give(NEXT_NODE(seen))
	fi
}

proctype node(byte me)
{
	byte round, seen, last;
	bit taken;

	do
	:: round < ROUNDS ->
		round++;
		if
		:: enter()
		:: try_enter()
		fi;
		if
		:: taken -> use(); leave()
		:: else
		fi;
		d_step { seen = 0; last = 0; taken = 0 }
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
