/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_map.c - a hash map in which a key keeps its slot for ever.
 *
 * A slot is a key and a value, both initially 0.  The first insert of a key claims a free slot of its bucket by a
 * compare-and-swap on the key word.  From then on the key is in the map when its value word is not 0.  So every
 * operation is one atomic on one word, or one read.  No key can be in two slots: a bucket's slots are claimed in order,
 * and never freed.
 *
 *     get       1 read of the bucket's line        insert    1 compare-and-swap of the value, from 0
 *     remove    1 exchange of the value, to 0      a read before those, until the handle knows the key's slot
 *
 * A bucket has four slots, a line.  When all are claimed, the key's place is in the next level, a table of twice as
 * many buckets, which is created when first needed.  Claimed slots are only freed by destroy: for key sets that keep
 * changing, use the Interlocked Hash Table. */
#include "pgas/containers/node.h"

#define LEVELS 24u
#define SLOTS  4u

struct slot {
	uint64_t key, value; /* both + 1; 0: none */
};

struct bucket {
	struct slot slot[SLOTS];
};

/* A level's buckets are distributed over @parts PEs; these are the objects. */
struct root {
	uint64_t buckets; /* of level 0; a multiple of parts */
	uint64_t parts;
	uint64_t level[LEVELS]; /* arrays of parts raw pointers; 0: not created yet */
};

#define KNOWN 2u /* slots that a handle remembers, per expected key */

struct known {
	uint64_t key, bucket; /* key + 1 */
	uint64_t slot;
};

struct tw_map {
	uint64_t root;
	struct root r;
	uint64_t *part[LEVELS]; /* the array that level names; NULL: not read yet */
	unsigned nodes_pe;
	struct known *known; /* [known_mask + 1], by hash */
	uint64_t known_mask;
};

static uint64_t hash_of(uint64_t key)
{
	key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
	key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return key ^ key >> 32;
}

static uint64_t hash_buckets(const struct root *r, unsigned level)
{
	return r->buckets << level;
}

/* Delete the existing parts of a level. */
static void level_delete(uint64_t parts, const uint64_t *part, uint64_t array)
{
	for (uint64_t i = 0; i < parts; i++)
		if (part[i])
			node_delete(part[i]);
	if (array)
		node_delete(array);
}

/* The nodes_pe of a part: all memory PEs in turn, or all parts in one PE. */
static unsigned level_pe(unsigned nodes_pe, uint64_t part)
{
	return nodes_pe ? nodes_pe : node_place((unsigned)part) + 1;
}

/* Create an empty level in @part; returns its array, beside @root, or 0: no memory. */
static uint64_t level_make(uint64_t root, const struct root *r, unsigned level, unsigned nodes_pe, uint64_t *part)
{
	static const struct bucket none[32];
	size_t bytes = hash_buckets(r, level) / r->parts * sizeof(struct bucket);
	uint64_t array = node_new_beside(root, r->parts * sizeof(part[0]));

	memset(part, 0, r->parts * sizeof(part[0]));
	for (uint64_t i = 0; i < r->parts && array; i++) {
		part[i] = node_new(level_pe(nodes_pe, i), bytes);
		if (!part[i]) {
			level_delete(r->parts, part, array);
			return 0;
		}
		for (size_t at = 0; at < bytes; at += sizeof(none))
			node_put(part[i], at, none, TW_MIN(sizeof(none), bytes - at));
	}
	if (array)
		node_put(array, 0, part, r->parts * sizeof(part[0]));
	node_quiet();
	return array;
}

static int hash_create(const struct tw_container_options *options, tw_gptr *root)
{
	struct tw_container_options o = options ? *options : (struct tw_container_options){0};
	struct root r = {.parts = o.nodes_pe ? 1 : node_places()};
	uint64_t keys = o.keys ? o.keys : 4096, buckets = r.parts;

	/* Half full when all expected keys have slots. */
	while (buckets * SLOTS < 2 * keys)
		buckets *= 2;
	r.buckets = buckets;
	uint64_t at = node_new(o.pe + 1, sizeof(r)), *part = calloc(r.parts, sizeof(part[0]));
	r.level[0] = at && part ? level_make(at, &r, 0, o.nodes_pe, part) : 0;
	free(part);
	if (!r.level[0]) {
		if (at)
			node_delete(at);
		return -ENOMEM;
	}
	node_put(at, 0, &r, sizeof(r));
	node_quiet();
	*root = tw_gptr_of_raw(at);
	return 0;
}

static bool level_read(struct tw_map *m, unsigned level)
{
	uint64_t *part = malloc(m->r.parts * sizeof(part[0]));

	if (!part)
		return false;
	node_get(m->r.level[level], 0, part, m->r.parts * sizeof(part[0]));
	m->part[level] = part;
	return true;
}

static void hash_detach(struct tw_map *m)
{
	for (unsigned i = 0; i < LEVELS; i++)
		free(m->part[i]);
	free(m->known);
	free(m);
}

static int hash_attach(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_map **map)
{
	struct tw_map *m = calloc(1, sizeof(*m));
	uint64_t keys = options && options->keys ? options->keys : 4096, known = 64;

	(void)token;
	if (!m)
		return -ENOMEM;
	while (known < KNOWN * keys)
		known *= 2;
	m->root = root.raw;
	m->nodes_pe = options ? options->nodes_pe : 0;
	m->known_mask = known - 1;
	m->known = calloc(known, sizeof(m->known[0]));
	node_get(m->root, 0, &m->r, sizeof(m->r));
	if (!m->known || !level_read(m, 0)) {
		hash_detach(m);
		return -ENOMEM;
	}
	*map = m;
	return 0;
}

/* Make @level available.  0: it is; 1: it does not exist and @make is false; -ENOMEM. */
static int hash_level(struct tw_map *m, unsigned level, bool make)
{
	size_t at = offsetof(struct root, level) + level * sizeof(uint64_t);

	if (m->part[level])
		return 0;
	if (!m->r.level[level])
		m->r.level[level] = node_load(m->root, at);
	if (!m->r.level[level]) {
		uint64_t part[4096], array, was;

		if (!make)
			return 1;
		if (m->r.parts > 4096 || !(array = level_make(m->root, &m->r, level, m->nodes_pe, part)))
			return -ENOMEM;
		if ((was = node_cas(m->root, at, 0, array)))
			level_delete(m->r.parts, part, array);
		m->r.level[level] = was ? was : array;
	}
	return level_read(m, level) ? 0 : -ENOMEM;
}

/* Find the place of @key's value, and the value.  0; 1: @key has no slot and @claim is false; -ENOMEM. */
static int hash_find(struct tw_map *m, uint64_t key, bool claim, struct known *place, uint64_t *value)
{
	uint64_t hash = hash_of(key), word = key + 1;

	for (unsigned level = 0; level < LEVELS; level++) {
		uint64_t bucket = hash % hash_buckets(&m->r, level);
		size_t at = bucket / m->r.parts * sizeof(struct bucket);
		struct bucket line;
		int error = hash_level(m, level, claim);

		if (error)
			return error;
		uint64_t part = m->part[level][bucket % m->r.parts];
		node_get(part, at, &line, sizeof(line));
		for (unsigned i = 0; i < SLOTS; i++) {
			struct slot *s = &line.slot[i];
			if (!s->key && !claim)
				return 1;
			if (!s->key) {
				uint64_t was = node_cas(part, at + i * sizeof(*s), 0, word);
				s->key = was ? was : word;
				s->value = 0; /* may be another key's by now: the atomic on it decides */
			}
			if (s->key != word)
				continue;
			*place = (struct known){word, part, at + i * sizeof(*s) + offsetof(struct slot, value)};
			*value = s->value;
			m->known[hash & m->known_mask] = *place;
			return 0;
		}
	}
	return -ENOMEM;
}

static bool hash_known(struct tw_map *m, uint64_t key, struct known *place)
{
	*place = m->known[hash_of(key) & m->known_mask];
	return place->key == key + 1;
}

static int hash_get(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct known place;
	uint64_t word;

	if (hash_known(m, key, &place))
		word = node_load(place.bucket, place.slot);
	else if (hash_find(m, key, false, &place, &word))
		return 0;
	if (word && value)
		*value = word - 1;
	return word != 0;
}

static int hash_insert(struct tw_map *m, uint64_t key, uint64_t value)
{
	struct known place;
	uint64_t word = 0;
	int error;

	if (!hash_known(m, key, &place) && (error = hash_find(m, key, true, &place, &word)))
		return error;
	return !word && node_cas(place.bucket, place.slot, 0, value + 1) == 0;
}

static int hash_remove(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct known place;
	uint64_t word;

	if (!hash_known(m, key, &place)) {
		if (hash_find(m, key, false, &place, &word) || !word)
			return 0;
	}
	word = node_swap(place.bucket, place.slot, 0);
	if (word && value)
		*value = word - 1;
	return word != 0;
}

int CONTAINER(hash_map_exchange)(struct tw_map *m, uint64_t key, uint64_t value, uint64_t *old)
{
	struct known place;
	uint64_t word;
	int error;

	if (!hash_known(m, key, &place) && (error = hash_find(m, key, value != UINT64_MAX, &place, &word))) {
		if (error == 1)
			*old = UINT64_MAX;
		return error == 1 ? 0 : error;
	}
	*old = node_swap(place.bucket, place.slot, value + 1) - 1;
	return 0;
}

static void hash_destroy(struct tw_map *m)
{
	for (unsigned level = 0; level < LEVELS && hash_level(m, level, false) == 0; level++)
		level_delete(m->r.parts, m->part[level], m->r.level[level]);
	node_delete(m->root);
	hash_detach(m);
}

const struct tw_map_ops CONTAINER(hash_map) = {
    .name = NODE_LABEL("hash-map"),
    .help = "a hash map in which a key's slot is its for ever: lock-free, one operation each",
    .local = NODE_IS_LOCAL,
    .create = hash_create,
    .attach = hash_attach,
    .detach = hash_detach,
    .get = hash_get,
    .insert = hash_insert,
    .remove = hash_remove,
    .destroy = hash_destroy,
};
