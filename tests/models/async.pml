/* SPDX-License-Identifier: BSD-3-Clause */
/* async.pml - an endpoint's user and its progress thread take turns, the user without a fence (net/async.c).
 *
 * The user does OPS operations, each of which leaves something pending or completes all, and then computes for ever.
 * Its stores pass through a store buffer (TSO).  The thread polls, pushes what is pending, and sleeps after a poll in
 * vain.
 *
 * Claim:    user and thread are never both in the endpoint.  What is pending when the user computes is pushed:
 *           neither waits for ever.
 * Not here: naps, the thread's store buffer (a full fence empties it), the end of the thread, orders weaker than TSO.
 *
 * pan:                           membarrier(2)
 * pan:  -DOPS=3
 * pan:  -DFENCE -DNO_MEMBARRIER  without it: the user's operations fence
 * fail: -DNO_MEMBARRIER          the user's store buffer is not emptied
 * fail: -DASLEEP_AFTER_FENCE     the thread stores that it sleeps after its fence
 * fail: -DLOOK_FIRST             a leaving user reads whether the thread sleeps before it is out
 * fail: -DSLEEP_BLINDLY          the user waits for the turn without reading what it waits for
 */
#ifndef OPS
#define OPS 2
#endif
#define USERS   0
#define THREADS 1
#define AWAITED 2
#define POLLS   1 /* in vain, before the thread sleeps */

mtype = { IN, CALLED, PENDING };
chan buffer = [6] of { mtype, bit }; /* the user's stores that are not visible yet */
bit in, called, pending, asleep;
byte turn = USERS;
bit waits_turn, waits_asleep;        /* in futex(2) */
bit user_inside, thread_inside;

#ifdef FENCE
#define ORDER empty(buffer)
#else
#define ORDER skip
#endif
#ifdef NO_MEMBARRIER
#define MEMBARRIER skip
#else
#define MEMBARRIER empty(buffer)
#endif

/* A locked instruction, so the buffer is empty. */
inline wait_turn()
{
	atomic { empty(buffer) -> seen = turn;
		if
		:: turn == THREADS -> turn = AWAITED
		:: else
		fi };
	if
#ifdef SLEEP_BLINDLY
	:: seen != USERS -> waits_turn = 1
#else
	:: seen != USERS -> d_step { waits_turn = (turn == AWAITED) }
#endif
	:: else
	fi;
	!waits_turn
}

inline enter()
{
	do
	:: buffer ! IN, 1;
		ORDER;
		if
		:: d_step { turn == USERS -> assert(!thread_inside); user_inside = 1 }; break
		:: turn != USERS -> buffer ! IN, 0; wait_turn()
		fi
	od
}

inline out()
{
	d_step { nfull(buffer) -> buffer ! IN, 0; user_inside = 0 }
}

/* What the user sees of its own stores. */
#define BUFFERED (buffer ?? [PENDING, 0] || buffer ?? [PENDING, 1])
#define LEFT (BUFFERED && left || !BUFFERED && pending)

inline wake()
{
	enter();
	pends = LEFT;
	out();
	if
	:: pends -> d_step { empty(buffer) -> asleep = 0 }; waits_asleep = 0
	:: else
	fi
}

active proctype user()
{
	byte ops, seen;
	bit left, pends, sleeps;

	do
	:: ops < OPS ->
		ops++;
		enter();
		if
		:: left = 1
		:: left = 0
		fi;
		buffer ! PENDING, left;
#ifdef LOOK_FIRST
		sleeps = asleep;
#endif
		buffer ! CALLED, 1;
		out();
		ORDER;
#ifndef LOOK_FIRST
		sleeps = asleep;
#endif
		if
		:: sleeps -> wake()
		:: else
		fi
	:: else -> break
	od;
	empty(buffer) && !pending
}

/* Stores leave the buffer whenever they like. */
active proctype store_buffer()
{
end:
	do
	:: d_step { buffer ? [IN, 0] -> buffer ? IN, 0; in = 0 }
	:: d_step { buffer ? [IN, 1] -> buffer ? IN, 1; in = 1 }
	:: d_step { buffer ? [CALLED, 1] -> buffer ? CALLED, 1; called = 1 }
	:: d_step { buffer ? [PENDING, 0] -> buffer ? PENDING, 0; pending = 0 }
	:: d_step { buffer ? [PENDING, 1] -> buffer ? PENDING, 1; pending = 1 }
	od
}

/* A turn. @found: something was pending. */
inline poll()
{
	turn = THREADS;
#ifndef ASLEEP_AFTER_FENCE
	asleep = (polls == POLLS);
#endif
	MEMBARRIER;
#ifdef ASLEEP_AFTER_FENCE
	asleep = (polls == POLLS);
#endif
	found = 0;
	if
	:: d_step { !in -> assert(!user_inside); thread_inside = 1 };
		found = pending;
		if
		:: found -> asleep = 0;
			if
			:: pending = 0
			:: skip /* not all of it */
			fi
		:: else
		fi;
		thread_inside = 0
	:: in
	fi;
	d_step { awaited = (turn == AWAITED); turn = USERS };
	if
	:: awaited -> waits_turn = 0
	:: else
	fi
}

active proctype thread()
{
	byte polls;
	bit found, awaited;

	do
	:: if
		:: called -> called = 0; found = 1
		:: !called -> poll()
		fi;
		polls = (found || polls == POLLS -> 0 : polls + 1);
		found = 0;
		do
		:: asleep -> d_step { waits_asleep = asleep };
end:
			!waits_asleep
		:: !asleep -> break
		od
	od
}
