/* SPDX-License-Identifier: BSD-3-Clause */
/* delegate.pml - a batch that both a waiting endpoint and the server may have is done once (net/ofi/ofi_delegate*.c).
 *
 * An endpoint adds 1 to a word of a node STEPS times and wants the old values.  It sends each batch to the node's
 * server, or delegates it to another endpoint of that node, which polls at any time.  A delegated batch may also go
 * to the server, before or after the delegate has begun it.
 *
 * Claim: each result belongs to its own batch, and each batch is done once.  The endpoint waits for ever only if the
 *        delegate stops in the middle of a batch.
 *
 * pan:                 the code
 * fail: -DNO_CLAIM     every receiver of the batch does it
 * fail: -DLOOK_FIRST   checks whether it is claimed, then claims it
 * fail: -DCLAIM_LATER  does the batch, then claims it
 */
#ifndef STEPS
#define STEPS 3
#endif

mtype = { ANSWER, AGAIN };
chan asked = [STEPS] of { byte };
chan work = [STEPS] of { mtype, byte };
chan given = [STEPS] of { byte, byte };
byte claimed, word;

/* @mine: batch @n is this receiver's. */
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

proctype delegate()
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

active proctype requester()
{
	byte n = 1, which, result;

	run delegate();
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
