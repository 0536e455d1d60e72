/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - virtual time: what a job would take on another machine.
 *
 * The program, the protocols and the transport run as they are.  Each processor and each agent is a member of the
 * job's gate and has a clock, which advances by what the program computes (tw_work), by what a machine's operations
 * cost (tw_charge), and by waits.  One member runs at a time: the one whose clock is the least, by number among equals.
 * At a gate point (tw_gate_pass, tw_clock_until, a wait) it lets those go first whose clocks are behind its own.  So
 * what members see of each other has the order of virtual time, and each run is the same as the last one.
 *
 * A member that waits has no clock to wait for.  It goes on at the time of the wake-up, or when its wait times out.
 * Threads that are no members have real time.  A member that they wake polls when no member can go on, because they may
 * wake it at any time; but one that a thread of a program of threads wakes polls next: it comes back from the kernel,
 * and members that wait for it by polling can always go on. */
#ifndef TW_CORE_BASE_CLOCK_H
#define TW_CORE_BASE_CLOCK_H

#include "tweed/driver/costs.h"
#include "tweed/driver/util.h"

struct tw_gate;

/* tw_virtual (driver/util.h) - this thread's member.
 * tw_work - blocks that the program has executed, counted by code of `tweed cc --count`; 0: it does not count. */
extern uint64_t tw_work;
/* tw_worked - in virtual time, called in the program's code each 65,536 blocks; NULL: nothing is. */
extern void (*tw_worked)(void);

size_t tw_gate_bytes(unsigned members);
/* tw_gate_open - @gate, in zeroed memory that all processes of the job share, is this process's.  @costs stays valid.
 * tw_gate_join - this thread becomes member @number of @members, each of which joins once; returns when all have
 * joined, and all that is before it has passed.
 * tw_gate_leave - it is a member no more.
 * tw_gate_remove - member @number, whose process has ended, is a member no more, or never will be; by any thread. */
void tw_gate_open(struct tw_gate *gate, const struct tw_costs *costs);
void tw_gate_join(unsigned number, unsigned members);
void tw_gate_leave(void);
void tw_gate_remove(unsigned number);

/* tw_gate_detach, tw_gate_attach - another thread of the process, which calls the second behind the first, is the
 * member from now on instead of the caller of the first.  Nothing if that was none. */
void tw_gate_detach(void);
void tw_gate_attach(void);

/* tw_gate_pass - let members go first whose clocks are behind.  [all contexts, with locks too: a member that waits for
 * a lock leaves the gate to others]
 * tw_gate_enter - the same, at the end of a computation of the program.  A program that does not count its work has
 * computed for the processor time since this thread's last call of a function of this file.
 * tw_clock_until - the clock becomes at least @ns, then the same.
 * tw_gate_arrival - wake-ups by this thread are for the time @ns, until it is called with 0: for the time of its own
 * clock.
 * All: nothing in a thread that is no member.
 * tw_gate_point - in a member, tw_gate_enter if the program has @computed, else tw_gate_pass. */
void tw_gate_point(bool computed);
static inline void tw_gate_pass(void)
{
	if (__builtin_expect(tw_virtual != NULL, 0))
		tw_gate_point(false);
}
static inline void tw_gate_enter(void)
{
	if (__builtin_expect(tw_virtual != NULL, 0))
		tw_gate_point(true);
}
void tw_clock_until(uint64_t ns);

/* tw_gate_look - the program looks at a clock, or at what another one changes, which takes @ns.  In a loop that does
 * nothing else a look takes more the longer the loop lasts, so that few members' turns pass.  Only in a member. */
void tw_gate_look(uint64_t ns);

/* tw_gate_steal - one of the @count members from @first, the processors of a node, serves this member for @ns: one that
 * waits, at no cost; else the one whose clock is least, which computes later by that time.  Nothing in a thread that is
 * no member.  [all contexts; with locks, too: it does not pass the gate] */
void tw_gate_steal(unsigned first, unsigned count, uint64_t ns);
void tw_gate_arrival(uint64_t ns);

/* tw_gate_watch - wait until what others write to this node's memory arrives, at most @timeout_ns; 0: without a limit.
 * Only in a member.
 * tw_gate_wrote - what this member has written, to memory that the @count members from @first watch, arrives at @ns, or
 * now if that is later.  Nothing in a thread that is no member. */
void tw_gate_watch(uint64_t timeout_ns);
void tw_gate_wrote(unsigned first, unsigned count, uint64_t ns);

/* tw_futex_name - words in these @bytes from @start have the same name in all processes that give them the same
 * @name, below 2^15 and not 0.  At most four mappings for a process. */
#define TW_FUTEX_EXPORTED   1u /* the nodes' exported memories, one behind the other */
#define TW_FUTEX_PRIVATE(n) (2u + (n))
void tw_futex_name(const void *start, size_t bytes, unsigned name);

/* What base.c does in a process with a gate. */
bool tw_gate_here(void);
uint64_t tw_gate_now(void);
void tw_gate_wait(const _Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void tw_gate_wake(const _Atomic uint32_t *word, int how_many);

#endif
