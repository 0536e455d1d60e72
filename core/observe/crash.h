/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.h - one sentence about an instruction, or abort(), that ends the program: where in the program, and why. */
#ifndef TW_CORE_OBSERVE_CRASH_H
#define TW_CORE_OBSERVE_CRASH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/observe/symbol.h"

/* The name of a process, which `tweed crash` reads in its memory. */
#define TW_CRASH_MAGIC 0x7477656564637261u
struct tw_crash_self {
	uint64_t magic;
	char who[24]; /* "node.processor" */
};

/* What `tweed crash` gets as its argument, in hexadecimal. */
enum { TW_CRASH_READ, TW_CRASH_WRITE, TW_CRASH_JUMP };
struct tw_crash {
	pid_t pid, parent;
	int32_t signal, code;
	pid_t tid;
	int32_t access;   /* TW_CRASH_...; -1: unknown */
	int32_t overflow; /* the address is just below the thread's stack */
	uintptr_t address, sp;
	/* By their numbers in DWARF.  The last one is the instruction; that of the caller, for a jump to nowhere. */
	uint64_t registers[TW_REGISTERS];
	uintptr_t self; /* of struct tw_crash_self: at the same address in all processes of a fork server */
	char who[24];
};

/* tw_crash_open - from now on SIGSEGV, SIGBUS, SIGFPE, SIGILL, and SIGABRT of abort(), for which the program has no
 * handler print it before they end the process.  @agent: the process that runs the tool `tweed`; it and its children
 * may look at this one's threads.  Nothing in builds with a sanitizer, which prints a report of its own. [start] */
void tw_crash_open(const char *who, pid_t agent);
/* tw_crash_keep - a core file that follows such a sentence shall contain what is in use of the @bytes bytes at @space,
 * a mapping of the file @fd from its beginning.  [start] */
void tw_crash_keep(char *space, size_t bytes, int fd);

#endif
