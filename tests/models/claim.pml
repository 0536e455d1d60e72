/* SPDX-License-Identifier: BSD-3-Clause */
/* claim.pml - exclusive mode against write notices in flight, home elsewhere (fault_stale, fault_confirm in
 * protocols/cashmere/fault.c; protocols/cashmere/exclusive.c; core/coherence/notice.c).
 *
 * Node C has processors 0 and 1 on one frame, node A processor 2; the home has none.  The page has two words, each
 * with its lock.  A processor enters a critical section and reads, or writes, or writes and acquires another lock
 * before it releases.  So a node may be dirty with nothing mapped, and leave the directory at its last flush with the
 * notice still in its batch.  A fault claims exclusive mode if it sees no sharer; it may rescind a confirmed claim
 * and begin anew (window_unclaim).  A break sends the whole page home.  Time stamps are kept as bits, the results of
 * their comparisons.
 *
 * Claim:    under a word's lock, the frame has what the last critical section left.  Nothing blocks for ever.  At the
 *           end the master, or the exclusive node, has the last values.
 * Not here: publications without their flushes (directory.pml); diffs and fetches in flight, flushes that stand for
 *           others' but for the wait (page.pml); store buffers (exclusive.pml); the home's processors
 *           (home_notice.pml).
 *
 * C0, C1, A0: critical sections of the processors.
 *
 * pan:  -DC0=2 -DC1=1 -DA0=1                    two writers on C, one on A
 * pan:  -DC0=1 -DC1=1 -DA0=2                    A writes again
 * fail: -DC0=2 -DC1=1 -DA0=1 -DEXCLUSIVE_STALE  an exclusive page is fetched by its time stamps
 * fail: -DC0=2 -DC1=1 -DA0=1 -DNO_CLAIM_FETCH   a claim does not fetch: its break undoes another's diff
 * fail: -DC0=2 -DC1=1 -DA0=1 -DLEAVE_DIRTY      leaves the directory with writes not flushed
 * fail: -DC0=2 -DC1=1 -DA0=1 -DNO_BREAK_TWIN    the break makes no twin: later writes cannot be distinguished from
 *                                               what came home
 */
#ifndef C0
#define C0 2
#endif
#ifndef C1
#define C1 1
#endif
#ifndef A0
#define A0 1
#endif
#define NODE(i) ((i) / 2)
#define ME (1 << (me % 2))
#define OTHER (1 - node)

/* The home, and the directory as all see it. */
byte master[2];
#define NOTHING 0
#define SHARES 1
#define CLAIMS 2
byte dir[2];

/* [node] */
byte frame[4], twin[4]; /* [node][word] */
bit has_twin[2], locked[2], exclusive[2];
bit valid[2], old[2];   /* ts_update != 0; ts_update < ts_notice */
byte mapped[2], writers[2];
byte queue[2];          /* arrived notices */
bit collecting[2];      /* mutex */
bit fresh[2];           /* fetched since the running collection took its time */

/* [processor] */
bit since[4];           /* ts_notice < acquire_ts */
bit later[4];           /* acquired since the running collection took its time */
bit noticed[4], dirty[4]; /* its notice set; its dirty and no-longer-exclusive sets */
bit releasing[4];       /* its diff is home, its notices are not sent */

bit taken[2];
byte truth[2];
byte running;

#define MAPPED (mapped[node] & ME)
#define WRITES (MAPPED && (writers[node] & ME))
#ifdef EXCLUSIVE_STALE
#define STALE (!valid[node] || (old[node] && since[me]))
#else
#define STALE (!valid[node] || (!exclusive[node] && old[node] && since[me]))
#endif

inline take(word)
{
	if
	:: !has_twin[node] -> frame[node * 2 + word] = master[word]
	:: has_twin[node] && master[word] != twin[node * 2 + word] ->
		frame[node * 2 + word] = master[word];
		twin[node * 2 + word] = master[word]
	:: else
	fi
}

/* One step with the preceding statement. */
inline fetch()
{
	take(0);
	take(1);
	valid[node] = 1;
	old[node] = 0;
	fresh[node] = 1
}

inline make_twin(n)
{
	has_twin[n] = 1;
	twin[n * 2] = frame[n * 2];
	twin[n * 2 + 1] = frame[n * 2 + 1]
}

/* The agent of node n. */
inline break_exclusive(n)
{
	atomic { !locked[n] -> locked[n] = 1 };
	if
	:: exclusive[n] ->
		d_step {
			exclusive[n] = 0;
			dirty[n * 2] = dirty[n * 2] || (writers[n] & 1);
			dirty[n * 2 + 1] = dirty[n * 2 + 1] || (writers[n] & 2) };
		d_step {
			master[0] = frame[n * 2];
			master[1] = frame[n * 2 + 1];
#ifndef NO_BREAK_TWIN
			make_twin(n);
#endif
			old[n] = 0;
			fresh[n] = 1 };
		d_step { dir[n] = SHARES; locked[n] = 0 }
	:: else -> locked[n] = 0
	fi
}

#define CLAIMABLE (!exclusive[node] && (writing || (writers[node] & ME)) && !has_twin[node] && !dir[OTHER])

inline fault(writing)
{
	do
	:: atomic { !locked[node] -> locked[node] = 1 };
		if
		:: d_step { CLAIMABLE -> dir[node] = CLAIMS };
			if
			:: d_step { dir[OTHER] -> dir[node] = SHARES }
			:: d_step { !dir[OTHER] ->
					exclusive[node] = 1;
#ifndef NO_CLAIM_FETCH
					valid[node] = 0
#endif
				};
				if
				:: true
				:: d_step { exclusive[node] = 0; dir[node] = SHARES; locked[node] = 0 };
					goto again
				fi
			fi
		:: d_step { !CLAIMABLE -> dir[node] = (dir[node] -> dir[node] : SHARES) }
		fi;
		if
		:: !exclusive[node] && dir[OTHER] == CLAIMS ->
			locked[node] = 0;
			break_exclusive(OTHER)
		:: exclusive[node] || dir[OTHER] != CLAIMS -> break
		fi;
again:		skip
	od;
	skip;
	d_step {
		if
		:: (!valid[node] || !MAPPED) && STALE -> fetch()
		:: else
		fi;
		mapped[node] = mapped[node] | ME;
		noticed[me] = noticed[me] || old[node];
		if
		:: writing || (writers[node] & ME) ->
			writers[node] = writers[node] | ME;
			dirty[me] = dirty[me] || !exclusive[node];
			if
			:: !exclusive[node] && !has_twin[node] -> make_twin(node)
			:: else
			fi
		:: else
		fi;
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
			later[node * 2] = 0;
			later[node * 2 + 1] = 0 };
		d_step { !locked[node] ->
			if
			:: !old[node] ->
				old[node] = !fresh[node];
				since[node * 2] = later[node * 2];
				since[node * 2 + 1] = later[node * 2 + 1]
			:: else
			fi;
			noticed[node * 2] = noticed[node * 2] || (mapped[node] & 1);
			noticed[node * 2 + 1] = noticed[node * 2 + 1] || (mapped[node] & 2) };
		d_step { queue[node] = queue[node] - count; count = 0; collecting[node] = 0 }
	fi
}

/* A page with a notice is unmapped, or read anew in place: the code counts; the model tries both. */
inline acquire()
{
	collect();
	d_step { since[me] = 1; later[me] = 1 };
	if
	:: !noticed[me]
	:: d_step { noticed[me] && !locked[node] && MAPPED && !exclusive[node] && old[node] ->
			noticed[me] = 0;
			mapped[node] = mapped[node] & ~ME;
			if
#ifdef LEAVE_DIRTY
			:: !mapped[node] -> dir[node] = NOTHING; valid[node] = 0
#else
			:: !mapped[node] && !writers[node] -> dir[node] = NOTHING; valid[node] = 0
#endif
			:: else
			fi;
			skip }
	:: d_step { noticed[me] && !locked[node] && MAPPED && !exclusive[node] && old[node] -> noticed[me] = 0; fetch() }
	:: d_step { noticed[me] && !locked[node] && !(MAPPED && !exclusive[node] && old[node]) -> noticed[me] = 0 }
	fi
}

inline diff(word)
{
	if
	:: has_twin[node] && frame[node * 2 + word] != twin[node * 2 + word] ->
		master[word] = frame[node * 2 + word];
		twin[node * 2 + word] = frame[node * 2 + word];
		flushed = 1
	:: else
	fi
}

inline release()
{
	collect();
	if
	:: !dirty[me]
	:: d_step { dirty[me] && !locked[node] ->
			dirty[me] = 0;
			if
			:: (writers[node] & ME) && !exclusive[node] ->
				writers[node] = writers[node] & ~ME;
				diff(0);
				diff(1);
				stands = !flushed && releasing[me ^ 1];
				flushed = flushed || !mapped[node];
				releasing[me] = flushed;
				if
				:: !writers[node] -> has_twin[node] = 0; twin[node * 2] = 0; twin[node * 2 + 1] = 0
				:: else
				fi
			:: else
			fi };
		if
		:: flushed ->
			d_step { flushed = 0; notified = dir[OTHER] != NOTHING };
			if
			:: mapped[node]
			:: d_step { !mapped[node] && !locked[node] ->
					if
					:: !writers[node] -> dir[node] = NOTHING; valid[node] = 0
					:: else
					fi;
					skip }
			fi;
			d_step { queue[OTHER] = queue[OTHER] + notified; notified = 0; releasing[me] = 0 }
		:: else
		fi;
		d_step { !stands || !releasing[me ^ 1] -> stands = 0 }
	fi
}

#define ENTERED(w) assert(!MAPPED || frame[node * 2 + w] == truth[w])

inline store()
{
	if
	:: WRITES
	:: !WRITES -> fault(true)
	fi;
	d_step { assert(frame[node * 2 + word] == truth[word]); truth[word]++; frame[node * 2 + word] = truth[word] }
}

proctype processor(byte me, node, rounds)
{
	byte word, count;
	bit flushed, notified, stands;
	do
	:: rounds ->
		if
		:: atomic { !taken[0] -> taken[0] = 1; word = 0 }
		:: atomic { !taken[1] -> taken[1] = 1; word = 1 }
		fi;
		acquire();
		if
		:: !MAPPED -> fault(false)
		:: MAPPED
		fi;
		ENTERED(word);
		if
		:: true
		:: store()
		:: store(); acquire()
		fi;
		release();
		d_step { taken[word] = 0; word = 0; rounds-- }
	:: else -> break
	od;
	running--
}

init
{
	byte w;
	atomic {
		running = 3;
		run processor(0, 0, C0);
		run processor(1, 0, C1);
		run processor(2, 1, A0)
	}
	d_step { running == 0 ->
		do
		:: w < 2 ->
			assert(!exclusive[0] || frame[w] == truth[w]);
			assert(!exclusive[1] || frame[2 + w] == truth[w]);
			assert(exclusive[0] || exclusive[1] || master[w] == truth[w]);
			w++
		:: else -> break
		od }
}
