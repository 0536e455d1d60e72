/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_queue.c - the queues of wait_queue.h: for each hash of an address a list of threads, in shared memory, under a
 * lock.
 *
 * Precise wake-ups. An entry names the object that its thread waits for. A wake takes out entries of its object only,
 * the oldest first. The thread sleeps at a flag of its own until the flag has the ticket of this wait.
 *
 * No lost wake-up. A waiter enters itself before it releases the caller's lock, and stays in the list until a wake or
 * its timeout takes it out, both under the queue's lock. A waiter that times out and finds itself taken out was woken:
 * its flag is raised, or soon will be.
 *
 * A count of the entries belongs to the queue's lock, in the transport's memory, so that a wake that would find none
 * takes no lock. It is for waits that begin under a lock of the program (condition variables): the waiter has counted
 * itself before it releases that lock, and the waker has had the lock since.
 *
 * A signal handler that interrupts a wait may wait, too. The thread has an entry for each level of such waits, because
 * that of the interrupted wait stays in its list, where a wake may take it out at any time. A handler that leaves the
 * wait by longjmp abandons its level: the next join finds that by the stack, whose frames grow downwards.
 *
 * Woken threads are notified after the queue's lock is released. Their entries form a chain that stays unchanged
 * meanwhile, because its threads are not notified yet.
 * tests/models/wait.pml checks all of it. */
#include "sync/wait_queue.h"

#include "core/memory/stores.h"
#include "sync/object.h"
#include "sync/sync.h"

#define WAIT_STACK               ((size_t)8 << 20) /* more than a stack has, as a rule */
#define WAIT_STORE(field, value) (tw_stores_add(&(field), sizeof(field)), (field) = (value))

struct wait_entry {
	_Alignas(64) const volatile void *object; /* NULL: in no list */
	uint64_t ticket;
	tw_flag_t flag;
	struct wait_entry *next;
	uint32_t processor;
};
#define WAIT_LEVELS 4u
struct wait_thread {
	struct wait_entry level[WAIT_LEVELS];
};
_Static_assert(sizeof(struct wait_thread) == TW_WAIT_ENTRY, "it fits");

struct tw_wait_queue {
	_Alignas(64) struct wait_entry *first, *last; /* NULL: none */
	uint32_t index;
};

struct tw_wait_queues {
	tw_lock_t lock[TW_WAIT_QUEUES];
	struct tw_wait_queue queue[TW_WAIT_QUEUES];
	struct wait_thread thread[]; /* of processors, and of threads */
};
#define WAIT_THREADS 4096u

static struct tw_wait_queues *wait_queues;
/* Private copies: a lock's handle never changes, but its shared page does. */
static tw_lock_t wait_locks[TW_WAIT_QUEUES];
/* This thread's: its entries, and private copies of what they have. */
static _Thread_local struct {
	struct wait_thread *thread;
	unsigned waiting; /* levels that wait */
	struct wait_own {
		tw_flag_t flag;
		uint64_t tickets;
		const char *frame; /* of the function that waits */
	} level[WAIT_LEVELS];
} wait_own;

size_t tw_wait_queues_bytes(const struct tw_proc *me)
{
	return sizeof(struct tw_wait_queues) +
	       ((size_t)me->nodes * me->locals + WAIT_THREADS) * sizeof(struct wait_thread);
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

static uint32_t wait_index(const volatile void *object)
{
	return (uint32_t)(((uintptr_t)object / 8 * 0x9e3779b97f4a7c15u) >> 58);
}

static tw_lock_t wait_lock_of(uint32_t i)
{
	if (!wait_locks[i].id)
		wait_locks[i] = wait_queues->lock[i];
	return wait_locks[i];
}

static struct tw_wait_queue *wait_lock(uint32_t i)
{
	tw_lock_acquire(wait_lock_of(i));
	return &wait_queues->queue[i];
}

bool tw_wait_queue_none(const volatile void *object)
{
	return tw_sync_count(tw_me, wait_lock_of(wait_index(object))) == 0;
}

struct tw_wait_queue *tw_wait_queue_lock(const volatile void *object)
{
	return wait_lock(wait_index(object));
}

void tw_wait_queue_unlock(struct tw_wait_queue *queue)
{
	tw_lock_release(wait_locks[queue->index]);
}

void *tw_wait_queue_entry(unsigned number)
{
	return number < WAIT_THREADS ? &wait_queues->thread[tw_me->nodes * tw_me->locals + number] : NULL;
}

void tw_wait_queue_thread(void *entry)
{
	wait_own.thread = entry;
	wait_own.waiting = 0;
	for (unsigned i = 0; i < WAIT_LEVELS; i++)
		wait_own.level[i] = (struct wait_own){.flag = wait_own.thread->level[i].flag,
		                                      .tickets = wait_own.thread->level[i].ticket};
}

uint64_t tw_wait_queue_join(struct tw_wait_queue *queue, const volatile void *object)
{
	const char *frame = __builtin_frame_address(0);

	if (!wait_own.thread)
		wait_own.thread = &wait_queues->thread[tw_me->id];
	while (wait_own.waiting && (size_t)(frame - wait_own.level[wait_own.waiting - 1].frame) < WAIT_STACK)
		wait_own.waiting--;
	if (wait_own.waiting == WAIT_LEVELS)
		tw_fatal("signal handlers that interrupt waits wait themselves, more than %u deep", WAIT_LEVELS - 1);
	struct wait_own *own = &wait_own.level[wait_own.waiting];
	if (!own->flag.id)
		own->flag = tw_flag_create();
	struct wait_entry *e = &wait_own.thread->level[wait_own.waiting];
	WAIT_STORE(*e, ((struct wait_entry){object, ++own->tickets, own->flag, NULL, (uint32_t)tw_me->id}));
	if (queue->last)
		WAIT_STORE(queue->last->next, e);
	else
		WAIT_STORE(queue->first, e);
	WAIT_STORE(queue->last, e);
	tw_sync_count_add(tw_me, wait_locks[queue->index], 1);
	return own->tickets;
}

/* Take @e out of the list. @before: the entry before it; NULL: none. Returns the next entry. */
static struct wait_entry *wait_take(struct tw_wait_queue *queue, struct wait_entry *before, struct wait_entry *e)
{
	struct wait_entry *next = e->next;

	WAIT_STORE(e->object, NULL);
	WAIT_STORE(e->next, NULL);
	if (before)
		WAIT_STORE(before->next, next);
	else
		WAIT_STORE(queue->first, next);
	if (queue->last == e)
		WAIT_STORE(queue->last, before);
	tw_sync_count_add(tw_me, wait_locks[queue->index], -1);
	return next;
}

unsigned tw_wait_queue_wake(struct tw_wait_queue *queue, const volatile void *object, unsigned most)
{
	struct wait_entry *chain = NULL, *before = NULL, *next;
	struct wait_entry **end = &chain;
	unsigned woken = 0;

	for (struct wait_entry *e = queue->first; e && most; e = next) {
		next = e->next;
		if (e->object != object) {
			before = e;
			continue;
		}
		wait_take(queue, before, e);
		WAIT_STORE(*end, e);
		end = &e->next;
		most--;
		woken++;
	}
	tw_wait_queue_unlock(queue);
	for (struct wait_entry *p = chain; p; p = next) {
		struct wait_entry e = *p;

		next = e.next;
		tw_sync_flag_raise(tw_me, e.flag.id, e.ticket, e.processor);
	}
	return woken;
}

void tw_wait_queue_end(const void *entry)
{
	const struct wait_thread *thread = entry;
	struct wait_entry found[WAIT_LEVELS], *next;
	unsigned n = 0;

	for (uint32_t i = 0; i < TW_WAIT_QUEUES && n < WAIT_LEVELS; i++) {
		struct tw_wait_queue *queue = wait_lock(i);
		for (struct wait_entry *before = NULL, *e = queue->first; e && n < WAIT_LEVELS; e = next) {
			next = e->next;
			if (e < thread->level || e >= thread->level + WAIT_LEVELS) {
				before = e;
				continue;
			}
			found[n++] = *e;
			wait_take(queue, before, e);
		}
		tw_wait_queue_unlock(queue);
	}
	while (n--)
		tw_sync_flag_raise(tw_me, found[n].flag.id, found[n].ticket, found[n].processor);
}

struct wait_raise {
	tw_flag_t flag;
	uint64_t ticket;
};

static bool wait_raised(void *arg)
{
	const struct wait_raise *w = arg;
	return tw_flag_get(w->flag) >= w->ticket;
}

/* A wait without limit is visible to the agent, which may find that all processors wait. */
static bool wait_until(tw_flag_t flag, uint64_t ticket, uint64_t until_ns)
{
	struct wait_raise wait = {flag, ticket};

	if (!until_ns)
		return sync_wait_until(tw_me, TW_WAIT_FLAG, flag.id, ticket, wait_raised, &wait, 0);
	if (tw_sync_threads && tw_sync_threads->switches(TW_WAIT_FLAG))
		return tw_sync_threads->wait(wait_raised, &wait, until_ns);
	return tw_wait_until(tw_me, wait_raised, &wait, until_ns);
}

/* On timeout: @own leaves the list. Returns false when a wake was faster. */
static bool wait_leave(uint32_t index, struct wait_entry *own)
{
	struct tw_wait_queue *queue = wait_lock(index);
	struct wait_entry *before = NULL;
	bool waits = own->object;

	for (struct wait_entry *e = waits ? queue->first : NULL; e != own && e; e = e->next)
		before = e;
	if (waits)
		wait_take(queue, before, own);
	tw_wait_queue_unlock(queue);
	return waits;
}

static bool wait_in(uint32_t index, uint64_t ticket, uint64_t until_ns, bool early)
{
	unsigned level = wait_own.waiting;
	struct wait_own *own = &wait_own.level[level];

	own->frame = __builtin_frame_address(0);
	wait_own.waiting = level + 1;
	bool ends = early || until_ns;
	tw_sync_ends_early = early;
	bool woken =
	    !ends || wait_until(own->flag, ticket, until_ns) || !wait_leave(index, &wait_own.thread->level[level]);
	tw_sync_ends_early = false;
	if (woken)
		tw_flag_wait(own->flag, ticket);
	wait_own.waiting = level;
	return woken;
}

bool tw_wait_queue_wait(const volatile void *object, uint64_t ticket, uint64_t until_ns)
{
	return wait_in(wait_index(object), ticket, until_ns, false);
}

bool tw_wait_queue_wait_early(const volatile void *object, uint64_t ticket, uint64_t until_ns)
{
	return wait_in(wait_index(object), ticket, until_ns, true);
}

bool tw_wait_queue_wait_in(struct tw_wait_queue *queue, uint64_t ticket, uint64_t until_ns)
{
	return wait_in((uint32_t)(queue - wait_queues->queue), ticket, until_ns, false);
}
