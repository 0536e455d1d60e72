/* SPDX-License-Identifier: BSD-3-Clause */
/* signalfd.c - signalfd(), for a program of several processes.
 *
 * The kernel's shows what is pending for the process that reads or polls it, and wakes those that wait for it in that
 * process.  So the program gets a pipe's end instead.  A signal that the descriptor's set has, and no thread accepts,
 * is written there by its sender, or by the attendant of the process for which it is pending.  Standard signals that
 * are unread are not written again, as they would not be pending twice. */
#include "runtime/process/events/signalfd.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/signals.h"
#include "core/process/syscalls.h"
#include "runtime/process/events/accept.h"
#include "runtime/process/events/far.h"
#include "runtime/threads/support.h"

uint64_t signalfd_set(void)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < atomic_load(&host->signalfds); i++)
		set |= atomic_load(&host->signalfd[i].set);
	return set;
}

/* The last so many signals written are unread.  With the lock. */
static uint32_t signalfd_unread(const struct host_signalfd *s)
{
	int bytes = 0;

	syscall(SYS_ioctl, s->fd, FIONREAD, &bytes);
	return (uint32_t)bytes / sizeof(struct signalfd_siginfo);
}

/* Does the program have it no longer?  Then its entry is free.  With the lock. */
static bool signalfd_closed(struct host_signalfd *s)
{
	struct pollfd reader = {.fd = s->fd};

	if (!s->used)
		return true;
	if (syscall(SYS_poll, &reader, 1, 0) <= 0 || !(reader.revents & POLLERR))
		return false;
	atomic_store(&s->set, 0);
	s->used = false;
	tw_fd_close(s->fd);
	return true;
}

static bool signalfd_write(struct host_signalfd *s, const struct signalfd_siginfo *info)
{
	uint32_t unread = signalfd_unread(s);

	for (uint32_t i = 1; i <= unread && (int)info->ssi_signo < SIGRTMIN; i++)
		if (s->last[(s->written - i) % HOST_UNREAD] == info->ssi_signo)
			return true;
	if (unread == HOST_UNREAD || syscall(SYS_write, s->fd, info, sizeof(*info)) < 0)
		return false;
	s->last[s->written++ % HOST_UNREAD] = (uint8_t)info->ssi_signo;
	return true;
}

bool signalfd_put(const struct signalfd_siginfo *info)
{
	uint64_t bit = host_bit((int)info->ssi_signo);
	sigset_t before;
	bool done = false;

	if (!(signalfd_set() & bit))
		return false;
	host_take(&host->signalfd_lock, &before);
	for (uint32_t i = 0; i < atomic_load(&host->signalfds) && !done; i++) {
		struct host_signalfd *s = &host->signalfd[i];
		if ((atomic_load(&s->set) & bit) && !signalfd_closed(s))
			done = signalfd_write(s, info);
	}
	host_give(&host->signalfd_lock, &before);
	return done;
}

bool signalfd_send(const siginfo_t *sent)
{
	siginfo_t info = *sent;

	signals_received(&info);
	struct signalfd_siginfo s = {.ssi_signo = (uint32_t)info.si_signo,
	                             .ssi_code = info.si_code,
	                             .ssi_pid = (uint32_t)info.si_pid,
	                             .ssi_uid = info.si_uid};
	if (info.si_signo == SIGCHLD) {
		s.ssi_status = info.si_status;
	} else {
		s.ssi_int = info.si_value.sival_int;
		s.ssi_ptr = (uintptr_t)info.si_value.sival_ptr;
	}
	return signalfd_put(&s);
}

uint64_t signalfd_pending(void)
{
	sigset_t before;
	uint64_t set = 0;

	if (!signalfd_set())
		return 0;
	host_take(&host->signalfd_lock, &before);
	for (uint32_t i = 0; i < atomic_load(&host->signalfds); i++) {
		const struct host_signalfd *s = &host->signalfd[i];
		for (uint32_t k = s->used ? signalfd_unread(s) : 0; k; k--)
			set |= host_bit(s->last[(s->written - k) % HOST_UNREAD]);
	}
	host_give(&host->signalfd_lock, &before);
	return set;
}

/* The entry of @fd, or NULL.  With the lock. */
static struct host_signalfd *signalfd_find(int fd)
{
	struct stat of, other;

	if (fstat(fd, &of) < 0 || !S_ISFIFO(of.st_mode))
		return NULL;
	for (uint32_t i = 0; i < atomic_load(&host->signalfds); i++) {
		struct host_signalfd *s = &host->signalfd[i];
		if (s->used && fstat(s->fd, &other) == 0 && of.st_ino == other.st_ino)
			return s;
	}
	return NULL;
}

/* A free entry, or NULL.  With the lock. */
static struct host_signalfd *signalfd_free(void)
{
	uint32_t n = atomic_load(&host->signalfds);

	for (uint32_t i = 0; i < n; i++)
		if (signalfd_closed(&host->signalfd[i]))
			return &host->signalfd[i];
	return n < HOST_SIGNALFDS ? &host->signalfd[n] : NULL;
}

/* Returns the descriptor, or -1.  With the lock. */
static int signalfd_make(uint64_t set, int flags)
{
	struct host_signalfd *s = signalfd_free();
	int end[2];

	if (!s) {
		errno = EMFILE;
		return -1;
	}
	if (pipe2(end, flags) < 0)
		return -1;
	fcntl(end[1], F_SETFL, O_NONBLOCK);
	s->fd = tw_fd_keep(end[1]);
	if (s->fd < 0) {
		close(end[0]);
		return -1;
	}
	s->written = 0;
	s->used = true;
	atomic_store(&s->set, set);
	if (s == &host->signalfd[atomic_load(&host->signalfds)])
		atomic_fetch_add(&host->signalfds, 1);
	return end[0];
}

#pragma GCC visibility push(default)

TH_WEAK int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t copy, before;
	uint64_t bits;

	tw_signal_sieve(set, &copy);
	sigdelset(&copy, SIGKILL);
	sigdelset(&copy, SIGSTOP);
	memcpy(&bits, &copy, sizeof(bits));
	if (!host_shared() || !signals_thread || far_here())
		return ((__typeof__(signalfd) *)(uintptr_t)dlsym(RTLD_NEXT, "signalfd"))(fd, &copy, flags);
	if (flags & ~(SFD_CLOEXEC | SFD_NONBLOCK)) {
		errno = EINVAL;
		return -1;
	}
	th_stack_reserve();
	host_take(&host->signalfd_lock, &before);
	struct host_signalfd *s = fd < 0 ? NULL : signalfd_find(fd);
	if (s) {
		atomic_store(&s->set, bits);
	} else if (fd < 0) {
		fd = signalfd_make(bits, flags);
	} else {
		errno = fcntl(fd, F_GETFD) < 0 ? EBADF : EINVAL;
		fd = -1;
	}
	host_give(&host->signalfd_lock, &before);
	host_inform(true);
	return fd;
}

#pragma GCC visibility pop
