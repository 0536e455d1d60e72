/* SPDX-License-Identifier: BSD-3-Clause */
/* syscall.c - syscall(2).  SYS_futex on shared memory is Tweed's, SYS_exit ends a thread of the program.  Other calls
 * are the kernel's, with what they touch.
 *
 * The rings of io_uring are memory of one process, and its transfers store behind the back of the coherence protocol.
 * So it does not exist, as in kernels without it, and programs fall back to others.  Nor does membarrier, which makes
 * the threads of one process execute fences. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/process/hosts/calls.h"
#include "runtime/process/program_heap.h"
#include "runtime/pthreads/pthreads.h"

PT_OWN long tw_syscall_threads(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_futex && th_heap_at((void *)a[0]) && pt_enter())
		return pt_futex((void *)a[0], (int)a[1], (unsigned)a[2], a[3], (unsigned)a[5]);
	if (number == SYS_exit && pt_enter())
		pt_exit_bare((int)a[0]);
	if (number == SYS_seccomp && a[0] <= SECCOMP_SET_MODE_FILTER && pt_enter())
		prctl(PR_SET_SECCOMP, a[0] + 1, a[2]); /* refused */
	if ((number == SYS_clone || number == SYS_clone3) && pt_enter())
		clone(NULL, NULL, (int)a[0], NULL); /* refused */
	if ((number == SYS_io_uring_setup || number == SYS_membarrier) && pt_several())
		return th_result(ENOSYS);
	if (((number >= SYS_io_setup && number <= SYS_io_cancel) || number == SYS_io_pgetevents) && pt_several()) {
		long result = pt_kernel_aio(number, a);
		return result < 0 ? th_result((int)-result) : result;
	}
	return th_call_touched(number, a);
}

#pragma GCC visibility push(default)

/* Of liburing, which makes its calls without the C library. */
#define SYSCALL_ABSENT(name, parameters, arguments)                                                                    \
	TH_WEAK int name parameters;                                                                                   \
	TH_WEAK int name parameters                                                                                    \
	{                                                                                                              \
		int(*next) parameters;                                                                                 \
		*(void **)&next = dlsym(RTLD_NEXT, #name);                                                             \
		return !next || pt_several() ? -ENOSYS : next arguments;                                               \
	}
SYSCALL_ABSENT(io_uring_setup, (unsigned entries, void *p), (entries, p))
SYSCALL_ABSENT(io_uring_queue_init, (unsigned entries, void *ring, unsigned flags), (entries, ring, flags))
SYSCALL_ABSENT(io_uring_queue_init_params, (unsigned entries, void *ring, void *p), (entries, ring, p))
SYSCALL_ABSENT(io_uring_queue_init_mem, (unsigned entries, void *ring, void *p, void *buffer, size_t size),
               (entries, ring, p, buffer, size))

#pragma GCC visibility pop
