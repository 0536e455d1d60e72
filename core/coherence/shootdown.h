/* SPDX-License-Identifier: BSD-3-Clause */
/* shootdown.h - taking write rights from processors of the same node: what the core calls. tw_shootdown is in
 * driver/protocol.h. */
#ifndef TW_CORE_COHERENCE_SHOOTDOWN_H
#define TW_CORE_COHERENCE_SHOOTDOWN_H

#include "core/job/boot.h"
#include "tweed/driver/protocol.h"

/* The signal that asks a processor to comply. */
#define TW_SHOOTDOWN_SIGNAL (SIGRTMAX - 5)

/* tw_shootdown_open - last step of tw_proc_open. Does nothing when config.shootdown is auto. Returns 0 or -errno,
 * logged.
 * tw_shootdown_close - first step of tw_proc_close: this processor has no rights any more. */
int tw_shootdown_open(struct tw_proc *me, const struct tw_boot *boot);
void tw_shootdown_close(struct tw_proc *me);

/* tw_shootdown_thread - the program runs in the calling thread from now on: requests interrupt it. After
 * tw_shootdown_open. [application] */
void tw_shootdown_thread(struct tw_proc *me);
/* tw_shootdown_next - the same for a caller that knows its @tid. The previous thread has called tw_shootdown_enter for
 * both; the caller calls tw_shootdown_leave. [application] */
void tw_shootdown_next(struct tw_proc *me, int32_t tid);

/* tw_shootdown_enter, tw_shootdown_leave - around code of this thread that does not access the application view, such
 * as hooks and waits: meanwhile, shootdowns of this processor need not wait for it. They nest. They cost a branch where
 * there are no requests, and do nothing in other threads. */
void tw_shootdown_enter(struct tw_proc *me);
void tw_shootdown_leave(struct tw_proc *me);

/* tw_shootdown_came - a request's signal has interrupted the calling thread since it last cleared this: a call of the
 * kernel may have ended with EINTR that none of the program's signals has interrupted. */
extern _Thread_local volatile bool tw_shootdown_came;

/* tw_poll_target - the process's target, used by the polls that `tweed cc --poll` inserts into the program; without
 * shootdowns by request, a dummy that is never asked.
 * tw_poll - comply with pending requests, accounted as polling, unless this thread is about to comply anyway.
 * [application] */
extern struct tw_target *tw_poll_target;
void tw_poll(void);

/* tw_shootdown_forget - in a child of fork, of which nothing is requested. */
void tw_shootdown_forget(void);

/* tw_shootdown_shadow - returns the rights in the view of processor @local. */
static inline uint8_t *tw_shootdown_shadow(const struct tw_proc *me, unsigned local)
{
	return (uint8_t *)me->private_mem + me->layout.shadows + local * me->layout.shadow_bytes;
}

/* tw_shootdown_remote_open - send this processor's view to the others, and prepare to receive theirs. Returns 0 or
 * -errno, logged.
 * tw_shootdown_remote - tw_shootdown for the mechanism protect; @left: TW_READ. */
int tw_shootdown_remote_open(struct tw_proc *me, const struct tw_boot *boot);
void tw_shootdown_remote_close(void);
void tw_shootdown_remote(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims, enum tw_rights left);

#endif
