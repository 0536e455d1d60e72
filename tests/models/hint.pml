/* SPDX-License-Identifier: BSD-3-Clause */
/* hint.pml - hints to nodes of a list, validated by the node's stamp (pgas/containers/harris_list.c).
 *
 * A node is three words: next, key, stamp.  Its remover marks next; later, as the reader's hint protects nothing, the node is used
 * again: the new stamp, then the new key, then the new next become visible.  The reader, who remembers the stamp and key of the
 * first use, reads the words in rising order, one step each (a remote read is not one step), and accepts when the stamp is the
 * remembered one and next is not marked.
 *
 * Claim:    what an accepting reader read is all of the first use, and the node was in the list at a moment after the read
 *           began (assert).
 * pan:                                                 as built
 * pan:  -DANY_ORDER -DTWICE                            words of a read come in any order; the stamp is read again
 * fail: -DANY_ORDER                                    ... and not read again
 * fail: -DNO_STAMP                                     the key is trusted
 * fail: -DNEXT_FIRST                                   next is written before the stamp
 * fail: -DNO_MARK                                      the remover does not mark next
 */
#define MARKED 128

byte next = 1, key = 7, stamp = 1;
bool linked = true;
bool was_linked; /* at the reader's begin or later */

active proctype owner()
{
	byte again;

	do
	:: again < 2 ->
#ifdef NO_MARK
		linked = false;
#else
		atomic { next = MARKED; linked = false };
#endif
		again++;
#ifdef NEXT_FIRST
		next = 1 + again;
		key = 7;
		stamp = 1 + again;
#else
		stamp = 1 + again;
		key = 7;
		next = 1 + again;
#endif
		linked = true
	:: else -> break
	od
}

active proctype reader()
{
	byte n, k, s;
	bool got_next, got_stamp;

	was_linked = linked && stamp == 1;
#ifdef ANY_ORDER
	do
	:: !got_next -> n = next; got_next = true
	:: !got_stamp -> s = stamp; got_stamp = true
	:: got_next && got_stamp -> break
	od;
	k = key;
#ifdef TWICE
	s = stamp;
#endif
#else
	n = next;
	k = key;
	s = stamp;
#endif
#ifdef NO_STAMP
	s = 1;
#endif
	if
	:: s == 1 && k == 7 && n != MARKED -> assert(n == 1 && was_linked)
	:: else
	fi
}
