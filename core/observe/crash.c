/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.c - names the access that ends the program.
 *
 * The crashed process may hold any lock of a library, and its thread-local variables may lie in shared memory, which a
 * child lacks.  So a child executes `tweed crash` (tools/crash/crash.c), which reads what the kernel knows. */
#include "core/observe/crash.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/fd.h"
#include "core/base/signals.h"
#include "core/process/fork.h"

#define CRASH_PATIENCE_MS 5000

static struct tw_crash_self crash_self;
static char crash_tool[32], crash_libraries[1024];

static void crash_read(struct tw_crash *c, const siginfo_t *si, const ucontext_t *uc)
{
	*c = (struct tw_crash){.pid = (pid_t)syscall(SYS_getpid),
	                       .parent = (pid_t)syscall(SYS_getppid),
	                       .signal = si->si_signo,
	                       .code = si->si_code,
	                       .address = (uintptr_t)si->si_addr,
	                       .access = -1,
	                       .overflow = tw_signal_overflow && tw_signal_overflow(si, uc),
	                       .self = (uintptr_t)&crash_self};
	memcpy(c->who, crash_self.who, sizeof(c->who));
#if defined(__x86_64__)
	unsigned long error = (unsigned long)uc->uc_mcontext.gregs[REG_ERR];
	struct iovec to = {&c->back, sizeof(c->back)};
	struct iovec from = {(void *)(uintptr_t)uc->uc_mcontext.gregs[REG_RSP], sizeof(c->back)}; /* may be unmapped */

	c->ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	c->sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	c->access = error & 16 ? TW_CRASH_JUMP : error & 2 ? TW_CRASH_WRITE : TW_CRASH_READ;
	if (c->access == TW_CRASH_JUMP)
		syscall(SYS_process_vm_readv, c->pid, &to, 1, &from, 1, 0);
#else
	(void)uc;
#endif
}

static void crash_hexadecimal(char *out, const void *data, size_t bytes)
{
	for (const unsigned char *p = data; bytes--; p++) {
		*out++ = "0123456789abcdef"[*p >> 4];
		*out++ = "0123456789abcdef"[*p & 15];
	}
	*out = '\0';
}

static void crash_report(const siginfo_t *si, const void *uc)
{
	const struct timespec pause = {0, 1000000};
	char text[2 * sizeof(struct tw_crash) + 1];
	char *argv[] = {(char *)"tweed", (char *)"crash", text, NULL}, *environment[] = {crash_libraries, NULL};
	struct tw_crash c;
	int status = -1;

	if (tw_forked())
		return;
	tw_fd_away = 0; /* the thread makes no further calls of the program */
	crash_read(&c, si, uc);
	crash_hexadecimal(text, &c, sizeof(c));
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0) {
		syscall(SYS_execve, crash_tool, argv, environment);
		syscall(SYS_exit_group, 1);
	}
	for (unsigned ms = 0; child > 0 && syscall(SYS_wait4, child, &status, WNOHANG, NULL) == 0; ms++) {
		if (ms == CRASH_PATIENCE_MS)
			syscall(SYS_kill, child, SIGKILL);
		syscall(SYS_nanosleep, &pause, NULL);
	}
	if (status) /* no child, or it was killed */
		tw_log("the instruction at 0x%lx may not access address 0x%lx", (unsigned long)c.ip,
		       (unsigned long)c.address);
}

static void crash_handler(int signal, siginfo_t *si, void *uc)
{
	int saved = errno;

	if (signal != SIGSEGV || !tw_signal_repair || !tw_signal_repair(si, uc))
		tw_signal_chain(signal, si, uc);
	errno = saved;
}

void tw_crash_open(const char *who, pid_t agent)
{
	const char *libraries = getenv("LD_LIBRARY_PATH");

	if (TW_ASAN || TW_TSAN)
		return;
	crash_self.magic = TW_CRASH_MAGIC;
	tw_format(crash_self.who, sizeof(crash_self.who), "%s", who);
	tw_format(crash_tool, sizeof(crash_tool), "/proc/%d/exe", (int)agent);
	tw_format(crash_libraries, sizeof(crash_libraries), "LD_LIBRARY_PATH=%s", libraries ? libraries : "");
	tw_signal_crash = crash_report;
	tw_signal_take(SIGSEGV, crash_handler);
	tw_signal_take(SIGBUS, crash_handler);
}
