/* SPDX-License-Identifier: BSD-3-Clause */
/* lazy_list.c - the lazy list of Heller and others, which the tutorial of Remus builds: sorted, with a lock in each
 * node; get takes no locks.
 *
 * An update locks the node before its place and checks that this node still points there.  If so, neither is removed,
 * because a node is removed under the lock of its predecessor.  remove also locks the node itself, so that nothing is
 * inserted after it meanwhile; it marks the node, then unlinks it.  Locks are taken in list order.  Operations without
 * an update need no lock: an unmarked node with the key was in the list, and a traversal without a match passed a
 * moment when the key was absent.
 *
 * A lock holds its owner.  The lock of a dead owner is taken over, and the node that it had marked is unlinked.  A PE
 * that learns of a death searches the list once: a marked node that stays would make others wait, without a lock. */
#include "pgas/containers/node.h"

struct node {
	uint64_t next, key, value, lock;
};

#define NEXT offsetof(struct node, next)
#define LOCK offsetof(struct node, lock)

struct tw_map {
	uint64_t root; /* a node without a key, before all others */
	node_token *token;
	unsigned nodes_pe;
	uint64_t deaths; /* deaths whose effects on the list are repaired */
};

/* The place of a key, or where it would be inserted. */
struct place {
	uint64_t before, at; /* at: 0 at the end */
	struct node node;    /* at's */
};

static int lazy_create(const struct tw_container_options *options, tw_gptr *root)
{
	return node_create(options, &(struct node){0, 0, 0, 0}, sizeof(struct node), root);
}

static int lazy_attach(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_map **map)
{
	struct tw_map *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct tw_map){root.raw, token, options ? options->nodes_pe : 0, 0};
	*map = m;
	return 0;
}

static void lazy_detach(struct tw_map *m)
{
	free(m);
}

static void lazy_unlock(uint64_t node)
{
	node_before(node);
	node_store(node, LOCK, 0);
}

/* Take over the lock of @node from @owner, which is dead, and complete the removal that it protected; false: another PE
 * has done so. */
static bool lazy_take_over(struct tw_map *m, uint64_t node, uint64_t owner)
{
	if (node_cas(node, LOCK, owner, node_self()) != owner)
		return false;
	uint64_t next = node_load(node, NEXT), behind = next && !(next & MARK) ? node_load(next, NEXT) : 0;
	if (behind & MARK) {
		node_store(node, NEXT, UNMARKED(behind));
		node_quiet();
		node_retire(m->token, next);
	}
	return true;
}

static void lazy_lock(struct tw_map *m, uint64_t node)
{
	unsigned round = 0;
	uint64_t owner;

	while ((owner = node_cas(node, LOCK, 0, node_self())) != 0) {
		if (node_dead(owner) && lazy_take_over(m, node, owner))
			return;
		while ((owner = node_load(node, LOCK)) && !node_dead(owner))
			node_nap(&round);
	}
}

/* Repair what PEs left behind that died since the last check.  Pinned. */
static void lazy_mend(struct tw_map *m)
{
	uint64_t deaths = node_deaths();
	struct node n;

	for (uint64_t node = m->root; node; node = UNMARKED(n.next)) {
		node_get(node, 0, &n, sizeof(n));
		if (node_dead(n.lock) && lazy_take_over(m, node, n.lock)) {
			n.next = node_load(node, NEXT);
			lazy_unlock(node);
		}
	}
	m->deaths = deaths;
}

static void lazy_find(struct tw_map *m, uint64_t key, struct place *p)
{
	if (m->deaths != node_deaths())
		lazy_mend(m);
	uint64_t next = node_load(m->root, NEXT);

	p->before = m->root;
	while ((p->at = UNMARKED(next))) {
		node_get(p->at, 0, &p->node, sizeof(p->node));
		if (p->node.key >= key)
			break;
		p->before = p->at;
		next = p->node.next;
	}
}

static bool lazy_found(const struct place *p, uint64_t key)
{
	return p->at && p->node.key == key && !(p->node.next & MARK);
}

/* Lock the node before the place, if it still points there. */
static bool lazy_lock_before(struct tw_map *m, const struct place *p)
{
	lazy_lock(m, p->before);
	if (node_load(p->before, NEXT) == p->at)
		return true;
	lazy_unlock(p->before);
	return false;
}

static int lazy_get(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct place p;

	node_pin(m->token);
	lazy_find(m, key, &p);
	node_unpin(m->token);
	if (!lazy_found(&p, key))
		return 0;
	if (value)
		*value = p.node.value;
	return 1;
}

static int lazy_insert(struct tw_map *m, uint64_t key, uint64_t value)
{
	uint64_t node = node_new(m->nodes_pe, sizeof(struct node));
	struct place p;
	bool found;

	if (!node)
		return -ENOMEM;
	node_pin(m->token);
	do
		lazy_find(m, key, &p);
	while (!(found = lazy_found(&p, key)) && ((p.at && p.node.key == key) || !lazy_lock_before(m, &p)));
	if (!found) {
		node_put(node, 0, &(struct node){p.at, key, value, 0}, sizeof(struct node));
		node_before(p.before);
		node_store(p.before, NEXT, node);
		lazy_unlock(p.before);
		/* An operation that begins after this returns must see it, so it must not stay in a store buffer. */
		node_quiet();
	} else {
		node_delete(node);
	}
	node_unpin(m->token);
	return !found;
}

static int lazy_remove(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct place p;
	uint64_t next;
	bool found;
	int error = node_room(m->token);

	if (error)
		return error;
	node_pin(m->token);
	do
		lazy_find(m, key, &p);
	while ((found = lazy_found(&p, key)) && !lazy_lock_before(m, &p));
	if (found) {
		lazy_lock(m, p.at);
		next = node_load(p.at, NEXT);
		node_store(p.at, NEXT, next | MARK);
		node_before(p.before);
		node_store(p.before, NEXT, next);
		lazy_unlock(p.at);
		lazy_unlock(p.before);
		node_quiet();
		if (value)
			*value = p.node.value;
		node_retire(m->token, p.at);
	}
	node_unpin(m->token);
	return found;
}

static void lazy_destroy(struct tw_map *m)
{
	struct node n;

	for (uint64_t node = m->root; node; node = UNMARKED(n.next)) {
		node_get(node, 0, &n, sizeof(n));
		node_delete(node);
	}
	free(m);
}

const struct tw_map_ops CONTAINER(lazy_list) = {
    .name = NODE_LABEL("lazy-list"),
    .help = "the lazy list: sorted, updates lock two nodes",
    .local = NODE_IS_LOCAL,
    .create = lazy_create,
    .attach = lazy_attach,
    .detach = lazy_detach,
    .get = lazy_get,
    .insert = lazy_insert,
    .remove = lazy_remove,
    .destroy = lazy_destroy,
};
