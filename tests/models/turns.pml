/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.pml - a home that leaves its page at a notice (cash_migratory_home, protocols/cashmere/predictors/migratory.c)
 * against releases at barriers that are deferred to later writers (release_page in protocols/cashmere/release.c).
 *
 * Node H is the page's home: processors 0 and 1 on one frame, the master copy.  Processor 2 is node X's, with a copy.
 * Steps end with a barrier of all; in odd ones each processor may write its word, in even ones it may read all words.
 * H's processors may retain the right to write over a release, and then count as writers.  An arriving processor
 * leaves its changes to a writer that has not arrived, and records it (deferred); the last one sends the notice.  X
 * sends notices to H, because the page is migratory.  A processor of H that finds one at an acquire may drop its
 * mapping and its writer bit, unless its own stores, or those deferred to it, are not released yet.  H's processors
 * may acquire in the middle of a step, as with a lock.
 *
 * Claim:    a reader finds what the step before wrote.  Nothing blocks for ever.
 * Not here: exclusive mode, given back unasked (home_notice.pml, exclusive.pml); X stays in the directory.
 *
 * pan:  -DSTEPS=4                 the code
 * fail: -DSTEPS=4 -DNOT_DEFERRED  drops stores that a processor of the node, already at the next barrier, has
 *                                 deferred to it
 * fail: -DSTEPS=4 -DNOT_ARRIVED   takes its stores for released, though it has not been at a barrier since
 * fail: -DSTEPS=4 -DBLIND_LEAVE   leaves changes to any writer, also to one that has arrived
 */
byte memory[3], copy[3];     /* words: the master; X's copy */
byte truth[3];
bit locked;                  /* page lock at H */
byte mapped, writers;        /* sets of processors */
bit deferred;
bit dirty[2], noticed[2];
byte hqueue, xqueue;         /* notices in flight */
byte arrived[2], released[3]; /* barriers at which its release has begun, and ended */

inline collect()
{
	d_step { !locked ->
		if
		:: hqueue ->
			hqueue = 0;
			if
			:: mapped & 1 -> noticed[0] = 1
			:: else
			fi;
			if
			:: mapped & 2 -> noticed[1] = 1
			:: else
			fi
		:: else
		fi;
		skip }
}

#define BIT    (1 << me)
#define OTHERS (writers & ~BIT)

inline release()
{
	arrived[me]++;
	collect();
	if
	:: dirty[me] ->
		atomic { !locked -> locked = 1 };
		dirty[me] = 0;
		if
		:: writers & BIT ->
			if
			:: retain = 1
			:: retain = 0
			fi;
			d_step {
				writers = OTHERS;
				if
#ifdef BLIND_LEAVE
				:: writers -> deferred = 1
#else
				:: writers && arrived[1 - me] < arrived[me] -> deferred = 1
#endif
				:: else -> deferred = 0; xqueue++
				fi;
				if
				:: retain -> writers = writers | BIT; dirty[me] = 1
				:: else
				fi;
				retain = 0 }
		:: else
		fi;
		locked = 0
	:: else
	fi
}

/* Processors whose stores are not released. */
#ifdef NOT_ARRIVED
#define AT_BARRIER true
#else
#define AT_BARRIER at_barrier
#endif
#ifdef NOT_DEFERRED
#define DEFERRED false
#else
#define DEFERRED deferred
#endif
#define UNRELEASED (AT_BARRIER && !DEFERRED -> OTHERS : writers)

inline acquire()
{
	collect();
	if
	:: d_step { noticed[me] && !locked -> locked = 1; noticed[me] = 0 };
		if
		:: (mapped & BIT) && !UNRELEASED -> d_step { mapped = mapped & ~BIT; writers = OTHERS; locked = 0 }
		:: locked = 0
		fi
	:: !noticed[me]
	fi
}

inline await()
{
	(released[0] >= step && released[1] >= step && released[2] >= step)
}

proctype home(byte me)
{
	byte step = 1;
	bit retain, at_barrier;

	do
	:: step > STEPS -> break
	:: step <= STEPS ->
		if
		:: step % 2 ->
			if
			:: !(writers & BIT) -> d_step { !locked -> mapped = mapped | BIT; writers = writers | BIT; dirty[me] = 1 }
			:: writers & BIT
			fi;
			/* The right may have been retained, and cannot be taken in between: only its processor drops it. */
			d_step { memory[me] = step; truth[me] = step };
			if
			:: acquire()
			:: skip
			fi
		:: step % 2 == 0 ->
			d_step { !locked -> mapped = mapped | BIT };
			d_step { assert(memory[0] == truth[0] && memory[1] == truth[1] && memory[2] == truth[2]) }
		:: skip
		fi;
		release();
		d_step { released[me]++; at_barrier = 1 };
		await();
		acquire();
		at_barrier = 0;
		step++
	od
}

active proctype away()
{
	byte step = 1;
	bit valid, writes;

	do
	:: step > STEPS -> break
	:: step <= STEPS ->
		if
		:: step % 2 == 1 || step % 2 == 0 ->
			if
			:: !valid -> d_step { copy[0] = memory[0]; copy[1] = memory[1]; copy[2] = memory[2]; valid = 1 }
			:: valid
			fi;
			if
			:: step % 2 -> d_step { copy[2] = step; truth[2] = step; writes = 1 }
			:: else -> d_step { assert(copy[0] == truth[0] && copy[1] == truth[1] && copy[2] == truth[2]) }
			fi
		:: skip
		fi;
		if
		:: writes -> memory[2] = copy[2]; d_step { hqueue++; writes = 0 }
		:: else
		fi;
		released[2]++;
		await();
		d_step {
			if
			:: xqueue -> xqueue = 0; valid = 0; copy[0] = 0; copy[1] = 0; copy[2] = 0
			:: else
			fi;
			step++ }
	od
}

init
{
	atomic {
		run home(0);
		run home(1)
	}
}
