/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.c - `tweed crash`, executed by a process of a job that an instruction, or abort(), ends (core/observe/crash.c),
 * prints one sentence: where in the program, and why. */
#include "core/observe/crash.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/observe/symbol.h"
#include "tools/crash/stack.h"
#include "tools/tools.h"

#define CRASH_FRAME ((uintptr_t)1 << 20) /* how far from the stack pointer an address is one of the stack */
#define CRASH_NULL  ((uintptr_t)65536)   /* addresses below are null pointers with an offset */

struct mapping {
	bool found;
	char rights[5];
	char name[256];
};

/* Find the mapping of @pid that has @address. */
static bool mapping_find(pid_t pid, uintptr_t address, struct mapping *m)
{
	char path[64], *line = NULL;
	size_t room = 0;

	*m = (struct mapping){.found = false};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && !m->found && getline(&line, &room, f) > 0) {
		unsigned long from, to;
		*m = (struct mapping){.name = ""};
		m->found = sscanf(line, "%lx-%lx %4s %*s %*s %*s %255[^\n]", &from, &to, m->rights, m->name) >= 3 &&
		           from <= address && address < to;
	}
	free(line);
	if (f)
		fclose(f);
	if (!m->name[0])
		strcpy(m->name, "an anonymous mapping");
	else if (strncmp(m->name, "/memfd:tweed-", strlen("/memfd:tweed-")) == 0)
		strcpy(m->name, "shared memory");
	return m->found;
}

static void sibling_name(const struct tw_crash *c, pid_t pid, char *out, size_t bytes)
{
	struct tw_crash_self other = {0};
	struct iovec to = {&other, sizeof(other)}, from = {(void *)c->self, sizeof(other)};

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof(other) && other.magic == TW_CRASH_MAGIC) {
		other.who[sizeof(other.who) - 1] = '\0';
		snprintf(out, bytes, "processor %s", other.who);
	} else {
		snprintf(out, bytes, "process %d", (int)pid);
	}
}

/* The processors of a host have one parent.  Does another one have memory, or @code, at the address? */
static bool crash_sibling(const struct tw_crash *c, bool code, char *out, size_t bytes)
{
	char path[64], name[64];
	struct mapping m;
	bool found = false;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)c->parent, (int)c->parent);
	FILE *f = fopen(path, "re");
	while (f && !found && fscanf(f, "%d", &pid) == 1) {
		found = pid != c->pid && mapping_find(pid, c->address, &m) && (!code || m.rights[2] == 'x');
		if (found) {
			sibling_name(c, pid, name, sizeof(name));
			snprintf(out, bytes, "%s of %s (%s)", code ? "code" : "private memory", name, m.name);
		}
	}
	if (f)
		fclose(f);
	return found;
}

static void crash_what(const struct tw_crash *c, char *out, size_t bytes)
{
	uintptr_t below = c->sp - c->address + CRASH_FRAME;
	char whose[400];
	struct mapping m;

	if (c->code == SI_KERNEL)
		snprintf(out, bytes, "an address that no pointer can have");
	else if (c->address < CRASH_NULL)
		snprintf(out, bytes, "address 0x%lx, by a null pointer", (unsigned long)c->address);
	else if ((!mapping_find(c->pid, c->address, &m) && below < 2 * CRASH_FRAME) || c->overflow)
		snprintf(out, bytes, "address 0x%lx, below its stack: give it a larger one (ulimit -s)",
		         (unsigned long)c->address);
	else if (c->access == TW_CRASH_JUMP && crash_sibling(c, true, whose, sizeof(whose)))
		snprintf(out, bytes,
		         "address 0x%lx, which is %s: only the processor that calls dlopen has the library: link it, "
		         "and open NULL",
		         (unsigned long)c->address, whose);
	else if (!m.found)
		snprintf(out, bytes, "address 0x%lx, which is %s", (unsigned long)c->address,
		         crash_sibling(c, false, whose, sizeof(whose)) ? whose : "no memory");
	else if (c->signal == SIGBUS)
		snprintf(out, bytes, "address 0x%lx, beyond the end of the file %s", (unsigned long)c->address, m.name);
	else
		snprintf(out, bytes, "address 0x%lx, whose rights are %s (%s)", (unsigned long)c->address, m.rights,
		         m.name);
}

/* The archive beside the library @path, or "".  The library's name may have a version: libdw-0.188.so, libdw.a. */
static const char *crash_archive(const char *path, char *out, size_t bytes)
{
	size_t name = strrchr(path, '/') ? (size_t)(strrchr(path, '/') - path) + 1 : 0;
	char *end;

	snprintf(out, bytes, "%s", path);
	for (end = strstr(out + name, ".so"); end; end = strrchr(out + name, '-')) {
		snprintf(end, bytes - (size_t)(end - out), ".a");
		if (access(out, R_OK) == 0)
			return out + name;
		*end = '\0';
		const char *version = strrchr(out + name, '-');
		if (!version || version[1] < '0' || version[1] > '9')
			break;
	}
	return "";
}

/* Its variables are each processor's own if code of a shared library was at work; not if that is the C library's.  What
 * that may mean, or "". */
static const char *crash_library(const struct tw_crash *c, uintptr_t ip, char *out, size_t bytes)
{
	static const char *const common[] = {"libc.", "libm.", "libstdc++.", "libgcc_s.", "ld-linux"};
	char path[sizeof(((struct mapping *)0)->name) + 4];
	struct mapping m;

	*out = '\0';
	if (!mapping_find(c->pid, ip, &m) || !strstr(m.name, ".so"))
		return out;
	const char *name = strrchr(m.name, '/') ? strrchr(m.name, '/') + 1 : m.name;
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (!strncmp(name, common[i], strlen(common[i])))
			return out;
	const char *archive = crash_archive(m.name, path, sizeof(path));
	snprintf(out, bytes, "; each processor has its own variables of %s: if threads share what it made, %s%s", name,
	         *archive ? "link its archive: -l:" : "compile it with Tweed's compiler", archive);
	return out;
}

static bool crash_parse(const char *text, struct tw_crash *c)
{
	unsigned char *to = (unsigned char *)c;
	unsigned byte;

	if (strlen(text) != 2 * sizeof(*c))
		return false;
	for (size_t i = 0; i < sizeof(*c); i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			return false;
		to[i] = (unsigned char)byte;
	}
	c->who[sizeof(c->who) - 1] = '\0';
	return true;
}

/* What the memory access at @ip has done. */
static void crash_access(const struct tw_crash *c, uintptr_t ip, char *out, size_t bytes)
{
	char what[800], library[700];

	crash_what(c, what, sizeof(what));
	snprintf(out, bytes, "%s %s%s",
	         c->access == TW_CRASH_JUMP    ? "jumped to"
	         : c->access == TW_CRASH_WRITE ? "wrote to"
	         : c->access == TW_CRASH_READ  ? "read"
	                                       : "accessed",
	         what, crash_library(c, ip, library, sizeof(library)));
}

/* @called: what the program's innermost function has called; "": nothing. */
static void crash_other(const struct tw_crash *c, const char *called, char *out, size_t bytes)
{
	if (c->signal == SIGFPE)
		snprintf(out, bytes, "%s", c->code == FPE_INTDIV ? "divided by zero" : "made an arithmetic error");
	else if (c->signal == SIGILL)
		snprintf(out, bytes, "executed an instruction that this processor does not have");
	else if (strcmp(called, "__cxa_throw") == 0)
		snprintf(out, bytes, "threw an exception that nothing catches");
	else
		snprintf(out, bytes, "called %s", *called ? called : "abort");
}

int tool_crash(int argc, char **argv)
{
	struct tw_frame frame[TW_FRAMES];
	char code[512], why[1600], called[128] = "", callers[1200];
	struct tw_crash c;

	if (argc < 2 || argc > 3 || !crash_parse(argv[1], &c)) {
		tool_say("'tweed crash' is for processes of a job: look at 'tweed --help'");
		return TOOL_USAGE;
	}
	tw_log_who(c.who);
	unsigned frames = stack_unwind(&c, frame), first = stack_program(frame, frames);
	if (argc == 3) {
		stack_callers(c.pid, frame, frames, first, callers, sizeof(callers));
		tool_say("%s%s%s", argv[2], *callers ? "; called from " : "", callers);
		return 0;
	}
	uintptr_t ip = frames ? frame[0].ip : c.registers[TW_REGISTERS - 1];
	unsigned at = first > 0 && first < frames ? first - 1 : 0; /* what the program has called, or itself */
	if (c.access >= 0) {
		crash_access(&c, ip, why, sizeof(why));
	} else {
		if (first < frames && !stack_called(c.pid, frame, first, called, sizeof(called)))
			*called = '\0';
		at = first < frames ? first : 0;
		crash_other(&c, called, why, sizeof(why));
	}
	tw_symbol_of_process(c.pid, frames ? frame[at].ip : ip, code, sizeof(code));
	stack_callers(c.pid, frame, frames, at + 1, callers, sizeof(callers));
	tool_say("%s %s%s%s", code, why, *callers ? "; called from " : "", callers);
	return 0;
}
