/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h - this process's place in the job. */
#ifndef TW_CORE_JOB_JOB_H
#define TW_CORE_JOB_JOB_H

#include "core/base/base.h"
#include "core/job/boot.h"
#include "core/memory/regions.h"
#include "tweed/driver/protocol.h"

/* The processor (or agent) that this process is; NULL before tw_init and after tw_finalize. */
extern struct tw_proc *tw_me;

/* tw_me_checked - tw_me, or the end of the job with a sentence that names @function.  Waits for the handler of a last fault, which may still use
 * the endpoint in its own thread: so whoever uses that outside of hooks begins with this. */
struct tw_proc *tw_me_checked(const char *function);

/* tw_job_net_config - what the node's server and endpoints have in common; it points into @boot. */
void tw_job_net_config(const struct tw_boot *boot, const struct tw_layout *layout, struct tw_net_config *config);

/* tw_proc_open - open the process's part of the job: memories, endpoint, protocol; processors also views and faults.
 * tw_proc_close undoes it.  Returns 0 or -errno, logged. */
int tw_proc_open(struct tw_proc *me, const struct tw_boot *boot, unsigned local, bool agent);
void tw_proc_close(struct tw_proc *me);
/* The two halves of that.  tw_proc_join - identity, memories and endpoint, without views and protocol: all that remote access needs;
 * tw_proc_leave undoes it.  tw_proc_enter - the rest; tw_proc_exit undoes it. */
int tw_proc_join(struct tw_proc *me, const struct tw_boot *boot, unsigned local, bool agent);
void tw_proc_leave(struct tw_proc *me);
int tw_proc_enter(struct tw_proc *me, const struct tw_boot *boot);
void tw_proc_exit(struct tw_proc *me);

/* tw_join - this process joins its job, if it has not yet: it opens no more than one endpoint, which the shared memory of tweed.h and
 * the PGAS layer have in common.  Mistakes end the process with a sentence.  To be followed by tw_joined, when the
 * caller is at work.  tw_launched - has a launcher started this process, so that there is a job?
 * tw_join_whole - after tw_join: @user needs all processors to the end, so a job that is to survive their deaths is refused with a
 * sentence.  tw_unjoin - of each tw_join: the last one leaves the job, after which exiting is no accident. */
bool tw_launched(void);
struct tw_proc *tw_join(const struct tw_boot **boot);
void tw_join_whole(struct tw_proc *me, const char *user);
void tw_joined(struct tw_proc *me);
void tw_unjoin(struct tw_proc *me);

/* tw_release, tw_acquire, tw_arrive - the protocol's hook with time accounting, remote frees shipped and taken in. */
void tw_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void tw_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object);
void tw_arrive(struct tw_proc *me, uint64_t object);

/* tw_protocol_enter, tw_protocol_leave - around every page and synchronization hook.  Where another thread serves the faults, one
 * at a time: a signal may let the faulting thread go on as soon as the page is mapped, before the handler has ended.
 * A branch elsewhere. */
void tw_protocol_enter(struct tw_proc *me);
void tw_protocol_leave(struct tw_proc *me);

/* Time accounting: t = tw_time_begin(me); ...; tw_time_end(me, &me->stats->now.comm_wait_ns, t).  Both are one branch when timing is
 * off.  Nested spans subtract themselves from the outer one. */
uint64_t tw_time_begin(struct tw_proc *me);
void tw_time_end(struct tw_proc *me, uint64_t *category, uint64_t begun);

/* tw_wait, tw_wait_until - tw_net_wait and tw_net_wait_until, accounted as comm_wait. */
void tw_wait(struct tw_proc *me, bool (*ready)(void *arg), void *arg);
bool tw_wait_until(struct tw_proc *me, bool (*ready)(void *arg), void *arg, uint64_t until_ns);

#endif
