/* SPDX-License-Identifier: BSD-3-Clause */
/* context.c - makecontext, and the masks of contexts (context.S). */
#if defined(__x86_64__)
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <ucontext.h>

#include "runtime/threads/support.h"

#define CONTEXT_REGISTER(r) (offsetof(ucontext_t, uc_mcontext.gregs) + (r) * sizeof(greg_t))
_Static_assert(CONTEXT_REGISTER(REG_R8) == 0x28 && CONTEXT_REGISTER(REG_R15) == 0x60 &&
                   CONTEXT_REGISTER(REG_RDI) == 0x68 && CONTEXT_REGISTER(REG_RBP) == 0x78 &&
                   CONTEXT_REGISTER(REG_RDX) == 0x88 && CONTEXT_REGISTER(REG_RCX) == 0x98 &&
                   CONTEXT_REGISTER(REG_RIP) == 0xa8 && offsetof(ucontext_t, uc_mcontext.fpregs) == 0xe0 &&
                   offsetof(ucontext_t, __fpregs_mem) == 0x1a8 && offsetof(ucontext_t, __fpregs_mem.mxcsr) == 0x1c0,
               "context.S has these");

/* Store the thread's mask in @from, and change it to @to's; NULL: do not. */
void th_context_mask(ucontext_t *from, const ucontext_t *to);
void th_context_mask(ucontext_t *from, const ucontext_t *to)
{
	sigset_t was, wanted;

	th_stack_reserve();
	if (to)
		wanted = to->uc_sigmask;
	sigprocmask(SIG_SETMASK, to ? &wanted : NULL, &was);
	if (from)
		from->uc_sigmask = was;
}

void th_context_end(void);

#pragma GCC visibility push(default)

/* The stack: what does not fit into registers, below it the return address, above it @u's uc_link. */
void makecontext(ucontext_t *u, void (*function)(void), int n, ...)
{
	static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9};
	unsigned more = n > 6 ? (unsigned)n - 6 : 0;
	greg_t *gregs = u->uc_mcontext.gregs;
	uintptr_t top = (uintptr_t)u->uc_stack.ss_sp + u->uc_stack.ss_size - (more + 1) * sizeof(greg_t);
	greg_t *sp = (greg_t *)((top & ~(uintptr_t)15) - 8);
	va_list ap;

	gregs[REG_RIP] = (greg_t)(uintptr_t)function;
	gregs[REG_RBX] = (greg_t)(uintptr_t)&sp[more + 1];
	gregs[REG_RSP] = (greg_t)(uintptr_t)sp;
	sp[0] = (greg_t)(uintptr_t)th_context_end;
	sp[more + 1] = (greg_t)(uintptr_t)u->uc_link;
	va_start(ap, n);
	for (int i = 0; i < n; i++) {
		greg_t argument = va_arg(ap, greg_t);
		if (i < 6)
			gregs[registers[i]] = argument;
		else
			sp[i - 5] = argument;
	}
	va_end(ap);
}

#pragma GCC visibility pop
#endif
