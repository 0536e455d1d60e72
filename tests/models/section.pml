/* SPDX-License-Identifier: BSD-3-Clause */
/* section.pml - a page's critical section under TS (protocols/timestamp/section.c): chains of probable owners, a
 * queue lock at their end.
 *
 * One process per node: the processor that has the node's turn (ts_page.busy).  Atomics on words are one step each,
 * following a link is a step of its own, and the hand-over is a plain write that arrives some time later.  Every node
 * enters ROUNDS times.
 *
 * Claim:    at most one node is inside.  An entering node learns the node that was inside before (its words are the
 *           page's).  No node waits for ever: at the end all are through (pan's invalid end states).
 * Not here: turns inside a node, sleeping and bells.
 * By hand:  spin -DNODES=3 -a section.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *
 * pan:  -DNODES=3 -DROUNDS=3                three nodes, three entries each
 * pan:  -DNODES=4 -DROUNDS=1                longer chains
 * fail: -DNODES=3 -DROUNDS=2 -DBLIND_LEAVE  leaves by read and write: the next node is lost
 * fail: -DNODES=3 -DROUNDS=2 -DBLIND_LINK   a waiter links itself by read and write
 * fail: -DNODES=3 -DROUNDS=2 -DKEEP_HAND    a used hand-over is not reset
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

#define UNLOCKED 1
#define LOCKED   2
#define LINK(n)  (3 + (n))
#define FIRST    0 /* the page's first home: zero words stand for its link and for links to it */
#define MEANS(n) (link[n] != 0 -> link[n] : ((n) == FIRST -> UNLOCKED : LINK(FIRST)))

byte link[NODES], through;
bit hand[NODES];
byte inside;
byte before = FIRST;

/* Sets @w to the meaning of @n's word, and the word to @new if that was @old. */
inline cas(n, old, new)
{
	d_step {
		w = MEANS(n);
		if
		:: w == old -> link[n] = new
		:: else
		fi
	}
}

inline seek()
{
	do
	:: cas(at, UNLOCKED, LINK(me));
		if
		:: w == UNLOCKED -> break
		:: w == LOCKED ->
#ifdef BLIND_LINK
			link[at] = LINK(me);
#else
			cas(at, LOCKED, LINK(me));
#endif
			if
			:: w == LOCKED -> hand[me]; break
			:: w > LOCKED -> at = w - LINK(0)
			:: else
			fi
		:: w > LOCKED -> at = w - LINK(0)
		fi
	od
}

proctype node(byte me)
{
	byte w, at, round;

	do
	:: round == ROUNDS -> break
	:: else ->
		cas(me, UNLOCKED, LOCKED);
		at = me;
		if
		:: w == UNLOCKED
		:: else ->
			assert(w != LOCKED);
			at = w - LINK(0);
#ifndef KEEP_HAND
			hand[me] = 0;
#endif
			link[me] = LOCKED;
			seek()
		fi;
		inside++;
		assert(inside == 1);
		assert(at == before);
		before = me;
		inside--;
#ifdef BLIND_LEAVE
		w = link[me];
		if
		:: w == LOCKED -> link[me] = UNLOCKED
		:: else
		fi;
#else
		cas(me, LOCKED, UNLOCKED);
#endif
		if
		:: w != LOCKED -> hand[w - LINK(0)] = 1
		:: else
		fi;
		round++
	od;
	through++
}

init
{
	atomic {
		byte i = 0;
		do
		:: i == NODES -> break
		:: else -> run node(i); i++
		od
	}
}
