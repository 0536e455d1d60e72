/* SPDX-License-Identifier: BSD-3-Clause */
/* objects.c - what threads synchronize by: mutexes of all kinds, a thousand used by all at once, spin locks, once,
 * condition variables, semaphores, read-write locks, barriers, atomic operations, also of assembler.  The argument: how
 * many threads besides main's. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 40

static int threads; /* main's is one more */

static void run(void *(*function)(void *))
{
	pthread_t t[64];

	for (int i = 1; i <= threads; i++)
		pthread_create(&t[i], NULL, function, (char *)NULL + i);
	function(NULL);
	for (int i = 1; i <= threads; i++)
		pthread_join(t[i], NULL);
}

static struct timespec after(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* ---- mutexes ---- */

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, nested = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                       checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                       adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, made;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int counts[8], begun, wrong;

static void begin(void)
{
	begun++;
}

static void *count(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_once(&once, begin);
		pthread_mutex_lock(&plain);
		wrong += begun != 1;
		counts[0]++;
		pthread_mutex_unlock(&plain);
		pthread_mutex_lock(&nested);
		pthread_mutex_lock(&nested);
		wrong += pthread_mutex_trylock(&nested) != 0;
		counts[1]++;
		pthread_mutex_unlock(&nested);
		pthread_mutex_unlock(&nested);
		counts[1]++;
		pthread_mutex_unlock(&nested);
		pthread_mutex_lock(&checked);
		counts[2]++;
		pthread_mutex_unlock(&checked);
		pthread_mutex_lock(&adaptive);
		counts[3]++;
		pthread_mutex_unlock(&adaptive);
		while (pthread_mutex_trylock(&made))
			;
		counts[4]++;
		pthread_mutex_unlock(&made);
		pthread_spin_lock(&spin);
		counts[5]++;
		pthread_spin_unlock(&spin);
		struct timespec t = after(CLOCK_REALTIME, 100000);
		wrong += pthread_mutex_timedlock(&plain, &t) != 0;
		counts[6]++;
		pthread_mutex_unlock(&plain);
	}
	return NULL;
}

static void *other(void *result)
{
	struct timespec t = after(CLOCK_REALTIME, 20);

	((int *)result)[0] = pthread_mutex_trylock(&plain);
	((int *)result)[1] = pthread_mutex_timedlock(&plain, &t);
	((int *)result)[2] = pthread_mutex_unlock(&checked);
	((int *)result)[3] = pthread_spin_trylock(&spin);
	return NULL;
}

static void mutexes(void)
{
	pthread_mutexattr_t attr;
	pthread_t t;
	int result[4];

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&made, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	run(count);
	int each = ROUNDS * (threads + 1);
	printf("mutexes: once %d, wrong %d;", begun, wrong);
	for (int i = 0; i < 7; i++)
		printf(" %d", counts[i] - each * (i == 1 ? 2 : 1));
	puts("");
	pthread_mutex_lock(&made);
	printf("again %d %d\n", pthread_mutex_lock(&made) == EDEADLK, pthread_mutex_trylock(&made) == EBUSY);
	pthread_mutex_unlock(&made);
	printf("not held %d\n", pthread_mutex_unlock(&made) == EPERM);
	pthread_mutex_lock(&plain);
	pthread_mutex_lock(&checked);
	pthread_spin_lock(&spin);
	pthread_create(&t, NULL, other, result);
	pthread_join(t, NULL);
	printf("held by main: %d %d %d %d\n", result[0] == EBUSY, result[1] == ETIMEDOUT, result[2] == EPERM,
	       result[3] == EBUSY);
	pthread_spin_unlock(&spin);
	pthread_mutex_unlock(&checked);
	pthread_mutex_unlock(&plain);
	printf("destroy %d %d\n", pthread_mutex_destroy(&made), pthread_spin_destroy(&spin));
}

/* ---- mutexes that all use first at once ---- */

#define CELLS 1000
static struct cell {
	pthread_mutex_t lock;
	pthread_spinlock_t spin;
	int locked, spun;
} cells[CELLS];

static void *use(void *arg)
{
	for (struct cell *c = cells; c < cells + CELLS; c++) {
		pthread_mutex_lock(&c->lock);
		c->locked++;
		pthread_mutex_unlock(&c->lock);
		pthread_spin_lock(&c->spin);
		c->spun++;
		pthread_spin_unlock(&c->spin);
	}
	return arg;
}

static void first_uses(void)
{
	int other = 0;

	for (int i = 0; i < CELLS; i++)
		pthread_spin_init(&cells[i].spin, PTHREAD_PROCESS_PRIVATE);
	run(use);
	for (int i = 0; i < CELLS; i++)
		other += cells[i].locked != threads + 1 || cells[i].spun != threads + 1;
	printf("first uses: %d of %d are wrong\n", other, CELLS);
}

/* ---- condition variables: a queue ---- */

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queue[4], head, tail, taken, sum;

static void *consume(void *arg)
{
	for (;;) {
		if (!arg && head < 60) {
			pthread_mutex_lock(&queue_lock);
			while (head - tail == 4)
				pthread_cond_wait(&emptied, &queue_lock);
			queue[head % 4] = head;
			head++;
			pthread_cond_signal(&filled);
			pthread_mutex_unlock(&queue_lock);
			continue;
		}
		pthread_mutex_lock(&queue_lock);
		while (head == tail && taken < 60)
			pthread_cond_wait(&filled, &queue_lock);
		if (taken == 60) {
			pthread_mutex_unlock(&queue_lock);
			return NULL;
		}
		sum += queue[tail++ % 4];
		if (++taken == 60)
			pthread_cond_broadcast(&filled);
		pthread_mutex_unlock(&queue_lock);
		pthread_cond_signal(&emptied);
	}
}

static void conditions(void)
{
	pthread_condattr_t attr;
	pthread_cond_t never;

	run(consume);
	printf("queue: taken %d, sum %d\n", taken, sum);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&never, &attr);
	struct timespec t = after(CLOCK_MONOTONIC, 30), bad = {0, 1000000000};
	pthread_mutex_lock(&nested);
	pthread_mutex_lock(&nested);
	int late;
	while ((late = pthread_cond_timedwait(&never, &nested, &t)) == 0)
		;
	printf("late %d, bad %d\n", late == ETIMEDOUT, pthread_cond_timedwait(&never, &nested, &bad) == EINVAL);
	printf("still held %d %d %d\n", pthread_mutex_unlock(&nested), pthread_mutex_unlock(&nested),
	       pthread_mutex_unlock(&nested) == EPERM);
	pthread_cond_destroy(&never);
}

/* ---- waits without a loop: they end by a signal of their own variable, and each signal ends one ---- */

#define OTHERS 200
static pthread_cond_t own[OTHERS + 1];
static int waiting, may, ended, unasked;

static void *wait_once(void *arg)
{
	pthread_mutex_lock(&queue_lock);
	waiting++;
	pthread_cond_wait(&own[0], &queue_lock);
	unasked += ++ended > may;
	pthread_mutex_unlock(&queue_lock);
	return arg;
}

static void signal_own(void)
{
	for (int i = 1; i <= OTHERS; i++) {
		pthread_mutex_lock(&queue_lock);
		pthread_cond_broadcast(&own[i]);
		pthread_mutex_unlock(&queue_lock);
	}
	usleep(20000);
	pthread_mutex_lock(&queue_lock);
	may++;
	pthread_cond_signal(&own[0]);
	pthread_mutex_unlock(&queue_lock);
}

static void own_signals(void)
{
	pthread_t t[64];
	int all = 0;

	for (int i = 0; i <= OTHERS; i++)
		pthread_cond_init(&own[i], NULL);
	for (int i = 1; i <= threads; i++)
		pthread_create(&t[i], NULL, wait_once, NULL);
	while (all < threads) {
		pthread_mutex_lock(&queue_lock);
		all = waiting;
		pthread_mutex_unlock(&queue_lock);
	}
	for (int i = 1; i <= threads; i++)
		signal_own();
	for (int i = 1; i <= threads; i++)
		pthread_join(t[i], NULL);
	printf("waits ended %d, unasked %d\n", ended, unasked);
}

/* ---- semaphores, read-write locks, barriers, atomics ---- */

static sem_t few, ready;
static int inside, most;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static int table[2000], torn;
static pthread_barrier_t barrier, pair;
static _Atomic int arrived, serial;
static int row[64];

static void *enter(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&few);
		pthread_mutex_lock(&plain);
		most = ++inside > most ? inside : most;
		pthread_mutex_unlock(&plain);
		pthread_mutex_lock(&plain);
		inside--;
		pthread_mutex_unlock(&plain);
		sem_post(&few);
	}
	if (arg)
		sem_post(&ready);
	else
		for (int i = 0; i < threads; i++)
			sem_wait(&ready);
	return NULL;
}

static void *read_write(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 5 == 0) {
			pthread_rwlock_wrlock(&table_lock);
			for (int k = 0; k < 2000; k += 100)
				table[k]++;
		} else {
			pthread_rwlock_rdlock(&table_lock);
			for (int k = 100; k < 2000; k += 100)
				torn += table[k] != table[0];
		}
		pthread_rwlock_unlock(&table_lock);
	}
	return arg;
}

static void *meet(void *arg)
{
	long id = (char *)arg - (char *)NULL;

	for (int i = 0; i < ROUNDS; i++) {
		row[id] = i;
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add(&serial, 1);
		for (int k = 0; k <= threads; k++)
			if (row[k] != i)
				atomic_fetch_add(&arrived, 1000000);
		pthread_barrier_wait(&barrier);
		if (id < 2 && pthread_barrier_wait(&pair) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add(&serial, 1);
		__sync_fetch_and_add((int *)&arrived, 1);
	}
	return NULL;
}

static void others(void)
{
	int value;

	sem_init(&few, 0, 2);
	sem_init(&ready, 0, 0);
	run(enter);
	sem_getvalue(&few, &value);
	printf("semaphore: most %d, value %d\n", most <= 2 ? 2 : most, value);
	struct timespec t = after(CLOCK_REALTIME, 20);
	printf("none %d", sem_trywait(&ready) < 0 && errno == EAGAIN);
	printf(" %d\n", sem_timedwait(&ready, &t) < 0 && errno == ETIMEDOUT);
	run(read_write);
	printf("table %d, torn %d\n", table[1900], torn);
	pthread_rwlock_rdlock(&table_lock);
	printf("readers %d, writer %d\n", pthread_rwlock_tryrdlock(&table_lock),
	       pthread_rwlock_trywrlock(&table_lock) == EBUSY);
	pthread_rwlock_unlock(&table_lock);
	pthread_rwlock_unlock(&table_lock);
	pthread_rwlock_wrlock(&table_lock);
	printf("again %d\n", pthread_rwlock_wrlock(&table_lock) == EDEADLK);
	pthread_rwlock_unlock(&table_lock);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&pair, NULL, 2);
	run(meet);
	printf("barriers: serial %d, arrived %d\n", serial - 2 * ROUNDS, arrived - ROUNDS * (threads + 1));
	pthread_barrier_destroy(&barrier);
	pthread_barrier_destroy(&pair);
}

/* ---- atomic operations of the source's own assembler: moves and compares as well ---- */

#define PUT 300
static struct {
	unsigned long put, got, value[8];
} ring;
static unsigned long drawn, served, behind[100];
static int late;

static unsigned long load(const unsigned long *at)
{
	unsigned long value;

	__asm__ volatile("movq %1, %0" : "=r"(value) : "m"(*at) : "memory");
	return value;
}

static void store(unsigned long *at, unsigned long value)
{
	__asm__ volatile("movq %1, %0" : "=m"(*at) : "r"(value) : "memory");
}

static int is(const unsigned long *at, unsigned long value)
{
	char equal;

	__asm__ volatile("cmpq %2, %1; sete %0" : "=q"(equal) : "m"(*at), "r"(value) : "memory", "cc");
	return equal;
}

/* Waits until *@at is @value, or is not, as @equal says; 0: too long. */
static int until(const unsigned long *at, unsigned long value, int equal)
{
	struct timespec now, end = after(CLOCK_MONOTONIC, 20000);

	while (!late && is(at, value) != equal) {
		__asm__ volatile("pause");
		clock_gettime(CLOCK_MONOTONIC, &now);
		late = now.tv_sec > end.tv_sec;
	}
	return !late;
}

static void *assemble(void *arg)
{
	long id = (char *)arg - (char *)NULL;

	for (unsigned long i = 0; i < PUT && id == 0; i++) {
		if (i >= 8 && !until(&ring.got, i - 8, 0))
			break;
		ring.value[i % 8] = 3 * i;
		store(&ring.put, i + 1);
	}
	for (unsigned long i = 0; i < PUT && id == 1 && until(&ring.put, i, 0); i++) {
		wrong += ring.value[i % 8] != 3 * i;
		store(&ring.got, i + 1);
	}
	for (int i = 0; i < ROUNDS; i++) {
		unsigned long turn = 1;
		__asm__ volatile("lock; xaddq %0, %1" : "+r"(turn), "+m"(drawn)::"memory", "cc");
		if (!until(&served, turn, 1))
			break;
		for (int k = 0; k < 100; k++)
			behind[k]++;
		store(&served, load(&served) + 1);
	}
	return NULL;
}

static void assembler(void)
{
	wrong = 0;
	run(assemble);
	printf("assembler: late %d, wrong %d, %lu %lu\n", late, wrong, load(&ring.got), behind[99]);
}

/* ---- atomic objects of 16 bytes and of other sizes ---- */

struct pair {
	unsigned long a, b;
};
struct triple {
	int a, b, c;
};
static _Atomic struct pair wide;
static _Atomic struct triple odd;
static _Atomic int apart;
#if defined(__SIZEOF_INT128__)
__extension__ static _Atomic unsigned __int128 wide_sum;
#endif

static void *operate(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct pair p = atomic_load(&wide), q;
		struct triple t = atomic_load(&odd), u;

		do {
			apart += p.b != 3 * p.a;
			q = (struct pair){p.a + 1, p.b + 3};
		} while (!atomic_compare_exchange_weak(&wide, &p, q));
		do {
			apart += t.b != 3 * t.a || t.c != -t.a;
			u = (struct triple){t.a + 1, t.b + 3, t.c - 1};
		} while (!atomic_compare_exchange_weak(&odd, &t, u));
#if defined(__SIZEOF_INT128__)
		atomic_fetch_add(&wide_sum, ~0ul);
#endif
	}
	return arg;
}

static void sizes(void)
{
	run(operate);
	struct pair p = atomic_exchange(&wide, ((struct pair){0, 1}));
	struct triple t = atomic_exchange(&odd, ((struct triple){4, 5, 6}));
	printf("sizes: %lu %lu, %d %d %d, apart %d", p.a, p.b, t.a, t.b, t.c, apart);
	atomic_store(&wide, p);
	atomic_store(&odd, t);
	printf(", %lu %d", atomic_load(&wide).b, atomic_load(&odd).c);
	fflush(stdout);
	pid_t child = fork(); /* has copies, and no locks */
	if (child == 0)
		_exit(atomic_load(&wide).a == p.a && atomic_load(&odd).a == t.a ? 5 : 6);
	int status = 0;
	waitpid(child, &status, 0);
	printf(", child %d", WEXITSTATUS(status));
#if defined(__SIZEOF_INT128__)
	printf(", %lx %lx", (unsigned long)(wide_sum >> 64), (unsigned long)wide_sum);
#endif
	printf("\n");
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 1;
	mutexes();
	first_uses();
	conditions();
	own_signals();
	others();
	assembler();
	sizes();
	return 3;
}
