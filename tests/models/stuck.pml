/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.pml - all processors wait for each other: what the launcher may conclude (sync/wait.c,
 * tools/agent/agent_waits.c, tools/launch/waits.c).
 *
 * Each of two processors, one to a node, posts to the other or does not, waits for a post to itself, and begins anew.
 * At each tick its agent reads its state, wakes it, and sends a beat.  The launcher asks when the beats of all nodes
 * were the same for LONG ticks.  Posts in flight when the beats became the same have arrived by then; no other
 * assumption is made about time.
 *
 * Claim:    when the launcher ends the job, no processor runs, none has a post to take, and no post is in flight.
 * Not here: processors of one node (their counts are added up), signals' handlers, waits with a time-out, stopped
 *           nodes.
 *
 * ROUNDS: waits of the first processor; the second has one less.
 *
 * pan:  -DROUNDS=2
 * fail: -DROUNDS=2 -DNO_POLL      a processor that has not polled since the tick before counts as waiting
 * fail: -DROUNDS=2 -DNO_COUNT     waits are not counted: another wait is taken for the same
 * fail: -DROUNDS=2 -DNO_TIME      posts may arrive after the question
 * fail: -DROUNDS=2 -DNO_QUESTION  the beats alone are enough
 * fail: -DROUNDS=2 -DNEXT_TICK    the tick right after the question answers
 */
#define P    2
#define LONG 1

bit call[P], flag[P], waiting[P], bell[P]; /* waiting: the truth */
bit polled[P]; /* since the tick before */
byte begun[P];
byte flight[P], old[P]; /* posts in flight; of these, those since before the beats became the same */

chan beat[P] = [0] of { bit, bit, byte }; /* whether it answers, too; whether all wait; how many waits */
bit question[P];

proctype processor(byte me)
{
	do
	:: begun[me] < ROUNDS - me ->
		if
		:: flight[1 - me]++
		:: true
		fi;
		begun[me]++;
		atomic {
			waiting[me] = !flag[me];
			call[me] = 1 }
end:		do
		:: atomic {
			flag[me] ->
			flag[me] = 0;
			waiting[me] = 0;
			break }
		:: atomic {
			!flag[me] && bell[me] ->
			bell[me] = 0;
			polled[me] = 1 }
		od;
		call[me] = 0
	:: else -> break
	od
}

#define CAN_ARRIVE(p) (flight[p] && !flag[p])

active proctype network()
{
	byte p;

end:	do
	:: atomic {
		if
		:: CAN_ARRIVE(0) -> p = 0
		:: CAN_ARRIVE(1) -> p = 1
		fi;
		flight[p]--;
		if
		:: old[p] -> old[p]--
		:: else
		fi;
		flag[p] = 1 }
	od
}

proctype agent(byte me)
{
	byte asked, count;
	bit all;

	do
	:: atomic {
		question[me] ->
		question[me] = 0;
#ifdef NEXT_TICK
		asked = 1
#else
		asked = 2
#endif
		}
	:: atomic {
		all = polled[me];
		polled[me] = 0;
#ifdef NO_POLL
		all = 1
#endif
		}
		all = all && call[me];
		atomic {
			count = begun[me];
#ifdef NO_COUNT
			count = 0;
#endif
			bell[me] = 1 }
end:		atomic {
			beat[me] ! asked == 1, all, count;
			asked = asked - (asked > 0);
			all = 0;
			count = 0 }
	od
}

byte same[P], before[P];
bit unanswered[P];

#ifdef NO_TIME
#define LATE(k) 0
#else
#define LATE(k) old[k]
#endif

inline begin()
{
	asked = 0;
	for (k : 0 .. P - 1) {
		same[k] = 0;
		old[k] = 0
	}
}

/* yes: are the beats of all nodes the same, for more than @ticks? */
inline all_same(ticks)
{
	yes = 1;
	for (k : 0 .. P - 1) {
		yes = yes && same[k] > ticks
	}
}

active proctype launcher()
{
	byte i, k, count;
	bit answer, all, asked, yes;

	atomic {
		for (k : 0 .. P - 1) {
			run processor(k);
			run agent(k)
		}
	}
end:	do
	:: atomic {
		if
		:: beat[0] ? answer, all, count -> i = 0
		:: beat[1] ? answer, all, count -> i = 1
		fi;
		if
		:: !all || count != before[i] -> begin()
		:: else
		fi;
		before[i] = count;
		same[i] = same[i] + (same[i] <= LONG);
		all_same(0);
		if
		:: yes && same[i] == 1 ->
			for (k : 0 .. P - 1) {
				old[k] = flight[k]
			}
		:: else
		fi;
		if
		:: answer ->
			unanswered[i] = 0;
			yes = asked;
			for (k : 0 .. P - 1) {
				yes = yes && !unanswered[k]
			}
			if
			:: yes -> break
			:: else
			fi
		:: else
		fi;
		yes = 0;
		count = 0;
		all = 0;
		answer = 0 }
	:: atomic {
		!asked && same[0] > LONG ->
		all_same(LONG);
		for (k : 0 .. P - 1) {
			yes = yes && !unanswered[k] && !LATE(k)
		}
		if
		:: yes ->
#ifdef NO_QUESTION
			break;
#endif
			asked = 1;
			for (k : 0 .. P - 1) {
				unanswered[k] = 1;
				question[k] = 1
			}
		:: else
		fi;
		yes = 0 }
	od;
	atomic {
		for (k : 0 .. P - 1) {
			assert(waiting[k] && !flag[k] && !flight[k])
		}
	}
}
