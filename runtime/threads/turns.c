/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.c - a thread that computes without a wait gives the baton away, too.
 *
 * A thread of the processor's process looks at times whether the same thread has had the baton since it looked last,
 * while others could need it, and then interrupts that thread by a signal.  The handler gives the baton away only where
 * the signal has interrupted the program's own code: neither Tweed nor a library is active then, so no lock of theirs
 * is held; or where a call of the kernel may block, which is then made again.  Elsewhere the turn ends with a later
 * call of the run-time, or by the next signal. */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/process/syscalls.h"
#include "runtime/process/events/frame.h"
#include "runtime/process/hosts/first_host.h"
#include "runtime/threads/baton.h"

#define TURN_NS      10000000 /* between two looks */
#define TURN_IDLE_NS 50000000 /* the same while the processor waits */

extern const char tw_program_start[], tw_text_start[]; /* the program's code (runtime/stores/globals.ld) */

static struct {
	bool (*ordered)(void);
	_Atomic uint32_t stop, looking;
	_Atomic uint64_t over; /* the turn that is to end */
	_Atomic int32_t sent;  /* the thread that has not handled the signal yet: real-time signals add up */
	bool begun;
} turns;

__thread volatile bool th_turn_came;
void (*_Atomic th_turn_look)(const sigset_t *mask);
void (*th_turn_cancel)(const siginfo_t *si, void *uc);
__thread volatile bool th_point;
__thread const sigset_t *th_point_mask;
void (*th_point_look)(void);

bool th_turn_program(const void *context)
{
	const ucontext_t *uc = context;
#if defined(__x86_64__)
	uintptr_t ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	bool stepping = uc->uc_mcontext.gregs[REG_EFL] & 0x100; /* behind a fault, under a lock (core/fault/trap.c) */

	return ip - (uintptr_t)tw_program_start < (uintptr_t)tw_text_start - (uintptr_t)tw_program_start && !stepping &&
	       !th_atomic_inside();
#else
	(void)uc;
	return false;
#endif
}

/* On the program's stack. */
static void turn_due(int signal, siginfo_t *si, void *uc)
{
	bool was = tw_syscalls_blocked, point = th_point;

	(void)signal, (void)si, (void)uc;
	th_stack_reserve();
	tw_syscalls_blocked = th_point = false;
	th_due_now();
	tw_syscalls_blocked = was;
	th_point = point;
}

/* The signal comes for the turn's end, or for handlers that are due, again and again.  If each of these ended the turn,
 * the thread would execute nothing of the program. */
static bool turn_over(void)
{
	int32_t tid;
	uint64_t turn = th_baton_turn(&tid);

	return turns.begun && turn && turn == atomic_load(&turns.over);
}

static void turn_end(const siginfo_t *si, void *uc, const sigset_t *mask)
{
	if (turn_over())
		th_baton_interrupt(mask);
	if (th_due_here && th_baton_mine())
		th_frame_call(uc, si, turn_due); /* changes the mask in the context */
}

static void turn_handler(int signal, siginfo_t *si, void *uc)
{
	int saved = errno;
	bool own = si->si_code == SI_TKILL && si->si_pid == getpid();

	th_turn_came |= own;
	if (own)
		atomic_store(&turns.sent, 0);
	if (th_turn_cancel && si->si_code == SI_QUEUE && si->si_value.sival_int == TH_TURN_CANCEL)
		th_turn_cancel(si, uc);
	else if (!own)
		tw_signal_chain(signal, si, uc);
	else if (tw_syscalls_blocked || th_turn_program(uc))
		turn_end(si, uc, tw_syscalls_blocked ? NULL : &((ucontext_t *)uc)->uc_sigmask);
	else if (turn_over())
		th_turn_is_over++;
	errno = saved;
}

/* May another thread need the processor? */
static bool turns_wanted(void)
{
	return th_crowd > 1 || th_turn_look || turns.ordered();
}

static void *turns_run(void *arg)
{
	uint64_t seen = 0;
	int32_t tid;

	(void)arg;
	while (!atomic_load(&turns.stop)) {
		bool idle = th_baton_turn(&tid) == 0;
		struct timespec pause = {0, idle ? TURN_IDLE_NS : TURN_NS};
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
		atomic_store(&turns.looking, 1);
		uint64_t turn = th_baton_turn(&tid);
		if (!atomic_load(&turns.stop) && turn && turn == seen && turns_wanted()) {
			atomic_store(&turns.over, turn);
			if (atomic_exchange(&turns.sent, tid) != tid)
				syscall(SYS_tgkill, getpid(), tid, TW_TURN_SIGNAL);
		}
		atomic_store(&turns.looking, 0);
		seen = turn;
	}
	return NULL;
}

/* ---- in virtual time: turns end by the processor's clock, in any block of the program ---------------------------- */

/* What compilers call in each block of a program that counts its work: then the program has it. */
void __sanitizer_cov_trace_pc(void) __attribute__((weak));

static void turns_worked(void)
{
	static uint64_t seen, since;
	int32_t tid;
	uint64_t turn = th_baton_turn(&tid), now = tw_time_ns();

	if (turn != seen)
		since = now;
	seen = turn;
	if (!turn || now - since < TURN_NS || th_atomic_inside() || !turns_wanted())
		return;
	int saved = errno;
	th_stack_reserve();
	th_turn_is_over = 1;
	th_turn_point();
	errno = saved;
}

void th_turns_open(bool (*ordered)(void))
{
	turns.ordered = ordered;
}

void th_turns_check(void)
{
	if (tw_virtual && !__sanitizer_cov_trace_pc)
		th_refuse("a program of threads runs in virtual time if it counts its work: build it with --count");
}

void th_turns_take(void)
{
	tw_signal_take(TW_TURN_SIGNAL, turn_handler);
}

void th_turns_begin(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (turns.begun)
		return;
	turns.begun = true;
	if (tw_virtual) {
		tw_worked = turns_worked;
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)256 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	int error = th_hosts_create(&thread, &attr, turns_run, NULL);
	pthread_attr_destroy(&attr);
	if (error) /* threads take turns where they wait */
		tw_log("no thread for turns: errno %d", error);
}

void th_turns_end(void)
{
	atomic_store(&turns.stop, 1);
	while (atomic_load(&turns.looking))
		tw_pause();
}
