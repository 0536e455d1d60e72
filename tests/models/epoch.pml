/* SPDX-License-Identifier: BSD-3-Clause */
/* epoch.pml - epoch-based reclamation without an election (pgas/global/epoch.c): pin, retire, advance, free.
 *
 * There is one object.  A remover on element 0 unlinks and retires it; a reader on element 1 may have found it
 * before.  Two advancers run ADVANCES attempts each; either may stop anywhere (it is then not scheduled).  Element 0
 * frees the object when its own copy of the epoch is DIST above the tag.
 *
 * TSO:       the reader's store to its slot passes through a store buffer.
 * WRITES:    the reader also writes to the object remotely, and the write lands some time later.
 * DEATH:     the reader may die pinned; a survivor takes its access away, then ignores its slot.
 * LOCAL:     threads of one process (pgas/global/local_epoch.c): no copies, no recheck, no fence in pin and retire;
 *            the advancer first empties all store buffers, as membarrier(2) does.
 * ALONE:     the advancer leaves that out if it sees no other registered token; one advancer at a time.
 * PUBLISHED: the token's epoch as tag, free at two, no recheck, one elected advancer that writes the epoch and then
 *            each element's copy.
 * Claim:     the object is not read, and no write lands in it, after it was freed (assert).
 * Not here:  bags (private: nothing to interleave), nesting, tokens.
 *
 * pan:                                      the rule, copies first, then slots
 * pan:  -DPIPELINED                         the rule as built: an element's copy, then its slots
 * pan:  -DLOCAL -DTSO                       threads of one process
 * pan:  -DLOCAL -DTSO -DALONE               ... where a token may be alone
 * pan:  -DTSO -DADVANCES=2                  with store buffers
 * pan:  -DWRITES -DADVANCES=2               remote writes in the section
 * pan:  -DWRITES -DDEATH -DADVANCES=2       the reader may die in its section
 * fail: -DPUBLISHED                         the rule of the paper
 * fail: -DNO_HELP                           scan before all copies of the epoch have caught up
 * fail: -DDIST=2                            freed an epoch too early
 * fail: -DTSO -DNO_FENCE                    the pin may still be in the store buffer when the section begins
 * fail: -DLOCAL -DTSO -DDIST=2              freed an epoch too early there
 * fail: -DLOCAL -DTSO -DNO_BARRIER          store buffers are not emptied
 * fail: -DLOCAL -DTSO -DALONE -DALONE_ONCE  checks only once whether a token is alone
 * fail: -DWRITES -DUNPIN_EARLY              a posted write outlives the section
 * fail: -DWRITES -DDEATH -DIGNORE_FIRST     the dead reader's pin is ignored before its access is taken away
 */
#ifndef ADVANCES
#define ADVANCES 3
#endif
#ifdef PUBLISHED
#define DIST 2
#endif
#ifndef DIST
#define DIST 3
#endif
#ifdef LOCAL
#define NO_FENCE
#define NO_RECHECK
#define copy0 global
#define copy1 global
#else
#define copy0 copy[0]
#define copy1 copy[1]
#endif
#ifdef PUBLISHED
#define NO_RECHECK
#endif

byte global = 1;
byte copy[2] = 1;  /* each element's copy of the epoch */
byte slot[2];      /* 0 or the epoch of the pin */
byte buffer;       /* the reader's store to its slot that is not visible yet, + 1 */
bool reachable = true;
bool unlinking;    /* the remover's store that unlinks is not visible yet */
byte tag;
bool freed;
bool air;          /* a remote write of the reader is in flight */
bool dead, ignored, revoked;
byte registered;   /* tokens beside the advancers' */
bool gate;

#ifdef TSO
#define STORE(v) atomic { buffer == 0 -> buffer = (v) + 1 }
#define FENCE buffer == 0
#else
#define STORE(v) slot[1] = (v)
#define FENCE skip
#endif
#ifdef NO_FENCE
#undef FENCE
#define FENCE skip
#endif

active proctype remover()
{
	byte e;

#ifdef ALONE
	registered++;
#endif
again:
	e = copy0;
	slot[0] = e;
#ifndef NO_RECHECK
	if
	:: copy0 != e -> goto again
	:: else
	fi;
#endif
#ifdef LOCAL
	unlinking = true;
#else
	reachable = false;
#endif
#ifdef PUBLISHED
	tag = slot[0];
#else
	tag = copy0;
#endif
#ifdef LOCAL
	!unlinking;
#endif
	slot[0] = 0
}

#ifdef TSO
/* Stores leave the buffer at any time. */
active proctype store_buffer()
{
end:
	do
	:: d_step { buffer -> slot[1] = buffer - 1; buffer = 0 }
	:: d_step { unlinking -> unlinking = false; reachable = false }
	od
}
#endif

active proctype reader()
{
	byte e;
	bool found;

#ifdef ALONE
	registered++;
#endif
again:
	e = copy1;
	STORE(e);
	FENCE;
#ifndef NO_RECHECK
	if
	:: copy1 != e -> goto again
	:: else
	fi;
#endif
	found = reachable;
	if
	:: found ->
		assert(!freed);
#ifdef WRITES
		air = true;
#endif
#ifdef DEATH
		if
		:: dead = true; goto over
		:: true
		fi;
#endif
#ifndef UNPIN_EARLY
		!air;
#endif
	:: else
	fi;
	STORE(0);
over:
	found = false
}

#ifdef WRITES
/* The network; revoked writes never land. */
active proctype network()
{
end:
	do
	:: d_step { air -> assert(!freed || revoked); air = false }
	od
}
#endif

#ifdef DEATH
active proctype survivor()
{
	if
	:: dead ->
#ifdef IGNORE_FIRST
		ignored = true;
		d_step { revoked = true; air = false }
#else
		d_step { revoked = true; air = false };
		ignored = true
#endif
	:: timeout
	fi
}
#endif

active proctype owner()
{
end:
	d_step { tag && copy0 >= tag + DIST -> freed = true }
}

inline help(p) { d_step { if :: copy[p] < e -> copy[p] = e :: else fi } }
inline quiet(p) { (slot[p] == 0 || slot[p] == e || (p == 1 && ignored)) }

#ifdef PUBLISHED
active proctype advancer()
#else
active [2] proctype advancer()
#endif
{
	byte e, n;
	bool alone;

#ifdef ALONE_ONCE
	alone = !registered;
#endif
	do
	:: n < ADVANCES ->
		n++;
		e = global;
#ifdef ALONE
		if
		:: atomic { !gate -> gate = true }
		:: else -> goto over
		fi;
#ifndef ALONE_ONCE
		alone = !registered;
#endif
#endif
#if defined(LOCAL) && !defined(NO_BARRIER)
		d_step {
			if
			:: alone
			:: else ->
			if
			:: buffer -> slot[1] = buffer - 1; buffer = 0
			:: else
			fi;
			if
			:: unlinking -> unlinking = false; reachable = false
			:: else
			fi
			fi
		};
#endif
#if !defined(PUBLISHED) && !defined(NO_HELP) && !defined(LOCAL)
		help(1);
#ifndef PIPELINED
		help(0);
#endif
#endif
		if
		:: quiet(1) -> skip
		:: else -> goto next
		fi;
#ifdef PIPELINED
		help(0);
#endif
		if
		:: quiet(0) -> skip
		:: else -> goto next
		fi;
#ifdef PUBLISHED
		global = e + 1;
		copy[0] = e + 1;
		copy[1] = e + 1;
#else
		d_step {
			if
			:: global == e -> global = e + 1
			:: else
			fi
		};
#ifdef NO_HELP
		e = e + 1;
		help(1);
		help(0);
#endif
#endif
next:
#ifdef ALONE
		gate = false;
over:
#endif
		skip
	:: else -> break
	od
}
