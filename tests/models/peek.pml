/* SPDX-License-Identifier: BSD-3-Clause */
/* peek.pml - a load of a word from the master, without the page's lock, and a plain load of the same word behind it
 * (cash_word_peek, ts_word_peek).
 *
 * Another node stores the values 1, 0, 1, ... to the master.  Processors 0 and 1 of the reading node share its frame.
 * Processor 0 loads from the master, and then plainly: from the frame if the node has a copy; else it fetches one.
 * Processor 1 fetches the page, or acquires, which drops the copy, in any order.  A fetch holds the page's lock from
 * its read of the master until its store to the frame; Cashmere's marks the page busy instead.
 *
 * Versions count the stores.  The frame's is that of its value, or a later one when it was found to be the same.
 *
 * Claim:    a plain load does not find an older version than the load before it.
 * Not here: the moves of the master (word.pml, shared.pml).
 *
 * N: stores.  STEPS: of each processor.
 *
 * pan:  -DN=4 -DSTEPS=3
 * fail: -DN=2 -DSTEPS=2 -DNO_COMPARE     takes the master's value, whatever the frame has
 * fail: -DN=4 -DSTEPS=3 -DCOMPARE_FIRST  looks at the lock behind the comparison
 * fail: -DN=4 -DSTEPS=3 -DNO_LOOK        does not look at the lock
 */
#define VALUE(version) ((version) % 2)

byte master, frame; /* versions */
bit copy, locked;

inline lock()
{
	atomic { !locked -> locked = 1 }
}

inline fetch()
{
	lock();
	got = master;
	frame = got;
	copy = 1;
	locked = 0
}

/* With the lock: the frame gets the value. */
inline load_locked()
{
	lock();
	seen = master;
	frame = seen;
	locked = 0
}

inline compare()
{
	atomic {
		same = VALUE(frame) == VALUE(seen);
		if
		:: same && frame < seen -> frame = seen
		:: else
		fi
	}
}

inline load()
{
	seen = master;
#ifdef NO_COMPARE
	same = 1;
#endif
#ifdef NO_LOOK
	compare();
#endif
#ifdef COMPARE_FIRST
	compare();
	same = same && !locked;
#endif
#if !defined(NO_COMPARE) && !defined(NO_LOOK) && !defined(COMPARE_FIRST)
	same = !locked;
	if
	:: same -> compare()
	:: else
	fi;
#endif
	if
	:: !same -> load_locked()
	:: else
	fi
}

active proctype store()
{
	do
	:: master < N -> master++
	:: else -> break
	od
}

active proctype reader()
{
	byte step, seen, got;
	bit same;

	do
	:: step < STEPS ->
		step++;
		load();
		if
		:: !copy -> fetch()
		:: else -> got = frame
		fi;
		assert(got >= seen);
		got = 0
	:: else -> break
	od
}

active proctype neighbour()
{
	byte step, got;

	do
	:: step < STEPS ->
		step++;
		if
		:: true -> fetch()
		:: true -> lock(); copy = 0; locked = 0
		fi;
		got = 0
	:: else -> break
	od
}
