/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c - a master gives jobs to a worker by a volatile counter, and waits for its volatile flag: no atomics, no lock.
 *
 *   jobs NUMBER    prints what both have computed */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS 512

static volatile int job, done;
static long data[2][ITEMS];

static void part(int whose, int number)
{
	for (int i = 0; i < ITEMS; i++)
		data[whose][i] += data[!whose][i] % 7 + number;
}

static void *work(void *arg)
{
	for (int mine = 0; mine >= 0;) {
		while (mine == job)
			;
		mine = job;
		if (mine > 0) {
			part(1, mine);
			done = 1;
		}
	}
	return arg;
}

int main(int argc, char **argv)
{
	int jobs = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t worker;
	long sum = 0;

	pthread_create(&worker, NULL, work, NULL);
	for (int i = 1; i <= jobs; i++) {
		job = i;
		while (!done)
			;
		done = 0;
		part(0, i);
	}
	job = -1;
	pthread_join(worker, NULL);
	for (int i = 0; i < ITEMS; i++)
		sum += data[0][i] - 3 * data[1][i];
	printf("%ld\n", sum);
	return 0;
}
