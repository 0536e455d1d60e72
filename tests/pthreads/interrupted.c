/* SPDX-License-Identifier: BSD-3-Clause */
/* interrupted.c - handlers of signals that interrupt waits: of a program with one thread, of threads that contend for a
 * semaphore's lock; calls that fail with EINTR; and small rules of POSIX: who may wait for a condition, whom a lock
 * prefers, when an asynchronous cancellation acts, what fork() and fflush(NULL) do while others use streams. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIGNALS 2000
#define TARGETS 4

static sem_t posted, room;
static volatile sig_atomic_t came;

static void post(int number)
{
	(void)number;
	came++;
	sem_post(&posted);
}

static void note(int number)
{
	(void)number;
	came++;
}

static void handle(int number, void (*handler)(int number), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

static void in(struct timespec *at, long ms)
{
	clock_gettime(CLOCK_REALTIME, at);
	at->tv_nsec += ms * 1000000;
	at->tv_sec += at->tv_nsec / 1000000000;
	at->tv_nsec %= 1000000000;
}

/* Before any thread exists. */
static void alone(void)
{
	struct timespec at;

	sem_init(&posted, 0, 0);
	handle(SIGALRM, post, SA_RESTART);
	alarm(1);
	printf("posted by a handler: %d\n", sem_wait(&posted));
	handle(SIGALRM, note, 0);
	alarm(1);
	printf("a wait ended: %d", sem_wait(&posted));
	printf(" %d\n", errno == EINTR);
	alarm(1);
	in(&at, 20000);
	printf("a timed wait ended: %d", sem_timedwait(&posted, &at));
	printf(" %d\n", errno == EINTR);
	in(&at, 20);
	printf("late: %d", sem_timedwait(&posted, &at));
	printf(" %d\n", errno == ETIMEDOUT);
}

/* ---- many signals for threads that wait for a mutex ---- */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int counts[TARGETS];
static pthread_t targets[TARGETS];

static void count(int number)
{
	int i = 0;

	(void)number;
	while (!pthread_equal(targets[i], pthread_self()))
		i++;
	counts[i]++;
	sem_post(&room);
}

static void *target(void *arg)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return arg;
}

static void many(void)
{
	int total = 0;

	sem_init(&room, 0, 3);
	handle(SIGRTMIN, count, 0);
	pthread_mutex_lock(&held);
	for (int i = 0; i < TARGETS; i++)
		pthread_create(&targets[i], NULL, target, NULL);
	for (int i = 0; i < SIGNALS; i++) {
		while (sem_wait(&room))
			;
		pthread_kill(targets[i % TARGETS], SIGRTMIN);
	}
	for (int i = 0; i < 3; i++)
		while (sem_wait(&room))
			;
	pthread_mutex_unlock(&held);
	for (int i = 0; i < TARGETS; i++) {
		pthread_join(targets[i], NULL);
		total += counts[i];
	}
	printf("handled %d of %d\n", total, SIGNALS);
}

/* ---- rules ---- */

static void condition(void)
{
	pthread_mutex_t checks = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;

	printf("not the owner: %d\n", pthread_cond_wait(&c, &checks) == EPERM);
}

static pthread_rwlock_t prefers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *writes(void *arg)
{
	struct timespec at;

	in(&at, 300);
	printf("a writer waits in vain: %d\n", pthread_rwlock_timedwrlock(&prefers, &at) == ETIMEDOUT);
	return arg;
}

static void *reads(void *arg)
{
	int error;

	(void)arg;
	while (!(error = pthread_rwlock_tryrdlock(&prefers))) {
		pthread_rwlock_unlock(&prefers);
		sched_yield();
	}
	printf("a reader behind it: %d\n", error == EBUSY);
	error = pthread_rwlock_rdlock(&prefers);
	pthread_rwlock_unlock(&prefers);
	return (void *)(long)error;
}

static void preference(void)
{
	pthread_t writer, reader;
	void *error;

	pthread_rwlock_rdlock(&prefers);
	pthread_create(&reader, NULL, reads, NULL);
	pthread_create(&writer, NULL, writes, NULL);
	pthread_join(writer, NULL);
	pthread_join(reader, &error);
	printf("it reads when the writer has given up: %ld\n", (long)error);
}

static int steps[4], done;

static void step(void *arg)
{
	steps[done++] = (int)(long)arg;
}

static void *asynchronous(void *arg)
{
	pthread_cancel(pthread_self());
	pthread_cleanup_push(step, (void *)1);
	pthread_cleanup_push(step, (void *)2);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	step((void *)3);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return arg;
}

static void cancellation(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, asynchronous, NULL);
	pthread_join(thread, &result);
	printf("cancelled at once: %d, %d %d %d\n", result == PTHREAD_CANCELED, steps[0], steps[1], steps[2]);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &(struct sched_param){.sched_priority = 1});
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	printf("a priority that the policy has not: %d\n", pthread_create(&thread, &attr, target, NULL) == EINVAL);
}

/* ---- streams ---- */

static int stop;

static int stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *flushes(void *arg)
{
	while (!stopped())
		fflush(NULL);
	return arg;
}

static void *forks(void *arg)
{
	while (!stopped()) {
		pid_t child = fork();
		int status = 1;

		if (child == 0)
			_exit(0);
		waitpid(child, &status, 0);
		if (status)
			printf("a child ended with %d\n", status);
	}
	return arg;
}

static void *opens(void *arg)
{
	char line[256], *got = line;

	while (!stopped() && got) {
		FILE *f = fopen("/proc/self/status", "r");

		for (int i = 0; i < 5; i++)
			got = fgets(line, sizeof(line), f);
		fclose(f);
	}
	return arg;
}

static void streams(void)
{
	void *(*const roles[])(void *arg) = {flushes, forks, opens, opens};
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, roles[i], NULL);
	usleep(500000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("streams, children: done\n");
}

int main(void)
{
	alone();
	many();
	condition();
	preference();
	cancellation();
	streams();
	return 0;
}
