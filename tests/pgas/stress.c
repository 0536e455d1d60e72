/* SPDX-License-Identifier: BSD-3-Clause */
/* stress - all containers under load, their histories recorded and checked.
 *
 *     tweed run -n 2 -p 2 stress [--ops N] [--rounds N] [--keys N] [--seed N] [--only NAME]
 *
 * Each round makes a container, lets every PE do its operations at random, and checks what all have seen.  At the end
 * nothing may be left: what was retired was freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "linear.h"
#include "tweed/pgas.h"

static uint64_t ops = 2000, rounds = 3, keys = 16, seed = 1;
static const char *only;
static struct linear_op *history; /* this PE's, of this round */
static uint64_t recorded, total, random_state;
static struct tw_epoch *epoch;
static struct tw_token *token;

static uint64_t draw(uint64_t n)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % n;
}

static void fail(const char *name, const char *why)
{
	fprintf(stderr, "%s, seed %llu: %s\n", name, (unsigned long long)seed, why);
	exit(1);
}

static void record(const struct linear_op *op, uint64_t call_ns, int result, const char *name)
{
	if (result < 0)
		fail(name, strerror(-result));
	history[recorded] = *op;
	history[recorded].call_ns = call_ns;
	history[recorded].return_ns = tw_time_ns();
	history[recorded].process = (uint16_t)tw_pe();
	history[recorded++].result = (int8_t)result;
}

static void map_operation(const struct tw_map_ops *ops_of, struct tw_map *map)
{
	struct linear_op op = {.key = draw(keys) * 3, .kind = (uint8_t)draw(3)};
	uint64_t call_ns;
	int result;

	op.value = op.kind == LINEAR_INSERT ? recorded << 8 | tw_pe() : 0;
	call_ns = tw_time_ns();
	if (op.kind == LINEAR_GET)
		result = ops_of->get(map, op.key, &op.value);
	else if (op.kind == LINEAR_INSERT)
		result = ops_of->insert(map, op.key, op.value);
	else
		result = ops_of->remove(map, op.key, &op.value);
	record(&op, call_ns, result, ops_of->name);
}

/* The checker has room for few elements: no PE pushes much more than it pops. */
static void queue_operation(const struct tw_queue_ops *ops_of, struct tw_queue *queue)
{
	static unsigned ahead;
	unsigned most = 3;
	bool push = ahead < most && draw(2);
	struct linear_op op = {.kind = push ? LINEAR_PUSH : LINEAR_POP, .value = push ? recorded << 8 | tw_pe() : 0};
	uint64_t call_ns = tw_time_ns();
	int result;

	if (recorded == 0)
		ahead = 0;
	result = push ? ops_of->push(queue, op.value) : ops_of->pop(queue, &op.value);
	record(&op, call_ns, result, ops_of->name);
	if (result == 1)
		ahead += push ? 1 : ahead ? -1u : 0;
}

/* At PE 0: fetch everyone's history and check it. */
static void check(const char *name, enum linear_object object)
{
	tw_gptr mine = tw_new(ops * sizeof(history[0])), all[TW_ROOTS];
	const char *why = NULL;

	if (tw_is_null(mine))
		fail(name, "no room for the history");
	tw_put(mine, history, recorded * sizeof(history[0]));
	tw_root_set(1 + tw_pe(), mine);
	tw_control_barrier();
	if (tw_pe() == 0) {
		struct linear_op *op = malloc(tw_pes() * ops * sizeof(op[0]));
		for (unsigned pe = 0; pe < tw_pes(); pe++) {
			all[pe] = tw_root_get(1 + pe);
			tw_get(all[pe], op + pe * ops, ops * sizeof(op[0]));
		}
		why = linear_check(object, op, tw_pes() * ops);
		free(op);
	}
	if (why)
		fail(name, why);
	tw_control_barrier();
	tw_delete(mine);
	total += recorded;
}

/* PE 0 creates; one that attaches later than others work finds them at it. */
static void map_round(const struct tw_map_ops *ops_of)
{
	struct tw_container_options options = {.pe = (unsigned)draw(tw_pes()), .keys = keys};
	struct tw_map *map;
	tw_gptr root;

	if (tw_pe() == 0) {
		if (ops_of->create(&options, &root))
			fail(ops_of->name, "create");
		tw_root_set(0, root);
	}
	tw_control_barrier();
	if (ops_of->attach(tw_root_get(0), &options, token, &map))
		fail(ops_of->name, "attach");
	for (recorded = 0; recorded < ops;)
		map_operation(ops_of, map);
	check(ops_of->name, LINEAR_MAP);
	if (tw_pe() != 0)
		ops_of->detach(map);
	tw_control_barrier();
	if (tw_pe() == 0)
		ops_of->destroy(map);
}

static void queue_round(const struct tw_queue_ops *ops_of)
{
	struct tw_container_options options = {.pe = (unsigned)draw(tw_pes()), .keys = 128};
	struct tw_queue *queue;
	tw_gptr root;

	if (tw_pe() == 0) {
		if (ops_of->create(&options, &root))
			fail(ops_of->name, "create");
		tw_root_set(0, root);
	}
	tw_control_barrier();
	if (ops_of->attach(tw_root_get(0), &options, token, &queue))
		fail(ops_of->name, "attach");
	for (recorded = 0; recorded < ops;)
		queue_operation(ops_of, queue);
	check(ops_of->name, ops_of->lifo ? LINEAR_STACK : LINEAR_QUEUE);
	if (tw_pe() != 0)
		ops_of->detach(queue);
	tw_control_barrier();
	if (tw_pe() == 0)
		ops_of->destroy(queue);
}

static bool wanted(const char *name, bool local)
{
	return !local && (!only || strcmp(only, name) == 0);
}

static void option(const char *name, const char *value)
{
	if (strcmp(name, "--only") == 0)
		only = value;
	else if (strcmp(name, "--ops") == 0)
		ops = strtoull(value, NULL, 10);
	else if (strcmp(name, "--rounds") == 0)
		rounds = strtoull(value, NULL, 10);
	else if (strcmp(name, "--keys") == 0)
		keys = strtoull(value, NULL, 10);
	else if (strcmp(name, "--seed") == 0)
		seed = strtoull(value, NULL, 10);
	else
		fail(name, "no such option");
}

int main(int argc, char **argv)
{
	struct tw_epoch_options options = {.advance_every = 32};
	struct tw_pgas_stats s;

	for (int i = 1; i + 1 < argc; i += 2)
		option(argv[i], argv[i + 1]);
	if (tw_pgas_init(&(struct tw_pgas_options){.place = seed % 2 ? TW_PLACE_OWN : TW_PLACE_RAND, .seed = seed}))
		return 2;
	if (tw_epoch_create(&options, &epoch) || !(token = tw_epoch_register(epoch)))
		return 2;
	history = calloc(ops, sizeof(history[0]));
	for (uint64_t round = 0; round < rounds; round++) {
		for (const struct tw_map_ops *const *m = tw_map_list(); *m; m++) {
			random_state = seed + round + tw_pe() * 0x1234567u;
			if (wanted((*m)->name, (*m)->local))
				map_round(*m);
		}
		for (const struct tw_queue_ops *const *q = tw_queue_list(); *q; q++)
			if (wanted((*q)->name, (*q)->local)) {
				random_state = seed + round + tw_pe() * 0x1234567u;
				queue_round(*q);
			}
	}
	tw_token_unregister(token);
	tw_epoch_clear(epoch);
	tw_pgas_stats_sum(&s);
	if (tw_pe() == 0)
		printf(
		    "%llu operations of this PE; all: %llu retired, %llu freed, %llu advances, at most %llu garbage, "
		    "%llu remote gets, %llu cas\n",
		    (unsigned long long)total, (unsigned long long)s.retired, (unsigned long long)s.freed,
		    (unsigned long long)s.advances, (unsigned long long)s.garbage_most, (unsigned long long)s.get,
		    (unsigned long long)s.cas);
	if (s.retired != s.freed || s.garbage)
		fail("reclamation", "what was retired was not freed");
	tw_epoch_destroy(epoch);
	tw_pgas_finalize();
	return 0;
}
