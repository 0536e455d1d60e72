/* SPDX-License-Identifier: BSD-3-Clause */
/* figures - the measurements of Dewan and Jenkins, figures 3 to 7.
 *
 *     tweed run -n 4 -p 1 figures --figure 3          atomic int, AtomicObject, AtomicObject (ABA): 25 % each of
 *                                                     read, write, compare-and-swap, exchange; strong scaling
 *     ... --figure 4 | 5 | 6 [--remote PERCENT]       defer_delete, with try_reclaim every 1024 calls (4), at each (5),
 *                                                     only at the end (6)
 *     ... --figure 7                                  pin and unpin only
 *
 * Prints a line for each: seconds of the loop (figure 3: the median of its rounds), and of clear; the paper reports
 * their sum. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MOST 64u

static uint64_t figure = 3, total = 100000, remote = 50, seed = 1, rounds = 9;

static double timed(void (*run)(void *), void *arg)
{
	tw_control_barrier();
	double begun = now();
	run(arg);
	tw_control_barrier();
	return now() - begun;
}

static void report(const char *what, double seconds, double clear, const struct tw_pgas_stats *sum)
{
	if (tw_pe() == 0)
		printf("figure %llu, %s, %u locales: loop %.6f s, clear %.6f s, %.0f per second\n",
		       (unsigned long long)figure, what, tw_pes(), seconds, clear, (double)total / seconds);
	costs_print(sum, total);
}

/* ---- figure 3 ---- */

enum { WORDS = 64 }; /* distributed over the PEs */
static tw_gptr cell[WORDS], object[2];

static void integers(void *arg)
{
	uint64_t state = seed + tw_pe();

	(void)arg;
	for (uint64_t i = tw_pe(); i < total; i += tw_pes()) {
		tw_word w = tw_word_at(cell[draw(&state, WORDS)], 0);
		uint64_t value = object[i % 2].raw;
		switch (draw(&state, 4)) {
		case 0:
			tw_word_load(w);
			break;
		case 1:
			tw_word_store(w, value);
			break;
		case 2:
			tw_word_compare_exchange(w, object[0].raw, value);
			break;
		default:
			tw_word_exchange(w, value);
		}
	}
}

static void objects(void *arg)
{
	uint64_t state = seed + tw_pe();

	(void)arg;
	for (uint64_t i = tw_pe(); i < total; i += tw_pes()) {
		tw_atomic_object o = tw_atomic_object_at(cell[draw(&state, WORDS)], 0);
		switch (draw(&state, 4)) {
		case 0:
			tw_atomic_object_read(o);
			break;
		case 1:
			tw_atomic_object_write(o, object[i % 2]);
			break;
		case 2:
			tw_atomic_object_compare_exchange(o, object[0], object[i % 2]);
			break;
		default:
			tw_atomic_object_exchange(o, object[i % 2]);
		}
	}
}

static void aba_objects(void *arg)
{
	uint64_t state = seed + tw_pe();

	(void)arg;
	for (uint64_t i = tw_pe(); i < total; i += tw_pes()) {
		tw_aba_object o = {cell[draw(&state, WORDS)]};
		tw_aba value = {object[i % 2], 0};
		switch (draw(&state, 4)) {
		case 0:
			tw_aba_object_read_aba(o);
			break;
		case 1:
			tw_aba_object_write_aba(o, value);
			break;
		case 2:
			tw_aba_object_compare_exchange_aba(o, value, object[0]);
			break;
		default:
			tw_aba_object_exchange_aba(o, value);
		}
	}
}

static int compare_seconds(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

/* Measures in turns, so that a slowdown of the machine affects all; prints the medians. */
static void in_turns(void)
{
	static const struct {
		const char *name;
		void (*run)(void *);
	} kind[] = {{"atomic int", integers}, {"AtomicObject", objects}, {"AtomicObject (ABA)", aba_objects}};
	enum { KINDS = sizeof(kind) / sizeof(kind[0]) };
	double seconds[KINDS][ROUNDS_MOST];
	struct tw_pgas_stats cost[KINDS];

	for (uint64_t i = 0; i < rounds; i++)
		for (unsigned k = 0; k < KINDS; k++) {
			tw_pgas_stats_reset();
			seconds[k][i] = timed(kind[k].run, NULL);
			tw_pgas_stats_sum(&cost[k]);
		}
	for (unsigned k = 0; k < KINDS; k++) {
		qsort(seconds[k], rounds, sizeof(seconds[k][0]), compare_seconds);
		report(kind[k].name, seconds[k][rounds / 2], 0, &cost[k]);
	}
}

static void figure_3(void)
{
	const uint64_t zero[2] = {0, 0};

	if (tw_pe() == 0) {
		tw_gptr table = tw_new_at(0, sizeof(cell));
		for (unsigned i = 0; i < WORDS; i++) {
			need(!tw_is_null(cell[i] = tw_new_at(i % tw_pes(), sizeof(zero))), "no memory");
			tw_put(cell[i], zero, sizeof(zero));
		}
		tw_put(table, cell, sizeof(cell));
		tw_quiet();
		tw_root_set(0, table);
	}
	tw_control_barrier();
	tw_get(tw_root_get(0), cell, sizeof(cell));
	object[0] = tw_new(16);
	object[1] = tw_new(16);
	tw_pgas_stats_reset();
	in_turns();
}

/* ---- figures 4 to 7 ---- */

struct load {
	struct tw_epoch *epoch;
	struct tw_token *token;
	tw_gptr *object;
	uint64_t mine, every; /* every: calls per try_reclaim; 0: none */
};

static void deferring(void *arg)
{
	struct load *l = arg;

	for (uint64_t i = 0; i < l->mine; i++) {
		tw_token_pin(l->token);
		need(tw_token_defer_delete(l->token, l->object[i]) == 0, "too much garbage");
		tw_token_unpin(l->token);
		if (l->every && (i + 1) % l->every == 0)
			tw_token_try_reclaim(l->token);
	}
}

static void pinning(void *arg)
{
	struct load *l = arg;

	for (uint64_t i = 0; i < l->mine; i++) {
		tw_token_pin(l->token);
		tw_token_unpin(l->token);
	}
}

static void clearing(void *arg)
{
	tw_epoch_clear(((struct load *)arg)->epoch);
}

static void figures_4_to_7(void)
{
	struct tw_epoch_options options = {.advance_every = UINT32_MAX, .garbage_most = total + 1};
	struct load l = {.mine = total / tw_pes(), .every = figure == 4 ? 1024 : figure == 5 ? 1 : 0};
	uint64_t state = seed + tw_pe();
	struct tw_pgas_stats sum;
	char what[64];

	total = l.mine * tw_pes();
	need(tw_epoch_create(&options, &l.epoch) == 0, "no manager");
	l.token = tw_epoch_register(l.epoch);
	l.object = malloc((l.mine + 1) * sizeof(l.object[0]));
	need(l.token && l.object, "no memory");
	for (uint64_t i = 0; i < l.mine && figure != 7; i++) {
		unsigned other = tw_pes() > 1 ? (tw_pe() + 1 + (unsigned)draw(&state, tw_pes() - 1)) % tw_pes() : 0;
		l.object[i] = tw_new_at(draw(&state, 100) < remote ? other : tw_pe(), 32);
		need(!tw_is_null(l.object[i]), "no memory");
	}
	tw_quiet();
	tw_pgas_stats_reset();
	double loop = timed(figure == 7 ? pinning : deferring, &l), clear = timed(clearing, &l);
	snprintf(what, sizeof(what), "%llu %% remote", (unsigned long long)remote);
	tw_pgas_stats_sum(&sum);
	report(figure == 7 ? "pin and unpin" : what, loop, clear, &sum);
	tw_token_unregister(l.token);
	tw_epoch_destroy(l.epoch);
	free(l.object);
}

int main(int argc, char **argv)
{
	const struct option options[] = {{"figure", &figure, NULL, NULL, "3 to 7"},
	                                 {"total", &total, NULL, NULL, "operations or objects, of all PEs together"},
	                                 {"remote", &remote, NULL, NULL, "percent of objects that are another PE's"},
	                                 {"rounds", &rounds, NULL, NULL, "of figure 3, whose kinds take turns"},
	                                 {"seed", &seed, NULL, NULL, "of the random numbers"},
	                                 {NULL, NULL, NULL, NULL, NULL}};

	options_read(argc, argv, "AtomicObject and EpochManager, measured as in their paper", options);
	if (figure < 3 || figure > 7 || remote > 100 || total == 0 || rounds == 0 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "figures: --figure is 3 to 7, --remote 0 to 100, --total not 0, --rounds 1 to %u\n",
		        ROUNDS_MOST);
		return 2;
	}
	pgas_begin(NULL);
	if (figure == 3)
		figure_3();
	else
		figures_4_to_7();
	tw_pgas_finalize();
	return 0;
}
