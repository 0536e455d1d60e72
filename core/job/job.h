/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h - this process's place in the job. */
#ifndef TW_CORE_JOB_JOB_H
#define TW_CORE_JOB_JOB_H

#include <pthread.h>

#include "core/base/base.h"
#include "core/job/boot.h"
#include "core/memory/regions.h"
#include "tweed/driver/protocol.h"

/* The processor (or agent) that this process is; NULL before tw_init and after tw_finalize. */
extern struct tw_proc *tw_me;

/* tw_me_checked - returns tw_me; if it is NULL, ends the job with a message that names @function. Waits for the handler
 * of the last fault, which may still use the endpoint in its own thread. Code that uses the endpoint outside of hooks
 * must call this first. */
struct tw_proc *tw_me_checked(const char *function);

/* tw_job_net_config - fill in what the node's server and endpoints have in common. @config points into @boot. */
void tw_job_net_config(const struct tw_boot *boot, const struct tw_layout *layout, struct tw_net_config *config);

/* tw_proc_open - open the process's part of the job: memories, endpoint, protocol; for processors also views and
 * faults. Returns 0 or -errno, logged.
 * tw_proc_close - undo it. */
int tw_proc_open(struct tw_proc *me, const struct tw_boot *boot, unsigned local, bool agent);
void tw_proc_close(struct tw_proc *me);
/* The two halves of tw_proc_open, with the same results.
 * tw_proc_join - identity, memories and endpoint, but no views and no protocol: all that remote access needs.
 * tw_proc_leave - undo it.
 * tw_proc_enter - the rest. tw_proc_exit - undo it.
 * tw_proc_clock - this thread, the processor's or the agent's, has virtual time from now on, if the job has; until
 * tw_proc_leave, or tw_gate_leave. Waits for all processors and agents. */
void tw_proc_clock(struct tw_proc *me);
int tw_proc_join(struct tw_proc *me, const struct tw_boot *boot, unsigned local, bool agent);
void tw_proc_leave(struct tw_proc *me);
int tw_proc_enter(struct tw_proc *me, const struct tw_boot *boot);
void tw_proc_exit(struct tw_proc *me);

/* tw_launched - returns whether a launcher started this process, so that there is a job.
 * tw_join - join the job unless the process has joined already. The process opens one endpoint, which tweed.h's shared
 * memory and the PGAS layer share. Errors end the process with a message. The caller calls tw_joined when it is ready
 * to work.
 * tw_join_whole - after tw_join: @user needs all processors until the end; in a job that survives deaths, ends the
 * process with a message.
 * tw_unjoin - for each tw_join; the last one leaves the job, after which exiting is no error. */
bool tw_launched(void);
struct tw_proc *tw_join(const struct tw_boot **boot);
void tw_join_whole(struct tw_proc *me, const char *user);
void tw_joined(struct tw_proc *me);
void tw_unjoin(struct tw_proc *me);

/* tw_page_describe - for a debugger: the state of the page of @address, as this processor and its node see it, as one
 * line, which is valid until the next call.  Takes no locks and waits for nobody, so it may be in change.  In a stopped
 * process; any context. */
const char *tw_page_describe(const void *address);

/* tw_release, tw_acquire, tw_arrive - run the protocol's hook with time accounting; ship remote frees (release, arrive)
 * or take them in (acquire). */
void tw_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void tw_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void tw_arrive(struct tw_proc *me, uint64_t object);
/* tw_acquired - called at the end of each acquire of an application thread, except in faults; may be NULL. It must not
 * call Tweed, because a lock of Tweed's may be held. */
extern void (*tw_acquired)(void);

/* tw_protocol_enter, tw_protocol_leave - around every page and synchronization hook, within tw_shootdown_enter, because
 * what has the lock may wait for a processor that shoots at this one. Where a separate thread serves faults they are a
 * lock, because a signal may let the faulting thread continue as soon as the page is mapped, before the handler has
 * returned. With lazy releases they are a lock, too. Elsewhere they are branches.
 * tw_protocol_enter waits for the network if a release trails (core/coherence/trail.h); tw_protocol_enter_trailing does
 * not. */
void tw_protocol_enter(struct tw_proc *me);
void tw_protocol_enter_trailing(struct tw_proc *me);
void tw_protocol_leave(struct tw_proc *me);
/* tw_protocol_inside - may the caller be between the two, or in an operation of the network, with a page lock held? */
bool tw_protocol_inside(const struct tw_proc *me);

/* Lazy releases: what they add to this process; NULL: releases are performed at once. core/coherence/lazy.h explains
 * the functions; @thread is the one that performs releases beside the processor's. */
struct tw_laziness {
	void (*performed)(struct tw_proc *me, bool all);
	void (*idle)(struct tw_proc *me);
	pthread_t thread;
};
extern const struct tw_laziness *tw_laziness;
/* tw_protocol_enter_aside, tw_protocol_leave_aside - the same in that thread. tw_protocol_aside - is it the caller? */
void tw_protocol_enter_aside(struct tw_proc *me);
void tw_protocol_leave_aside(struct tw_proc *me);
bool tw_protocol_aside(void);

/* Time accounting: t = tw_time_begin(me); ...; tw_time_end(me, &me->stats->now.comm_wait_ns, t). Each is one branch
 * when timing is off. A nested span is subtracted from the outer one. */
uint64_t tw_time_begin(struct tw_proc *me);
void tw_time_end(struct tw_proc *me, uint64_t *category, uint64_t begun);
/* tw_stats_end - a processor's numbers are those of now: by the processor, or by its agent when it has died. */
void tw_stats_end(struct tw_stats *s);

/* tw_wait, tw_wait_until - tw_net_wait and tw_net_wait_until, accounted as comm_wait. Shootdowns of this processor need
 * not wait meanwhile. */
void tw_wait(struct tw_proc *me, bool (*ready)(void *arg), void *arg);
bool tw_wait_until(struct tw_proc *me, bool (*ready)(void *arg), void *arg, uint64_t until_ns);

#endif
