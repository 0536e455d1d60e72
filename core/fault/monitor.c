/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.c - userfaultfd with faults served by a thread, so that the kernel's own accesses fault properly too.
 *
 * The faulting thread sleeps until the handler has returned: rights are changed without waking it, and a single wake
 * comes last. So handler and application do not overlap, although they are two threads. But a signal (a stop and a
 * continue, for instance) makes the faulting thread retry by itself, and then it may run while the handler ends. Hence
 * what both use is locked (tw_protocol_enter). */
#include "core/fault/uffd.h"

#include "core/base/base.h"
#include "core/fault/trap.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MON_PAGE ((size_t)1 << TW_SHADOW_SHIFT)

static void mon_wake(const struct tw_uffd *u, uintptr_t page)
{
	struct uffdio_range range = {page, MON_PAGE};
	if (tw_uffd_call(u->fd, UFFDIO_WAKE, &range))
		tw_fatal("the kernel refused to wake a faulting thread: %s", strerror(errno));
}

static void *mon_main(void *arg)
{
	struct tw_fault *fault = arg;
	struct tw_uffd *u = fault->priv;
	struct uffd_msg msg;

	tw_unwatched_begin(); /* the order between handler and application goes through the kernel */
	for (;;) {
		ssize_t n = read(u->fd, &msg, sizeof(msg));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n != (ssize_t)sizeof(msg))
			tw_fatal("the fault monitor cannot read faults: %s", n < 0 ? strerror(errno) : "short message");
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		uintptr_t page = (uintptr_t)msg.arg.pagefault.address & ~(MON_PAGE - 1);
		if (page == (uintptr_t)u->stop) {
			struct uffdio_zeropage zero = {.range = {page, MON_PAGE}};
			if (tw_uffd_call(u->fd, UFFDIO_ZEROPAGE, &zero))
				tw_fatal("the fault monitor cannot end: %s", strerror(errno));
			break;
		}
		tw_uffd_fault(fault, page - (uintptr_t)fault->app,
		              (msg.arg.pagefault.flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) != 0);
		mon_wake(u, page);
	}
	tw_unwatched_end();
	return NULL;
}

static int mon_probe(char *why, size_t why_bytes)
{
	return tw_uffd_probe(true, why, why_bytes);
}

/* Make the page whose fault ends the thread. It needs no right of its own. */
static int mon_stop_page(struct tw_uffd *u)
{
	u->stop = mmap(NULL, MON_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (u->stop == MAP_FAILED)
		return -errno;
	struct uffdio_register reg = {.range = {(uintptr_t)u->stop, MON_PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (ioctl(u->fd, UFFDIO_REGISTER, &reg) == 0)
		return 0;
	int error = -errno;
	munmap(u->stop, MON_PAGE);
	return error;
}

static int mon_open(struct tw_fault *fault)
{
	int error = tw_uffd_open(fault, true);
	if (error)
		return error;
	struct tw_uffd *u = fault->priv;
	error = mon_stop_page(u);
	if (!error) {
		sigset_t all, old;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		error = -pthread_create(&u->thread, NULL, mon_main, fault);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (!error)
			return 0;
		munmap(u->stop, MON_PAGE);
	}
	tw_log("the uffd-monitor fault backend cannot start its thread: %s", strerror(-error));
	tw_uffd_close(fault);
	return error;
}

static void mon_close(struct tw_fault *fault)
{
	struct tw_uffd *u = fault->priv;

	*(volatile char *)u->stop = 1; /* sleeps until the monitor has seen the fault */
	pthread_join(u->thread, NULL);
	munmap(u->stop, MON_PAGE);
	tw_uffd_close(fault);
}

/* A signal may make the faulting thread retry before the monitor has finished. */
static void mon_downgrade(const struct tw_fault_view *view, size_t offset, size_t bytes)
{
	tw_uffd_downgrade(view, offset, bytes, true);
}

const struct tw_fault_ops tw_fault_uffd_monitor = {
    .name = "uffd-monitor",
    .help = "userfaultfd, faults served by a thread of the processor; system calls on shared memory fault too",
    .caps = TW_FAULT_SYSCALLS | TW_FAULT_THREAD | TW_FAULT_REMOTE,
    .probe = mon_probe,
    .open = mon_open,
    .close = mon_close,
    .set = tw_uffd_set,
    .downgrade = mon_downgrade,
};
