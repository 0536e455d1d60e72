/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.h - signals that Tweed takes for itself, and the program's use of the same signals.
 *
 * A handler that takes a signal does Tweed's part and passes other occurrences to the program's action
 * (tw_signal_chain). Later calls of sigaction and similar functions by the program or a library set that action. A
 * taken signal stays out of every mask. The wrappers are in core/process/signals.c; builds with a sanitizer lack them,
 * because its run-time library defines these functions. */
#ifndef TW_CORE_BASE_SIGNALS_H
#define TW_CORE_BASE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The signal that ends a thread's turn (runtime/threads/turns.c). */
#define TW_TURN_SIGNAL (SIGRTMAX - 6)

/* Signals that instructions of the receiving thread cause: a bit each, that of signal s is s - 1. */
#define TW_SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))
#define TW_SIGNALS_CAUSED                                                                                              \
	(TW_SIGNAL_BIT(SIGSEGV) | TW_SIGNAL_BIT(SIGBUS) | TW_SIGNAL_BIT(SIGFPE) | TW_SIGNAL_BIT(SIGILL) |              \
	 TW_SIGNAL_BIT(SIGTRAP) | TW_SIGNAL_BIT(SIGABRT) | TW_SIGNAL_BIT(SIGSYS))

/* tw_signal_take - @handler runs for @signal with all signals blocked, on the alternate stack if there is one. The
 * signal is unblocked in the calling thread and in the masks of all handlers.  When it was taken before, @handler
 * replaces the handler.
 * tw_signal_give - restore the program's action. */
void tw_signal_take(int signal, void (*handler)(int signal, siginfo_t *si, void *uc));
void tw_signal_give(int signal);

/* tw_signal_default - @handler runs for @signal, which is not taken, where the program's action is SIG_DFL; with all
 * signals blocked, on the alternate stack if there is one.  The program sees SIG_DFL.  NULL: as the kernel has it. */
void tw_signal_default(int signal, void (*handler)(int signal, siginfo_t *si, void *uc));

/* tw_signal_chain - do what the program's action would have done with @signal: call its handler with the mask it asked
 * for, end the process, or nothing. To be called from a handler with all signals blocked. */
void tw_signal_chain(int signal, siginfo_t *si, void *uc);

/* tw_signal_pass - the same for @action, which was replaced by a handler that did not use tw_signal_take. */
void tw_signal_pass(struct sigaction *action, int signal, siginfo_t *si, void *uc);

/* tw_signal_crash - both call it, unless it is NULL, before SIGSEGV or SIGBUS of an instruction ends the process.  Must
 * be async-signal-safe. */
extern void (*tw_signal_crash)(const siginfo_t *si, const void *uc);

/* tw_signal_repair - called, unless it is NULL, for a fault of an instruction that may not be fetched.  Returns whether
 * it may be now.  Must be async-signal-safe. */
extern bool (*tw_signal_repair)(const siginfo_t *si, const void *uc);

/* tw_signal_overflow - has the calling thread's stack, in shared memory, overflowed to the address of @si?  Then the
 * fault is not served, and the signal ends the program.  NULL: no stack is in shared memory.  Must be
 * async-signal-safe. */
extern bool (*tw_signal_overflow)(const siginfo_t *si, const void *uc);

/* tw_signal_stack - make @stack this thread's alternate stack while signals are taken on it; NULL: restore the
 * program's. Returns 0 or -errno. */
int tw_signal_stack(const stack_t *stack);

/* ---- for core/process/signals.c: the program's requests */
int tw_signal_action(int signal, const struct sigaction *action, struct sigaction *old);
/* tw_signal_set - the same for this process alone.
 * tw_signal_program - what tw_signal_action calls instead, where several processes are one program; NULL: the above.
 * tw_signal_masked - called after a mask of the calling thread was set by code at @caller; may be NULL.
 * tw_signal_suspend - what sigsuspend() calls instead; may be NULL.
 * tw_signal_taken - has Tweed taken @signal? */
int tw_signal_set(int signal, const struct sigaction *action, struct sigaction *old);
extern int (*tw_signal_program)(int signal, const struct sigaction *action, struct sigaction *old);
extern void (*tw_signal_masked)(const void *caller);
extern int (*tw_signal_suspend)(const sigset_t *set);
bool tw_signal_taken(int signal);
int tw_signal_altstack(const stack_t *stack, stack_t *old);
/* tw_signal_sieve - copy @set without the taken signals to @out and return @out. Returns NULL for NULL. */
const sigset_t *tw_signal_sieve(const sigset_t *set, sigset_t *out);

#endif
