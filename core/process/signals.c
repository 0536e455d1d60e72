/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c - wraps the C library's functions on signals. Requests for a signal that Tweed has taken are recorded as
 * the program's action, and such a signal stays out of every mask, because the kernel kills a process that faults with
 * the signal blocked. Shared libraries use these definitions too, because they are found first. */
#include "core/base/signals.h"
#include "core/base/base.h"
#include "core/process/syscalls.h"

#if TW_ASAN || TW_TSAN

void tw_signals_init(void) {}

#else

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define SIG_NAMES(X) X(sigprocmask) X(pthread_sigmask) X(sigsuspend) X(ppoll) X(pselect) X(epoll_pwait)

static struct {
#define X(name)      __typeof__(name) *name;
	SIG_NAMES(X)
#undef X
} next;

/* Also a constructor: dlsym is not safe in signal handlers. */
__attribute__((constructor)) void tw_signals_init(void)
{
	if (next.epoll_pwait)
		return;
#define X(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name);
	SIG_NAMES(X)
#undef X
}

#pragma GCC visibility push(default)

int sigaction(int signal, const struct sigaction *restrict action, struct sigaction *restrict old)
{
	return tw_signal_action(signal, action, old);
}

static sighandler_t sig_set(int signal, sighandler_t handler, int flags)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags}, old;

	if (!(flags & SA_NODEFER))
		sigaddset(&sa.sa_mask, signal);
	return tw_signal_action(signal, &sa, &old) ? SIG_ERR : old.sa_handler;
}

sighandler_t signal(int signal, sighandler_t handler)
{
	return sig_set(signal, handler, SA_RESTART);
}

sighandler_t ssignal(int signal, sighandler_t handler)
{
	return sig_set(signal, handler, SA_RESTART);
}

sighandler_t sysv_signal(int signal, sighandler_t handler)
{
	return sig_set(signal, handler, SA_RESETHAND | SA_NODEFER);
}

extern sighandler_t __sysv_signal(int signal, sighandler_t handler);
sighandler_t __sysv_signal(int signal, sighandler_t handler)
{
	return sysv_signal(signal, handler);
}

int siginterrupt(int signal, int interrupt)
{
	struct sigaction sa;

	if (tw_signal_action(signal, NULL, &sa))
		return -1;
	sa.sa_flags = interrupt ? sa.sa_flags & ~SA_RESTART : sa.sa_flags | SA_RESTART;
	return tw_signal_action(signal, &sa, NULL);
}

int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
	return tw_signal_altstack(stack, old);
}

/* Uses copies: the program's sets may lie in shared memory, where the kernel's accesses do not fault. */
#define SIG_MASK(name)                                                                                                 \
	int name(int how, const sigset_t *restrict set, sigset_t *restrict old)                                        \
	{                                                                                                              \
		sigset_t some, was;                                                                                    \
		if (how == SIG_UNBLOCK && set)                                                                         \
			some = *set;                                                                                   \
		const sigset_t *wanted = how == SIG_UNBLOCK && set ? &some : tw_signal_sieve(set, &some);              \
		int error = (next.name ? next.name : (tw_signals_init(), next.name))(how, wanted, &was);               \
		if (!error && old)                                                                                     \
			*old = was;                                                                                    \
		if (set && tw_signal_masked)                                                                           \
			tw_signal_masked(__builtin_return_address(0));                                                 \
		return error;                                                                                          \
	}
SIG_MASK(sigprocmask)
SIG_MASK(pthread_sigmask)

/* The remaining calls cannot happen before the constructor. */
int sigsuspend(const sigset_t *set)
{
	sigset_t some;
	if (tw_signal_suspend)
		return tw_signal_suspend(tw_signal_sieve(set, &some));
	return next.sigsuspend(tw_signal_sieve(set, &some));
}

/* A number, since the compiler takes what these calls store to for memory without contents. */
static __attribute__((noinline)) void sig_touch(uintptr_t at, size_t bytes, bool write)
{
	tw_touch((const void *)at, bytes, write);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set)
{
	sigset_t some;
	sig_touch((uintptr_t)fds, n * sizeof(*fds), true);
	sig_touch((uintptr_t)timeout, sizeof(*timeout), false);
	return next.ppoll(fds, n, timeout, tw_signal_sieve(set, &some));
}

int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
            const struct timespec *restrict timeout, const sigset_t *restrict set)
{
	sigset_t some;
	sig_touch((uintptr_t)in, sizeof(*in), true);
	sig_touch((uintptr_t)out, sizeof(*out), true);
	sig_touch((uintptr_t)except, sizeof(*except), true);
	sig_touch((uintptr_t)timeout, sizeof(*timeout), false);
	return next.pselect(n, in, out, except, timeout, tw_signal_sieve(set, &some));
}

int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout, const sigset_t *set)
{
	sigset_t some;
	sig_touch((uintptr_t)events, sizeof(*events) * (size_t)TW_MAX(most, 0), true);
	return next.epoll_pwait(fd, events, most, timeout, tw_signal_sieve(set, &some));
}

#pragma GCC visibility pop

#endif
