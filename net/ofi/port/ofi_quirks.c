/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_quirks.c - what particular versions of libfabric need, each with the version that ends it. */
#include "net/ofi/port/ofi_port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/fd.h"

/* ---- the pair of sockets: before 1.18
 *
 * For each completion the provider tcp writes a byte to a pair of sockets of its own, and reads it at the next poll:
 * two system calls, a fifth of a round trip.  The byte is for threads that sleep on the descriptors.  Completions
 * occur only in calls of the port's one thread, so the pair is taken out of what a poll looks at, and put back while
 * fi_trywait decides whether the thread may sleep: fi_trywait takes the byte away, and later completions write it
 * again. */

#define PAIR_FEW 10u /* connections, at most, of a port that polls */

static bool pair_exists(const struct ofi_port *port)
{
	return port->connections && ofi_calls.fi_version() < FI_VERSION(1, 18);
}

static bool pair_is(int fd)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &bytes) == 0 && address.ss_family == AF_UNIX;
}

/* A poll of the provider is one system call for all connections.  An epoll costs the same for any number of them, a
 * poll(2) 60 ns for each; but arrivals cost more by epoll: on loopback a round trip takes 1.1 times as long. */
bool ofi_quirk_polls(const struct ofi_port *port)
{
	return pair_exists(port) && port->connections <= PAIR_FEW;
}

/* The pair is all that the new epoll has.  Takes it out, and returns it; -1: it stays. */
static int pair_take_out(int queue)
{
	char name[64], line[256];
	int fd = -1, found = 0;

	tw_format(name, sizeof(name), "/proc/self/fdinfo/%d", queue);
	FILE *info = fopen(name, "re");
	while (info && fgets(line, sizeof(line), info))
		found += sscanf(line, "tfd: %d", &fd) == 1;
	if (info)
		fclose(info);
	return found == 1 && pair_is(fd) && epoll_ctl(queue, EPOLL_CTL_DEL, fd, NULL) == 0 ? fd : -1;
}

/* A queue that polls has a list of descriptors: the first is libfabric's own, which it skips, the second the pair.
 * Another descriptor takes the pair's number.  If the list is different, everything stays as it is, and is slower. */
static void pair_replace(struct ofi_port *port)
{
	struct pollfd fd[2];
	struct fi_wait_pollfd all = {.nfds = 2, .fd = fd};
	struct ofi_fds *fds = &port->fds;

	fi_cq_read(port->cq, port->completion, 1); /* brings the descriptors into the list */
	if (fi_control(&port->cq->fid, FI_GETWAIT, &all) || all.nfds != 2 || !pair_is(fd[1].fd))
		return;
	fds->signal = tw_fd_keep(fcntl(fd[1].fd, F_DUPFD_CLOEXEC, 0));
	fds->never = tw_fd_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fds->signal >= 0 && fds->never >= 0 && tw_fd_onto(fds->never, fd[1].fd) >= 0)
		fds->hidden = fd[1].fd;
}

void ofi_quirk_pair_hide(struct ofi_port *port)
{
	if (port->fds.queue < 0)
		pair_replace(port);
	else if (pair_exists(port))
		port->fds.signal = pair_take_out(port->fds.queue);
}

int ofi_quirk_trywait(struct ofi_port *port, struct fid **fid, int count)
{
	const struct ofi_fds *fds = &port->fds;

	if (fds->hidden < 0)
		return fi_trywait(port->fabric, fid, count);
	tw_fd_raise();
	tw_fd_onto(fds->signal, fds->hidden);
	int error = fi_trywait(port->fabric, fid, count);
	tw_fd_onto(fds->never, fds->hidden);
	tw_fd_lower();
	return error;
}

void ofi_quirk_pair_close(struct ofi_fds *fds)
{
	if (fds->queue < 0 && fds->signal >= 0) /* else it is libfabric's */
		tw_fd_close(fds->signal);
	if (fds->never >= 0)
		tw_fd_close(fds->never);
}

/* ---- requests for connections that arrive in part: all versions up to 2.6
 *
 * The provider tcp reads a request as if it came whole, because an endpoint sends it as one segment.  A stranger may
 * send a part of it and nothing more.  A time limit of the listening socket is inherited by accepted ones, and ends
 * such a read; once a connection is made, reads do not wait, and the limit has no effect. */

#define PART_US 1000 /* to wait for the rest of a request */

void ofi_quirk_limit(const struct tw_net_address *address)
{
	DIR *all = opendir("/proc/self/fd");
	struct dirent *entry;

	while (all && (entry = readdir(all))) {
		struct sockaddr_storage name;
		socklen_t bytes = sizeof(name), int_bytes = sizeof(int);
		int fd = atoi(entry->d_name), listens = 0;

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_bytes) == 0 && listens &&
		    getsockname(fd, (struct sockaddr *)&name, &bytes) == 0 && bytes == address->len &&
		    memcmp(&name, address->bytes, bytes) == 0)
			setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = PART_US},
			           sizeof(struct timeval));
	}
	if (all)
		closedir(all);
}

/* ---- connections that end before they request anything: before 2.2
 *
 * The provider tcp takes errno as the reason, though none was set.  If EAGAIN is left over there, it keeps the
 * connection for ever, always readable. */

ssize_t ofi_quirk_eq_read(struct fid_eq *eq, uint32_t *event, void *data, size_t bytes)
{
	errno = 0;
	return fi_eq_read(eq, event, data, bytes, 0);
}
