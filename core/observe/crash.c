/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.c - names the instruction, or the call of abort(), that ends the program; or what has led to a sentence.
 *
 * The crashed process may hold any lock of a library.  So a child executes `tweed crash` (tools/crash/crash.c), which
 * reads what the kernel knows. */
#include "core/observe/crash.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
static _Alignas(16) char crash_stack[8192]; /* of the child, until it executes the tool */

static void crash_read(struct tw_crash *c, const siginfo_t *si, const ucontext_t *uc)
{
	*c = (struct tw_crash){.pid = (pid_t)syscall(SYS_getpid),
	                       .parent = (pid_t)syscall(SYS_getppid),
	                       .tid = (pid_t)syscall(SYS_gettid),
	                       .signal = si->si_signo,
	                       .code = si->si_code,
	                       .address = (uintptr_t)si->si_addr,
	                       .access = -1,
	                       .overflow = tw_signal_overflow && tw_signal_overflow(si, uc),
	                       .self = (uintptr_t)&crash_self};
	memcpy(c->who, crash_self.who, sizeof(c->who));
#if defined(__x86_64__)
	static const int number[TW_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
	                                         REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
	                                         REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
	const greg_t *registers = uc->uc_mcontext.gregs;
	uint64_t error = (uint64_t)registers[REG_ERR], *sp = &c->registers[7], *ip = &c->registers[TW_REGISTERS - 1];

	for (unsigned i = 0; i < TW_REGISTERS; i++)
		c->registers[i] = (uint64_t)registers[number[i]];
	c->sp = (uintptr_t)*sp;
	if (si->si_signo != SIGSEGV && si->si_signo != SIGBUS)
		return;
	c->access = error & 16 ? TW_CRASH_JUMP : error & 2 ? TW_CRASH_WRITE : TW_CRASH_READ;
	struct iovec to = {ip, sizeof(*ip)}, from = {(void *)(uintptr_t)*sp, sizeof(*ip)}; /* may be unmapped */
	if (c->access == TW_CRASH_JUMP && syscall(SYS_process_vm_readv, c->pid, &to, 1, &from, 1, 0) == sizeof(*ip)) {
		--*ip; /* within the call */
		*sp += sizeof(*ip);
	}
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

/* glibc's clone(), apart from the run-time's. */
extern int __clone(int (*run)(void *arg), void *stack, int flags, void *arg, ...);

static int crash_child(void *words)
{
	void **of = words;

	syscall(SYS_execve, crash_tool, of[0], of[1]);
	syscall(SYS_exit_group, 1);
	return 1;
}

/* Have the tool print it.  @sentence: NULL, or what is the matter.  Returns whether it has. */
static bool crash_print(const struct tw_crash *c, const char *sentence)
{
	const struct timespec pause = {0, 1000000};
	char text[2 * sizeof(struct tw_crash) + 1];
	char *argv[] = {(char *)"tweed", (char *)"crash", text, (char *)(uintptr_t)sentence, NULL};
	char *environment[] = {crash_libraries, NULL};
	static atomic_flag begun; /* once a process, which ends: the child's stack is one */
	int status = -1;

	if (atomic_flag_test_and_set(&begun))
		return false;
	crash_hexadecimal(text, c, sizeof(*c));
	/* A copy of this process would lack the shared memory where the caller's stack may be. */
	pid_t child = __clone(crash_child, crash_stack + sizeof(crash_stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
	                      (void *[]){argv, environment});
	for (unsigned ms = 0; child > 0 && syscall(SYS_wait4, child, &status, WNOHANG, NULL) == 0; ms++) {
		if (ms == CRASH_PATIENCE_MS)
			syscall(SYS_kill, child, SIGKILL);
		syscall(SYS_nanosleep, &pause, NULL);
	}
	return status == 0; /* else no child, or it was killed */
}

/* Of tw_crash_keep. */
static struct {
	char *at;
	off_t bytes;
	int fd;
} crash_kept;

/* Have the core file contain it.  Pages that nobody has used are left out: to dump them would allocate them. */
static void crash_dump(void)
{
	off_t from, to = 0;

	while ((from = lseek(crash_kept.fd, to, SEEK_DATA)) >= 0 && from < crash_kept.bytes) {
		to = TW_MIN(lseek(crash_kept.fd, from, SEEK_HOLE), crash_kept.bytes);
		if (to <= from)
			break;
		madvise(crash_kept.at + from, (size_t)(to - from), MADV_DODUMP);
	}
}

static void crash_report(const siginfo_t *si, const void *uc)
{
	struct tw_crash c;

	if (tw_forked())
		return;
	tw_fd_away = 0; /* the thread makes no further calls of the program */
	crash_read(&c, si, uc);
	if (!crash_print(&c, NULL) && c.access >= 0)
		tw_log("the instruction at 0x%lx may not access address 0x%lx",
		       (unsigned long)c.registers[TW_REGISTERS - 1], (unsigned long)c.address);
	if (crash_kept.bytes)
		crash_dump();
}

/* The registers by which frames are found; getcontext() may be the run-time's.  In the caller's own frame. */
static inline __attribute__((always_inline)) void crash_here(ucontext_t *uc)
{
#if defined(__x86_64__)
	greg_t *registers = uc->uc_mcontext.gregs;

	__asm__ volatile("leaq	0(%%rip), %0\n"
	                 "	movq	%%rsp, %1\n"
	                 "	movq	%%rbp, %2\n"
	                 : "=&r"(registers[REG_RIP]), "=m"(registers[REG_RSP]), "=m"(registers[REG_RBP]));
#else
	(void)uc;
#endif
}

/* tw_say_where. */
static bool crash_sentence(const char *sentence)
{
	siginfo_t none = {.si_signo = 0};
	ucontext_t here = {.uc_flags = 0};
	struct tw_crash c;

	if (tw_forked())
		return false;
	crash_here(&here);
	unsigned char away = tw_fd_away;
	tw_fd_away = 0;
	crash_read(&c, &none, &here);
	bool printed = crash_print(&c, sentence);
	tw_fd_away = away;
	return printed;
}

static void crash_handler(int signal, siginfo_t *si, void *uc)
{
	int saved = errno;

	if (signal != SIGSEGV || !tw_signal_repair || !tw_signal_repair(si, uc))
		tw_signal_chain(signal, si, uc);
	errno = saved;
}

/* The program has no handler for @signal.  Not of other processes: kill(1) is no crash. */
static void crash_last(int signal, siginfo_t *si, void *uc)
{
	bool sent = si->si_code <= 0;

	if (!sent || (signal == SIGABRT && si->si_pid == (pid_t)syscall(SYS_getpid)))
		crash_report(si, uc);
	tw_signal_default(signal, NULL);
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), signal); /* still blocked */
}

void tw_crash_keep(char *space, size_t bytes, int fd)
{
	crash_kept.at = space;
	crash_kept.bytes = (off_t)bytes;
	crash_kept.fd = fd;
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
	prctl(PR_SET_PTRACER, agent); /* where Yama restricts it */
	tw_signal_crash = crash_report;
	tw_say_where = crash_sentence;
	tw_signal_take(SIGSEGV, crash_handler);
	tw_signal_take(SIGBUS, crash_handler);
	tw_signal_default(SIGFPE, crash_last);
	tw_signal_default(SIGILL, crash_last);
	tw_signal_default(SIGABRT, crash_last);
}
