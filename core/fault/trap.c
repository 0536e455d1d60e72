/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/fault/trap.h"

#include "core/base/fd.h"
#include "core/base/signals.h"
#include "core/base/base.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Signal handlers belong to the process, so there is one trap. Only open and close write it. */
static struct {
	struct tw_fault *fault;
	uintptr_t app;
	size_t bytes;
	bool (*resolve)(struct tw_fault *fault, size_t offset, int write);
	int signal, si_code;
	stack_t stack;
	bool executes; /* what can be read can be executed, as programs with code on their stacks need */
} trap;

/* Returns 1 for a store, 0 for a load, -1 when unknown, -2 for an instruction fetch. */
static int trap_access(const ucontext_t *uc)
{
#if defined(__x86_64__)
	unsigned long error = (unsigned long)uc->uc_mcontext.gregs[REG_ERR];
	return error & 16 && !trap.executes ? -2 : (int)(error >> 1 & 1);
#else
	(void)uc;
	return -1;
#endif
}

/* Returns the instruction that faulted, or 0 when unknown. */
static uintptr_t trap_ip(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
#else
	(void)uc;
	return 0;
#endif
}

/* Stop behind the instruction that is retried, or stop no more. */
static void trap_step(ucontext_t *uc, bool on)
{
#if defined(__x86_64__)
	const long long flag = 0x100;
	uc->uc_mcontext.gregs[REG_EFL] =
	    on ? uc->uc_mcontext.gregs[REG_EFL] | flag : uc->uc_mcontext.gregs[REG_EFL] & ~flag;
#else
	(void)uc;
	(void)on;
#endif
}

static bool (*trap_breakpoint)(const siginfo_t *si, void *uc);

static void trap_stepped(int signal, siginfo_t *si, void *uc)
{
	int saved = errno;

	/* Raised by the CPU, not by kill(2). Under some hypervisors the debug status is lost, and the kernel reports
	 * TRAP_BRKPT instead of TRAP_TRACE. */
	if (trap.fault && trap.fault->step && si->si_code > 0) {
		trap_step(uc, false);
		trap.fault->step = false;
		trap.fault->stepped(trap.fault->ctx);
	} else if (!trap_breakpoint || !trap_breakpoint(si, uc)) {
		tw_signal_chain(signal, si, uc);
	}
	errno = saved;
}

void tw_trap_breakpoints(bool (*breakpoint)(const siginfo_t *si, void *uc))
{
	trap_breakpoint = breakpoint;
	tw_signal_take(SIGTRAP, trap_stepped);
}

/* A page that is not there is reported before the right to execute it is looked at. */
static int trap_wanted(const siginfo_t *si, const void *uc)
{
	int access = trap_access(uc);

	return access == -2 && tw_signal_repair && tw_signal_repair(si, uc) ? 0 : access;
}

/* It is SIGSEGV elsewhere; the instruction would cause @trap.signal again. */
static void trap_overflow(const siginfo_t *si, void *uc)
{
	siginfo_t as = *si;

	as.si_signo = SIGSEGV;
	as.si_code = SEGV_ACCERR;
	tw_signal_chain(SIGSEGV, &as, uc);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSEGV); /* still blocked */
}

static void trap_handler(int signal, siginfo_t *si, void *uc)
{
	int saved = errno;
	size_t offset = (uintptr_t)si->si_addr - trap.app;
	unsigned char away = tw_fd_away;
	int write;

	if (trap.fault)
		trap.fault->ip = trap_ip(uc);
	tw_fd_away = 0;
	bool shared = si->si_code == trap.si_code && offset < trap.bytes;
	bool overflow = shared && tw_signal_overflow && tw_signal_overflow(si, uc);
	bool resolved =
	    shared && !overflow && (write = trap_wanted(si, uc)) != -2 && trap.resolve(trap.fault, offset, write);
	tw_fd_away = away;
	if (overflow)
		trap_overflow(si, uc);
	else if (!resolved)
		tw_signal_chain(signal, si, uc);
	else if (trap.fault->step)
		trap_step(uc, true);
	errno = saved;
}

static int trap_stack_open(void)
{
	long min = sysconf(_SC_MINSIGSTKSZ); /* room for this machine's largest register state */
	size_t bytes = TW_ALIGN_UP((size_t)TW_MAX(min, 0L) + (64u << 10), (size_t)4096);
	/* A guard page below, so that an overflow writes nowhere else. */
	char *base = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	mprotect(base, 4096, PROT_NONE);
	memset(base + 4096, 0, bytes); /* allocate now, not in the first fault */
	trap.stack = (stack_t){.ss_sp = base + 4096, .ss_size = bytes};
	int error = tw_signal_stack(&trap.stack);
	if (error)
		munmap(base, bytes + 4096);
	return error;
}

static void trap_stack_close(void)
{
	tw_signal_stack(NULL);
	munmap((char *)trap.stack.ss_sp - 4096, trap.stack.ss_size + 4096);
}

int tw_trap_open(struct tw_fault *fault, int signal, int si_code,
                 bool (*resolve)(struct tw_fault *fault, size_t offset, int write))
{
	if (trap.fault) {
		tw_log("only one fault backend can be open in a process");
		return -EBUSY;
	}
	int error = trap_stack_open();
	if (error) {
		tw_log("no alternate signal stack for the fault backend: %s", strerror(-error));
		return error;
	}
	trap.app = (uintptr_t)fault->app;
	trap.bytes = fault->bytes;
	trap.resolve = resolve;
	trap.signal = signal;
	trap.si_code = si_code;
	trap.executes = personality(0xffffffff) & READ_IMPLIES_EXEC;
	trap.fault = fault;
	tw_signal_take(signal, trap_handler);
	tw_signal_take(SIGTRAP, trap_stepped);
	return 0;
}

bool tw_trap_execute(void)
{
	bool by_mapping = trap.signal == SIGSEGV;

	if (!trap.executes && trap.fault && !by_mapping &&
	    mprotect((void *)trap.app, trap.bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		trap.executes = true;
	return trap.executes;
}

bool tw_trap_fetches(const void *uc)
{
	return trap_access(uc) == -2;
}

void tw_trap_forget(void)
{
	trap.bytes = 0;
}

void tw_trap_close(void)
{
	tw_signal_give(trap.signal);
	if (!trap_breakpoint)
		tw_signal_give(SIGTRAP);
	trap_stack_close();
	trap.bytes = 0;
	trap.fault = NULL;
}

uint8_t *tw_shadow_create(size_t bytes)
{
	void *shadow = mmap(NULL, bytes >> TW_SHADOW_SHIFT, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return shadow == MAP_FAILED ? NULL : shadow;
}

void tw_shadow_destroy(uint8_t *shadow, size_t bytes)
{
	munmap(shadow, bytes >> TW_SHADOW_SHIFT);
}
