/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/base/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/base.h"

static struct {
	void (*taken[NSIG])(int signal, siginfo_t *si, void *uc);    /* Tweed's handler; NULL: not taken */
	struct sigaction action[NSIG];                               /* the program's actions for the taken signals */
	void (*fallback[NSIG])(int signal, siginfo_t *si, void *uc); /* what SIG_DFL means; NULL: the kernel's */
} signals;

void (*tw_signal_crash)(const siginfo_t *si, const void *uc);
bool (*tw_signal_repair)(const siginfo_t *si, const void *uc);
bool (*tw_signal_overflow)(const siginfo_t *si, const void *uc);
int (*tw_signal_program)(int signal, const struct sigaction *action, struct sigaction *old);
void (*tw_signal_masked)(const void *caller);
int (*tw_signal_suspend)(const sigset_t *set);

/* This thread's alternate stack on which signals are taken, and the stack that the program believes to be in use. */
static _Thread_local struct signals_stack {
	stack_t ours, user;
} signals_own;

/* The C library's functions, bypassing the wrappers of core/process/signals.c. */
#if TW_ASAN || TW_TSAN
#define real_sigaction sigaction
#else
static int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
	return real(signal, action, old);
}
#endif

static int real_sigaltstack(const stack_t *stack, stack_t *old)
{
	return (int)syscall(SYS_sigaltstack, stack, old);
}

/* ---- taking ---- */

/* Unblock @signal here, and in the masks of handlers installed earlier. */
static void signals_open_masks(int signal)
{
	struct sigaction sa;
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signal);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	for (int s = 1; s < NSIG; s++)
		if (!signals.taken[s] && real_sigaction(s, NULL, &sa) == 0 && sigismember(&sa.sa_mask, signal) == 1 &&
		    sigdelset(&sa.sa_mask, signal) == 0)
			real_sigaction(s, &sa, NULL);
}

void tw_signal_take(int signal, void (*handler)(int signal, siginfo_t *si, void *uc))
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

	sigfillset(&sa.sa_mask);
	sigdelset(&sa.sa_mask, SIGSYS); /* handlers make system calls (tw_fd_away) */
	if (!signals.taken[signal])
		real_sigaction(signal, NULL, &signals.action[signal]); /* stored before the handler can run */
	signals.taken[signal] = handler;
	real_sigaction(signal, &sa, NULL);
	signals_open_masks(signal);
}

void tw_signal_give(int signal)
{
	struct sigaction now;

	/* A handler that the program installed through an unwrapped call stays. */
	if (real_sigaction(signal, NULL, &now) == 0 && now.sa_sigaction == signals.taken[signal])
		real_sigaction(signal, &signals.action[signal], NULL);
	signals.taken[signal] = NULL;
}

void tw_signal_pass(struct sigaction *action, int signal, siginfo_t *si, void *uc)
{
	const struct sigaction old = *action;
	bool sent = si->si_code <= 0; /* by kill(2) or similar: there is no instruction to retry */
	bool plain = !(old.sa_flags & SA_SIGINFO);

	if (plain && old.sa_handler == SIG_IGN && sent)
		return;
	if (plain && (old.sa_handler == SIG_IGN || old.sa_handler == SIG_DFL)) {
		struct sigaction dfl = {.sa_handler = SIG_DFL};
		if (!sent && tw_signal_crash && (signal == SIGSEGV || signal == SIGBUS))
			tw_signal_crash(si, uc);
		real_sigaction(signal, &dfl, NULL);
		if (sent)
			syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal); /* still blocked */
		return;
	}
	if (old.sa_flags & SA_RESETHAND)
		*action = (struct sigaction){.sa_handler = SIG_DFL};
	/* The mask that the handler would have run with: it may touch shared memory, jump out, or wait for a signal. */
	sigset_t mask;
	sigorset(&mask, &((ucontext_t *)uc)->uc_sigmask, &old.sa_mask);
	if (!(old.sa_flags & SA_NODEFER))
		sigaddset(&mask, signal);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (plain)
		old.sa_handler(signal);
	else
		old.sa_sigaction(signal, si, uc);
}

void tw_signal_chain(int signal, siginfo_t *si, void *uc)
{
	tw_signal_pass(&signals.action[signal], signal, si, uc);
}

static struct signals_stack *signals_stack(const void *base)
{
	return signals_own.ours.ss_sp == base ? &signals_own : NULL;
}

int tw_signal_stack(const stack_t *stack)
{
	struct signals_stack *s;
	stack_t now;

	if (real_sigaltstack(NULL, &now))
		return -errno;
	if (stack) {
		s = signals_stack(NULL);
		if (!s)
			return -EBUSY;
		*s = (struct signals_stack){*stack, now};
	} else {
		s = now.ss_sp ? signals_stack(now.ss_sp) : NULL;
		if (!s)
			return 0; /* the program has set another stack through an unwrapped call */
		s->ours = (stack_t){0};
	}
	return real_sigaltstack(stack ? stack : &s->user, NULL) ? -errno : 0;
}

/* ---- the program's requests ---- */

const sigset_t *tw_signal_sieve(const sigset_t *set, sigset_t *out)
{
	if (!set)
		return NULL;
	*out = *set;
	for (int s = 1; s < NSIG; s++)
		if (signals.taken[s])
			sigdelset(out, s);
	return out;
}

bool tw_signal_taken(int signal)
{
	return signals.taken[signal];
}

int tw_signal_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	if (!tw_signal_program)
		return tw_signal_set(signal, action, old);
	struct sigaction sa, was;
	if (action)
		sa = *action;
	int error = tw_signal_program(signal, action ? &sa : NULL, &was);
	if (!error && old)
		*old = was;
	return error;
}

static bool signals_plain(const struct sigaction *action, sighandler_t handler)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == handler;
}

/* For a signal that is not taken. */
static int signals_real(int signal, struct sigaction *action, struct sigaction *was)
{
	void (*fallback)(int, siginfo_t *, void *) = signal > 0 && signal < NSIG ? signals.fallback[signal] : NULL;

	if (fallback && action && signals_plain(action, SIG_DFL)) {
		*action = (struct sigaction){.sa_sigaction = fallback, .sa_flags = SA_SIGINFO | SA_ONSTACK};
		sigfillset(&action->sa_mask);
	}
	if (real_sigaction(signal, action, was))
		return -1;
	if (fallback && (was->sa_flags & SA_SIGINFO) && was->sa_sigaction == fallback)
		*was = (struct sigaction){.sa_handler = SIG_DFL};
	return 0;
}

void tw_signal_default(int signal, void (*handler)(int signal, siginfo_t *si, void *uc))
{
	struct sigaction action, was;

	signals_real(signal, NULL, &action);
	signals.fallback[signal] = handler;
	if (signals_plain(&action, SIG_DFL))
		signals_real(signal, &action, &was);
}

int tw_signal_set(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction sa, was;

	if (action) {
		sa = *action; /* a copy: @action may lie in shared memory, where the kernel's accesses do not fault */
		tw_signal_sieve(&action->sa_mask, &sa.sa_mask);
	}
	if (signal > 0 && signal < NSIG && signals.taken[signal]) {
		was = signals.action[signal];
		if (action)
			signals.action[signal] = sa;
	} else if (signals_real(signal, action ? &sa : NULL, &was)) {
		return -1;
	}
	if (old)
		*old = was;
	return 0;
}

/* The program's stack is only recorded: it may be too small for a fault handler, or lie in shared memory. */
static int signals_swap_stack(struct signals_stack *s, bool on, const stack_t *stack, stack_t *old)
{
	bool small = stack && !(stack->ss_flags & SS_DISABLE) && stack->ss_size < (size_t)sysconf(_SC_MINSIGSTKSZ);
	int error = stack && on ? EPERM : small ? ENOMEM : 0;

	if (error) {
		errno = error;
		return -1;
	}
	*old = s->user;
	if (on && !(old->ss_flags & SS_DISABLE))
		old->ss_flags |= SS_ONSTACK;
	if (stack)
		s->user = *stack;
	return 0;
}

int tw_signal_altstack(const stack_t *stack, stack_t *old)
{
	stack_t now, was, wanted = stack ? *stack : (stack_t){0};
	const stack_t *want = stack ? &wanted : NULL;

	if (real_sigaltstack(NULL, &now))
		return -1;
	struct signals_stack *s = now.ss_sp ? signals_stack(now.ss_sp) : NULL;
	if (s ? signals_swap_stack(s, now.ss_flags & SS_ONSTACK, want, &was) : real_sigaltstack(want, &was))
		return -1;
	if (old)
		*old = was;
	return 0;
}
