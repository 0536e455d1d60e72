/* SPDX-License-Identifier: BSD-3-Clause */
/* channels.c - pipes, sockets and eventfds order the memory accesses of the threads that use them: a thread that has
 * received something sees what the sender had stored.  So each call that sends or receives takes one lock for a
 * moment (th_order): a protocol may order only the accesses of those that take the same lock.
 *
 * What a descriptor is, is asked of the kernel at its first use, and kept in the host's page until its number is opened
 * or closed again.  A stale entry for a channel costs a lock.  One for a file would need a number that the C library
 * itself has closed, and that a call not wrapped (fcntl) has given to a channel. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/process/descriptors.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/host.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

enum { CHANNEL_UNKNOWN, CHANNEL_NOT, CHANNEL_IS };

static bool channels_many_hosts;

static void channels_changed(int fd, bool channel)
{
	if (host && (unsigned)fd < HOST_FILES && fd > STDERR_FILENO)
		atomic_store_explicit(&host->file[fd], channel ? CHANNEL_IS : CHANNEL_UNKNOWN, memory_order_relaxed);
}

/* The kernel's answer.  Eventfds and the like have no type. */
static uint8_t channels_ask(int fd)
{
	struct stat st; /* on the stack, which is pinned */

	if (syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) < 0)
		return CHANNEL_UNKNOWN;
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || !(st.st_mode & S_IFMT) ? CHANNEL_IS : CHANNEL_NOT;
}

/* The standard ones lead out of the program.  Descriptors of other hosts are not known here. */
static bool channels_is(int fd)
{
	if (fd <= STDERR_FILENO || tw_fd_ours(fd))
		return false;
	if ((unsigned)fd >= HOST_FILES || channels_many_hosts)
		return true;
	uint8_t what = atomic_load_explicit(&host->file[fd], memory_order_relaxed);
	if (what == CHANNEL_UNKNOWN) {
		what = channels_ask(fd);
		atomic_store_explicit(&host->file[fd], what, memory_order_relaxed);
	}
	return what == CHANNEL_IS;
}

static void channels_order(int fd, const void *caller)
{
	int saved = errno;

	if (th_far && channels_is(fd) && th_heap_shares(caller))
		th_order();
	errno = saved;
}

void th_channels_open(bool many_hosts)
{
	channels_many_hosts = many_hosts;
	tw_descriptors_changed = channels_changed;
	tw_descriptors_order = channels_order;
}
