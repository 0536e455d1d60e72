/* SPDX-License-Identifier: BSD-3-Clause */
/* hint.pml - hints to nodes of a list, validated by stamp and generation (pgas/containers/harris_list.c).
 *
 * A node is three words: next, which carries a mark and the generation of the node's use; a value; a stamp.  Its
 * remover marks next and retires it.  A hint protects nothing, so the node is used again later, with another stamp
 * and the next generation, but not while a process is pinned that was pinned when it was retired (epoch.pml).  A use
 * may end unseen (the insert finds its key present): then the node is free at once, and the next use has the same
 * generation.  The user writes the words in any order, and the reader's words arrive in any order, as of a remote
 * read.  The reader is pinned, remembers the first use, and accepts if stamp and generation are that use's and next
 * is not marked.
 *
 * Claim:    what an accepting reader read belongs to the first use, and the node was in the list at a moment after
 *           the read began (assert).
 * Not here: that two generations are enough if all users of the pool have one manager: others would not wait for the
 *           reader.
 *
 * pan:                   as built, but with two generations
 * fail: -DNO_STAMP       the stamp is not checked
 * fail: -DNO_GENERATION  the generation is not checked
 * fail: -DNO_PIN         the reader is not pinned
 * fail: -DNO_MARK        the remover does not mark next
 * fail: -DUNSEEN_COUNTS  an unseen use counts as a generation
 */
#define GENERATIONS 2
#define USES        4
#define MARKED      128

byte next, value = 1, stamp = 1; /* next: the generation, and the mark */
bool linked = true;
bool pinned, waits; /* waits: for the reader, which was pinned when the node was retired */

inline write(generation, number)
{
	wrote = 0;
	do
	:: !(wrote & 1) -> next = generation; wrote = wrote | 1
	:: !(wrote & 2) -> value = number; wrote = wrote | 2
	:: !(wrote & 4) -> stamp = number; wrote = wrote | 4
	:: wrote == 7 -> break
	od
}

active proctype owner()
{
	byte uses = 1, generation, wrote;

	do
	:: uses < USES ->
		/* remove, retire */
#ifdef NO_MARK
		linked = false;
#else
		atomic { next = next | MARKED; linked = false };
#endif
		waits = pinned;
		!waits;
		generation = (generation + 1) % GENERATIONS;
		/* use it; the first uses may stay unseen */
		do
		:: uses < USES ->
			uses++;
			write(generation, uses);
#ifdef UNSEEN_COUNTS
			generation = (generation + 1) % GENERATIONS
#endif
		:: break
		od;
		uses++;
		write(generation, uses);
		linked = true
	:: break
	od
}

active proctype reader()
{
	byte n, v, s, got;
	bool was_linked;

#ifndef NO_PIN
	pinned = true;
#endif
	was_linked = linked && stamp == 1;
	do
	:: !(got & 1) -> n = next; got = got | 1
	:: !(got & 2) -> v = value; got = got | 2
	:: !(got & 4) -> s = stamp; got = got | 4
	:: got == 7 -> break
	od;
#ifdef NO_STAMP
	s = 1;
#endif
#ifdef NO_GENERATION
	n = n & MARKED;
#endif
	if
	:: s == 1 && n == 0 -> assert(was_linked && v == 1)
	:: else
	fi;
	d_step { pinned = false; waits = false }
}
