/* SPDX-License-Identifier: BSD-3-Clause */
/* busy.c - a program to be killed: every processor increments counters under locks and meets the others at barriers.
 * usage: busy [--child] [ROUNDS]; without ROUNDS for ever.  --child: each processor has a child that sleeps.  Who is
 * through the first
 * round is called `busy-runs` by the kernel. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tweed/tweed.h"

enum { LOCKS = 4, STRIDE = 1024 };

struct shared {
	tw_lock_t lock[LOCKS];
	long counter[LOCKS * STRIDE];
	long total[];
};

static void start_child(void)
{
	if (fork() == 0)
		for (;;)
			pause();
}

int main(int argc, char **argv)
{
	int at = 1;
	if (at < argc && strcmp(argv[at], "--child") == 0) {
		start_child();
		at++;
	}
	long rounds = at < argc ? atol(argv[at]) : 0;

	tw_init(&argc, &argv);
	struct shared *s = tw_malloc_all(sizeof(*s) + (size_t)tw_count() * STRIDE * sizeof(long));
	if (!s)
		tw_abort(1, "no shared memory");
	if (tw_id() == 0)
		for (int i = 0; i < LOCKS; i++)
			s->lock[i] = tw_lock_create();
	tw_barrier_all();
	for (long round = 1; rounds == 0 || round <= rounds; round++) {
		int i = (int)((round + tw_id()) % LOCKS);
		tw_lock_acquire(s->lock[i]);
		s->counter[i * STRIDE]++;
		tw_lock_release(s->lock[i]);
		s->total[tw_id() * STRIDE] = round;
		tw_barrier_all();
		if (s->total[(tw_id() + 1) % tw_count() * STRIDE] != round)
			tw_abort(1, "a neighbour's round is not visible");
		tw_barrier_all();
		if (round == 1)
			prctl(PR_SET_NAME, "busy-runs");
	}
	long sum = 0;
	for (int i = 0; i < LOCKS; i++)
		sum += s->counter[i * STRIDE];
	bool right = sum == rounds * tw_count();
	tw_verified(right);
	tw_finalize();
	return !right;
}
