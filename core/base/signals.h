/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.h - signals that Tweed takes for itself, and the program's use of the same ones.
 *
 * A signal is taken by a handler that does Tweed's part, and what is left goes to the program's action (tw_signal_chain).  What the
 * program, or a library, asks for later with sigaction and its kin is that action, and a signal that was taken stays out of every mask
 * (core/process/signals.c; not in builds with a sanitizer, whose run-time library defines these functions). */
#ifndef TW_CORE_BASE_SIGNALS_H
#define TW_CORE_BASE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* tw_signal_take - @signal calls @handler, with all signals blocked, on the alternate stack if there is one; it is unblocked in the
 * calling thread and in the masks of all handlers.  tw_signal_give - the program's action again. */
void tw_signal_take(int signal, void (*handler)(int signal, siginfo_t *si, void *uc));
void tw_signal_give(int signal);

/* tw_signal_chain - do with @signal what the program's action would have done: call its handler with the mask it asked for, die, or
 * nothing.  In a handler with all signals blocked. */
void tw_signal_chain(int signal, siginfo_t *si, void *uc);

/* tw_signal_pass - the same for @action, which a handler that was not taken has replaced. */
void tw_signal_pass(struct sigaction *action, int signal, siginfo_t *si, void *uc);

/* tw_signal_stack - @stack is this thread's alternate stack for as long as signals are taken on it; NULL: the program's again. */
int tw_signal_stack(const stack_t *stack);

/* ---- for core/process/signals.c: what the program asks for */
int tw_signal_action(int signal, const struct sigaction *action, struct sigaction *old);
int tw_signal_altstack(const stack_t *stack, stack_t *old);
/* tw_signal_sieve - @set without what is taken, at @out; NULL for NULL. */
const sigset_t *tw_signal_sieve(const sigset_t *set, sigset_t *out);

#endif
