/* SPDX-License-Identifier: BSD-3-Clause */
#include "rig.h"

#include "core/base/base.h"
#include "core/fault/uffd.h"
#include "core/memory/regions.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned passed, failed;
uint8_t *rig_shadow;

void result(const struct rig *rig, const char *name, const char *why)
{
	printf("%-4s %-12s %3zuK%s %s%s%s\n", why ? "FAIL" : "ok", rig->fault.ops->name, rig->unit >> 10,
	       rig->huge ? " huge" : "     ", name, why ? ": " : "", why ? why : "");
	fflush(stdout);
	*(why ? &failed : &passed) += 1;
}

/* Every signal must be blocked, so that no application handler runs inside the protocol. */
static bool rig_all_blocked(void)
{
	static const int some[] = {SIGHUP, SIGINT, SIGALRM, SIGUSR1, SIGCHLD, SIGSEGV, SIGBUS};
	sigset_t now;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		if (sigismember(&now, some[i]) != 1)
			return false;
	return true;
}

void rig_set(struct rig *rig, size_t first, size_t count, enum tw_rights to)
{
	bool locks = rig->fault.ops->caps & TW_FAULT_THREAD;

	if (locks)
		pthread_mutex_lock(&rig->changes);
	enum tw_rights from = rig->rights[first];
	if (from != to)
		rig->fault.ops->set(&rig->fault, first * rig->unit, count * rig->unit, from, to);
	for (size_t i = first; i < first + count; i++)
		rig->rights[i] = to;
	if (locks)
		pthread_mutex_unlock(&rig->changes);
}

static void rig_handler(void *ctx, size_t offset, bool write)
{
	struct rig *rig = ctx;
	size_t unit = offset / rig->unit;

	if (rig->stack) {
		volatile char *deep = __builtin_alloca(rig->stack);
		for (unsigned i = 0; i < rig->stack; i += 512)
			deep[i] = 1;
	}
	rig->write = write;
	rig->masked = rig_all_blocked();
	rig->faults++;
	if (rig->counted)
		++*rig->counted;
	rig->traps[unit]++;
	if (write && rig->scarce && rig->writable++ >= rig->scarce) {
		while (rig->rights[rig->oldest] != TW_WRITE)
			rig->oldest = (rig->oldest + 1) % rig->units;
		rig_set(rig, rig->oldest, 1, TW_READ);
		rig->writable--;
	}
	rig_set(rig, unit, 1, write ? TW_WRITE : TW_READ);
}

void rig_open(struct rig *rig, const struct tw_fault_ops *ops, size_t unit, size_t units, bool huge)
{
	size_t bytes = unit * units;

	memset(rig, 0, sizeof(*rig));
	rig->unit = unit;
	rig->units = units;
	rig->huge = huge;
	rig->rights = calloc(units, sizeof(*rig->rights));
	rig->traps = calloc(units, sizeof(*rig->traps));
	pthread_mutex_init(&rig->changes, NULL);
	rig->fd = memfd_create("fault_test", MFD_CLOEXEC);
	if (rig->fd < 0 || ftruncate(rig->fd, (off_t)bytes))
		abort();
	char *app =
	    mmap((void *)TW_SPACE_BASE, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, rig->fd, 0);
	/* The view is aligned to a huge page, or there would be none. */
	char *hole = mmap(NULL, bytes + TW_HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *view = (char *)TW_ALIGN_UP((uintptr_t)hole, TW_HUGE_BYTES);
	munmap(hole, bytes + TW_HUGE_BYTES);
	view = mmap(view, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, rig->fd, 0);
	if (app != (char *)TW_SPACE_BASE || view == MAP_FAILED)
		abort();
	if (huge)
		madvise(view, bytes, MADV_HUGEPAGE);
	if (mlock(app, 1)) /* as a library does before the job */
		abort();
	rig->fault = (struct tw_fault){.ops = ops,
	                               .app = app,
	                               .view = view,
	                               .bytes = bytes,
	                               .handler = rig_handler,
	                               .ctx = rig,
	                               .shadow = rig_shadow};
	if (ops->open(&rig->fault)) {
		printf("cannot open %s\n", ops->name);
		exit(1);
	}
}

void rig_close(struct rig *rig)
{
	rig->fault.ops->close(&rig->fault);
	munmap(rig->fault.app, rig->fault.bytes);
	munmap(rig->fault.view, rig->fault.bytes);
	close(rig->fd);
	free(rig->rights);
	free(rig->traps);
}

void rig_absent(struct rig *rig)
{
	for (size_t i = 0; i < rig->units; i++)
		rig_set(rig, i, 1, TW_NONE);
	if (fallocate(rig->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)rig->fault.bytes))
		abort();
}

static const char *rig_trapped(struct rig *rig, size_t offset, bool write, unsigned before, enum tw_rights had)
{
	unsigned traps = rig->traps[offset / rig->unit] - before, expected = had < (write ? TW_WRITE : TW_READ);

	if (traps != expected)
		return traps > expected ? "trapped without need" : "did not trap";
	if (traps && rig->write != write)
		return "trapped with a wrong kind of access";
	if (traps && !rig->masked)
		return "the handler ran with signals unblocked";
	return NULL;
}

const char *rig_load(struct rig *rig, size_t offset, unsigned char expected)
{
	enum tw_rights had = rig->rights[offset / rig->unit];
	unsigned before = rig->traps[offset / rig->unit];
	unsigned char value = *(volatile unsigned char *)(rig->fault.app + offset);
	const char *why = rig_trapped(rig, offset, false, before, had);
	return why ? why : value != expected ? "read a wrong value" : NULL;
}

const char *rig_store(struct rig *rig, size_t offset, unsigned char value)
{
	enum tw_rights had = rig->rights[offset / rig->unit];
	unsigned before = rig->traps[offset / rig->unit];
	*(volatile unsigned char *)(rig->fault.app + offset) = value;
	const char *why = rig_trapped(rig, offset, true, before, had);
	return why                                                              ? why
	       : *(volatile unsigned char *)(rig->fault.view + offset) != value ? "the write is not in the frame"
	                                                                        : NULL;
}
