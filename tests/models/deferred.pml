/* SPDX-License-Identifier: BSD-3-Clause */
/* deferred.pml - lazy releases (core/coherence/lazy.c): a word on which processors operate with acquire and release,
 * its record, demands, and the thread that performs releases beside the processor's.
 *
 * Each processor stores, then operates on the word: it leaves the record, operates, and acquires from the record.  The
 * word carries what the last operation's processor had stored or acquired by then.  Stores are numbered; performed[i]
 * is the last one of processor i that the protocol has sent, which every acquire of another node collects.  An acquire
 * from a neighbour needs no sending (PAIR: processors 0 and 1 are neighbours).  TWICE: processor 1 begins
 * alone, and processors perform also when nobody asks.
 *
 * Claim:    behind the acquire a processor has seen what the word carried when it operated.
 * Not here: locks, whose record only the holder changes; eager releases, which perform first; the protocol.
 *
 * pan:  -DN=3                  three nodes; a processor performs releases between its operations and while it waits
 * pan:  -DN=3 -DPAIR           two nodes, one of two processors
 * pan:  -DN=2 -DASIDE          two nodes, with the threads
 * fail: -DN=3 -DNO_CHAIN       a record is replaced before the release that it names is performed
 * fail: -DN=3 -DTWICE -DNUMBER_FIRST  the number is taken before that
 * fail: -DN=2 -DASIDE -DNO_LOOK  the record is not read again behind the operation
 * fail: -DN=3 -DTWICE -DPENDING_LATE  a number is taken before the processor has stored that it has pending releases
 * fail: -DN=2 -DASIDE -DREAD_LATE     the thread reads the number behind what it performs
 * fail: -DN=3 -DPAIR -DONE_ALONE      only the processor that the record names is asked
 * fail: -DN=3 -DPAIR -DNO_NEIGHBOUR   a record of a neighbour is replaced before that is acquired
 */
#ifdef PAIR
#define NODE(i) (i == 2)
#else
#define NODE(i) (i)
#endif
#ifdef ASIDE
#define ROUNDS 2
#elif defined(TWICE)
#define ROUNDS (1 + (i != 0))
#else
#define ROUNDS (1 + (i == 1))
#endif

byte stored[N], released[N], performed[N];
byte view[N * N];           /* view[i * N + j]: the last store of j that i has seen */
byte carried[N];            /* by the word */
byte number[N];             /* of each node */
byte pending[N];            /* 0, or 1 + the number up to which all is performed */
byte known[N * N];          /* by processor and node */
byte learned[N];            /* the last number of its node from which a processor acquired */
bit asked[N];
byte rec_who, rec_number;   /* the record; number 0: none */
byte over;

#define SEE(j) if :: view[i * N + j] < performed[j] -> view[i * N + j] = performed[j] :: else fi

/* The protocol's acquire; neighbours' stores are visible. */
inline acquire()
{
	atomic {
		for (j : 0 .. N - 1) {
			if
			:: j != i && NODE(j) == NODE(i) -> view[i * N + j] = released[j]
			:: j != i && NODE(j) != NODE(i) -> SEE(j)
			:: else
			fi
		}
		j = 0
	}
}

/* This processor's own releases. */
inline serve()
{
	if
#ifdef ASIDE
	:: asked[i] /* its thread may be at it, too */
#endif
#ifdef TWICE
	:: pending[i] -> performed[i] = released[i]; atomic { pending[i] = 0; asked[i] = 0 }
#endif
	:: asked[i] -> performed[i] = released[i]; atomic { pending[i] = 0; asked[i] = 0 }
	:: else
	fi
}

/* Acquire the release @num of @who's node. */
inline learn(who, num)
{
	if
	:: NODE(who) == NODE(i) && who != i && num > learned[i] -> learned[i] = num; acquire()
	:: NODE(who) != NODE(i) && num > known[i * N + NODE(who)] ->
		all = number[NODE(who)];
		c = 0;
		do
		:: c < N ->
			if
#ifdef ONE_ALONE
			:: c == who ->
#else
			:: NODE(c) == NODE(who) ->
#endif
				do
				:: pending[c] != 0 && pending[c] <= num -> asked[c] = 1; serve();
					(pending[c] == 0 || pending[c] > num || asked[i])
				:: else -> break
				od;
				atomic { if :: pending[c] != 0 && pending[c] - 1 < all -> all = pending[c] - 1 :: else fi }
			:: else
			fi;
			c++
		:: else -> break
		od;
		acquire();
		known[i * N + NODE(who)] = all
	:: else
	fi
}

inline release_record()
{
	seen_who = 0; seen_number = 0;
	do
	:: atomic { seen_who = rec_who; seen_number = rec_number };
#ifdef NUMBER_FIRST
		if :: pending[i] == 0 -> pending[i] = number[NODE(i)] + 1 :: else fi;
		atomic { number[NODE(i)]++; mine = number[NODE(i)]; released[i] = stored[i] };
#endif
#ifndef NO_CHAIN
		if
#ifdef NO_NEIGHBOUR
		:: seen_number && NODE(seen_who) != NODE(i) -> learn(seen_who, seen_number)
#else
		:: seen_number -> learn(seen_who, seen_number)
#endif
		:: else
		fi;
#endif
#ifndef NUMBER_FIRST
#ifdef PENDING_LATE
		atomic { number[NODE(i)]++; mine = number[NODE(i)]; released[i] = stored[i] };
		if :: pending[i] == 0 -> pending[i] = mine :: else fi;
#else
		if :: pending[i] == 0 -> pending[i] = number[NODE(i)] + 1 :: else fi;
		atomic { number[NODE(i)]++; mine = number[NODE(i)]; released[i] = stored[i] };
#endif
#endif
		atomic {
			done = rec_who == seen_who && rec_number == seen_number;
			if :: done -> rec_who = i; rec_number = mine :: else fi
		};
		if :: done -> break :: else fi
	od
}

proctype processor(byte i)
{
	byte round, j, c, all, mine, seen_who, seen_number;
	byte want[N];
	bit done;

#ifdef TWICE
	i == 1 || carried[1];
#endif
	do
	:: round < ROUNDS ->
		atomic { stored[i]++; view[i * N + i] = stored[i] };
		serve();
		release_record();
		atomic { /* operate */
			for (j : 0 .. N - 1) {
				want[j] = carried[j];
				carried[j] = view[i * N + j]
			}
			j = 0
		};
#ifndef NO_LOOK
		atomic { seen_who = rec_who; seen_number = rec_number };
		if :: seen_number && seen_who != i -> learn(seen_who, seen_number) :: else fi;
#endif
		atomic {
			for (j : 0 .. N - 1) {
				assert(view[i * N + j] >= want[j])
			}
			j = 0; seen_who = 0; seen_number = 0;
			want[0] = 0; want[1] = 0; want[N - 1] = 0
		};
		round++
	:: else -> break
	od;
	over++;
#ifndef ASIDE
	do
	:: asked[i] -> serve()
	:: over == N -> break
	od
#endif
}

/* The thread beside processor @i. */
proctype aside(byte i)
{
	byte num;

	do
	:: asked[i] ->
		asked[i] = 0;
#ifdef READ_LATE
		performed[i] = released[i];
		num = number[NODE(i)];
#else
		num = number[NODE(i)];
		performed[i] = released[i];
#endif
		atomic { if :: pending[i] -> pending[i] = num + 1 :: else fi };
		num = 0
	:: over == N -> break
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. N - 1) {
			run processor(i);
#ifdef ASIDE
			run aside(i)
#endif
		}
	}
}
