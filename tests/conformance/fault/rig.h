/* SPDX-License-Identifier: BSD-3-Clause */
/* rig.h - a fault backend under test: two views of a memory file, a handler that grants what was asked, and an oracle.
 * */
#ifndef TW_TEST_FAULT_RIG_H
#define TW_TEST_FAULT_RIG_H

#include "core/base/base.h"
#include "tweed/driver/fault.h"

#include <pthread.h>
#include <stdatomic.h>

/* Sanitizers turn deadly signals into exits, block signals in handlers (TSAN), and replace core/process/syscalls.c. */
#define SANITIZED (TW_ASAN || TW_TSAN)

struct rig {
	struct tw_fault fault;
	int fd;
	size_t unit, units;
	bool huge;
	_Atomic enum tw_rights *rights; /* [units] what the oracle believes */
	pthread_mutex_t
	    changes; /* of rights, where another thread handles faults: one that a signal ended may be handled late */
	/* by the handler, which may be another thread */
	_Atomic unsigned faults;
	uint64_t *counted;       /* NULL, or a count of faults as statistics have it */
	_Atomic unsigned *traps; /* [units] */
	_Atomic bool write, masked;
	unsigned stack;        /* bytes of stack the handler uses */
	_Atomic size_t scarce; /* at most so many units are writable at once, as when twins run out; 0: no limit */
	_Atomic size_t writable, oldest;
};

extern unsigned passed, failed;
extern uint8_t *rig_shadow; /* what rig_open gives the backend as its shadow, or NULL */

/* result - count and print one case; @why: NULL when it passed. */
void result(const struct rig *rig, const char *name, const char *why);

/* rig_open - ends the program when the backend does not open.  rig_close undoes it. */
void rig_open(struct rig *rig, const struct tw_fault_ops *ops, size_t unit, size_t units, bool huge);
void rig_close(struct rig *rig);

/* rig_set - change units [first, first + count), which have equal rights, to @to; nothing when they have it. */
void rig_set(struct rig *rig, size_t first, size_t count, enum tw_rights to);
/* rig_absent - no rights anywhere, and no frame in the file. */
void rig_absent(struct rig *rig);

/* rig_load, rig_store - access app + @offset.  NULL, or what was wrong: trapped or not against the oracle. */
const char *rig_load(struct rig *rig, size_t offset, unsigned char expected);
const char *rig_store(struct rig *rig, size_t offset, unsigned char value);

/* The cases that concern signals and system calls, each on a rig of its own. */
void signals_run(const struct tw_fault_ops *ops);
void syscalls_run(const struct tw_fault_ops *ops);
/* downgrade_run - the cases in which others take rights. */
void downgrade_run(const struct tw_fault_ops *ops);

#endif
