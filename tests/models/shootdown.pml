/* SPDX-License-Identifier: BSD-3-Clause */
/* shootdown.pml - write rights taken from processors of the same node (core/coherence/shootdown.c; release_shoot in
 * protocols/cashmere/release.c).
 *
 * Processors 0 and 1, two pages, each with its page lock.  A processor stores to a page or faults on it, or polls;
 * or, in a hook or a fault, it locks a page, shoots at the other processor if that writes the page, and unlocks it.
 * A shooter that must wait sends a signal; the handler interrupts the victim's thread anywhere except in a fault.
 * MONITOR: another thread resolves faults, concurrently with the handler.
 *
 * Claim:    from the return of a shootdown until its next fault on the page the victim stores nothing to it.  A
 *           processor that the masks call a writer has the right, or else it would fault for ever.  No processor
 *           waits for ever.
 * Not here: store buffers (all steps that matter are locked instructions or system calls); sleeping; the mechanism
 *           protect.
 *
 * A, B: operations of the processors; SHOTS (1): how often each may shoot, so that none shoots for ever.
 *
 * pan:  -DA=2 -DB=2                         signal handlers
 * pan:  -DA=1 -DB=2 -DSHOTS=2               they shoot twice
 * pan:  -DA=2 -DB=2 -DMONITOR               faults in the monitor's thread
 * fail: -DA=2 -DB=2 -DBLIND_LEAVE           leaves by a load and a store, not by compare-and-swap
 * fail: -DA=2 -DB=2 -DMONITOR -DDONE_FIRST  answers before it downgrades
 * fail: -DA=1 -DB=2 -DSHOTS=2 -DDRAIN_ONCE  the draining thread ends although the handler left work to it
 * fail: -DA=2 -DB=2 -DHANDLER_WAITS         the handler waits for the thread that it interrupted
 * fail: -DA=2 -DB=2 -DASK_FIRST             the request is counted before its page is in the set
 * fail: -DA=2 -DB=2 -DMAP_BLINDLY           changes a right of its own before it has complied
 * fail: -DA=2 -DB=2 -DWAIT_INSIDE           waits for a victim that is in a fault
 */
#ifndef A
#define A 2
#endif
#ifndef B
#define B 2
#endif
#ifndef SHOTS
#define SHOTS 1
#endif
#define INSIDE 1
#define REQUEST 2
#define OTHER (1 - me)

/* [processor] */
byte asked[2] = INSIDE, done[2]; /* as struct tw_target; no application code runs in tw_init */
byte complying[2];        /* 0, 1 the thread, 2 the monitor's */
bit signalled[2];         /* the signal is pending */
bit masked[2];            /* in a fault */
bit handling[2];          /* its thread is in the signal handler */
bit monitor[2];           /* its thread waits in a fault, which another thread resolves */

/* [processor * 2 + page] */
bit shot[4];              /* the set */
bit right[4];             /* in the page table */
bit writes[4];            /* the page's mask of writers */
bit fenced[4];            /* must not store until it faults */

bit locked[2];            /* [page] */

#define ASKED(v) ((asked[v] & 254) != done[v])

inline downgrade(v, p)
{
	if
	:: d_step { shot[v * 2 + p] -> shot[v * 2 + p] = 0 };
		right[v * 2 + p] = 0
	:: !shot[v * 2 + p]
	fi
}

inline comply(v, self)
{
	do
	:: !ASKED(v) -> break
	:: ASKED(v) ->
		if
		:: d_step { complying[v] == 0 -> complying[v] = self }
#ifndef HANDLER_WAITS
		:: complying[v] == self -> break
#endif
		fi;
		ticket = asked[v] & 254;
#ifdef DONE_FIRST
		done[v] = ticket;
#endif
		downgrade(v, 0);
		downgrade(v, 1);
#ifndef DONE_FIRST
		done[v] = ticket;
#endif
		d_step { ticket = 0; complying[v] = 0 };
#ifdef DRAIN_ONCE
		break
#endif
	od;
	skip
}

inline enter()
{
	asked[me] = asked[me] | INSIDE;
	comply(me, 1)
}

inline leave()
{
	do
#ifdef BLIND_LEAVE
	:: !ASKED(me) -> asked[me] = asked[me] & 254; break
#else
	:: d_step { !ASKED(me) -> asked[me] = asked[me] & 254 }; break
#endif
	:: ASKED(me) -> comply(me, 1)
	od
}

inline shoot(p)
{
#ifdef ASK_FIRST
	d_step { at_once = asked[OTHER] & INSIDE; asked[OTHER] = asked[OTHER] + REQUEST; target = asked[OTHER] & 254 };
	shot[OTHER * 2 + p] = 1;
#else
	shot[OTHER * 2 + p] = 1;
	d_step { at_once = asked[OTHER] & INSIDE; asked[OTHER] = asked[OTHER] + REQUEST; target = asked[OTHER] & 254 };
#endif
	if
#ifdef WAIT_INSIDE
	:: true ->
#else
	:: at_once
	:: !at_once ->
#endif
		signalled[OTHER] = 1;
#ifdef WAIT_INSIDE
		done[OTHER] >= target
#else
		done[OTHER] >= target || (asked[OTHER] & INSIDE)
#endif
	fi;
	d_step { at_once = 0; target = 0; fenced[OTHER * 2 + p] = 1 }
}

/* Lock the page and take the right from the other processor, as a release or a fault may. */
inline shoot_down(p)
{
	atomic { !locked[p] -> locked[p] = 1 };
	if
	:: writes[OTHER * 2 + p] -> shoot(p)
	:: !writes[OTHER * 2 + p]
	fi;
	writes[OTHER * 2 + p] = 0
}

/* tw_map. */
inline map(p, self)
{
#ifndef MAP_BLINDLY
	comply(me, self);
#endif
	d_step { right[me * 2 + p] = 1; writes[me * 2 + p] = 1; fenced[me * 2 + p] = 0; locked[p] = 0 }
}

inline resolve(p, self)
{
	if
	:: atomic { !locked[p] -> locked[p] = 1 }
	:: shots -> shots--; shoot_down(p)
	fi;
	if
	:: writes[me * 2 + p] -> assert(right[me * 2 + p]); locked[p] = 0
	:: !writes[me * 2 + p] -> map(p, self)
	fi
}

inline fault(p)
{
#ifdef MONITOR
	monitor[me] = 1;
	resolve(p, 2);
	monitor[me] = 0
#else
	masked[me] = 1;
	enter();
	resolve(p, 1);
	leave();
	masked[me] = 0
#endif
}

inline access(p)
{
	do
	:: d_step { right[me * 2 + p] -> assert(!fenced[me * 2 + p]) }; break
	:: !right[me * 2 + p] -> fault(p)
	od
}

proctype processor(byte me, operations) provided (!handling[me] || monitor[me])
{
	byte ticket, target, p, shots = SHOTS;
	bit at_once;
	leave();
	do
	:: operations ->
		if
		:: p = 0
		:: p = 1
		fi;
		if
		:: access(p)
		:: fault(p) /* on an adjacent page: this one comes along */
		:: comply(me, 1)
		:: shots -> /* a release */
			shots--;
			enter();
			shoot_down(p);
			locked[p] = 0;
			leave()
		fi;
		operations--
	:: else -> break
	od /* then it computes without a call */
}

proctype handler(byte me)
{
	byte ticket;
end:	do
	:: d_step { signalled[me] && !masked[me] -> signalled[me] = 0; handling[me] = 1 };
		comply(me, 1);
		handling[me] = 0
	od
}

init
{
	atomic {
		right[0] = 1; /* it writes both pages already */
		right[1] = 1;
		writes[0] = 1;
		writes[1] = 1;
		run processor(0, A);
		run processor(1, B);
		run handler(0);
		run handler(1)
	}
}
