/* SPDX-License-Identifier: BSD-3-Clause */
/* exit.c - pthread_exit, and what it calls on its way out: handlers of pthread_cleanup_push, destructors of C++. */
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "runtime/pthreads/thread.h"

/* For pthread_cleanup_push in C: the C library's functions use lists of their pt_own. */
void tw_pthread_register_cancel(__pthread_unwind_buf_t *buffer)
{
	buffer->__pad[0] = pt_own.cleanup;
	pt_own.cleanup = buffer;
}

void tw_pthread_unregister_cancel(__pthread_unwind_buf_t *buffer)
{
	pt_own.cleanup = buffer->__pad[0];
}

/* The C library's buffer ends before the signal mask, which was not saved. */
static void __attribute__((noreturn)) exit_to(const __pthread_unwind_buf_t *buffer)
{
	jmp_buf to;

	memset(&to, 0, sizeof(to));
	memcpy(&to, buffer->__cancel_jmp_buf, sizeof(buffer->__cancel_jmp_buf));
	longjmp(to, 1);
}

/* Unwind from the thread's last frame; C++'s destructors run in between. */
static _Unwind_Reason_Code exit_step(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                     struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *arg)
{
	uintptr_t frame = _Unwind_GetCFA(context);

	(void)version;
	(void)class;
	(void)exception;
	(void)arg;
	if (pt_own.cleanup && ((actions & _UA_END_OF_STACK) || frame > (uintptr_t)pt_own.cleanup))
		exit_to(pt_own.cleanup);
	if (pt_own.frame && ((actions & _UA_END_OF_STACK) || frame > (uintptr_t)pt_own.frame))
		longjmp(pt_own.end, 1);
	if (actions & _UA_END_OF_STACK)
		pt_main_end();
	return _URC_NO_REASON;
}

static void __attribute__((noreturn)) exit_unwind(void)
{
	static __thread struct _Unwind_Exception exception;

	memset(&exception, 0, sizeof(exception));
	_Unwind_ForcedUnwind(&exception, exit_step, NULL);
	th_refuse("pthread_exit: this thread's stack cannot be unwound");
}

void tw_pthread_unwind_next(__pthread_unwind_buf_t *buffer)
{
	pt_own.cleanup = buffer->__pad[0];
	exit_unwind();
}

void tw_pthread_exit(void *result)
{
	th_stack_reserve();
	pt_own.result = result;
	exit_unwind();
}

void pt_exit_bare(int status)
{
	th_stack_reserve();
	pt_own.result = NULL;
	if (pt_own.frame)
		longjmp(pt_own.end, 1);
	if (pt_threads_alive())
		pt_main_end();
	_exit(status);
}
