/* SPDX-License-Identifier: BSD-3-Clause */
/* uffd.h - the table of backends, and what the two userfaultfd backends share. */
#ifndef TW_CORE_FAULT_UFFD_H
#define TW_CORE_FAULT_UFFD_H

#include "core/base/base.h"
#include "tweed/driver/fault.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const struct tw_fault_ops tw_fault_uffd, tw_fault_uffd_monitor, tw_fault_mprotect;

#ifndef UFFDIO_CONTINUE_MODE_WP /* Linux 6.4 */
#define UFFDIO_CONTINUE_MODE_WP ((__u64)1 << 1)
#endif

struct tw_uffd {
	int fd;
	bool continue_wp; /* the kernel knows UFFDIO_CONTINUE_MODE_WP */
	uint8_t *shadow;  /* core/fault/trap.h; tw_fault.shadow when the caller gave one */
	pthread_t thread; /* the monitor's */
	char *stop;       /* a page whose fault ends the monitor */
};

/* tw_uffd_call - the system call ioctl: the function of that name is the program's, and touches what it is passed
 * (core/process/arguments.c). */
static inline int tw_uffd_call(int fd, unsigned long request, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

/* tw_uffd_probe - the hook. @kernel: faults of the kernel's own accesses are needed too. */
int tw_uffd_probe(bool kernel, char *why, size_t why_bytes);

/* tw_uffd_open - take all rights from @fault's application view; priv becomes a struct tw_uffd. @kernel: faults arrive
 * as messages, the kernel's too; otherwise as SIGBUS. Returns 0 or -errno, logged. */
int tw_uffd_open(struct tw_fault *fault, bool kernel);
void tw_uffd_close(struct tw_fault *fault);

/* tw_uffd_set - the hook. Wakes no thread. */
void tw_uffd_set(struct tw_fault *fault, size_t offset, size_t bytes, enum tw_rights from, enum tw_rights to);

/* tw_uffd_downgrade - the hook. @wait: the view's thread may run while a mapping of its is restored, so wait until that
 * is over. */
void tw_uffd_downgrade(const struct tw_fault_view *view, size_t offset, size_t bytes, bool wait);

/* tw_uffd_fault - resolve a fault: call the handler, or restore a mapping that the kernel dropped. @write: 1, 0, or -1
 * for unknown. [fault] */
void tw_uffd_fault(struct tw_fault *fault, size_t offset, int write);

#endif
