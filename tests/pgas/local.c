/* SPDX-License-Identifier: BSD-3-Clause */
/* local - the local containers under threads, their histories recorded and checked, and LocalAtomicObject's counters.
 *
 *     local [OPERATIONS] [ROUNDS] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "linear.h"
#include "tweed/pgas.h"

#define THREADS 4u
#define KEYS    16u

static size_t ops = 2000;
static struct tw_local_epoch *epoch;
static const struct tw_map_ops *map_of;
static const struct tw_queue_ops *queue_of;
static tw_gptr root;
static struct linear_op *history;
static pthread_barrier_t barrier;

static int map_operation(struct tw_map *map, struct linear_op *op, unsigned *seed)
{
	op->kind = (uint8_t)(rand_r(seed) % 3);
	op->key = rand_r(seed) % KEYS;
	op->call_ns = tw_time_ns();
	if (op->kind == LINEAR_GET)
		return map_of->get(map, op->key, &op->value);
	if (op->kind == LINEAR_REMOVE)
		return map_of->remove(map, op->key, &op->value);
	op->value = (uint64_t)rand_r(seed);
	return map_of->insert(map, op->key, op->value);
}

static int queue_operation(struct tw_queue *queue, struct linear_op *op, unsigned *seed, unsigned *ahead)
{
	int result;

	op->kind = *ahead < 3 && rand_r(seed) % 2 ? LINEAR_PUSH : LINEAR_POP;
	op->value = op->kind == LINEAR_PUSH ? (uint64_t)rand_r(seed) : 0;
	op->call_ns = tw_time_ns();
	result = op->kind == LINEAR_PUSH ? queue_of->push(queue, op->value) : queue_of->pop(queue, &op->value);
	if (op->kind == LINEAR_PUSH)
		++*ahead;
	else if (result && *ahead)
		--*ahead;
	return result;
}

static void *work(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, seed = me + (unsigned)tw_time_ns(), ahead = 0;
	TW_LOCAL_TOKEN(token, epoch);
	struct tw_queue *queue = NULL;
	struct tw_map *map = NULL;

	if (map_of ? map_of->attach(root, NULL, token, &map) : queue_of->attach(root, NULL, token, &queue))
		exit(2);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < ops; i++) {
		struct linear_op *op = &history[me * ops + i];
		*op = (struct linear_op){.process = (uint16_t)me};
		op->result = (int8_t)(map ? map_operation(map, op, &seed) : queue_operation(queue, op, &seed, &ahead));
		op->return_ns = tw_time_ns();
		if (op->result < 0)
			exit(2);
	}
	pthread_barrier_wait(&barrier);
	if (map && me)
		map_of->detach(map);
	if (queue && me)
		queue_of->detach(queue);
	pthread_barrier_wait(&barrier);
	if (!me && map)
		map_of->destroy(map);
	if (!me && queue)
		queue_of->destroy(queue);
	return NULL;
}

static bool round_of(const char *name, enum linear_object object)
{
	pthread_t thread[THREADS];

	if (map_of ? map_of->create(NULL, &root) : queue_of->create(NULL, &root))
		exit(2);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_create(&thread[t], NULL, work, (void *)(uintptr_t)t);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	const char *why = linear_check(object, history, THREADS * ops);
	if (why)
		printf("%s: %s\n", name, why);
	tw_local_epoch_clear(epoch);
	if (tw_local_epoch_garbage(epoch))
		why = "garbage is left";
	return !why;
}

/* Every change counts, by whatever form; and a pointer that came back is noticed. */
static bool aba(void)
{
	static tw_local_aba_object o;
	int a, b;
	tw_local_aba seen = tw_local_aba_object_read_aba(&o);
	bool good = seen.object == NULL && seen.count == 0;

	tw_local_aba_object_write(&o, &a);
	seen = tw_local_aba_object_read_aba(&o);
	good = good && seen.object == &a && seen.count == 1;
	good = good && tw_local_aba_object_exchange(&o, &b) == &a && tw_local_aba_object_compare_exchange(&o, &b, &a);
	good = good && tw_local_aba_object_read(&o) == &a && !tw_local_aba_object_compare_exchange_aba(&o, seen, &b);
	seen = tw_local_aba_object_read_aba(&o);
	good = good && seen.count == 3 && tw_local_aba_object_compare_exchange_aba(&o, seen, &b);
	return good && tw_local_aba_object_exchange_aba(&o, seen).count == 4 && tw_local_aba_object_read(&o) == &a;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 5, wrong = !aba();

	if (argc > 1)
		ops = strtoull(argv[1], NULL, 10);
	history = calloc(THREADS * ops, sizeof(history[0]));
	if (!history || tw_local_epoch_create(&(struct tw_local_epoch_options){.advance_every = 16}, &epoch))
		return 2;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned i = 0; i < rounds; i++) {
		queue_of = NULL;
		for (const struct tw_map_ops *const *m = tw_map_list(); (map_of = *m); m++)
			wrong += (*m)->local && !round_of((*m)->name, LINEAR_MAP);
		for (const struct tw_queue_ops *const *q = tw_queue_list(); (queue_of = *q); q++)
			wrong += (*q)->local && !round_of((*q)->name, (*q)->lifo ? LINEAR_STACK : LINEAR_QUEUE);
	}
	printf("%u rounds of %zu operations by each of %u threads on each local container: %u wrong\n", rounds, ops,
	       THREADS, wrong);
	tw_local_epoch_destroy(epoch);
	free(history);
	return wrong != 0;
}
