/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c - a bounded queue of tickets.
 *
 * push takes a ticket by a fetch-and-add on tail and fills the ticket's slot, and waits for neither.  pop reads the
 * slot of the first ticket and takes it by a compare-and-swap on head.  A slot is two words, each with half of the
 * value and the slot's round.  So a reader can decide without ordering whether it is complete.
 *
 *     round of ticket t     t / size
 *     empty, for round r    2r in both words' upper halves
 *     filled, in round r    2r + 1
 *
 * push must know that its slot is empty: it remembers below which ticket all are, and reads slots again when it
 * approaches that.  A PE that stops between ticket and slot blocks pops; one that stops after head blocks the pushes of
 * the next round.  Where that matters, use the queue of Michael and Scott.  Rounds have 31 bits: a PE that stops inside
 * an operation must not resume after 2^31 of them. */
#include "pgas/containers/node.h"

#define SCAN_SLOTS 128u

struct slot {
	uint64_t low, high;
};

struct root {
	uint64_t head; /* before tail: a reader reads it first */
	uint64_t room[7];
	uint64_t tail;
	uint64_t room2[7];
	uint64_t slots, size;
};

#define HEAD offsetof(struct root, head)
#define TAIL offsetof(struct root, tail)

struct tw_queue {
	uint64_t root, slots, size;
	uint64_t empty;      /* the slots of all lower tickets are empty, or were when their round began */
	uint64_t tail, head; /* when last read */
};

static int ring_create(const struct tw_container_options *options, tw_gptr *root)
{
	uint64_t size = options && options->keys ? options->keys : 4096;
	unsigned pe = options ? options->pe + 1 : 1;
	struct slot none[SCAN_SLOTS] = {{0, 0}};
	struct root r = {.size = TW_ALIGN_UP(size, SCAN_SLOTS)};
	uint64_t at = node_new(pe, sizeof(r));

	r.slots = node_new(pe, r.size * sizeof(struct slot));
	if (!at || !r.slots)
		return -ENOMEM;
	for (uint64_t i = 0; i < r.size; i += SCAN_SLOTS)
		node_put(r.slots, i * sizeof(struct slot), none, sizeof(none));
	node_put(at, 0, &r, sizeof(r));
	node_quiet();
	*root = tw_gptr_of_raw(at);
	return 0;
}

static int ring_attach(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_queue **queue)
{
	struct tw_queue *q;
	struct root r;

	(void)options;
	(void)token;
	if (node_may_die()) {
		tw_log("ring-queue: a PE that dies between its ticket and the slot would hold up the others for ever; "
		       "take "
		       "michael-scott-queue in jobs with --survive");
		return -ENOTSUP;
	}
	if (!(q = calloc(1, sizeof(*q))))
		return -ENOMEM;
	node_get(root.raw, 0, &r, sizeof(r));
	*q = (struct tw_queue){root.raw, r.slots, r.size, 0, r.tail, r.head};
	*queue = q;
	return 0;
}

static void ring_detach(struct tw_queue *q)
{
	node_quiet();
	free(q);
}

static uint64_t ring_round(const struct tw_queue *q, uint64_t ticket)
{
	return 2 * (ticket / q->size);
}

static size_t ring_at(const struct tw_queue *q, uint64_t ticket)
{
	return ticket % q->size * sizeof(struct slot);
}

/* Is the slot in this state, in both its words? */
static bool ring_is(struct slot slot, uint64_t state)
{
	return slot.low >> 32 == (uint32_t)state && slot.high >> 32 == (uint32_t)state;
}

static struct slot ring_slot(uint64_t state, uint64_t value)
{
	return (struct slot){state << 32 | (uint32_t)value, state << 32 | value >> 32};
}

/* Find out how far slots are empty. */
static void ring_scan(struct tw_queue *q)
{
	struct slot slot[SCAN_SLOTS];
	uint64_t end = q->empty + q->size;

	while (q->empty < end) {
		unsigned n = SCAN_SLOTS - q->empty % SCAN_SLOTS, i;

		node_get(q->slots, ring_at(q, q->empty), slot, n * sizeof(slot[0]));
		for (i = 0; i < n && ring_is(slot[i], ring_round(q, q->empty)); i++)
			q->empty++;
		if (i < n)
			break;
	}
}

static int ring_push(struct tw_queue *q, uint64_t value)
{
	unsigned round = 0;

	if (q->tail >= q->empty) {
		q->tail = node_load(q->root, TAIL);
		q->empty = TW_MAX(q->empty, q->tail);
		ring_scan(q);
		if (q->tail >= q->empty)
			return 0;
	}
	uint64_t ticket = node_fetch_add(q->root, TAIL, 1);
	q->tail = ticket + 1;
	/* Other PEs took tickets meanwhile, and the ring is nearly full. */
	while (ticket >= q->empty) {
		struct slot slot;

		node_get(q->slots, ring_at(q, ticket), &slot, sizeof(slot));
		if (ring_is(slot, ring_round(q, ticket)))
			break;
		node_nap(&round);
	}
	struct slot filled = ring_slot(ring_round(q, ticket) + 1, value);
	node_put(q->slots, ring_at(q, ticket), &filled, sizeof(filled));
	node_push();
	return 1;
}

/* Read head, and whether an untaken ticket exists.  head is read first: if there is none, the ring was empty then. */
static bool ring_ends(struct tw_queue *q)
{
	struct root r;

	if (NODE_ASCENDING) {
		node_get(q->root, 0, &r, offsetof(struct root, tail) + sizeof(r.tail));
	} else {
		r.head = node_load(q->root, HEAD);
		r.tail = node_load(q->root, TAIL);
	}
	bool moved = q->head != r.head;
	q->head = r.head;
	return moved || r.tail > r.head;
}

static int ring_pop(struct tw_queue *q, uint64_t *value)
{
	unsigned round = 0;
	struct slot slot;

	for (;;) {
		uint64_t ticket = q->head, state = ring_round(q, ticket);

		node_get(q->slots, ring_at(q, ticket), &slot, sizeof(slot));
		if (ring_is(slot, state + 1)) {
			q->head = node_cas(q->root, HEAD, ticket, ticket + 1);
			if (q->head == ticket) {
				q->head++;
				break;
			}
		} else if (!ring_ends(q)) {
			return 0;
		} else if (q->head == ticket) {
			node_nap(&round); /* the ticket's owner is about to fill it */
		}
	}
	*value = (uint32_t)slot.low | slot.high << 32;
	slot = ring_slot(ring_round(q, q->head - 1) + 2, 0);
	node_put(q->slots, ring_at(q, q->head - 1), &slot, sizeof(slot));
	node_push();
	return 1;
}

static void ring_destroy(struct tw_queue *q)
{
	node_delete(q->slots);
	node_delete(q->root);
	free(q);
}

const struct tw_queue_ops CONTAINER(ring_queue) = {
    .name = NODE_LABEL("ring-queue"),
    .help = "a bounded ring of tickets: one fetch-and-add to push",
    .local = NODE_IS_LOCAL,
    .create = ring_create,
    .attach = ring_attach,
    .detach = ring_detach,
    .push = ring_push,
    .pop = ring_pop,
    .destroy = ring_destroy,
};
