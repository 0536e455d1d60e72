/* SPDX-License-Identifier: BSD-3-Clause */
/* message.pml - diffs as messages that the home's agent applies (protocols/cashmere/message.c; release_messages in
 * release.c).
 *
 * Processors 0 and 1 write words 0 and 1 of their node's frame, away from the home, each under its lock; the home's
 * processor writes either word in the master.  A release puts the diff (a flush-update of the twin) into a buffer,
 * marks the page busy, unlocks it, and waits for the reply; faults and releases of the other processor wait until the
 * page is not busy.  Acquires unmap, so each fault fetches through the twin.
 *
 * Claim:    under a word's lock, frame and master have what the last critical section left.  No processor waits for
 *           ever.  At the end the master has the last values.
 * Not here: time stamps and notices (page.pml), homes that move (migrate.pml), why the page is not simply locked
 *           meanwhile (agents wait for page locks: directory.pml, HOLD_LOCK).
 *
 * P0, P1, H: critical sections of the processors.
 *
 * pan:  -DP0=2 -DP1=2 -DH=2
 * fail: -DP0=2 -DP1=2 -DH=2 -DNOT_BUSY     the page is not busy: the other processor's fetch brings the old words
 *                                          back
 * fail: -DP0=2 -DP1=2 -DH=2 -DREPLY_FIRST  the agent replies, then applies
 * fail: -DP0=2 -DP1=2 -DH=2 -DWHOLE_PAGE   the agent writes unchanged words, too
 */
#ifndef P0
#define P0 2
#endif
#ifndef P1
#define P1 2
#endif
#ifndef H
#define H 2
#endif
byte master[2], frame[2], twin[2];
bit has_twin, locked, busy;
byte writers;           /* set of processors */
byte message[4];        /* [sender * 2 + word]: value + 1 */
bit sent[2], replied[2];
bit taken[2];
byte truth[2];
byte running;

inline take(w)
{
	if
	:: !has_twin -> frame[w] = master[w]
	:: has_twin && twin[w] != master[w] -> frame[w] = master[w]; twin[w] = master[w]
	:: else
	fi
}

inline diff(w)
{
	if
#ifdef WHOLE_PAGE
	:: true -> message[me * 2 + w] = frame[w] + 1; twin[w] = frame[w]
#else
	:: frame[w] != twin[w] -> message[me * 2 + w] = frame[w] + 1; twin[w] = frame[w]
	:: else
#endif
	fi
}

inline fault()
{
	atomic { !locked && !busy -> locked = 1 };
	take(0);
	take(1);
	d_step {
		if
		:: !has_twin -> has_twin = 1; twin[0] = frame[0]; twin[1] = frame[1]
		:: else
		fi;
		writers = writers | (1 << me);
		locked = 0 }
}

inline release()
{
	d_step { !locked && !busy ->
		locked = 1;
		writers = writers & ~(1 << me);
		diff(0);
		diff(1);
		if
		:: !writers -> has_twin = 0; twin[0] = 0; twin[1] = 0
		:: else
		fi;
#ifndef NOT_BUSY
		busy = 1;
#endif
		locked = 0;
		sent[me] = 1 };
	d_step { replied[me] -> replied[me] = 0 };
	d_step { !locked -> busy = 0 }
}

proctype processor(byte me, rounds)
{
	do
	:: rounds ->
		atomic { !taken[me] -> taken[me] = 1 };
		fault();
		d_step { assert(frame[me] == truth[me]); truth[me]++; frame[me] = truth[me] };
		release();
		d_step { taken[me] = 0; rounds-- }
	:: else -> break
	od;
	running--
}

inline apply(w)
{
	if
	:: message[from * 2 + w] -> master[w] = message[from * 2 + w] - 1; message[from * 2 + w] = 0
	:: else
	fi
}

active proctype agent()
{
	byte from;
end:	do
	:: if
	   :: d_step { sent[0] -> sent[0] = 0; from = 0 }
	   :: d_step { sent[1] -> sent[1] = 0; from = 1 }
	   fi;
#ifdef REPLY_FIRST
	   replied[from] = 1;
#endif
	   apply(0);
	   apply(1);
#ifndef REPLY_FIRST
	   replied[from] = 1;
#endif
	   from = 0
	od
}

proctype home(byte rounds)
{
	byte w;
	do
	:: rounds ->
		if
		:: atomic { !taken[0] -> taken[0] = 1; w = 0 }
		:: atomic { !taken[1] -> taken[1] = 1; w = 1 }
		fi;
		d_step { assert(master[w] == truth[w]); truth[w]++; master[w] = truth[w] };
		d_step { taken[w] = 0; w = 0; rounds-- }
	:: else -> break
	od;
	running--
}

init
{
	atomic {
		running = 3;
		run processor(0, P0);
		run processor(1, P1);
		run home(H)
	}
	d_step { running == 0 -> assert(master[0] == truth[0] && master[1] == truth[1]) }
}
