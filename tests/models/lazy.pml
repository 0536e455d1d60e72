/* SPDX-License-Identifier: BSD-3-Clause */
/* lazy.pml - the lazy list (pgas/containers/lazy_list.c): locks coupled from node to node, marks, a second check
 * under the lock.
 *
 * The list is head, A, B, end.  Two processes remove A and B, one inserts N between them, one searches for B.  A
 * node's next carries its mark, so reading it is one step.
 *
 * Claim:    at the end N alone is in the list, and each process succeeded once.  A search that found no B began its
 *           last reading after B was marked, or saw B's mark (assert).
 * Not here: reclamation (epoch.pml): nodes are not used again.
 *
 * pan:                  as built
 * fail: -DNO_LOOK       the place is not checked again under the lock
 * fail: -DNO_NODE_LOCK  remove locks only the node before
 * fail: -DNO_MARK       remove unlinks without a mark
 */
#define HEAD 0
#define A 1
#define N 2
#define B 3
#define END 4
#define MARK 8
#define UNMARKED(n) ((n) & 7)

byte next[5] = END; /* keys are the numbers themselves */
bool locked[5];
bool marked_b;

inline lock(n) { atomic { !locked[n] -> locked[n] = true } }
inline unlock(n) { locked[n] = false }

inline find(key)
{
	before = HEAD;
	at = next[HEAD];
	at = UNMARKED(at);
	do
	:: at < key -> before = at; at = next[at]; at = UNMARKED(at)
	:: else -> break
	od
}

#ifdef NO_LOOK
#define SAME true
#else
#define SAME (next[before] == at)
#endif

proctype remover(byte key)
{
	byte before, at, after;

again:
	find(key);
	assert(at == key);
	lock(before);
	if
	:: SAME -> skip
	:: else -> unlock(before); goto again
	fi;
#ifndef NO_NODE_LOCK
	lock(at);
#endif
	after = next[at];
#ifndef NO_MARK
	d_step { next[at] = after | MARK; marked_b = marked_b || at == B };
#endif
	next[before] = UNMARKED(after);
#ifndef NO_NODE_LOCK
	unlock(at);
#endif
	unlock(before)
}

proctype inserter()
{
	byte before, at;

again:
	find(N);
	lock(before);
	if
	:: SAME -> skip
	:: else -> unlock(before); goto again
	fi;
	next[N] = at;
	next[before] = N;
	unlock(before)
}

proctype reader()
{
	byte before, at;
	bool found;

	find(B);
	found = at == B && !(next[B] & MARK);
	assert(found || marked_b)
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
	assert(next[HEAD] == N && next[N] == END)
}
