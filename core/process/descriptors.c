/* SPDX-License-Identifier: BSD-3-Clause */
/* descriptors.c - wraps the C library's functions that take and free descriptors. Descriptors opened by Tweed's
 * libraries become Tweed's (libfabric opens sockets when peers connect), and only those libraries can close Tweed's.
 * open() and similar functions are in syscalls.c. A program's own functions of these names replace these. */
#undef _FORTIFY_SOURCE

#include "core/process/descriptors.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/process/syscalls.h"

void (*tw_descriptors_changed)(int fd, bool channel);
void (*tw_descriptors_order)(int fd, const void *caller);

int tw_descriptors_opened(int fd, const void *caller)
{
	return fd >= 0 && tw_fd_first() && tw_fd_by_library(caller) ? tw_fd_keep(fd) : fd;
}

unsigned char tw_descriptors_here(const void *caller)
{
	unsigned char away = tw_fd_away;

	if (away && tw_fd_by_library(caller))
		tw_fd_away = 0;
	return away;
}

static void descriptors_keep(int fd)
{
	if (fd > STDERR_FILENO)
		tw_fd_keep(fd);
}

void tw_descriptors_open(const struct tw_boot *boot)
{
	tw_fd_open(boot->first_fd);
	descriptors_keep(boot->private_fd);
	for (unsigned k = 0; k <= TW_MAX_PROCESSORS; k++)
		for (unsigned i = 0; i < 2; i++)
			descriptors_keep(boot->handle_fd[k][i]);
	for (unsigned node = 0; node < TW_MAX_NODES; node++)
		descriptors_keep(boot->exported_fd[node]);
}

void tw_descriptors_alone(unsigned own)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	unsigned long soft = limit.rlim_cur;
	int first = tw_fd_plan(own, &soft);
	if (first < 0)
		return;
	limit.rlim_cur = soft;
	setrlimit(RLIMIT_NOFILE, &limit);
	tw_fd_open(first);
}

#if !TW_ASAN && !TW_TSAN

#define DESCRIPTORS_CALLER __builtin_return_address(0)
#define DESCRIPTORS_WRAP   __attribute__((weak, visibility("default")))

static struct {
	__typeof__(socket) *socket;
	__typeof__(accept) *accept;
	__typeof__(accept4) *accept4;
	__typeof__(epoll_create) *epoll_create;
	__typeof__(epoll_create1) *epoll_create1;
	__typeof__(eventfd) *eventfd;
	__typeof__(socketpair) *socketpair;
	__typeof__(pipe) *pipe;
	__typeof__(pipe2) *pipe2;
	__typeof__(close) *close;
	__typeof__(dup2) *dup2;
	__typeof__(dup3) *dup3;
} next;

/* Also a constructor: dlsym is not safe in signal handlers, where these functions may be called first. */
static void __attribute__((constructor)) descriptors_find(void)
{
#define X(name) next.name = (__typeof__(next.name))(uintptr_t)dlsym(RTLD_NEXT, #name);
	X(socket)
	X(accept)
	X(accept4) X(epoll_create) X(epoll_create1) X(eventfd) X(socketpair) X(pipe) X(pipe2) X(close) X(dup2) X(dup3)
#undef X
}

/* The C library's function of that name. */
#define DESCRIPTORS_NEXT(name) (next.name ? next.name : (descriptors_find(), next.name))

static int descriptors_changed(int fd, bool channel)
{
	if (tw_descriptors_changed && fd >= 0)
		tw_descriptors_changed(fd, channel);
	return fd;
}

#define DESCRIPTORS_OPENS(name, channel, parameters, arguments)                                                        \
	DESCRIPTORS_WRAP int name parameters                                                                           \
	{                                                                                                              \
		unsigned char away = tw_descriptors_here(DESCRIPTORS_CALLER);                                          \
		int opened = tw_descriptors_opened(DESCRIPTORS_NEXT(name) arguments, DESCRIPTORS_CALLER);              \
		tw_fd_away = away;                                                                                     \
		return descriptors_changed(opened, channel);                                                           \
	}
DESCRIPTORS_OPENS(socket, true, (int domain, int type, int protocol), (domain, type, protocol))
/* The kernel stores the caller's address. */
static __SOCKADDR_ARG descriptors_address(__SOCKADDR_ARG address, socklen_t *bytes)
{
	tw_touch(bytes, bytes ? sizeof(*bytes) : 0, true);
	tw_touch(address.__sockaddr__, bytes ? *bytes : 0, true);
	return address;
}
DESCRIPTORS_OPENS(accept, true, (int fd, __SOCKADDR_ARG address, socklen_t *bytes),
                  (fd, descriptors_address(address, bytes), bytes))
DESCRIPTORS_OPENS(accept4, true, (int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags),
                  (fd, descriptors_address(address, bytes), bytes, flags))
DESCRIPTORS_OPENS(epoll_create, false, (int size), (size))
DESCRIPTORS_OPENS(epoll_create1, false, (int flags), (flags))
DESCRIPTORS_OPENS(eventfd, true, (unsigned count, int flags), (count, flags))

#define DESCRIPTORS_PAIR(name, parameters, arguments)                                                                  \
	DESCRIPTORS_WRAP int name parameters                                                                           \
	{                                                                                                              \
		tw_touch(pair, 2 * sizeof(int), true);                                                                 \
		unsigned char away = tw_descriptors_here(DESCRIPTORS_CALLER);                                          \
		int status = DESCRIPTORS_NEXT(name) arguments;                                                         \
		status = status < 0 ? status : descriptors_opened_pair(pair, DESCRIPTORS_CALLER);                      \
		tw_fd_away = away;                                                                                     \
		return status;                                                                                         \
	}
static int descriptors_opened_pair(int pair[2], const void *caller)
{
	for (unsigned i = 0; i < 2; i++)
		pair[i] = descriptors_changed(tw_descriptors_opened(pair[i], caller), true);
	if (pair[0] >= 0 && pair[1] >= 0)
		return 0;
	int error = errno;
	for (unsigned i = 0; i < 2; i++)
		if (pair[i] >= 0)
			tw_fd_close(pair[i]);
	errno = error;
	return -1;
}
DESCRIPTORS_PAIR(socketpair, (int domain, int type, int protocol, int pair[2]), (domain, type, protocol, pair))
DESCRIPTORS_PAIR(pipe, (int pair[2]), (pair))
DESCRIPTORS_PAIR(pipe2, (int pair[2], int flags), (pair, flags))

/* Code other than Tweed's libraries can close only the program's descriptors. */
DESCRIPTORS_WRAP int close(int fd)
{
	if (tw_fd_ours(fd)) {
		if (!tw_fd_by_library(DESCRIPTORS_CALLER)) {
			errno = EBADF;
			return -1;
		}
		tw_fd_gone(fd);
	}
	if (tw_descriptors_order)
		tw_descriptors_order(fd, DESCRIPTORS_CALLER);
	descriptors_changed(fd, false);
	return DESCRIPTORS_NEXT(close)(fd);
}

/* Is @to one of Tweed's?  Then errno says EBADF. */
static bool descriptors_refused(int to)
{
	if (!tw_fd_ours(to))
		return false;
	errno = EBADF;
	return true;
}

DESCRIPTORS_WRAP int dup2(int from, int to)
{
	return descriptors_refused(to) ? -1 : descriptors_changed(DESCRIPTORS_NEXT(dup2)(from, to), false);
}

DESCRIPTORS_WRAP int dup3(int from, int to, int flags)
{
	return descriptors_refused(to) ? -1 : descriptors_changed(DESCRIPTORS_NEXT(dup3)(from, to, flags), false);
}

/* Closes the numbers below Tweed's, and those above. */
DESCRIPTORS_WRAP int close_range(unsigned first, unsigned last, int flags)
{
	unsigned ours = (unsigned)tw_fd_first(), above = ours + TW_FD_MOST;
	long status = 0;

	if (!ours || first > last)
		return (int)syscall(SYS_close_range, first, last, flags);
	if (first < ours)
		status = syscall(SYS_close_range, first, TW_MIN(last, ours - 1), flags);
	if (status == 0 && last >= above)
		status = syscall(SYS_close_range, TW_MAX(first, above), last, flags);
	return (int)status;
}

DESCRIPTORS_WRAP void closefrom(int first)
{
	close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0);
}

#endif
