/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c - threads that wait for volatile variables to change, as programs older than C11 do, and for plain ones
 * between sleeps. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 40
#define MOST   32
#define WIDTH  2000

struct news {
	char pad[100];
	volatile short state;
	volatile double value;
	int plain;
};

/* A fence of the compiler's, not of the processor. */
#define KEEP_ORDER() __asm__ volatile("" : : : "memory")

static int threads;
static volatile int job, cycle;
static volatile char *arrived; /* one for each thread */
static double part[MOST][WIDTH];
static int order;
static struct news *news;
static int running = 1, counted; /* plain */
static volatile int at_home;

static void work(int me, int round)
{
	for (int i = 0; i < WIDTH; i++)
		part[me][i] += round * me + i;
	KEEP_ORDER();
	arrived[me] = (char)round;
}

/* All threads have done their parts of the round. */
static void gather(int round)
{
	int sum;

	do {
		sum = 0;
		for (int i = 0; i < threads; i++)
			sum += arrived[i] == (char)round;
	} while (sum < threads);
	KEEP_ORDER();
}

static void *worker(void *arg)
{
	int me = (int)(long)arg;

	for (int seen = 0; seen < ROUNDS; seen++) {
		while (cycle == seen)
			;
		KEEP_ORDER();
		if (job != order)
			printf("worker %d: job %d, not %d\n", me, job, order);
		work(me, seen + 1);
	}
	return NULL;
}

static void master(void)
{
	double sum = 0;

	for (int round = 1; round <= ROUNDS; round++) {
		order = 3 * round;
		job = 3 * round;
		KEEP_ORDER();
		cycle = round;
		work(0, round);
		gather(round);
		for (int t = 0; t < threads; t++)
			for (int i = 0; i < WIDTH; i++)
				sum += part[t][i] * (t + 1);
	}
	printf("sum %.0f\n", sum / threads);
}

/* Fields of a structure in the heap; a variable on the other thread's stack. */
static void *answer(void *arg)
{
	volatile int *done = arg;

	for (int i = 1; i <= 20; i++) {
		while (news->state != 2 * i - 1)
			;
		KEEP_ORDER();
		news->plain += (int)news->value;
		KEEP_ORDER();
		news->state = (short)(2 * i);
	}
	*done = 7;
	return NULL;
}

static void converse(void)
{
	volatile int done = 0;
	pthread_t other;

	news = calloc(1, sizeof(*news));
	pthread_create(&other, NULL, answer, (void *)(long)&done);
	for (int i = 1; i <= 20; i++) {
		news->value = i;
		news->state = (short)(2 * i - 1);
		while (news->state != 2 * i)
			sched_yield();
	}
	while (done != 7)
		;
	printf("plain %d\n", news->plain);
	pthread_join(other, NULL);
	free(news);
}

static void *counter(void *arg)
{
	(void)arg;
	for (; running; usleep(500)) {
		counted++;
		at_home = 1;
	}
	return NULL;
}

static int go;

static void *starter(void *arg)
{
	while (!go)
		__asm__ volatile("rep; nop" : : : "memory");
	return arg;
}

/* An assertion, as some programs write it: with a number for an address. */
static void insist(int holds)
{
	if (!holds)
		*(volatile int *)8192 = 8192;
}

static void pauses(void)
{
	pthread_t other;

	pthread_create(&other, NULL, starter, NULL);
	usleep(2000);
	go = 1;
	pthread_join(other, NULL);
	insist(go == 1);
	printf("went\n");
}

/* A turn that two threads hand to each other by a plain variable and fences of the compiler. */
static long turn;

static void *turns(void *arg)
{
	for (long me = (long)arg, i = 0; i < ROUNDS; i++) {
		for (bool mine = false; !mine;) {
			mine = turn % 2 == me;
			KEEP_ORDER();
		}
		turn++;
	}
	return NULL;
}

static void fences(void)
{
	pthread_t other;

	pthread_create(&other, NULL, turns, (void *)1);
	turns(NULL);
	pthread_join(other, NULL);
	printf("turn %ld\n", turn);
}

/* The compiler must load a plain variable again behind a call that it does not know. */
static void sleepers(void)
{
	pthread_t other;

	pthread_create(&other, NULL, counter, NULL);
	while (!at_home)
		usleep(500);
	usleep(5000);
	running = 0;
	pthread_join(other, NULL);
	printf("counted %d\n", counted > 0);
}

/* Results that a thread stores by atomic operations, and another loads plainly: often they are there already. */
#define RESULTS 600
static long *result_at; /* -1: not yet */
static int *results;
static sem_t more_results;

static void *results_make(void *arg)
{
	for (int round = 0; round < ROUNDS; round++) {
		while (sem_wait(&more_results) != 0)
			;
		for (long i = 0; i < RESULTS; i++) {
			results[17 * i] = (int)(round * RESULTS + i);
			__sync_lock_test_and_set(&result_at[i], 17 * i);
		}
	}
	return arg;
}

static __attribute__((noinline)) int result_take(int i)
{
	long at;

	for (unsigned n = 0; (at = result_at[i]) == -1; n++) {
		if (n < 100)
			__asm__ volatile("pause");
		else
			usleep(100);
	}
	return results[at];
}

static void takes(void)
{
	pthread_t other;
	int wrong = 0;

	result_at = malloc(RESULTS * sizeof(*result_at));
	results = calloc(RESULTS, 17 * sizeof(*results));
	sem_init(&more_results, 0, 0);
	pthread_create(&other, NULL, results_make, NULL);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < RESULTS; i++)
			result_at[i] = -1;
		sem_post(&more_results);
		for (int i = 0; i < RESULTS; i++)
			wrong += result_take(i) != round * RESULTS + i;
	}
	pthread_join(other, NULL);
	printf("%d wrong results\n", wrong);
	free(result_at);
	free(results);
}

static int stored; /* plain */

static void *stores(void *arg)
{
	stored = 1;
	return arg;
}

/* A plain variable, after a wait that is only a sleep. */
static void times_out(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	int before = *(volatile int *)&stored, late = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, stores, NULL);
	pthread_detach(thread);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 100 && !*(volatile int *)&stored; i++) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 50000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		late = pthread_cond_timedwait(&never, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
	printf("stored %d %d %d\n", before, *(volatile int *)&stored, late == 0 || late == ETIMEDOUT);
}

static unsigned word;

static void *wakes(void *arg)
{
	usleep(60000);
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	return arg;
}

/* The wait ends by the wake, however late that is. */
static void first_wake(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wakes, NULL);
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	printf("woken %u\n", __atomic_load_n(&word, __ATOMIC_SEQ_CST));
	pthread_join(thread, NULL);
}

/* A condition whose waiters move to the lock's word. */
static unsigned condition, latch;

static void latch_take(void)
{
	while (__atomic_exchange_n(&latch, 2, __ATOMIC_SEQ_CST) != 0)
		syscall(SYS_futex, &latch, FUTEX_WAIT, 2, NULL, NULL, 0);
}

static void latch_give(void)
{
	__atomic_store_n(&latch, 0, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &latch, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *moves(void *arg)
{
	syscall(SYS_futex, &condition, FUTEX_WAIT, 0, NULL, NULL, 0);
	latch_take();
	latch_give();
	return arg;
}

static void requeue(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, moves, NULL);
	usleep(60000);
	latch_take();
	printf("another value %d", syscall(SYS_futex, &condition, FUTEX_CMP_REQUEUE, 1, 2, &latch, 1) < 0);
	printf(" %d\n", errno == EAGAIN);
	__atomic_store_n(&condition, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &condition, FUTEX_CMP_REQUEUE, 1, 2, &latch, 1);
	latch_give();
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

/* The kernel's rings of transfers would be one processor's, its fences one process's. */
static void rings(void)
{
	static char parameters[256];
	bool absent = syscall(SYS_io_uring_setup, 8, parameters) < 0 && errno == ENOSYS &&
	              syscall(SYS_membarrier, 0, 0, 0) < 0 && errno == ENOSYS;

	printf("rings %d\n", absent || !getenv("TWEED_PROCESSOR") || threads == 1);
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST];

	threads = (argc > 1 ? atoi(argv[1]) : 1) + 1;
	arrived = calloc((size_t)threads, 1);
	for (int i = 1; i < threads; i++)
		pthread_create(&thread[i], NULL, worker, (void *)(long)i);
	master();
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	converse();
	sleepers();
	pauses();
	fences();
	takes();
	times_out();
	first_wake();
	rings();
	requeue();
	free((void *)(long)arrived);
	return 0;
}
