/* SPDX-License-Identifier: BSD-3-Clause */
/* locks.c - critical, atomic, reductions of all operators, flush, locks. */
#include <complex.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 40

static void criticals(void)
{
	int a = 0, b = 0, c = 0;

#pragma omp parallel
	for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
		a++;
#pragma omp critical(first)
		{
			b++;
#pragma omp critical(second)
			c += 2;
		}
	}
	printf("critical: %d %d %d\n", a, b, c);
}

static void atomics(void)
{
	char c = 0;
	short s = 0;
	int i = 0, captured = 0, odd = 0;
	long l = 1;
	float f = 0;
	double d = 0;
	long double x = 0;
	unsigned char bits = 0;
	_Atomic int std = 0;
	struct {
		char gap, byte;
		double value;
	} pair = {0};

#pragma omp parallel
	for (int r = 0; r < ROUNDS; r++) {
		int was, now;
#pragma omp atomic
		c++;
#pragma omp atomic
		s += 3;
#pragma omp atomic
		i -= 2;
#pragma omp atomic
		l ^= 1l << (r % 40);
#pragma omp atomic
		f += 0.5f;
#pragma omp atomic
		d += 0.25;
#pragma omp atomic
		x += 2;
#pragma omp atomic
		bits |= 1 << (r % 8);
#pragma omp atomic
		pair.byte++;
#pragma omp atomic update
		pair.value = pair.value + 1;
#pragma omp atomic capture
		was = captured++;
#pragma omp atomic capture
		{
			captured += 2;
			now = captured;
		}
#pragma omp atomic
		odd += (was < now);
		std++;
		atomic_fetch_add(&std, 2);
		__sync_fetch_and_add(&i, 1);
		(void)__sync_bool_compare_and_swap(&i, 123456, 0);
	}
	printf("atomic: %d %d %d %ld %g %g %Lg %d %d %g %d %d %d\n", c, s, i, l, f, d, x, bits, pair.byte, pair.value,
	       captured, odd, std);
}

static void reductions(void)
{
	int sum = 7, product = 1, low = 1000, high = -1000, both = ~0, any = 0, flip = 0, all = 1, some = 0;
	double real = 0.5, least = 1e9;
	float small = 0;
	double complex z = 0;
	long array[10] = {0};

#pragma omp parallel for reduction(+ : sum) reduction(* : product) reduction(min : low, least) reduction(max : high)  \
    reduction(& : both) reduction(| : any) reduction(^ : flip) reduction(&& : all) reduction(|| : some)                \
    reduction(+ : real, small, z, array)
	for (int i = 1; i <= 64; i++) {
		sum += i;
		product *= i % 16 ? 1 : 2;
		low = i * 3 - 50 < low ? i * 3 - 50 : low;
		high = i * 2 > high ? i * 2 : high;
		both &= ~(1 << (i % 5));
		any |= 1 << (i % 7);
		flip ^= i * i;
		all = all && i > 0;
		some = some || i == 63;
		real += i * 0.25;
		least = 1.0 / i < least ? 1.0 / i : least;
		small += 1;
		z += i * I + 2;
		array[i % 10] += i;
	}
	printf("reduction: %d %d %d %d %d %d %d %d %d %g %g %g %g+%gi", sum, product, low, high, both, any, flip, all,
	       some, real, least, small, creal(z), cimag(z));
	for (int i = 0; i < 10; i++)
		printf(" %ld", array[i]);
	for (int r = 0; r < 5; r++)
#pragma omp parallel reduction(+ : real)
		real += omp_get_thread_num() + 1;
	printf("; again %g\n", real);
}

#pragma omp declare reduction(join:long : omp_out = omp_out > omp_in ? omp_out : omp_in) initializer(omp_priv = -1)

/* Assembler in the source, on the stack and elsewhere. */
static int counted;
static void assembled(void)
{
	int local = 0, n = omp_get_max_threads();
	long table[5] = {0}, index = 3;

#pragma omp parallel firstprivate(index)
	for (int r = 0; r < ROUNDS; r++) {
		long one = 1;
		__asm__ volatile("lock; incl %0" : "+m"(counted)::"cc");
		__asm__ volatile("lock addl $2, %0; lock\n\tsubl $1, %0" : "+m"(local)::"cc");
		__asm__ volatile("lock xaddq %0, (%1,%2,8)" : "+r"(one) : "r"(table), "r"(index) : "memory", "cc");
		__asm__ volatile("mfence" ::: "memory");
	}
	printf("assembled: %d %d %d\n", counted == n * ROUNDS, local == n * ROUNDS, table[3] == n * ROUNDS);
}

/* A value goes from thread to thread; each waits for its turn. */
static void flushes(void)
{
	int turn = 0, n = omp_get_max_threads(), trail[64] = {0};
	long most = -1;

#pragma omp parallel
	{
		int me = omp_get_thread_num(), seen;
		for (int round = 0; round < 3; round++) {
			do {
#pragma omp flush
#pragma omp atomic read
				seen = turn;
			} while (seen != round * n + me);
#pragma omp flush
			trail[me] = me ? trail[me - 1] + 1 : trail[n - 1] + 100;
#pragma omp flush
#pragma omp atomic write
			turn = seen + 1;
		}
	}
	for (int t = 0; t < n; t++)
		printf("%d ", trail[t]);
	/* The same with volatile and flush alone. */
	volatile int stage = 0;
	int word = 0;
#pragma omp parallel num_threads(n > 1 ? 2 : 1) shared(word)
	{
		if (omp_get_thread_num() == 0) {
			word = 42;
#pragma omp flush
			stage = 1;
#pragma omp flush
		} else {
			while (!stage) {
#pragma omp flush
			}
#pragma omp flush
			word += 1000;
		}
	}
#pragma omp parallel for reduction(join : most)
	for (int i = 0; i < 50; i++)
		most = i * 7 % 50 > most ? i * 7 % 50 : most;
	printf("flush: %d %ld\n", word - 1000 * (n > 1), most);
}

static omp_lock_t table[20];

/* More locks than Tweed has, some of which are used. */
static void many(void)
{
	enum { MANY = 100000, STEP = 97 };
	static omp_lock_t lock[MANY];
	static int count[MANY];
	int sum = 0;

	for (int i = 0; i < MANY; i++)
		omp_init_lock(&lock[i]);
#pragma omp parallel
	for (int i = 0; i < MANY; i += STEP) {
		omp_set_lock(&lock[i]);
		count[i]++;
		omp_unset_lock(&lock[i]);
	}
	for (int i = 0; i < MANY; i++) {
		omp_destroy_lock(&lock[i]);
		sum += count[i];
	}
	printf("many locks: %d\n", sum == omp_get_max_threads() * ((MANY + STEP - 1) / STEP));
}

static void locks(void)
{
	omp_lock_t lock;
	omp_nest_lock_t nest;
	int a = 0, b = 0, tries = 0, depth = 0, slots[20] = {0};

	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
	for (int i = 0; i < 20; i++)
		omp_init_lock(&table[i]);
#pragma omp parallel reduction(+ : tries)
	for (int i = 0; i < ROUNDS; i++) {
		omp_set_lock(&lock);
		a++;
		omp_unset_lock(&lock);
		omp_set_lock(&table[i % 20]);
		slots[i % 20]++;
		omp_unset_lock(&table[i % 20]);
		while (!omp_test_lock(&lock))
			;
		b++;
		omp_unset_lock(&lock);
		tries++;
		omp_set_nest_lock(&nest);
		omp_set_nest_lock(&nest);
		depth += omp_test_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
	}
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nest);
	printf("locks: %d %d %d %d %d\n", a, b, tries, depth, slots[7]);
}

/* Set by one thread and unset by another, which gcc's locks permit. */
static void handed(void)
{
	omp_lock_t lock, turn[2];
	int n = 0;

	omp_init_lock(&lock);
	for (int i = 0; i < 2; i++)
		omp_init_lock(&turn[i]);
	omp_set_lock(&turn[1]);
#pragma omp parallel num_threads(2)
	{
		int self = omp_get_thread_num();
		for (int i = 0; i < ROUNDS; i++) {
			omp_set_lock(&turn[self]);
			if (!self)
				omp_set_lock(&lock);
			n += self + 1;
			if (self)
				omp_unset_lock(&lock);
			omp_unset_lock(&turn[1 - self]);
		}
	}
	printf("handed: %d %d\n", n, omp_test_lock(&lock));
}

/* POSIX's, in a parallel region. */
static void mutexes(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int n = 0;

#pragma omp parallel for schedule(static, 1)
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		n++;
		pthread_mutex_unlock(&mutex);
	}
	printf("mutexes: %d\n", n);
}

int main(void)
{
	criticals();
	atomics();
	assembled();
	reductions();
	flushes();
	locks();
	many();
	locks(); /* again, with words that are locks where there are few slots */
	handed();
	mutexes();
	return 0;
}
