/* SPDX-License-Identifier: BSD-3-Clause */
/* object.c - slots and handles.
 *
 * Creation takes a slot of the creating node's range: a recycled one from the node's free list, otherwise the next
 * unused one. The free list is a stack in the node's exported memory, so any processor that destroys an object returns
 * the slot by a compare-and-swap. The head carries a tag that every push and pop changes. So a pop that read the head
 * fails if the list was changed meanwhile, even when the same slot is on top again.
 *
 * Destruction. The generation is written to every node before the zeros, with a fence between. A processor that is
 * about to leave a wait whose condition was true sees either the old value or the new generation; both end its wait. */
#include "sync/object.h"

#include <string.h>

#define SYNC_SETTLE_NS 10000000000ull /* a copy that differs for so long is not just in flight */

size_t tw_sync_exported_bytes(const struct tw_config *config)
{
	size_t slots = config->nodes * sync_slots(config), array = sync_array_bytes(config->nodes);

	return 64 + config->processors * sizeof(struct sync_counts) + array +
	       slots * (sizeof(struct sync_line) + array);
}

size_t tw_sync_private_bytes(const struct tw_config *config)
{
	return sizeof(struct sync_private) + config->nodes * sync_slots(config) * sizeof(struct sync_local);
}

size_t sync_job_sentences(const struct tw_proc *me)
{
	return sync_at(me) + sizeof(uint64_t);
}

size_t sync_array(const struct tw_proc *me, const struct sync_object *o)
{
	size_t slots = me->nodes * sync_slots(&me->config);

	return sync_lines(me) + slots * sizeof(struct sync_line) + o->slot * sync_array_bytes(me->nodes);
}

static const char *sync_kind_name(unsigned kind)
{
	static const char *const name[] = {[SYNC_LOCK] = "lock", [SYNC_BARRIER] = "barrier", [SYNC_FLAG] = "flag"};

	return name[kind];
}

void sync_refuse(struct tw_proc *me, uint64_t id, enum sync_kind kind, const char *function)
{
	unsigned found = (unsigned)(id >> 60);

	if (id == 0)
		tw_fatal("%s: the handle is zero: this %s was never created", function, sync_kind_name(kind));
	if (found != kind && found >= SYNC_LOCK && found <= SYNC_FLAG)
		tw_fatal("%s: the handle is that of a %s, not of a %s", function, sync_kind_name(found),
		         sync_kind_name(kind));
	if (found != kind || (id >> 52 & 0xff) >= me->nodes || (id >> 28 & SYNC_INDEX_MASK) >= sync_slots(&me->config))
		tw_fatal("%s: %lx is not the handle of a %s", function, (unsigned long)id, sync_kind_name(kind));
	tw_fatal("%s: this %s was destroyed", function, sync_kind_name(kind));
}

uint32_t tw_sync_short(struct tw_proc *me, uint64_t id)
{
	return (uint32_t)((id >> 52 & 0xff) * sync_slots(&me->config) + (id >> 28 & SYNC_INDEX_MASK) + 1);
}

uint64_t tw_sync_whole(struct tw_proc *me, uint32_t number)
{
	uint64_t objects = sync_slots(&me->config), slot = number - 1u;

	if (slot >= me->nodes * objects)
		tw_fatal("%x is not the number of a lock", number);
	uint64_t home = slot < objects ? 0 : slot / objects;
	uint64_t id = (uint64_t)SYNC_LOCK << 60 | home << 52 | (slot - home * objects) << 28;
	return id | atomic_load_explicit(&sync_place(me, id).own->gen, memory_order_acquire);
}

tw_lock_t tw_sync_word_lock(const struct tw_proc *me, size_t offset)
{
	uint64_t hash = offset / 16 * 0x9e3779b97f4a7c15u;
	uint64_t home = (hash >> 32 & 0xffff) % me->nodes, index = me->config.sync_objects + (hash >> 58);

	return (tw_lock_t){(uint64_t)SYNC_LOCK << 60 | home << 52 | index << 28};
}

uint64_t sync_pop(struct tw_proc *me, size_t list)
{
	_Atomic uint64_t *head = sync_words(me, list);
	uint64_t seen = atomic_load_explicit(head, memory_order_acquire);

	while (seen & UINT32_MAX) {
		uint64_t slot = (uint64_t)me->node << 52 | ((seen & UINT32_MAX) - 1) << 28;
		uint64_t next = atomic_load_explicit(&sync_place(me, slot).own->next, memory_order_relaxed);
		uint64_t old = tw_net_cas(me->net, me->node, list, seen, ((seen >> 32) + 1) << 32 | next);

		if (old == seen)
			break;
		seen = old;
	}
	return seen & UINT32_MAX;
}

void sync_push(struct tw_proc *me, const struct sync_object *o, size_t list)
{
	uint64_t index = o->id >> 28 & SYNC_INDEX_MASK;
	uint64_t seen = tw_net_read64(me->net, o->home, list);

	for (;;) {
		tw_net_write64(me->net, o->home, SYNC_WORD(o, next), seen & UINT32_MAX);
		uint64_t old = tw_net_cas(me->net, o->home, list, seen, ((seen >> 32) + 1) << 32 | (index + 1));

		if (old == seen)
			return;
		seen = old;
	}
}

uint64_t sync_unused(struct tw_proc *me, uint64_t limit)
{
	_Atomic uint64_t *created = &sync_private(me)->created;
	uint64_t index = atomic_load_explicit(created, memory_order_relaxed);

	do {
		if (index >= limit)
			return 0;
	} while (!atomic_compare_exchange_weak(created, &index, index + 1));
	return index + 1;
}

void sync_full(struct tw_proc *me, const char *function)
{
	tw_fatal("%s: all %lu synchronization objects of node %u are in use: raise TWEED_SYNC_OBJECTS", function,
	         (unsigned long)me->config.sync_objects, me->node);
}

uint64_t sync_create(struct tw_proc *me, enum sync_kind kind, unsigned n, const char *function)
{
	uint64_t index = sync_pop(me, sync_at(me));

	if (!index && !(index = sync_unused(me, me->config.sync_objects)))
		sync_full(me, function);
	uint64_t id =
	    (uint64_t)kind << 60 | (uint64_t)me->node << 52 | (index - 1) << 28 | (uint64_t)n << SYNC_GEN_BITS;
	return id | atomic_load_explicit(&sync_place(me, id).own->gen, memory_order_acquire);
}

void sync_destroy(struct tw_proc *me, struct sync_object *o)
{
	uint64_t gen = (o->gen + 1) & SYNC_GEN_MASK;
	uint64_t words[offsetof(struct sync_line, next) / sizeof(uint64_t)] = {0};
	uint64_t array[TW_MAX_NODES] = {0};

	words[offsetof(struct sync_line, count) / sizeof(uint64_t)] = gen << 40;
	tw_net_broadcast64(me->net, SYNC_WORD(o, gen), gen);
	tw_net_fence(me->net, TW_NET_ALL);
	for (unsigned node = 0; node < me->nodes; node++) {
		tw_net_write(me->net, node, o->line, words, sizeof(words));
		tw_net_write(me->net, node, sync_array(me, o), array, me->nodes * sizeof(uint64_t));
	}
	tw_net_flush(me->net, TW_NET_ALL);
	sync_push(me, o, sync_at(me));
}

void sync_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	tw_release(me, kind, object);
	tw_net_flush(me->net, TW_NET_ALL);
}

void sync_notify(struct tw_proc *me, unsigned node)
{
	for (unsigned port = 0; port < me->locals; port++) {
		if (node != me->node || port != me->local)
			tw_net_notify(me->net, node, port);
	}
}

void sync_sleep(struct tw_proc *me, uint64_t ns)
{
	uint64_t t = tw_time_begin(me);

	me->net->ops->progress(me->net);
	me->net->ops->sleep(me->net, me->net->ops->bell(me->net), ns);
	tw_time_end(me, &me->stats->now.comm_wait_ns, t);
}

void sync_settle(struct tw_proc *me, size_t offset, const char *function)
{
	uint64_t until = 0;

	for (unsigned node = 0; node < me->nodes; node++) {
		while (tw_net_read64(me->net, node, offset) != *sync_words(me, offset)) {
			if (!until)
				until = tw_time_ns() + SYNC_SETTLE_NS;
			else if (tw_time_ns() > until)
				tw_fatal("%s: the object is still in use, node %u and node %u differ on it", function,
				         me->node, node);
			sync_sleep(me, 20000);
		}
	}
}
