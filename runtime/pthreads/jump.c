/* SPDX-License-Identifier: BSD-3-Clause */
/* jump.c - longjmp.  A coroutine that begins in a handler of signals without SA_ONSTACK lives on the thread's stack, or
 * on Tweed's for signals, which the next fault uses again: its frames are gone. */
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/pthreads/pthreads.h"

#if defined(__x86_64__)
/* Where the C library has put the stack pointer, exclusive or a secret of the thread, rotated. */
static char *jump_stack(const struct __jmp_buf_tag *to)
{
	uintptr_t kept = (uintptr_t)to->__jmpbuf[6], secret;

	__asm__("movq %%fs:0x30, %0" : "=r"(secret));
	return (char *)((kept >> 17 | kept << 47) ^ secret);
}

static bool jump_lost(const struct __jmp_buf_tag *to)
{
	char *here = __builtin_frame_address(0), *end = th_stack_own(), *stack = jump_stack(to);
	stack_t s;

	if (end && here < end && stack < here && (size_t)(end - stack) <= th_stack_bytes())
		return true; /* deeper than the caller */
	return tw_me && syscall(SYS_sigaltstack, NULL, &s) == 0 && !(s.ss_flags & (SS_ONSTACK | SS_DISABLE)) &&
	       (size_t)(stack - (char *)s.ss_sp) < s.ss_size;
}
#else
static bool jump_lost(const struct __jmp_buf_tag *to)
{
	(void)to;
	return false;
}
#endif

void tw_longjmp(struct __jmp_buf_tag *to, int value)
{
	if (jump_lost(to))
		th_refuse("longjmp: back into a signal handler that did not run on a stack of its own: install it with "
		          "SA_ONSTACK behind sigaltstack, or make coroutines by makecontext");
	siglongjmp(to, value);
}
