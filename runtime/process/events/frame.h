/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.h - calls on the stack of the code that a signal has interrupted, or on the program's alternate one. */
#ifndef TW_RUNTIME_PROCESS_EVENTS_FRAME_H
#define TW_RUNTIME_PROCESS_EVENTS_FRAME_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* th_frame_call - in a handler with the context @uc, which interrupted code on a stack of the program's: when the
 * handler returns, @function is called on that stack, with all signals but those of faults blocked.  When it returns,
 * the interrupted code continues as its context, the function's argument, says.  Returns false where that is
 * impossible: on other machines, and where the code ran on Tweed's stack for signals: @uc is in the way there. */
typedef void th_frame_function(int signal, siginfo_t *info, void *uc);
bool th_frame_call(void *uc, const siginfo_t *info, th_frame_function *function);

/* th_frame_alternate - call @function with @arg on the stack that the thread has given to sigaltstack.  Returns false,
 * and does not call it, if there is none, the caller is on it, or on Tweed's stack for signals: the next fault would
 * overwrite the caller's frames. */
bool th_frame_alternate(void (*function)(void *arg), void *arg);

#endif
