/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.pml - one page under TS with a shared copy, on which atomic operations act (protocols/timestamp/word.c).
 *
 * Nodes of one processor.  Byte 0 is a word, to which each node adds; byte 1 is plain, and guarded by a lock of the
 * program.  A node adds, loads the word atomically, or enters the lock's section, in any order, STEPS times, all but
 * node 0 MORE times.  In the section it reads both bytes, and may store to byte 1.  Bytes are read, sent and merged
 * one by one.  Free choices: whether a copy is sought by notice, by a look or in the page's section; whether a commit
 * enters exclusive mode; when a node leaves the shared copy.
 *
 * Claim:    the newest copy has all additions at the end.  An atomic load has all that came before it.  In the section
 *           a plain load of byte 0 has the node's own additions, and what the last one in it had seen by its own; byte
 *           1 is what it stored.  No node waits for ever.
 * Not here: signatures without room, the chain of links (timestamp.pml); several processors of a node; plain stores to
 *           the word; loads without the lock, for which a node that has entered needs nothing else.
 *
 * pan:  -DNODES=2 -DSTEPS=2                     two nodes
 * pan:  -DNODES=3 -DSTEPS=1                     three nodes
 * pan:  -DNODES=2 -DSTEPS=1 -DMORE=3            node 1 does more than node 0
 * fail: -DNODES=2 -DSTEPS=3 -DNO_COUNT          a commit ends the shared copy though a node has entered it
 * fail: -DNODES=2 -DSTEPS=2 -DNO_NOTICE         an operation makes no version
 * fail: -DNODES=2 -DSTEPS=2 -DMORE=3 -DPUBLIC   a node that has entered reads public copies
 * fail: -DNODES=2 -DSTEPS=2 -DMORE=3 -DEARLY    a node leaves before its operations are announced
 * fail: -DNODES=2 -DSTEPS=2 -DMORE=3 -DNO_NEED  a node announces what its copy has not, and does not need it
 * fail: -DNODES=2 -DSTEPS=2 -DNO_UPDATE         an operation leaves the node's own copy as it was
 * fail: -DNODES=2 -DSTEPS=3 -DHELD_HERE         the node of the shared copy takes its own copy for that
 * fail: -DNODES=2 -DSTEPS=2 -DZEROS             a node that has entered takes zeros for the first version
 * fail: -DNODES=2 -DSTEPS=2 -DLOAD_ANYWHERE     a load takes its frame for the newest copy, wherever the chain ends
 * fail: -DNODES=2 -DSTEPS=1 -DMORE=3 -DLOAD_SHARED the same where there is a shared copy
 * fail: -DNODES=2 -DSTEPS=2 -DMORE=3 -DNO_BREAK the shared copy begins while its node is in exclusive mode
 */
#ifndef MORE
#define MORE STEPS
#endif
#define LEASE 1
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define NOBODY 255
#define SHARED 16
#define EXCLUSIVE 1
#define BUSY 2

typedef bytes { byte b[2] }

/* the node's copy */
bytes frame[NODES], pub[NODES], sh[NODES];
bit twin[NODES], dirty[NODES], mapped[NODES], copy[NODES], plock[NODES];
byte wts[NODES], rts[NODES], need[NODES], need_rts[NODES], need_from[NODES];
byte entered[NODES]; /* the node of the shared copy + 1 */
bit announce[NODES];
/* its signature */
byte n_wts[NODES], n_rts[NODES], n_from[NODES];
/* the page's words */
byte stamp_w[NODES], stamp_r[NODES], home[NODES], count[NODES], mark[NODES];
bit section;
byte end;

/* the program */
bit locked;
byte releaser = NOBODY;
byte total, last, shown, finished;

#define VALID     (copy[me] && rts[me] >= need[me])
#define EQUAL     (frame[me].b[0] == pub[me].b[0] && frame[me].b[1] == pub[me].b[1])
#define SOURCE(i) (s -> sh[h].b[i] : pub[h].b[i])
#ifdef HELD_HERE
#define HERE (h == me)
#else
#define HERE (h == me && !s)
#endif
#ifdef ZEROS
#define ZERO (w == 0)
#else
#define ZERO (w == 0 && !entered[me])
#endif
#define HELD (HERE || ZERO || (copy[me] && wts[me] == w))

inline lock() { atomic { plock[me] == 0 -> plock[me] = 1 } }
inline unlock() { plock[me] = 0 }

inline break_mode(n)
{
	mark[n] = BUSY;
	copy0 = frame[n].b[0];
	copy1 = frame[n].b[1];
	pub[n].b[0] = copy0;
	pub[n].b[1] = copy1;
	d_step { mark[n] = 0; copy0 = 0; copy1 = 0 }
}

/* Enter the section; w, r, h, s: the newest version, by which node, in its shared copy or not. */
inline enter()
{
	atomic {
		section == 0 -> section = 1;
		w = stamp_w[end]; r = stamp_r[end]; h = home[end] & (SHARED - 1); s = home[end] / SHARED
	};
	if
	:: mark[h] && h != me -> break_mode(h)
	:: else
	fi
}

inline leave() { d_step { end = me; section = 0; plock[me] = 0 } }

inline has(w0, r0) { d_step { copy[me] = 1; wts[me] = w0; rts[me] = MAX(rts[me], r0) } }

inline read_byte(i)
{
	d_step {
		if
		:: dirty[me] && SOURCE(i) != pub[me].b[i] -> frame[me].b[i] = SOURCE(i); pub[me].b[i] = frame[me].b[i]
		:: dirty[me] && SOURCE(i) == pub[me].b[i] -> skip
		:: !dirty[me] -> frame[me].b[i] = SOURCE(i); twin[me] = 0
		fi
	}
}

/* The newest version where it is, or the shared copy that the node has entered. */
inline read()
{
#ifndef PUBLIC
	if
	:: entered[me] -> d_step { h0 = h; s0 = s; h = entered[me] - 1; s = 1 }
	:: else -> d_step { h0 = h; s0 = s }
	fi;
#else
	d_step { h0 = h; s0 = s };
#endif
	read_byte(0);
	read_byte(1);
	d_step { h = h0; s = s0; h0 = 0; s0 = 0 }
}

inline make_twin()
{
	d_step {
		if
		:: twin[me]
		:: else -> pub[me].b[0] = frame[me].b[0]; pub[me].b[1] = frame[me].b[1]; twin[me] = 1
		fi
	}
}

/* Returns with a valid copy and the own page lock. */
inline validate()
{
	lock();
	do
	:: VALID -> break
	:: !VALID && need_from[me] != NOBODY && need[me] > rts[me] ->
		/* by the notice */
		d_step { h = need_from[me] & (SHARED - 1); s = need_from[me] / SHARED };
		if
		:: !s && (h == me || mark[h])
		:: else -> read(); has(need[me], need_rts[me])
		fi
	:: !VALID ->
		/* by a look at a node's words */
		if
		:: e = 0
		:: e = 1
#if NODES > 2
		:: e = 2
#endif
		fi;
		d_step { w = stamp_w[e]; r = stamp_r[e] };
		if
		:: r >= need[me] && !(copy[me] && w < wts[me]) ->
			d_step { h = home[e] & (SHARED - 1); s = home[e] / SHARED };
			if
			:: HELD -> has(w, r)
			:: !HELD && !s && mark[h]
			:: !HELD && (s || !mark[h]) -> read(); has(w, r)
			fi
		:: else
		fi
	:: !VALID ->
		/* in the section */
		unlock();
		enter();
		lock();
		if
		:: HELD
		:: else -> read()
		fi;
		d_step {
			r = MAX(r, MAX(w + LEASE, need[me]));
			home[me] = h + s * SHARED;
			stamp_w[me] = w;
			stamp_r[me] = r
		};
		has(w, r);
		leave();
		lock()
	od;
	skip;
	d_step { w = 0; r = 0; h = 0; s = 0; e = 0 }
}

inline fault(stores)
{
	if
	:: mapped[me] && (dirty[me] || !stores)
	:: else ->
		validate();
		if
		:: stores -> make_twin(); dirty[me] = 1
		:: else
		fi;
		d_step { mapped[me] = 1; plock[me] = 0 }
	fi
}

/* A notice enters the own signature. */
inline put(w0, r0, f0)
{
	d_step {
		if
		:: w0 > n_wts[me] -> n_wts[me] = w0; n_rts[me] = r0; n_from[me] = f0
		:: else
		fi
	}
}

/* Publish the version after w, r.  In the section, page locked. */
inline version(exclusive, whole)
{
	d_step { w = r + 1; r = w + LEASE; announce[me] = 0; h = (s -> h : me) };
	d_step { home[me] = h + s * SHARED; mark[me] = (exclusive -> EXCLUSIVE : mark[me]) };
	d_step { stamp_w[me] = w; stamp_r[me] = r };
	if
	:: whole -> has(w, r)
	:: else ->
#ifndef NO_NEED
		d_step { need[me] = w; need_rts[me] = r; need_from[me] = h + s * SHARED }
#endif
		skip
	fi;
	put(w, r, h + s * SHARED)
}

/* The node may leave the shared copy.  Page locked. */
inline unused()
{
	if
#ifdef EARLY
	:: entered[me] -> d_step { count[entered[me] - 1]--; entered[me] = 0 }
#else
	:: entered[me] && !announce[me] -> d_step { count[entered[me] - 1]--; entered[me] = 0 }
#endif
	:: skip
	fi
}

inline send_byte(i)
{
	d_step {
		if
		:: frame[me].b[i] != pub[me].b[i] -> sh[h].b[i] = frame[me].b[i]; pub[me].b[i] = frame[me].b[i]
		:: else
		fi
	}
}

inline merge_byte(i)
{
	d_step {
		if
		:: frame[me].b[i] != pub[me].b[i] -> pub[me].b[i] = frame[me].b[i]
		:: else -> frame[me].b[i] = SOURCE(i); pub[me].b[i] = frame[me].b[i]
		fi
	}
}

inline commit()
{
	enter();
	lock();
	if
	:: s -> unused()
	:: else
	fi;
	if
#ifdef NO_COUNT
	:: s && entered[me] ->
#else
	:: s && (entered[me] || count[h]) ->
#endif
		e = HELD;
		send_byte(0);
		send_byte(1);
		if
		:: !e -> read()
		:: else
		fi;
		d_step { e = 0; dirty[me] = 0 };
		version(0, 1)
	:: else ->
		if
		:: HELD -> d_step { pub[me].b[0] = frame[me].b[0]; pub[me].b[1] = frame[me].b[1] }
		:: else -> merge_byte(0); merge_byte(1)
		fi;
		s = 0;
		if
		:: dirty[me] = 0; version(0, 1)
		:: version(1, 1)
		fi
	fi;
	leave();
	d_step { w = 0; r = 0; h = 0; s = 0 }
}

inline release()
{
	lock();
	if
	:: !dirty[me] || mark[me] == EXCLUSIVE -> unlock()
	:: dirty[me] && mark[me] == 0 && EQUAL && !announce[me] -> d_step { dirty[me] = 0; plock[me] = 0 }
	:: else -> unlock(); commit()
	fi;
#ifndef NO_NOTICE
	if
	:: announce[me] ->
		enter();
		lock();
		version(0, copy[me] && wts[me] == w);
		leave();
		d_step { w = 0; r = 0; h = 0; s = 0 }
	:: else
	fi
#endif
}

inline acquire()
{
	if
	:: releaser == NOBODY || releaser == me
	:: else ->
		d_step { w = n_wts[releaser]; r = n_rts[releaser]; h = n_from[releaser] };
		put(w, r, h);
		lock();
		if
		:: w > rts[me] ->
			d_step {
				if
				:: w > need[me] -> need[me] = w; need_rts[me] = r; need_from[me] = h
				:: else
				fi;
				mapped[me] = 0
			}
		:: else
		fi;
		d_step { plock[me] = 0; w = 0; r = 0; h = 0 }
	fi
}

inline enter_shared()
{
	enter();
#ifndef NO_BREAK
	if
	:: mark[me] && !s -> break_mode(me)
	:: else
	fi;
#endif
	lock();
	if
	:: !s ->
		if
		:: HELD
		:: else -> read()
		fi;
		has(w, r);
		make_twin();
		d_step { sh[me].b[0] = pub[me].b[0]; sh[me].b[1] = pub[me].b[1]; h = me; s = 1 }
	:: else
	fi;
	d_step { home[me] = h + SHARED };
	d_step { stamp_w[me] = w; stamp_r[me] = r };
	d_step { entered[me] = h + 1; count[h]++ };
	leave();
	d_step { w = 0; r = 0; h = 0; s = 0 }
}

inline add()
{
	if
	:: !entered[me] -> enter_shared()
	:: else
	fi;
	lock();
	h = entered[me] - 1;
	d_step { sh[h].b[0]++; total++; must = sh[h].b[0] };
	d_step {
#ifndef NO_UPDATE
		if
		:: twin[me] && must != pub[me].b[0] -> frame[me].b[0] = must; pub[me].b[0] = must
		:: !twin[me] && copy[me] -> frame[me].b[0] = must
		:: else
		fi;
#endif
		announce[me] = 1;
		h = 0;
		plock[me] = 0
	}
}

/* An atomic load in the frame, where that is the newest copy. */
inline load()
{
	lock();
	d_step {
#ifdef LOAD_ANYWHERE
		e = (mark[me] != BUSY && home[me] == me);
#elif defined(LOAD_SHARED)
		e = (section == 0 && end == me && mark[me] != BUSY && (home[me] & (SHARED - 1)) == me);
#else
		e = (section == 0 && end == me && mark[me] != BUSY && home[me] == me);
#endif
		h0 = total
	};
	assert(!e || frame[me].b[0] >= h0);
	d_step { e = 0; h0 = 0; plock[me] = 0 }
}

proctype node(byte me)
{
	byte w, r, h, e, step, copy0, copy1, must, h0;
	bit s, s0;

	do
	:: step == (me -> MORE : STEPS) -> break
	:: else ->
		step++;
		if
		:: true -> add()
		:: true -> load()
		:: atomic { !locked -> locked = 1 };
			acquire();
			lock();
			unused();
			unlock();
			must = MAX(must, shown);
			if
			:: true -> fault(1);
				assert(frame[me].b[1] == last);
				d_step { last++; frame[me].b[1] = last }
			:: true -> fault(0);
				assert(frame[me].b[1] == last)
			:: true
			fi;
			assert(!mapped[me] || frame[me].b[0] >= must);
			release();
			d_step { shown = MAX(shown, must); releaser = me; locked = 0 }
		fi
	od;
	finished++
}

#define HOME (home[end] & (SHARED - 1))

init
{
	atomic {
		byte i = 0;
		do
		:: i == NODES -> break
		:: else -> need_from[i] = NOBODY; i++
		od;
		i = 0;
		do
		:: i == NODES -> break
		:: else -> run node(i); i++
		od
	};
	finished == NODES;
	assert(total == (home[end] / SHARED -> sh[HOME].b[0] : (mark[HOME] -> frame[HOME].b[0] : pub[HOME].b[0])))
}
