/* SPDX-License-Identifier: BSD-3-Clause */
/* interlocked_map.c - the Interlocked Hash Table of Jenkins, Zhou and Spear, without its locks.
 *
 * A table is an array of words.  A word is 0, a leaf of up to LEAF_MOST entries, or, marked, a table of the next depth.
 * The original locks a leaf to change it.  Here a leaf never changes: an update copies it and replaces it by a
 * compare-and-swap on the word, at which all operations on the leaf's keys take effect.  The old leaf is retired.  A
 * leaf that would exceed LEAF_MOST becomes a table; tables remain. */
#include "pgas/containers/node.h"

#define LEAF_MOST   7u
#define TABLE_WORDS 16u /* of tables below the first */
#define DEPTHS      16u

struct entry {
	uint64_t key, value;
};

struct leaf {
	uint64_t n, room;
	struct entry entry[LEAF_MOST];
};

struct root {
	uint64_t words, table; /* the first table's */
};

struct tw_map {
	uint64_t root;
	struct root r;
	node_token *token;
	unsigned nodes_pe;
};

/* The word of a key, and its leaf. */
struct place {
	uint64_t table, word; /* word: the value read */
	size_t at;
	unsigned depth; /* of table */
	struct leaf leaf;
	unsigned i; /* leaf.n: the key is not in it */
};

static uint64_t map_hash(uint64_t key, unsigned depth)
{
	key += (depth + 1) * UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
	return key ^ key >> 31;
}

static uint64_t table_make(unsigned pe, uint64_t words)
{
	static const uint64_t none[256];
	uint64_t table = node_new(pe, words * sizeof(uint64_t));

	for (uint64_t i = 0; table && i < words; i += 256)
		node_put(table, i * sizeof(uint64_t), none, TW_MIN(words - i, 256u) * sizeof(uint64_t));
	return table;
}

static int map_create(const struct tw_container_options *options, tw_gptr *root)
{
	struct tw_container_options o = options ? *options : (struct tw_container_options){0};
	uint64_t at = node_new(o.pe + 1, sizeof(struct root));
	struct root r = {.words = 16};

	while (r.words < (o.keys ? o.keys : 4096))
		r.words *= 2;
	r.table = table_make(o.pe + 1, r.words);
	if (!at || !r.table)
		return -ENOMEM;
	node_put(at, 0, &r, sizeof(r));
	node_quiet();
	*root = tw_gptr_of_raw(at);
	return 0;
}

static int map_attach(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_map **map)
{
	struct tw_map *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct tw_map){.root = root.raw, .token = token, .nodes_pe = options ? options->nodes_pe : 0};
	node_get(m->root, 0, &m->r, sizeof(m->r));
	*map = m;
	return 0;
}

static void map_detach(struct tw_map *m)
{
	free(m);
}

static void map_find(struct tw_map *m, uint64_t key, struct place *p)
{
	uint64_t words = m->r.words;

	p->table = m->r.table;
	for (p->depth = 0;; p->depth++) {
		p->at = map_hash(key, p->depth) % words * sizeof(uint64_t);
		p->word = node_load(p->table, p->at);
		if (!(p->word & MARK))
			break;
		p->table = UNMARKED(p->word);
		words = TABLE_WORDS;
	}
	p->leaf.n = 0;
	if (p->word)
		node_get(p->word, 0, &p->leaf, sizeof(p->leaf));
	for (p->i = 0; p->i < p->leaf.n && p->leaf.entry[p->i].key != key; p->i++)
		;
}

static uint64_t leaf_make(struct tw_map *m, const struct leaf *leaf)
{
	uint64_t node = node_new(m->nodes_pe, sizeof(*leaf));

	if (node)
		node_put(node, 0, leaf, sizeof(*leaf));
	return node;
}

/* Replace the word at @p by @word; false: it has changed.  If @word is 0 and the leaf is not empty, memory is
 * exhausted: nothing is done. */
static bool map_replace(struct tw_map *m, const struct place *p, uint64_t word)
{
	if (node_cas(p->table, p->at, p->word, word) != p->word)
		return false;
	if (p->word)
		node_retire(m->token, p->word);
	return true;
}

static void table_delete(uint64_t table, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++) {
		uint64_t word = node_load(table, i * sizeof(uint64_t));
		if (word & MARK)
			table_delete(UNMARKED(word), TABLE_WORDS);
		else if (word)
			node_delete(word);
	}
	node_delete(table);
}

/* A table of @depth with the entries of a full leaf; 0: no memory. */
static uint64_t table_of(struct tw_map *m, const struct leaf *full, unsigned depth)
{
	uint64_t table = table_make(m->nodes_pe, TABLE_WORDS), word[TABLE_WORDS] = {0};
	struct leaf leaf[TABLE_WORDS] = {{0}};
	bool good = table != 0;

	for (unsigned i = 0; i < full->n; i++) {
		struct leaf *l = &leaf[map_hash(full->entry[i].key, depth) % TABLE_WORDS];
		l->entry[l->n++] = full->entry[i];
	}
	for (unsigned i = 0; i < TABLE_WORDS && good; i++)
		if (leaf[i].n)
			good = (word[i] = leaf_make(m, &leaf[i])) != 0;
	if (table)
		node_put(table, 0, word, sizeof(word));
	if (good)
		return table;
	if (table)
		table_delete(table, TABLE_WORDS);
	return 0;
}

/* Replace the full leaf at @p by a table.  0, or -ENOMEM.  After 0, whether this or a concurrent update succeeded,
 * search again. */
static int map_deepen(struct tw_map *m, const struct place *p)
{
	uint64_t table = p->depth + 1 < DEPTHS ? table_of(m, &p->leaf, p->depth + 1) : 0;

	if (!table)
		return -ENOMEM;
	if (!map_replace(m, p, table | MARK))
		table_delete(table, TABLE_WORDS);
	return 0;
}

static int map_get(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct place p;

	node_pin(m->token);
	map_find(m, key, &p);
	node_unpin(m->token);
	if (p.i == p.leaf.n)
		return 0;
	if (value)
		*value = p.leaf.entry[p.i].value;
	return 1;
}

static int map_insert(struct tw_map *m, uint64_t key, uint64_t value)
{
	struct place p;
	uint64_t leaf;
	int done = node_room(m->token);

	if (done)
		return done;
	node_pin(m->token);
	while (map_find(m, key, &p), p.i == p.leaf.n && !done) {
		if (p.leaf.n == LEAF_MOST) {
			done = map_deepen(m, &p);
			continue;
		}
		p.leaf.entry[p.leaf.n++] = (struct entry){key, value};
		if (!(leaf = leaf_make(m, &p.leaf)))
			done = -ENOMEM;
		else if (map_replace(m, &p, leaf))
			done = 1;
		else
			node_delete(leaf);
		if (done)
			break;
	}
	node_unpin(m->token);
	return done;
}

static int map_remove(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct place p;
	uint64_t leaf, removed;
	int done = node_room(m->token);

	if (done)
		return done;
	node_pin(m->token);
	while (map_find(m, key, &p), p.i < p.leaf.n) {
		removed = p.leaf.entry[p.i].value;
		p.leaf.entry[p.i] = p.leaf.entry[--p.leaf.n];
		leaf = p.leaf.n ? leaf_make(m, &p.leaf) : 0;
		if (p.leaf.n && !leaf) {
			done = -ENOMEM;
			break;
		}
		if (map_replace(m, &p, leaf)) {
			done = 1;
			if (value)
				*value = removed;
			break;
		}
		if (leaf)
			node_delete(leaf);
	}
	node_unpin(m->token);
	return done;
}

static void map_destroy(struct tw_map *m)
{
	table_delete(m->r.table, m->r.words);
	node_delete(m->root);
	free(m);
}

const struct tw_map_ops CONTAINER(interlocked_map) = {
    .name = NODE_LABEL("interlocked-map"),
    .help = "the Interlocked Hash Table, with leaves that are copied: lock-free",
    .local = NODE_IS_LOCAL,
    .create = map_create,
    .attach = map_attach,
    .detach = map_detach,
    .get = map_get,
    .insert = map_insert,
    .remove = map_remove,
    .destroy = map_destroy,
};
