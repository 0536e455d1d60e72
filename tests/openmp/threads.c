/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c - threads of the program's own beside OpenMP's: helpers that live while regions run, threads made in
 * regions, locks of both kinds, memory around barriers.  The argument ends the program in another way. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS  40
#define HELPERS 3
#define WORDS   6000

static int kept;
#pragma omp threadprivate(kept)

/* ---- a logger, which regions feed ---- */

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t filled, emptied;
	int full, value;
	long sum;
} box = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .emptied = PTHREAD_COND_INITIALIZER};

static void box_put(int value)
{
	pthread_mutex_lock(&box.mutex);
	while (box.full)
		pthread_cond_wait(&box.emptied, &box.mutex);
	box.full = 1;
	box.value = value;
	pthread_cond_signal(&box.filled);
	pthread_mutex_unlock(&box.mutex);
}

static void *box_log(void *arg)
{
	int value = 1;

	while (value) {
		pthread_mutex_lock(&box.mutex);
		while (!box.full)
			pthread_cond_wait(&box.filled, &box.mutex);
		box.full = 0;
		value = box.value;
		box.sum += value;
		pthread_cond_signal(&box.emptied);
		pthread_mutex_unlock(&box.mutex);
	}
	return arg;
}

static void logger(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, box_log, NULL);
	for (int round = 0; round < 5; round++) {
#pragma omp parallel for schedule(dynamic, 3)
		for (int i = 1; i <= 40; i++)
			box_put(i);
	}
	box_put(0);
	pthread_join(thread, NULL);
	printf("logged %ld\n", box.sum);
}

/* ---- locks ---- */

static omp_lock_t lock;
static omp_nest_lock_t nest;
static long by_lock, by_nest, by_critical, by_name, by_atomic;
static struct {
	long a, b, c;
} wide;

static void lock_all(void)
{
	omp_set_lock(&lock);
	by_lock++;
	omp_unset_lock(&lock);
	omp_set_nest_lock(&nest);
	omp_set_nest_lock(&nest);
	by_nest++;
	omp_unset_nest_lock(&nest);
	omp_unset_nest_lock(&nest);
#pragma omp critical
	by_critical++;
#pragma omp critical(name)
	{
		by_name++;
		wide.a = wide.b + 1;
		wide.b = wide.c = wide.a;
	}
#pragma omp atomic
	by_atomic++;
	while (!omp_test_lock(&lock))
		;
	by_lock++;
	omp_unset_lock(&lock);
}

static void *lock_many(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		lock_all();
	return arg;
}

static void locks(void)
{
	pthread_t thread[HELPERS];

	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
	for (int i = 0; i < HELPERS; i++)
		pthread_create(&thread[i], NULL, lock_many, NULL);
	lock_many(NULL);
#pragma omp parallel for
	for (int i = 0; i < ROUNDS; i++)
		lock_all();
	for (int i = 0; i < HELPERS; i++)
		pthread_join(thread[i], NULL);
	printf("locks %ld %ld %ld %ld %ld %ld\n", by_lock, by_nest, by_critical, by_name, by_atomic, wide.c);
}

/* ---- a thread made in a critical region, the program's first ---- */

static int inside;

static void *critical_run(void *arg)
{
#pragma omp critical(made)
	*(int *)arg = inside;
	return NULL;
}

static void in_critical(void)
{
	pthread_t thread;
	int seen = 7;

#pragma omp critical
	{
#pragma omp critical(made)
		{
			inside = 1;
			pthread_create(&thread, NULL, critical_run, &seen);
			usleep(20000);
			inside = 2;
		}
	}
	pthread_join(thread, NULL);
	printf("in critical %d\n", seen);
}

/* ---- regions of another thread ---- */

static void *regions_of_its_own(void *arg)
{
	int *n = arg, sum = 0, first = omp_get_thread_num() + omp_in_parallel() + omp_get_level(), ids = 0;

	kept = 5;
	omp_set_num_threads(2);
#pragma omp parallel reduction(+ : sum, ids)
	{
#pragma omp for
		for (int i = 0; i < 100; i++)
			sum += i;
#pragma omp single
		sum += 10000;
#pragma omp sections
		{
#pragma omp section
			sum += 100000;
#pragma omp section
			sum += 100000;
		}
#pragma omp master
		ids += omp_get_thread_num() + 1;
#pragma omp barrier
#pragma omp single
		{
#pragma omp task shared(ids)
			ids += 10;
#pragma omp taskwait
		}
	}
	*n = sum + first + kept;
	return (void *)(long)ids;
}

static void regions(void)
{
	pthread_t thread[HELPERS];
	int sums[HELPERS], threads = omp_get_max_threads(), met = 0;
	long ids = 0;

	for (int i = 0; i < HELPERS; i++)
		pthread_create(&thread[i], NULL, regions_of_its_own, &sums[i]);
#pragma omp parallel reduction(+ : met)
	met++;
	for (int i = 0; i < HELPERS; i++) {
		void *result;
		pthread_join(thread[i], &result);
		ids += (long)result;
		printf("its own region: %d\n", sums[i]);
	}
	printf("ids %ld, others' settings %d %d\n", ids, threads == omp_get_max_threads(), met == threads);
}

/* ---- threads made in regions ---- */

struct made {
	int id, value;
};

static void *made_run(void *arg)
{
	struct made *m = arg;

	kept += 100; /* its own */
	m->value = m->id * 10 + kept + omp_get_thread_num() + omp_get_num_threads();
	return arg;
}

static void *flag_raise(void *arg)
{
#pragma omp atomic write seq_cst
	*(int *)arg = 1;
	return NULL;
}

static void in_regions(void)
{
	long sum = 0;
	int flag = 0, right = 0;
	pthread_t outlives = 0;

#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (int i = 0; i < 24; i++) {
		struct made m = {i, 0};
		pthread_t thread;
		pthread_create(&thread, NULL, made_run, &m);
		kept = 1000 + i;
		pthread_join(thread, NULL);
		sum += m.value + (kept == 1000 + i);
	}
	/* A thread that the others wait for without a call that waits. */
#pragma omp parallel
	{
#pragma omp single nowait
		pthread_create(&outlives, NULL, flag_raise, &flag);
		for (int seen = 0; !seen;) {
#pragma omp atomic read seq_cst
			seen = flag;
		}
	}
	pthread_join(outlives, NULL);
#pragma omp parallel reduction(+ : right)
	right += kept / 1000;
	printf("made in regions: %ld, flag %d, kept %d\n", sum, flag, right == omp_get_max_threads());
}

/* ---- memory: neighbours in the same pages, written by threads of both kinds around barriers and locks ---- */

static struct {
	int even[2][WORDS / 4];
	int word[WORDS]; /* of workers and helpers in turn */
	int counted;
	int stop;
} memory;
static pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *memory_helper(void *arg)
{
	int id = (int)(long)arg, stop = 0, rounds = 0;

	while (!stop) {
		for (int i = id; i < WORDS / 2; i += HELPERS)
			memory.word[2 * i + 1]++;
		rounds++;
		pthread_mutex_lock(&memory_mutex);
		memory.counted++;
		stop = memory.stop;
		pthread_mutex_unlock(&memory_mutex);
		if (rounds % 4 == 0)
			usleep(500);
	}
	for (int i = id; i < WORDS / 2; i += HELPERS)
		memory.word[2 * i + 1] -= rounds;
	return (void *)(long)rounds;
}

static void around_barriers(void)
{
	pthread_t thread[HELPERS];
	long rounds = 0, wrong = 0;

	for (int i = 0; i < HELPERS; i++)
		pthread_create(&thread[i], NULL, memory_helper, (void *)(long)i);
	for (int half = 0; half < 2; half++) {
#pragma omp parallel reduction(+ : wrong)
		for (int step = 1; step <= ROUNDS; step++) {
			int now = step % 2, before = 1 - now;
			/* Each value is that of the neighbour in the step before, and one. */
#pragma omp for schedule(static, 5)
			for (int i = 0; i < WORDS / 4; i++)
				memory.even[now][i] = memory.even[before][(i + 7) % (WORDS / 4)] + 1;
#pragma omp for schedule(static, 3) nowait
			for (int i = 0; i < WORDS / 2; i++)
				memory.word[2 * i] += i;
#pragma omp barrier
			for (int i = omp_get_thread_num(); i < WORDS / 4; i += 97)
				wrong += memory.even[now][i] != half * ROUNDS + step;
#pragma omp barrier
		}
	}
	pthread_mutex_lock(&memory_mutex);
	memory.stop = 1;
	pthread_mutex_unlock(&memory_mutex);
	for (int i = 0; i < HELPERS; i++) {
		void *result;
		pthread_join(thread[i], &result);
		rounds += (long)result;
	}
	for (int i = 0; i < WORDS / 2; i++)
		wrong += (memory.word[2 * i] != 2 * ROUNDS * i) + (memory.word[2 * i + 1] != 0);
	printf("around barriers: %ld wrong, counted %d\n", wrong, memory.counted == rounds);
}

/* ---- tasks beside threads ---- */

static int fibonacci(int n)
{
	int a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

static void *sum_slowly(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 20; i++) {
		sum += i;
		usleep(300);
	}
	*(long *)arg = sum;
	return NULL;
}

static void tasks(void)
{
	pthread_t thread[HELPERS];
	long slow[HELPERS], sum = 0;
	int f = 0;

	for (int i = 0; i < HELPERS; i++)
		pthread_create(&thread[i], NULL, sum_slowly, &slow[i]);
#pragma omp parallel
#pragma omp single
	f = fibonacci(16);
	for (int i = 0; i < HELPERS; i++) {
		pthread_join(thread[i], NULL);
		sum += slow[i];
	}
	printf("tasks %d, slow %ld\n", f, sum);
}

/* ---- ends ---- */

static void *sleep_on(void *arg)
{
	sleep(1000);
	return arg;
}

static void *end_all(void *arg)
{
	printf("exit in a thread\n");
	exit((int)(long)arg);
}

static void end(const char *how)
{
	pthread_t thread;

	if (strcmp(how, "alone") == 0) {
#pragma omp parallel
		if (omp_get_thread_num() == omp_get_num_threads() - 1)
			exit(6);
	}
	pthread_create(&thread, NULL, sleep_on, NULL);
	pthread_detach(thread);
	if (strcmp(how, "main") == 0)
		exit(3);
	if (strcmp(how, "region") == 0) {
#pragma omp parallel
		if (omp_get_thread_num() == omp_get_num_threads() - 1)
			exit(4);
	}
	if (strcmp(how, "thread") == 0) {
		pthread_create(&thread, NULL, end_all, (void *)5L);
		for (;;) {
#pragma omp parallel
			{
#pragma omp barrier
			}
		}
	}
}

int main(int argc, char **argv)
{
	if (argc > 1) {
#pragma omp parallel
		kept = 1;
		end(argv[1]);
		return 0;
	}
	in_critical();
	in_regions();
	logger();
	locks();
	regions();
	around_barriers();
	tasks();
	return 0;
}
