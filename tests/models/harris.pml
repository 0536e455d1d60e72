/* SPDX-License-Identifier: BSD-3-Clause */
/* harris.pml - the list of Harris with Michael's traversal and with reclamation (pgas/containers/harris_list.c).
 *
 * The list is head, A, B, end.  Two processes remove A and B, one inserts N between them, one searches for B; each is
 * pinned meanwhile.  A removal marks the node's next; then it, or any process that passes, unlinks the node.  The
 * process that has unlinked retires.  A node's next carries its mark, so reading it is one step.
 *
 * Reclamation is what epoch.pml proves: a retired node is freed when all processes that were pinned at that time have
 * unpinned.
 *
 * Claim:    no process touches a freed node, and no node is retired twice (assert).  At the end N alone is in the
 *           list, and A and B are freed.  A search that found B began before B was marked; one that did not ended
 *           after (assert).
 * Not here: hints (hint.pml); reuse of a node's memory: touching it once it is freed is the error already.
 *
 * pan:                   as built
 * fail: -DNO_MARK        remove unlinks without a mark
 * fail: -DNO_MARK_CHECK  a traversal takes a marked node for a member of the list
 * fail: -DNO_GET_MARK    get does not check the mark of the node that it found
 * fail: -DNO_EPOCH       freed when it is unlinked
 * fail: -DNO_PIN         the searching process is not pinned
 * fail: -DRETIRE_MARKED  the marking process retires, before the node is unlinked
 * fail: -DRETIRE_BOTH    the marking process retires what another has unlinked
 */
#define HEAD 0
#define A 1 /* keys are the numbers themselves */
#define N 2
#define B 3
#define END 4
#define MARK 8
#define UNMARKED(n) ((n) & 7)
#define ME (1 << (_pid - 1))

byte next[5] = END;
byte pinned;     /* a bit for each process */
byte waits[5];   /* the pinned processes that a retired node waits for */
bool retired[5], freed[5];
bool marked_b;

inline pin() { pinned = pinned | ME }

inline unpin()
{
	d_step {
		pinned = pinned & ~ME;
		waits[A] = waits[A] & ~ME;
		waits[B] = waits[B] & ~ME;
		freed[A] = freed[A] || (retired[A] && !waits[A]);
		freed[B] = freed[B] || (retired[B] && !waits[B])
	}
}

inline retire(n)
{
	d_step {
		assert(!retired[n]);
		retired[n] = true;
#ifdef NO_EPOCH
		freed[n] = true;
#else
		waits[n] = pinned;
		freed[n] = !pinned;
#endif
	}
}

inline load(n, to) { d_step { assert(!freed[n]); to = next[n] } }

/* done: next[n] was @expect, and is @value. */
inline cas(n, expect, value)
{
	d_step {
		assert(!freed[n]);
		done = next[n] == (expect);
		if
		:: done -> next[n] = (value); marked_b = marked_b || n == B && (next[n] & MARK)
		:: else
		fi
	}
}

/* Finds the first key that is not below @key: at, whose next is after; before is not marked. */
inline find(key)
{
	do
	:: before = HEAD;
	   load(HEAD, link);
	   done = true;
	   do
	   :: !done -> break
	   :: else ->
		at = UNMARKED(link);
		if
		:: at == END -> break
		:: else
		fi;
		load(at, after);
		if
#ifndef NO_MARK_CHECK
		:: after & MARK ->
			cas(before, at, UNMARKED(after));
			if
			:: done -> link = UNMARKED(after);
#ifndef RETIRE_MARKED
				retire(at)
#endif
			:: else
			fi
#endif
		:: else ->
			if
			:: at >= key -> break
			:: else -> before = at; link = after
			fi
		fi
	   od;
	   if
	   :: done -> break
	   :: else
	   fi
	od
}

proctype remover(byte key)
{
	byte before, at, after, link;
	bool done;

	pin();
	do
	:: find(key);
	   assert(at == key);
#ifdef NO_MARK
	   cas(before, at, after);
	   if
	   :: done -> retire(at); break
	   :: else
	   fi
#else
	   cas(at, after, after | MARK);
	   if
	   :: done -> break
	   :: else
	   fi
#endif
	od;
#ifndef NO_MARK
#ifdef RETIRE_MARKED
	retire(at);
#endif
	cas(before, at, after);
	if
	:: done ->
#ifndef RETIRE_MARKED
		retire(at)
#else
		skip
#endif
	:: else ->
#ifdef RETIRE_BOTH
		retire(at);
#endif
		find(key)
	fi;
#endif
	unpin()
}

proctype inserter()
{
	byte before, at, after, link;
	bool done;

	pin();
	do
	:: find(N);
	   next[N] = at;
#ifdef NO_MARK_CHECK
	   cas(before, link, N);
#else
	   cas(before, at, N);
#endif
	   if
	   :: done -> break
	   :: else
	   fi
	od;
	unpin()
}

proctype reader()
{
	byte at, link, after;
	bool gone;

#ifndef NO_PIN
	pin();
#endif
	gone = marked_b;
	load(HEAD, link);
	do
	:: at = UNMARKED(link);
	   if
	   :: at == END -> break
	   :: else
	   fi;
	   load(at, after);
	   if
	   :: at >= B -> break
	   :: else -> link = after
	   fi
	od;
	if
#ifdef NO_GET_MARK
	:: at == B -> assert(!gone)
#else
	:: at == B && !(after & MARK) -> assert(!gone)
#endif
	:: else -> assert(marked_b)
	fi;
#ifndef NO_PIN
	unpin()
#endif
}

init
{
	atomic {
		next[HEAD] = A;
		next[A] = B;
		next[B] = END;
		run remover(A);
		run remover(B);
		run inserter();
		run reader()
	}
	_nr_pr == 1;
	assert(next[HEAD] == N && next[N] == END && freed[A] && freed[B])
}
