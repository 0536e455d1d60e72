/* SPDX-License-Identifier: BSD-3-Clause */
/* mutexes.c - more mutexes than the job has synchronization objects: some live, some in memory that was freed without
 * pthread_mutex_destroy, as C++ does it; and as many spin locks.  Each guards its counter. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define LIVE  1500u
#define TURNS 6000u

struct counter {
	pthread_mutex_t lock;
	unsigned n;
	unsigned tried;
	pthread_spinlock_t spin;
	unsigned spun;
};
static struct counter counters[LIVE];
static pthread_mutex_t outer[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static unsigned guarded[3];

static void spins(struct counter *c, unsigned i)
{
	while (i % 8 == 1 && pthread_spin_trylock(&c->spin))
		sched_yield();
	if (i % 8 != 1)
		pthread_spin_lock(&c->spin);
	c->spun++;
	if (i % 16 == 0)
		sched_yield();
	pthread_spin_unlock(&c->spin);
}

static void *work(void *arg)
{
	unsigned long seed = (unsigned long)(size_t)arg;

	for (unsigned i = 0; i < TURNS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		struct counter *c = &counters[(seed >> 33) % LIVE], *freed = calloc(1, sizeof(*freed));
		unsigned way = (unsigned)(seed >> 50) % 3;

		pthread_mutex_lock(&freed->lock);
		freed->n++;
		pthread_mutex_lock(&outer[way]);
		guarded[way]++;
		if (way == 0 && pthread_mutex_trylock(&c->lock) == 0) {
			c->tried++;
			pthread_mutex_unlock(&c->lock);
		}
		pthread_mutex_lock(&c->lock);
		c->n++;
		pthread_mutex_unlock(&c->lock);
		pthread_mutex_unlock(&outer[way]);
		pthread_mutex_unlock(&freed->lock);
		spins(&counters[i % 4 ? (seed >> 30) % LIVE : i / 500 * 100], i);
		if (i % 16 == 0)
			pthread_mutex_destroy(&freed->lock);
		free(freed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 1 ? (size_t)atoi(argv[1]) : 1;
	pthread_t thread[32];
	unsigned sum = 0, all = 0, bad = 0, spun = 0;

	for (unsigned i = 0; i < LIVE; i++)
		pthread_spin_init(&counters[i].spin, PTHREAD_PROCESS_PRIVATE);
	for (size_t t = 0; t < threads; t++)
		pthread_create(&thread[t], NULL, work, (void *)(t + 1));
	work(NULL);
	for (size_t t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	for (unsigned i = 0; i < LIVE; i++) {
		sum += counters[i].n;
		spun += counters[i].spun;
		pthread_spin_destroy(&counters[i].spin);
		bad += pthread_mutex_destroy(&counters[i].lock) != 0;
	}
	for (unsigned i = 0; i < 3; i++)
		all += guarded[i];
	printf("%u %u %u %u\n", sum, all, bad, spun);
	return 0;
}
