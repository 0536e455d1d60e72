/* SPDX-License-Identifier: BSD-3-Clause */
/* stack.c - Treiber's stack.
 *
 * push guesses the top: it links the new node to the top that it last saw.  A compare-and-swap that succeeds proves the
 * guess right, also if the top was removed and restored meanwhile.  pop follows the top, so it reads it anew, pinned: a
 * node that it found cannot be reused meanwhile, so equal means unchanged. */
#include "pgas/containers/node.h"

struct node {
	uint64_t next, value;
};

struct tw_queue {
	uint64_t root; /* struct node whose next is the top */
	uint64_t guess;
	node_token *token;
	unsigned nodes_pe;
};

static int stack_create(const struct tw_container_options *options, tw_gptr *root)
{
	return node_create(options, &(struct node){0, 0}, sizeof(struct node), root);
}

static int stack_attach(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_queue **stack)
{
	struct tw_queue *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct tw_queue){.root = root.raw, .token = token, .nodes_pe = options ? options->nodes_pe : 0};
	*stack = s;
	return 0;
}

static void stack_detach(struct tw_queue *s)
{
	free(s);
}

static int stack_push(struct tw_queue *s, uint64_t value)
{
	struct node n = {s->guess, value};
	uint64_t node = node_new(s->nodes_pe, sizeof(n)), seen;

	if (!node)
		return -ENOMEM;
	node_pin(s->token);
	for (;;) {
		node_put(node, 0, &n, sizeof(n));
		seen = node_cas(s->root, offsetof(struct node, next), n.next, node);
		if (seen == n.next)
			break;
		n.next = seen;
	}
	s->guess = node;
	node_unpin(s->token);
	return 1;
}

static int stack_pop(struct tw_queue *s, uint64_t *value)
{
	struct node n;
	uint64_t top, seen;
	int error = node_room(s->token);

	if (error)
		return error;
	node_pin(s->token);
	for (top = node_load(s->root, offsetof(struct node, next)); top; top = seen) {
		node_get(top, 0, &n, sizeof(n));
		seen = node_cas(s->root, offsetof(struct node, next), top, n.next);
		if (seen == top)
			break;
	}
	s->guess = top ? n.next : 0;
	if (top) {
		*value = n.value;
		node_retire(s->token, top);
	}
	node_unpin(s->token);
	return top != 0;
}

static void stack_destroy(struct tw_queue *s)
{
	struct node n;

	for (uint64_t node = s->root; node; node = n.next) {
		node_get(node, 0, &n, sizeof(n));
		node_delete(node);
	}
	free(s);
}

const struct tw_queue_ops CONTAINER(treiber_stack) = {
    .name = NODE_LABEL("treiber-stack"),
    .help = "Treiber's stack: lock-free",
    .local = NODE_IS_LOCAL,
    .lifo = true,
    .create = stack_create,
    .attach = stack_attach,
    .detach = stack_detach,
    .push = stack_push,
    .pop = stack_pop,
    .destroy = stack_destroy,
};
