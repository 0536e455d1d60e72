/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.c - the queue of Michael and Scott.
 *
 * head names a node that was already dequeued; the values are in the nodes after it.  tail names the last node or,
 * temporarily, the one before it.  head never passes tail: an operation that finds them equal, with a node after them,
 * first advances tail.  So a node is retired only when neither names it.  enqueue swings next without reading it first:
 * a failing compare-and-swap is the read. */
#include "pgas/containers/node.h"

struct node {
	uint64_t next, value;
};

struct root {
	uint64_t head, tail; /* in this order: a reader reads head first */
};

#define HEAD offsetof(struct root, head)
#define TAIL offsetof(struct root, tail)

struct tw_queue {
	uint64_t root;
	node_token *token;
	unsigned nodes_pe;
};

static int queue_create(const struct tw_container_options *options, tw_gptr *root)
{
	unsigned pe = options ? options->pe + 1 : 1;
	uint64_t at = node_new(pe, sizeof(struct root)), node = node_new(pe, sizeof(struct node));

	if (!at || !node)
		return -ENOMEM;
	node_put(node, 0, &(struct node){0, 0}, sizeof(struct node));
	node_put(at, 0, &(struct root){node, node}, sizeof(struct root));
	node_quiet();
	*root = tw_gptr_of_raw(at);
	return 0;
}

static int queue_attach(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_queue **queue)
{
	struct tw_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	*q = (struct tw_queue){.root = root.raw, .token = token, .nodes_pe = options ? options->nodes_pe : 0};
	*queue = q;
	return 0;
}

static void queue_detach(struct tw_queue *q)
{
	free(q);
}

static int queue_push(struct tw_queue *q, uint64_t value)
{
	uint64_t node = node_new(q->nodes_pe, sizeof(struct node)), tail, next;

	if (!node)
		return -ENOMEM;
	node_put(node, 0, &(struct node){0, value}, sizeof(struct node));
	node_pin(q->token);
	tail = node_load(q->root, TAIL);
	while ((next = node_cas(tail, offsetof(struct node, next), 0, node))) {
		uint64_t seen = node_cas(q->root, TAIL, tail, next);

		tail = seen == tail ? next : seen;
	}
	node_cas(q->root, TAIL, tail, node);
	node_unpin(q->token);
	return 1;
}

/* tail is read after head, so it is not behind it. */
static struct root queue_ends(struct tw_queue *q)
{
	struct root r;

	if (NODE_ASCENDING) {
		node_get(q->root, 0, &r, sizeof(r));
	} else {
		r.head = node_load(q->root, HEAD);
		r.tail = node_load(q->root, TAIL);
	}
	return r;
}

static int queue_pop(struct tw_queue *q, uint64_t *value)
{
	struct root r;
	uint64_t next;
	int error = node_room(q->token);

	if (error)
		return error;
	node_pin(q->token);
	for (;;) {
		r = queue_ends(q);
		next = node_load(r.head, offsetof(struct node, next));
		if (!next)
			break; /* a dequeued node has a next, so this is still the head */
		if (r.tail == r.head)
			node_cas(q->root, TAIL, r.tail, next);
		*value = node_load(next, offsetof(struct node, value));
		if (node_cas(q->root, HEAD, r.head, next) == r.head)
			break;
	}
	if (next)
		node_retire(q->token, r.head);
	node_unpin(q->token);
	return next != 0;
}

static void queue_destroy(struct tw_queue *q)
{
	uint64_t next;

	for (uint64_t node = node_load(q->root, HEAD); node; node = next) {
		next = node_load(node, offsetof(struct node, next));
		node_delete(node);
	}
	node_delete(q->root);
	free(q);
}

const struct tw_queue_ops CONTAINER(michael_scott_queue) = {
    .name = NODE_LABEL("michael-scott-queue"),
    .help = "the queue of Michael and Scott: lock-free",
    .local = NODE_IS_LOCAL,
    .create = queue_create,
    .attach = queue_attach,
    .detach = queue_detach,
    .push = queue_push,
    .pop = queue_pop,
    .destroy = queue_destroy,
};
