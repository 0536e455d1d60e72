/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c - signals, and timers that send them. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include "process.h"

static volatile sig_atomic_t seen;
static __thread volatile sig_atomic_t seen_here;

static void handler(int signal)
{
	seen = seen + 1;
	seen_here = signal;
}

static void handle(int signal, int flags)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&a.sa_mask);
	say("sigaction %s\n", err(sigaction(signal, &a, NULL)));
	seen = 0;
}

static void wait_seen(int n)
{
	for (int i = 0; i < 100000 && seen < n; i++)
		usleep(100);
}

/* A signal to the process goes to any thread that does not block it: here to @receiver only, which runs @run while
 * @sender runs @send.  The handler's variable is then touched by one thread at a time. */
static struct directed {
	int signal, receiver, sender;
	step *run, *send;
} directed;

static void directed_step(void *arg, int me)
{
	struct directed *d = arg;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, d->signal);
	if (me != d->receiver)
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	meet();
	if (me == d->sender && d->send)
		d->send(arg, me);
	if (me == d->receiver)
		d->run(arg, me);
	meet();
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void to_one(int signal, int receiver, step *run, int sender, step *send)
{
	directed = (struct directed){signal, receiver, sender, run, send};
	with_main(directed_step, &directed);
}

/* ---- signals ---- */

static void raise_step(void *arg, int me)
{
	(void)arg;
	seen_here = 0;
	say("%d raise %s", me, err(raise(SIGUSR1)));
	say(", handled %d, here %d\n", seen, seen_here);
}

CASE(sigaction_in_main)
{
	handle(SIGUSR1, 0);
	turns(raise_step, NULL);
	raise_step(NULL, 0);
	signal(SIGUSR1, SIG_DFL);
}

static void sigaction_step(void *arg, int me)
{
	struct sigaction was;

	(void)arg;
	if (me == 1)
		handle(SIGUSR2, SA_RESTART);
	say("%d %s", me, err(sigaction(SIGUSR2, NULL, &was)));
	say(" is ours %d, restarts %d\n", was.sa_handler == handler, !!(was.sa_flags & SA_RESTART));
	raise(SIGUSR2);
}

CASE(sigaction_in_thread)
{
	turns(sigaction_step, NULL);
	say("handled %d\n", seen);
	raise(SIGUSR2);
	say("handled %d, back %d\n", seen, signal(SIGUSR2, SIG_DFL) == handler);
}

static void mask_step(void *arg, int me)
{
	sigset_t set, now;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, me % 2 ? SIGUSR1 : SIGUSR2);
	say("%d %s", me, err(sigprocmask(SIG_SETMASK, &set, NULL)));
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	say(" blocked %d %d\n", sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2));
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

CASE(sigprocmask_is_own)
{
	sigset_t now;

	turns(mask_step, NULL);
	sigprocmask(SIG_BLOCK, NULL, &now);
	say("main blocks %d %d\n", sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2));
}

static void fill_step(void *arg, int me)
{
	static int values[100000];
	sigset_t all, was;

	(void)arg;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &was);
	for (int i = 0; i < 100000; i += 100)
		values[i] += me;
	say("%d all blocked, %d\n", me, values[99900]);
	sigprocmask(SIG_SETMASK, &was, NULL);
}

CASE(sigfillset_blocked)
{
	turns(fill_step, NULL);
	fill_step(NULL, 0);
}

static void pending_step(void *arg, int me)
{
	sigset_t set, pending;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	sigpending(&pending);
	say("%d pending %d, handled %d", me, sigismember(&pending, SIGUSR1), seen);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	say(", then %d\n", seen);
}

CASE(sigpending_in_threads)
{
	handle(SIGUSR1, 0);
	turns(pending_step, NULL);
	signal(SIGUSR1, SIG_DFL);
}

static void kill_step(void *arg, int me)
{
	(void)arg;
	if (kill(getpid(), SIGUSR2)) /* the receiver may be the first to say something */
		say("%d kill %s\n", me, err(-1));
}

static void killed_step(void *arg, int me)
{
	(void)arg;
	wait_seen(1);
	say("%d handled %d, here %d\n", me, seen, seen_here == SIGUSR2);
	seen = 0;
}

CASE(kill_of_process)
{
	handle(SIGUSR2, 0);
	to_one(SIGUSR2, threads, killed_step, threads, kill_step);
	to_one(SIGUSR2, 0, killed_step, 0, kill_step);
	say("kill 0: %s\n", err(kill(getpid(), 0)));
	signal(SIGUSR2, SIG_DFL);
}

CASE(kill_by_another_thread)
{
	handle(SIGUSR2, SA_RESTART);
	to_one(SIGUSR2, threads, killed_step, 0, kill_step);
	to_one(SIGUSR2, 0, killed_step, threads, kill_step);
	signal(SIGUSR2, SIG_DFL);
}

static void sigwait_step(void *arg, int me)
{
	int got = 0;

	pthread_sigmask(SIG_BLOCK, arg, NULL);
	meet();
	if (!me && kill(getpid(), SIGUSR1))
		say("kill %s\n", err(-1));
	if (me == threads)
		say("sigwait %d", sigwait(arg, &got));
	if (me == threads)
		say(" %d\n", got == SIGUSR1);
	meet();
	pthread_sigmask(SIG_UNBLOCK, arg, NULL);
}

CASE(sigwait_in_thread)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	with_main(sigwait_step, &set);
}

static void queue_step(void *arg, int me)
{
	pthread_sigmask(SIG_BLOCK, arg, NULL);
	say("%d sigqueue %s\n", me, err(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 10 + me})));
}

static void block_step(void *arg, int me)
{
	(void)me;
	pthread_sigmask(SIG_BLOCK, arg, NULL);
}

CASE(sigqueue_by_threads)
{
	sigset_t set;
	siginfo_t info;
	struct timespec none = {0, 0};

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	with_main(block_step, &set);
	turns(queue_step, &set);
	for (int i = 0; i < threads; i++) {
		say("%d", sigtimedwait(&set, &info, &none) == SIGRTMIN);
		say(" value %d\n", info.si_value.sival_int);
	}
	say("then %s\n", err(sigtimedwait(&set, &info, &none)));
}

static void broken_step(void *arg, int me)
{
	int *p = arg;

	if (me == 1)
		signal(SIGPIPE, SIG_IGN);
	writes(me, p[1], "x");
}

CASE(sigpipe_ignored)
{
	int p[2];

	say("%s\n", err(pipe(p)));
	close(p[0]);
	turns(broken_step, p);
	writes(0, p[1], "x");
	close(p[1]);
	say("was %d\n", signal(SIGPIPE, SIG_DFL) == SIG_IGN);
}

static void broken_handled_step(void *arg, int me)
{
	writes(me, *(int *)arg, "x");
	say("%d handled %d\n", me, seen);
}

CASE(sigpipe_handled)
{
	int p[2];

	say("%s\n", err(pipe(p)));
	close(p[0]);
	handle(SIGPIPE, 0);
	turns(broken_handled_step, &p[1]);
	signal(SIGPIPE, SIG_DFL);
	close(p[1]);
}

static void term_step(void *arg, int me)
{
	struct sigaction now;

	(void)arg;
	if (me == 1)
		raise(SIGTERM);
	sigaction(SIGTERM, NULL, &now);
	say("%d default %d, handled %d\n", me, now.sa_handler == SIG_DFL, seen);
}

CASE(sigterm_once)
{
	fflush(stdout);
	pid_t child = fork(); /* the end of a process of its own */
	if (!child) {
		raise(SIGTERM);
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	say("signaled %d by %d\n", WIFSIGNALED(status), WTERMSIG(status));
	print_said();
	handle(SIGTERM, SA_RESETHAND);
	turns(term_step, NULL);
	say("handled %d\n", seen);
}

#ifndef _OPENMP
static pthread_t self[MANY + 1];
static volatile sig_atomic_t taken[MANY + 1];
static __thread int number;

static void takes(int signal)
{
	taken[number] = signal;
}

static void pthread_kill_step(void *arg, int me)
{
	(void)arg;
	number = me;
	taken[me] = 0;
	self[me] = pthread_self();
	meet();
	int error = pthread_kill(self[(me + 1) % (threads + 1)], SIGUSR1);
	for (int i = 0; i < 100000 && !taken[me]; i++)
		usleep(100);
	meet();
	if (!me)
		for (int i = 0; i <= threads; i++)
			say("%d took %d\n", i, taken[i]);
	if (error)
		say("%d: %s\n", me, strerror(error));
}

CASE(pthread_kill_to_next)
{
	signal(SIGUSR1, takes);
	with_main(pthread_kill_step, NULL);
	signal(SIGUSR1, SIG_DFL);
}
#else
CASE(pthread_kill_to_next) {}
#endif

static void chld_step(void *arg, int me)
{
	(void)arg;
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	wait_seen(1);
	say("%d handled %d, %d\n", me, seen, wait_for(pid));
	seen = 0;
}

CASE(sigchld_handled)
{
	handle(SIGCHLD, SA_NOCLDSTOP);
	for (int i = 0; i <= threads; i++)
		to_one(SIGCHLD, i, chld_step, i, NULL);
	signal(SIGCHLD, SIG_DFL);
}

/* ---- timers ---- */

static void alarm_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("1 alarm %d\n", alarm(100) > 0);
	say("%d left %d\n", me, alarm(50 + (unsigned)me) > 40);
	if (me == threads)
		say("stop %d\n", alarm(0) > 40);
}

CASE(alarm_is_one)
{
	handle(SIGALRM, 0);
	alarm(200);
	turns(alarm_step, NULL);
	say("none %u\n", alarm(0));
	signal(SIGALRM, SIG_DFL);
}

static void alarm_set_step(void *arg, int me)
{
	(void)arg;
	(void)me;
	alarm(1);
}

static void alarmed_step(void *arg, int me)
{
	(void)arg;
	wait_seen(1);
	say("%d handled %d, here %d\n", me, seen, seen_here == SIGALRM);
	seen = 0;
}

CASE(alarm_of_thread)
{
	handle(SIGALRM, 0);
	to_one(SIGALRM, 0, alarmed_step, threads, alarm_set_step);
	say("left %u\n", alarm(0));
	signal(SIGALRM, SIG_DFL);
}

static void itimer_step(void *arg, int me)
{
	struct itimerval t = {{0, 0}, {0, 2000}};

	(void)arg;
	if (setitimer(ITIMER_REAL, &t, NULL))
		say("%d setitimer %s\n", me, err(-1));
}

CASE(setitimer_by_each)
{
	struct itimerval t;

	handle(SIGALRM, 0);
	for (int i = 0; i <= threads; i++)
		to_one(SIGALRM, i, alarmed_step, i, itimer_step);
	to_one(SIGALRM, 0, alarmed_step, threads, itimer_step);
	say("%s", err(getitimer(ITIMER_REAL, &t)));
	say(" %ld %ld\n", t.it_value.tv_sec, t.it_value.tv_usec);
	signal(SIGALRM, SIG_DFL);
}

static void itimer_repeats_step(void *arg, int me)
{
	struct itimerval t = {{0, 1000}, {0, 1000}};

	(void)arg;
	(void)me;
	setitimer(ITIMER_REAL, &t, NULL);
}

static void itimer_stop_step(void *arg, int me)
{
	struct itimerval t, none = {{0, 0}, {0, 0}};

	(void)arg;
	wait_seen(3);
	setitimer(ITIMER_REAL, &none, &t);
	say("%d handled %d, interval %ld\n", me, seen >= 3, t.it_interval.tv_usec);
}

CASE(setitimer_repeats)
{
	handle(SIGALRM, SA_RESTART);
	to_one(SIGALRM, threads, itimer_stop_step, 0, itimer_repeats_step);
	signal(SIGALRM, SIG_DFL);
}

static timer_t timer;

static void timer_step(void *arg, int me)
{
	struct itimerspec when = {{0, 0}, {0, 2000000}};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};

	(void)arg;
	if (me == 1)
		say("create %s\n", err(timer_create(CLOCK_MONOTONIC, &e, &timer)));
	if (timer_settime(timer, 0, &when, NULL))
		say("%d settime %s\n", me, err(-1));
}

CASE(timer_create_in_thread)
{
	handle(SIGALRM, 0);
	to_one(SIGALRM, threads, alarmed_step, 1, timer_step);
	to_one(SIGALRM, 0, alarmed_step, 0, timer_step);
	say("delete %s\n", err(timer_delete(timer)));
	signal(SIGALRM, SIG_DFL);
}

MAIN(T(sigaction_in_main), T(sigaction_in_thread), T(sigprocmask_is_own), T(sigfillset_blocked),
     T(sigpending_in_threads), ALONE(kill_of_process), ALONE(kill_by_another_thread), ALONE(sigwait_in_thread),
     ALONE(sigqueue_by_threads), ALONE(pthread_kill_to_next), ALONE(sigpipe_ignored), ALONE(sigpipe_handled),
     T(sigterm_once), ALONE(sigchld_handled), ALONE(alarm_is_one), ALONE(alarm_of_thread), ALONE(setitimer_by_each),
     ALONE(setitimer_repeats), ALONE(timer_create_in_thread))
