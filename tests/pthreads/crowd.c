/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.c - more threads than processors.  What is printed does not depend on when they run; the benchmark of a switch
 * prints to stderr. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static long number(void *arg)
{
	return (char *)arg - (char *)NULL;
}

static void *argument(long i)
{
	return (char *)NULL + i;
}

static void run(int n, void *(*function)(void *))
{
	pthread_t t[MOST];

	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, function, argument(i)))
			puts("create failed");
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* ---- a token goes round ---- */

static int token, laps, ring;
static sem_t turn[MOST];

static void *hand_by_condition(void *arg)
{
	for (int lap = 0; lap < laps; lap++) {
		pthread_mutex_lock(&lock);
		while (token % ring != number(arg))
			pthread_cond_wait(&changed, &lock);
		token++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *hand_by_semaphore(void *arg)
{
	for (int lap = 0; lap < laps; lap++) {
		sem_wait(&turn[number(arg)]);
		token++;
		sem_post(&turn[(number(arg) + 1) % ring]);
	}
	return NULL;
}

static void tokens(int n, int rounds)
{
	struct timespec a, b;

	ring = n;
	laps = 10;
	run(n, hand_by_condition);
	printf("by condition: %d\n", token);
	token = 0;
	laps = rounds;
	for (int i = 0; i < n; i++)
		sem_init(&turn[i], 0, i == 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	run(n, hand_by_semaphore);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("by semaphore: %d\n", token);
	if (getenv("SWITCHES"))
		fprintf(stderr, "%.2f us a switch\n",
		        ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3) / token);
}

/* ---- a pool ---- */

#define JOBS 300
static struct {
	int job[JOBS], first, last, working, end;
	pthread_mutex_t lock;
	pthread_cond_t some, none;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .some = PTHREAD_COND_INITIALIZER, .none = PTHREAD_COND_INITIALIZER};
static long done[JOBS];

static void *worker(void *arg)
{
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		while (pool.first == pool.last && !pool.end)
			pthread_cond_wait(&pool.some, &pool.lock);
		if (pool.first == pool.last)
			break;
		int job = pool.job[pool.first++];
		pool.working++;
		pthread_mutex_unlock(&pool.lock);
		done[job] += job * 7;
		pthread_mutex_lock(&pool.lock);
		if (--pool.working == 0 && pool.first == pool.last)
			pthread_cond_broadcast(&pool.none);
	}
	pthread_mutex_unlock(&pool.lock);
	return arg;
}

static void pools(int n)
{
	pthread_t t[MOST];
	long sum = 0;

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < JOBS; i++) {
		pthread_mutex_lock(&pool.lock);
		pool.job[pool.last++] = i;
		pthread_cond_signal(&pool.some);
		pthread_mutex_unlock(&pool.lock);
	}
	pthread_mutex_lock(&pool.lock);
	while (pool.first != pool.last || pool.working)
		pthread_cond_wait(&pool.none, &pool.lock);
	for (int i = 0; i < JOBS; i++)
		sum += done[i];
	pool.end = 1;
	pthread_cond_broadcast(&pool.some);
	pthread_mutex_unlock(&pool.lock);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("pool: %ld\n", sum);
}

/* ---- producers and consumers ---- */

static sem_t full, empty;
static int box[4], put, taken;
static long sum;

static void *produce(void *arg)
{
	for (int i = 0; i < 20; i++) {
		sem_wait(&empty);
		pthread_mutex_lock(&lock);
		box[put++ % 4] = (int)number(arg) * 100 + i;
		pthread_mutex_unlock(&lock);
		sem_post(&full);
	}
	return NULL;
}

static void *consume(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		sem_wait(&full);
		pthread_mutex_lock(&lock);
		sum += box[taken++ % 4];
		pthread_mutex_unlock(&lock);
		sem_post(&empty);
	}
	return NULL;
}

static void *either(void *arg)
{
	return number(arg) % 2 ? produce(arg) : consume(arg);
}

static void producers(int n)
{
	sem_init(&full, 0, 0);
	sem_init(&empty, 0, 4);
	run(n & ~1, either);
	printf("taken %d, sum %ld\n", taken, sum);
}

/* ---- barriers, read-write locks, keys, locks of all kinds ---- */

static pthread_barrier_t barrier;
static int row[MOST], count[4], wrong;
static _Atomic int serial, atomics;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t nested = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, timed = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int begun, destroyed;
static __thread long own = 5;

static void begin(void)
{
	usleep(2000);
	begun++;
}

static void destroy(void *value)
{
	pthread_mutex_lock(&lock);
	destroyed += (int)number(value);
	pthread_mutex_unlock(&lock);
}

static void *meet(void *arg)
{
	struct timespec t;

	wrong += own != 5;
	own += number(arg);
	pthread_once(&once, begin);
	wrong += begun != 1;
	pthread_setspecific(key, argument(number(arg) + 1));
	for (int i = 0; i < 30; i++) {
		row[number(arg)] = i;
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add(&serial, 1);
		for (int k = 0; k < ring; k++)
			if (row[k] != i)
				atomic_fetch_add(&atomics, 1000000);
		pthread_barrier_wait(&barrier);
		pthread_rwlock_wrlock(&table);
		count[0]++;
		if (i % 10 == 0)
			usleep(100);
		pthread_rwlock_unlock(&table);
		pthread_rwlock_rdlock(&table);
		pthread_rwlock_unlock(&table);
		pthread_mutex_lock(&nested);
		pthread_mutex_lock(&nested);
		count[1]++;
		if (i % 10 == 0)
			sched_yield();
		pthread_mutex_unlock(&nested);
		pthread_mutex_unlock(&nested);
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec += 60;
		if (pthread_mutex_timedlock(&timed, &t))
			puts("late");
		count[2]++;
		if (i % 10 == 0)
			usleep(100);
		pthread_mutex_unlock(&timed);
		pthread_spin_lock(&spin);
		count[3]++;
		pthread_spin_unlock(&spin);
		atomic_fetch_add(&atomics, 1);
	}
	if (own != 5 + number(arg) || number(pthread_getspecific(key)) != number(arg) + 1)
		puts("other thread's values");
	return NULL;
}

static void meets(int n)
{
	ring = n;
	pthread_key_create(&key, destroy);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	run(n, meet);
	pthread_barrier_destroy(&barrier);
	printf("serial %d, atomics %d, begun %d, destroyed %d, counts %d %d %d %d\n", serial, atomics, begun, destroyed,
	       count[0], count[1], count[2], count[3]);
}

/* ---- waiting for an atomic variable ---- */

static _Atomic int stage;

static void *steps(void *arg)
{
	for (int i = 0; i < 5; i++) {
		while (atomic_load(&stage) != i * ring + number(arg))
			;
		atomic_fetch_add(&stage, 1);
	}
	return NULL;
}

static void spins(int n)
{
	ring = n;
	run(n, steps);
	printf("stage %d\n", stage);
}

/* ---- waiting for another thread by taking a lock again and again ---- */

static int polled;

static void *polls(void *arg)
{
	for (int i = 0; i < 6000; i++) {
		bool mine = false;
		while (!mine) {
			pthread_mutex_lock(&lock);
			mine = polled % 2 == number(arg);
			polled += mine;
			pthread_mutex_unlock(&lock);
		}
	}
	return NULL;
}

/* ---- threads that compute until all have begun ---- */

static int computing;
static volatile double results[MOST];

static void *compute(void *arg)
{
	double result = 0;
	int all;

	pthread_mutex_lock(&lock);
	computing++;
	pthread_mutex_unlock(&lock);
	do {
		for (int i = 0; i < 1000000; i++)
			result += i * 0.5;
		pthread_mutex_lock(&lock);
		all = computing == ring;
		pthread_mutex_unlock(&lock);
	} while (!all);
	results[number(arg)] = result;
	return NULL;
}

static void computes(int n)
{
	ring = n;
	run(n, compute);
	printf("computing %d\n", computing);
}

/* ---- threads made by threads; detached ones; timed waits ---- */

static void *tree(void *arg)
{
	pthread_t t[2];
	long depth = number(arg), leaves = 0;
	void *answer;

	if (!depth)
		return argument(1);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, tree, argument(depth - 1));
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &answer);
		leaves += number(answer);
	}
	return argument(leaves);
}

static int gone;

static void *helper(void *arg)
{
	usleep((unsigned)number(arg) * 100);
	pthread_mutex_lock(&lock);
	gone++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *waits(void *arg)
{
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 20000000 + 1000000 * number(arg);
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	if (pthread_cond_timedwait(&never, &lock, &t) == ETIMEDOUT)
		gone++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *leaves(void *arg)
{
	usleep(1000);
	pthread_exit(arg);
}

static void lives(int n)
{
	pthread_t t, many[MOST];
	void *answer;

	pthread_create(&t, NULL, tree, argument(3));
	pthread_join(t, &answer);
	printf("leaves %ld\n", number(answer));
	for (int i = 0; i < n; i++) {
		pthread_create(&t, NULL, helper, argument(i));
		pthread_detach(t);
	}
	pthread_mutex_lock(&lock);
	while (gone < n)
		pthread_cond_wait(&changed, &lock);
	gone = 0;
	pthread_mutex_unlock(&lock);
	run(n, waits);
	printf("late %d\n", gone);
	for (int i = 0; i < n; i++)
		pthread_create(&many[i], NULL, leaves, argument(i));
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			wrong += pthread_equal(many[i], many[k]) != 0;
	long all = 0;
	for (int i = n - 1; i >= 0; i--) {
		pthread_join(many[i], &answer);
		all += number(answer);
	}
	printf("exited %ld, wrong %d\n", all, wrong);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 9;

	tokens(n, argc > 2 ? atoi(argv[2]) : 50);
	pools(n);
	producers(n);
	meets(n);
	spins(n < 6 ? n : 6);
	if (n < 6) { /* array locks between nodes are not fair */
		run(2, polls);
		printf("polled %d\n", polled);
	}
	computes(n);
	lives(n);
	return 0;
}
