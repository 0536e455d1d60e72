/* SPDX-License-Identifier: BSD-3-Clause */
/* killed - PEs, or all of a node, are killed while they are pinned and at work; the others go on, and free what was
 * held up within 10 s.
 *
 *     tweed run --survive -n 2 -p 2 killed some [MILLISECONDS]   PE 0 kills all with odd numbers, after that time
 *     tweed run --survive -n 3 -p 2 killed node [MILLISECONDS]   and so the agent of another node, any of them
 *     tweed run --survive -n 3 -p 1 killed lost [MILLISECONDS]   the same, and at the end the last PE reads what is
 * lost
 *     tweed run --survive -n 2 -p 2 killed first                 and that of its own node
 *     tweed run --survive -n 2 -p 2 killed all                   nobody is left
 *
 * Where a node is lost, the containers are all in PE 0's segment; but each PE allocates and retires objects in those
 * of all. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tweed/pgas.h"

#define GARBAGE 1000u
#define KEYS    64u
#define MAPS    5u
#define QUEUES  2u

#define PES_MOST 32u

enum { ROOT_FIRST = 0, ROOT_KILLED = 16, ROOT_AGENT = 17, ROOT_PID = 32 };

static const struct tw_map_ops *const map_ops[MAPS] = {&tw_lazy_list, &tw_harris_list, &tw_hinted_list, &tw_hash_map,
                                                       &tw_interlocked_map};
static const struct tw_queue_ops *const queue_ops[QUEUES] = {&tw_treiber_stack, &tw_michael_scott_queue};
static struct tw_map *map[MAPS];
static struct tw_queue *queue[QUEUES];
static struct tw_epoch *epoch;
static struct tw_token *token;
static uint64_t random_state, done;
static bool node_dies, dies[PES_MOST];
static tw_gptr there[PES_MOST]; /* an object in each segment */

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "PE %u: %s\n", tw_pe(), what);
	exit(1);
}

static uint64_t draw(uint64_t n)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return (z ^ z >> 27) % n;
}

static uint64_t garbage(void)
{
	struct tw_pgas_stats s;

	tw_pgas_stats(&s);
	return s.garbage;
}

static struct tw_container_options made(unsigned i)
{
	struct tw_container_options options = {.pe = i % tw_pes(), .keys = KEYS};

	if (node_dies) {
		options.pe = 0;
		options.nodes_pe = 1;
	}
	return options;
}

static void make(void)
{
	tw_gptr root;

	for (unsigned i = 0; i < MAPS + QUEUES; i++) {
		struct tw_container_options options = made(i);
		if (tw_pe() == 0) {
			need((i < MAPS ? map_ops[i]->create(&options, &root)
			               : queue_ops[i - MAPS]->create(&options, &root)) == 0,
			     "create");
			tw_root_set(ROOT_FIRST + i, root);
		}
	}
	tw_control_barrier();
	for (unsigned i = 0; i < MAPS + QUEUES; i++) {
		struct tw_container_options options = made(i);
		root = tw_root_get(ROOT_FIRST + i);
		need((i < MAPS ? map_ops[i]->attach(root, &options, token, &map[i])
		               : queue_ops[i - MAPS]->attach(root, &options, token, &queue[i - MAPS])) == 0,
		     "attach");
	}
}

/* An object that nobody reads, anywhere. */
static void litter(void)
{
	unsigned pe = (unsigned)draw(tw_pes());
	tw_gptr p = draw(2) ? tw_new_at(pe, 48) : tw_new(48);

	if (tw_is_null(p)) {
		need(!tw_pe_lives(pe), "no memory");
		return;
	}
	if (tw_token_defer_delete(token, p))
		tw_delete(p);
}

/* An operation on each container.  Whose values are not their keys is wrong. */
static void work(void)
{
	for (unsigned i = 0; i < MAPS; i++) {
		uint64_t key = draw(KEYS) * 3, value = key;
		unsigned kind = (unsigned)draw(3);
		int result = kind == 0   ? map_ops[i]->insert(map[i], key, key)
		             : kind == 1 ? map_ops[i]->remove(map[i], key, &value)
		                         : map_ops[i]->get(map[i], key, &value);
		need(result >= 0 || result == -EAGAIN, map_ops[i]->name);
		need(value == key, "a key has another's value");
	}
	for (unsigned i = 0; i < QUEUES; i++) {
		uint64_t value = 0;
		int result = draw(2) ? queue_ops[i]->push(queue[i], 7) : queue_ops[i]->pop(queue[i], &value);
		need(result >= 0 || result == -EAGAIN, queue_ops[i]->name);
		need(value == 0 || value == 7, "a value that nobody pushed");
	}
	done += MAPS + QUEUES;
	if (node_dies && draw(4) == 0)
		litter();
}

static tw_gptr number(uint64_t n)
{
	return tw_gptr_of_raw(n << 4);
}

static uint64_t number_of(unsigned root)
{
	return tw_root_get(root).raw >> 4;
}

/* Who is to die: the PEs with odd numbers, or those of an agent other than the own one, which PE 0 draws. */
static void choose(void)
{
	unsigned pe;

	for (pe = 0; pe < tw_pes(); pe++)
		dies[pe] = pe % 2;
	if (!node_dies)
		return;
	need(tw_pes() <= PES_MOST, "too many PEs");
	tw_root_set(ROOT_PID + tw_pe(), number((uint64_t)getppid()));
	there[0] = tw_new(16);
	tw_control_barrier();
	if (tw_pe() == 0) {
		do
			pe = (unsigned)draw(tw_pes());
		while (number_of(ROOT_PID + pe) == (uint64_t)getppid());
		tw_root_set(ROOT_AGENT, number(number_of(ROOT_PID + pe)));
	}
	tw_control_barrier();
	for (pe = 0; pe < tw_pes(); pe++) {
		dies[pe] = number_of(ROOT_PID + pe) == number_of(ROOT_AGENT);
		there[pe] = tw_new_at(pe, 16);
	}
	tw_control_barrier();
	tw_root_set(ROOT_PID + tw_pe(), tw_null());
	tw_control_barrier();
}

/* Pinned to the end. */
static void victim(void)
{
	tw_token_pin(token);
	tw_root_set(ROOT_PID + tw_pe(), number((uint64_t)getpid()));
	for (;;)
		work();
}

static void killer(uint64_t after_ns)
{
	uint64_t begun = tw_time_ns();

	for (unsigned pe = 0; pe < tw_pes(); pe++)
		while (dies[pe] && !number_of(ROOT_PID + pe))
			work();
	while (tw_time_ns() - begun < after_ns)
		work();
	if (node_dies)
		kill((pid_t)number_of(ROOT_AGENT), SIGKILL);
	for (unsigned pe = 0; pe < tw_pes() && !node_dies; pe++)
		if (dies[pe])
			kill((pid_t)number_of(ROOT_PID + pe), SIGKILL);
	tw_root_set(ROOT_KILLED, number(tw_time_ns()));
}

static bool all_known(void)
{
	bool known = true;

	for (unsigned pe = 0; pe < tw_pes(); pe++)
		known = known && tw_pe_lives(pe) == !dies[pe] && tw_pe_lost(pe) == (node_dies && dies[pe]);
	return known;
}

static double survivor(void)
{
	uint64_t killed, held = 0, before;

	while (!number_of(ROOT_KILLED))
		work();
	killed = number_of(ROOT_KILLED);
	held = garbage();
	for (before = done; !all_known() || garbage() > 32 || done == before;) {
		need(tw_time_ns() - killed < UINT64_C(10000000000), "nothing is freed after the kill");
		work();
		tw_token_try_reclaim(token);
	}
	double seconds = (double)(tw_time_ns() - killed) * 1e-9;
	for (unsigned i = 0; i < 2000; i++)
		work();
	if (tw_pe() == 0)
		printf("%llu objects were held up; freed after %.3f s; %llu operations of this PE\n",
		       (unsigned long long)held, seconds, (unsigned long long)done);
	return seconds;
}

/* What is in the containers can be taken out, and all that the living have retired is freed. */
static void empty(void)
{
	struct tw_pgas_stats s;
	uint64_t value;

	for (unsigned i = 0; i < MAPS && tw_pe() == 0; i++)
		for (uint64_t key = 0; key < KEYS * 3; key += 3)
			while (map_ops[i]->remove(map[i], key, NULL) == -EAGAIN)
				tw_token_try_reclaim(token);
	for (unsigned i = 0; i < QUEUES && tw_pe() == 0; i++)
		for (int result; (result = queue_ops[i]->pop(queue[i], &value)) != 0;)
			if (result == -EAGAIN)
				tw_token_try_reclaim(token);
	tw_control_barrier();
	for (unsigned i = 0; i < MAPS; i++)
		for (uint64_t key = 0; key < KEYS * 3; key += 3)
			need(map_ops[i]->get(map[i], key, &value) == 0, "a removed key is there");
	tw_epoch_clear(epoch);
	tw_pgas_stats_sum(&s);
	need(s.retired == s.freed && s.garbage == 0, "what was retired was not freed");
	if (tw_pe() == 0)
		printf("%llu retired, %llu freed\n", (unsigned long long)s.retired, (unsigned long long)s.freed);
}

/* The last PE that lives is to be ended by this. */
static void read_lost(void)
{
	uint64_t word;

	for (unsigned pe = tw_pe() + 1; pe < tw_pes(); pe++)
		if (tw_pe_lives(pe))
			return;
	for (unsigned pe = 0; pe < tw_pes() && tw_pe() != 0; pe++)
		if (tw_pe_lost(pe)) {
			tw_get(there[pe], &word, sizeof(word));
			need(false, "lost memory was read");
		}
}

int main(int argc, char **argv)
{
	struct tw_epoch_options options = {.garbage_most = GARBAGE, .advance_every = 64};
	uint64_t after_ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 300;

	if (argc < 2 || tw_pgas_init(NULL) || tw_epoch_create(&options, &epoch))
		return 2;
	token = tw_epoch_register(epoch);
	random_state = tw_pe() * 0x1234567u + tw_time_ns();
	node_dies = strcmp(argv[1], "node") == 0 || strcmp(argv[1], "lost") == 0;
	make();
	choose();
	tw_control_barrier();
	if (strcmp(argv[1], "all") == 0)
		raise(SIGKILL);
	if (strcmp(argv[1], "first") == 0 && tw_pe() == 0)
		kill(getppid(), SIGKILL);
	if (dies[tw_pe()])
		victim();
	if (tw_pe() == 0)
		killer(after_ms * 1000000);
	survivor();
	tw_control_barrier();
	if (strcmp(argv[1], "lost") == 0)
		read_lost();
	empty();
	tw_token_unregister(token);
	tw_epoch_destroy(epoch);
	tw_pgas_finalize();
	return 0;
}
