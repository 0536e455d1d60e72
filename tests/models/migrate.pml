/* SPDX-License-Identifier: BSD-3-Clause */
/* migrate.pml - homes that migrate to the active writer (protocols/cashmere/migrate.c, fault.c and release.c,
 * core/coherence/directory.c).
 *
 * Nodes 0 and 1 have one processor each, node 2 has processors 2 and 3; node 0 is the home at first.  The page has
 * two words, each with its lock.  A processor enters a critical section and reads, or writes, or writes and acquires
 * another lock before it releases.  A writer tries to take the home: read the directory, set the migration bit in the
 * shared word (compare-and-swap), read again, fetch, take over.  A flusher publishes its diff bit, waits until no
 * migration is in progress, sends its diff to the home's agent with the page busy and unlocked, then clears the bit.
 * A home about to write publishes `write` and waits likewise.  Time stamps are kept as bits, the results of their
 * comparisons.
 *
 * Claim:    under a word's lock, the frame has what the last critical section left.  A processor that writes as the
 *           home's is at the home.  Nothing blocks for ever.  At the end the home has the last values.
 * Not here: publications without their flushes (directory.pml); the rest of 2L (page.pml); exclusive mode: while a
 *           page is exclusive at its home, its word says `write` and no migration begins.
 *
 * P0 to P3: critical sections of the processors.  WRITERS: all of them write, and acquire nothing in between.  HELD:
 * the home wrote before, and releases that at any time; processors 2 and 3 have one word each.
 *
 * pan:  -DP0=1 -DP1=1 -DP2=1 -DWRITERS                      each node once
 * pan:  -DP0=1 -DP1=2                                       back and forth
 * pan:  -DP1=2 -DP2=1                                       the old home is idle
 * pan:  -DP1=1 -DP2=1 -DP3=1                                two processors on one node
 * pan:  -DP1=1 -DP2=2 -DP3=1 -DWRITERS -DHELD               two processors flush for each other
 * fail: -DP0=1 -DP1=1 -DP2=1 -DWRITERS -DNO_DIFF_LOOK       migrates without reading the diff bits
 * fail: -DP0=1 -DP1=1 -DP2=1 -DWRITERS -DLOOK_FIRST         reads only before the migration bit is set
 * fail: -DP0=1 -DP1=1 -DP2=1 -DWRITERS -DNO_SETTLE          flushes without waiting for a migration to settle
 * fail: -DP0=1 -DP1=2 -DNO_HOME_LOOK                        migrates although the home writes
 * fail: -DP0=1 -DP1=2 -DNO_HOME_SETTLE                      the home writes without waiting for it
 * fail: -DP1=2 -DP2=1 -DNO_FETCH                            takes over without the fetch
 * fail: -DP1=1 -DP2=1 -DP3=1 -DHOME_FIRST                   reads the home, then takes the fetch's time stamp
 * fail: -DP1=1 -DP2=2 -DP3=1 -DWRITERS -DHELD -DDENOUNCE_LATE  unlocks a page that is announced but not busy
 */
#ifndef P0
#define P0 0
#endif
#ifndef P1
#define P1 0
#endif
#ifndef P2
#define P2 0
#endif
#ifndef P3
#define P3 0
#endif
#ifdef HELD
#define MAY_TAKE(w) (me < 2 || me == w + 2)
#else
#define MAY_TAKE(w) true
#endif
#define NODES 3
#define READ 1
#define WRITE 2

/* The shared word; the directory, as all see it. */
byte home;
bit moving;
byte rights[NODES];
bit sending[NODES];     /* diff bits */

/* [node] */
byte frame[6], twin[6]; /* [node][word] */
bit has_twin[NODES], locked[NODES], busy[NODES];
byte known[NODES];      /* the home, as last read */
bit valid[NODES], old[NODES]; /* ts_update != 0; ts_update < ts_notice */
byte mapped[NODES], writers[NODES];
byte queue[NODES];      /* arrived notices */
bit collecting[NODES];  /* mutex */
bit fresh[NODES];       /* fetched since the running collection took its time */

/* [processor] */
bit since[4];           /* ts_notice < acquire_ts */
bit later[4];           /* acquired since the running collection took its time */
bit noticed[4], dirty[4];
bit releasing[4];       /* its diff is home, its notices are not sent */

bit taken[2];
byte truth[2];
byte running;

#define ME (me == 3 -> 2 : 1)
#define MAPPED (mapped[node] & ME)
#define WRITES (MAPPED && (writers[node] & ME))
#define IS_HOME (known[node] == node)
#define STALE (!valid[node] || (old[node] && since[me]))
#define NEIGHBOUR (me == 2 -> 3 : 2)

#ifdef NO_DIFF_LOOK
#define DIFFS 0
#else
#define DIFFS (sending[0] || sending[1] || sending[2])
#endif
#ifdef NO_HOME_LOOK
#define BLOCKED DIFFS
#else
#define BLOCKED (DIFFS || rights[known[node]] == WRITE)
#endif

inline take(word)
{
	if
	:: !has_twin[node] -> frame[node * 2 + word] = frame[known[node] * 2 + word]
	:: has_twin[node] && frame[known[node] * 2 + word] != twin[node * 2 + word] ->
		frame[node * 2 + word] = frame[known[node] * 2 + word];
		twin[node * 2 + word] = frame[node * 2 + word]
	:: else
	fi
}

inline stamp()
{
	valid[node] = 1;
	old[node] = 0;
	fresh[node] = 1
}

/* The home is read after the stamp: a notice distributed later counts as newer, and no earlier notice is of a diff
 * that went to another home. */
inline fetch()
{
	d_step {
		stamp();
#ifndef HOME_FIRST
		known[node] = home
#endif
	};
	d_step { take(0); take(1) }
}

inline drop_twin()
{
	has_twin[node] = 0;
	twin[node * 2] = 0;
	twin[node * 2 + 1] = 0
}

inline migrate()
{
	if
	:: IS_HOME || BLOCKED
	:: !IS_HOME && !BLOCKED ->
		if
		:: d_step { moving || home != known[node] -> skip }
		:: d_step { !moving && home == known[node] -> moving = 1 };
			if
#ifdef LOOK_FIRST
			:: false
			:: true ->
#else
			:: d_step { BLOCKED -> moving = 0 }
			:: !BLOCKED ->
#endif
#ifndef NO_FETCH
				fetch();
#endif
				d_step { drop_twin(); home = node; known[node] = node; moving = 0 }
			fi
		fi
	fi
}

inline fault(writing)
{
	d_step { !locked[node] && !busy[node] ->
		locked[node] = 1;
		write = writing || (writers[node] & ME);
		if
		:: write -> rights[node] = WRITE
		:: !write && !rights[node] -> rights[node] = READ
		:: else
		fi };
	if
#ifndef NO_HOME_SETTLE
	:: d_step { write && IS_HOME && !moving -> known[node] = home }
	:: d_step { !(write && IS_HOME) -> known[node] = home }
#else
	:: d_step { known[node] = home }
#endif
	fi;
	if
	:: write -> migrate()
	:: !write
	fi;
	if
	:: !IS_HOME && (!valid[node] || !MAPPED) && STALE -> fetch()
	:: else
	fi;
	d_step {
		mapped[node] = mapped[node] | ME;
		noticed[me] = noticed[me] || (!IS_HOME && old[node]);
		if
		:: write ->
			writers[node] = writers[node] | ME;
			dirty[me] = 1;
			if
			:: !IS_HOME && !has_twin[node] ->
				has_twin[node] = 1;
				twin[node * 2] = frame[node * 2];
				twin[node * 2 + 1] = frame[node * 2 + 1]
			:: else
			fi
		:: else
		fi;
		write = 0;
		locked[node] = 0 }
}

inline collect()
{
	if
	:: !queue[node]
	:: d_step { queue[node] && !collecting[node] ->
			collecting[node] = 1;
			count = queue[node];
			fresh[node] = 0;
			later[node] = 0;
			later[3] = later[3] && node != 2 };
		d_step { !locked[node] ->
			if
			:: !old[node] ->
				old[node] = !fresh[node];
				since[node] = later[node];
				since[3] = (node == 2 -> later[3] : since[3])
			:: else
			fi;
			noticed[node] = noticed[node] || (mapped[node] & 1);
			noticed[3] = noticed[3] || (mapped[node] & 2) };
		d_step { queue[node] = queue[node] - count; count = 0; collecting[node] = 0 }
	fi
}

#define DROPS (MAPPED && !IS_HOME && old[node])

inline withdraw()
{
	if
	:: !mapped[node] && !writers[node] -> rights[node] = 0; valid[node] = 0
	:: else
	fi
}

/* A page with a notice is unmapped, or read anew in place: the code counts; the model tries both. */
inline acquire()
{
	collect();
	d_step { since[me] = 1; later[me] = 1 };
	if
	:: !noticed[me]
	:: d_step { noticed[me] && !locked[node] && !busy[node] -> noticed[me] = 0; locked[node] = 1; known[node] = home };
		if
		:: d_step { DROPS -> mapped[node] = mapped[node] & ~ME; withdraw() }
		:: DROPS -> fetch()
		:: !DROPS
		fi;
		locked[node] = 0
	fi
}

inline diff(word)
{
	if
	:: frame[node * 2 + word] != twin[node * 2 + word] ->
		sent[word] = frame[node * 2 + word] + 1;
		twin[node * 2 + word] = frame[node * 2 + word];
		flushed = 1
	:: else
	fi
}

/* The home's agent. */
inline apply(word)
{
	if
	:: sent[word] -> frame[to * 2 + word] = sent[word] - 1; sent[word] = 0
	:: else
	fi
}

inline notify(n)
{
	if
	:: n != node && n != known[node] && rights[n] -> queue[n]++
	:: else
	fi
}

inline release()
{
	collect();
	if
	:: !dirty[me]
	:: d_step { dirty[me] && !locked[node] && !busy[node] ->
			dirty[me] = 0;
			locked[node] = 1;
			writers[node] = writers[node] & ~ME };
		if
		:: d_step { IS_HOME ->
				if
				:: !writers[node] -> rights[node] = READ
				:: else
				fi;
				flushed = 1;
				releasing[me] = 1;
				locked[node] = 0 }
		:: !IS_HOME ->
			sending[node] = 1;
#ifdef NO_SETTLE
			d_step { known[node] = home };
#else
			d_step { !moving -> known[node] = home };
#endif
			d_step {
				diff(0);
				diff(1);
				to = known[node];
				releasing[me] = flushed;
				stands = !flushed && releasing[NEIGHBOUR];
				if
				:: !writers[node] -> drop_twin()
				:: else
				fi };
			if
			:: d_step { flushed -> busy[node] = 1; locked[node] = 0 };
				d_step { apply(0); apply(1); to = 0 };
				d_step { !locked[node] -> locked[node] = 1; busy[node] = 0 };
				d_step { sending[node] = 0; locked[node] = 0 }
#ifdef DENOUNCE_LATE
			/* The diff of another page is in flight. */
			:: d_step { !flushed -> locked[node] = 0; to = 0 };
				d_step { !locked[node] -> sending[node] = 0 }
#endif
			:: d_step { !flushed -> sending[node] = 0; locked[node] = 0; to = 0 }
			fi
		fi;
		if
		:: flushed || !mapped[node] ->
			d_step { notify(0); notify(1); notify(2); flushed = 0 };
			if
			:: mapped[node]
			:: d_step { !mapped[node] && !locked[node] && !busy[node] -> withdraw() }
			fi;
			releasing[me] = 0
		:: else
		fi;
		d_step { !stands || !releasing[NEIGHBOUR] -> stands = 0 }
	fi
}

inline store()
{
	if
	:: WRITES
	:: !WRITES -> fault(true)
	fi;
	d_step {
		assert(frame[node * 2 + word] == truth[word]);
		assert(!IS_HOME || home == node);
		truth[word]++;
		frame[node * 2 + word] = truth[word] }
}

proctype processor(byte me, node, rounds)
{
	byte word, count, to, sent[2];
	bit write, flushed, stands;
	do
	:: rounds ->
		if
		:: atomic { MAY_TAKE(0) && !taken[0] -> taken[0] = 1; word = 0 }
		:: atomic { MAY_TAKE(1) && !taken[1] -> taken[1] = 1; word = 1 }
		fi;
		acquire();
		if
#ifndef WRITERS
		:: true ->
			if
			:: !MAPPED -> fault(false)
			:: MAPPED
			fi;
			assert(frame[node * 2 + word] == truth[word])
		:: store(); acquire()
#endif
		:: store()
		fi;
		release();
		d_step { taken[word] = 0; word = 0; rounds-- }
	:: else -> break
	od;
	running--
}

#ifdef HELD
active proctype holder()
{
	rights[0] == WRITE -> rights[0] = READ
}
#endif

init
{
	atomic {
		running = 4;
#ifdef HELD
		rights[0] = WRITE;
#endif
		run processor(0, 0, P0);
		run processor(1, 1, P1);
		run processor(2, 2, P2);
		run processor(3, 2, P3)
	}
	d_step { running == 0 ->
		assert(frame[home * 2] == truth[0] && frame[home * 2 + 1] == truth[1]) }
}
