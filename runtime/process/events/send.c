/* SPDX-License-Identifier: BSD-3-Clause */
/* send.c - calls that send signals to the program, or wait for them.
 *
 * A signal to the program goes to the process of a thread that accepts it; if there is none, to that of the first
 * host's first processor, where it is pending.  A thread that begins to accept it gets it from there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/signals.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/accept.h"
#include "runtime/process/events/far.h"
#include "runtime/process/events/signalfd.h"
#include "runtime/process/hosts/first_host.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/baton.h"

#define SEND_NEXT(name) ((__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name))

static pid_t send_process(void)
{
	return (pid_t)syscall(SYS_getpid);
}

static pid_t send_thread(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static siginfo_t send_info(int signal, int code, const union sigval *value)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = signal;
	info.si_code = code;
	info.si_pid = signals_program();
	info.si_uid = getuid();
	if (value)
		info.si_value = *value;
	return info;
}

/* Write the signal to a signalfd, if the program's thread @tid blocks it.  Returns whether that was done. */
static bool send_shown(pid_t tid, const siginfo_t *info)
{
	uint64_t bit = host_bit(info->si_signo);

	for (uint32_t i = 0; (signalfd_set() & bit) && i < host->threads; i++)
		if (atomic_load(&host->thread[i].tid) == tid)
			return !(atomic_load(&host->thread[i].accepts) & bit) && signalfd_send(info);
	return false;
}

/* To the calling thread: its handler is called before the return. */
static int send_self(siginfo_t *info)
{
	int error = 0;

	if (send_shown(send_thread(), info))
		return 0;
	if (syscall(SYS_rt_tgsigqueueinfo, send_process(), send_thread(), info->si_signo, info) < 0)
		error = errno;
	th_due_now();
	return error;
}

int th_signals_send(uint32_t to, pid_t pid, pid_t tid, int signal, int code, const union sigval *value)
{
	siginfo_t info = send_info(signal, code, value);

	th_order(); /* the handler sees what the sender has stored */
	if (to != th_hosts_self()) {
		struct host_signal s = {pid, tid, info};
		if (!signal)
			return 0;
		s.info.si_code = signals_code(code);
		return far_here() ? far_send(to, &s) : host_far_send(to, &s);
	}
	if (tid == send_thread())
		return send_self(&info);
	if (!signal)
		return syscall(SYS_tgkill, pid, tid, 0) < 0 ? errno : 0;
	if (send_shown(tid, &info))
		return 0;
	info.si_code = signals_code(code);
	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info) < 0 ? errno : 0;
}

/* To the program. */
static int send_program(int signal, int code, const union sigval *value)
{
	siginfo_t info = send_info(signal, code, value);

	if (signal < 0 || signal >= NSIG) {
		errno = EINVAL;
		return -1;
	}
	if (!signal)
		return 0;
	th_order();
	if (signals_thread && (atomic_load(&signals_thread->accepts) & host_bit(signal)))
		return th_result(send_self(&info));
	struct host_signal s = {.info = info};
	if (!far_here())
		return th_result(signals_deliver(UINT32_MAX, &s));
	const struct host_thread *t = signals_acceptor(signal, UINT32_MAX);
	s.info.si_code = signals_code(code);
	if (t)
		return (int)signals_queue(t, &s.info);
	return th_result(far_send(UINT32_MAX, &s));
}

int th_signals_send_program(int signal, int code, const union sigval *value)
{
	siginfo_t info = send_info(signal, code, value);

	if (host_shared() && signals_thread)
		return send_program(signal, code, value);
	info.si_pid = getpid();
	return (int)syscall(SYS_rt_sigqueueinfo, getpid(), signal, &info);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static struct timespec wait_left(const struct timespec *limit, uint64_t passed)
{
	struct timespec left = {limit->tv_sec - (time_t)(passed / 1000000000),
	                        limit->tv_nsec - (long)(passed % 1000000000)};

	if (left.tv_nsec < 0) {
		left.tv_sec--;
		left.tv_nsec += 1000000000;
	}
	return left.tv_sec < 0 ? (struct timespec){0, 0} : left;
}

/* Returns the signal's number, or -1.  What a child that only Tweed knows sends is dropped. */
static int wait_once(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
	uint64_t start = tw_time_ns();
	struct timespec left = limit ? *limit : (struct timespec){0, 0};
	int got;

	while ((got = (int)syscall(SYS_rt_sigtimedwait, set, info, limit ? &left : NULL, (size_t)NSIG / 8)) > 0 &&
	       signals_hidden(got, info->si_code))
		if (limit)
			left = wait_left(limit, tw_time_ns() - start);
	return got;
}

/* A signal that was passed to this thread after the time is taken, too. */
static int wait_for(const sigset_t *wanted, siginfo_t *info, const struct timespec *limit)
{
	static const struct timespec none = {0, 0};
	struct timespec time = limit ? *limit : none;
	sigset_t set;
	int got, error;

	tw_signal_sieve(wanted, &set);
	uint64_t bits;
	memcpy(&bits, &set, sizeof(bits));
	signals_accept(bits);
	th_away();
	th_point_begin(NULL);
	got = wait_once(&set, info, limit ? &time : NULL);
	th_point_end();
	error = errno;
	th_back();
	signals_accept(0);
	if (got < 0) {
		got = wait_once(&set, info, &none);
		if (got < 0)
			errno = error;
	}
	if (got > 0)
		signals_received(info);
	error = errno;
	if (got > 0)
		th_order();
	th_due_now();
	errno = error;
	return got;
}

/* Those that are pending for other processes of the program. */
static uint64_t pending_elsewhere(void)
{
	uint64_t bits = 0;

	host_inform(true);
	for (uint32_t k = 0; k < host->processors; k++)
		bits |= atomic_load(&host->processor[k].pending);
	return far_here() ? bits | far_pending() : bits | signalfd_pending();
}

void th_signals_wait_with(const sigset_t *mask)
{
	uint64_t bits = UINT64_MAX;

	if (mask)
		memcpy(&bits, mask, sizeof(bits));
	if (host_shared() && signals_thread)
		signals_accept(~bits);
}

/* tw_signal_suspend */
static int signals_suspend(const sigset_t *wanted)
{
	sigset_t set = *wanted;

	if (!host_shared() || !signals_thread)
		return (int)syscall(SYS_rt_sigsuspend, &set, (size_t)NSIG / 8);
	th_stack_reserve();
	if (!th_due_now()) {
		th_signals_wait_with(&set);
		sigset_t own;
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &own, (size_t)NSIG / 8);
		th_away();
		th_point_begin(&own);
		syscall(SYS_rt_sigsuspend, &set, (size_t)NSIG / 8);
		th_point_end();
		th_back();
		th_signals_wait_with(NULL);
		th_due_now();
	}
	errno = EINTR;
	return -1;
}

void signals_send_open(void)
{
	tw_signal_suspend = signals_suspend;
}

#pragma GCC visibility push(default)

TH_WEAK int kill(pid_t pid, int signal)
{
	if (!host_shared() || !signals_thread || pid != signals_program())
		return (int)syscall(SYS_kill, pid, signal);
	return send_program(signal, SI_USER, NULL);
}

TH_WEAK int sigqueue(pid_t pid, int signal, const union sigval value)
{
	if (!host_shared() || !signals_thread || pid != signals_program())
		return SEND_NEXT(sigqueue)(pid, signal, value);
	return send_program(signal, SI_QUEUE, &value);
}

TH_WEAK int raise(int signal)
{
	if (!host_shared() || !signals_thread || signal < 1 || signal >= NSIG)
		return SEND_NEXT(raise)(signal);
	siginfo_t info = send_info(signal, SI_TKILL, NULL);
	return th_result(send_self(&info));
}

TH_WEAK int sigpending(sigset_t *set)
{
	sigset_t copy;
	int error = SEND_NEXT(sigpending)(&copy);

	if (!error && host_shared() && signals_thread) {
		uint64_t bits, more = pending_elsewhere();
		memcpy(&bits, &copy, sizeof(bits));
		bits |= more;
		memcpy(&copy, &bits, sizeof(bits));
	}
	if (!error)
		*set = copy;
	return error;
}

TH_WEAK int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
	siginfo_t copy;

	if (!host_shared() || !signals_thread)
		return SEND_NEXT(sigtimedwait)(set, info, time);
	th_stack_reserve();
	int got = wait_for(set, &copy, time);
	if (got > 0 && info)
		*info = copy;
	return got;
}

TH_WEAK int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

TH_WEAK int sigwait(const sigset_t *set, int *signal)
{
	int got;

	do
		got = sigtimedwait(set, NULL, NULL);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno;
	*signal = got;
	return 0;
}

TH_WEAK int pause(void)
{
	sigset_t now;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now, (size_t)NSIG / 8);
	return signals_suspend(&now);
}

#pragma GCC visibility pop
