/* SPDX-License-Identifier: BSD-3-Clause */
/* evictable.pml - mutexes whose slots are evicted (sync/evictable.c).
 *
 * Two threads of different processors.  One takes the mutex A, and C inside; the other one C, and B inside; SEPARATE:
 * not inside, but after; each ROUNDS times, or until EVICTIONS slots were evicted.  There are three slots, all in use
 * at first: by B, by C, and by a mutex that was freed.  A slot's lock is one variable, its generation and the mutex'
 * name of it are one step each.
 *
 * Claim:    a mutex has one holder at a time.  A holder has seen what the former one had stored.  Nobody waits for
 *           ever (pan's invalid end states).
 * Not here: old copies of names; batches; pthread_mutex_destroy.
 * By hand:  spin -DROUNDS=2 -a evictable.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *
 * pan:  -DROUNDS=1
 * pan:  -DROUNDS=2
 * pan:  -DROUNDS=2 -DSEPARATE
 * fail: -DROUNDS=1 -DNO_TEST    the generation is not tested when the lock was taken
 * fail: -DROUNDS=1 -DNO_COUNT   the evicting thread does not read the counts
 * fail: -DROUNDS=1 -DLATE_COUNT a thread is counted in behind its test of the generation
 * fail: -DROUNDS=1 -DFRESH      a thread is not counted in when it takes the slot that it has created
 * fail: -DROUNDS=1 -DSEPARATE -DNO_FOLLOW  a thread that renews a mutex has not acquired from its former slot
 */
#ifndef ROUNDS
#define ROUNDS 1
#endif

#ifndef EVICTIONS
#define EVICTIONS 3
#endif

#define SLOTS 3
#define A     0
#define B     1
#define C     2
#define NONE  SLOTS

bit over;            /* more evictions than are looked at */
byte evicted;
bit taken[SLOTS];    /* the slot's lock */
byte gen[SLOTS];     /* and its generation */
byte count[SLOTS];   /* threads that may be about to wait */
byte slot[3], named[3]; /* of a mutex: its slot, of that generation */
byte stored[3], holders[3];
typedef versions { byte v[3] };
versions record[SLOTS], seen[2];

#define LIVES(s, g) ((s) != NONE && gen[s] == (g))

inline take(s)
{
	if
	:: atomic { !taken[s] && !over -> taken[s] = 1 }
	:: over -> goto through
	fi
}

inline acquire(s)
{
	d_step {
		i = 0;
		do
		:: i < 3 ->
			if
			:: record[s].v[i] > seen[_pid - 1].v[i] -> seen[_pid - 1].v[i] = record[s].v[i]
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

inline release(s)
{
	d_step {
		i = 0;
		do
		:: i < 3 -> record[s].v[i] = seen[_pid - 1].v[i]; i++
		:: else -> break
		od;
		i = 0;
		taken[s] = 0
	}
}

/* A free slot, by eviction: @s, @g. */
inline create(s, g)
{
	do
	:: atomic {
		if
		:: evicted == EVICTIONS -> over = 1; goto through
		:: evicted < EVICTIONS && !taken[0] -> s = 0
		:: evicted < EVICTIONS && !taken[1] -> s = 1
		:: evicted < EVICTIONS && !taken[2] -> s = 2
		fi;
		evicted++;
		taken[s] = 1
	   }
	   gen[s]++;
	   g = gen[s];
#ifndef NO_COUNT
	   if
	   :: count[s] -> taken[s] = 0
	   :: else -> taken[s] = 0; break
	   fi
#else
	   taken[s] = 0;
	   break
#endif
	od
}

/* Wait for the lock of a slot, if it lives. */
inline wait(s, g)
{
#ifdef LATE_COUNT
	live = LIVES(s, g);
	count[s]++;
#else
	count[s]++;
	live = LIVES(s, g);
#endif
	if
	:: live -> take(s); acquire(s)
	:: else
	fi;
	count[s]--;
}

/* Take the mutex @m; its lock is the slot @s then. */
inline lock(m, s, g)
{
	do
	:: atomic { s = slot[m]; g = named[m] }
	   if
	   :: LIVES(s, g) ->
		wait(s, g);
		if
		:: !live
#ifndef NO_TEST
		:: live && !LIVES(s, g) -> release(s)
		:: live && LIVES(s, g) -> break
#else
		:: live -> break
#endif
		fi
	   :: else ->
		create(fresh, number);
#ifdef FRESH
		live = 1;
		take(fresh);
		acquire(fresh);
#else
		wait(fresh, number);
#endif
		if
		:: !live
		:: live && !LIVES(fresh, number) -> release(fresh)
		:: live && LIVES(fresh, number) ->
#ifndef NO_FOLLOW
			if
			:: s != NONE -> acquire(s)
			:: else
			fi;
#endif
			atomic {
				live = (slot[m] == s && named[m] == g);
				if
				:: live -> slot[m] = fresh; named[m] = number
				:: else
				fi
			}
			if
			:: live -> s = fresh; g = number; break
			:: else -> release(fresh)
			fi
		fi
	   fi
	od;
	skip;
	d_step {
		assert(holders[m] == 0);
		holders[m] = 1;
		assert(seen[_pid - 1].v[m] == stored[m]);
		stored[m]++;
		seen[_pid - 1].v[m] = stored[m]
	}
}

inline unlock(m, s)
{
	holders[m] = 0;
	release(s)
}

proctype thread(byte outer; byte inner)
{
	byte i, fresh, number, round, s1, g1, s2, g2;
	bit live;

	do
	:: round < ROUNDS ->
		lock(outer, s1, g1);
#ifdef SEPARATE
		unlock(outer, s1);
		lock(inner, s2, g2);
		unlock(inner, s2);
#else
		lock(inner, s2, g2);
		unlock(inner, s2);
		unlock(outer, s1);
#endif
		round++
	:: else -> break
	od;
through:
	skip
}

init
{
	atomic {
		slot[A] = NONE;
		slot[B] = 0;
		slot[C] = 1;
		run thread(A, C);
		run thread(C, B)
	}
}
