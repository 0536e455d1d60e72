/* SPDX-License-Identifier: BSD-3-Clause */
/* sequential.pml - SC (protocols/sequential): a page that one node may write or many may read, and processors that
 * comply late with the loss of a right (core/coherence/shootdown.c).
 *
 * N nodes of one processor and one page.  A processor loads or stores where its mapping permits, else it faults: it is
 * inside, obtains the right, maps the page and leaves.  An agent that takes a right from a processor inside goes on at
 * once; else it waits until the processor's signal handler has unmapped the page.
 *
 * Claim:    a load finds the newest store, and so does a fetch.
 * Not here: relaxed copies; several processors of a node, which the page lock orders; time windows; store buffers (all
 *           steps that matter are locked instructions or system calls).
 *
 * N: nodes; OPS: accesses of each.
 *
 * pan:  -DN=2 -DOPS=4
 * pan:  -DN=3 -DOPS=1
 * fail: -DN=2 -DOPS=3 -DNO_ENTRY            transactions do not exclude each other
 * fail: -DN=2 -DOPS=3 -DNO_WAIT             the agent does not wait for a processor in application code
 * fail: -DN=2 -DOPS=3 -DBLIND_LEAVE         the processor leaves without complying
 * fail: -DN=3 -DOPS=2 -DKEEP_SHARED         a writer takes the page from the owner alone
 */
#ifndef N
#define N 2
#endif
#ifndef OPS
#define OPS 3
#endif

#ifdef KEEP_SHARED
#define TAKEN(v, n) (v != n && v == owner && copies[v])
#else
#define TAKEN(v, n) (v != n && copies[v])
#endif

mtype = {INVALID, SHARED, EXCLUSIVE};

mtype state[N] = INVALID; /* of the node */
byte right[N];            /* in the page table: 0, 1 read, 2 write */
byte shot[N], revoked[N]; /* the processor is asked to give up the right to write, or all */
bit inside[N];            /* it runs no application code */
byte frame[N];            /* the node's copy: the number of stores that it has */
byte newest;              /* ghost */
bit page[N];              /* page locks */
bit entry;                /* the directory's lock */
byte owner = N;           /* N: the home, node 0, untouched */
bit writing;
bit copies[N];

inline comply(n)
{
	if
	:: shot[n] -> shot[n] = 0; right[n] = (right[n] == 2 -> 1 : right[n])
	:: else
	fi;
	if
	:: revoked[n] -> revoked[n] = 0; right[n] = 0
	:: else
	fi
}

/* The agent of node v, for a requester that waits. */
inline withdraw(v, left)
{
	atomic { page[v] == 0 -> page[v] = 1 }
	if
	:: left == 1 && state[v] == EXCLUSIVE -> state[v] = SHARED; shot[v] = 1
	:: left == 0 && state[v] != INVALID -> state[v] = INVALID; revoked[v] = 1
	:: else
	fi;
#ifndef NO_WAIT
	(inside[v] || (!shot[v] && !revoked[v]));
#endif
	page[v] = 0
}


inline obtain(n, want)
{
#ifndef NO_ENTRY
	atomic { entry == 0 -> entry = 1 }
#endif
	from = (owner == N -> 0 : owner);
	if
	:: want == 2 || owner == N ->
		other = 0;
		do
		:: other == N -> break
		:: other < N && TAKEN(other, n) -> withdraw(other, 0); copies[other] = 0; other++
		:: else -> other++
		od;
		atomic { owner = n; writing = 1; other = 2 }
	:: else ->
		if
		:: writing && owner != n -> withdraw(owner, 1)
		:: else
		fi;
		atomic { writing = 0; other = 1 }
	fi;
	copies[n] = 1;
	atomic { page[n] == 0 -> page[n] = 1 }
	if
	:: state[n] == INVALID && from != n ->
		frame[n] = frame[from];
		assert(frame[n] == newest)
	:: else
	fi;
	state[n] = (other == 2 -> EXCLUSIVE : SHARED);
	page[n] = 0;
#ifndef NO_ENTRY
	entry = 0
#endif
}

inline fault(n, want)
{
	inside[n] = 1;
	atomic { page[n] == 0 -> page[n] = 1 }
	do
	:: state[n] == EXCLUSIVE || (state[n] == SHARED && want == 1) -> break
	:: else ->
		page[n] = 0;
		obtain(n, want);
		atomic { page[n] == 0 -> page[n] = 1 }
	od;
	atomic { comply(n); right[n] = want }
	page[n] = 0;
#ifdef BLIND_LEAVE
	inside[n] = 0
#else
	do
	:: atomic { !shot[n] && !revoked[n] -> inside[n] = 0; break }
	:: atomic { shot[n] || revoked[n] -> comply(n) }
	od
#endif
}

proctype processor(byte n)
{
	byte ops = 0, other, from;

	do
	:: ops == OPS -> break
	:: ops < OPS ->
		ops++;
		if
		:: /* a load */
			do
			:: atomic { right[n] >= 1 -> assert(frame[n] == newest); break }
			:: right[n] == 0 -> fault(n, 1)
			od
		:: /* a store */
			do
			:: atomic { right[n] == 2 -> assert(frame[n] == newest); newest++; frame[n] = newest; break }
			:: right[n] < 2 -> fault(n, 2)
			od
		fi
	od;
	inside[n] = 1 /* it has left the job */
}

/* The signal handler: anywhere in application code. */
proctype handler(byte n)
{
end:
	do
	:: atomic { !inside[n] && (shot[n] || revoked[n]) -> comply(n) }
	od
}

init
{
	byte n = 0;

	atomic {
		do
		:: n == N -> break
		:: n < N -> run processor(n); run handler(n); n++
		od
	}
}
