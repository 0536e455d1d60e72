/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall.c - syscall(2).  SYS_futex on shared memory is Tweed's, SYS_exit ends a thread of the program.  Other calls
 * are the kernel's, with what they touch.
 *
 * Asynchronous transfers of the kernel (io_uring, io_setup) belong to one process: their rings are its memory, and they
 * store behind the back of the coherence protocol.  So they do not exist, as in kernels without them, and programs fall
 * back to others. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/process/hosts/calls.h"
#include "runtime/process/program_heap.h"
#include "runtime/pthreads/pthreads.h"

/* May the program's threads be in several processes? */
static bool syscall_shared(void)
{
	return pt_enter() && tw_count() > 1;
}

PT_OWN long tw_syscall_threads(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_futex && th_heap_at((void *)a[0]) && pt_enter())
		return pt_futex((void *)a[0], (int)a[1], (unsigned)a[2], (void *)a[3]);
	if (number == SYS_exit && pt_enter())
		pt_exit_bare((int)a[0]);
	if (number == SYS_seccomp && a[0] <= SECCOMP_SET_MODE_FILTER && pt_enter())
		prctl(PR_SET_SECCOMP, a[0] + 1, a[2]); /* refused */
	if ((number == SYS_io_uring_setup || number == SYS_io_setup) && syscall_shared())
		return th_result(ENOSYS);
	return th_call_touched(number, a);
}

#pragma GCC visibility push(default)

/* Of liburing and libaio, which make their calls without the C library. */
#define SYSCALL_ABSENT(name, parameters, arguments)                                                                    \
	TH_WEAK int name parameters;                                                                                   \
	TH_WEAK int name parameters                                                                                    \
	{                                                                                                              \
		int(*next) parameters;                                                                                 \
		*(void **)&next = dlsym(RTLD_NEXT, #name);                                                             \
		return !next || syscall_shared() ? -ENOSYS : next arguments;                                           \
	}
SYSCALL_ABSENT(io_uring_setup, (unsigned entries, void *p), (entries, p))
SYSCALL_ABSENT(io_uring_queue_init, (unsigned entries, void *ring, unsigned flags), (entries, ring, flags))
SYSCALL_ABSENT(io_uring_queue_init_params, (unsigned entries, void *ring, void *p), (entries, ring, p))
SYSCALL_ABSENT(io_uring_queue_init_mem, (unsigned entries, void *ring, void *p, void *buffer, size_t size),
               (entries, ring, p, buffer, size))
SYSCALL_ABSENT(io_setup, (int events, void *context), (events, context))
SYSCALL_ABSENT(io_queue_init, (int events, void *context), (events, context))

#pragma GCC visibility pop
