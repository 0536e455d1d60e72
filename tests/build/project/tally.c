/* SPDX-License-Identifier: BSD-3-Clause */
#include "tally.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base.h"

int tally_begun;
static atomic_int count;
static long sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((constructor)) tally_begin(void)
{
	tally_begun = base_ready();
}

/* Local to the library: the program has one, too. */
int __attribute__((visibility("hidden"))) helper(int n)
{
	return n;
}

int tally_weight(int n)
{
	return 100 * n;
}

void tally_add(int n)
{
	atomic_fetch_add(&count, 1);
	pthread_mutex_lock(&mutex);
	sum += tally_weight(helper(n));
	base_note();
	pthread_mutex_unlock(&mutex);
}

int tally_count(void)
{
	return atomic_load(&count);
}

long tally_sum(void)
{
	return sum + 1000000L * base_notes();
}
