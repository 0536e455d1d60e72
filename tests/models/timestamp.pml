/* SPDX-License-Identifier: BSD-3-Clause */
/* timestamp.pml - one page under TS (protocols/timestamp/): versions, leases, notices, looks, merges, exclusive mode.
 *
 * Nodes of one processor.  Each enters a critical section of the program ROUNDS times and adds one to byte 0, or does
 * nothing.  Node 0 also changes byte 1, its own, before and in it.  Bytes are read and merged one by one.  Free
 * choices: whether a notice finds room in the signature; whether a copy is sought by notice, by a look (at any node's
 * words) or in the page's section; whether a commit enters exclusive mode; whether a page stays writable.
 *
 * Claim:    a node inside reads what the last one stored.  Node 0 reads what it stored.  No node waits for ever.
 * Not here: the chain of links (the section is a lock that records its last owner), several processors of a node,
 *           several pages: a signature has room for the page's notice or has not.
 * By hand:  spin -DNODES=2 -a timestamp.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *
 * pan:  -DNODES=2 -DROUNDS=2                        two nodes, twice each
 * pan:  -DNODES=2 -DROUNDS=2 -DSILENT               node 0 once: a commit may have nothing new, and enter exclusive
 *                                                   mode
 * pan:  -DNODES=3 -DROUNDS=1                        the third learns of a version indirectly
 * fail: -DNODES=2 -DROUNDS=2 -DIGNORE_LEASE         a commit's version may lie within a lease
 * fail: -DNODES=2 -DROUNDS=2 -DDROP_MIN             a notice without room is forgotten
 * fail: -DNODES=3 -DROUNDS=1 -DNO_MERGE             what an acquire learns is not passed on
 * fail: -DNODES=2 -DROUNDS=2 -DNO_BREAK             entering by the section does not end exclusive mode
 * fail: -DNODES=2 -DROUNDS=2 -DCOPY_FIRST           the break copies the frame, then marks
 * fail: -DNODES=2 -DROUNDS=2 -DNOT_BUSY             the break clears the mark before it copies: a look at both copies
 *                                                   passes
 * fail: -DNODES=3 -DROUNDS=2 -DMARK_AFTER           the home's mark is read after the copy
 * fail: -DNODES=2 -DROUNDS=2 -DNO_MARK              a fetch by a notice does not read the mark
 * fail: -DNODES=3 -DROUNDS=2 -DSTAMP_FIRST          a commit writes its stamp before its home
 * fail: -DNODES=2 -DROUNDS=2 -DREAD_FRAME           readers see bytes that are not committed
 * fail: -DNODES=2 -DROUNDS=2 -DSILENT -DNO_VERSION  a commit with nothing new enters exclusive mode in the old
 *                                                   version
 * fail: -DNODES=3 -DROUNDS=1 -DOVERWRITE            a fetch overwrites what the node has not committed
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifdef SILENT
#define ROUNDS_OF(n) ((n) == 0 -> 1 : ROUNDS)
#else
#define ROUNDS_OF(n) ROUNDS
#endif
#define LEASE 1
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define NOBODY 255
#define EXCLUSIVE 1
#ifdef NOT_BUSY
#define BUSY 0
#else
#define BUSY 2
#endif

typedef bytes { byte b[2] }

/* the node's copy */
bytes frame[NODES], pub[NODES];
bit twin[NODES], dirty[NODES], mapped[NODES], copy[NODES], plock[NODES];
byte wts[NODES], rts[NODES], need[NODES], need_rts[NODES], need_from[NODES], clock[NODES];
/* its signature */
byte n_wts[NODES], n_rts[NODES], n_from[NODES], min_wr[NODES];
/* the page's words */
byte stamp_w[NODES], stamp_r[NODES], home[NODES];
byte mark[NODES];
bit section;
byte end;

/* the program */
bit locked;
byte releaser = NOBODY;
byte last, own;

#ifdef READ_FRAME
#define SOURCE(n) frame[n]
#else
#define SOURCE(n) pub[n]
#endif
#define VALID (copy[me] && rts[me] >= need[me] && rts[me] >= min_wr[me])
#define NOTHING_NEW (mark[me] == 0 && frame[me].b[0] == pub[me].b[0] && frame[me].b[1] == pub[me].b[1])
#define HELD  (h == me || w == 0 || (copy[me] && wts[me] == w))

/* Node @h's public copy into this node's, except its own writes. */
inline read_byte(i)
{
	d_step {
#ifndef OVERWRITE
		if
		:: dirty[me] && SOURCE(h).b[i] != pub[me].b[i] ->
			frame[me].b[i] = SOURCE(h).b[i];
			pub[me].b[i] = SOURCE(h).b[i]
		:: dirty[me] && SOURCE(h).b[i] == pub[me].b[i] -> skip
		:: !dirty[me] ->
			frame[me].b[i] = SOURCE(h).b[i];
			twin[me] = 0
		fi
#else
		frame[me].b[i] = SOURCE(h).b[i];
		pub[me].b[i] = SOURCE(h).b[i]
#endif
	}
}

inline merge_byte(i)
{
	d_step {
		if
		:: frame[me].b[i] != pub[me].b[i] -> pub[me].b[i] = frame[me].b[i]
		:: else ->
			frame[me].b[i] = SOURCE(h).b[i];
			pub[me].b[i] = SOURCE(h).b[i]
		fi
	}
}

/* Enter the section; w, r, h: the newest version.  No page lock is held. */
inline enter()
{
	atomic { section == 0 -> section = 1; w = stamp_w[end]; r = stamp_r[end]; h = home[end] };
#ifndef NO_BREAK
	if
	:: mark[h] && h != me ->
		/* A one-sided commit for the home. */
#ifndef COPY_FIRST
		mark[h] = BUSY;
#endif
		copy0 = frame[h].b[0];
		copy1 = frame[h].b[1];
		pub[h].b[0] = copy0;
		pub[h].b[1] = copy1;
		mark[h] = 0
	:: else
	fi;
#endif
	atomic { plock[me] == 0 -> plock[me] = 1 }
}

inline leave() { d_step { end = me; section = 0; plock[me] = 0 } }

inline has(w0, r0) { d_step { copy[me] = 1; wts[me] = w0; rts[me] = MAX(rts[me], r0) } }

/* Returns with a valid copy and the own page lock. */
inline validate()
{
	atomic { plock[me] == 0 -> plock[me] = 1 };
	do
	:: VALID -> break
	:: !VALID && need_from[me] != NOBODY && need[me] > rts[me] && need[me] >= min_wr[me] ->
		/* by the notice */
		h = need_from[me];
#if !defined(NO_MARK) && !defined(MARK_AFTER)
		seen = mark[h];
#else
		seen = 0;
#endif
		if
		:: seen
		:: !seen ->
			read_byte(0);
			read_byte(1);
#ifdef MARK_AFTER
			seen = mark[h];
#endif
			if
			:: !seen -> has(need[me], need_rts[me])
			:: else
			fi
		fi
	:: !VALID ->
		/* by a look at a node's words */
		if
		:: h = 0
		:: h = 1
#if NODES > 2
		:: h = 2
#endif
		fi;
		e = h;
		d_step { w = stamp_w[e]; r = stamp_r[e] };
		if
		:: r >= need[me] && r >= min_wr[me] && !(copy[me] && w < wts[me]) ->
			h = home[e];
			if
			:: HELD -> has(w, r)
			:: else ->
				seen = mark[h];
				if
				:: seen
				:: !seen -> read_byte(0); read_byte(1); has(w, r)
				fi
			fi
		:: else
		fi
	:: !VALID ->
		/* in the section */
		plock[me] = 0;
		enter();
		if
		:: HELD
		:: else -> read_byte(0); read_byte(1)
		fi;
		d_step {
			r = MAX(r, MAX(MAX(MAX(min_wr[me], clock[me]), w) + LEASE, need[me]));
			home[me] = h;
			stamp_w[me] = w;
			stamp_r[me] = r
		};
		has(w, r);
		leave();
		atomic { plock[me] == 0 -> plock[me] = 1 }
	od
}

inline fault()
{
	if
	:: mapped[me] && dirty[me]
	:: else ->
		validate();
		if
		:: twin[me]
		:: else ->
			d_step { pub[me].b[0] = frame[me].b[0]; pub[me].b[1] = frame[me].b[1] };
			twin[me] = 1
		fi;
		d_step { mapped[me] = 1; dirty[me] = 1; plock[me] = 0 }
	fi
}

/* A notice enters the own signature. */
inline put(w0, r0, f0)
{
	atomic {
		if
		:: w0 > n_wts[me] && w0 > min_wr[me] ->
			if
			:: n_wts[me] = w0; n_rts[me] = r0; n_from[me] = f0
			:: n_wts[me] = 0;
#ifndef DROP_MIN
				min_wr[me] = MAX(min_wr[me], w0)
#endif
			fi
		:: else
		fi
	}
}

inline commit()
{
	atomic { plock[me] == 0 -> plock[me] = 1 };
	if
	:: !dirty[me] || mark[me] == EXCLUSIVE -> plock[me] = 0
	:: dirty[me] && NOTHING_NEW ->
		if
		:: dirty[me] = 0
		:: skip
		fi;
		plock[me] = 0
	:: dirty[me] && mark[me] != EXCLUSIVE && (silent || !NOTHING_NEW) ->
		silent = NOTHING_NEW;
		plock[me] = 0;
		enter();
		if
		:: HELD -> d_step { pub[me].b[0] = frame[me].b[0]; pub[me].b[1] = frame[me].b[1] }
		:: else -> merge_byte(0); merge_byte(1)
		fi;
#ifdef IGNORE_LEASE
		w = MAX(w, clock[me]) + 1;
#else
		w = MAX(r, clock[me]) + 1;
#endif
		r = w + LEASE;
		clock[me] = w;
		if
		:: seen = 1
		:: !silent -> seen = 0
		fi;
#ifdef NO_VERSION
		if
		:: silent -> w = stamp_w[end]; r = stamp_r[end]
		:: else
		fi;
#endif
#ifdef STAMP_FIRST
		d_step { stamp_w[me] = w; stamp_r[me] = r };
		d_step { home[me] = me; mark[me] = seen };
#else
		d_step { home[me] = me; mark[me] = seen };
		d_step { stamp_w[me] = w; stamp_r[me] = r };
#endif
		has(w, r);
		if
		:: !seen -> dirty[me] = 0
		:: skip
		fi;
		put(w, r, me);
		leave()
	fi;
	silent = 0
}

inline acquire()
{
	if
	:: releaser == NOBODY || releaser == me
	:: else ->
		d_step { w = n_wts[releaser]; r = n_rts[releaser]; h = n_from[releaser]; e = min_wr[releaser] };
#ifndef NO_MERGE
		if
		:: w -> put(w, r, h)
		:: else
		fi;
#endif
		d_step {
			min_wr[me] = MAX(min_wr[me], e);
			clock[me] = MAX(clock[me], MAX(w, e));
			if
			:: w > rts[me] ->
				if
				:: w > need[me] -> need[me] = w; need_rts[me] = r; need_from[me] = h
				:: else
				fi;
				mapped[me] = 0
			:: else
			fi;
			if
			:: min_wr[me] > rts[me] -> mapped[me] = 0
			:: else
			fi
		}
	fi
}

/* With two nodes, node 0 restores it before another node may see it, and releases that. */
inline store_own()
{
	fault();
	assert(frame[0].b[1] == own);
	d_step { own = 1 - own; frame[0].b[1] = own }
}

proctype node(byte me)
{
	byte w, r, h, e, round, seen, copy0, copy1;
	bit silent; /* a commit may be made with nothing new */

	do
	:: round == ROUNDS_OF(me) -> break
	:: else ->
		if
		:: me == 0 ->
			store_own();
#if NODES == 2
			store_own();
#ifdef SILENT
			silent = 1;
#endif
			commit();
#endif
			skip
		:: else
		fi;
		atomic { !locked -> locked = 1 };
		acquire();
		if
		:: fault();
			assert(frame[me].b[0] == last);
			d_step { last++; frame[me].b[0] = last };
			if
			:: me == 0 -> store_own()
			:: else
			fi
		:: true /* passing through */
		fi;
		commit();
		d_step { releaser = me; locked = 0; round++ }
	od
}

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
	}
}
