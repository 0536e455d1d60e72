/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that are not ours, and signals around those that are. */
#include "rig.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT ((size_t)8192)

static sigjmp_buf foreign_back;
static void *volatile foreign_address;
static volatile bool foreign_mask_ok;
static char *volatile touch; /* a shared byte that the application's handlers touch */

static void foreign_info(int signal, siginfo_t *si, void *uc)
{
	sigset_t now;
	(void)uc;
	sigprocmask(SIG_BLOCK, NULL, &now);
	/* ThreadSanitizer blocks everything in all handlers. */
	foreign_mask_ok = TW_TSAN || (sigismember(&now, SIGALRM) == 0 && sigismember(&now, SIGUSR2) == 1 &&
	                              sigismember(&now, signal) == 0); /* SA_NODEFER */
	foreign_address = si->si_addr;
	if (!TW_TSAN)
		*touch = 3;
	siglongjmp(foreign_back, 1);
}

static void foreign_plain(int signal)
{
	(void)signal;
	siglongjmp(foreign_back, 2);
}

/* A page whose access is the kernel's SIGSEGV or SIGBUS. */
static char *bad_page(int signal)
{
	static char *bus;
	FILE *f;

	if (signal == SIGSEGV)
		return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!bus && (f = tmpfile()))
		bus = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	return bus;
}

static const char *foreign(const struct tw_fault_ops *ops, struct rig *rig, int signal, bool info)
{
	struct sigaction sa = {.sa_flags = info ? SA_SIGINFO | SA_NODEFER : SA_NODEFER}, was, now;
	char *volatile bad = bad_page(signal);
	const char *volatile why = NULL;

	if (info)
		sa.sa_sigaction = foreign_info;
	else
		sa.sa_handler = foreign_plain;
	sigemptyset(&sa.sa_mask);
	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaction(signal, &sa, &was);
	rig_open(rig, ops, UNIT, 64, false);
	touch = rig->fault.app + 5 * UNIT;
	for (volatile unsigned i = 0; i < 3 && !why; i++) {
		foreign_address = NULL;
		foreign_mask_ok = false;
		int came = sigsetjmp(foreign_back, 1);
		if (!came) {
			*(volatile char *)(bad + 12) = 1;
			why = "the access did not fault";
		} else if (came != (info ? 1 : 2)) {
			why = "another handler ran";
		} else if (info && (foreign_address != bad + 12 || (!TW_TSAN && rig->fault.view[5 * UNIT] != 3))) {
			why = "the handler got a wrong address, or could not use shared memory";
		} else if (info && !foreign_mask_ok) {
			why = "the handler ran with a wrong signal mask";
		} else {
			why = rig_store(rig, (10 + i) * UNIT, 1);
		}
	}
	rig->fault.ops->close(&rig->fault);
	sigaction(signal, NULL, &now);
	if (!why && (info ? now.sa_sigaction != foreign_info : now.sa_handler != foreign_plain))
		why = "close did not give the signal back";
	if (rig->fault.ops->open(&rig->fault))
		why = "it cannot be opened again";
	sigaction(signal, &was, NULL);
	return why;
}

enum death { BY_ACCESS, BY_IGNORED_ACCESS, BY_KILL, BY_SHARED_ACCESS };

/* In a child: the same death with the backend as without it. */
static const char *death(const struct tw_fault_ops *ops, int signal, enum death how)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		static struct rig rig;
		struct rlimit no_core = {0, 0};
		setrlimit(RLIMIT_CORE, &no_core);
		alarm(10);
		struct sigaction sa = {.sa_handler = how == BY_IGNORED_ACCESS ? SIG_IGN : SIG_DFL};
		sigaction(signal, &sa, NULL);
		rig_open(&rig, ops, UNIT, 64, false);
		if (rig_store(&rig, 0, 1))
			_exit(3);
		if (how == BY_KILL) {
			kill(getpid(), signal);
		} else if (how == BY_SHARED_ACCESS) {
			pid_t grandchild = fork();
			if (grandchild == 0) {
				*(volatile char *)rig.fault.app = 1;
				_exit(0);
			}
			waitpid(grandchild, &status, 0);
			_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 42 : 1);
		} else {
			*(volatile char *)bad_page(signal) = 1;
		}
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (SANITIZED)
		return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "the process lives on" : NULL;
	if (how == BY_SHARED_ACCESS)
		return WIFEXITED(status) && WEXITSTATUS(status) == 42 ? NULL : "a forked child can use shared memory";
	return WIFSIGNALED(status) && WTERMSIG(status) == signal ? NULL : "not killed by that signal";
}

static volatile unsigned ticks;

static void on_tick(int signal)
{
	(void)signal;
	ticks++;
}

static void on_user(int signal)
{
	(void)signal;
	*touch = 4;
}

/* Application handlers on an alternate stack fault too; with their own stack, or ours. */
static const char *stacks(struct rig *rig, bool own)
{
	size_t bytes = 96 << 10;
	stack_t stack = {.ss_sp = malloc(bytes), .ss_size = bytes}, was;
	struct sigaction sa = {.sa_handler = on_user, .sa_flags = SA_ONSTACK};
	const char *why = NULL;

	rig->stack = 40 << 10;
	if (own)
		sigaltstack(&stack, &was);
	sigaction(SIGUSR1, &sa, NULL);
	for (size_t i = 0; i < 8 && !why; i++) {
		unsigned before = rig->faults;
		rig_set(rig, i, 1, TW_NONE);
		touch = rig->fault.app + i * UNIT;
		raise(SIGUSR1);
		if (rig->faults != before + 1 || rig->fault.view[i * UNIT] != 4)
			why = "a store from a signal handler did not fault once";
		else
			why = rig_load(rig, (20 + i) * UNIT, 0);
	}
	if (own)
		sigaltstack(&was, NULL);
	free(stack.ss_sp);
	rig->stack = 0;
	return why;
}

/* Signals that interrupt: no fault is lost, none is served twice. */
static const char *interrupted(struct rig *rig)
{
	struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	const char *why = NULL;

	for (size_t i = 0; i < rig->units; i++)
		rig_set(rig, i, 1, TW_NONE);
	ticks = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned i = 0; (i < 4000 || ticks < 20) && !why; i++) {
		size_t unit = i % rig->units;
		errno = 77;
		why = rig_store(rig, unit * UNIT + 9, (unsigned char)i);
		if (!why && errno != 77)
			why = "errno changed";
		rig_set(rig, unit, 1, i & 1 ? TW_READ : TW_NONE);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	return why;
}

void signals_run(const struct tw_fault_ops *ops)
{
	struct rig rig;

	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"foreign SIGSEGV, plain handler",
		                                    "foreign SIGSEGV, siginfo handler", "foreign SIGBUS, plain handler",
		                                    "foreign SIGBUS, siginfo handler"};
		const char *why = foreign(ops, &rig, i < 2 ? SIGSEGV : SIGBUS, i & 1);
		result(&rig, names[i], why);
		rig_close(&rig);
	}
	rig_open(&rig, ops, UNIT, 64, false);
	if (!TW_TSAN || (ops->caps & TW_FAULT_THREAD)) { /* else the trap's own signal is blocked in all handlers */
		result(&rig, "faults on the backend's alternate stack", stacks(&rig, false));
		result(&rig, "faults on the application's alternate stack", stacks(&rig, true));
	}
	result(&rig, "faults under a storm of signals", interrupted(&rig));
	rig_close(&rig);
	result(&rig, "default SIGSEGV", death(ops, SIGSEGV, BY_ACCESS));
	result(&rig, "default SIGBUS", death(ops, SIGBUS, BY_ACCESS));
	result(&rig, "ignored SIGSEGV", death(ops, SIGSEGV, BY_IGNORED_ACCESS));
	result(&rig, "ignored SIGBUS", death(ops, SIGBUS, BY_IGNORED_ACCESS));
	result(&rig, "SIGSEGV sent", death(ops, SIGSEGV, BY_KILL));
	result(&rig, "SIGBUS sent", death(ops, SIGBUS, BY_KILL));
	result(&rig, "a forked child has no shared memory", death(ops, SIGSEGV, BY_SHARED_ACCESS));
}
