/* SPDX-License-Identifier: BSD-3-Clause */
/* meet.pml - a barrier of two nodes whose releases trail (sync/barrier.c, core/coherence/trail.h).
 *
 * Each of the two nodes stores, on a page whose home is the other one, releases and arrives: what it has stored, a
 * notice and its word for the barrier are sent one behind the other.  If it finds the other's word there, it sends the
 * ring of a bell, without waiting; else it waits until all is performed, looks again, and rings then.  It waits for the
 * other's word: it reads its bell, tests the word, and sleeps until the bell has changed.  Then it acquires, without
 * waiting for what it has sent, and takes its own part into exclusive mode, for which it waits.
 *
 * Claim: both pass, ROUNDS times; who has passed finds the other's stores and notice; and nothing that a node's agent
 * writes, by an endpoint of its own, arrives before what its processor has sent.
 *
 * Abstracted: an endpoint's writes to a node are a queue, emptied one by one at any time.  Left out: several processors
 * of a node, whose words are flushed; page locks.
 *
 * pan:                          must pass
 * fail: -DNO_FLUSH              a node that has not seen the other's word does not flush before it looks again
 * fail: -DWORD_FIRST            the word is sent before what was stored
 * fail: -DNO_SETTLE             a page is taken while the release may be in flight
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define DATA   1
#define NOTICE 2
#define WORD   3
#define RING   4

/* By receiver. */
chan by_processor[2] = [4] of { byte, byte };
chan by_agent[2] = [1] of { byte };
byte master[2], noticed[2], word[2], bell[2];

active [2] proctype arrivals()
{
	byte v;
end:
	do
	:: d_step { by_processor[_pid]?DATA(v) -> assert(v >= master[_pid]); master[_pid] = v }
	:: d_step { by_processor[_pid]?NOTICE(v) -> noticed[_pid] = v }
	:: d_step { by_processor[_pid]?WORD(v) -> word[_pid] = v }
	:: d_step { by_processor[_pid]?RING(v) -> bell[_pid]++ }
	:: d_step { by_agent[_pid]?v -> assert(v >= master[_pid]); master[_pid] = v }
	od
}

active [2] proctype processor()
{
	byte me = _pid - 2, other = 3 - _pid, round = 1, seen;

	do
	:: round > ROUNDS -> break
	:: else ->
#ifdef WORD_FIRST
		by_processor[other]!WORD(round);
#endif
		by_processor[other]!DATA(2 * round);
		by_processor[other]!NOTICE(round);
#ifndef WORD_FIRST
		by_processor[other]!WORD(round);
#endif
		if
		:: word[me] >= round -> by_processor[other]!RING(0)
		:: word[me] < round ->
#ifndef NO_FLUSH
			empty(by_processor[other]);
#endif
			if
			:: word[me] >= round -> by_processor[other]!RING(0)
			:: word[me] < round
			fi
		fi;
		do
		:: seen = bell[me];
			if
			:: word[me] >= round -> break
			:: word[me] < round -> bell[me] != seen
			fi
		od;
		assert(master[me] >= 2 * round && noticed[me] >= round);
#ifndef NO_SETTLE
		empty(by_processor[other]);
#endif
		if
		:: by_agent[other]!2 * round + 1; empty(by_agent[other])
		:: skip
		fi;
		round++
	od
}
