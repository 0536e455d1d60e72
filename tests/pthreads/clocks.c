/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks.c - timers that send a signal: of the process's and the thread's processor time, faster than the signal is
 * taken, and not beyond exec. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t came;

static void handler(int number)
{
	(void)number;
	came = 1;
}

static timer_t start(clockid_t clock, int number, long interval, long first)
{
	struct sigevent event;
	struct itimerspec when = {{0, interval}, {0, first}};
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = number;
	if (timer_create(clock, &event, &timer) || timer_settime(timer, 0, &when, NULL))
		perror("timer");
	return timer;
}

static void computes(const char *name, clockid_t clock)
{
	came = 0;
	timer_t timer = start(clock, SIGUSR1, 0, 100000000);
	while (!came)
		;
	printf("%s: came\n", name);
	timer_delete(timer);
}

static void fast(void)
{
	struct timespec pause = {0, 3000000};
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	timer_t timer = start(CLOCK_REALTIME, SIGUSR2, 1000, 2000000);
	nanosleep(&pause, NULL);
	sigwait(&set, &number);
	printf("fast: %d\n", timer_getoverrun(timer) > 0);
	timer_delete(timer);
}

int main(void)
{
	signal(SIGUSR1, handler);
	computes("process", CLOCK_PROCESS_CPUTIME_ID);
	computes("thread", CLOCK_THREAD_CPUTIME_ID);
	fast();
	fflush(stdout);
	start(CLOCK_REALTIME, SIGALRM, 0, 100000000);
	execl("/bin/sh", "sh", "-c", "sleep .3; echo the new program", (char *)NULL);
	return 1;
}
