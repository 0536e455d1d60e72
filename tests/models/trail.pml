/* SPDX-License-Identifier: BSD-3-Clause */
/* trail.pml - releases that do not wait for the node that acquires from them (core/coherence/trail.h).
 *
 * Claim: whoever learns of a release, in whatever way, finds at the homes what it wrote; and no write of a release
 * arrives at a home behind a later one of the same node.
 *
 * Releaser R has stored x, on a page whose home is S, and y, whose home is Z.  It releases, and notifies S, its
 * successor.  Z may have a copy of x's page, and gets a notice then, at which it fetches.  Afterwards R either releases
 * again, for Z, or takes x's page into exclusive mode and stores, and R's agent, by an endpoint of its own, sends the
 * page home.  S releases to Z.
 *
 * What R has stored may belong to an earlier release that is pending (core/coherence/lazy.c).  Then a node that takes
 * the lock of that one demands it, and R's agent replies as soon as R says that nothing is pending.
 *
 * Abstracted: an endpoint's writes to a node are a queue, emptied one by one at any time; a flush waits until it is
 * empty.  A fetch is one step.  Left out: twins, page locks (R's node has one processor), the answer to a settle.
 *
 * pan:                        must pass
 * fail: -DEARLY_NOTICE        a notice to Z before x is performed
 * fail: -DNO_FLUSH            S is notified before what went to Z is performed
 * fail: -DNO_SETTLE           R's next protocol action does not wait
 * fail: -DUNORDERED           no fence before S is notified
 * fail: -DTRAIL_PENDING       the release trails, though an earlier one is pending
 */
#define X      1
#define GRANT  2
#define Y      3
#define NOTICE 4
#define FLAG   5

chan to_s = [4] of { byte, byte };
chan to_z = [4] of { byte, byte };
chan by_agent = [2] of { byte, byte };
byte master_x, master_y;
bool granted, noticed, flagged, passed, wrote_two;
bool pending, demanded;

/* The network, and the nodes' memories. */
active proctype arrivals()
{
	byte v;
end:
	do
	:: d_step { to_s?X(v) -> master_x = v }
	:: d_step { to_s?GRANT(v) -> granted = true }
#ifdef UNORDERED
	:: d_step { to_s??GRANT(v) -> granted = true }
#endif
	:: d_step { by_agent?X(v) -> master_x = v }
	:: d_step { to_z?Y(v) -> master_y = v }
	:: d_step { to_z?NOTICE(v) -> noticed = true }
	:: d_step { to_z?FLAG(v) -> flagged = true }
	od
}

active proctype releaser()
{
	if
	:: pending = true; demanded = true
	:: skip
	fi;
	to_s!X(1);
	to_z!Y(1);
	if
	:: skip; /* Z has no copy */
	:: /* it has */
#ifndef EARLY_NOTICE
	   empty(to_s) && empty(to_z);
#endif
	   to_z!NOTICE(0)
	fi;
#ifndef NO_FLUSH
	empty(to_z);
#endif
#ifndef TRAIL_PENDING
	if
	:: pending -> empty(to_s)
	:: else
	fi;
#endif
	pending = false;
	to_s!GRANT(0);
#ifndef NO_SETTLE
	empty(to_s);
#endif
	if
	:: to_z!FLAG(0)
	:: by_agent!X(2); wrote_two = true
	fi
}

active proctype successor()
{
	granted;
	assert(master_x >= 1 && master_y == 1);
	passed = true
}

active proctype third()
{
end:
	do
	:: noticed -> noticed = false; assert(master_x >= 1)
	:: flagged -> flagged = false; assert(master_x >= 1 && master_y == 1)
	:: passed -> passed = false; assert(master_x >= 1 && master_y == 1)
	od
}

active proctype demander()
{
end:
	demanded;
	!pending;
	assert(master_x >= 1 && master_y == 1)
}

active proctype finally()
{
end:
	wrote_two && empty(by_agent) && empty(to_s);
	assert(master_x == 2)
}
