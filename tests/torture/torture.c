/* SPDX-License-Identifier: BSD-3-Clause */
/* torture.c - `tweed run ... torture [--seeds FIRST:COUNT] [--ops K] [--watchdog SECONDS]` */
#include "torture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct run run;
static char watchdog_text[256];

/* Async-signal-safe: the text was made ready before. */
static void torture_alarm(int sig)
{
	(void)sig;
	tw_abort(1, watchdog_text);
}

static void phase_begin(struct run *r, const char *name)
{
	r->phase++;
	r->phase_name = name;
	r->op = 0;
	r->mine.state = mix2(mix2(r->seed, r->phase), r->me + 1);
	alarm(0);
	snprintf(watchdog_text, sizeof(watchdog_text),
	         "torture: hang: seed %llu phase %u (%s): no end after %u s; replay with --seeds %llu:1",
	         (unsigned long long)r->seed, r->phase, name, r->watchdog, (unsigned long long)r->seed);
	alarm(r->watchdog);
}

static void handles_create(struct run *r)
{
	if (r->me == r->seed % r->count) {
		for (unsigned i = 0; i < r->locks; i++)
			r->h.lock[i] = tw_lock_create();
		for (unsigned i = 0; i < r->boxes; i++)
			r->h.box[i] = tw_lock_create();
		for (unsigned i = 0; i < r->count; i++) {
			r->h.flow[i] = tw_flag_create();
			r->h.bound[i] = tw_flag_create();
		}
		for (unsigned i = 0; i < r->nodes; i++)
			r->h.node[i] = tw_barrier_create((int)r->locals);
		r->h.leaders = tw_barrier_create((int)r->nodes);
		r->h.all = tw_barrier_create((int)r->count);
	}
	tw_bcast(&r->h, sizeof(r->h), (int)(r->seed % r->count));
}

/* By another processor than the one that made them. */
static void handles_destroy(struct run *r)
{
	if (r->me != (r->seed + 1) % r->count)
		return;
	for (unsigned i = 0; i < r->locks; i++)
		tw_lock_destroy(r->h.lock[i]);
	for (unsigned i = 0; i < r->boxes; i++)
		tw_lock_destroy(r->h.box[i]);
	for (unsigned i = 0; i < r->count; i++) {
		tw_flag_destroy(r->h.flow[i]);
		tw_flag_destroy(r->h.bound[i]);
	}
	for (unsigned i = 0; i < r->nodes; i++)
		tw_barrier_destroy(r->h.node[i]);
	tw_barrier_destroy(r->h.leaders);
	tw_barrier_destroy(r->h.all);
}

/* The arena comes from one processor or from all, with or without homes, new or used before. */
static void arena_create(struct run *r)
{
	unsigned how = rng_below(&r->plan, 3), maker = rng_below(&r->plan, r->count);

	if (how == 0)
		r->arena = tw_malloc_all(r->arena_bytes);
	else {
		if (r->me == maker)
			r->arena = how == 1 ? tw_malloc(r->arena_bytes) : tw_aligned_alloc(65536, r->arena_bytes);
		tw_bcast(&r->arena, sizeof(r->arena), (int)maker);
	}
	if (!r->arena)
		violation(r, "allocation of an arena of %zu bytes failed", r->arena_bytes);
	for (unsigned i = rng_below(&r->plan, 4); i-- > 0;) {
		unsigned from = rng_below(&r->plan, (unsigned)r->arena_bytes), who = rng_below(&r->plan, r->count);
		unsigned len = rng_between(&r->plan, 1, (unsigned)r->arena_bytes - from);
		int node = (int)rng_below(&r->plan, r->nodes), rc;

		if (r->me != who)
			continue;
		rc = tw_home_set(r->arena + from, len, node);
		if (rc && rc != -EBUSY)
			violation(r, "tw_home_set(%p, %u, %d) gave %d", (void *)(r->arena + from), len, node, rc);
	}
}

/* First values, page by page from any processor, neighbours of a page at once. */
static void arena_fill(struct run *r)
{
	bool by_page = rng_chance(&r->plan, 60);
	uint64_t salt = rng_next(&r->plan);

	if (r->me == 0) {
		memset((void *)r->oracle, 0, sizeof(*r->oracle));
		r->board = NULL;
	}
	r->board = tw_malloc_all(sizeof(*r->board));
	if (!r->board)
		violation(r, "tw_malloc_all failed");
	words_clear(r, salt);
	for (unsigned i = 0; i < r->vars; i++)
		if (mix2(salt, by_page ? r->var[i].offset / 4096 : i) % r->count == r->me)
			var_write(r, i);
	boundary(r);
}

static void arena_check(struct run *r)
{
	unsigned from = rng_below(&r->mine, r->vars);

	phase_begin(r, "final check");
	boundary(r);
	for (unsigned i = 0; i < r->vars; i++)
		var_check(r, (from + i) % r->vars);
	words_check(r);
	for (unsigned i = 0; i < 4; i++) {
		int home = tw_home(r->arena + rng_below(&r->mine, (unsigned)r->arena_bytes));

		if (home < -1 || home >= (int)r->nodes)
			violation(r, "tw_home gave %d", home);
	}
}

static void seed_phases(struct run *r)
{
	static const struct {
		const char *name;
		void (*phase)(struct run *r);
		unsigned weight;
	} kind[] = {
	    {"locks", phase_locks, 22}, {"owned", phase_owned, 18},     {"groups", phase_groups, 10},
	    {"flow", phase_flow, 22},   {"parcels", phase_parcels, 8},  {"blocks", phase_blocks, 6},
	    {"sweep", phase_sweep, 4},  {"atomics", phase_atomics, 10},
	};
	unsigned phases = rng_between(&r->plan, 5, 10);

	while (phases--) {
		unsigned pick = rng_below(&r->plan, 100), k = 0;

		while (pick >= kind[k].weight)
			pick -= kind[k++].weight;
		r->words = rng_chance(&r->plan, 25);
		phase_begin(r, kind[k].name);
		kind[k].phase(r);
		boundary(r);
	}
}

static void seed_run(struct run *r, uint64_t seed)
{
	unsigned who;

	r->seed = seed;
	r->plan.state = mix(seed);
	r->generation = 0;
	r->phase = 0;
	memset(r->flow_base, 0, sizeof(r->flow_base));
	phase_begin(r, "first values");
	plan_layout(r);
	handles_create(r);
	arena_create(r);
	arena_fill(r);
	seed_phases(r);
	arena_check(r);
	blocks_drain(r);
	who = rng_below(&r->plan, r->count);
	tw_barrier_all();
	if (r->me == who) {
		tw_free(r->arena);
		tw_free(r->board);
	}
	handles_destroy(r);
	alarm(0);
}

static bool parse_number(const char *text, char end, uint64_t *value, const char **rest_of)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &stop, 10);
	if (errno || *stop != end)
		return false;
	if (rest_of)
		*rest_of = stop + 1;
	return true;
}

static void usage(int me, const char *what)
{
	if (me == 0)
		fprintf(stderr,
		        "torture: bad argument '%s'; use [--seeds FIRST:COUNT] [--ops K] [--watchdog SECONDS]\n", what);
	tw_barrier_all();
	exit(2);
}

int main(int argc, char **argv)
{
	struct run *r = &run;
	uint64_t first = 1, seeds = 20, ops = 0, watchdog = 60;

	tw_init(&argc, &argv);
	r->me = (unsigned)tw_id();
	r->count = (unsigned)tw_count();
	r->node = (unsigned)tw_node();
	r->nodes = (unsigned)tw_nodes();
	r->locals = r->count / r->nodes;
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "", *second = "";

		if (!(strcmp(argv[i], "--seeds") == 0 && parse_number(value, ':', &first, &second) &&
		      parse_number(second, '\0', &seeds, NULL)) &&
		    !(strcmp(argv[i], "--ops") == 0 && parse_number(value, '\0', &ops, NULL) && ops <= 100000) &&
		    !(strcmp(argv[i], "--watchdog") == 0 && parse_number(value, '\0', &watchdog, NULL) &&
		      watchdog <= 86400))
			usage(tw_id(), argv[i]);
	}
	if (r->count > MAX_PROCS)
		tw_abort(2, "torture: at most 256 processors");
	r->ops = ops ? (unsigned)ops : r->count <= 4 ? 60 : r->count <= 8 ? 40 : 12;
	r->watchdog = (unsigned)watchdog;
	r->phase_name = "start";
	signal(SIGALRM, torture_alarm);
	if (pipe(r->pipe))
		tw_abort(2, "torture: cannot make a pipe");
	oracle_open(r);
	for (uint64_t s = 0; s < seeds; s++) {
		seed_run(r, first + s);
		if (r->me == 0 && (s + 1) % 100 == 0 && isatty(2))
			fprintf(stderr, "torture: %llu seeds\n", (unsigned long long)(s + 1));
	}
	tw_verified(true);
	tw_finalize();
	if (r->me == 0)
		printf("torture: %llu seeds, 0 violations\n", (unsigned long long)seeds);
	return 0;
}
