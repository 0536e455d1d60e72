/* SPDX-License-Identifier: BSD-3-Clause */
#include "linear.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGS_MOST ((size_t)1 << 20)

/* What the object may hold, and which operations under way have taken effect: bits of processes. */
struct config {
	uint64_t done;
	uint32_t n;
	uint64_t item[LINEAR_ITEMS]; /* of a map's key: its value */
};

struct set {
	struct config *config;
	size_t n, room;
	uint32_t *hash; /* index + 1, or 0 */
	size_t hash_room;
};

static char sentence[400];

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "no memory to check a history\n");
		exit(2);
	}
	return p;
}

static uint64_t config_hash(const struct config *c)
{
	uint64_t h = c->done * 0x9e3779b97f4a7c15u + c->n;

	for (uint32_t i = 0; i < c->n; i++)
		h = (h ^ c->item[i]) * 0xbf58476d1ce4e5b9u, h ^= h >> 29;
	return h ^ h >> 32;
}

static bool config_same(const struct config *a, const struct config *b)
{
	return a->done == b->done && a->n == b->n && memcmp(a->item, b->item, a->n * sizeof(a->item[0])) == 0;
}

static void set_clear(struct set *s)
{
	s->n = 0;
	if (s->hash)
		memset(s->hash, 0, s->hash_room * sizeof(s->hash[0]));
}

static void set_add(struct set *s, const struct config *c);

static void set_grow(struct set *s)
{
	size_t n = s->n;

	s->room = s->room ? 2 * s->room : 64;
	s->config = need(realloc(s->config, s->room * sizeof(s->config[0])));
	free(s->hash);
	s->hash_room = 4 * s->room;
	s->hash = need(calloc(s->hash_room, sizeof(s->hash[0])));
	s->n = 0;
	for (size_t i = 0; i < n; i++)
		set_add(s, &s->config[i]);
}

static void set_add(struct set *s, const struct config *c)
{
	size_t at;

	if (s->n == s->room) {
		struct config kept = *c; /* it may be one of the set's */
		set_grow(s);
		set_add(s, &kept);
		return;
	}
	for (at = config_hash(c) % s->hash_room; s->hash[at]; at = (at + 1) % s->hash_room)
		if (config_same(&s->config[s->hash[at] - 1], c))
			return;
	s->config[s->n] = *c;
	s->hash[at] = (uint32_t)++s->n;
}

/* @op takes effect; false: not with that result. */
static bool apply(enum linear_object object, const struct linear_op *op, struct config *c)
{
	bool any = op->result == LINEAR_UNKNOWN, has = c->n > 0;

	switch (op->kind) {
	case LINEAR_GET:
		return any || (has == op->result && (!has || c->item[0] == op->value));
	case LINEAR_INSERT:
		if (!has) {
			c->n = 1;
			c->item[0] = op->value;
		}
		return any || has != op->result;
	case LINEAR_REMOVE:
		c->n = 0;
		return any || (has == op->result && (!has || c->item[0] == op->value));
	case LINEAR_PUSH:
		if (op->result == 0)
			return true; /* full: the specification leaves it open when */
		if (c->n == LINEAR_ITEMS)
			return false;
		c->item[c->n++] = op->value;
		return true;
	default:
		if (!has)
			return any || !op->result;
		if (!any && (!op->result || c->item[object == LINEAR_STACK ? c->n - 1 : 0] != op->value))
			return false;
		if (object == LINEAR_QUEUE)
			memmove(c->item, c->item + 1, (c->n - 1) * sizeof(c->item[0]));
		c->n--;
		return true;
	}
}

/* Of @from, with what may take effect before and with the operation of @process, into @to. */
static bool pass(enum linear_object object, struct set *from, struct set *to, const struct linear_op *const *running,
                 unsigned process)
{
	uint64_t bit = UINT64_C(1) << process;

	set_clear(to);
	for (size_t i = 0; i < from->n; i++) {
		if (from->config[i].done & bit) {
			struct config c = from->config[i];
			c.done &= ~bit;
			set_add(to, &c);
			continue;
		}
		for (unsigned p = 0; p < LINEAR_PROCESSES; p++) {
			struct config c = from->config[i];
			if (!running[p] || (c.done >> p & 1) || !apply(object, running[p], &c))
				continue;
			c.done |= UINT64_C(1) << p;
			set_add(from, &c);
		}
		if (from->n > CONFIGS_MOST)
			return false;
	}
	return true;
}

struct event {
	uint64_t ns;
	const struct linear_op *op;
	bool end;
};

/* At equal times calls come first: what may overlap, does. */
static int event_order(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->end - b->end;
}

static const char *refuse(const struct linear_op *op, const char *why)
{
	static const char *const kind[] = {"get", "insert", "remove", "push", "pop"};

	snprintf(sentence, sizeof(sentence),
	         "%s of process %u from %llu to %llu ns, key %llu, value %llu, result %d: %s", kind[op->kind],
	         op->process, (unsigned long long)op->call_ns, (unsigned long long)op->return_ns,
	         (unsigned long long)op->key, (unsigned long long)op->value, op->result, why);
	return sentence;
}

static const char *check_one(enum linear_object object, const struct linear_op *op, size_t n)
{
	static struct set now, next;
	const struct linear_op *running[LINEAR_PROCESSES] = {NULL};
	struct event *event = need(malloc((2 * n + 1) * sizeof(event[0])));
	const char *wrong = NULL;
	size_t events = 0;

	for (size_t i = 0; i < n; i++) {
		event[events++] = (struct event){op[i].call_ns, &op[i], false};
		if (op[i].result != LINEAR_UNKNOWN)
			event[events++] = (struct event){op[i].return_ns, &op[i], true};
	}
	qsort(event, events, sizeof(event[0]), event_order);
	set_clear(&now);
	set_add(&now, &(struct config){0});
	for (size_t i = 0; i < events && !wrong; i++) {
		unsigned p = event[i].op->process;
		if (!event[i].end) {
			if (p >= LINEAR_PROCESSES || running[p])
				wrong =
				    refuse(event[i].op, "the process has another operation under way, or is unknown");
			else
				running[p] = event[i].op;
			continue;
		}
		if (!pass(object, &now, &next, running, p))
			wrong = refuse(event[i].op, "too many possibilities to check");
		else if (next.n == 0)
			wrong = refuse(event[i].op, "no order of the operations explains it");
		running[p] = NULL;
		struct set swap = now;
		now = next;
		next = swap;
	}
	free(event);
	return wrong;
}

static int key_order(const void *left, const void *right)
{
	const struct linear_op *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->call_ns < b->call_ns ? -1 : a->call_ns > b->call_ns;
}

const char *linear_check(enum linear_object object, struct linear_op *op, size_t n)
{
	const char *wrong = NULL;

	if (object != LINEAR_MAP)
		return check_one(object, op, n);
	qsort(op, n, sizeof(op[0]), key_order);
	for (size_t first = 0, end; first < n && !wrong; first = end) {
		for (end = first; end < n && op[end].key == op[first].key; end++)
			;
		wrong = check_one(object, op + first, end - first);
	}
	return wrong;
}
