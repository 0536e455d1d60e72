/* SPDX-License-Identifier: BSD-3-Clause */
/* home_notice.pml - ending exclusive mode at the home by a notice (protocols/cashmere/fault.c, exclusive.c, release.c
 * and acquire.c, core/coherence/notice.c).
 *
 * Node H is the page's home and holds it exclusively.  Its processors 0 and 1 write words 0 and 1, each under its own
 * lock; stores may stay in store buffers (TSO).  The processors of node X read either word, under its lock or not.  X
 * publishes its right.  If it sees H's word exclusive it unlocks, appends a break to H's queue, locks again and
 * fetches, whatever H's word says then; if X left the directory meanwhile (a count shows it), it notifies H anew.
 * H's processors (and agent) collect at acquires, and at releases after a full fence: under the page lock the break
 * clears exclusive mode, adds all local writers to their no-longer-exclusive (NLE) sets and publishes; the head moves
 * last.
 *
 * Claim:    under a word's lock, X reads what the last release of that lock left.  Nothing blocks for ever.
 * Not here: publications without their flushes (directory.pml), writers on X, updates in place and the details of
 *           time stamps (page.pml), breaks of a holder that is not the home (exclusive.pml).
 *
 * GIVES: a release may give the page back unasked (protocols/cashmere/predictors/migratory.c) if only its
 * processor has it mapped: then no notice is needed.
 *
 * TOGETHER: X publishes its right, appends a break, whatever H's word says, and fetches, without waiting before the
 * contents arrive (protocols/cashmere/window.c).  The three are performed in this order.
 *
 * R0, R1: critical sections of H's processors; X0, X1: operations of X's processors; AGENT: H's agent collects, too.
 *
 * pan:  -DR0=2 -DR1=1 -DX0=3 -DAGENT                   one processor on X
 * pan:  -DR0=2 -DR1=1 -DX0=2 -DX1=2                    two processors on X
 * pan:  -DR0=3 -DX0=2 -DX1=3                           H becomes exclusive again and again
 * pan:  -DR0=3 -DX0=3 -DAGENT -DGIVES                  given back, one writer
 * pan:  -DR0=2 -DR1=1 -DX0=2 -DGIVES                   given back, two writers
 * pan:  -DR0=2 -DR1=1 -DX0=3 -DAGENT -DTOGETHER
 * pan:  -DR0=3 -DX0=3 -DAGENT -DGIVES -DTOGETHER
 * pan:  -DR0=2 -DR1=1 -DX0=3 -DGIVES -DTOGETHER
 * fail: -DR0=2 -DX0=2 -DTOGETHER -DFETCH_FIRST         fetches, then publishes
 * fail: -DR0=2 -DX0=2 -DTOGETHER -DBREAK_FIRST         appends the break, then publishes
 * fail: -DR0=3 -DX0=3 -DGIVES -DTOGETHER -DBREAK_IF_SEEN   appends a break only where it sees H exclusive
 * fail: -DR0=1 -DX0=2 -DNOTIFY_AFTER_FETCH             fetches, then notifies
 * fail: -DR0=1 -DX0=2 -DAGENT -DNO_COLLECT_AT_RELEASE  H collects at acquires and by its agent only
 * fail: -DR0=1 -DX0=2 -DNO_FENCE                       the release reads the queue with its stores still buffered
 * fail: -DR0=1 -DR1=1 -DX0=2 -DHEAD_EARLY              the head moves before the break is distributed
 * fail: -DR0=1 -DR1=1 -DX0=2 -DONE_WRITER              the break reaches one of the local writers only
 * fail: -DR0=2 -DX0=2 -DX1=2 -DKEEP_NOTIFIED           does not notify anew, though X left the directory
 * fail: -DR0=2 -DX0=2 -DX1=2 -DNOTIFIED_BY_WORD        notifies anew only if it had to publish itself, not if the
 *                                                      other processor did
 * fail: -DR0=1 -DX0=2 -DGIVES -DGIVE_FIRST             gives back before it has read the queue
 * fail: -DR0=1 -DR1=1 -DX0=2 -DGIVES -DGIVE_SHARED     gives back what the other processor can still write
 */
#ifdef R1
#define WRITERS 3
#else
#define WRITERS 1
#define R1 0
#endif
#ifndef X1
#define X1 0
#endif

/* Node H. */
byte memory[2];     /* the frame is the master copy */
byte store[2];      /* [processor]: its store buffer, for the word it writes: value + 1, 0 empty */
bit locked, exclusive = 1;
byte writers = WRITERS; /* set of processors */
bit dirty[2], nle[2];
byte queue;         /* breaks between head and tail */
bit collecting;     /* mutex */

/* The directory, as both nodes see it. */
bit claim = 1;      /* H's word says exclusive */
bit shares;         /* X's word */

/* Node X. */
byte copy[2];
bit xlocked, valid, old; /* page lock; fetched ever (ts_update != 0); ts_update < ts_notice */
bit since[2];            /* [processor]: ts_update < its last acquire */
byte mapped;             /* set of processors */
bit noticed[2];
byte arrived;            /* write notices not yet distributed */
byte left;               /* how often X left the directory, modulo 4 */

bit taken[2];            /* application locks */
byte truth[2];

active proctype buffers()
{
end:	do
	:: d_step { store[0] -> memory[0] = store[0] - 1; store[0] = 0 }
	:: d_step { store[1] -> memory[1] = store[1] - 1; store[1] = 0 }
	od
}

/* ---- node H ---- */

inline broken()
{
	atomic { !locked -> locked = 1 };
	if
	:: exclusive ->
		exclusive = 0;
		d_step {
			if
			:: writers & 1 -> nle[0] = 1
			:: else
			fi;
			if
#ifndef ONE_WRITER
			:: writers & 2 -> nle[1] = 1
#endif
			:: else
			fi;
			skip };
		d_step { claim = 0; locked = 0 }
	:: else -> locked = 0
	fi
}

inline collect()
{
	if
	:: queue == 0
	:: queue ->
		d_step { !collecting -> collecting = 1; count = queue;
#ifdef HEAD_EARLY
			queue = 0;
#endif
			done = 0 };
		do
		:: done < count -> broken(); done++
		:: else -> break
		od;
		atomic {
#ifndef HEAD_EARLY
			queue = queue - count;
#endif
			count = 0; done = 0; collecting = 0 }
	fi
}

inline write_fault()
{
	atomic { !locked -> locked = 1 };
	if
	:: !exclusive && !shares ->
		claim = 1; /* and its flush */
		if
		:: shares -> claim = 0
		:: !shares -> exclusive = 1
		fi
	:: exclusive || shares
	fi;
	d_step {
		writers = writers | (1 << me);
		dirty[me] = dirty[me] || !exclusive;
		locked = 0 }
}

#ifdef GIVE_SHARED
#define ALONE (writers & (1 << me))
#else
#define ALONE (writers == 1 << me)
#endif

inline give_back()
{
#ifdef GIVES
	if
	:: d_step { !locked && exclusive && ALONE -> locked = 1; writers = writers & ~(1 << me) };
		exclusive = 0;
		d_step { claim = 0; locked = 0 } /* and its flush */
	:: skip
	fi
#else
	skip
#endif
}

inline release()
{
#ifndef NO_FENCE
	store[me] == 0;
#endif
#ifdef GIVE_FIRST
	give_back();
#endif
#ifndef NO_COLLECT_AT_RELEASE
	collect();
#endif
#ifndef GIVE_FIRST
	give_back();
#endif
	d_step { found = nle[me] || dirty[me]; nle[me] = 0; dirty[me] = 0 };
	if
	:: found ->
		found = 0;
		d_step { !locked ->
			if
			:: !exclusive && (writers & (1 << me)) -> writers = writers & ~(1 << me); found = 1
			:: else
			fi;
			skip };
		if
		:: d_step { found && shares -> arrived++ }
		:: !found || !shares
		fi
	:: !found
	fi;
	found = 0
}

proctype writer(byte me, rounds)
{
	byte count, done;
	bit found;
	do
	:: rounds ->
		atomic { !taken[me] -> taken[me] = 1 };
		collect();
		if
		:: writers & (1 << me)
		:: !(writers & (1 << me)) -> write_fault()
		fi;
		d_step { store[me] == 0 -> truth[me]++; store[me] = truth[me] + 1 };
		release();
		/* the store that passes the lock on leaves the buffer after the earlier ones */
		d_step { store[me] == 0 -> taken[me] = 0; rounds-- }
	:: else -> break
	od
}

#ifdef AGENT
active proctype agent()
{
	byte count, done;
end:	do
	:: queue -> collect()
	od
}
#endif

/* ---- node X ---- */

inline fetch()
{
	copy[0] = memory[0];
	copy[1] = memory[1];
	valid = 1;
	old = 0;
	since[0] = 0;
	since[1] = 0
}

#define STALE (!valid || (old && since[me]))

/* Page locked. */
inline read_along()
{
#ifdef FETCH_FIRST
	d_step { fetch() };
#endif
#ifdef BREAK_FIRST
	queue++;
	shares = 1;
#elif defined(BREAK_IF_SEEN)
	if
	:: claim -> shares = 1; queue++
	:: !claim -> shares = 1
	fi;
#else
	shares = 1;
	queue++;
#endif
#ifndef FETCH_FIRST
	d_step { fetch() };
#endif
	notified = 1;
	at = left
}

inline read_fault()
{
	notified = 0;
	do
	:: atomic { !xlocked -> xlocked = 1 };
#ifdef TOGETHER
		if
		:: !shares -> read_along()
		:: else
		fi;
#endif
		d_step {
			if
			:: !shares ->
				shares = 1; /* and its flush */
#ifndef KEEP_NOTIFIED
				notified = 0
#endif
			:: else
			fi;
#if !defined(KEEP_NOTIFIED) && !defined(NOTIFIED_BY_WORD)
			notified = notified && left == at;
#endif
			skip };
		if
		:: claim && !notified ->
#ifdef NOTIFY_AFTER_FETCH
			d_step { fetch() };
			queue++;
			break
#endif
			d_step { xlocked = 0; at = left };
			d_step { queue++; notified = 1 } /* and its flush */
		:: !claim || notified -> break
		fi
	od;
	atomic {
		if
		:: STALE -> fetch()
		:: else
		fi;
		mapped = mapped | (1 << me);
		noticed[me] = noticed[me] || old;
		notified = 0;
		at = 0;
		xlocked = 0 }
}

inline acquire()
{
	if
	:: arrived == 0
	:: d_step { arrived && !xlocked ->
			arrived = 0;
			old = 1;
			noticed[0] = noticed[0] || (mapped & 1);
			noticed[1] = noticed[1] || (mapped & 2) }
	fi;
	since[me] = 1;
	if
	:: !noticed[me]
	:: d_step { noticed[me] && !xlocked ->
			noticed[me] = 0;
			if
			:: (mapped & (1 << me)) && old ->
				mapped = mapped & ~(1 << me);
				if
				:: !mapped -> shares = 0; valid = 0; copy[0] = 0; copy[1] = 0; left = (left + 1) % 4
				:: else
				fi
			:: else
			fi;
			skip }
	fi
}

proctype reader(byte me, operations)
{
	byte word, at;
	bit notified;
	do
	:: operations && !(mapped & (1 << me)) -> /* another word of the page */
		read_fault();
		operations--
	:: operations ->
		if
		:: word = 0
		:: word = 1
		fi;
		atomic { !taken[word] -> taken[word] = 1 };
		acquire();
		if
		:: mapped & (1 << me)
		:: !(mapped & (1 << me)) -> read_fault()
		fi;
		d_step { assert(copy[word] == truth[word]); taken[word] = 0; word = 0; operations-- }
	:: !operations -> break
	od
}

init
{
	atomic {
		run writer(0, R0);
		run writer(1, R1);
		run reader(0, X0);
		run reader(1, X1)
	}
}
