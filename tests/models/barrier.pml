/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier.pml - a node acquires once after a barrier of all (acquire_passed in protocols/cashmere/acquire.c).
 *
 * Node A has processors 0 and 1 on one frame; processor 2 is the home's.  Processor 2 writes a new value in every odd
 * step and another word of the page in every even one, sends a notice when it arrives, and then runs ahead as far as
 * the barrier lets it.  A's processors read in every even step.  The time of their acquire is the time at which the
 * first of them had emptied the notice queue.
 *
 * Claim: every read finds the value of the step before it.  No page fetched after the node's acquire is fetched again
 *        before the next one.  Nothing blocks for ever.
 *
 * pan:  -DSTEPS=6                the code
 * fail: -DSTEPS=4 -DPASS_FIRST   takes the time before the notices are out of the queue
 * fail: -DSTEPS=6 -DNO_NUMBER    takes a barrier's time for that of the barrier after the next
 * fail: -DSTEPS=4 -DOWN_TIME     each processor acquires at its own time: it fetches twice
 * fail: -DSTEPS=6 -DLAST_NOTICE  remembers the last notice, not the first since the fetch
 */
byte home, frame, queue;
bit locked, distributing;
byte clock = 1, ts_update, ts_notice;
byte acquired[2];         /* [processor]: time of its last acquire */
byte passed[2], number[2]; /* [barrier modulo 2] */
bit mapped[2], noticed[2];
byte arrived[3];
byte fetched;             /* step of the last fetch */

inline collect()
{
	d_step { !distributing -> distributing = 1; taken = queue; queue = 0; clock++; now = clock };
	d_step { !locked ->
		if
		:: taken > 0 ->
			if
#ifdef LAST_NOTICE
			:: true -> ts_notice = now
#else
			:: ts_notice <= ts_update -> ts_notice = now
			:: else
#endif
			fi;
			if
			:: mapped[0] -> noticed[0] = 1
			:: else
			fi;
			if
			:: mapped[1] -> noticed[1] = 1
			:: else
			fi
		:: else
		fi;
		taken = 0;
		now = 0;
		distributing = 0 }
}

/* The barrier's number is its step, which is never 0. */
inline pass()
{
	d_step { clock++; now = clock };
#ifdef OWN_TIME
	acquired[me] = now;
#else
	d_step {
		if
#ifdef NO_NUMBER
		:: number[step % 2] == 0 ->
#else
		:: number[step % 2] != step ->
#endif
			number[step % 2] = step;
			passed[step % 2] = now
		:: else
		fi;
		acquired[me] = passed[step % 2] };
#endif
	now = 0
}

#define STALE (ts_update == 0 || (ts_update < ts_notice && ts_notice < acquired[me]))

proctype reader(byte me)
{
	byte step = 1, taken, now;

	do
	:: step > STEPS -> break
	:: step <= STEPS ->
		if
		:: step % 2 == 0 && !mapped[me] ->
			d_step { !locked -> locked = 1 };
			if
			:: d_step { STALE -> clock++; ts_update = clock };
				assert(fetched != step);
				fetched = step;
				frame = home
			:: else
			fi;
			d_step {
				mapped[me] = 1;
				if
				:: ts_update < ts_notice -> noticed[me] = 1
				:: else
				fi;
				locked = 0 }
		:: else
		fi;
		if
		:: step % 2 == 0 -> assert(frame == step / 2)
		:: else
		fi;
		collect();
		arrived[me]++;
		(arrived[1 - me] >= step && arrived[2] >= step);
#ifdef PASS_FIRST
		pass();
		collect();
#else
		collect();
		pass();
#endif
		d_step { !locked ->
			if
			:: noticed[me] && ts_update < ts_notice -> mapped[me] = 0
			:: else
			fi;
			noticed[me] = 0 };
		step++
	od
}

proctype writer()
{
	byte step = 1;

	do
	:: step > STEPS -> break
	:: step <= STEPS ->
		if
		:: step % 2 == 1 -> home++
		:: else /* another word of the page */
		fi;
		queue++;
		arrived[2]++;
		(arrived[0] >= step && arrived[1] >= step);
		step++
	od
}

init { atomic { run reader(0); run reader(1); run writer() } }
