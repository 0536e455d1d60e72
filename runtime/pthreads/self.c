/* SPDX-License-Identifier: BSD-3-Clause */
/* self.c - functions that only affect the caller's own thread. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "runtime/pthreads/pthreads.h"
#include "runtime/pthreads/thread.h"
#include "runtime/threads/baton.h"

/* `tweed run` decides where and how threads run: for other threads, such hints have no effect. */
#define HINT(name, parameters, ...)                                                                                    \
	int tw_##name parameters                                                                                       \
	{                                                                                                              \
		return thread == pthread_self() ? name(__VA_ARGS__) : 0;                                               \
	}
HINT(pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *how), thread, policy, how)
HINT(pthread_setschedprio, (pthread_t thread, int priority), thread, priority)

/* Queries about other threads return the caller's values. */
#define ASK(name, parameters, ...)                                                                                     \
	int tw_##name parameters                                                                                       \
	{                                                                                                              \
		(void)thread;                                                                                          \
		return name(__VA_ARGS__);                                                                              \
	}
ASK(pthread_getschedparam, (pthread_t thread, int *policy, struct sched_param *how), pthread_self(), policy, how)
ASK(pthread_getcpuclockid, (pthread_t thread, clockid_t *clock), pthread_self(), clock)

/* ---- names: the system knows those of this host's threads alone */

int tw_pthread_setname_np(pthread_t thread, const char *name)
{
	struct thread *t;

	if (strlen(name) >= sizeof(t->name))
		return ERANGE;
	if (pt_enter()) {
		pt_threads_open();
		struct tw_wait_queue *queue = pt_threads_lock();
		t = pt_thread_find(thread);
		if (t)
			strcpy(t->name, name);
		tw_wait_queue_unlock(queue);
		if (!t)
			return ESRCH;
	}
	return thread == pthread_self() ? pthread_setname_np(thread, name) : 0;
}

int tw_pthread_getname_np(pthread_t thread, char *name, size_t bytes)
{
	struct thread *t;

	if ((thread == pthread_self() && !pt_own.thread) || !pt_enter())
		return pthread_getname_np(thread, name, bytes);
	pt_threads_open();
	struct tw_wait_queue *queue = pt_threads_lock();
	t = pt_thread_find(thread);
	int error = !t ? ESRCH : bytes <= strlen(t->name) ? ERANGE : 0;
	if (!error)
		strcpy(name, t->name);
	tw_wait_queue_unlock(queue);
	return error || *name ? error : pthread_getname_np(pthread_self(), name, bytes);
}

/* The C library's own function gives the kernel memory of the shared heap. */
int tw_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	char *end = tw_me && !tw_forked() ? th_stack_own() : NULL;
	bool detached = false;

	if (!end)
		return pthread_getattr_np(thread, attr);
	th_stack_reserve();
	if (pt_thread_stack)
		end = pt_thread_stack(thread, &detached);
	int error = end ? pthread_attr_init(attr) : ESRCH;
	if (!error)
		error = pthread_attr_setstack(attr, th_stack_base(end), (size_t)(end - th_stack_base(end)));
	return error ? error : pthread_attr_setdetachstate(attr, detached);
}

/* ---- cancellation ---- */

__thread int pt_cancel_state;
static __thread int self_cancel_type;

static int self_set(int *now, int value, int *before)
{
	if (value != 0 && value != 1)
		return EINVAL;
	if (before)
		*before = *now;
	*now = value;
	return 0;
}

void pt_cancel_at_once(void)
{
	if (self_cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS && pt_cancel_state == PTHREAD_CANCEL_ENABLE)
		pt_cancel_point();
}

int tw_pthread_setcancelstate(int state, int *before)
{
	int error = self_set(&pt_cancel_state, state, before);

	pt_cancel_at_once();
	return error;
}

/* In a handler, on the stack for signals: the thread's frames are left as they are. */
static void self_look(const sigset_t *mask)
{
	if (self_cancel_type != PTHREAD_CANCEL_ASYNCHRONOUS || pt_cancel_state != PTHREAD_CANCEL_ENABLE)
		return;
	sigset_t now;
	pthread_sigmask(SIG_SETMASK, mask, &now);
	pt_cancel_look();
	pthread_sigmask(SIG_SETMASK, &now, NULL);
}

int tw_pthread_setcanceltype(int type, int *before)
{
	int error = self_set(&self_cancel_type, type, before);

	if (pt_cancel_look && !error && type == PTHREAD_CANCEL_ASYNCHRONOUS)
		th_turn_look = self_look;
	pt_cancel_at_once();
	return error;
}

void tw_pthread_testcancel(void)
{
	pt_enter(); /* a thread may do nothing else, and is in Tweed's code whenever its turn ends */
	pt_cancel_point();
}

/* ---- the machine: it has as many processors as the job ---- */

/* Those on which a thread may run: all; 0 or an error. */
static int self_processors(size_t bytes, cpu_set_t *set)
{
	unsigned count = (unsigned)tw_count();

	if (bytes * 8 < count)
		return EINVAL;
	memset(set, 0, bytes);
	for (unsigned i = 0; i < count; i++)
		CPU_SET_S(i, bytes, set);
	return 0;
}

int tw_pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set)
{
	return tw_me ? self_processors(bytes, set) : pthread_getaffinity_np(thread, bytes, set);
}

int tw_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	if (!tw_me)
		return sched_getaffinity(pid, bytes, set);
	return th_result(self_processors(bytes, set));
}

/* Without effect. */
int tw_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
	(void)thread;
	(void)bytes;
	(void)set;
	return 0;
}

int tw_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	(void)pid;
	(void)bytes;
	(void)set;
	return 0;
}

PT_OWN int tw_get_nprocs(void)
{
	return tw_me ? tw_count() : get_nprocs();
}

PT_OWN long tw_sysconf(int name)
{
	return tw_me && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) ? tw_count() : sysconf(name);
}

/* ---- the machine, for shared libraries of other compilers ----
 * They make as many threads as there are processors (OpenBLAS), which Tweed does not know of: so they find one. */

#define SELF_NEXT(name) ((__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name))

static bool self_alone(const void *caller, size_t bytes, cpu_set_t *set)
{
	if (!th_library_private(caller) || !bytes)
		return false;
	memset(set, 0, bytes);
	CPU_SET_S(0, bytes, set);
	return true;
}

TH_WEAK int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	return self_alone(__builtin_return_address(0), bytes, set) ? 0 : SELF_NEXT(sched_getaffinity)(pid, bytes, set);
}

TH_WEAK int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set)
{
	return self_alone(__builtin_return_address(0), bytes, set)
	           ? 0
	           : SELF_NEXT(pthread_getaffinity_np)(thread, bytes, set);
}

TH_WEAK int get_nprocs(void)
{
	return th_library_private(__builtin_return_address(0)) ? 1 : SELF_NEXT(get_nprocs)();
}

TH_WEAK long sysconf(int name)
{
	static __typeof__(sysconf) *next;
	bool counts = name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF;

	if (counts && th_library_private(__builtin_return_address(0)))
		return 1;
	next = next ? next : SELF_NEXT(sysconf);
	return next(name);
}
