/* SPDX-License-Identifier: BSD-3-Clause */
/* pes.c - how long OpenSHMEM's operations take in virtual time, by the C library's clocks: a line "name ns" each. */
#include <shmem.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TURNS 64

static long flag, count, lock, sum, block[4096];
static int me, last;

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void report(const char *name, long ns)
{
	if (me == 0)
		printf("%s %ld\n", name, ns);
}

/* A word put there and one put back. */
static void ping_pong(const char *name, int with)
{
	shmem_barrier_all();
	long begun = now_ns();
	for (int i = 0; i < TURNS; i++) {
		long turn = with * TURNS + i;
		if (me == 0)
			shmem_long_p(&flag, turn, with);
		if (me == 0 || me == with)
			shmem_long_wait_until(&flag, SHMEM_CMP_EQ, turn);
		if (me == with)
			shmem_long_p(&flag, turn, 0);
	}
	report(name, (now_ns() - begun) / TURNS);
}

static void clocks(void)
{
	struct timeval day;

	shmem_barrier_all();
	long begun = now_ns();
	usleep(1500);
	nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
	report("slept", now_ns() - begun);
	gettimeofday(&day, NULL);
	report("day", day.tv_sec * 1000000000L + day.tv_usec * 1000L - now_ns() / 1000 * 1000);
	report("seconds", time(NULL) - now_ns() / 1000000000);
}

int main(void)
{
	shmem_init();
	me = shmem_my_pe();
	last = shmem_n_pes() - 1;
	ping_pong("ping-pong", last);
	if (last > 1)
		ping_pong("ping-pong within the node", 1);
	shmem_barrier_all();
	long begun = now_ns();
	for (int i = 0; i < TURNS && me == 0; i++)
		shmem_long_atomic_fetch_inc(&count, last);
	report("fetch_inc", (now_ns() - begun) / TURNS);
	begun = now_ns();
	for (int i = 0; i < TURNS && me == 0; i++)
		shmem_long_atomic_inc(&count, last);
	report("inc", (now_ns() - begun) / TURNS);
	shmem_quiet();
	begun = now_ns();
	if (me == 0)
		shmem_putmem(block, block, sizeof(block), last), shmem_quiet();
	report("put of 32 KiB", now_ns() - begun);
	shmem_barrier_all();
	begun = now_ns();
	for (int i = 0; i < TURNS; i++)
		shmem_barrier_all();
	report("barrier", (now_ns() - begun) / TURNS);
	begun = now_ns();
	for (int i = 0; i < TURNS; i++) {
		shmem_set_lock(&lock);
		shmem_long_p(&sum, shmem_long_g(&sum, 0) + 1, 0);
		shmem_clear_lock(&lock);
	}
	shmem_barrier_all();
	report("lock", (now_ns() - begun) / TURNS);
	report("sum", sum);
	report("count", shmem_long_g(&count, last));
	clocks();
	shmem_finalize();
	return 0;
}
