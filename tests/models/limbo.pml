/* SPDX-License-Identifier: BSD-3-Clause */
/* limbo.pml - the shared list of retired objects: two processors push their recycled nodes, one takes all.
 *
 * The library has no such list: each processor has private bags (pgas/global/epoch.c).  The model shows why: the
 * published list exchanges its head before the new node's next is set.  LINK_FIRST is a list that sets next first and
 * then compares and swaps, as the stack of pgas/containers does.
 *
 * Claim: after the last push, a last drain leaves every object freed exactly once (assert).
 *
 * pan:  -DLINK_FIRST  next is set before the node can be found
 * fail:               the published list
 */
#define NODES 2
#define NIL 255

byte head = NIL;
byte next[NODES] = NIL;
byte freed[NODES];
byte pushed;

inline drain()
{
	atomic { at = head; head = NIL };
	do
	:: at != NIL ->
		freed[at]++;
		assert(freed[at] == 1);
		at = next[at]
	:: else -> break
	od
}

proctype pusher(byte node)
{
	byte old;

	next[node] = 1 - node; /* left by its former use */
#ifdef LINK_FIRST
	do
	:: true ->
		old = head;
		next[node] = old;
		d_step {
			if
			:: head == old -> head = node; old = NODES
			:: else
			fi
		};
		if
		:: old == NODES -> break
		:: else
		fi
	od;
#else
	atomic { old = head; head = node };
	next[node] = old;
#endif
	pushed++
}

proctype drainer()
{
	byte at;

	drain();
	pushed == NODES;
	drain();
	assert(freed[0] == 1 && freed[1] == 1)
}

init
{
	atomic {
		run pusher(0);
		run pusher(1);
		run drainer()
	}
}
