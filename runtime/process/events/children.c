/* SPDX-License-Identifier: BSD-3-Clause */
/* children.c - processes that the program has made.  The kernel knows them as children of the processor that made them,
 * whose attendant waits for them on behalf of other threads. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/process/fork.h"
#include "core/process/syscalls.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/far.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/baton.h"

#define CHILDREN_POLLS      256
#define CHILDREN_LOOK       10 /* ms: while children that stop are waited for, or too many */
#define CHILDREN_NEXT(name) ((__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name))

void children_known(pid_t pid, uint32_t of)
{
	sigset_t before;

	host_lock(&before);
	for (unsigned i = 0; i < HOST_CHILDREN; i++)
		if (!host->child[i].pid) {
			host->child[i] = (struct host_child){pid, of};
			break;
		}
	host_unlock(&before);
}

/* On another host the first one has added it. */
void th_children_add(pid_t pid)
{
	if (host_shared() && !far_here())
		children_known(pid, host_self);
}

static bool children_match(const struct children_wait *w, pid_t pid)
{
	if (w->type != P_PGID)
		return w->type == P_ALL || w->id == (id_t)pid;
	return syscall(SYS_getpgid, pid) == (w->id ? (long)w->id : syscall(SYS_getpgid, 0));
}

/* With the lock: ask the child's parent, without waiting.  Returns as wait4 does: 0: nothing new. */
static long children_ask(struct children_wait *w, struct host_child *child)
{
	struct children_data {
		int status;
		struct rusage usage;
		siginfo_t info;
	} *data = (void *)host->data;
	long result;

	memset(data, 0, sizeof(*data));
	if (w->plain) {
		result = host_call(child->processor, SYS_wait4,
		                   (const long[6]){child->pid, (long)(uintptr_t)&data->status, w->options | WNOHANG,
		                                   (long)(uintptr_t)&data->usage});
	} else {
		result = host_call(child->processor, SYS_waitid,
		                   (const long[6]){P_PID, child->pid, (long)(uintptr_t)&data->info,
		                                   w->options | WNOHANG, (long)(uintptr_t)&data->usage});
		if (!result)
			result = data->info.si_pid;
	}
	bool gone = w->plain ? WIFEXITED(data->status) || WIFSIGNALED(data->status)
	                     : !(w->options & WNOWAIT) &&
	                           (data->info.si_code == CLD_EXITED || data->info.si_code == CLD_KILLED ||
	                            data->info.si_code == CLD_DUMPED);
	w->status = data->status;
	w->usage = data->usage;
	w->info = data->info;
	if (result == -ECHILD || (result > 0 && gone))
		child->pid = 0;
	return result;
}

/* Ask for all that match.  @polls: gets descriptors of those that live; may be NULL.  Returns > 0: w has the results;
 * 0: none; -ECHILD: there is none that matches. */
static long children_look(struct children_wait *w, struct pollfd *polls, unsigned *n)
{
	sigset_t before;
	long result = -ECHILD;

	*n = 0;
	host_lock(&before);
	for (unsigned i = 0; i < HOST_CHILDREN && result <= 0; i++) {
		struct host_child *child = &host->child[i];
		if (!child->pid || !children_match(w, child->pid))
			continue;
		pid_t pid = child->pid;
		long r = children_ask(w, child);
		if (r >= 0)
			result = r;
		if (r == 0 && polls && *n < CHILDREN_POLLS && !(w->options & WNOHANG))
			polls[(*n)++] = (struct pollfd){(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
	}
	host_unlock(&before);
	return result;
}

/* Until one of them ends.  Returns false when a signal's handler ends the wait. */
static bool children_sleep(struct pollfd *polls, unsigned n, int options)
{
	bool look = (options & (WSTOPPED | WCONTINUED)) || n == CHILDREN_POLLS;

	th_away();
	th_point_begin(NULL);
	long result = syscall(SYS_poll, polls, n, look ? CHILDREN_LOOK : -1);
	th_point_end();
	int error = errno;
	th_back();
	return th_due_now() < 2 || result >= 0 || error != EINTR;
}

long children_try(struct children_wait *w, int ms)
{
	struct pollfd polls[CHILDREN_POLLS];
	unsigned n;
	long result = children_look(w, polls, &n);

	if (n)
		syscall(SYS_poll, polls, n, ms);
	for (unsigned i = 0; i < n; i++)
		syscall(SYS_close, polls[i].fd);
	return n ? children_look(w, NULL, &n) : result;
}

/* Is there news?  Otherwise the first host has waited for a while. */
static long children_wait_far(struct children_wait *w)
{
	for (;;) {
		th_away();
		long result = far_wait(w);
		th_back();
		unsigned called = th_due_now();
		if (result || (w->options & WNOHANG))
			return result;
		if (called == 2)
			return -EINTR;
	}
}

/* As the system call; -ECHILD: none of those that are known. */
static long children_wait(struct children_wait *w)
{
	struct pollfd polls[CHILDREN_POLLS];
	unsigned n;
	bool goes_on = true;

	th_stack_reserve();
	if (th_point_look) /* a child that has ended is not waited for */
		th_point_look();
	if (far_here())
		return children_wait_far(w);
	for (;;) {
		long result = children_look(w, polls, &n);
		if (result == 0 && !(w->options & WNOHANG))
			goes_on = children_sleep(polls, n, w->options);
		for (unsigned i = 0; i < n; i++)
			syscall(SYS_close, polls[i].fd);
		if (result || (w->options & WNOHANG)) {
			th_due_now(); /* SIGCHLD of this child, before that of another */
			return result;
		}
		if (!goes_on)
			return -EINTR;
	}
}

static bool children_shared(void)
{
	return host_shared() && th_stack_own();
}

static void children_spawned(pid_t pid)
{
	if (children_shared())
		th_children_add(pid);
}

void children_open(void)
{
	tw_exec_spawned = children_spawned;
}

#pragma GCC visibility push(default)

TH_WEAK pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	struct children_wait w = {.options = options, .plain = true, .id = (id_t)(pid < -1 ? -pid : pid)};
	int own = 0;

	if (!children_shared())
		return (pid_t)syscall(SYS_wait4, pid, status, options, usage);
	w.type = pid > 0 ? P_PID : pid == -1 ? P_ALL : P_PGID;
	long result = children_wait(&w);
	if (result == -ECHILD) { /* made in another way, or not there */
		memset(&w.usage, 0, sizeof(w.usage));
		th_away();
		result = syscall(SYS_wait4, pid, &own, options, &w.usage);
		result = result < 0 ? -errno : result;
		th_back();
		th_due_now();
		w.status = own;
	}
	if (result > 0 && status)
		*status = w.status;
	if (result > 0 && usage)
		*usage = w.usage;
	if (result >= 0)
		return (pid_t)result;
	errno = (int)-result;
	return -1;
}

TH_WEAK pid_t waitpid(pid_t pid, int *status, int options)
{
	return wait4(pid, status, options, NULL);
}

TH_WEAK pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait4(-1, status, options, usage);
}

TH_WEAK pid_t wait(int *status)
{
	return wait4(-1, status, 0, NULL);
}

TH_WEAK int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	struct children_wait w = {.type = type, .id = id, .options = options};

	if (!children_shared() || (type != P_ALL && type != P_PID && type != P_PGID))
		return CHILDREN_NEXT(waitid)(type, id, info, options);
	long result = children_wait(&w);
	if (result == -ECHILD)
		return CHILDREN_NEXT(waitid)(type, id, info, options);
	if (result >= 0 && info)
		*info = w.info;
	if (result >= 0)
		return 0;
	errno = (int)-result;
	return -1;
}

/* fork() copies the shared memory for its child. */
TH_WEAK int clone(int (*run)(void *), void *stack, int flags, void *argument, ...)
{
	void *a[3]; /* where its number goes in the parent, its thread-local variables, where its number goes */
	va_list ap;

	if (tw_me && !tw_forked() && th_heap_shares(NULL))
		th_refuse("clone: a process that is made so cannot use the program's memory: call fork, posix_spawn or "
		          "pthread_create");
	va_start(ap, argument);
	for (unsigned i = 0; i < 3; i++)
		a[i] = va_arg(ap, void *);
	va_end(ap);
	return CHILDREN_NEXT(clone)(run, stack, flags, argument, a[0], a[1], a[2]);
}

#pragma GCC visibility pop
