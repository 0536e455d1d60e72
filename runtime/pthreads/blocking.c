/* SPDX-License-Identifier: BSD-3-Clause */
/* blocking.c - calls that wait in the kernel: other threads of the processor run meanwhile.
 *
 * The kernel stores into copies on the caller's stack, which is pinned: another thread's acquire may take the rights to
 * the program's own buffers.  A processor with one thread waits in the kernel as any process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/process/syscalls.h"
#include "runtime/pthreads/pthreads.h"
#include "runtime/threads/baton.h"
#include "runtime/process/events/events.h"
#include "runtime/process/program_heap.h"

#define BLOCKING_POLLS  512 /* more descriptors: the whole processor waits */
#define BLOCKING_EVENTS 256
#define BLOCKING_LOOK   20

static bool blocking_alone(void)
{
	th_due_now();
	if (!tw_me || !th_siblings)
		return true;
	th_stack_reserve();
	return false;
}

/* Was the call interrupted by the signal of a turn, which was meant for the program's code before the call? */
static bool blocking_again(int result)
{
	bool again = result < 0 && errno == EINTR && th_turn_came && !th_due_here;

	th_turn_came = false;
	return again;
}

/* How long to wait at a time, in ms: a thread that may be cancelled looks at times. */
static int blocking_part(int timeout)
{
	return pt_cancel_look && (timeout < 0 || timeout > BLOCKING_LOOK) ? BLOCKING_LOOK : timeout;
}

/* Is there a rest of *@timeout after a @result? */
static bool blocking_rest(int result, int *timeout)
{
	int part = blocking_part(*timeout);

	if (result || part == *timeout)
		return blocking_again(result);
	*timeout -= *timeout > 0 ? part : 0;
	th_back();
	pt_cancel_point();
	th_away();
	return true;
}

/* On the stack, and without the library's wrappers: they call Tweed. */
static int blocking_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int result;

	pt_cancel_point();
	th_away();
	do
		result = (int)syscall(SYS_poll, fds, n, blocking_part(timeout));
	while (blocking_rest(result, &timeout));
	th_back();
	th_due_now();
	return result;
}

/* tw_syscalls_block.  With one thread here, a new one gets the processor by its turn (runtime/threads/turns.c). */
bool pt_block(int fd, short events, const void *caller)
{
	struct pollfd one = {.fd = fd, .events = events};
	int saved = errno, flags;

	if (!th_heap_shares(caller)) /* Tweed, or one of its libraries */
		return false;
	bool signals = th_signals_read(fd);
	th_due_now();
	if (!tw_me)
		return true;
	th_stack_reserve();
	pt_cancel_point();
	if (signals || (th_crowd < 2 && !pt_cancel_look) || syscall(SYS_poll, &one, 1, 0) != 0)
		return true;
	flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
	while (flags >= 0 && !(flags & O_NONBLOCK) && blocking_poll(&one, 1, -1) < 0 && errno == EINTR)
		;
	errno = saved;
	return true;
}

/* tw_syscalls_wait. */
bool pt_wait(int fd, int *ms, const void *caller)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	if (!*ms || !th_heap_shares(caller) || blocking_alone())
		return true;
	int result = blocking_poll(&one, 1, *ms);
	*ms = 0;
	return result >= 0 || errno != EINTR;
}

PT_OWN int tw_poll_threads(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollfd copy[BLOCKING_POLLS];

	if (!timeout || n > BLOCKING_POLLS || blocking_alone())
		return poll(fds, n, timeout);
	if (n)
		memcpy(copy, fds, n * sizeof(*fds));
	int result = blocking_poll(copy, n, timeout);
	for (nfds_t i = 0; i < n && result >= 0; i++)
		fds[i].revents = copy[i].revents;
	return result;
}

PT_OWN int tw_select_threads(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	fd_set copy[3], *set[3] = {in, out, except}, *use[3];
	struct timeval left;

	if (blocking_alone())
		return select(n, in, out, except, timeout);
	for (unsigned i = 0; i < 3; i++) {
		use[i] = set[i] ? &copy[i] : NULL;
		if (set[i])
			copy[i] = *set[i];
	}
	if (timeout)
		left = *timeout;
	int result;
	th_away();
	do
		result = (int)syscall(SYS_select, n, use[0], use[1], use[2], timeout ? &left : NULL);
	while (blocking_again(result));
	th_back();
	th_due_now();
	for (unsigned i = 0; i < 3; i++)
		if (set[i] && result >= 0)
			*set[i] = copy[i];
	if (timeout)
		*timeout = left;
	return result;
}

PT_OWN int tw_epoll_wait_threads(int fd, struct epoll_event *events, int most, int timeout)
{
	struct epoll_event copy[BLOCKING_EVENTS];

	if (!timeout || most <= 0 || blocking_alone())
		return epoll_wait(fd, events, most, timeout);
	int result;
	th_away();
	do
		result = (int)syscall(SYS_epoll_wait, fd, copy, TW_MIN(most, BLOCKING_EVENTS), blocking_part(timeout));
	while (blocking_rest(result, &timeout));
	th_back();
	th_due_now();
	if (result > 0)
		memcpy(events, copy, (size_t)result * sizeof(*copy));
	return result;
}

PT_OWN int tw_accept4_threads(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
	struct sockaddr_storage copy;
	socklen_t room = address && bytes ? TW_MIN(*bytes, (socklen_t)sizeof(copy)) : 0, got = room;

	if (blocking_alone())
		return accept4(fd, address, bytes, flags);
	if (pt_cancel_look)
		pt_block(fd, POLLIN, __builtin_return_address(0));
	th_away();
	int result = (int)syscall(SYS_accept4, fd, room ? &copy : NULL, room ? &got : NULL, flags);
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
