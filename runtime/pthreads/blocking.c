/* SPDX-License-Identifier: BSD-3-Clause */
/* blocking.c - calls that wait in the kernel: other threads of the processor run meanwhile.
 *
 * The kernel stores into copies on the caller's stack, which is pinned: another thread's acquire may take the rights to
 * the program's own buffers.  A processor with one thread waits in the kernel as any process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/signals.h"
#include "core/coherence/shootdown.h"
#include "core/coherence/word.h"
#include "core/process/syscalls.h"
#include "runtime/pthreads/pthreads.h"
#include "runtime/threads/baton.h"
#include "runtime/process/events/events.h"
#include "runtime/process/program_heap.h"

#define BLOCKING_POLLS  512 /* more descriptors: the whole processor waits */
#define BLOCKING_EVENTS 256
#define BLOCKING_LOOK   1000u    /* in virtual time, ns: the least pause between two looks; */
#define BLOCKING_PART   8u       /* they grow with the time of the wait, */
#define BLOCKING_PAUSE  1000000u /* up to this one, */
#define BLOCKING_REAL   100000   /* in which others have so much real time */

/* Is the caller a thread of the job? */
static bool blocking_here(void)
{
	th_due_now();
	if (!tw_me)
		return false;
	th_stack_reserve();
	tw_word_send(tw_me);
	return true;
}

static bool blocking_alone(void)
{
	return !blocking_here() || (!th_siblings && !tw_me->target && !tw_virtual);
}

/* Was the call interrupted by the signal of a turn, which was meant for the program's code before the call, or by that
 * of a shootdown? */
static bool blocking_again(int result)
{
	bool again = result < 0 && errno == EINTR && (th_turn_came || tw_shootdown_came) && !th_due_here;

	th_turn_came = tw_shootdown_came = false;
	return again;
}

/* tw_syscalls_again. */
bool pt_block_again(void)
{
	return blocking_again(-1);
}

/* One call that waits at most *@part (NULL: without end) with @mask as the thread's own (NULL: as it is). */
typedef int blocking_call(void *arg, struct timespec *part, const sigset_t *mask);

/* How long to wait, until @end.  Returns NULL: without end. */
static struct timespec *blocking_part(uint64_t end, struct timespec *part)
{
	uint64_t now = tw_time_ns(), rest = end <= now ? 0 : end - now;

	if (end == UINT64_MAX)
		return NULL;
	*part = (struct timespec){(time_t)(rest / 1000000000u), (long)(rest % 1000000000u)};
	return part;
}

/* @call, unless a handler is due: then *@due.  A signal that comes between the look and the call ends the call, which
 * lets it through. */
static int blocking_once(blocking_call *call, void *arg, struct timespec *part, const sigset_t *mask, bool *due)
{
	sigset_t all, was;

	sigfillset(&all);
	tw_signal_sieve(&all, &all);
	sigemptyset(&was);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &was, (size_t)NSIG / 8);
	th_point_begin(&was);
	*due = th_due_here && th_due;
	int result = *due ? -1 : call(arg, part, mask ? mask : &was);
	int error = *due ? EINTR : errno;
	th_point_end();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, (size_t)NSIG / 8);
	errno = error;
	return result;
}

/* The same without a wait in the kernel, which would hold up all that has virtual time. */
static int blocking_looks(blocking_call *call, void *arg, uint64_t end, const sigset_t *mask, bool *due)
{
	static const struct timespec real = {0, BLOCKING_REAL};
	struct timespec none = {0};

	for (uint64_t begun = tw_time_ns(), now = begun, pause;;) {
		int result = blocking_once(call, arg, &none, mask, due);
		if (*due || result || (now = tw_time_ns()) >= end)
			return result;
		pause = TW_MIN(BLOCKING_LOOK + (now - begun) / BLOCKING_PART, BLOCKING_PAUSE);
		if (!th_sleep(TW_MIN(end, now + pause))) {
			errno = EINTR;
			return -1;
		}
		if (pause == BLOCKING_PAUSE)
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &real, NULL);
	}
}

static void blocking_away(void)
{
	if (!tw_virtual)
		th_away();
}

/* Was a handler without SA_RESTART called behind the last wait? */
static _Thread_local bool blocking_ends;

/* Call until it has a result, or @timeout has passed (NULL: without end), or a signal's handler was called.  *@left:
 * the rest of the time. */
static int blocking_wait(blocking_call *call, void *arg, const struct timespec *timeout, const sigset_t *mask,
                         uint64_t *left)
{
	sigset_t own;
	struct timespec part;
	uint64_t end = UINT64_MAX;
	int result;

	if (timeout && (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000)) {
		errno = EINVAL;
		return -1;
	}
	if (timeout && timeout->tv_sec < INT32_MAX)
		end = tw_time_ns() + (uint64_t)timeout->tv_sec * 1000000000u + (uint64_t)timeout->tv_nsec;
	mask = tw_signal_sieve(mask, &own);
	pt_cancel_point();
	if (mask)
		th_signals_wait_with(mask);
	blocking_away();
	for (bool due, more = true; more;) {
		result = tw_virtual ? blocking_looks(call, arg, end, mask, &due)
		                    : blocking_once(call, arg, blocking_part(end, &part), mask, &due);
		due &= !mask; /* one that only the wait lets through ends it */
		more = due || (result == 0 ? tw_time_ns() < end : blocking_again(result));
		if (due) {
			th_back();
			th_due_now();
			blocking_away();
		}
	}
	th_back();
	if (mask)
		th_signals_wait_with(NULL);
	int saved = errno;
	blocking_ends = th_due_now() == 2;
	errno = saved;
	uint64_t now = left ? tw_time_ns() : 0;
	if (left)
		*left = end > now ? end - now : 0;
	return result;
}

/* All on the stack, and without the library's wrappers: they call Tweed. */
struct blocking_polled {
	struct pollfd *fds;
	nfds_t n;
};
static int blocking_poll_call(void *arg, struct timespec *part, const sigset_t *mask)
{
	const struct blocking_polled *p = arg;

	return (int)syscall(SYS_ppoll, p->fds, p->n, part, mask, (size_t)NSIG / 8);
}

static int blocking_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct blocking_polled p = {fds, n};

	return blocking_wait(blocking_poll_call, &p, timeout, mask, NULL);
}

static struct timespec *blocking_ms(int ms, struct timespec *t)
{
	*t = (struct timespec){ms / 1000, ms % 1000 * 1000000L};
	return ms < 0 ? NULL : t;
}

/* The time limit of a socket's calls, SO_RCVTIMEO or SO_SNDTIMEO.  Returns NULL: none. */
static struct timespec *blocking_limit(int fd, short events, struct timespec *limit)
{
	struct timeval t = {0};
	socklen_t bytes = sizeof(t);

	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, events == POLLOUT ? SO_SNDTIMEO : SO_RCVTIMEO, &t, &bytes) ||
	    (!t.tv_sec && !t.tv_usec))
		return NULL;
	*limit = (struct timespec){t.tv_sec, t.tv_usec * 1000};
	return limit;
}

/* The call may be made, or fails: returns its error. */
static int blocking_until(int fd, short events)
{
	struct pollfd one = {.fd = fd, .events = events};
	struct timespec limit, *timeout = blocking_limit(fd, events, &limit);

	for (;;) {
		int result = blocking_poll(&one, 1, timeout, NULL);
		if (result >= 0 || errno != EINTR)
			return result ? 0 : EAGAIN;
		if (blocking_ends || timeout)
			return EINTR;
	}
}

/* tw_syscalls_block.  With one thread here, a new one gets the processor by its turn (runtime/threads/turns.c). */
int pt_block(int fd, short events, const void *caller)
{
	struct pollfd one = {.fd = fd, .events = events};
	int flags, error = 0;

	if (!th_heap_shares(caller)) /* Tweed, or one of its libraries */
		return 0;
	th_due_now();
	if (!tw_me)
		return 1;
	th_stack_reserve();
	pt_cancel_point();
	if (fd < 0 || (th_crowd < 2 && !tw_me->target && !tw_virtual))
		return 1;
	int saved = errno;
	if (syscall(SYS_poll, &one, 1, 0) != 0)
		return 1;
	flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
	if (flags >= 0 && !(flags & O_NONBLOCK))
		error = blocking_until(fd, events);
	errno = error ? error : saved;
	return error ? -1 : 1;
}

/* tw_syscalls_wait. */
bool pt_wait(const struct pollfd *fds, nfds_t n, int *ms, const void *caller)
{
	struct pollfd copy[BLOCKING_POLLS];
	struct timespec timeout;

	if (!*ms || n > BLOCKING_POLLS || !th_heap_shares(caller) || blocking_alone())
		return true;
	if (n)
		memcpy(copy, fds, n * sizeof(*fds));
	int result = blocking_poll(copy, n, blocking_ms(*ms, &timeout), NULL);
	*ms = 0;
	return result >= 0 || errno != EINTR;
}

PT_OWN int tw_ppoll_threads(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd copy[BLOCKING_POLLS];

	if (n > BLOCKING_POLLS || !blocking_here())
		return ppoll(fds, n, timeout, mask);
	if (n)
		memcpy(copy, fds, n * sizeof(*fds));
	int result = blocking_poll(copy, n, timeout, mask);
	for (nfds_t i = 0; i < n && result >= 0; i++)
		fds[i].revents = copy[i].revents;
	return result;
}

PT_OWN int tw_poll_threads(struct pollfd *fds, nfds_t n, int timeout)
{
	struct timespec t;

	return timeout ? tw_ppoll_threads(fds, n, blocking_ms(timeout, &t), NULL) : poll(fds, n, 0);
}

struct blocking_selected {
	int n;
	fd_set copy[3], *set[3];
};
static int blocking_select_call(void *arg, struct timespec *part, const sigset_t *mask)
{
	struct blocking_selected *s = arg;
	struct blocking_selected now = *s;
	struct {
		const sigset_t *set;
		size_t bytes;
	} masked = {mask, (size_t)NSIG / 8};

	for (unsigned i = 0; i < 3; i++)
		now.set[i] = s->set[i] ? &now.copy[i] : NULL;
	int result = (int)syscall(SYS_pselect6, s->n, now.set[0], now.set[1], now.set[2], part, &masked);
	if (result > 0)
		memcpy(s->copy, now.copy, sizeof(s->copy));
	return result;
}

static int blocking_select(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
                           const sigset_t *mask, uint64_t *left)
{
	struct blocking_selected s = {.n = n, .set = {in, out, except}};

	for (unsigned i = 0; i < 3; i++)
		if (s.set[i])
			s.copy[i] = *s.set[i];
	int result = blocking_wait(blocking_select_call, &s, timeout, mask, left);
	for (unsigned i = 0; i < 3 && result >= 0; i++)
		if (s.set[i] && result)
			*s.set[i] = s.copy[i];
		else if (s.set[i])
			FD_ZERO(s.set[i]);
	return result;
}

PT_OWN int tw_pselect_threads(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
                              const sigset_t *mask)
{
	struct timespec t = timeout ? *timeout : (struct timespec){0};

	if (!blocking_here())
		return pselect(n, in, out, except, timeout, mask);
	return blocking_select(n, in, out, except, timeout ? &t : NULL, mask, NULL);
}

PT_OWN int tw_select_threads(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct timespec t = {0};
	uint64_t left;

	if (!blocking_here())
		return select(n, in, out, except, timeout);
	if (timeout)
		t = (struct timespec){timeout->tv_sec + timeout->tv_usec / 1000000, timeout->tv_usec % 1000000 * 1000};
	int result = blocking_select(n, in, out, except, timeout ? &t : NULL, NULL, &left);
	if (timeout && result >= 0)
		*timeout = (struct timeval){(time_t)(left / 1000000000u), (suseconds_t)(left % 1000000000u / 1000)};
	return result;
}

struct blocking_epoll {
	int fd, most;
	struct epoll_event *events;
};
static int blocking_epoll_call(void *arg, struct timespec *part, const sigset_t *mask)
{
	const struct blocking_epoll *e = arg;
	int ms = part ? (int)(part->tv_sec * 1000 + (part->tv_nsec + 999999) / 1000000) : -1;

	return (int)syscall(SYS_epoll_pwait, e->fd, e->events, e->most, ms, mask, (size_t)NSIG / 8);
}

PT_OWN int tw_epoll_pwait2_threads(int fd, struct epoll_event *events, int most, const struct timespec *timeout,
                                   const sigset_t *mask)
{
	struct epoll_event copy[BLOCKING_EVENTS];
	struct timespec t = timeout ? *timeout : (struct timespec){0};

	th_stack_reserve();
	struct blocking_epoll e = {fd, TW_MIN(most, BLOCKING_EVENTS), copy};
	int result = blocking_wait(blocking_epoll_call, &e, timeout ? &t : NULL, mask, NULL);
	if (result > 0)
		memcpy(events, copy, (size_t)result * sizeof(*copy));
	return result;
}

PT_OWN int tw_epoll_pwait_threads(int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
	struct timespec t;

	if (!blocking_here())
		return epoll_pwait(fd, events, most, timeout, mask);
	return tw_epoll_pwait2_threads(fd, events, most, blocking_ms(timeout, &t), mask);
}

PT_OWN int tw_epoll_wait_threads(int fd, struct epoll_event *events, int most, int timeout)
{
	return timeout ? tw_epoll_pwait_threads(fd, events, most, timeout, NULL) : epoll_wait(fd, events, most, 0);
}

PT_OWN int tw_accept4_threads(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
	struct sockaddr_storage copy;
	socklen_t room = address && bytes ? TW_MIN(*bytes, (socklen_t)sizeof(copy)) : 0, got = room;

	if (blocking_alone())
		return accept4(fd, address, bytes, flags);
	th_away();
	th_point_begin(NULL);
	int result = (int)syscall(SYS_accept4, fd, room ? &copy : NULL, room ? &got : NULL, flags);
	th_point_end();
	th_back();
	th_due_now();
	if (result >= 0 && room) {
		memcpy(address, &copy, TW_MIN(room, got));
		*bytes = got;
	}
	return result;
}

PT_OWN int tw_accept_threads(int fd, struct sockaddr *address, socklen_t *bytes)
{
	return tw_accept4_threads(fd, address, bytes, 0);
}

PT_OWN int tw_flock_threads(int fd, int operation)
{
	if ((operation & LOCK_NB) || blocking_alone())
		return flock(fd, operation);
	th_away();
	int result = (int)syscall(SYS_flock, fd, operation);
	th_back();
	return result;
}
