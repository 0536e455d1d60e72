/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_sleep.c - which descriptors a port sleeps on, and sleeping. */
#include "net/ofi/port/ofi_port.h"

#include <errno.h>
#include <poll.h>

#define SLEEP_MOST 32u /* descriptors of a queue without one of its own */

enum fi_wait_obj ofi_fds_object(const struct ofi_port *port)
{
	return ofi_quirk_polls(port) ? FI_WAIT_POLLFD : FI_WAIT_FD;
}

int ofi_fds_up(struct ofi_port *port)
{
	int error = ofi_quirk_polls(port) ? 0 : fi_control(&port->cq->fid, FI_GETWAIT, &port->fds.queue);

	if (!error)
		ofi_quirk_pair_hide(port);
	return error;
}

/* Has libfabric nothing to do before the thread may sleep? */
static bool sleep_may(struct ofi_port *port)
{
	struct fid *fid[2] = {&port->cq->fid, port->eq ? &port->eq->fid : NULL};

	return ofi_quirk_trywait(port, fid, port->eq ? 2 : 1) == 0;
}

/* The descriptors of the queue, to @fd, which has room for SLEEP_MOST; returns how many; 0: poll again. */
static unsigned sleep_queue(struct ofi_port *port, struct pollfd *fd)
{
	struct fi_wait_pollfd all = {.nfds = SLEEP_MOST, .fd = fd};

	if (port->fds.queue >= 0) {
		fd[0] = (struct pollfd){.fd = port->fds.queue, .events = POLLIN};
		return 1;
	}
	if (fi_control(&port->cq->fid, FI_GETWAIT, &all))
		return 0;
	fd[0].fd = -1; /* it is for threads that sleep while others connect */
	return (unsigned)all.nfds;
}

bool ofi_sleep(struct ofi_port *port, int also, uint64_t timeout_ns)
{
	struct pollfd fd[SLEEP_MOST + 3];
	struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
	                      .tv_nsec = (long)(timeout_ns % 1000000000u)};
	unsigned n;

	port->eq_polls = 0;
	if (port->next < port->completions || !sleep_may(port) || !(n = sleep_queue(port, fd)))
		return true;
	fd[n++] = (struct pollfd){.fd = port->fds.signal, .events = POLLIN};
	fd[n++] = (struct pollfd){.fd = port->fds.events, .events = POLLIN};
	fd[n++] = (struct pollfd){.fd = also, .events = POLLIN};
	int saved = errno; /* the program's */
	bool some = ppoll(fd, n, timeout_ns ? &ts : NULL, NULL) != 0;
	errno = saved;
	return some;
}
