/* SPDX-License-Identifier: BSD-3-Clause */
/* timers.c - timers that call a function in a thread: once, again and again, at a time, stopped, asked, deleted. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static sem_t came;
static pthread_t maker;
static int calls[3], other, blocked;

static void call(union sigval value)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	blocked |= sigismember(&mask, SIGUSR1);
	other |= !pthread_equal(pthread_self(), maker);
	__atomic_add_fetch(&calls[value.sival_int], 1, __ATOMIC_ACQ_REL);
	sem_post(&came);
}

static timer_t make(int number)
{
	struct sigevent event;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD;
	event.sigev_notify_function = call;
	event.sigev_value.sival_int = number;
	if (timer_create(number == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &event, &timer))
		perror("timer_create");
	return timer;
}

int main(void)
{
	struct itimerspec once = {.it_value = {0, 20000000}}, often = {{0, 30000000}, {0, 10000000}}, left, at;
	timer_t timer[3];

	maker = pthread_self();
	sem_init(&came, 0, 0);
	for (int i = 0; i < 3; i++)
		timer[i] = make(i);
	printf("unset %d", timer_gettime(timer[0], &left));
	printf(" %ld\n", (long)(left.it_value.tv_sec + left.it_value.tv_nsec));
	timer_settime(timer[0], 0, &once, NULL);
	sem_wait(&came);
	printf("once %d, in a thread %d, signals %d\n", calls[0], other, blocked);
	timer_settime(timer[1], 0, &often, NULL);
	for (int i = 0; i < 5; i++)
		sem_wait(&came);
	timer_gettime(timer[1], &left);
	printf("often %d, each %ld, next %d\n", calls[1] >= 5, left.it_interval.tv_nsec,
	       left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 30000000);
	printf("overrun %d\n", timer_getoverrun(timer[1]) >= 0);
	printf("deleted %d\n", timer_delete(timer[1]));
	clock_gettime(CLOCK_MONOTONIC, &at.it_value);
	at.it_interval = (struct timespec){0, 0};
	timer_settime(timer[2], TIMER_ABSTIME, &at, NULL);
	while (!__atomic_load_n(&calls[2], __ATOMIC_ACQUIRE))
		sem_wait(&came);
	printf("at a time %d\n", calls[2]);
	once.it_value.tv_sec = 1000;
	timer_settime(timer[2], 0, &once, NULL);
	printf("stopped %d", timer_settime(timer[2], 0, &(struct itimerspec){{0, 0}, {0, 0}}, &left));
	printf(" %d\n", left.it_value.tv_sec >= 999);
	once.it_value.tv_nsec = -1;
	printf("wrong %d", timer_settime(timer[2], 0, &once, NULL));
	printf(" %d\n", errno == EINVAL);
	return 0;
}
