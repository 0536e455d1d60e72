/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_sleep.c - how a port is looked at, and slept on.
 *
 * A look of libfabric's provider tcp is a system call for all connections: an epoll, which costs the same for any number of them, or a
 * poll, which costs 60 ns for each.  But what arrives costs more by epoll: on loopback a round trip takes 1.1 times as long.  So ports with
 * few connections poll.
 *
 * For each completion the provider writes a byte to a pair of sockets of its own, and reads it at the next look: two system calls, a fifth of
 * a round trip.  It is for who sleeps on the descriptors.  As only a port's user completes anything, the pair is taken out of what is looked
 * at, and put back where a sleeper asks libfabric whether it may sleep: that takes the byte away, and what completes behind that
 * writes it again. */
#include "net/ofi/port/ofi_port.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/fd.h"

#define WAIT_FEW  10u /* peers, at most, of a port that polls */
#define WAIT_MOST 32u /* descriptors of a queue that polls */

/* Is libfabric's tcp the provider that all this is about?  Later ones write no byte. */
static bool wait_signals(const struct ofi_port *port)
{
	return port->connections && ofi_before(FI_VERSION(1, 18));
}

static bool wait_is_pair(int fd)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &bytes) == 0 && address.ss_family == AF_UNIX;
}

enum fi_wait_obj ofi_fds_object(const struct ofi_port *port)
{
	return wait_signals(port) && port->connections <= WAIT_FEW ? FI_WAIT_POLLFD : FI_WAIT_FD;
}

/* ---- taking the pair out ---- */

/* It is all that the epoll has yet.  Returns it, or -1. */
static int wait_take_out(int queue)
{
	char name[64], line[256];
	int fd = -1, found = 0;

	tw_format(name, sizeof(name), "/proc/self/fdinfo/%d", queue);
	FILE *info = fopen(name, "re");
	while (info && fgets(line, sizeof(line), info))
		found += sscanf(line, "tfd: %d", &fd) == 1;
	if (info)
		fclose(info);
	return found == 1 && wait_is_pair(fd) && epoll_ctl(queue, EPOLL_CTL_DEL, fd, NULL) == 0 ? fd : -1;
}

/* Another descriptor takes its number: the first is libfabric's own, which it skips, the second the pair.  Where it is not so, all
 * stays as it is, and is slower. */
static void wait_hide(struct ofi_port *port)
{
	struct pollfd fd[2];
	struct fi_wait_pollfd all = {.nfds = 2, .fd = fd};
	struct ofi_fds *fds = &port->fds;

	fi_cq_read(port->cq, port->completion, 1); /* only now they are in the list */
	if (fi_control(&port->cq->fid, FI_GETWAIT, &all) || all.nfds != 2 || !wait_is_pair(fd[1].fd))
		return;
	fds->signal = tw_fd_keep(fcntl(fd[1].fd, F_DUPFD_CLOEXEC, 0));
	fds->never = tw_fd_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fds->signal >= 0 && fds->never >= 0 && tw_fd_onto(fds->never, fd[1].fd) >= 0)
		fds->hidden = fd[1].fd;
}

int ofi_fds_up(struct ofi_port *port)
{
	if (ofi_fds_object(port) == FI_WAIT_POLLFD) {
		wait_hide(port);
		return 0;
	}
	int error = fi_control(&port->cq->fid, FI_GETWAIT, &port->fds.queue);
	if (!error && wait_signals(port))
		port->fds.signal = wait_take_out(port->fds.queue);
	return error;
}

void ofi_fds_down(struct ofi_fds *fds)
{
	if (fds->queue < 0 && fds->signal >= 0) /* else it is libfabric's */
		tw_fd_close(fds->signal);
	if (fds->never >= 0)
		tw_fd_close(fds->never);
}

/* ---- sleeping ---- */

/* Has libfabric nothing to do before we may sleep? */
static bool wait_may(struct ofi_port *port)
{
	struct fid *fid[2] = {&port->cq->fid, port->eq ? &port->eq->fid : NULL};
	const struct ofi_fds *fds = &port->fds;

	if (fds->hidden < 0)
		return fi_trywait(port->fabric, fid, port->eq ? 2 : 1) == 0;
	tw_fd_raise();
	tw_fd_onto(fds->signal, fds->hidden);
	bool may = fi_trywait(port->fabric, fid, port->eq ? 2 : 1) == 0;
	tw_fd_onto(fds->never, fds->hidden);
	tw_fd_lower();
	return may;
}

/* What the queue is waited for by, at @fd of WAIT_MOST; 0: look again. */
static unsigned wait_queue(struct ofi_port *port, struct pollfd *fd)
{
	struct fi_wait_pollfd all = {.nfds = WAIT_MOST, .fd = fd};

	if (port->fds.queue >= 0) {
		fd[0] = (struct pollfd){.fd = port->fds.queue, .events = POLLIN};
		return 1;
	}
	if (fi_control(&port->cq->fid, FI_GETWAIT, &all))
		return 0;
	fd[0].fd = -1; /* is for threads that sleep while others connect */
	return (unsigned)all.nfds;
}

bool ofi_sleep(struct ofi_port *port, int also, uint64_t timeout_ns)
{
	struct pollfd fd[WAIT_MOST + 3];
	struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
	                      .tv_nsec = (long)(timeout_ns % 1000000000u)};
	unsigned n;

	port->eq_polls = 0;
	if (port->next < port->completions || !wait_may(port) || !(n = wait_queue(port, fd)))
		return true;
	fd[n++] = (struct pollfd){.fd = port->fds.signal, .events = POLLIN};
	fd[n++] = (struct pollfd){.fd = port->fds.events, .events = POLLIN};
	fd[n++] = (struct pollfd){.fd = also, .events = POLLIN};
	return ppoll(fd, n, timeout_ns ? &ts : NULL, NULL) != 0;
}
