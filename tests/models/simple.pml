/* SPDX-License-Identifier: BSD-3-Clause */
/* simple.pml - protocols/simple.c: one page, two words, nodes A (processors 0 and 1, one frame) and B (processor 2);
 * the home is elsewhere.
 *
 * Word w belongs to lock w.  Unlike page.pml, which has Cashmere-2L's rules, notices go to all nodes, also after an
 * empty diff, and every copy that is not fresh is fetched.  A diff is performed before the page is unlocked, word by
 * word; so is a fetch.  Stamps are plain clocks, as the runs are short.
 *
 * Claim: every critical section finds the value that the one before it left.  At the end the home has the last
 *        values.  Nothing blocks for ever.
 *
 * P0 to P2 are the processors' programs, two operations each: 1 x++, 2 y++, 3 read x, 4 read y, 0 none.
 *
 * pan:  -DP0=1,1 -DP1=2,0 -DP2=1,2                     both words go between the nodes
 * pan:  -DP0=2,2 -DP1=1,0 -DP2=1,0                     A collects notices while it fetches
 * pan:  -DP0=1,3 -DP1=2,1 -DP2=2,1                     readers among the writers
 * pan:  -DP0=4,3 -DP1=1,0 -DP2=1,1
 * fail: -DP0=2,2 -DP1=1,0 -DP2=1,0 -DLATE_STAMP        stamps the fetch when it ends
 * fail: -DP0=2,2 -DP1=1,0 -DP2=1,0 -DNOTICE_FIRST      sends notices before the diff is performed
 * fail: -DP0=1,0 -DP1=2,0 -DP2=2,1 -DEMPTY_SILENT      an empty diff sends no notices
 * fail: -DP0=1,0 -DP1=2,0 -DP2=1,0 -DNO_FLUSH_UPDATE   flushes without updating the twin
 * fail: -DP0=1,0 -DP1=2,0 -DP2=1,0 -DNO_INCOMING_DIFF  lets an incoming page overwrite the frame
 * fail: -DP0=1,0 -DP1=3,0 -DP2=1,0 -DNO_NOTICE         sends no notices
 * fail: -DP0=2,2 -DP1=1,0 -DP2=1,0 -DHEAD_EARLY        empties the notice queue, then distributes
 */
#ifdef LATE_STAMP
#define EARLY 0
#else
#define EARLY 1
#endif

typedef words { byte w[2] };

typedef entry {
	bool locked, has_twin;
	byte mapped, writers; /* a bit per local processor */
	byte update, notice;  /* stamps */
	byte clock
};

entry e[2];         /* the page's entry on A and B */
words frame[2], twin[2], home;
byte tail[2], head[2]; /* notices for the page ever put into the node's queue, and distributed */
bool collecting[2];    /* notice_in */
bool noticed[3];    /* the page is in the processor's notice set */
bool taken[2];      /* the program's locks */
byte value[2];      /* what the last critical section left */
byte left = 3;      /* running processors */

#define NODE (id / 2) /* of processors 0, 1 and 2 */
#define BIT  (1 << (id % 2))
#define FRESH (e[NODE].update > e[NODE].notice)
#define LOCK atomic { !e[NODE].locked -> e[NODE].locked = true }
#define UNLOCK e[NODE].locked = false

inline stamp(field)
{
	d_step {
		e[NODE].clock++;
		field = e[NODE].clock
	}
}

/* tw_notice_collect: clock first, then the stamp under the page lock; the head moves last. */
inline collect()
{
	if
	:: tail[NODE] != head[NODE] ->
		atomic { !collecting[NODE] -> collecting[NODE] = true };
		upto = tail[NODE];
		if
		:: upto != head[NODE] ->
#ifdef HEAD_EARLY
			head[NODE] = upto;
#endif
			stamp(now);
			LOCK;
			d_step {
				e[NODE].notice = now;
				now = 0;
				if
				:: e[NODE].mapped & 1 -> noticed[NODE * 2] = true
				:: else
				fi;
				if
				:: e[NODE].mapped & 2 -> noticed[NODE * 2 + 1] = true
				:: else
				fi
			};
			atomic {
				UNLOCK;
#ifndef HEAD_EARLY
				head[NODE] = upto
#endif
			}
		:: else
		fi;
		atomic {
			upto = 0;
			collecting[NODE] = false
		}
	:: else
	fi
}

inline acquire()
{
	collect();
	if
	:: noticed[id] ->
		noticed[id] = false;
		LOCK;
		d_step {
			if
			:: (e[NODE].mapped & BIT) && !FRESH -> e[NODE].mapped = e[NODE].mapped & ~BIT
			:: else
			fi;
			UNLOCK
		}
	:: else
	fi
}

inline fetch_word(i)
{
	d_step {
		if
#ifndef NO_INCOMING_DIFF
		:: e[NODE].has_twin ->
			if
			:: home.w[i] != twin[NODE].w[i] ->
				frame[NODE].w[i] = home.w[i];
				twin[NODE].w[i] = home.w[i]
			:: else
			fi
		:: !e[NODE].has_twin -> frame[NODE].w[i] = home.w[i]
#else
		:: true -> frame[NODE].w[i] = home.w[i]
#endif
		fi
	}
}

inline fault(write)
{
	LOCK;
	if
	:: !FRESH ->
		if
		:: EARLY -> stamp(e[NODE].update)
		:: else
		fi;
		fetch_word(0);
		fetch_word(1);
		if
		:: !EARLY -> stamp(e[NODE].update)
		:: else
		fi
	:: else
	fi;
	d_step {
		if
		:: write ->
			if
			:: !e[NODE].has_twin ->
				e[NODE].has_twin = true;
				twin[NODE].w[0] = frame[NODE].w[0];
				twin[NODE].w[1] = frame[NODE].w[1]
			:: else
			fi;
			e[NODE].writers = e[NODE].writers | BIT;
			dirty = true
		:: else
		fi;
		e[NODE].mapped = e[NODE].mapped | BIT;
		UNLOCK
	}
}

inline flush_word(i)
{
	d_step {
		if
		:: frame[NODE].w[i] != twin[NODE].w[i] ->
			some = true;
			home.w[i] = frame[NODE].w[i];
#ifndef NO_FLUSH_UPDATE
			twin[NODE].w[i] = frame[NODE].w[i]
#endif
		:: else
		fi
	}
}

inline notify()
{
#ifdef NO_NOTICE
	skip
#else
	tail[1 - NODE]++
#endif
}

inline release()
{
	if
	:: dirty ->
		dirty = false;
#ifdef NOTICE_FIRST
		notify();
#endif
		LOCK;
		e[NODE].writers = e[NODE].writers & ~BIT;
		flush_word(0);
		flush_word(1);
		d_step {
			if
			:: e[NODE].writers == 0 -> e[NODE].has_twin = false; twin[NODE].w[0] = 0; twin[NODE].w[1] = 0
			:: else
			fi;
			UNLOCK
		};
#ifndef NOTICE_FIRST
#ifdef EMPTY_SILENT
		if
		:: some -> notify()
		:: else
		fi;
#else
		notify();
#endif
#endif
		some = false
	:: else
	fi
}

inline section(which, write)
{
	atomic { !taken[which] -> taken[which] = true };
	acquire();
	if
	:: write ->
		if
		:: (e[NODE].mapped & BIT) && (e[NODE].writers & BIT)
		:: else -> fault(true)
		fi;
		assert(frame[NODE].w[which] == value[which]);
		frame[NODE].w[which] = 100; /* junk: half-done work that another processor's flush may carry home */
		atomic {
			value[which]++;
			frame[NODE].w[which] = value[which]
		}
	:: else ->
		if
		:: e[NODE].mapped & BIT
		:: else -> fault(false)
		fi;
		assert(frame[NODE].w[which] == value[which])
	fi;
	release();
	taken[which] = false
}

inline operation(op)
{
	if
	:: op == 0
	:: op == 1 -> section(0, true)
	:: op == 2 -> section(1, true)
	:: op == 3 -> section(0, false)
	:: op == 4 -> section(1, false)
	fi
}

proctype processor(byte id; byte first; byte second)
{
	bool dirty, some;
	byte now, upto;

	operation(first);
	operation(second);
	d_step {
		left--;
		if
		:: left == 0 -> assert(home.w[0] == value[0] && home.w[1] == value[1])
		:: else
		fi
	}
}

init
{
	atomic {
		run processor(0, P0);
		run processor(1, P1);
		run processor(2, P2)
	}
}
