/* SPDX-License-Identifier: BSD-3-Clause */
/* word.pml - atomic operations on the newest copy of a word (protocols/cashmere/word.c) against claims of exclusive
 * mode, its end, nodes that leave the directory, and plain loads.
 *
 * Nodes 0 and 1 have one processor each, which adds to the word, claims the page in exclusive mode, leaves the
 * directory, acquires and loads, or loads from the master without the lock, in any order.  The home is a third node
 * that does nothing: its frame is the master.
 * Each node has its own replica of both directory words; a publication reaches one replica after the other, and the
 * flush waits for both.  An agent ends its node's exclusive mode.  After an operation a processor releases: it sends a
 * notice to a node that its replica shows, then counts the operation as announced.  An operation on the master is a
 * compare-and-swap from the value of the node's frame, as where nodes share no memory.
 *
 * Claim:    at the end the newest copy has all additions.  A load after an acquire has those announced before; a load
 *           without the lock has those performed before.
 * With POST a processor may also leave an addition under way, which its node's copy takes at once, and releases some
 * time later.  Each other step of the processor begins when what it has under way is performed.
 *
 * Not here: twins and the bytes around the word; a home that holds the page itself, whose frame is the master, too.
 *
 * pan:  -DSTEPS=3                the code
 * fail: -DSTEPS=3 -DNO_ENTRY     operates on the master though another node may be in exclusive mode
 * fail: -DSTEPS=3 -DNO_BREAK     enters the directory, and does not wait for the end of that mode
 * fail: -DSTEPS=3 -DNOTICE_FIRST announces the operation before it is performed
 * fail: -DSTEPS=3 -DNO_COMPARE   stores what it has made of the frame's value
 * fail: -DSTEPS=3 -DNO_UPDATE    leaves the node's own copy as it was
 * fail: -DSTEPS=4 -DPEEK_CLAIMED  loads from the master in exclusive mode, or until its end has sent the page home
 * fail: -DSTEPS=3 -DPEEK_LEFT    loads from the master behind its leaving the directory
 * pan:  -DSTEPS=3 -DPOST                the code, additions under way
 * fail: -DSTEPS=3 -DPOST -DNO_SETTLE    does not wait for them
 * fail: -DSTEPS=3 -DPOST -DNO_COPY      leaves an addition under way that its own copy lacks
 */
#define NONE 0
#define READ 1
#define WRIT 2
#define EXCL 3

byte master, frame[2];      /* the home's frame; the nodes' */
byte word[4];               /* the directory: word[2 * n + r] is node n's in the replica of node r */
bit locked[2];              /* page locks */
bit exclusive[2], entered[2], valid[2], noticed[2];
byte added[2], announced[2];
byte asked[2];              /* 1: a break is asked of the node's agent; 2: done */
bit peeked[2];              /* loads without the lock may be made */
byte ends[2];               /* how often that has ended */
byte ended;
#ifdef POST
byte posted[2];             /* additions under way */
#endif

#define OTHER     (1 - me)
#define SEEN      word[2 * OTHER + me]
#define PUBLISHED word[2 * me + me]

inline publish(right)
{
	if
	:: word[2 * me] = right; word[2 * me + 1] = right
	:: word[2 * me + 1] = right; word[2 * me] = right
	fi
}

inline lock()
{
	atomic { !locked[me] -> locked[me] = 1 }
}

inline unlock()
{
	locked[me] = 0
}

/* With the page locked: until the node is in the directory, and no other is in exclusive mode. */
inline enter()
{
	do
	:: exclusive[me] || entered[me] -> break
	:: else ->
		if
		:: PUBLISHED < READ -> publish(READ)
		:: else
		fi;
		if
#ifndef NO_BREAK
		:: SEEN == EXCL ->
			unlock();
			asked[OTHER] = 1;
			atomic { asked[OTHER] == 2 -> asked[OTHER] = 0 };
			lock()
#endif
		:: else -> entered[me] = 1
		fi
	od
}

inline notice()
{
	if
	:: SEEN != NONE -> noticed[OTHER] = 1
	:: else
	fi
}

inline add()
{
#ifdef NOTICE_FIRST
	notice();
#endif
	lock();
#ifndef NO_ENTRY
	enter();
#endif
	if
	:: exclusive[me] -> frame[me]++
	:: else ->
		peeked[me] = 1;
		guess = frame[me];
		do
#ifdef NO_COMPARE
		:: master = guess + 1; break
#else
		:: atomic { master == guess -> master = guess + 1; guess = 0 }; break
#endif
		:: atomic { master != guess -> guess = master }
		od;
#ifndef NO_UPDATE
		frame[me] = (valid[me] -> master : frame[me])
#endif
	fi;
	added[me]++;
	unlock();
#ifndef NOTICE_FIRST
	notice();
#endif
	announced[me] = added[me]
}

#ifdef POST
inline settle()
{
#ifndef NO_SETTLE
	posted[me] == 0
#else
	skip
#endif
}

inline post()
{
	lock();
	if
	:: exclusive[me] || entered[me] -> skip
	:: else ->
		unlock();
		settle();
		lock();
		enter()
	fi;
	if
	:: exclusive[me] -> frame[me]++; added[me]++
	:: !exclusive[me] ->
		posted[me]++;
		added[me]++;
#ifndef NO_COPY
		frame[me] = frame[me] + valid[me]
#else
		skip
#endif
	fi;
	unlock()
}

inline release()
{
	settle();
	notice();
	announced[me] = added[me]
}

proctype network(bit me)
{
end:	do
	:: atomic { posted[me] > 0 -> posted[me]--; master++ }
	od
}
#else
#define settle() skip
#endif

inline claim()
{
	lock();
	if
	:: !exclusive[me] && SEEN == NONE ->
		publish(EXCL);
		if
		:: SEEN != NONE -> publish(WRIT)
		:: else ->
#ifndef PEEK_CLAIMED
			atomic { ends[me] = ends[me] + peeked[me]; peeked[me] = 0 };
#endif
			exclusive[me] = 1;
			frame[me] = master;
			valid[me] = 1;
			entered[me] = 1
		fi
	:: else
	fi;
	unlock()
}

inline leave()
{
	lock();
	if
	:: exclusive[me] -> master = frame[me]; exclusive[me] = 0
	:: else
	fi;
	valid[me] = 0;
	entered[me] = 0;
#ifndef PEEK_LEFT
	atomic { ends[me] = ends[me] + peeked[me]; peeked[me] = 0 };
#endif
	publish(NONE);
	unlock()
}

/* A load without the lock. */
inline peek()
{
	before = added[0] + added[1];
	atomic { look = peeked[me]; ends_then = ends[me] };
	if
	:: look ->
		seen = master;
		atomic {
			assert(!(peeked[me] && ends[me] == ends_then) || seen >= before);
			look = 0; ends_then = 0; seen = 0
		}
	:: else -> ends_then = 0
	fi
}

inline load()
{
	before = announced[0] + announced[1];
	lock();
	if
	:: noticed[me] ->
		noticed[me] = 0;
		valid[me] = exclusive[me]
	:: else
	fi;
	if
	:: !valid[me] ->
		enter();
		if
		:: !exclusive[me] -> frame[me] = master; valid[me] = 1
		:: else
		fi
	:: else
	fi;
	assert(frame[me] >= before && frame[me] >= added[me]);
	unlock()
}

proctype processor(bit me)
{
	byte step, before, seen, ends_then, guess;
	bit look;

	do
	:: step < STEPS ->
		step++;
		if
		:: true -> settle(); add()
		:: true -> settle(); claim()
		:: true -> settle(); leave()
		:: true -> settle(); load()
#ifdef POST
		:: true -> post()
		:: true -> release()
#else
		:: true -> peek()
#endif
		fi
	:: else -> break
	od;
	ended++
}

proctype agent(bit me)
{
end:	do
	:: asked[me] == 1 ->
		lock();
		if
		:: exclusive[me] ->
			exclusive[me] = 0;
			master = frame[me];
			publish(WRIT)
		:: else
		fi;
		unlock();
		asked[me] = 2
	od
}

init
{
	atomic {
		run processor(0); run processor(1); run agent(0); run agent(1);
#ifdef POST
		run network(0); run network(1)
#endif
	};
	ended == 2;
#ifdef POST
	posted[0] + posted[1] == 0;
#endif
	assert((exclusive[0] -> frame[0] : (exclusive[1] -> frame[1] : master)) == added[0] + added[1])
}
