/* SPDX-License-Identifier: BSD-3-Clause */
/* c11.c - <threads.h> of C11.  The argument: how many threads. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

#define ROUNDS 30

static mtx_t plain, nested;
static cnd_t changed;
static tss_t own;
static once_flag once = ONCE_FLAG_INIT;
static int count, begun, turn, threads, destroyed;
static _Atomic int sum;
static thread_local int mine;

static void begin(void)
{
	begun++;
}

static void destroy(void *value)
{
	mtx_lock(&plain);
	destroyed += *(int *)value;
	mtx_unlock(&plain);
	free(value);
}

static int work(void *arg)
{
	int id = *(int *)arg, *value = malloc(sizeof(*value));

	*value = 10;
	tss_set(own, value);
	call_once(&once, begin);
	for (int i = 0; i < ROUNDS; i++) {
		mtx_lock(&nested);
		mtx_lock(&nested);
		count++;
		mine++;
		mtx_unlock(&nested);
		mtx_unlock(&nested);
		sum += id;
		mtx_lock(&plain);
		while (turn % threads != id)
			cnd_wait(&changed, &plain);
		turn++;
		cnd_broadcast(&changed);
		mtx_unlock(&plain);
		thrd_yield();
	}
	if (id == 1)
		thrd_exit(mine + *(int *)tss_get(own));
	return mine + id;
}

static struct timespec after(long ms)
{
	struct timespec t;

	timespec_get(&t, TIME_UTC);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

int main(int argc, char **argv)
{
	thrd_t t[16];
	int id[16], result;

	threads = argc > 1 ? atoi(argv[1]) : 3;
	if (mtx_init(&plain, mtx_timed) || mtx_init(&nested, mtx_plain | mtx_recursive) || cnd_init(&changed) ||
	    tss_create(&own, destroy))
		return 1;
	for (int i = 0; i < threads; i++) {
		id[i] = i;
		if (thrd_create(&t[i], work, &id[i]) != thrd_success)
			return 1;
	}
	for (int i = 0; i < threads; i++) {
		int error = thrd_join(t[i], &result);
		printf("%d %d\n", error, result);
	}
	printf("once %d, count %d, sum %d, turn %d, destroyed %d\n", begun, count, sum, turn, destroyed);
	mtx_lock(&plain);
	struct timespec at = after(20), ms = {0, 1000000};
	int late = cnd_timedwait(&changed, &plain, &at), busy = mtx_trylock(&plain);
	printf("late %d, busy %d, slept %d\n", late == thrd_timedout, busy == thrd_busy, thrd_sleep(&ms, NULL));
	at = after(20);
	mtx_unlock(&plain);
	printf("lock %d\n", mtx_timedlock(&plain, &at));
	printf("self %d\n", thrd_equal(thrd_current(), thrd_current()) != 0);
	mtx_unlock(&plain);
	mtx_destroy(&plain);
	mtx_destroy(&nested);
	cnd_destroy(&changed);
	tss_delete(own);
	return 0;
}
