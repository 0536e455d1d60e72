/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.pml - queues of processors that wait for objects (sync/wait_queue.c): two objects whose addresses hash alike.
 *
 * Processors 0 and 1 wait for object 1 until it is ready, processor 2 for object 2, possibly with a time-out; each
 * begins anew when it is woken too early.  Each object gets one wake for its longest waiter; then it becomes ready
 * and gets a wake for all.
 *
 * Claim:    a wait ends by a wake of its object that came after its join.  Each wake that took an entry ends one
 *           wait.  No processor waits for ever.  The list is whole.
 * Not here: the locks and flags between nodes (lock.pml, polled.pml): what happens under the queue's lock is one
 *           step.
 *
 * OVER: how often processor 2 may time out.
 *
 * pan:  -DOVER=2
 * fail: -DOVER=0 -DANY_OBJECT     a wake takes the first of the list, whatever it waits for
 * fail: -DOVER=0 -DJOIN_LATE      joins after it has released the lock under which it read the object
 * fail: -DOVER=1 -DLEAVE_BLINDLY  a waiter that timed out leaves, though a wake was for it
 * fail: -DOVER=1 -DNO_WAIT_AFTER  a waiter that timed out and was woken does not wait for its flag
 * fail: -DOVER=0 -DNEXT_LATE      the waker reads the chain's next after setting the flag
 */
#define P 3

byte object[P], ticket[P], next[P]; /* entries; next: processor + 1 */
byte flag[P];
byte first, last;
bit ready[3];
byte taken[3], ended[3];
byte running;

inline join()
{
	d_step {
		tickets++;
		object[me] = what;
		ticket[me] = tickets;
		next[me] = 0;
		if
		:: last -> next[last - 1] = me + 1
		:: else -> first = me + 1
		fi;
		last = me + 1 }
}

/* Under the lock. */
inline take(p, before)
{
	if
	:: before -> next[before - 1] = next[p - 1]
	:: else -> first = next[p - 1]
	fi;
	if
	:: last == p -> last = before
	:: else
	fi;
	object[p - 1] = 0;
	next[p - 1] = 0
}

#define WOKEN (flag[me] >= tickets)

proctype waiter(byte me, what, over)
{
	byte tickets, p, before;
	bit waits;
	do
	:: ready[what] -> break
#ifdef JOIN_LATE
	:: !ready[what] -> join()
#else
	:: atomic { !ready[what] -> join() }
#endif
		if
		:: d_step { WOKEN -> ended[what]++ }
		:: over && !WOKEN -> over--;
			d_step {
				waits = object[me] != 0;
				p = (waits -> first : 0);
				before = 0;
				do
				:: p && p != me + 1 -> before = p; p = next[p - 1]
				:: else -> break
				od;
				if
				:: waits -> assert(p == me + 1); take(p, before)
				:: else
				fi;
				p = 0;
				before = 0 };
			if
			:: waits -> waits = 0
			:: else ->
#ifdef LEAVE_BLINDLY
				skip
#else
#ifndef NO_WAIT_AFTER
				WOKEN;
#endif
				ended[what]++
#endif
			fi
		fi;
		assert(ended[what] <= taken[what])
	od;
	running--
}

/* The entries of @what, at most @most, become a chain from @chain; @end: its last. */
inline wake(most)
{
	d_step {
		count = most;
		p = first;
		do
		:: p && count ->
			after = next[p - 1];
			if
#ifdef ANY_OBJECT
			:: true ->
#else
			:: object[p - 1] == what ->
#endif
				taken[what]++;
				take(p, before);
				if
				:: end -> next[end - 1] = p
				:: else -> chain = p
				fi;
				end = p;
				count--
#ifndef ANY_OBJECT
			:: else -> before = p
#endif
			fi;
			p = after
		:: else -> break
		od;
		count = 0; p = 0; before = 0; after = 0; end = 0 };
	do
	:: chain ->
#ifdef NEXT_LATE
		flag[chain - 1] = ticket[chain - 1];
		chain = next[chain - 1]
#else
		d_step { after = next[chain - 1]; number = ticket[chain - 1] };
		flag[chain - 1] = number;
		d_step { chain = after; after = 0; number = 0 }
#endif
	:: else -> break
	od
}

proctype waker(byte what)
{
	byte count, p, before, after, end, chain, number;
	wake(1);
	ready[what] = 1;
	wake(P);
	running--
}

init
{
	atomic {
		running = 5;
		run waiter(0, 1, 0);
		run waiter(1, 1, 0);
		run waiter(2, 2, OVER);
		run waker(1);
		run waker(2)
	}
	d_step { running == 0 ->
		assert(!first && !last && ended[1] == taken[1] && ended[2] == taken[2])
	}
}
