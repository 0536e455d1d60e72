/* SPDX-License-Identifier: BSD-3-Clause */
/* events.h - signals, timers and children belong to the program, whichever of its processors they reach.
 *
 * The processors of a host share a page (host.h), and each has an attendant, a thread that never runs the program and
 * blocks all signals.  What the page says changes first; the attendants then make the kernel's state of their processes
 * agree with it, and pass on signals that no thread of their process takes but one of another. */
#ifndef TW_RUNTIME_PROCESS_EVENTS_H
#define TW_RUNTIME_PROCESS_EVENTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* th_events_share - before the host's processors are forked.
 * th_events_open - by each processor, after it has joined the job.
 * th_events_child - in a child of fork(): it is a process of its own. */
void th_events_share(void);
void th_events_open(void);
void th_events_child(void);

/* th_signals_thread - the calling thread runs the program: it takes signals, as its mask says.
 * th_signals_thread_end - it ends.
 * th_signals_none - it does not run the program: it blocks them. */
void th_signals_thread(void);
void th_signals_thread_end(void);
void th_signals_none(void);

/* th_signals_send - @signal for the thread @tid of the process @pid of the host @to (th_hosts_of); @code: si_code;
 * @value: what comes with it, or NULL.  Returns an error's number.
 * th_signals_send_program - the same for any thread of the program.  Returns 0, or -1 with errno.
 * th_signals_handled - does the program handle a signal that may come from outside or from a timer? */
int th_signals_send(uint32_t to, pid_t pid, pid_t tid, int signal, int code, const union sigval *value);
int th_signals_send_program(int signal, int code, const union sigval *value);
bool th_signals_handled(void);
/* th_signals_wait_with - the calling thread is about to wait with @mask as its own: signals for the program that this
 * lets through may come here.  NULL: no longer. */
void th_signals_wait_with(const sigset_t *mask);
/* th_signals_fork - on another host than the first, around a fork whose child only Tweed knows: what that child
 * sends when it ends replaces no signal of the program.  @begins: false: after that child's end.  Both by one thread;
 * in between signals_queue waits. */
void th_signals_fork(bool begins);

/* th_pipes_open, th_atfork_open - collective.
 * th_atfork_prepare - before a fork: call the program's functions (pthread_atfork); the program's locks are free.
 * th_atfork_after - after it, in the parent or the child. */
void th_pipes_open(void);
void th_atfork_open(void);
void th_atfork_prepare(void);
void th_atfork_after(bool child);

/* th_channels_open - by each processor. @many_hosts: the job has several. */
void th_channels_open(bool many_hosts);

/* th_children_add - the program has made the process @pid. */
void th_children_add(pid_t pid);

/* th_timers - timers whose ends call a function in a thread (SIGEV_THREAD); NULL: refused.  owns - is @timer one of
 * those?  The others are as timer_create() and its kin. */
struct th_timers {
	bool (*owns)(timer_t timer);
	int (*create)(clockid_t clock, const struct sigevent *event, timer_t *timer);
	int (*get)(timer_t timer, struct itimerspec *now);
	int (*set)(timer_t timer, int flags, const struct itimerspec *now, struct itimerspec *old);
	int (*remove)(timer_t timer);
	int (*overrun)(timer_t timer);
};
extern const struct th_timers *th_timers;

#endif
