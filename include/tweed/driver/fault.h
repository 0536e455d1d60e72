/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.h - how a processor's accesses are trapped: the interface of a fault backend (TWEED_FAULT).
 *
 * The node's frames are mapped twice by every processor.  A backend controls the application view, which is at the
 * same address everywhere.  The protocol view is always readable and writable and belongs to the core.
 *
 * Context: set() is called from fault handlers and from the application thread, never for one page from both at
 * once.  Fault handlers run with all signals blocked, on an alternate stack, or in the monitor's thread. */
#ifndef TWEED_DRIVER_FAULT_H
#define TWEED_DRIVER_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tw_rights { TW_NONE, TW_READ, TW_WRITE };

enum tw_fault_cap {
	TW_FAULT_SYSCALLS = 1u << 0, /* the kernel's own accesses fault properly: read(2) into shared memory works */
	TW_FAULT_THREAD = 1u << 1,   /* faults are handled by another thread than the faulting one */
	TW_FAULT_REMOTE = 1u << 2,   /* tw_fault.handle lets other processes call downgrade() */
	TW_FAULT_STEP = 1u << 3,     /* the handler may set tw_fault.step */
};

/* What a process needs to take rights from a view. */
struct tw_fault_view {
	char *app;       /* as its processor has it mapped */
	uint8_t *shadow; /* as tw_fault.shadow, in memory that the caller shares with the view's processor */
	int handle;      /* the caller's copy of tw_fault.handle; -1 in the view's own process */
};

struct tw_fault {
	const struct tw_fault_ops *ops;
	char *app;    /* application view: mapped readable and writable by the caller before open() */
	char *view;   /* protocol view of the same frames */
	size_t bytes; /* of each */
	/* handler - resolve a fault at app + @offset.  @write: the access was a store.  Returns when the access may be
	 * retried.  Called with the fault context's rules. */
	void (*handler)(void *ctx, size_t offset, bool write);
	void *ctx;
	/* step - set by handler(): call stepped() when the faulting instruction is done, and clear it.  The
	 * instruction may fault on other pages before.  With TW_FAULT_STEP. */
	bool step;
	void (*stepped)(void *ctx);
	/* shadow - [bytes / 4096] for the backend, zero at open(): the rights of each hardware page.  NULL: it makes
	 * its own, and downgrade() is not called. */
	uint8_t *shadow;
	int handle;   /* set by open(): a descriptor to be passed to other processes, or -1 without TW_FAULT_REMOTE */
	uintptr_t ip; /* within handler(): the instruction that faulted, 0 when not known */
	void *priv;   /* the backend's */
};

struct tw_fault_ops {
	const char *name, *help;
	unsigned caps; /* enum tw_fault_cap */
	/* probe - does this host's kernel offer it to this user?  Returns 0, or -errno with one clause in @why. */
	int (*probe)(char *why, size_t why_bytes);
	/* open - take over the application view: every page then has no rights.  Returns 0 or -errno, logged. */
	int (*open)(struct tw_fault *fault);
	void (*close)(struct tw_fault *fault);
	/* set - change the rights of [offset, offset + bytes), all of which have @from now, to @to, from != to.
	 * Ends the job with a sentence when the kernel refuses (out of mappings, out of memory). */
	void (*set)(struct tw_fault *fault, size_t offset, size_t bytes, enum tw_rights from, enum tw_rights to);
	/* downgrade - on return no store through the view to [offset, offset + bytes) succeeds: stores trap.
	 * Writable pages become readable, others stay as they are.  A view that has ended has no rights.  Called in
	 * the view's own process, also in a signal handler that interrupts set() or beside a thread in it; with
	 * TW_FAULT_REMOTE in any other process.  Never beside set() of the same pages.  Ends the job with a sentence
	 * when the kernel refuses. */
	void (*downgrade)(const struct tw_fault_view *view, size_t offset, size_t bytes);
};

/* tw_fault_find - the backend of that name; "auto" or NULL: the fastest whose probe succeeds.  Returns NULL when
 * unknown.  tw_fault_list - all, fastest first, NULL-ended. */
const struct tw_fault_ops *tw_fault_find(const char *name);
const struct tw_fault_ops *const *tw_fault_list(void);

#endif
