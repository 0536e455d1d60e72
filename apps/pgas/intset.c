/* SPDX-License-Identifier: BSD-3-Clause */
/* intset - the integer-set driver of the tutorial of Remus, for every set of Tweed.
 *
 *     tweed run -n 2 -p 1 intset --set hinted-list --num-ops 65536
 *
 * The options and the metrics file are the tutorial's.  By default options mean what their names say.  --remus-compat
 * does as the published driver does: actions are 0 to 100, of which `<=` are lookups (a mix of 1/49/51 for 50/50),
 * every node prefills the same part of the keys, and the network's counters stay 0. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t num_ops = 65536, prefill = 50, insert = 50, removes = 50, key_lb, key_ub = 4096, seed = 1;
static uint64_t first_mn, last_mn = UINT64_MAX, first_cn, last_cn = UINT64_MAX;
static const char *set_name = "lazy-list", *metrics_file = "metrics.txt", *alloc_pol = "LOCAL-MOD",
                  *qp_pol = "ONE-TO-ONE";
static bool compat;

/* Summed over PEs, in this order, in the metrics file. */
struct metrics {
	uint64_t get_t, get_f, ins_t, ins_f, rmv_t, rmv_f, op_count;
};
#define METRICS (sizeof(struct metrics) / sizeof(uint64_t))

static unsigned word_of(const char *what, const char *word, const char *const *words)
{
	unsigned i = 0;

	while (words[i] && strcmp(words[i], word) != 0)
		i++;
	if (!words[i]) {
		fprintf(stderr, "intset: there is no %s %s\n", what, word);
		_Exit(2);
	}
	return i;
}

static struct tw_pgas_options job_options(void)
{
	static const char *const places[] = {"OWN", "RAND", "GLOBAL-RR", "GLOBAL-MOD", "LOCAL-RR", "LOCAL-MOD", NULL};
	static const char *const lanes[] = {"ONE-TO-ONE", "RAND", "RR", "MOD", NULL};

	return (struct tw_pgas_options){
	    .memory_first = (unsigned)first_mn,
	    .memory_pes = last_mn == UINT64_MAX ? 0 : (unsigned)(last_mn - first_mn + 1),
	    .compute_first = (unsigned)first_cn,
	    .compute_pes = last_cn == UINT64_MAX ? 0 : (unsigned)(last_cn - first_cn + 1),
	    .place = (enum tw_place)word_of("allocation policy", alloc_pol, places),
	    .lane = (enum tw_lane)word_of("queue-pair policy", qp_pol, lanes),
	    .seed = seed,
	};
}

static void fill(const struct tw_map_ops *ops, struct tw_map *set)
{
	uint64_t threads = tw_pgas_compute_pes(), me = tw_pe() - first_cn, range = (key_ub - key_lb + 1) / threads;
	uint64_t count = (key_ub - key_lb + 1) * prefill / 100 / threads;
	uint64_t start = key_lb + (compat ? 0 : me) * range;

	if (!count)
		return;
	if (compat) {
		for (uint64_t key = start; key < start + range; key += range / count)
			need(ops->insert(set, key, key) >= 0, "no memory to prefill");
		return;
	}
	/* Evenly over this PE's range; the last PE's range includes the remainder. */
	if (me == threads - 1)
		range = key_ub + 1 - start;
	for (uint64_t i = 0; i < range * prefill / 100; i++)
		need(ops->insert(set, start + i * 100 / prefill, i) >= 0, "no memory to prefill");
}

static void run(const struct tw_map_ops *ops, struct tw_map *set, struct metrics *m)
{
	uint64_t state = seed * 1000 + tw_pe(), lookup = 100 - insert - removes;

	for (uint64_t i = 0; i < num_ops; i++) {
		uint64_t key = key_lb + draw(&state, key_ub - key_lb + 1), action = draw(&state, compat ? 101 : 100);
		int done;
		if (compat ? action <= lookup : action < lookup) {
			done = ops->get(set, key, NULL);
			m->get_t += done == 1;
			m->get_f += done == 0;
		} else if (action < lookup + insert) {
			done = ops->insert(set, key, i);
			m->ins_t += done == 1;
			m->ins_f += done == 0;
		} else {
			done = ops->remove(set, key, NULL);
			m->rmv_t += done == 1;
			m->rmv_f += done == 0;
		}
		need(done >= 0, "no memory");
		m->op_count++;
	}
}

/* Into the object at root 1, as in the tutorial. */
static struct metrics collect(const struct metrics *mine)
{
	struct metrics sum;
	tw_gptr at;

	if (tw_pe() == 0) {
		at = tw_new_at((unsigned)first_mn, sizeof(sum));
		need(!tw_is_null(at), "no memory for the metrics");
		tw_put(at, &(struct metrics){0}, sizeof(sum));
		tw_quiet();
		tw_root_set(1, at);
	}
	tw_control_barrier();
	at = tw_root_get(1);
	for (size_t i = 0; i < METRICS; i++)
		tw_word_fetch_add(tw_word_at(at, i * sizeof(uint64_t)), ((const uint64_t *)mine)[i]);
	tw_control_barrier();
	tw_get(at, &sum, sizeof(sum));
	return sum;
}

static void to_file(const struct metrics *m, double seconds, const struct tw_pgas_stats *s)
{
	static const char *const name[METRICS] = {"get_t", "get_f", "ins_t", "ins_f", "rmv_t", "rmv_f", "op_count"};
	FILE *f = fopen(metrics_file, "w");
	uint64_t no = compat ? 0 : 1;
	/* Where the network executes atomics, an exchange writes a field. */
	uint64_t writes = no * (s->put + s->swap), bytes = no * (s->put_bytes + s->swap * sizeof(uint64_t));

	need(f != NULL, "the metrics file cannot be written");
	fprintf(f, "duration: %.0f\n", seconds * 1e6);
	for (size_t i = 0; i < METRICS; i++)
		fprintf(f, "%s: %llu\n", name[i], (unsigned long long)((const uint64_t *)m)[i]);
	fprintf(f, "write: %llu\nbytes_write: %llu\nread: %llu\nbytes_read: %llu\nfaa: %llu\ncas: %llu\n",
	        (unsigned long long)writes, (unsigned long long)bytes, (unsigned long long)(no * s->get),
	        (unsigned long long)(no * s->get_bytes), (unsigned long long)(no * s->faa),
	        (unsigned long long)(no * s->cas));
	need(fclose(f) == 0, "the metrics file cannot be written");
}

int main(int argc, char **argv)
{
	const struct option options[] = {
	    {"num-ops", &num_ops, NULL, NULL, "operations of each PE"},
	    {"prefill", &prefill, NULL, NULL, "percent of the keys that are in the set at first"},
	    {"insert", &insert, NULL, NULL, "percent of operations that insert"},
	    {"remove", &removes, NULL, NULL, "percent of operations that remove"},
	    {"key-lb", &key_lb, NULL, NULL, "smallest key"},
	    {"key-ub", &key_ub, NULL, NULL, "greatest key"},
	    {"set", NULL, &set_name, NULL, "which set"},
	    {"seed", &seed, NULL, NULL, "of the random numbers"},
	    {"metrics", NULL, &metrics_file, NULL, "where the metrics go"},
	    {"first-mn-id", &first_mn, NULL, NULL, "first memory PE"},
	    {"last-mn-id", &last_mn, NULL, NULL, "last memory PE; all by default"},
	    {"first-cn-id", &first_cn, NULL, NULL, "first compute PE"},
	    {"last-cn-id", &last_cn, NULL, NULL, "last compute PE; all by default"},
	    {"alloc-pol", NULL, &alloc_pol, NULL, "OWN, RAND, GLOBAL-RR, GLOBAL-MOD, LOCAL-RR, LOCAL-MOD"},
	    {"qp-sched-pol", NULL, &qp_pol, NULL, "ONE-TO-ONE, RAND, RR, MOD: all the same here"},
	    {"remus-compat", NULL, NULL, &compat, "behave as the published driver"},
	    {NULL, NULL, NULL, NULL, NULL}};
	struct metrics mine = {0}, sum;
	struct tw_pgas_stats costs;
	struct tw_map *set = NULL;
	struct tw_epoch *epoch;
	tw_gptr root;

	options_read(argc, argv, "the integer-set driver of Remus", options);
	const struct tw_map_ops *ops = tw_map_find(set_name);
	if (!ops || ops->local || insert + removes > 100 || prefill > 100 || key_ub < key_lb) {
		fprintf(stderr, "intset: %s\n",
		        !ops || ops->local ? "there is no such set"
		                           : "percentages are at most 100, and --key-lb at most --key-ub");
		return 2;
	}
	struct tw_pgas_options job = job_options();
	pgas_begin(&job);
	need(tw_epoch_create(NULL, &epoch) == 0, "a manager");
	TW_TOKEN(token, epoch);
	struct tw_container_options of = {.pe = (unsigned)first_mn, .keys = key_ub - key_lb + 1};
	if (tw_pe() == first_cn) {
		need(ops->create(&of, &root) == 0, "no memory for the set");
		tw_root_set(0, root);
	}
	tw_control_barrier();
	if (tw_pgas_computes()) {
		need(ops->attach(tw_root_get(0), &of, token, &set) == 0, "no memory for the set");
		fill(ops, set);
	}
	tw_control_barrier();
	tw_pgas_stats_reset();
	double begun = now();
	if (set)
		run(ops, set, &mine);
	tw_control_barrier();
	double seconds = now() - begun;
	tw_pgas_stats_sum(&costs);
	tw_epoch_clear(epoch);
	sum = collect(&mine);
	if (tw_pe() == 0) {
		to_file(&sum, seconds, &costs);
		printf("%s: %llu operations by %u PEs in %.3f s, %.0f per second\n", set_name,
		       (unsigned long long)sum.op_count, tw_pgas_compute_pes(), seconds,
		       (double)sum.op_count / seconds);
	}
	costs_print(&costs, sum.op_count);
	tw_control_barrier();
	if (set && tw_pe() == first_cn)
		ops->destroy(set);
	else if (set)
		ops->detach(set);
	tw_control_barrier();
	tw_token_unregister(token);
	token = NULL;
	tw_epoch_destroy(epoch);
	tw_pgas_finalize();
	return 0;
}
