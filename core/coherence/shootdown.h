/* SPDX-License-Identifier: BSD-3-Clause */
/* shootdown.h - taking write rights from neighbours on the node: what the core calls.  tw_shootdown is in
 * driver/protocol.h. */
#ifndef TW_CORE_COHERENCE_SHOOTDOWN_H
#define TW_CORE_COHERENCE_SHOOTDOWN_H

#include "core/job/boot.h"
#include "tweed/driver/protocol.h"

/* The signal that asks a processor to comply. */
#define TW_SHOOTDOWN_SIGNAL (SIGRTMAX - 5)

/* tw_shootdown_open - last step of tw_proc_open; nothing when config.shootdown is auto.  Returns 0 or -errno, logged.
 * tw_shootdown_close - first step of tw_proc_close: this processor has no rights any more. */
int tw_shootdown_open(struct tw_proc *me, const struct tw_boot *boot);
void tw_shootdown_close(struct tw_proc *me);

/* tw_shootdown_enter, tw_shootdown_leave - around code of this thread that does not touch the application view, such
 * as hooks and waits: who shoots at this processor needs not wait for it.  Nest.  A branch where nobody asks; in
 * other threads nothing. */
void tw_shootdown_enter(struct tw_proc *me);
void tw_shootdown_leave(struct tw_proc *me);

/* The target of the process, that nobody asks for anything where there is none: for what `tweed cc --poll` puts into
 * the program. tw_poll - neighbours have asked: comply, accounted as polling, unless this thread is about to.
 * [application] */
extern struct tw_target *tw_poll_target;
void tw_poll(void);

/* tw_shootdown_forget - in a child of fork, whose neighbours ask it for nothing. */
void tw_shootdown_forget(void);

/* tw_shootdown_shadow - the rights in the view of processor @local. */
static inline uint8_t *tw_shootdown_shadow(const struct tw_proc *me, unsigned local)
{
	return (uint8_t *)me->private_mem + me->layout.shadows + local * me->layout.shadow_bytes;
}

/* tw_shootdown_remote_open - hand this processor's view to the others, and make ready to take theirs.  0 or -errno,
 * logged. tw_shootdown_remote - the mechanism protect: all of tw_shootdown. */
int tw_shootdown_remote_open(struct tw_proc *me, const struct tw_boot *boot);
void tw_shootdown_remote_close(void);
void tw_shootdown_remote(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims);

#endif
