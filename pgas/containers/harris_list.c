/* SPDX-License-Identifier: BSD-3-Clause */
/* harris_list.c - the sorted list of Harris, with Michael's traversal; and, where it is included with LIST_HINTS
 * defined, with hints.
 *
 * A node is removed by marking its next; whoever comes along unlinks it, and whoever unlinked it retires it.  All nodes
 * are read whole.
 *
 * Hints (hints.h) say where nodes were.  One is good when the node has the stamp that it had, so that it is the same
 * one still, and is not marked: then it is in the list, and a traversal may begin there in place of the head.  Nothing
 * else depends on them.  Who allocates a node makes the new stamp visible before the unmarked next, and a reader takes
 * next before the stamp (tests/models/hint.pml). */
#include "pgas/containers/node.h"

/* In this order: see above. */
struct node {
	uint64_t next, key, value, stamp;
};

#define NEXT offsetof(struct node, next)

#ifdef LIST_HINTS
#include "pgas/containers/hints.h"
#include "pgas/global/pool.h"
_Static_assert(sizeof(struct node) == POOL_STAMPED_BYTES, "a hinted node is the stamped pool's");
#endif

struct tw_map {
	uint64_t root; /* a node without a key before all others */
	node_token *token;
	unsigned nodes_pe;
#ifdef LIST_HINTS
	struct hints hints;
#endif
};

/* Where a key is, or would be. */
struct place {
	uint64_t before, at; /* before is not marked; at: 0 at the end */
	struct node node;    /* at's */
};

static int list_create(const struct tw_container_options *options, tw_gptr *root)
{
	return node_create(options, &(struct node){0, 0, 0, 0}, sizeof(struct node), root);
}

static int list_attach(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_map **map)
{
	struct tw_map *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->root = root.raw;
	m->token = token;
	m->nodes_pe = options ? options->nodes_pe : 0;
#ifdef LIST_HINTS
	if (!hints_init(&m->hints)) {
		free(m);
		return -ENOMEM;
	}
#endif
	*map = m;
	return 0;
}

static void list_detach(struct tw_map *m)
{
#ifdef LIST_HINTS
	hints_fini(&m->hints);
#endif
	free(m);
}

static void list_know(struct tw_map *m, uint64_t at, const struct node *n)
{
#ifdef LIST_HINTS
	if (!(n->next & MARK))
		hints_add(&m->hints, n->key, at, n->stamp);
#else
	(void)m;
	(void)at;
	(void)n;
#endif
}

static void list_forget(struct tw_map *m, uint64_t key)
{
#ifdef LIST_HINTS
	hints_remove(&m->hints, key);
#else
	(void)m;
	(void)key;
#endif
}

/* From @p->before, whose next is @next, to the first key that is not below @key; unlinks what is marked on the way.
 * @known: the node that p->node is of already, or 0.  Returns false when another was faster: begin again. */
static bool list_walk(struct tw_map *m, uint64_t key, uint64_t next, uint64_t known, struct place *p)
{
	while ((p->at = UNMARKED(next))) {
		if (p->at != known)
			node_get(p->at, 0, &p->node, sizeof(p->node));
		known = 0;
		if (p->node.next & MARK) {
			next = UNMARKED(p->node.next);
			list_forget(m, p->node.key);
			if (node_cas(p->before, NEXT, p->at, next) != p->at)
				return false;
			node_retire(m->token, p->at);
			continue;
		}
		list_know(m, p->at, &p->node);
		if (p->node.key >= key)
			return true;
		p->before = p->at;
		next = p->node.next;
	}
	return true;
}

#ifdef LIST_HINTS

/* Is @n, just read from where @hint says, the node that it was, and in the list? */
static bool list_valid(const struct hint *hint, struct node *n)
{
	if (n->stamp != hint->stamp || (n->next & MARK))
		return false;
	/* Where words come in any order, the stamp must be looked at after next. */
	return NODE_ASCENDING || node_load(hint->node, offsetof(struct node, stamp)) == hint->stamp;
}

/* Read the node before @key and the one that was behind it, in one round. */
static bool list_hinted(struct tw_map *m, uint64_t key, struct place *p)
{
	struct hint before, at;
	struct node first;
	bool has_at;

	while (hints_below(&m->hints, key, &before)) {
		has_at = hints_from(&m->hints, key, &at);
		if (has_at)
			access_get(NODE_AT(at.node, 0), &p->node, sizeof(p->node), false);
		access_get(NODE_AT(before.node, 0), &first, sizeof(first), false);
		if (tw_pgas.reading)
			access_remote_quiet();
		if (!list_valid(&before, &first)) {
			hints_remove(&m->hints, before.key);
			continue;
		}
		if (has_at && !list_valid(&at, &p->node)) {
			hints_remove(&m->hints, at.key);
			has_at = false;
		}
		p->before = before.node;
		if (list_walk(m, key, first.next, has_at ? at.node : 0, p))
			return true;
	}
	return false;
}

#endif

static void list_find(struct tw_map *m, uint64_t key, struct place *p)
{
#ifdef LIST_HINTS
	if (list_hinted(m, key, p))
		return;
#endif
	do
		p->before = m->root;
	while (!list_walk(m, key, node_load(m->root, NEXT), 0, p));
}

/* Wait-free without hints: passes over what is marked. */
static int list_get(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct place p;
	bool found;

	node_pin(m->token);
#ifdef LIST_HINTS
	struct hint hint;

	/* A good hint for the key itself is the answer. */
	if (hints_from(&m->hints, key, &hint) && hint.key == key) {
		node_get(hint.node, 0, &p.node, sizeof(p.node));
		if ((found = list_valid(&hint, &p.node)))
			goto out;
		hints_remove(&m->hints, key);
	}
	list_find(m, key, &p);
	found = p.at && p.node.key == key;
out:
#else
	uint64_t next = node_load(m->root, NEXT);

	for (; (p.at = UNMARKED(next)); next = p.node.next) {
		node_get(p.at, 0, &p.node, sizeof(p.node));
		if (p.node.key >= key)
			break;
	}
	found = p.at && p.node.key == key && !(p.node.next & MARK);
#endif
	node_unpin(m->token);
	if (found && value)
		*value = p.node.value;
	return found;
}

/* Hints are followed into memory that was freed: it must be a list's node for ever. */
static uint64_t list_new(struct tw_map *m)
{
#ifdef LIST_HINTS
	return pool_new_stamped(m->nodes_pe).raw;
#else
	return node_new(m->nodes_pe, sizeof(struct node));
#endif
}

/* The node's words in the order in which others may come to see them: next last. */
static void list_write(uint64_t node, const struct node *n)
{
#ifdef LIST_HINTS
	node_put(node, offsetof(struct node, key), &n->key, sizeof(*n) - offsetof(struct node, key));
	node_before(node);
	node_put(node, NEXT, &n->next, sizeof(n->next));
#else
	node_put(node, 0, n, sizeof(*n));
#endif
}

static int list_insert(struct tw_map *m, uint64_t key, uint64_t value)
{
	struct node n = {.key = key, .value = value};
	struct place p;
	uint64_t node = 0;
	int done = 1;

	node_pin(m->token);
	for (;;) {
		list_find(m, key, &p);
		if (p.at && p.node.key == key) {
			done = 0;
			break;
		}
		if (!node && !(node = list_new(m))) {
			done = -ENOMEM;
			break;
		}
#ifdef LIST_HINTS
		if (!n.stamp)
			n.stamp = tw_pool_stamp();
#endif
		n.next = p.at;
		list_write(node, &n);
		if (node_cas(p.before, NEXT, p.at, node) == p.at)
			break;
	}
	if (done == 1)
		list_know(m, node, &n);
	else if (node)
		node_delete(node); /* nobody has seen it */
	node_unpin(m->token);
	return done;
}

static int list_remove(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct place p;
	int done = 0, error = node_room(m->token);

	if (error)
		return error;
	node_pin(m->token);
	for (;;) {
		list_find(m, key, &p);
		if (!p.at || p.node.key != key)
			break;
		if (node_cas(p.at, NEXT, p.node.next, p.node.next | MARK) != p.node.next)
			continue;
		done = 1;
		if (value)
			*value = p.node.value;
		list_forget(m, key);
		if (node_cas(p.before, NEXT, p.at, p.node.next) == p.at)
			node_retire(m->token, p.at);
		else
			list_find(m, key, &p); /* unlinks it, unless another did */
		break;
	}
	node_unpin(m->token);
	return done;
}

static void list_destroy(struct tw_map *m)
{
	struct node n;

	for (uint64_t node = m->root; node; node = UNMARKED(n.next)) {
		node_get(node, 0, &n, sizeof(n));
		node_delete(node);
	}
	list_detach(m);
}

#ifdef LIST_HINTS
#define LIST_TABLE CONTAINER(hinted_list)
#define LIST_NAME  "hinted-list"
#define LIST_HELP  "the sorted list of Harris and Michael with validated hints: lock-free"
#else
#define LIST_TABLE CONTAINER(harris_list)
#define LIST_NAME  "harris-list"
#define LIST_HELP  "the sorted list of Harris and Michael: lock-free"
#endif

const struct tw_map_ops LIST_TABLE = {
    .name = NODE_LABEL(LIST_NAME),
    .help = LIST_HELP,
    .local = NODE_IS_LOCAL,
    .create = list_create,
    .attach = list_attach,
    .detach = list_detach,
    .get = list_get,
    .insert = list_insert,
    .remove = list_remove,
    .destroy = list_destroy,
};
