/* SPDX-License-Identifier: BSD-3-Clause */
/* floors - the costs of each operation without contention, counted: PE 0 owns everything; the last PE, on another node,
 * operates on it.
 *
 *     tweed run -n 2 -p 1 floors
 *
 * Each line: remote operations and rounds per call, and the goals of doc/internals/pgas.md.  Exit status 1 when a goal
 * is missed. */
#include "common.h"

#include <stdio.h>
#include <string.h>

static uint64_t calls = 4000, keys = 4096;
static struct tw_epoch *epoch;
static struct tw_token *token;
static struct tw_pgas_stats before;
static unsigned missed;

static void begin(void)
{
	tw_quiet();
	tw_pgas_stats(&before);
}

static void line(const char *what, uint64_t n, double goal_ops, double goal_rounds)
{
	struct tw_pgas_stats s;

	tw_pgas_stats(&s);
	double ops = (double)(s.get + s.put + s.cas + s.faa + s.swap + s.am - before.get - before.put - before.cas -
	                      before.faa - before.swap - before.am) /
	             (double)n;
	double rounds = (double)(s.rounds - before.rounds) / (double)n;
	double bytes = (double)(s.get_bytes + s.put_bytes - before.get_bytes - before.put_bytes) / (double)n;
	bool good = ops <= goal_ops + 1e-9 && (goal_rounds < 0 || rounds <= goal_rounds + 1e-9);

	missed += !good;
	printf("%-34s %8.3f ops %8.3f rounds %8.1f bytes   goal %.2f", what, ops, rounds, bytes, goal_ops);
	if (goal_rounds >= 0)
		printf(" / %.2f", goal_rounds);
	printf("%s\n", good ? "" : "   MISSED");
}

static void atomics(tw_gptr object)
{
	tw_atomic_object o = tw_atomic_object_at(object, 0);

	begin();
	for (uint64_t i = 0; i < calls; i++)
		tw_atomic_object_read(o);
	line("atomic load", calls, 1, 1);
	begin();
	for (uint64_t i = 0; i < calls; i++)
		tw_atomic_object_write(o, object);
	line("atomic store", calls, 1, 1);
	begin();
	for (uint64_t i = 0; i < calls; i++)
		tw_atomic_object_compare_exchange(o, object, object);
	line("compare-and-swap", calls, 1, 1);
	begin();
	for (uint64_t i = 0; i < calls; i++)
		tw_word_fetch_add(o.word, 1);
	line("fetch-and-add", calls, 1, 1);
	begin();
	for (uint64_t i = 0; i < calls; i++)
		tw_aba_object_read_aba((tw_aba_object){object});
	line("128-bit read (message)", calls, 1, 1);
}

static void reclamation(void)
{
	enum { OBJECTS = 3072 };
	static tw_gptr object[OBJECTS];

	begin();
	for (uint64_t i = 0; i < calls; i++) {
		tw_token_pin(token);
		tw_token_unpin(token);
	}
	line("pin + unpin", calls, 0, 0);
	for (unsigned i = 0; i < OBJECTS; i++)
		need(!tw_is_null(object[i] = tw_new_at(0, 32)), "no memory");
	begin();
	for (unsigned i = 0; i < 64; i++)
		tw_token_defer_delete(token, object[i]);
	line("retire, of 64", 64, 0, 0);
	begin();
	for (unsigned i = 64; i < OBJECTS; i++) {
		tw_token_defer_delete(token, object[i]);
		if (i % 64 == 63)
			tw_token_try_reclaim(token);
	}
	/* Where the NIC executes atomics, it also executes those on the own copy of the epoch. */
	line("retire + advance each 64 + free", OBJECTS - 64, 0.05 + (tw_pgas_agent() == TW_AGENT_NIC ? 3.0 : 2.0) / 64,
	     -1);
	begin();
	for (unsigned i = 0; i < 8; i++)
		tw_token_try_reclaim(token);
	line("epoch advance", 8, 3 * tw_pes() + 2, 5);
	for (unsigned i = 0; i < OBJECTS; i++)
		need(!tw_is_null(object[i] = tw_new_at(0, 48)), "no memory");
	tw_delete(object[0]);
	begin();
	for (unsigned i = 1; i < OBJECTS; i++)
		tw_delete(object[i]);
	line("remote free", OBJECTS, 2.0 / 64, -1);
}

static void queue(const char *name, tw_gptr root, double push_ops, double push_rounds, double pop_ops,
                  double pop_rounds)
{
	const struct tw_queue_ops *ops = tw_queue_find(name);
	struct tw_container_options options = {.keys = 0};
	struct tw_queue *q;
	char what[64];
	uint64_t value, n = 2000;

	need(ops->attach(root, &options, token, &q) == 0, "attach");
	begin();
	for (uint64_t i = 0; i < n; i++)
		need(ops->pop(q, &value) == 1, "pop");
	snprintf(what, sizeof(what), "%s pop", name);
	line(what, n, pop_ops, pop_rounds);
	begin();
	for (uint64_t i = 0; i < n; i++)
		need(ops->push(q, i) == 1, "push");
	snprintf(what, sizeof(what), "%s push", name);
	line(what, n, push_ops, push_rounds);
	ops->detach(q);
}

/* Warm: the handle has seen the keys.  Half of them are present, in nodes of PE 0; inserted ones are in nodes of this
 * PE. */
static void map(const char *name, tw_gptr root, double get_ops, double insert_ops, double remove_ops, uint64_t n)
{
	const struct tw_map_ops *ops = tw_map_find(name);
	struct tw_container_options options = {.keys = keys};
	struct tw_map *m;
	char what[64];
	uint64_t state = 7;

	need(ops->attach(root, &options, token, &m) == 0, "attach");
	for (uint64_t k = 0; k < keys; k++)
		ops->get(m, k, NULL);
	begin();
	for (uint64_t i = 0; i < n; i++)
		ops->get(m, draw(&state, keys), NULL);
	snprintf(what, sizeof(what), "%s get", name);
	line(what, n, get_ops, -1);
	for (uint64_t i = 0; i < n; i++)
		need(ops->insert(m, 2 * i + 1, i) == 1 && ops->remove(m, 2 * i + 1, NULL) == 1, "insert and remove");
	begin();
	for (uint64_t i = 0; i < n; i++)
		need(ops->insert(m, 2 * i + 1, i) == 1, "insert");
	snprintf(what, sizeof(what), "%s insert", name);
	line(what, n, insert_ops, -1);
	begin();
	for (uint64_t i = 0; i < n; i++)
		need(ops->remove(m, 2 * (n - 1 - i), NULL) == 1, "remove");
	snprintf(what, sizeof(what), "%s remove", name);
	line(what, n, remove_ops, -1);
	ops->detach(m);
}

/* PE 0 fills it: with half of the keys, or 3000 elements. */
static void make(unsigned slot, const char *map_name, const char *queue_name)
{
	struct tw_container_options options = {.pe = 0, .keys = queue_name ? 0 : keys, .nodes_pe = 1};
	struct tw_map *m;
	tw_gptr root;

	if (queue_name) {
		const struct tw_queue_ops *ops = tw_queue_find(queue_name);
		struct tw_queue *q;
		need(ops->create(&options, &root) == 0 && ops->attach(root, &options, token, &q) == 0, "create");
		for (uint64_t i = 0; i < 3000; i++)
			need(ops->push(q, i) == 1, "fill");
		ops->detach(q);
	} else {
		const struct tw_map_ops *ops = tw_map_find(map_name);
		need(ops->create(&options, &root) == 0 && ops->attach(root, &options, token, &m) == 0, "create");
		for (uint64_t k = 0; k < keys; k += 2)
			need(ops->insert(m, k, k) == 1, "fill");
		ops->detach(m);
	}
	tw_root_set(slot, root);
}

int main(int argc, char **argv)
{
	const struct option options[] = {{"calls", &calls, NULL, NULL, "of each simple operation"},
	                                 {"keys", &keys, NULL, NULL, "of sets and maps; half of them are in them"},
	                                 {NULL, NULL, NULL, NULL, NULL}};
	/* The manager's own advances are measured separately. */
	struct tw_epoch_options quiet = {.advance_every = UINT32_MAX};

	options_read(argc, argv, "counted costs of all operations", options);
	pgas_begin(NULL);
	need(tw_epoch_create(&quiet, &epoch) == 0 && (token = tw_epoch_register(epoch)), "a manager");
	if (tw_pe() == 0) {
		make(0, NULL, "treiber-stack");
		make(1, NULL, "michael-scott-queue");
		make(2, NULL, "ring-queue");
		make(3, "hash-map", NULL);
		make(4, "hinted-list", NULL);
		make(5, "interlocked-map", NULL);
		make(6, "harris-list", NULL);
		make(7, "lazy-list", NULL);
		tw_root_set(8, tw_new(64));
	}
	tw_control_barrier();
	if (tw_pe() == tw_pes() - 1) {
		uint64_t some = keys / 8;
		double half = (double)keys / 4 + 64;
		atomics(tw_root_get(8));
		reclamation();
		queue("treiber-stack", tw_root_get(0), 2, 2, 3, 3);
		queue("ring-queue", tw_root_get(2), 2.05, 1.05, 3, 2);
		queue("michael-scott-queue", tw_root_get(1), 4, 4, 5, 5);
		map("hash-map", tw_root_get(3), 1.1, 2.2, 2.2, some);
		map("hinted-list", tw_root_get(4), 2.2, 3.2, 4.2, some);
		map("interlocked-map", tw_root_get(5), 3, 4, 4, some);
		map("harris-list", tw_root_get(6), half, half, half, 64);
		map("lazy-list", tw_root_get(7), half, half, half, 64);
		printf("%s\n", missed ? "goals were missed" : "all goals are kept");
	}
	tw_control_barrier();
	tw_token_unregister(token);
	tw_epoch_destroy(epoch);
	tw_pgas_finalize();
	return missed != 0;
}
