/* SPDX-License-Identifier: BSD-3-Clause */
/* uffd.c - access rights by userfaultfd. Mappings are never split, so any pattern of rights costs the same.
 *
 * The application view is one shared mapping, readable and writable, registered for missing, minor and write-protect
 * faults. A page without an entry in the page table has no right; one whose entry has the write-protect bit is
 * readable; one whose entry lacks it is writable:
 *
 *   from \ to   NONE               READ                       WRITE
 *   NONE        -                  CONTINUE, mode WP          CONTINUE
 *   READ        MADV_DONTNEED      -                          WRITEPROTECT, mode 0; runs: see below
 *   WRITE       MADV_DONTNEED      WRITEPROTECT, mode WP      -
 *
 * CONTINUE maps an existing page of the file; absent pages are first allocated through the protocol view.
 *
 * After WRITEPROTECT with mode 0, the first store to each page takes one more fault, inside the kernel, which sets the
 * entry's write bit. So a run of pages is unmapped and mapped again, writable. The moment between is unobservable: the
 * view's only thread is in its handler or in a call of this library, and a processor that takes write rights holds the
 * page's lock, as the caller does here.
 *
 * The kernel may drop an entry by itself (reclaim, migration of the file's page). The access then faults as if the page
 * had no right. The shadow shows that it has one, and the entry is restored without involving the protocol. The
 * write-protect bit survives as a marker, so a store to a readable page is never missed.
 *
 * The descriptor works in any process that has it, on the pages of the process that created it. Another processor takes
 * the write right from a view by changing the shadow first and UFFDIO_WRITEPROTECT second, so a trapped store finds the
 * shadow changed. Only restoring a lost mapping could undo this. It therefore marks the shadow while it works
 * (UFFD_RESTORING), and protects the page again if the mark was replaced meanwhile. */
#include "core/fault/uffd.h"

#include "core/base/fd.h"
#include "core/base/base.h"
#include "core/fault/trap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(UFFDIO, 0)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* In the shadow: the page is writable, and its mapping is being restored. */
#define UFFD_RESTORING ((uint8_t)(TW_WRITE + 1))

#define UFFD_REMAP    ((size_t)4) /* hardware pages from which on remapping is faster */
#define UFFD_PAGE     ((size_t)1 << TW_SHADOW_SHIFT)
#define UFFD_NEEDS    (UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM)
#define UFFD_REGISTER (UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP)

/* Returns a descriptor with the features needed, or -errno with the reason in @why. */
static int uffd_descriptor(bool kernel, char *why, size_t why_bytes)
{
	int flags = O_CLOEXEC | (kernel ? 0 : UFFD_USER_MODE_ONLY);
	int fd = (int)syscall(SYS_userfaultfd, flags);
	int error = fd < 0 ? errno : 0;

	if (fd < 0) {
		int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
		if (device >= 0) {
			fd = ioctl(device, USERFAULTFD_IOC_NEW, flags);
			close(device);
		}
	}
	if (fd < 0) {
		tw_format(why, why_bytes, "%s",
		          error == ENOSYS   ? "this kernel is built without userfaultfd"
		          : error == EINVAL ? "userfaultfd for user-mode faults needs Linux 5.11"
		          : error == EPERM && kernel
		              ? "the kernel's own faults need sysctl vm.unprivileged_userfaultfd=1, access to "
		                "/dev/userfaultfd, or CAP_SYS_PTRACE"
		          : error == EPERM ? "a security policy (seccomp?) forbids userfaultfd"
		                           : strerror(error));
		return -error;
	}
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_NEEDS | (kernel ? 0 : UFFD_FEATURE_SIGBUS)};
	if (ioctl(fd, UFFDIO_API, &api) == 0)
		return fd;
	close(fd);
	tw_format(why, why_bytes, "userfaultfd with write protection of shared memory needs Linux 5.19");
	return -ENOSYS;
}

/* Map a page of a trial file: does the kernel support it, and does CONTINUE support mode WP? Returns 0, or -errno with
 * @why. */
static int uffd_try(int fd, bool *continue_wp, char *why, size_t why_bytes)
{
	int memory = memfd_create("tweed-probe", MFD_CLOEXEC), error = 0;
	char *page = MAP_FAILED;

	if (memory < 0 || pwrite(memory, "", 1, UFFD_PAGE - 1) != 1 ||
	    (page = mmap(NULL, UFFD_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)) == MAP_FAILED) {
		error = -errno;
		tw_format(why, why_bytes, "no memory file for a trial: %s", strerror(-error));
		goto out;
	}
	struct uffdio_range range = {(uintptr_t)page, UFFD_PAGE};
	struct uffdio_register reg = {.range = range, .mode = UFFD_REGISTER};
	if (ioctl(fd, UFFDIO_REGISTER, &reg)) {
		error = -errno;
		tw_format(why, why_bytes, "the kernel refuses to register shared memory: %s", strerror(-error));
		goto out;
	}
	struct uffdio_continue cont = {.range = range, .mode = UFFDIO_CONTINUE_MODE_WP};
	*continue_wp = ioctl(fd, UFFDIO_CONTINUE, &cont) == 0;
	cont.mode = 0;
	if (!*continue_wp && ioctl(fd, UFFDIO_CONTINUE, &cont)) {
		error = -errno;
		tw_format(why, why_bytes, "the kernel refuses UFFDIO_CONTINUE: %s", strerror(-error));
	}
out:
	if (page != MAP_FAILED)
		munmap(page, UFFD_PAGE);
	if (memory >= 0)
		close(memory);
	return error;
}

int tw_uffd_probe(bool kernel, char *why, size_t why_bytes)
{
	bool continue_wp;
	if (sysconf(_SC_PAGESIZE) != (long)UFFD_PAGE) {
		tw_format(why, why_bytes, "the hardware page is not 4 KiB");
		return -ENOSYS;
	}
	int fd = uffd_descriptor(kernel, why, why_bytes);
	if (fd < 0)
		return fd;
	int error = uffd_try(fd, &continue_wp, why, why_bytes);
	close(fd);
	return error;
}

/* Allocate absent frames. */
static void uffd_populate(struct tw_fault *fault, size_t offset, size_t bytes)
{
	if (madvise(fault->view + offset, bytes, MADV_POPULATE_WRITE) == 0 || errno == EAGAIN || errno == EINTR)
		return;
	if (errno != EINVAL) /* else the kernel is older than Linux 5.14 */
		tw_fatal("no memory for %zu bytes of the shared space: %s", bytes, strerror(errno));
	for (size_t o = offset; o < offset + bytes; o += UFFD_PAGE)
		(void)*(volatile char *)(fault->view + o); /* a load suffices to allocate in a shared file */
}

static void uffd_protect(int fd, char *start, size_t bytes, bool protect)
{
	struct uffdio_writeprotect wp = {.range = {(uintptr_t)start, bytes},
	                                 .mode =
	                                     protect ? UFFDIO_WRITEPROTECT_MODE_WP : UFFDIO_WRITEPROTECT_MODE_DONTWAKE};

	while (tw_uffd_call(fd, UFFDIO_WRITEPROTECT, &wp)) {
		if (protect && (errno == ESRCH || errno == ENOENT))
			return; /* the other process has ended, or left the job */
		if (errno != EAGAIN && errno != EINTR)
			tw_fatal("the kernel refused a change of rights at %p (UFFDIO_WRITEPROTECT): %s", (void *)start,
			         strerror(errno));
	}
}

/* Map pages without an entry. Existing entries stay as they are. */
static void uffd_continue(struct tw_fault *fault, size_t offset, size_t bytes, bool protect)
{
	struct tw_uffd *u = fault->priv;
	size_t end = offset + bytes, start = offset;
	unsigned tries = 0;

	while (offset < end) {
		struct uffdio_continue c = {.range = {(uintptr_t)fault->app + offset, end - offset},
		                            .mode = UFFDIO_CONTINUE_MODE_DONTWAKE};
		if (protect && u->continue_wp)
			c.mode |= UFFDIO_CONTINUE_MODE_WP;
		if (tw_uffd_call(u->fd, UFFDIO_CONTINUE, &c) == 0)
			break;
		int error = errno;
		if (error == EAGAIN && c.mapped > 0) {
			offset += (size_t)c.mapped;
			tries = 0;
		} else if (error == EEXIST) {
			offset += UFFD_PAGE;
		} else if (error == EFAULT && tries++ < 1000) {
			uffd_populate(fault, offset, end - offset);
		} else if (error != EAGAIN && error != EINTR) {
			tw_fatal("the kernel refused a change of rights at %p (UFFDIO_CONTINUE): %s",
			         (void *)(fault->app + offset), strerror(error));
		}
	}
	if (protect && !u->continue_wp)
		uffd_protect(u->fd, fault->app + start, bytes, true);
}

static void uffd_unmap(struct tw_fault *fault, size_t offset, size_t bytes)
{
	if (madvise(fault->app + offset, bytes, MADV_DONTNEED))
		tw_fatal("the kernel refused a change of rights at %p (MADV_DONTNEED): %s",
		         (void *)(fault->app + offset), strerror(errno));
}

void tw_uffd_set(struct tw_fault *fault, size_t offset, size_t bytes, enum tw_rights from, enum tw_rights to)
{
	struct tw_uffd *u = fault->priv;

	/* The processor's thread may fault while another one takes its rights: then it must find that they are gone. */
	if (to < from)
		memset(u->shadow + (offset >> TW_SHADOW_SHIFT), to, bytes >> TW_SHADOW_SHIFT);
	if (to == TW_WRITE && from == TW_READ && bytes >= UFFD_REMAP * UFFD_PAGE) {
		uffd_unmap(fault, offset, bytes);
		from = TW_NONE;
	}
	if (to == TW_NONE) {
		uffd_unmap(fault, offset, bytes);
	} else if (from == TW_NONE) {
		uffd_continue(fault, offset, bytes, to == TW_READ);
	} else {
		uffd_protect(u->fd, fault->app + offset, bytes, to == TW_READ);
	}
	if (to > from)
		memset(u->shadow + (offset >> TW_SHADOW_SHIFT), to, bytes >> TW_SHADOW_SHIFT);
}

static bool uffd_replace(uint8_t *shadow, uint8_t from, uint8_t to)
{
	return __atomic_compare_exchange_n(shadow, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Take the write right from one hardware page's shadow. Returns whether it was there. */
static bool uffd_take(uint8_t *shadow, bool wait)
{
	for (;;) {
		uint8_t rights = __atomic_load_n(shadow, __ATOMIC_SEQ_CST);
		if (rights < TW_WRITE)
			return false;
		if (rights == UFFD_RESTORING && wait)
			sched_yield();
		else if (uffd_replace(shadow, rights, TW_READ))
			return true;
	}
}

void tw_uffd_downgrade(const struct tw_fault_view *view, size_t offset, size_t bytes, bool wait)
{
	size_t end = (offset + bytes) >> TW_SHADOW_SHIFT;

	for (size_t at = offset >> TW_SHADOW_SHIFT, n; at < end; at += n + 1) {
		for (n = 0; at + n < end && uffd_take(&view->shadow[at + n], wait); n++)
			;
		if (n)
			uffd_protect(view->handle, view->app + (at << TW_SHADOW_SHIFT), n << TW_SHADOW_SHIFT, true);
	}
}

/* Restore the entry that the kernel dropped, for the page at @offset, which has a right. */
static void uffd_restore(struct tw_fault *fault, size_t offset, uint8_t *shadow)
{
	int fd = ((struct tw_uffd *)fault->priv)->fd;

	if (!uffd_replace(shadow, TW_WRITE, UFFD_RESTORING)) {
		uffd_continue(fault, offset, UFFD_PAGE, true);
		if (__atomic_load_n(shadow, __ATOMIC_SEQ_CST) == TW_NONE)
			uffd_unmap(fault, offset, UFFD_PAGE);
		return;
	}
	uffd_continue(fault, offset, UFFD_PAGE, false);
	uffd_protect(fd, fault->app + offset, UFFD_PAGE, false);
	if (uffd_replace(shadow, UFFD_RESTORING, TW_WRITE))
		return;
	uffd_protect(fd, fault->app + offset, UFFD_PAGE, true);
	if (__atomic_load_n(shadow, __ATOMIC_SEQ_CST) == TW_NONE)
		uffd_unmap(fault, offset, UFFD_PAGE);
}

void tw_uffd_fault(struct tw_fault *fault, size_t offset, int write)
{
	struct tw_uffd *u = fault->priv;
	uint8_t *shadow = &u->shadow[offset >> TW_SHADOW_SHIFT];
	uint8_t rights = __atomic_load_n(shadow, __ATOMIC_SEQ_CST);

	if (write < 0)
		write = rights >= TW_READ;
	if ((write ? TW_WRITE : TW_READ) > rights) {
		fault->handler(fault->ctx, offset, write);
		return;
	}
	uffd_restore(fault, offset & ~(UFFD_PAGE - 1), shadow);
}

int tw_uffd_open(struct tw_fault *fault, bool kernel)
{
	const char *name = fault->ops->name;
	char why[256];
	struct tw_uffd *u = calloc(1, sizeof(*u));
	uint8_t *shadow = fault->shadow ? fault->shadow : tw_shadow_create(fault->bytes);
	int error = -ENOMEM;

	if (!u || !shadow) {
		tw_log("no memory for the %s fault backend", name);
		goto free;
	}
	u->shadow = shadow;
	u->fd = error = uffd_descriptor(kernel, why, sizeof(why));
	if (u->fd >= 0 && (u->fd = tw_fd_keep(u->fd)) < 0) {
		error = -errno;
		tw_format(why, sizeof(why), "%s", strerror(errno));
	}
	if (u->fd < 0) {
		tw_log("the %s fault backend cannot be used: %s", name, why);
		goto free;
	}
	error = uffd_try(u->fd, &u->continue_wp, why, sizeof(why));
	if (error) {
		tw_log("the %s fault backend cannot be used: %s", name, why);
		goto close;
	}
	struct uffdio_register reg = {.range = {(uintptr_t)fault->app, fault->bytes}, .mode = UFFD_REGISTER};
	/* A forked child would inherit the memory but not the trap, so it gets neither.  The program may have
	 * locked memory before the job. */
	if (munlock(fault->app, fault->bytes) || madvise(fault->app, fault->bytes, MADV_DONTNEED) ||
	    madvise(fault->app, fault->bytes, MADV_DONTFORK) || ioctl(u->fd, UFFDIO_REGISTER, &reg)) {
		error = -errno;
		tw_log("the %s fault backend cannot take over the shared space: %s", name, strerror(-error));
		goto close;
	}
	fault->priv = u;
	fault->handle = u->fd;
	return 0;
close:
	tw_fd_close(u->fd);
free:
	if (shadow && !fault->shadow)
		tw_shadow_destroy(shadow, fault->bytes);
	free(u);
	return error;
}

void tw_uffd_close(struct tw_fault *fault)
{
	struct tw_uffd *u = fault->priv;

	/* The view becomes an ordinary mapping, though others may still have the descriptor. */
	ioctl(u->fd, UFFDIO_UNREGISTER, &(struct uffdio_range){(uintptr_t)fault->app, fault->bytes});
	tw_fd_close(u->fd);
	if (!fault->shadow)
		tw_shadow_destroy(u->shadow, fault->bytes);
	fault->handle = -1;
	free(u);
	fault->priv = NULL;
}

static bool uffd_resolve(struct tw_fault *fault, size_t offset, int write)
{
	tw_uffd_fault(fault, offset, write);
	return true;
}

static int uffd_probe(char *why, size_t why_bytes)
{
	return tw_uffd_probe(false, why, why_bytes);
}

static int uffd_open(struct tw_fault *fault)
{
	int error = tw_uffd_open(fault, false);
	if (error)
		return error;
	error = tw_trap_open(fault, SIGBUS, BUS_ADRERR, uffd_resolve);
	if (error)
		tw_uffd_close(fault);
	return error;
}

static void uffd_close(struct tw_fault *fault)
{
	tw_trap_close();
	tw_uffd_close(fault);
}

/* While a mapping is restored, the only thread that uses the view is in its fault handler. */
static void uffd_downgrade(const struct tw_fault_view *view, size_t offset, size_t bytes)
{
	tw_uffd_downgrade(view, offset, bytes, false);
}

const struct tw_fault_ops tw_fault_uffd = {
    .name = "uffd",
    .help = "userfaultfd, user-mode faults delivered as SIGBUS",
    .caps = TW_FAULT_REMOTE | TW_FAULT_STEP,
    .probe = uffd_probe,
    .open = uffd_open,
    .close = uffd_close,
    .set = tw_uffd_set,
    .downgrade = uffd_downgrade,
};
