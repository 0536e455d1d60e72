/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_queue.c - the queues of wait_queue.h: for each hash of an address a list of processors, in shared memory, under
 * a lock.
 *
 * Precise wake-ups. An entry names the object that its processor waits for. A wake takes out entries of its object
 * only, the oldest first. The processor sleeps at a flag of its own until the flag has the ticket of this wait.
 *
 * No lost wake-up. A waiter enters itself before it releases the caller's lock, and stays in the list until a wake or
 * its timeout takes it out, both under the queue's lock. A waiter that times out and finds itself taken out was woken:
 * its flag is raised, or soon will be.
 *
 * Woken processors are notified after the queue's lock is released. Their entries form a chain that stays unchanged
 * meanwhile, because its processors are not notified yet.
 * tests/models/wait.pml checks all of it. */
#include "sync/wait_queue.h"

#include "core/memory/stores.h"
#include "sync/sync.h"

#define WAIT_STORE(field, value) (tw_stores_add(&(field), sizeof(field)), (field) = (value))

struct wait_entry {
	_Alignas(64) const volatile void *object; /* NULL: in no list */
	uint64_t ticket;
	tw_flag_t flag;
	uint32_t next; /* processor + 1 */
};

struct tw_wait_queue {
	_Alignas(64) uint32_t first, last; /* processor + 1; 0: none */
	uint32_t index;
};

struct tw_wait_queues {
	tw_lock_t lock[TW_WAIT_QUEUES];
	struct tw_wait_queue queue[TW_WAIT_QUEUES];
	struct wait_entry entry[];
};

static struct tw_wait_queues *wait_queues;
/* Private copies: a lock's handle never changes, but its shared page does. */
static tw_lock_t wait_locks[TW_WAIT_QUEUES];
static tw_flag_t wait_flag;
static uint64_t wait_tickets;

size_t tw_wait_queues_bytes(const struct tw_proc *me)
{
	return sizeof(struct tw_wait_queues) + (size_t)me->nodes * me->locals * sizeof(struct wait_entry);
}

void tw_wait_queues_make(struct tw_wait_queues *queues)
{
	for (uint32_t i = 0; i < TW_WAIT_QUEUES; i++) {
		WAIT_STORE(queues->lock[i], tw_lock_create());
		WAIT_STORE(queues->queue[i].index, i);
	}
}

void tw_wait_queues_open(struct tw_wait_queues *queues)
{
	wait_queues = queues;
}

struct tw_wait_queue *tw_wait_queue_lock(const volatile void *object)
{
	uint32_t i = (uint32_t)(((uintptr_t)object / 8 * 0x9e3779b97f4a7c15u) >> 58);

	if (!wait_locks[i].id)
		wait_locks[i] = wait_queues->lock[i];
	tw_lock_acquire(wait_locks[i]);
	return &wait_queues->queue[i];
}

void tw_wait_queue_unlock(struct tw_wait_queue *queue)
{
	tw_lock_release(wait_locks[queue->index]);
}

uint64_t tw_wait_queue_join(struct tw_wait_queue *queue, const volatile void *object)
{
	struct wait_entry *e = &wait_queues->entry[tw_me->id];

	if (!wait_flag.id)
		wait_flag = tw_flag_create();
	WAIT_STORE(*e, ((struct wait_entry){object, ++wait_tickets, wait_flag, 0}));
	if (queue->last)
		WAIT_STORE(wait_queues->entry[queue->last - 1].next, (uint32_t)tw_me->id + 1);
	else
		WAIT_STORE(queue->first, (uint32_t)tw_me->id + 1);
	WAIT_STORE(queue->last, (uint32_t)tw_me->id + 1);
	return wait_tickets;
}

/* Take @processor's entry out of the list. @before: the entry before it; 0: none; both + 1. Returns the next entry. */
static uint32_t wait_take(struct tw_wait_queue *queue, uint32_t before, uint32_t processor)
{
	struct wait_entry *e = &wait_queues->entry[processor - 1];
	uint32_t next = e->next;

	WAIT_STORE(e->object, NULL);
	WAIT_STORE(e->next, 0);
	if (before)
		WAIT_STORE(wait_queues->entry[before - 1].next, next);
	else
		WAIT_STORE(queue->first, next);
	if (queue->last == processor)
		WAIT_STORE(queue->last, before);
	return next;
}

void tw_wait_queue_wake(struct tw_wait_queue *queue, const volatile void *object, unsigned most)
{
	uint32_t chain = 0, before = 0, next;
	uint32_t *end = &chain;

	for (uint32_t p = queue->first; p && most; p = next) {
		struct wait_entry *e = &wait_queues->entry[p - 1];

		next = e->next;
		if (e->object != object) {
			before = p;
			continue;
		}
		wait_take(queue, before, p);
		WAIT_STORE(*end, p);
		end = &e->next;
		most--;
	}
	tw_wait_queue_unlock(queue);
	for (uint32_t p = chain; p; p = next) {
		struct wait_entry e = wait_queues->entry[p - 1];

		next = e.next;
		tw_sync_flag_raise(tw_me, e.flag.id, e.ticket, p - 1);
	}
}

static bool wait_raised(void *ticket)
{
	return tw_flag_get(wait_flag) >= *(const uint64_t *)ticket;
}

/* On timeout: leave the list. Returns false when a wake was faster. */
static bool wait_leave(const volatile void *object)
{
	struct tw_wait_queue *queue = tw_wait_queue_lock(object);
	uint32_t me = (uint32_t)tw_me->id + 1, before = 0;
	bool waits = wait_queues->entry[me - 1].object;

	for (uint32_t p = waits ? queue->first : 0; p != me && p; p = wait_queues->entry[p - 1].next)
		before = p;
	if (waits)
		wait_take(queue, before, me);
	tw_wait_queue_unlock(queue);
	return waits;
}

bool tw_wait_queue_wait(const volatile void *object, uint64_t ticket, uint64_t until_ns)
{
	if (until_ns && !tw_wait_until(tw_me, wait_raised, &ticket, until_ns) && wait_leave(object))
		return false;
	tw_flag_wait(wait_flag, ticket);
	return true;
}
