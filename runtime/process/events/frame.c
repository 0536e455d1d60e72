/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.c - a call on the stack of the interrupted code, as the kernel calls a handler without SA_ONSTACK.
 *
 * Tweed's handlers run on a private stack, because the program's may be what causes a fault.  A handler of the program
 * must find the interrupted code above its own frame: collectors of garbage look there for pointers, also for what was
 * in registers.  So the kernel's frame is copied to the program's stack, and the context that Tweed's handler returns
 * to is changed: it goes on in the function, whose return restores the copy. */
#include "runtime/process/events/frame.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/signals.h"
#include "runtime/threads/support.h"

#if defined(__x86_64__)
#define FRAME_RED_ZONE  128u
#define FRAME_FP_BYTES  512u /* without the extended state */
#define FRAME_FP_ABOUT  464u /* offset of the kernel's description of it */
#define FRAME_FP_MAGIC  0x46505853u
#define FRAME_FP_ALIGN  64u
#define FRAME_FLAG_STEP 0x100u
#define FRAME_FLAG_DOWN 0x400u
/* The kernel's part of ucontext_t. */
#define FRAME_UC_BYTES (offsetof(ucontext_t, uc_sigmask) + 8)

struct frame_fp {
	uint32_t magic, bytes;
};

/* As the kernel lays it out. */
struct frame {
	const void *restorer; /* return address */
	_Alignas(8) char uc[FRAME_UC_BYTES];
	siginfo_t info;
};

/* Debuggers and unwinders know a signal's frame by these instructions. */
extern const char th_frame_return[];
__asm__(".text\n"
        "\t.type th_frame_return, @function\n"
        "\tnop\n"
        "th_frame_return:\n"
        "\tmovq $15, %rax\n"
        "\tsyscall\n"
        "\t.size th_frame_return, . - th_frame_return\n");

static size_t frame_fp_bytes(const void *fp)
{
	struct frame_fp about;

	memcpy(&about, (const char *)fp + FRAME_FP_ABOUT, sizeof(about));
	return about.magic == FRAME_FP_MAGIC ? about.bytes : FRAME_FP_BYTES;
}

/* The stack may be one of the program's own, whose pages fault, which handlers must not block. */
static void frame_reserve(char *here)
{
	sigset_t open, mask;

	if (th_stack_reserved_at(here))
		return;
	sigfillset(&open);
	sigprocmask(SIG_SETMASK, tw_signal_sieve(&open, &open), &mask);
	th_stack_reserve_at(here);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

bool th_frame_call(void *context, const siginfo_t *info, th_frame_function *function)
{
	ucontext_t *uc = context;
	greg_t *reg = uc->uc_mcontext.gregs;
	const void *fp = uc->uc_mcontext.fpregs;
	size_t fp_bytes = fp ? frame_fp_bytes(fp) : 0;
	uintptr_t at = (uintptr_t)reg[REG_RSP] - FRAME_RED_ZONE;

	if ((size_t)(reg[REG_RSP] - (greg_t)(uintptr_t)uc->uc_stack.ss_sp) < uc->uc_stack.ss_size)
		return false;
	uintptr_t fp_at = (at - fp_bytes) & ~(uintptr_t)(FRAME_FP_ALIGN - 1);
	/* Behind the return address, the stack pointer is a multiple of 16. */
	struct frame *f = (void *)(((fp_at - sizeof(*f)) & ~(uintptr_t)15) - 8);

	frame_reserve((char *)f);
	f->restorer = th_frame_return;
	f->info = *info;
	memcpy(f->uc, uc, FRAME_UC_BYTES);
	if (fp) {
		fpregset_t copy = (fpregset_t)fp_at;
		memcpy((void *)fp_at, fp, fp_bytes);
		memcpy(f->uc + offsetof(ucontext_t, uc_mcontext.fpregs), &copy, sizeof(copy));
	}
	reg[REG_RIP] = (greg_t)(uintptr_t)function;
	reg[REG_RSP] = (greg_t)(uintptr_t)f;
	reg[REG_RDI] = info->si_signo;
	reg[REG_RSI] = (greg_t)(uintptr_t)&f->info;
	reg[REG_RDX] = (greg_t)(uintptr_t)f->uc;
	reg[REG_EFL] &= ~(greg_t)(FRAME_FLAG_STEP | FRAME_FLAG_DOWN);
	sigfillset(&uc->uc_sigmask);
	tw_signal_sieve(&uc->uc_sigmask, &uc->uc_sigmask);
	return true;
}
#else
bool th_frame_call(void *context, const siginfo_t *info, th_frame_function *function)
{
	(void)context, (void)info, (void)function;
	return false;
}
#endif

static void frame_enter(void (*function)(void *), void *arg)
{
	th_stack_reserve();
	function(arg);
}

bool th_frame_alternate(void (*function)(void *), void *arg)
{
	char *here = __builtin_frame_address(0);
	ucontext_t back, on;
	stack_t s;

	if (tw_signal_altstack(NULL, &s) || (s.ss_flags & (SS_DISABLE | SS_ONSTACK)) ||
	    (size_t)(here - (char *)s.ss_sp) < s.ss_size)
		return false;
	getcontext(&on);
	on.uc_stack = s;
	on.uc_link = &back;
	makecontext(&on, (void (*)(void))frame_enter, 2, function, arg);
	swapcontext(&back, &on);
	return true;
}
