/* SPDX-License-Identifier: BSD-3-Clause */
/* mprotect.c - access rights by mprotect(2). Works everywhere, but each run of pages with equal rights is a kernel
 * mapping, and the number of mappings is limited. */
#include "core/fault/trap.h"
#include "core/fault/uffd.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const int mp_prot[] = {[TW_NONE] = PROT_NONE, [TW_READ] = PROT_READ, [TW_WRITE] = PROT_READ | PROT_WRITE};

struct mp {
	uint8_t *shadow; /* core/fault/trap.h; tw_fault.shadow when the caller gave one */
};

static long mp_limit; /* vm.max_map_count */

static void mp_change(char *app, uint8_t *shadow, size_t offset, size_t bytes, enum tw_rights to)
{
	if (mprotect(app + offset, bytes, mp_prot[to])) {
		if (errno == ENOMEM)
			tw_fatal("the mprotect fault backend ran out of kernel mappings (vm.max_map_count = %ld): use "
			         "TWEED_FAULT=uffd, a larger TWEED_PAGE_SIZE, or raise the limit with sysctl",
			         mp_limit);
		tw_fatal("the kernel refused a change of rights at %p (mprotect): %s", (void *)(app + offset),
		         strerror(errno));
	}
	memset(shadow + (offset >> TW_SHADOW_SHIFT), to, bytes >> TW_SHADOW_SHIFT);
}

static void mp_set(struct tw_fault *fault, size_t offset, size_t bytes, enum tw_rights from, enum tw_rights to)
{
	(void)from;
	mp_change(fault->app, ((struct mp *)fault->priv)->shadow, offset, bytes, to);
}

static void mp_downgrade(const struct tw_fault_view *view, size_t offset, size_t bytes)
{
	size_t end = (offset + bytes) >> TW_SHADOW_SHIFT;

	for (size_t at = offset >> TW_SHADOW_SHIFT, n; at < end; at += n + 1) {
		for (n = 0; at + n < end && view->shadow[at + n] == TW_WRITE; n++)
			;
		if (n)
			mp_change(view->app, view->shadow, at << TW_SHADOW_SHIFT, n << TW_SHADOW_SHIFT, TW_READ);
	}
}

static bool mp_resolve(struct tw_fault *fault, size_t offset, int write)
{
	const struct mp *mp = fault->priv;
	enum tw_rights rights = mp->shadow[offset >> TW_SHADOW_SHIFT];

	if (write < 0)
		write = rights >= TW_READ;
	if ((write ? TW_WRITE : TW_READ) > rights)
		fault->handler(fault->ctx, offset, write);
	return true;
}

static int mp_probe(char *why, size_t why_bytes)
{
	(void)why;
	(void)why_bytes;
	return 0;
}

static long mp_read_limit(void)
{
	char text[32] = "";
	int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof(text) - 1);
		(void)n;
		close(fd);
	}
	return atol(text);
}

static int mp_open(struct tw_fault *fault)
{
	struct mp *mp = calloc(1, sizeof(*mp));
	uint8_t *shadow = fault->shadow ? fault->shadow : tw_shadow_create(fault->bytes);
	int error = -ENOMEM;

	if (!mp || !shadow) {
		tw_log("no memory for the mprotect fault backend");
		goto free;
	}
	mp->shadow = shadow;
	mp_limit = mp_read_limit();
	/* A forked child would be mistaken for this processor, so it gets no shared memory. */
	if (mprotect(fault->app, fault->bytes, PROT_NONE) || madvise(fault->app, fault->bytes, MADV_DONTFORK)) {
		error = -errno;
		tw_log("the mprotect fault backend cannot take over the shared space: %s", strerror(-error));
		goto free;
	}
	fault->priv = mp;
	fault->handle = -1;
	error = tw_trap_open(fault, SIGSEGV, SEGV_ACCERR, mp_resolve);
	if (!error)
		return 0;
	mprotect(fault->app, fault->bytes, PROT_READ | PROT_WRITE);
	fault->priv = NULL;
free:
	if (shadow && !fault->shadow)
		tw_shadow_destroy(shadow, fault->bytes);
	free(mp);
	return error;
}

static void mp_close(struct tw_fault *fault)
{
	struct mp *mp = fault->priv;

	mprotect(fault->app, fault->bytes, PROT_READ | PROT_WRITE);
	tw_trap_close();
	if (!fault->shadow)
		tw_shadow_destroy(mp->shadow, fault->bytes);
	free(mp);
	fault->priv = NULL;
}

const struct tw_fault_ops tw_fault_mprotect = {
    .name = "mprotect",
    .help = "page rights by mprotect(2), faults delivered as SIGSEGV",
    .caps = TW_FAULT_STEP,
    .probe = mp_probe,
    .open = mp_open,
    .close = mp_close,
    .set = mp_set,
    .downgrade = mp_downgrade,
};
