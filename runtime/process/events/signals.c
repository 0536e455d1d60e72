/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c - dispositions and masks of the program's threads, and the calls of its handlers.
 *
 * A handler is code of the program: it may use shared memory, and call Tweed.  So it is called at once only where the
 * signal has interrupted the program's own code, in the thread with the baton, or a call of the kernel that may block.
 * Elsewhere it is deferred: until the thread's next call of Tweed or its next wait, or until the thread is found in its
 * own code. */
#include "runtime/process/events/accept.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/signals.h"
#include "core/process/syscalls.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/far.h"
#include "runtime/process/events/frame.h"
#include "runtime/process/events/signalfd.h"
#include "runtime/process/hosts/first_host.h"
#include "runtime/process/program_heap.h"
#include "runtime/process/state.h"
#include "runtime/threads/baton.h"

#define SIGNALS_DUE  16
#define SIGNALS_CODE 1000 /* below all of the kernel's */

__thread struct host_thread *signals_thread;
/* In the pinned part of the stack. */
static __thread struct {
	unsigned n;
	bool ends; /* one of them ends a wait */
	siginfo_t info[SIGNALS_DUE];
} due;
static uint32_t seen[NSIG]; /* host->changed */

static uint64_t signals_bits(const sigset_t *set)
{
	uint64_t bits;

	memcpy(&bits, set, sizeof(bits));
	return bits;
}

static void mask_set(int how, const sigset_t *set, sigset_t *before)
{
	syscall(SYS_rt_sigprocmask, how, set, before, (size_t)NSIG / 8);
}

int signals_code(int code)
{
	return code < 0 && code != SI_TKILL ? code : -SIGNALS_CODE - code;
}

void signals_received(siginfo_t *info)
{
	if (info->si_code <= -SIGNALS_CODE / 2)
		info->si_code = -SIGNALS_CODE - info->si_code;
	pid_t program =
	    signals_program(); /* 0 where the calls of other hosts are made: their signals name it already */
	bool sent = info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE ||
	            info->si_code == SI_ASYNCIO;
	for (uint32_t k = 0; sent && program && k < host->processors; k++)
		if (info->si_pid == host->processor[k].pid)
			info->si_pid = program;
}

bool signals_hidden(int signal, int code)
{
	bool key = code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT || signal == SIGHUP);

	return key ? tw_me && tw_me->id != 0 : signal == SIGCHLD && code > 0 && far_here();
}

long signals_queue(const struct host_thread *t, const siginfo_t *info)
{
	_Atomic uint32_t *lock = &host->processor[t->processor].queue;
	sigset_t before;

	host_take(lock, &before);
	long result = syscall(SYS_rt_sigqueueinfo, t->pid, info->si_signo, info);
	int error = errno;
	host_give(lock, &before);
	errno = error;
	return result;
}

/* While a SIGCHLD is pending, the kernel drops the next one.  So the one of the child that only Tweed knows is taken
 * away before the program's can be sent. */
void th_signals_fork(bool begins)
{
	static sigset_t before;
	static const struct timespec none = {0, 0};
	_Atomic uint32_t *lock = &host->processor[host_self].queue;
	sigset_t child;
	siginfo_t info;

	if (begins) {
		host_take(lock, &before);
		mask_set(SIG_SETMASK, &before, NULL);
		return;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	mask_set(SIG_BLOCK, &child, NULL);
	if (syscall(SYS_rt_sigtimedwait, &child, &info, &none, (size_t)NSIG / 8) > 0 &&
	    !signals_hidden(SIGCHLD, info.si_code))
		syscall(SYS_rt_sigqueueinfo, syscall(SYS_getpid), SIGCHLD, &info);
	host_give(lock, &before);
}

pid_t signals_program(void)
{
	return th_state_pid();
}

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

static bool action_handles(const struct sigaction *a)
{
	return (a->sa_flags & SA_SIGINFO) || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

struct handler {
	const struct sigaction *action;
	siginfo_t *info;
	void *uc;
};

static void handler_enter(void *arg)
{
	const struct handler *h = arg;
	void *signal = (void *)(intptr_t)h->info->si_signo;

	if (h->action->sa_flags & SA_SIGINFO)
		th_call(TH_CALLED(h->action->sa_sigaction), signal, h->info, h->uc);
	else
		th_call(TH_CALLED(h->action->sa_handler), signal, NULL, NULL);
}

/* @mask: what the thread blocks beside. */
static void handler_call(siginfo_t *info, void *uc, const sigset_t *mask)
{
	int signal = info->si_signo, saved = errno;
	struct sigaction a = host->action[signal], none = {.sa_handler = SIG_DFL};
	sigset_t blocked;

	if (!action_handles(&a))
		return;
	sigorset(&blocked, mask, &a.sa_mask);
	if (!(a.sa_flags & SA_NODEFER))
		sigaddset(&blocked, signal);
	tw_signal_sieve(&blocked, &blocked);
	if (a.sa_flags & SA_RESETHAND)
		sigaction(signal, &none, NULL);
	mask_set(SIG_SETMASK, &blocked, NULL);
	if (signals_thread)
		th_order(); /* it sees what the sender had stored (send.c) */
	struct handler h = {&a, info, uc};
	if (!(a.sa_flags & SA_ONSTACK) || !th_frame_alternate(handler_enter, &h))
		handler_enter(&h);
	errno = saved;
}

/* th_due */
static unsigned signals_due(void)
{
	sigset_t all, mask;
	siginfo_t info;
	ucontext_t here;
	int saved = errno;
	unsigned called = due.ends ? 2 : due.n ? 1 : 0;

	th_due_here = false;
	if (!due.n)
		return 0;
	sigfillset(&all);
	tw_signal_sieve(&all, &all);
	mask_set(SIG_SETMASK, &all, &mask);
	getcontext(&here);
	while (due.n) {
		info = due.info[0];
		memmove(due.info, due.info + 1, --due.n * sizeof(info));
		handler_call(&info, &here, &mask);
		mask_set(SIG_SETMASK, &all, NULL);
	}
	due.ends = false;
	if (signals_thread)
		atomic_store(&signals_thread->deferred, 0);
	mask_set(SIG_SETMASK, &mask, NULL);
	errno = saved;
	return called;
}

static void handler_defer(const siginfo_t *info)
{
	for (unsigned i = 0; i < due.n; i++)
		if (due.info[i].si_signo == info->si_signo && info->si_signo < SIGRTMIN)
			return;
	if (due.n < SIGNALS_DUE)
		due.info[due.n++] = *info;
	due.ends |= !(host->action[info->si_signo].sa_flags & SA_RESTART);
	if (signals_thread)
		atomic_store(&signals_thread->deferred, 1);
	th_baton_due();
	host_inform(false);
}

/* @code: as received.  The instruction itself has caused it, or abort(): the process ends after the handler.  What
 * threads send to others has a code of signals_code(). */
static bool handler_must(int signal, int code)
{
	return (signal == SIGABRT && code == SI_TKILL) || signal == SIGSYS ||
	       ((signal == SIGFPE || signal == SIGILL) && code > 0);
}

/* On the program's stack; the signals are blocked. */
static void signals_run(int signal, siginfo_t *info, void *uc)
{
	bool was = tw_syscalls_blocked, point = th_point;
	sigset_t mask, all;

	(void)signal;
	th_stack_reserve();
	tw_syscalls_blocked = th_point = false;
	sigemptyset(&mask);
	memcpy(&mask, &((ucontext_t *)uc)->uc_sigmask, NSIG / 8);
	handler_call(info, uc, &mask);
	sigfillset(&all);
	tw_signal_sieve(&all, &all);
	mask_set(SIG_SETMASK, &all, NULL);
	tw_syscalls_blocked = was;
	th_point = point;
}

static void signals_handler(int signal, siginfo_t *from, void *uc)
{
	const sigset_t *mask = &((ucontext_t *)uc)->uc_sigmask;
	siginfo_t info = *from;
	int saved = errno;

	if (signals_hidden(signal, from->si_code))
		return;
	signals_received(&info);
	bool now = th_baton_mine() && (tw_syscalls_blocked || th_turn_program(uc));
	if (!signals_thread || handler_must(signal, from->si_code)) {
		bool was = tw_syscalls_blocked;
		tw_syscalls_blocked = false;
		handler_call(&info, uc, mask);
		tw_syscalls_blocked = was;
	} else if (!now || !th_frame_call(uc, &info, signals_run)) {
		handler_defer(&info);
	}
	errno = saved;
}

/* ---- dispositions ------------------------------------------------------------------------------------------------ */

/* A bit for each signal that the program handles. */
static uint64_t actions_handled(void)
{
	uint64_t handled = 0;

	for (int s = 1; s < NSIG; s++)
		if (action_handles(&host->action[s]))
			handled |= host_bit(s);
	return handled;
}

/* Let the kernel do for this process what the page says. */
static void action_apply(int signal)
{
	struct sigaction a = host->action[signal];

	if (action_handles(&a) && !tw_signal_taken(signal)) {
		a.sa_sigaction = signals_handler;
		a.sa_flags = (a.sa_flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT)) | SA_SIGINFO | SA_ONSTACK;
		sigfillset(&a.sa_mask);
	}
	tw_signal_set(signal, &a, NULL);
}

void signals_set(int signal, const struct sigaction *action, struct sigaction *old)
{
	sigset_t before;

	host_lock(&before);
	struct sigaction was = host->action[signal];
	if (action) {
		host->action[signal] = *action;
		host->changed[signal]++;
	}
	host_unlock(&before);
	if (action) {
		host_inform(true);
		host_far_inform(UINT32_MAX, true);
	}
	*old = was;
}

static int signals_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction was;

	if (signal < 1 || signal >= NSIG || signal == SIGKILL || signal == SIGSTOP || !host_shared())
		return tw_signal_set(signal, action, old);
	if (far_here())
		far_action(signal, action, &was);
	else
		signals_set(signal, action, &was);
	if (old)
		*old = was;
	return 0;
}

static void signals_first(void)
{
	for (int s = 1; s < NSIG; s++)
		tw_signal_set(s, NULL, &host->action[s]);
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

void signals_accept(uint64_t set)
{
	struct host_thread *t = signals_thread;
	sigset_t mask;

	if (!t || !host_shared())
		return;
	mask_set(SIG_SETMASK, NULL, &mask);
	set |= ~signals_bits(&mask);
	uint64_t was = atomic_exchange(&t->accepts, set);
	if (was == set)
		return;
	host_inform(set & ~was);
	if (far_here())
		far_accept();
}

/* After the thread's mask has changed.  @caller: of the program. */
static void signals_mask_changed(const void *caller)
{
	if (!signals_thread || !host_shared() || !th_heap_shares(caller))
		return;
	signals_accept(0);
	th_due_now();
}

int signals_deliver(uint32_t to, const struct host_signal *signal)
{
	struct host_signal s = *signal;
	int number = s.info.si_signo;
	const struct host_thread *t = NULL;

	if (to == UINT32_MAX) {
		t = signals_acceptor(number, UINT32_MAX);
		to = t ? 0 : host_far_acceptor(number);
		if (!t && !to && signalfd_send(&s.info))
			return 0;
	}
	s.info.si_code = signals_code(s.info.si_code);
	if (to)
		return host_far_send(to, &s);
	if (s.pid)
		return syscall(SYS_rt_tgsigqueueinfo, s.pid, s.tid, number, &s.info) < 0 ? errno : 0;
	if (t)
		return signals_queue(t, &s.info) < 0 ? errno : 0;
	return syscall(SYS_rt_sigqueueinfo, host->processor[0].pid, number, &s.info) < 0 ? errno : 0;
}

struct host_thread *signals_acceptor(int signal, uint32_t except)
{
	for (uint32_t i = 0; i < host->threads; i++) {
		struct host_thread *t = &host->thread[i];
		if (atomic_load(&t->tid) && t->processor != except && (atomic_load(&t->accepts) & host_bit(signal)))
			return t;
	}
	return NULL;
}

bool th_signals_handled(void)
{
	return host_shared() && (actions_handled() & ~TW_SIGNALS_CAUSED);
}

void th_signals_thread(void)
{
	sigset_t before;
	uint32_t i = 0;

	host_lock(&before);
	while (i < host->threads && atomic_load(&host->thread[i].tid))
		i++;
	struct host_thread *t = i < HOST_THREADS ? &host->thread[i] : NULL;
	if (t) {
		t->pid = (int32_t)syscall(SYS_getpid);
		t->processor = host_self;
		atomic_store(&t->accepts, 0);
		atomic_store(&t->deferred, 0);
		atomic_store(&t->tid, (int32_t)syscall(SYS_gettid));
		host->threads = TW_MAX(host->threads, i + 1);
	}
	signals_thread = t;
	due.n = 0;
	host_unlock(&before);
	signals_accept(0);
}

void th_signals_thread_end(void)
{
	struct host_thread *t = signals_thread;
	sigset_t all;

	sigfillset(&all);
	tw_signal_sieve(&all, &all);
	th_due_now();
	mask_set(SIG_SETMASK, &all, NULL);
	signals_thread = NULL;
	if (!t)
		return;
	atomic_store(&t->accepts, 0);
	atomic_store(&t->tid, 0);
	host_inform(false);
	if (far_here())
		far_accept();
}

void th_signals_none(void)
{
	sigset_t all;

	sigfillset(&all);
	tw_signal_sieve(&all, &all);
	mask_set(SIG_SETMASK, &all, NULL);
}

/* ---- the attendant ----------------------------------------------------------------------------------------------- */

/* Signals for this process that none of its threads accepts, but one of another process, or a signalfd shows. */
static uint64_t attend_set(void)
{
	uint64_t own = 0, others = 0;

	for (uint32_t i = 0; i < host->threads; i++) {
		struct host_thread *t = &host->thread[i];
		if (!atomic_load(&t->tid))
			continue;
		*(t->processor == host_self ? &own : &others) |= atomic_load(&t->accepts);
	}
	for (uint32_t i = 1; i < TW_MAX_NODES; i++)
		if (atomic_load(&host->far[i].known))
			others |= atomic_load(&host->far[i].accepts);
	return (others | signalfd_set()) & ~own;
}

/* Write the signal to a signalfd.  @info: the same signal, as it would be passed on.  Returns whether it did. */
static bool attend_show(const struct signalfd_siginfo *from, siginfo_t info)
{
	struct signalfd_siginfo shown = *from;

	signals_received(&info);
	shown.ssi_code = info.si_code;
	shown.ssi_pid = (uint32_t)info.si_pid;
	return signalfd_put(&shown);
}

static void attend_pass(const struct signalfd_siginfo *from)
{
	siginfo_t info = {.si_signo = (int)from->ssi_signo, .si_code = signals_code(from->ssi_code)};
	const struct host_thread *t = signals_acceptor(info.si_signo, host_self);
	uint32_t to = t ? 0 : host_far_acceptor(info.si_signo);

	info.si_pid = (pid_t)from->ssi_pid;
	info.si_uid = from->ssi_uid;
	if (info.si_signo == SIGCHLD)
		info.si_status = from->ssi_status;
	else
		info.si_value.sival_ptr = (void *)(uintptr_t)from->ssi_ptr;
	if (to && host_far_send(to, &(struct host_signal){.info = info}) == 0)
		return;
	if (!t && attend_show(from, info))
		return;
	if (!t || signals_queue(t, &info) < 0)
		syscall(SYS_rt_sigqueueinfo, host->processor[host_self].pid, info.si_signo, &info);
}

static void attend_actions(void)
{
	bool some = false;

	for (int s = 1; s < NSIG; s++)
		if (seen[s] != host->changed[s]) {
			seen[s] = host->changed[s];
			action_apply(s);
			some = true;
		}
	if (some && tw_me)
		atomic_store(&tw_me->stats->waits.handles, actions_handled());
}

static bool signals_attend(void)
{
	struct signalfd_siginfo info;
	bool again = false;
	sigset_t pending;

	attend_actions();
	host_watch(attend_set());
	while (host_next(&info))
		if (!signals_hidden((int)info.ssi_signo, info.ssi_code))
			attend_pass(&info);
	syscall(SYS_rt_sigpending, &pending, (size_t)NSIG / 8);
	atomic_store(&host->processor[host_self].pending, signals_bits(&pending));
	for (uint32_t i = 0; i < host->threads; i++) {
		const struct host_thread *t = &host->thread[i];
		if (t->processor != host_self || !atomic_load(&t->tid) || !atomic_load(&t->deferred))
			continue;
		syscall(SYS_tgkill, t->pid, t->tid, TW_TURN_SIGNAL);
		again = true;
	}
	return again;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int signals_block(int fd, short events, const void *caller)
{
	(void)fd;
	(void)events;
	return th_heap_shares(caller);
}

void th_events_open(void)
{
	tw_syscalls_block = signals_block;
	th_due = signals_due;
	th_turns_take();
	host_open(signals_first, signals_attend);
	tw_signal_program = signals_action;
	tw_signal_masked = signals_mask_changed;
	signals_send_open();
	children_open();
	service_open();
	th_hosts_start();
}

/* The kernel calls its handlers, as in any process. */
void th_events_child(void)
{
	tw_signal_program = NULL;
	tw_signal_masked = NULL;
	tw_signal_suspend = NULL;
	th_due = NULL;
	signals_thread = NULL;
	due.n = 0;
	for (int s = 1; s < NSIG; s++) {
		struct sigaction a = host->action[s];
		if (action_handles(&a))
			tw_signal_set(s, &a, NULL);
	}
}
