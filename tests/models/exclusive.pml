/* SPDX-License-Identifier: BSD-3-Clause */
/* exclusive.pml - breaking exclusive mode against the holder's release (protocols/cashmere/exclusive.c and
 * release.c).
 *
 * A writer stores to word x of a page that its node holds exclusively: no protocol action, and the store may stay in
 * the processor's store buffer (TSO).  Its release reads the no-longer-exclusive (NLE) set after a full fence; for a
 * page found there (or dirty) it flushes diff against twin and sends notices.  The holder's agent breaks: NLE add,
 * barrier, copy to twin and home, publish, flush, reply; the writer's mapping stays writable.  Two readers on other
 * nodes fault at any time, and read x under the lock.  The writer becomes exclusive again when both readers have
 * left.
 *
 * GIVES: a release may give the page back unasked (protocols/cashmere/predictors/migratory.c), which takes the
 * writer's right.
 *
 * Claim:    a reader under the lock finds the value that the last critical section of the writer stored.
 * Not here: how claims and sharers find each other (directory.pml), concurrent local writers (page.pml).
 *
 * pan:  -DELSEWHERE                       the home is a third node
 * pan:  -DHERE                            the holder is the home: the frame is the master copy, no twin
 * pan:  -DELSEWHERE -DGIVES               given back, too
 * pan:  -DHERE -DGIVES
 * fail: -DELSEWHERE -DSNAPSHOT_FIRST      copies the page, then adds to the NLE set
 * fail: -DHERE -DSNAPSHOT_FIRST           publishes, then adds to the NLE set
 * fail: -DELSEWHERE -DNO_FENCE            the release reads the NLE set with its stores still buffered
 * fail: -DHERE -DNO_FENCE                 likewise
 * fail: -DELSEWHERE -DNO_BARRIER          the agent copies with its NLE add still buffered
 * fail: -DELSEWHERE -DTWO_COPIES          copies the frame to the home and once more to the twin
 * fail: -DELSEWHERE -DPUBLISH_FIRST       publishes before the home has the page
 * fail: -DELSEWHERE -DNO_NLE              relies on the writer's mapping being trapped, which it is not
 * fail: -DELSEWHERE -DGIVES -DGIVE_FIRST  gives back before the home has the page
 * fail: -DELSEWHERE -DGIVES -DKEEP_RIGHT  gives back, and still may write
 * fail: -DHERE -DGIVES -DKEEP_RIGHT       likewise
 */
#define ROUNDS 2 /* critical sections of the writer */
#define READS 2  /* operations of each reader */

byte memory;             /* x in the holder's frame */
byte store;              /* the writer's store buffer: value + 1, 0 empty */
byte master, twin;       /* x at the home (-DELSEWHERE), in the twin */
bit nle, nle_buffered;   /* the writer's NLE set; -DNO_BARRIER: the agent's store buffer */
bit locked;              /* page lock at the holder */
bit exclusive = 1;       /* holder's local truth */
bit writable = 1, dirty; /* the writer's mapping; its dirty set */
bit claims[2];           /* [reader]: its replica of the holder's word says exclusive */
bit shares[2];           /* [reader]: its word, at the holder */
byte queue[2];           /* [reader]: arrived notices */
bit reply[2];
bit taken;               /* application lock */
byte truth;
chan request = [2] of { byte };

#ifdef HERE
#define MASTER memory
#else
#define MASTER master
#endif

/* Actions of the hardware. */
active proctype buffers()
{
end:	do
	:: d_step { store -> memory = store - 1; store = 0 }
	:: d_step { nle_buffered -> nle = 1; nle_buffered = 0 }
	od
}

/* The writer's own view of x. */
#define OWN_X (store -> store - 1 : memory)

inline write_fault()
{
	d_step { !locked ->
		writable = 1;
		if
		:: !shares[0] && !shares[1] -> exclusive = 1; claims[0] = 1; claims[1] = 1
		:: else -> dirty = 1; twin = memory
		fi;
		skip }
}

inline notify(to)
{
	if
	:: d_step { shares[to] -> queue[to]++ }
	:: !shares[to]
	fi
}

inline publish()
{
	claims[0] = 0;
	claims[1] = 0
}

inline give_back()
{
#ifdef GIVES
	if
	:: atomic { !locked && exclusive -> locked = 1 };
#ifndef KEEP_RIGHT
		writable = 0;
#endif
		exclusive = 0;
#ifdef GIVE_FIRST
		publish();
#endif
#ifndef HERE
		master = OWN_X;
#endif
#ifndef GIVE_FIRST
		publish();
#endif
		locked = 0
	:: skip
	fi
#else
	skip
#endif
}

inline writer_release()
{
#ifndef NO_FENCE
	store == 0;
#endif
	d_step { found = nle || dirty; nle = 0; dirty = 0 };
	give_back();
	if
	:: atomic { found && !locked -> locked = 1 };
		if
		:: exclusive -> locked = 0
		:: else ->
#ifndef HERE
			d_step {
				if
				:: OWN_X != twin -> master = OWN_X
				:: else
				fi;
				twin = 0 };
#endif
			d_step { writable = 0; locked = 0 };
			notify(0);
			notify(1)
		fi
	:: !found
	fi;
	found = 0
}

active proctype writer()
{
	byte round;
	bit found;
	do
	:: round < ROUNDS ->
		atomic { !taken -> taken = 1 };
		if
		:: writable
		:: !writable -> write_fault()
		fi;
		d_step { store == 0 -> truth++; store = truth + 1 };
		writer_release();
		/* the store that passes the lock on leaves the buffer after the earlier ones */
		d_step { store == 0 -> taken = 0; round++ }
	:: else -> break
	od
}

inline add_to_nle()
{
#ifdef NO_BARRIER
	nle_buffered = 1
#else
#ifdef NO_NLE
	skip
#else
	nle = 1
#endif
#endif
}

inline copy_home()
{
#ifndef HERE
#ifdef TWO_COPIES
	master = memory;
	twin = memory
#else
	twin = memory;
#ifdef SNAPSHOT_FIRST
	add_to_nle();
#endif
	master = twin
#endif
#else
	skip
#endif
}

active proctype agent()
{
	byte who;
end:	do
	:: atomic { request ? who -> !locked -> locked = 1 };
		if
		:: exclusive ->
			exclusive = 0;
#ifndef SNAPSHOT_FIRST
			add_to_nle();
#endif
#ifdef PUBLISH_FIRST
			publish();
			copy_home()
#else
			copy_home();
			publish();
#endif
#if defined(SNAPSHOT_FIRST) && defined(HERE)
			add_to_nle()
#endif
		:: else
		fi;
		d_step { locked = 0; reply[who] = 1; who = 0 }
	od
}

inline read_fault()
{
	shares[me] = 1;
	do
	:: claims[me] ->
		request ! me;
		d_step { reply[me] -> reply[me] = 0 }
	:: !claims[me] -> break
	od;
	atomic { copy = MASTER; mapped = 1 }
}

proctype reader(byte me)
{
	byte copy, operations;
	bit mapped;
	do
	:: operations < READS && !mapped -> /* another word of the page */
		read_fault();
		operations++
	:: operations < READS ->
		atomic { !taken -> taken = 1 };
		if
		:: d_step { queue[me] -> queue[me] = 0; mapped = 0; copy = 0; shares[me] = 0 }
		:: queue[me] == 0
		fi;
		if
		:: mapped
		:: !mapped -> read_fault()
		fi;
		d_step { assert(copy == truth); taken = 0; operations++ }
	:: operations == READS -> break
	od
}

init
{
	atomic {
		claims[0] = 1;
		claims[1] = 1;
		run reader(0);
		run reader(1)
	}
}
