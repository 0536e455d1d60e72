/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/litmus/suite.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char suite_watchdog[160];

/* Async-signal-safe: the text was made ready before. */
static void suite_alarm(int sig)
{
	(void)sig;
	tw_abort(1, suite_watchdog);
}

void suite_bad(struct suite *s, const char *format, ...)
{
	char text[512];
	int n;
	va_list ap;

	if (s->bad++ >= (s->count <= 8 ? 3 : 1)) /* enough to see what is wrong */
		return;
	n = snprintf(text, sizeof(text), "%s: processor %u (node %u): ", s->name, s->me, s->node);
	va_start(ap, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
	va_end(ap);
	fprintf(stderr, "%s\n", text);
}

bool suite_needs(struct suite *s, unsigned processors, unsigned nodes)
{
	if (s->count < processors)
		s->skipped = "needs more processors";
	else if (s->nodes < nodes)
		s->skipped = "needs more nodes";
	return !s->skipped;
}

void *suite_shared(struct suite *s, size_t bytes)
{
	void *ptr = tw_malloc_all(bytes);

	(void)s;
	if (!ptr)
		tw_abort(1, "suite: tw_malloc_all failed");
	return ptr;
}

void suite_free(struct suite *s, void *ptr)
{
	tw_barrier_all();
	if (s->me == 0)
		tw_free(ptr);
}

tw_lock_t suite_lock(struct suite *s)
{
	tw_lock_t lock = {0};

	if (s->me == 0)
		lock = tw_lock_create();
	tw_bcast(&lock, sizeof(lock), 0);
	return lock;
}

tw_flag_t suite_flag(struct suite *s)
{
	tw_flag_t flag = {0};

	if (s->me == 0)
		flag = tw_flag_create();
	tw_bcast(&flag, sizeof(flag), 0);
	return flag;
}

tw_barrier_t suite_barrier(struct suite *s, unsigned n)
{
	tw_barrier_t barrier = {0};

	if (s->me == 0)
		barrier = tw_barrier_create((int)n);
	tw_bcast(&barrier, sizeof(barrier), 0);
	return barrier;
}

void suite_unlock(struct suite *s, tw_lock_t lock)
{
	tw_barrier_all();
	if (s->me == s->count - 1)
		tw_lock_destroy(lock);
}

void suite_unflag(struct suite *s, tw_flag_t flag)
{
	tw_barrier_all();
	if (s->me == s->count - 1)
		tw_flag_destroy(flag);
}

void suite_unbarrier(struct suite *s, tw_barrier_t barrier)
{
	tw_barrier_all();
	if (s->me == s->count - 1)
		tw_barrier_destroy(barrier);
}

unsigned suite_role(const struct suite *s, unsigned round, unsigned role)
{
	unsigned step = 1 + round / s->count % (s->count > 1 ? s->count - 1 : 1), a = s->count, b = step;

	while (b) { /* a step without common divisor visits every processor */
		unsigned t = a % b;
		a = b;
		b = t;
	}
	if (a != 1)
		step = 1;
	return (round + role * step) % s->count;
}

/* How many forbidden outcomes all processors saw together; each processor sends its count, as shared memory may be
 * wrong. */
static unsigned suite_sum(const struct suite *s)
{
	unsigned sum = 0;

	for (unsigned q = 0; q < s->count; q++) {
		unsigned bad = s->bad;

		tw_bcast(&bad, sizeof(bad), (int)q);
		sum += bad;
	}
	return sum;
}

/* Returns 1 passed, 0 failed, -1 skipped. */
static int suite_case_run(struct suite *s, const struct suite_case *c, unsigned watchdog)
{
	unsigned sum;
	double began = tw_now();

	s->name = c->name;
	s->bad = 0;
	s->skipped = NULL;
	alarm(0);
	snprintf(suite_watchdog, sizeof(suite_watchdog), "%s: no end after %u s", c->name, watchdog);
	alarm(watchdog);
	c->run(s);
	tw_barrier_all();
	sum = suite_sum(s);
	alarm(0);
	if (s->me == 0) {
		if (sum)
			printf("FAILED %s: %u forbidden outcomes\n", c->name, sum);
		else if (s->skipped)
			printf("-      %s: %s\n", c->name, s->skipped);
		else
			printf("ok     %-28s %7.1f ms\n", c->name, (tw_now() - began) * 1e3);
		fflush(stdout);
	}
	return sum ? 0 : s->skipped ? -1 : 1;
}

static unsigned suite_number(const char *option, const char *text)
{
	char *end;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (!text || end == text || *end || v < 1 || v > 1000000) {
		fprintf(stderr, "%s needs a number from 1 to 1000000\n", option);
		exit(2);
	}
	return (unsigned)v;
}

static bool suite_chosen(const struct suite_case *c, char **names)
{
	if (!*names)
		return true;
	while (*names)
		if (strcmp(*names++, c->name) == 0)
			return true;
	return false;
}

int suite_main(int argc, char **argv, const struct suite_case *cases)
{
	struct suite s = {0};
	unsigned watchdog = 60, passed = 0, failed = 0;
	int at = 1;

	tw_init(&argc, &argv);
	s.me = (unsigned)tw_id();
	s.count = (unsigned)tw_count();
	s.node = (unsigned)tw_node();
	s.nodes = (unsigned)tw_nodes();
	s.locals = s.count / s.nodes;
	s.rounds = s.count <= 4 ? 200 : s.count <= 8 ? 100 : 20;
	for (; at < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "--rounds") == 0)
			s.rounds = suite_number(argv[at], argv[at + 1]);
		else if (strcmp(argv[at], "--watchdog") == 0)
			watchdog = suite_number(argv[at], argv[at + 1]);
		else {
			fprintf(stderr, "bad option '%s'; use [--rounds R] [--watchdog SECONDS] [CASE...]\n", argv[at]);
			exit(2);
		}
	}
	signal(SIGALRM, suite_alarm);
	for (const struct suite_case *c = cases; c->name; c++) {
		if (!suite_chosen(c, argv + at))
			continue;
		int verdict = suite_case_run(&s, c, watchdog);
		passed += verdict == 1;
		failed += verdict == 0;
	}
	tw_verified(failed == 0);
	tw_finalize();
	if (s.me == 0) {
		if (at < argc && passed + failed == 0)
			fprintf(stderr, "no case of those names can run at this shape\n");
		printf("%u passed, %u failed\n", passed, failed);
	}
	return failed || !passed;
}
