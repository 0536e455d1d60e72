/* SPDX-License-Identifier: BSD-3-Clause */
/* shoot.c - shootdowns on one node: processor 0 removes the write right on one page from all others, which store to it
 * continually. */
#include "tools/bench/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOTS 2001u

static _Atomic unsigned *shoot_seen; /* shared with the child */

static void shoot_on_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(shoot_seen, 1);
}

/* The time from sending a signal to a computing process until its handler has run. */
static double shoot_signal_floor(void)
{
	double took[SHOTS];
	shoot_seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shoot_seen == MAP_FAILED)
		exit(1);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGUSR1, shoot_on_signal);
		for (atomic_store(shoot_seen, 1);;)
			tw_pause();
	}
	while (atomic_load(shoot_seen) == 0)
		usleep(100);
	for (unsigned i = 0; i < SHOTS; i++) {
		unsigned before = atomic_load(shoot_seen);
		double t0 = tw_now();
		kill(child, SIGUSR1);
		while (atomic_load(shoot_seen) == before)
			tw_pause();
		took[i] = (tw_now() - t0) * 1e6;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(shoot_seen, 4096);
	return bench_median(took, SHOTS);
}

/* The same change of rights on a page of this processor alone.  The page is locked and mapped writable. */
static double shoot_map_floor(tw_page_t p)
{
	double took[SHOTS];
	for (unsigned i = 0; i < SHOTS; i++) {
		double t0 = tw_now();
		tw_map(tw_me, p, 1, TW_WRITE, TW_READ);
		took[i] = (tw_now() - t0) * 1e6;
		tw_map(tw_me, p, 1, TW_READ, TW_WRITE);
	}
	return bench_median(took, SHOTS);
}

static double shoot_once(tw_page_t p, uint64_t victims)
{
	struct tw_page *e = &tw_me->page[p];
	for (;;) {
		while ((e->writers & victims) != victims)
			usleep(20);
		tw_page_lock(tw_me, p);
		if ((e->writers & e->mapped & victims) == victims)
			break;
		tw_page_unlock(tw_me, p);
	}
	double t0 = tw_now();
	tw_shootdown(tw_me, p, 1, victims);
	double took = (tw_now() - t0) * 1e6;
	e->writers &= ~victims;
	tw_page_unlock(tw_me, p);
	usleep(20); /* the victim should be between two stores, not in its fault */
	return took;
}

void bench_shoot(void)
{
	struct tw_proc *me = tw_me;
	bool polls = strcmp(me->config.shootdown, "polled") == 0,
	     protect = strcmp(me->config.shootdown, "protect") == 0;
	_Atomic unsigned *stop = (_Atomic unsigned *)(void *)(me->net->base + me->layout.collective);
	uint64_t victims = ((uint64_t)1 << me->locals) - 2;
	volatile uint64_t *m = tw_malloc_all(2 * me->layout.page_bytes);
	tw_page_t p = (tw_page_t)(((uintptr_t)m + me->layout.page_bytes - 1 - TW_SPACE_BASE) >> me->layout.page_shift);
	double took[SHOTS], map = 0, signal = 0;
	char name[64];

	m = (volatile uint64_t *)(TW_SPACE_BASE + ((uintptr_t)p << me->layout.page_shift));
	m[8 * me->local] = 1;
	if (me->local == 0) {
		atomic_store(stop, 0);
		tw_page_lock(me, p);
		map = shoot_map_floor(p);
		tw_page_unlock(me, p);
		signal = polls || protect ? 0 : shoot_signal_floor();
	}
	tw_barrier_all();
	if (me->local) {
		while (!atomic_load_explicit(stop, memory_order_relaxed)) {
			m[8 * me->local]++;
			if (polls)
				tw_shootdown_poll(me);
		}
	} else {
		for (unsigned i = 0; i < SHOTS; i++)
			took[i] = shoot_once(p, victims);
		atomic_store(stop, 1);
	}
	tw_barrier_all();
	snprintf(name, sizeof(name), "shootdown of %u, %s", me->locals - 1, me->config.shootdown);
	if (me->local == 0)
		bench_line(name, bench_median(took, SHOTS), "us",
		           protect ? map
		           : polls ? bench_floors.line_us + map
		                   : signal + map,
		           protect ? "change of own rights"
		           : polls ? "word there and back + change of rights"
		                   : "signal there, word back + change of rights");
}
