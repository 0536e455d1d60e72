/* SPDX-License-Identifier: BSD-3-Clause */
/* stuck.c - programs whose processors wait for what never comes, and some that only seem to.
 * usage: stuck CASE */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tweed/tweed.h"

static struct shared {
	tw_lock_t a, b;
	tw_barrier_t some, all;
	tw_flag_t flag, other;
} * s;

static void *thread(void *arg)
{
	sleep(1);
	tw_barrier_all();
	return arg;
}

static void second_thread(void)
{
	pthread_t t;

	if (tw_id() == 0) {
		sleep(3);
		return;
	}
	if (tw_id() == 1)
		pthread_create(&t, NULL, thread, NULL);
	tw_barrier_all();
}

static void barrier(void)
{
	if (tw_id())
		tw_barrier_all();
}

static void malloc_all(void)
{
	if (tw_id())
		tw_barrier_all();
	else
		tw_malloc_all(100);
}

static void held(void)
{
	if (tw_id() == 1)
		tw_lock_acquire(s->a);
}

static void too_few(void)
{
	if (tw_id() == 1)
		tw_barrier_wait(s->some);
}

static void flag(void)
{
	if (tw_id() == 1)
		tw_flag_wait(s->flag, 7);
}

static void two_locks(void)
{
	if (tw_id() > 1)
		return;
	tw_lock_acquire(tw_id() ? s->b : s->a);
	tw_flag_set(tw_id() ? s->flag : s->other, 1);
	tw_flag_wait(tw_id() ? s->other : s->flag, 1);
	tw_lock_acquire(tw_id() ? s->a : s->b);
}

static void not_released(void)
{
	if (tw_id() == 0) {
		tw_lock_acquire(s->a);
		tw_flag_set(s->flag, 1);
		tw_barrier_all();
	}
	tw_flag_wait(s->flag, 1);
	tw_lock_acquire(s->a);
	tw_lock_release(s->a);
	tw_barrier_all();
}

static void handler(int number)
{
	(void)number;
	tw_abort(7, "the signal came");
}

/* What ends the waits comes late. */
static void late(void)
{
	if (tw_id() == 0) {
		sleep(6);
		tw_flag_set(s->flag, 1);
	}
	tw_flag_wait(s->flag, 1);
}

static void late_signal(void)
{
	if (tw_id() == 1) {
		signal(SIGALRM, handler);
		alarm(6);
	}
	if (tw_id() == 0)
		tw_barrier_wait(s->all);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
    {"second thread", second_thread},
    {"barrier", barrier},
    {"malloc", malloc_all},
    {"held", held},
    {"two locks", two_locks},
    {"not released", not_released},
    {"too few", too_few},
    {"flag", flag},
    {"late", late},
    {"late signal", late_signal},
};

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";

	tw_init(&argc, &argv);
	s = tw_malloc_all(sizeof(*s));
	if (tw_id() == 0)
		*s = (struct shared){tw_lock_create(),
		                     tw_lock_create(),
		                     tw_barrier_create(tw_count() - 1),
		                     tw_barrier_create(tw_count()),
		                     tw_flag_create(),
		                     tw_flag_create()};
	tw_barrier_all();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(which, cases[i].name) == 0)
			cases[i].run();
	tw_finalize();
	return 0;
}
