/* SPDX-License-Identifier: BSD-3-Clause */
/* shootdown.c - takes the write right, or all rights, from a processor of the same node (the victim), either by a
 * request (polled, interrupt) or without its cooperation (protect: shootdown_remote.c).
 *
 * A request adds pages to the victim's set `shot`, or to `revoked` if it is to lose all rights, and increments the
 * count in its word `asked`. Bit 0 of that word means that the victim runs no application code: it is in a fault
 * handler, a hook or a wait. It makes no access then, and it complies before it leaves that state or changes one of its
 * own rights (tw_map). So a request that finds the bit set is fulfilled at once, and no requester waits for a victim
 * that is itself waiting. A requester has its own bit set, so two processors that shoot at each other both continue.
 *
 * A victim in application code complies at its next poll, call or fault, or in the handler of TW_SHOOTDOWN_SIGNAL. Only
 * fault handlers block the signal, and they comply on entry. A request is not lost: a stopped victim runs the signal
 * handler before any instruction of the program, so it counts as complied while it is stopped.
 *
 * The processor's thread complies; under uffd-monitor the monitor's thread also does, before it changes a right. Only
 * one of the two complies at a time. The signal handler may also interrupt its own thread while that complies; then it
 * leaves the work to the interrupted code, because a set has one drainer. Checked by tests/models/shootdown.pml. */
#include "core/coherence/shootdown.h"

#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/job/job.h"

#define SHOOT_INSIDE  1u
#define SHOOT_REQUEST 2u

#define SHOOT_SPINS 32 /* between two readings of the clock */

#define SHOOT_PATIENCE_NS ((uint64_t)200000)     /* polled: time for a victim to poll before it is interrupted */
#define SHOOT_LOOK_NS     ((uint64_t)2000000)    /* waiting time between two checks whether the victim is stopped */
#define SHOOT_LATE_NS     ((uint64_t)5000000000) /* after this, the victim must have the signal blocked */

/* The process's state. @depth belongs to @thread, the processor's thread. */
static struct {
	struct tw_proc *me;
	pthread_t thread;
	unsigned depth;        /* of tw_shootdown_enter */
	_Atomic int complying; /* 0: no thread; 1: @thread; 2: the monitor's */
	uint64_t patience_ns;
	/* @left: TW_READ, or TW_NONE */
	void (*shoot)(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims, enum tw_rights left);
} shoot;

_Thread_local volatile bool tw_shootdown_came;
static struct tw_target shoot_none;
struct tw_target *tw_poll_target = &shoot_none;

/* ---- the victim ------------------------------------------------------------------------------------------------- */

static void shoot_downgrade(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;
	struct tw_fault_view view = {me->app, me->fault.shadow, me->fault.handle};

	me->fault.ops->downgrade(&view, (size_t)first << me->layout.page_shift, (size_t)count << me->layout.page_shift);
}

static bool shoot_asked(const struct tw_target *t)
{
	return (atomic_load(&t->asked) & ~SHOOT_INSIDE) != atomic_load(&t->done);
}

static void shoot_unmap(void *ctx, tw_page_t first, unsigned count)
{
	struct tw_proc *me = ctx;

	me->fault.ops->set(&me->fault, (size_t)first << me->layout.page_shift, (size_t)count << me->layout.page_shift,
	                   TW_WRITE, TW_NONE);
}

void tw_poll(void)
{
	if (shoot.depth || !shoot.me)
		return;
	uint64_t t = tw_time_begin(shoot.me);
	tw_shootdown_comply(shoot.me);
	tw_time_end(shoot.me, &shoot.me->stats->now.polling_ns, t);
}

void tw_shootdown_comply(struct tw_proc *me)
{
	struct tw_target *t = me->target;
	int self = pthread_equal(pthread_self(), shoot.thread) ? 1 : 2, idle = 0;

	/* Repeat if the signal handler left work to this thread between the last check and the end. */
	while (shoot_asked(t)) {
		while (!atomic_compare_exchange_strong(&shoot.complying, &idle, self)) {
			if (idle == self)
				return;
			sched_yield();
			idle = 0;
		}
		uint32_t asked = atomic_load(&t->asked) & ~SHOOT_INSIDE;
		tw_pageset_drain(me->shot, shoot_downgrade, me);
		tw_pageset_drain(me->revoked, shoot_unmap, me);
		atomic_store(&t->done, asked);
		if (atomic_load(&t->waiters))
			(tw_virtual ? tw_futex_wake : tw_kernel_wake)(&t->done, INT32_MAX);
		atomic_store(&shoot.complying, 0);
	}
}

void tw_shootdown_enter(struct tw_proc *me)
{
	if (!me->target || !pthread_equal(pthread_self(), shoot.thread) || shoot.depth++)
		return;
	atomic_fetch_or(&me->target->asked, SHOOT_INSIDE);
	tw_shootdown_poll(me);
}

void tw_shootdown_leave(struct tw_proc *me)
{
	struct tw_target *t = me->target;

	if (!t || !pthread_equal(pthread_self(), shoot.thread) || --shoot.depth)
		return;
	for (uint32_t seen = atomic_load(&t->asked);;) {
		if ((seen & ~SHOOT_INSIDE) != atomic_load(&t->done)) {
			tw_shootdown_comply(me);
			seen = atomic_load(&t->asked);
		} else if (atomic_compare_exchange_weak(&t->asked, &seen, seen & ~SHOOT_INSIDE)) {
			return;
		}
	}
}

static void shoot_handler(int signal, siginfo_t *si, void *uc)
{
	int saved = errno;
	struct tw_gate_member *member = tw_virtual;

	/* In virtual time the requester runs, and waits for this handler in real time. */
	tw_virtual = NULL;
	tw_shootdown_came = true;
	if (shoot.me)
		tw_shootdown_comply(shoot.me);
	tw_virtual = member;
	/* Requests of other processors come by tgkill from another process; other signals are the program's. */
	if (si->si_code != SI_TKILL || si->si_pid == getpid())
		tw_signal_chain(signal, si, uc);
	errno = saved;
}

/* ---- the requester ---------------------------------------------------------------------------------------------- */

/* Make the request. Returns whether the caller must wait for it, until @ticket. */
static bool shoot_ask(struct tw_proc *me, unsigned victim, tw_page_t first, unsigned count, enum tw_rights left,
                      uint32_t *ticket)
{
	size_t set = me->layout.sets + (TW_SETS * victim + (left == TW_NONE ? 3 : 2)) * me->layout.set_bytes;

	for (unsigned i = 0; i < count; i++)
		tw_pageset_add((struct tw_pageset *)(void *)(me->private_mem + set), first + i);
	uint32_t old = atomic_fetch_add(&me->n->target[victim].asked, SHOOT_REQUEST);
	*ticket = (old & ~SHOOT_INSIDE) + SHOOT_REQUEST;
	return !(old & SHOOT_INSIDE);
}

static bool shoot_complied(const struct tw_target *t, uint32_t ticket)
{
	return (int32_t)(atomic_load(&t->done) - ticket) >= 0 || (atomic_load(&t->asked) & SHOOT_INSIDE);
}

/* Returns whether the victim is stopped, or gone. */
static bool shoot_stopped(const struct tw_target *t)
{
	char path[64], text[256];

	tw_format(path, sizeof(path), "/proc/%d/task/%d/stat", t->pid, t->tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[TW_MAX(n, (ssize_t)0)] = '\0';
	const char *name_end = strrchr(text, ')');
	return n <= 0 || (name_end && name_end[1] && strchr("TZX", name_end[2]));
}

static bool shoot_interrupt(struct tw_proc *me, const struct tw_target *t)
{
	me->stats->now.interrupts++;
	return syscall(SYS_tgkill, t->pid, t->tid, TW_SHOOTDOWN_SIGNAL) == 0 ||
	       errno != EAGAIN; /* else the queue of signals is full */
}

static bool shoot_spin(const struct tw_target *t, uint32_t ticket, uint64_t until)
{
	do {
		for (unsigned i = 0; i < SHOOT_SPINS; i++) {
			if (shoot_complied(t, ticket))
				return true;
			tw_pause();
		}
	} while (tw_time_ns() < until);
	return false;
}

static void shoot_wait(struct tw_proc *me, struct tw_target *t, uint32_t ticket, uint64_t patience_ns)
{
	uint64_t begun = tw_time_ns(), waited = 0;
	bool sent = patience_ns == 0 && shoot_interrupt(me, t), logged = false;

	for (bool done = shoot_spin(t, ticket, begun + me->net->config.spin_ns); !done; waited = tw_time_ns() - begun) {
		uint32_t seen = atomic_load(&t->done);
		atomic_fetch_add(&t->waiters, 1);
		done = shoot_complied(t, ticket);
		if (!done)
			(sent ? tw_kernel_wait : tw_futex_wait)(&t->done, seen,
			                                        sent          ? SHOOT_LOOK_NS
			                                        : patience_ns ? patience_ns
			                                                      : SHOOT_PATIENCE_NS);
		atomic_fetch_sub(&t->waiters, 1);
		if (done || shoot_complied(t, ticket))
			return;
		if (!sent && waited >= patience_ns)
			sent = shoot_interrupt(me, t);
		else if (sent && waited >= SHOOT_LOOK_NS && shoot_stopped(t))
			return;
		if (!logged && waited >= SHOOT_LATE_NS) {
			logged = true;
			tw_log("pid %d does not give up its write rights: a program must not block signal %d, nor "
			       "catch it "
			       "after tw_init",
			       t->pid, TW_SHOOTDOWN_SIGNAL);
		}
	}
}

static void shoot_by_request(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims, enum tw_rights left)
{
	uint32_t ticket[TW_MAX_PROCESSORS];
	uint64_t slow = 0;

	for (uint64_t others = victims; others; others &= others - 1) {
		unsigned v = (unsigned)__builtin_ctzll(others);
		if (shoot_ask(me, v, first, count, left, &ticket[v]))
			slow |= (uint64_t)1 << v;
	}
	for (; slow; slow &= slow - 1) {
		unsigned v = (unsigned)__builtin_ctzll(slow);
		shoot_wait(me, &me->n->target[v], ticket[v], shoot.patience_ns);
	}
}

static void shoot_down(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims, enum tw_rights left)
{
	TW_ASSERT(shoot.shoot && (me->agent || !(victims >> me->local & 1)));
	if (!victims || !count)
		return;
	me->stats->now.shootdowns++;
	tw_trace(me, TW_TRACE_shootdown, TW_TRACE_NONE, first, count, victims);
	tw_shootdown_enter(me);
	shoot.shoot(me, first, count, victims, left);
	tw_shootdown_leave(me);
}

void tw_shootdown(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims)
{
	shoot_down(me, first, count, victims, TW_READ);
}

void tw_revoke(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims)
{
	shoot_down(me, first, count, victims, TW_NONE);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

void tw_shootdown_thread(struct tw_proc *me)
{
	if (me->target)
		tw_shootdown_next(me, (int32_t)syscall(SYS_gettid));
}

void tw_shootdown_next(struct tw_proc *me, int32_t tid)
{
	if (!me->target)
		return;
	me->target->tid = tid;
	shoot.thread = pthread_self();
}

static void shoot_open_target(struct tw_proc *me)
{
	struct tw_target *t = &me->n->target[me->local];

	t->pid = getpid();
	me->target = tw_poll_target = t;
	shoot.me = me;
	tw_shootdown_thread(me);
	tw_signal_take(TW_SHOOTDOWN_SIGNAL, shoot_handler);
}

int tw_shootdown_open(struct tw_proc *me, const struct tw_boot *boot)
{
	const char *name = me->config.shootdown;

	if (strcmp(name, "auto") == 0 || (me->protocol->flags & TW_PROTOCOL_NO_FAULTS))
		return 0;
	if (strcmp(name, "protect") == 0) {
		shoot.shoot = tw_shootdown_remote;
		return tw_shootdown_remote_open(me, boot);
	}
	shoot.shoot = shoot_by_request;
	shoot.patience_ns = strcmp(name, "polled") == 0 ? SHOOT_PATIENCE_NS : 0;
	if (!me->agent)
		shoot_open_target(me);
	return 0;
}

void tw_shootdown_forget(void)
{
	tw_poll_target = &shoot_none;
	shoot.me = NULL;
}

void tw_shootdown_close(struct tw_proc *me)
{
	if (shoot.shoot == tw_shootdown_remote)
		tw_shootdown_remote_close();
	shoot.shoot = NULL;
	if (!me->target)
		return;
	tw_shootdown_enter(me); /* permanently: there is nothing left to give up */
	me->target = NULL;
	tw_shootdown_forget(); /* the signal stays taken: one may be on its way */
}
