/* SPDX-License-Identifier: BSD-3-Clause */
/* harris_list.c - the sorted list of Harris with Michael's traversal; with LIST_HINTS defined, it uses hints.
 *
 * To remove a node, an operation marks its next.  Any traversal that finds the node unlinks it; the one that succeeded
 * retires it.  Nodes are read as a whole.
 *
 * Hints (hints.h) are earlier positions of nodes.  A hint is valid if the node has the remembered stamp, so it is still
 * the same one, and is not marked: then it is in the list, and a traversal may start there instead of at the head.
 * Nothing else depends on hints.
 *
 * Stamp and next are two words, which a remote read may read in any order.  So next also carries the generation of the
 * node's use, in its marks; a hint remembers it.  Readers are pinned.  If the stamp read is the remembered one, the
 * node had not been reused at that moment.  It can be reused during the read only if it was retired before the reader
 * pinned, hence only once: next then shows the following generation.  If next shows the remembered generation, and no
 * mark, the node was in the list (tests/models/hint.pml). */
#include "pgas/containers/node.h"

struct node {
	uint64_t next, key, value, stamp;
};

#define NEXT offsetof(struct node, next)

#ifdef LIST_HINTS
#include "pgas/containers/hints.h"
_Static_assert(sizeof(struct node) == NODE_STAMPED_BYTES, "a hinted node is the stamped pool's");
#endif

#define GENERATION (TW_GPTR_MARKS & ~MARK) /* in a node's next: the node's own; without hints 0 */

struct tw_map {
	uint64_t root; /* a node without a key, before all others */
	node_token *token;
	unsigned nodes_pe;
#ifdef LIST_HINTS
	struct hints hints;
#endif
};

/* The place of a key, or where it would be inserted. */
struct place {
	uint64_t before, link; /* link: next of before, unmarked */
	uint64_t at;           /* the node that link names; 0: the end */
	struct node node;      /* at's */
};

/* ---- nodes ---- */

/* A next that names @at, with the generation of @link, the node's present next. */
static uint64_t list_link(uint64_t link, uint64_t at)
{
	return UNMARKED(at) | (link & GENERATION);
}

/* A new node, with its generation. */
static uint64_t list_new(struct tw_map *m)
{
#ifdef LIST_HINTS
	return node_new_stamped(m->token, m->nodes_pe);
#else
	return node_new(m->nodes_pe, sizeof(struct node));
#endif
}

/* Delete a node that was never visible; its generation stays. */
static void list_delete(struct tw_map *m, uint64_t node)
{
#ifdef LIST_HINTS
	node_delete_stamped(m->token, node);
#else
	(void)m;
	node_delete(node);
#endif
}

/* Retire the unlinked @node, whose next is @next. */
static void list_retire(struct tw_map *m, uint64_t node, uint64_t next)
{
#ifdef LIST_HINTS
	node_retire_stamped(m->token, list_link(next + MARK + MARK, node));
#else
	(void)next;
	node_retire(m->token, node);
#endif
}

static void list_stamp(struct tw_map *m, struct node *n)
{
#ifdef LIST_HINTS
	n->stamp = node_stamp(m->token);
#else
	(void)m;
	(void)n;
#endif
}

/* ---- the list ---- */

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
		hints_add(&m->hints, n->key, list_link(n->next, at), n->stamp);
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

/* Walk from @p->before, whose next is @p->link, to the first key that is not below @key, and unlink marked nodes.
 * @known: the node that p->node already holds, or 0.  Returns false when a concurrent change requires a restart. */
static bool list_walk(struct tw_map *m, uint64_t key, uint64_t known, struct place *p)
{
	while ((p->at = UNMARKED(p->link))) {
		if (p->at != known)
			node_get(p->at, 0, &p->node, sizeof(p->node));
		known = 0;
		if (p->node.next & MARK) {
			uint64_t link = list_link(p->link, p->node.next);

			list_forget(m, p->node.key);
			if (node_cas(p->before, NEXT, p->link, link) != p->link)
				return false;
			list_retire(m, p->at, p->node.next);
			p->link = link;
			continue;
		}
		list_know(m, p->at, &p->node);
		if (p->node.key >= key)
			return true;
		p->before = p->at;
		p->link = p->node.next;
	}
	return true;
}

#ifdef LIST_HINTS

/* Is @n, just read from the place of @hint, the same node, and in the list? */
static bool list_valid(const struct hint *hint, const struct node *n)
{
	return n->stamp == hint->stamp && (n->next & TW_GPTR_MARKS) == (hint->node & GENERATION);
}

/* Read the node before @key and the remembered one after it, in one round. */
static bool list_hinted(struct tw_map *m, uint64_t key, struct place *p)
{
	struct hint before, at;
	struct node first;
	bool has_at;

	while (hints_below(&m->hints, key, &before)) {
		has_at = hints_from(&m->hints, key, &at);
		if (has_at)
			node_get_nb(at.node, &p->node, sizeof(p->node));
		node_get_nb(before.node, &first, sizeof(first));
		node_get_wait();
		if (!list_valid(&before, &first)) {
			hints_remove(&m->hints, before.key);
			continue;
		}
		if (has_at && !list_valid(&at, &p->node)) {
			hints_remove(&m->hints, at.key);
			has_at = false;
		}
		p->before = before.node;
		p->link = first.next;
		if (list_walk(m, key, has_at ? UNMARKED(at.node) : 0, p))
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
	do {
		p->before = m->root;
		p->link = node_load(m->root, NEXT);
	} while (!list_walk(m, key, 0, p));
}

/* Without hints, wait-free: skips marked nodes. */
static int list_get(struct tw_map *m, uint64_t key, uint64_t *value)
{
	struct place p;
	bool found;

	node_pin(m->token);
#ifdef LIST_HINTS
	struct hint hint;

	/* A valid hint for the key itself is the answer. */
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
		if (!node) {
			if (!(node = list_new(m))) {
				done = -ENOMEM;
				break;
			}
			list_stamp(m, &n);
		}
		n.next = list_link(node, p.at);
		node_put(node, 0, &n, sizeof(n));
		if (node_cas(p.before, NEXT, p.link, list_link(p.link, node)) == p.link)
			break;
	}
	if (done == 1)
		list_know(m, node, &n);
	else if (node)
		list_delete(m, node);
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
		if (node_cas(p.before, NEXT, p.link, list_link(p.link, p.node.next)) == p.link)
			list_retire(m, p.at, p.node.next);
		else
			list_find(m, key, &p); /* unlinks the node, unless another operation did */
		break;
	}
	node_unpin(m->token);
	return done;
}

static void list_destroy(struct tw_map *m)
{
	uint64_t next = node_load(m->root, NEXT);
	struct node n;

	for (uint64_t node; (node = UNMARKED(next)); next = n.next) {
		node_get(node, 0, &n, sizeof(n));
		list_delete(m, list_link(n.next + MARK + MARK, node));
	}
	node_delete(m->root);
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
