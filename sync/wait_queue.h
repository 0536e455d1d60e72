/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_queue.h - queues where threads wait for changes of an object, found by the object's address as with a futex;
 * used by condition variables, semaphores and the like. A wake affects only waiters for its object.
 *
 * 	queue = tw_wait_queue_lock(object);
 * 	... check the object; if there is nothing to wait for, unlock ...
 * 	ticket = tw_wait_queue_join(queue, object);
 * 	tw_wait_queue_unlock(queue);
 * 	tw_wait_queue_wait(object, ticket, 0);
 *
 * A wake that locks the queue after the unlock ends the wait, if it is that entry's turn. Waits are acquires, wakes are
 * releases. Context: application, outside hooks; one thread of each processor at a time. A signal handler may wait
 * where it interrupts a wait, three deep: a fourth ends the job with a sentence. */
#ifndef TW_SYNC_WAIT_QUEUE_H
#define TW_SYNC_WAIT_QUEUE_H

#include "core/job/job.h"
#include "tweed/tweed.h"

#define TW_WAIT_QUEUES 64u
#define TW_WAKE_ALL    (~0u)

struct tw_wait_queues; /* in shared memory: all queues of the job */
struct tw_wait_queue;

/* tw_wait_queues_bytes - returns the bytes of zeroed shared memory that they need.
 * tw_wait_queues_make - called by one processor, before a barrier of all users.
 * tw_wait_queues_open - called by each user, once. */
size_t tw_wait_queues_bytes(const struct tw_proc *me);
void tw_wait_queues_make(struct tw_wait_queues *queues);
void tw_wait_queues_open(struct tw_wait_queues *queues);

/* tw_wait_queue_entry - returns entry @number for a thread, in one table because wakes write it; NULL: so many have
 * none there.
 * tw_wait_queue_thread - the calling thread's entry is @entry, from now on: one of those, or TW_WAIT_ENTRY bytes of
 * shared memory, aligned to 64; zero at first; later, as an earlier thread of the same processor left it. Without it, a
 * thread has its processor's entry. */
#define TW_WAIT_ENTRY 256u
void *tw_wait_queue_entry(unsigned number);
void tw_wait_queue_thread(void *entry);

/* tw_wait_queue_lock - lock the queue of @object, which other objects share. tw_wait_queue_unlock - unlock it. */
struct tw_wait_queue *tw_wait_queue_lock(const volatile void *object);
void tw_wait_queue_unlock(struct tw_wait_queue *queue);
/* tw_wait_queue_join - with the lock: enter this thread as waiting for @object. Returns the ticket. */
uint64_t tw_wait_queue_join(struct tw_wait_queue *queue, const volatile void *object);
/* tw_wait_queue_wait - without the lock: wait until a wake of @object after the join, or until @until_ns (as in
 * tw_wait_until; 0: no limit). Returns false on timeout, when no wake was for this wait. */
bool tw_wait_queue_wait(const volatile void *object, uint64_t ticket, uint64_t until_ns);
/* tw_wait_queue_wait_early - the same, but a signal's handler without SA_RESTART ends the wait, too: false. */
bool tw_wait_queue_wait_early(const volatile void *object, uint64_t ticket, uint64_t until_ns);
/* tw_wait_queue_wait_in - as tw_wait_queue_wait, after a join of @queue, which is that of another object. */
bool tw_wait_queue_wait_in(struct tw_wait_queue *queue, uint64_t ticket, uint64_t until_ns);
/* tw_wait_queue_wake - with the lock, which is released: wake the threads that have waited longest for @object, at
 * most @most. Returns how many. */
unsigned tw_wait_queue_wake(struct tw_wait_queue *queue, const volatile void *object, unsigned most);

/* tw_wait_queue_none - without the queue's lock. True: no thread waits for @object, and no wake is needed. False: one
 * may. Only for objects whose waiters join under a lock of the program: it sees those that had released it before the
 * caller took it last. No release, no acquire. */
bool tw_wait_queue_none(const volatile void *object);

/* tw_wait_queue_end - without a lock: end the wait of the thread with @entry, whatever it waits for.  A thread that
 * locks a queue later sees what the caller has stored before. */
void tw_wait_queue_end(const void *entry);

#endif
