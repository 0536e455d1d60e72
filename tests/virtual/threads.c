/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c - what constructs of OpenMP and calls of POSIX threads take in virtual time: lines of a name and a
 * number. */
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define WORK   2000000
#define CHUNKS 64
#define ROUNDS 50
#define CROWD  3

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static unsigned work(unsigned n)
{
	unsigned x = 1;

	for (unsigned i = 0; i < n; i++)
		if ((x = x * 1664525 + 1013904223) % 7 == 0)
			x ^= i;
	return x;
}

static void say(const char *name, long value)
{
	printf("%s %ld\n", name, value);
}

/* ---- OpenMP ---- */

static unsigned result[CHUNKS];
static int chunks[64][64]; /* of each thread */

static long loop(int threads)
{
	long begin = now();

#pragma omp parallel for schedule(static, 1) num_threads(threads)
	for (int i = 0; i < CHUNKS; i++)
		result[i] = work(WORK / CHUNKS);
	return now() - begin;
}

static void openmp(void)
{
	int threads = omp_get_max_threads(), busy = 0, counter = 0;
	long begin, value = 0;
	double wall = omp_get_wtime();

	loop(threads); /* the first one fetches pages */
	say("loop of one", loop(1));
	say("loop of all", loop(threads));
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : value)
	for (int i = 0; i < CHUNKS; i++) {
		chunks[omp_get_thread_num()][0]++;
		result[i] = work(WORK / CHUNKS);
		value += i;
	}
	for (int t = 0; t < threads; t++)
		busy += chunks[t][0] >= CHUNKS / threads / 2;
	say("busy", busy == threads);
	say("sum", value);
	begin = now();
#pragma omp parallel
	for (int i = 0; i < ROUNDS; i++) {
#pragma omp atomic
		counter++;
	}
	say("atomic", (now() - begin) / ROUNDS);
	begin = now();
#pragma omp parallel
	for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
		counter++;
	}
	say("critical", (now() - begin) / ROUNDS);
	say("counter", counter == 2 * threads * ROUNDS);
	say("wall", (long)((omp_get_wtime() - wall) * 1e9 + .5) >= now() - begin);
}

/* ---- POSIX threads ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, ends[2], begun, ended;
static volatile int waiting;
static char taken;
static int counted;
static unsigned done[CROWD];
static int order[CROWD];

static void rounds(int mine)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != mine)
			pthread_cond_wait(&turned, &mutex);
		turn = !mine;
		pthread_cond_signal(&turned);
		pthread_mutex_unlock(&mutex);
	}
}

static void *plays(void *arg)
{
	rounds(1);
	return arg;
}

static void *writes(void *arg)
{
	usleep(1000);
	return write(ends[1], "x", 1) == 1 ? arg : NULL;
}

static void *stores(void *arg)
{
	usleep(3000);
	__atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
	return arg;
}

/* A lock by hand: the one that waits stores to it all the time. */
static void counts(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
			;
		counted++;
		__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
	}
}

static void *counts_too(void *arg)
{
	counts();
	return arg;
}

/* Threads of one processor take turns: each has begun before one ends. */
static void *computes(void *arg)
{
	int k = (int)(long)arg;

	__atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
	done[k] = work(10 * WORK);
	order[k] = __atomic_load_n(&begun, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static long with(void *(*run)(void *arg), void (*meanwhile)(void))
{
	pthread_t thread;
	long begin;

	pthread_create(&thread, NULL, run, NULL);
	begin = now();
	meanwhile();
	begin = now() - begin;
	pthread_join(thread, NULL);
	return begin;
}

static void plays_too(void)
{
	rounds(0);
}

static void reads(void)
{
	char c;

	if (read(ends[0], &c, 1) != 1)
		say("nothing read", 0);
}

static void spins(void)
{
	while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		;
}

static void posix(int crowd)
{
	struct pollfd one = {.events = POLLIN};
	pthread_t thread[CROWD];
	int all = 1;
	long begin;

	say("hand-over", with(plays, plays_too) / ROUNDS / 2);
	if (pipe(ends))
		return;
	say("pipe", with(writes, reads));
	one.fd = ends[0];
	begin = now();
	poll(&one, 1, 5);
	say("poll", now() - begin);
	waiting = 1;
	say("spin", with(stores, spins));
	say("lock by hand", with(counts_too, counts) / ROUNDS);
	say("counted", counted);
	for (long k = 0; k < crowd; k++)
		pthread_create(&thread[k], NULL, computes, (void *)k);
	for (int k = 0; k < crowd; k++)
		pthread_join(thread[k], NULL);
	for (int k = 0; k < crowd; k++)
		all &= order[k] == crowd;
	say("turns", all);
}

int main(void)
{
	openmp();
	posix(CROWD);
	return 0;
}
