/* SPDX-License-Identifier: BSD-3-Clause */
/* index - a distributed key-value index with concurrent readers and writers.
 *
 *     tweed run -n 2 -p 2 index --keys 10000 --ops 100000 --writes 20
 *
 * A hash map from keys to records, which are objects of the global address space and never change.  A writer creates a
 * new record, exchanges it for the old one in the map, and retires that.  A reader follows the map's pointer, pinned.
 * Each record contains its key and a sum over itself, so that every read is a test: it detects a record that was reused
 * or is half written. */
#include "common.h"

#include <stdio.h>

#define RECORD_WORDS 15u

struct record {
	uint64_t key, version, word[RECORD_WORDS], sum;
};

static uint64_t keys = 10000, ops = 100000, writes = 20, seed = 1;

static uint64_t sum_of(const struct record *r)
{
	uint64_t sum = r->key * 31 + r->version;

	for (unsigned i = 0; i < RECORD_WORDS; i++)
		sum = sum * 1000003 + r->word[i];
	return sum;
}

static void write_record(struct tw_map *map, struct tw_token *token, uint64_t key, uint64_t version)
{
	struct record r = {.key = key, .version = version};
	tw_gptr p = tw_new(sizeof(r));
	uint64_t old;

	need(!tw_is_null(p), "no memory for a record");
	for (unsigned i = 0; i < RECORD_WORDS; i++)
		r.word[i] = version * 17 + i;
	r.sum = sum_of(&r);
	tw_put(p, &r, sizeof(r));
	tw_token_pin(token);
	need(tw_hash_map_exchange(map, key, p.raw, &old) == 0, "no memory for the index");
	if (old != UINT64_MAX)
		while (tw_token_defer_delete(token, tw_gptr_of_raw(old)))
			; /* other PEs have not left their sections yet */
	tw_token_unpin(token);
}

/* Returns whether the key is in the index. */
static bool read_record(struct tw_map *map, struct tw_token *token, uint64_t key)
{
	struct record r;
	uint64_t raw;
	bool found;

	tw_token_pin(token);
	if ((found = tw_hash_map.get(map, key, &raw) == 1)) {
		tw_get(tw_gptr_of_raw(raw), &r, sizeof(r));
		need(r.key == key && r.sum == sum_of(&r), "a record is not what it was written as");
	}
	tw_token_unpin(token);
	return found;
}

int main(int argc, char **argv)
{
	const struct option options[] = {{"keys", &keys, NULL, NULL, "of the index"},
	                                 {"ops", &ops, NULL, NULL, "of each PE"},
	                                 {"writes", &writes, NULL, NULL, "percent of them that write"},
	                                 {"seed", &seed, NULL, NULL, "of the random numbers"},
	                                 {NULL, NULL, NULL, NULL, NULL}};
	uint64_t state, found = 0, old;
	struct tw_pgas_stats s;
	struct tw_epoch *epoch;
	struct tw_map *map;
	tw_gptr root;

	options_read(argc, argv, "a distributed key-value index", options);
	pgas_begin(NULL);
	need(tw_epoch_create(NULL, &epoch) == 0, "no manager");
	struct tw_token *token = tw_epoch_register(epoch);
	struct tw_container_options of = {.keys = keys};
	state = seed + tw_pe() * 1000;
	if (tw_pe() == 0) {
		need(tw_hash_map.create(&of, &root) == 0, "no memory for the index");
		tw_root_set(0, root);
	}
	tw_control_barrier();
	need(tw_hash_map.attach(tw_root_get(0), &of, token, &map) == 0, "no memory for the index");
	for (uint64_t key = tw_pe(); key < keys; key += tw_pes())
		write_record(map, token, key, 0);
	tw_control_barrier();
	tw_pgas_stats_reset();
	double begun = now();
	for (uint64_t i = 0; i < ops; i++) {
		uint64_t key = draw(&state, keys);
		if (draw(&state, 100) < writes)
			write_record(map, token, key, i);
		else
			found += read_record(map, token, key);
	}
	tw_control_barrier();
	double seconds = now() - begun;
	tw_pgas_stats_sum(&s);
	if (tw_pe() == 0)
		printf("%llu operations by %u PEs in %.3f s, %.0f per second; this PE read %llu records\n",
		       (unsigned long long)(ops * tw_pes()), tw_pes(), seconds, (double)(ops * tw_pes()) / seconds,
		       (unsigned long long)found);
	costs_print(&s, ops * tw_pes());
	/* All keys are still present, and nothing else is left. */
	for (uint64_t key = tw_pe(); key < keys; key += tw_pes()) {
		need(read_record(map, token, key), "a key is lost");
		need(tw_hash_map_exchange(map, key, UINT64_MAX, &old) == 0, "exchange");
		tw_delete(tw_gptr_of_raw(old));
	}
	tw_token_unregister(token);
	tw_epoch_clear(epoch);
	tw_pgas_stats_sum(&s);
	if (tw_pe() == 0)
		printf("%llu retired, %llu freed; verified\n", (unsigned long long)s.retired,
		       (unsigned long long)s.freed);
	tw_control_barrier();
	if (tw_pe() == 0)
		tw_hash_map.destroy(map);
	else
		tw_hash_map.detach(map);
	tw_control_barrier();
	tw_epoch_destroy(epoch);
	tw_pgas_finalize();
	return 0;
}
