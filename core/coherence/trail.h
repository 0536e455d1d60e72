/* SPDX-License-Identifier: BSD-3-Clause */
/* trail.h - releases that do not wait for the node that acquires from them.
 *
 * A release must be performed when others learn of it.  A processor that gives a lock to a node, or wakes a thread
 * there, notifies that node alone, by a write to it.  The transport keeps writes to one node in order, if a fence lies
 * between.  So what the release wrote to that node, its *successor*, need not be waited for: it is there before the
 * successor learns of the release.  Over TCP diffs, notices and the lock are one message then.
 *
 * Why this is enough.
 * (1) What the release writes to other nodes is flushed before the successor is notified (tw_trail_end).
 * (2) Notices to other nodes follow diffs that are performed (tw_trail_leave, called in notice.c).
 * (3) Whoever learns of the release through the successor finds at the successor all that was written there.
 * (4) This processor's next protocol action waits for what is in flight (tw_trail_settle).  So it comes before what
 *     this processor releases afterwards, and before what the node's agent writes for pages taken from then on.
 *     Between two protocol actions the processor releases nothing.  The acquire behind a barrier does not wait: it
 *     releases nothing, takes no page, and writes by the same endpoint.
 * (5) The processor is its node's only one: no neighbour fetches a page whose diff is in flight.
 * (6) At a barrier of two nodes each is the other's successor.
 * tests/models/trail.pml checks (1), (2) and (4).
 *
 * Atomic operations under way use (4), too (word.c).
 *
 * Not for homes that move, whose mover waits for announced diffs (flush.c), nor where a write to another node is a
 * store: there a flush is a fence.  Not while another release is pending (lazy.c), which a node may demand: its agent
 * replies through an endpoint of its own, before what is in flight arrives. */
#ifndef TW_CORE_COHERENCE_TRAIL_H
#define TW_CORE_COHERENCE_TRAIL_H

#include "core/job/job.h"

/* tw_trails - may what this processor writes be waited for by its next hook?
 * tw_trail_begin - until tw_trail_end the caller releases, and then notifies only @node.  [sync]
 * tw_trail_leave - during the release: other nodes must see it, too.  All is flushed, and the rest of the release is an
 * ordinary one.  Page locks may be held, and tw_protocol_enter.
 * tw_trail_end - flush what must be performed before the next write to @node: everything, unless the release has kept
 * its successor.  [sync]
 * tw_trail_settle is protocol.h's. */
bool tw_trails(const struct tw_proc *me);
void tw_trail_begin(struct tw_proc *me, unsigned node);
void tw_trail_leave(struct tw_proc *me);
void tw_trail_end(struct tw_proc *me);

#endif
