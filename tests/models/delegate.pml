/* SPDX-License-Identifier: BSD-3-Clause */
/* lent.pml - a batch that both a waiting endpoint and the server may have is done once (net/ofi/ofi_delegate.c).
 *
 * An endpoint adds 1 to a word of a node STEPS times, and wants to know what was there.  It sends a batch to the node's server, or lends it to
 * another endpoint there, which looks when it likes; after that it may send it to the server as well, before or after the other one has begun.
 *
 * Claim: each result is the one of its own batch, each batch is done once, and the endpoint waits for ever only when the other one does not go on
 *        in the midst of a batch.
 *
 * pan:                   the code
 * fail: -DNO_CLAIM       whoever has the batch does it
 * fail: -DLOOK_FIRST     looks whether it is claimed, then claims it
 * fail: -DCLAIM_LATER    does the batch, then claims it
 */
#ifndef STEPS
#define STEPS 3
#endif

mtype = { ANSWER, AGAIN };
chan asked = [STEPS] of { byte };
chan work = [STEPS] of { mtype, byte };
chan given = [STEPS] of { byte, byte };
byte claimed, word;

/* @mine: is batch @n ours? */
inline claim(n, mine)
{
#ifdef NO_CLAIM
	mine = true
#else
#ifdef LOOK_FIRST
	mine = claimed < n;
	if
	:: mine -> claimed = n
	:: else
	fi
#else
	d_step { mine = claimed < n;
		if
		:: mine -> claimed = n
		:: else
		fi }
#endif
#endif
}

inline done(n)
{
	d_step { given ! n, word; word++ }
}

proctype helper()
{
	byte n;
	bit mine;

end:
	do
	:: asked ? n ->
#ifdef CLAIM_LATER
		mine = claimed < n;
		if
		:: mine -> done(n); claimed = n
		:: else
		fi
#else
		claim(n, mine);
		if
		:: mine -> done(n)
		:: else
		fi
#endif
	od
}

proctype server()
{
	byte n;
	bit mine;

end:
	do
	:: work ? ANSWER, n -> done(n)
	:: work ? AGAIN, n ->
		claim(n, mine);
		if
		:: mine -> done(n)
		:: else
		fi
	od
}

active proctype borrower()
{
	byte n = 1, which, result;

	run helper();
	run server();
	do
	:: n <= STEPS ->
		if
		:: work ! ANSWER, n
		:: asked ! n
		:: asked ! n; work ! AGAIN, n
		fi;
		given ? which, result;
		assert(which == n && result == n - 1);
		n++
	:: else -> break
	od;
	(len(asked) == 0 && len(work) == 0);
	assert(word == STEPS && len(given) == 0)
}
