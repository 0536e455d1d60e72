/* SPDX-License-Identifier: BSD-3-Clause */
/* poll.h - polling by the program: `tweed cc --poll` calls at every basic block, loops' back edges included. */
#ifndef TW_CORE_POLL_H
#define TW_CORE_POLL_H

#include "base/util.h"

struct tw_proc;

/* The word that says whether there is something to poll for: the protocol's (tw_proc.poll_flag), or one that stays 0. */
extern const _Atomic uint32_t *tw_poll_flag;

/* tw_poll_open - poll for @me's protocol from now on; NULL: for nobody.  [start] */
void tw_poll_open(struct tw_proc *me);

/* tw_poll - the flag was seen: call the protocol's poll, unless a hook is at work (polled in a signal handler). [application] */
void tw_poll(void);

#endif
