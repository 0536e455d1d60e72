/* SPDX-License-Identifier: BSD-3-Clause */
/* directory.pml - the page directory without total order (doc/internals/publication.md, "exclusive claim").
 *
 * Every node has a replica of all nodes' words.  A node writes its own word at once in its own replica, and in the
 * others by asynchronous updates, which are unordered even between two from one endpoint to one target. flush()
 * blocks until the endpoint's own updates were applied.  The rule under test: publish, flush, then read the local
 * replica.
 *
 * Claim:    when a node becomes exclusive, no processor elsewhere has a confirmed copy.  A processor confirms its
 *           copy only when no other node is exclusive (asserts in confirm() and claim()).  Nothing blocks for ever.
 * Not here: data and time stamps (page.pml), the break's copies (exclusive.pml).
 *
 * pan:  -DNODES=3                          one processor per node, all doing anything for ever
 * pan:  -DNODES=3 -DNOTIFY                 node 0 is the home: when it is exclusive, it is notified and not waited
 *                                          for
 * pan:  -DNODES=2 -DPAIRS                  two processors on one node, one on the other
 * pan:  -DCROSS                            two pages, four nodes, one access each
 * fail: -DNODES=3 -DNO_FLUSH               looks before its word has arrived everywhere
 * fail: -DNODES=3 -DREAD_FIRST             looks, then publishes
 * fail: -DNODES=3 -DKEEP_CLAIM             two claimers break each other without rescinding, locks held
 * fail: -DNODES=3 -DNOTIFY -DNOTIFIED_ANY  after notifying the home, overlooks a holder elsewhere
 * fail: -DCROSS -DHOLD_LOCK                waits for another node's agent with the page locked
 * fail: -DNODES=2 -DPAIRS -DTRUST_WORD     takes "my node is a sharer already" for "no node is exclusive"
 * fail: -DNODES=3 -DNO_DROP_FLUSH          a leaving node's word is in flight when the page is unlocked
 * fail: -DNODES=3 -DDROP_LATE              leaves the sharing set, then drops the mapping
 * fail: -DNODES=3 -DBREAK_LATE             publishes the end of exclusive mode, then ends it
 */
#ifdef CROSS
#define NODES 4
#define PAGES 2
#define PROCS 4
#define NODE_OF(i) (i)
#else
#define PAGES 1
#ifdef PAIRS
#define PROCS (NODES + 1)
#define NODE_OF(i) ((i) / 2)
#else
#define PROCS NODES
#define NODE_OF(i) (i)
#endif
#endif
#define ENDS (PROCS + NODES) /* endpoints: processors, then agents */

/* Words of the directory. */
#define INV 0
#define RO 1
#define RW 2
#define EX 3

byte dir[PAGES * NODES * NODES];  /* WORD(p, at, of) */
byte air[PAGES * ENDS * NODES];   /* AIR(p, endpoint, target): set of values in flight, one bit each */
byte flying[ENDS];                /* an endpoint's updates in flight */
bit locked[PAGES * NODES];        /* page lock of a node */
bit excl[PAGES * NODES];          /* the node holds the page exclusively: local truth, guarded by the page lock */
byte mapped[PAGES * NODES];       /* processors of the node with a mapping, or about to have one */
bit valid[PAGES * PROCS];         /* the processor's mapping is confirmed */
bit reply[PROCS];
#ifdef NOTIFY
#define HOME 0
bit notified_home;                    /* breaks in the home's queue */
bit notified[PROCS];                  /* during a fault: the home was notified */
#endif
chan request[NODES] = [PROCS] of { byte, byte }; /* page, processor */

#define WORD(p, at, of) dir[((p)*NODES + (at)) * NODES + (of)]
#define AIR(p, e, t) air[((p)*ENDS + (e)) * NODES + (t)]
#ifdef CROSS
#define USED(p, t) ((t) < 2 || (t) == 3 - (p)) /* page 0 is not used by node 2, page 1 not by node 3 */
#else
#define USED(p, t) true
#endif
#define AT(p, n) ((p)*NODES + (n))

inline lock(p, n) { atomic { locked[AT(p, n)] == 0 -> locked[AT(p, n)] = 1 } }
inline unlock(p, n) { locked[AT(p, n)] = 0 }

inline publish(p, e, n, v)
{
	d_step {
		WORD(p, n, n) = v;
		t = 0;
		do
		:: t < NODES ->
			if
			:: t != n && USED(p, t) && (AIR(p, e, t) & (1 << v)) == 0 ->
				AIR(p, e, t) = AIR(p, e, t) | (1 << v);
				flying[e]++
			:: else
			fi;
			t++
		:: else -> break
		od;
		t = 0
	}
}

/* flush - every update of this endpoint in flight arrives, in any order.  No earlier arrival needs to be modelled:
 * before the flush the sender does nothing that another node could see. */
#define ARRIVE(p, t, v) \
	:: d_step { (AIR(p, e, t) & (1 << v)) -> \
		AIR(p, e, t) = AIR(p, e, t) & ~(1 << v); WORD(p, t, n) = v; flying[e]-- }
#define ARRIVE_AT(p, t) ARRIVE(p, t, INV) ARRIVE(p, t, RO) ARRIVE(p, t, RW) ARRIVE(p, t, EX)

inline flush(e)
{
	do
	:: flying[e] == 0 -> break
	ARRIVE_AT(0, 0)
	ARRIVE_AT(0, 1)
#if NODES == 3
	ARRIVE_AT(0, 2)
#endif
#ifdef CROSS
	ARRIVE_AT(0, 3)
	ARRIVE_AT(1, 0)
	ARRIVE_AT(1, 1)
	ARRIVE_AT(1, 2)
#endif
	od
}

/* look - read the other nodes' words: others = some node is a sharer; holder = an exclusive node (any when two
 * claim), or NODES.  One step: the claim is about pairs of nodes, so the order of one node's reads does not matter.
 * A notified home does not count as a holder; with NOTIFIED_ANY no other node does either. */
#ifndef NOTIFY
#define NOTIFIED(t) false
#elif defined(NOTIFIED_ANY)
#define NOTIFIED(t) notified[me]
#else
#define NOTIFIED(t) (notified[me] && (t) == HOME)
#endif
inline look(p, n)
{
	atomic {
		others = 0;
		holder = NODES;
		t = 0;
		do
		:: t < NODES ->
			if
			:: t != n && WORD(p, n, t) != INV ->
				others = 1;
				if
				:: WORD(p, n, t) == EX && !NOTIFIED(t) -> holder = t
				:: WORD(p, n, t) == EX && (NOTIFIED(t) || holder < NODES)
				:: WORD(p, n, t) != EX
				fi
			:: else
			fi;
			t++
		:: else -> break
		od;
		t = 0
	}
}

inline claim(p, n)
{
	d_step {
		excl[AT(p, n)] = 1;
		t = 0;
		do
		:: t < PROCS ->
			assert(NODE_OF(t) == n || !valid[p * PROCS + t]);
			t++
		:: else -> break
		od;
		t = 0
	}
}

inline confirm(p, n)
{
	d_step {
		valid[p * PROCS + me] = 1;
		t = 0;
		do
		:: t < NODES ->
#ifdef NOTIFY
			assert(t == n || !excl[AT(p, t)] || (t == HOME && notified[me]));
#else
			assert(t == n || !excl[AT(p, t)]);
#endif
			t++
		:: else -> break
		od;
#ifdef NOTIFY
		notified[me] = 0;
#endif
		t = 0
	}
}

#ifdef HOLD_LOCK
#define DROP_LOCK(p, n) skip
#define RETAKE_LOCK(p, n) skip
#else
#define DROP_LOCK(p, n) unlock(p, n)
#define RETAKE_LOCK(p, n) locked[AT(p, n)] == 0 -> locked[AT(p, n)] = 1
#endif

/* settle - published as a sharer, page locked: end the exclusive mode of others, then the copy is valid. */
inline settle(p, n)
{
	do
	:: atomic { look(p, n);
		if
		:: holder == NODES || excl[AT(p, n)] -> holder = 0; others = 0; confirm(p, n); break
#ifdef NOTIFY
		:: holder == HOME && !excl[AT(p, n)] ->
			DROP_LOCK(p, n);
			notified_home = 1; /* and its flush */
			notified[me] = 1;
			reply[me] = 1; /* no wait */
			holder = 0;
			others = 0
		:: holder != HOME && holder < NODES && !excl[AT(p, n)] ->
#else
		:: else ->
#endif
			DROP_LOCK(p, n);
			request[holder] ! p, me;
			holder = 0;
			others = 0
		fi };
		atomic { reply[me] -> reply[me] = 0; RETAKE_LOCK(p, n) }
	od
}

/* begin - lock the page; from here on the processor counts as mapping it, so drop() by another processor of the
 * node does not leave the sharing set. */
inline begin(p, n)
{
	lock(p, n);
	mapped[AT(p, n)] = mapped[AT(p, n)] | (1 << me)
}

inline publish_begun(p, n, v)
{
#ifdef READ_FIRST
	look(p, n);
#endif
	publish(p, me, n, v)
}

inline flush_begun()
{
#ifdef NO_FLUSH
	skip
#else
	flush(me)
#endif
}

inline read_fault(p, n)
{
	atomic { begin(p, n);
		if
		:: WORD(p, n, n) == INV -> publish_begun(p, n, RO)
		:: else ->
#ifdef TRUST_WORD
			confirm(p, n)
#endif
		fi };
	flush_begun();
	if
#ifdef READ_FIRST
	:: atomic { holder == NODES -> holder = 0; others = 0; confirm(p, n) }
#endif
	:: valid[p * PROCS + me]
	:: !valid[p * PROCS + me] && holder < NODES -> settle(p, n)
	fi;
	flush(me);
	unlock(p, n)
}

/* write_fault - a claim that the local replica shows to be hopeless may be tried or not: both are modelled. */
inline write_fault(p, n)
{
	atomic { begin(p, n);
		if
		:: excl[AT(p, n)] -> confirm(p, n)
		:: !excl[AT(p, n)] -> publish(p, me, n, RW)
		:: !excl[AT(p, n)] -> publish_begun(p, n, EX)
		fi };
	flush_begun();
	if
	:: excl[AT(p, n)]
	:: !excl[AT(p, n)] && WORD(p, n, n) == RW -> settle(p, n)
	:: atomic { !excl[AT(p, n)] && WORD(p, n, n) == EX ->
#ifndef READ_FIRST
			look(p, n);
#endif
			if
			:: !others -> holder = 0; claim(p, n); confirm(p, n); goto claimed
			:: others
			fi };
#ifdef KEEP_CLAIM
		do
		:: holder < NODES ->
			request[holder] ! p, me;
			atomic { reply[me] -> reply[me] = 0; look(p, n) }
		:: else -> break
		od;
#endif
		atomic { publish(p, me, n, RW); holder = 0; others = 0 };
		flush(me);
		settle(p, n)
	fi;
claimed:
	flush(me);
	unlock(p, n)
}

/* drop - a write notice ended this processor's mapping; the last one leaves the sharing set. */
inline drop(p, n)
{
	atomic { locked[AT(p, n)] == 0 && !excl[AT(p, n)] ->
			locked[AT(p, n)] = 1;
#ifndef DROP_LATE
			valid[p * PROCS + me] = 0;
#endif
			mapped[AT(p, n)] = mapped[AT(p, n)] & ~(1 << me);
			if
			:: mapped[AT(p, n)] == 0 -> publish(p, me, n, INV)
			:: else
			fi };
#ifndef NO_DROP_FLUSH
	flush(me);
#endif
	atomic { valid[p * PROCS + me] = 0; unlock(p, n) }
}

proctype processor(byte me, n)
{
	byte t, holder;
	bit others;
#ifdef CROSS
	if
	:: me == 0 -> write_fault(0, n)
	:: me == 1 -> write_fault(1, n)
	:: me == 2 -> read_fault(1, n)
	:: me == 3 -> read_fault(0, n)
	fi
#else
end:	do
#ifdef NOTIFY
	:: !valid[me] && n == NODES - 1 -> read_fault(0, n) /* one reader, two writers */
	:: n < NODES - 1 -> write_fault(0, n)
#else
	:: !valid[me] -> read_fault(0, n)
	:: write_fault(0, n)
#endif
	:: valid[me] && !excl[AT(0, n)] -> drop(0, n)
	od
#endif
}

proctype agent(byte me, n)
{
	byte t, p, who;
end:	do
	:: atomic { request[n] ? p, who ->
			lock(p, n);
			if
			:: excl[AT(p, n)] ->
#ifndef BREAK_LATE
				excl[AT(p, n)] = 0;
#endif
				publish(p, me, n, RW)
			:: else
			fi };
		flush(me);
		atomic { excl[AT(p, n)] = 0; unlock(p, n); reply[who] = 1; who = 0; p = 0 }
#ifdef NOTIFY
	:: n == HOME && notified_home ->
		atomic { lock(0, n);
			notified_home = 0;
			if
			:: excl[AT(0, n)] -> excl[AT(0, n)] = 0; publish(0, me, n, RW)
			:: else
			fi };
		flush(me);
		unlock(0, n)
#endif
	od
}

init
{
	byte i;
	atomic {
#ifdef CROSS
		/* page 0 is exclusive at node 1, page 1 at node 0 */
		for (i : 0 .. NODES - 1) {
			WORD(0, i, 1) = EX;
			WORD(1, i, 0) = EX
		}
		excl[AT(0, 1)] = 1;
		excl[AT(1, 0)] = 1;
		mapped[AT(0, 1)] = 2;
		mapped[AT(1, 0)] = 1;
#endif
		for (i : 0 .. PROCS - 1) {
			run processor(i, NODE_OF(i))
		}
		for (i : 0 .. NODES - 1) {
			run agent(PROCS + i, i)
		}
		i = 0
	}
}
