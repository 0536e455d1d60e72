/* SPDX-License-Identifier: BSD-3-Clause */
/* handed.c - mutexes and spin locks that one thread locks and another unlocks, as older programs use them, and mutexes
 * that are unlocked or waited with though nobody has locked them.  The argument: how many threads besides main's. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST   16
#define ROUNDS 50

static pthread_mutex_t turn[MOST], ended = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static unsigned players, value, calls;

/* Round the players: each locks its own mutex, and unlocks the next one's. */
static void *plays(void *arg)
{
	unsigned self = (unsigned)(size_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&turn[self]);
		value = value * 3 + self;
		pthread_mutex_unlock(&turn[(self + 1) % players]);
	}
	if (self == players - 1)
		pthread_mutex_unlock(&ended);
	return NULL;
}

static void *unlocks(void *arg)
{
	calls += 5;
	pthread_spin_unlock(&spin);
	return arg;
}

/* What the C library does not refuse: returns how many calls fail. */
static int unlocked(void)
{
	static pthread_mutex_t fresh[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec past = {.tv_sec = 1};
	int failed = 0;

	for (int i = 0; i < 2; i++) {
		if (i)
			failed += pthread_mutex_unlock(&fresh[i]) != 0;
		failed += pthread_cond_timedwait(&never, &fresh[i], &past) != ETIMEDOUT;
		failed += pthread_mutex_trylock(&fresh[i]) != EBUSY; /* the wait has locked it */
		failed += pthread_mutex_unlock(&fresh[i]) != 0;
		failed += pthread_mutex_unlock(&fresh[i]) != 0;
		failed += pthread_mutex_trylock(&fresh[i]) != 0;
	}
	return failed;
}

int main(int argc, char **argv)
{
	pthread_t t[MOST];

	players = 1 + (argc > 1 ? (unsigned)atoi(argv[1]) : 3);
	for (unsigned i = 0; i < players; i++) {
		pthread_mutex_init(&turn[i], NULL);
		pthread_mutex_lock(&turn[i]);
	}
	pthread_mutex_lock(&ended);
	for (unsigned i = 0; i < players; i++)
		pthread_create(&t[i], NULL, plays, (char *)NULL + i);
	pthread_mutex_unlock(&turn[0]);
	pthread_mutex_lock(&ended); /* the caller has it already */
	for (unsigned i = 0; i < players; i++)
		pthread_join(t[i], NULL);
	printf("%u\n", value);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_lock(&spin);
	for (unsigned i = 0; i < players; i++) {
		pthread_create(&t[i], NULL, unlocks, NULL);
		pthread_spin_lock(&spin);
		pthread_join(t[i], NULL);
	}
	printf("%u %d %d\n", calls, pthread_mutex_trylock(&ended) != 0, unlocked());
	return 0;
}
