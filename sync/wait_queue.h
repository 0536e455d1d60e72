/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_queue.h - where processors wait for what others will do to an object, found by the object's address, as at a futex: behind condition
 * variables, semaphores and the like.  A wake is for those that wait for its object, and for nobody else.
 *
 *	queue = tw_wait_queue_lock(object);
 *	... look at the object; if there is nothing to wait for, unlock ...
 *	ticket = tw_wait_queue_join(queue, object);
 *	tw_wait_queue_unlock(queue);
 *	tw_wait_queue_wait(object, ticket, 0);
 *
 * A wake that locks the queue after the unlock ends the wait, if it is that entry's turn.  Waits are acquires, wakes are releases.
 * Context: application, none of it inside hooks.  One thread of each processor. */
#ifndef TW_SYNC_WAIT_QUEUE_H
#define TW_SYNC_WAIT_QUEUE_H

#include "core/job/job.h"
#include "tweed/tweed.h"

#define TW_WAIT_QUEUES 64u
#define TW_WAKE_ALL    (~0u)

struct tw_wait_queues; /* in shared memory: all of the job's */
struct tw_wait_queue;

/* tw_wait_queues_bytes - of zeroed shared memory for them.  tw_wait_queues_make - by one processor, before a barrier of all that use them.
 * tw_wait_queues_open - by each, once. */
size_t tw_wait_queues_bytes(const struct tw_proc *me);
void tw_wait_queues_make(struct tw_wait_queues *queues);
void tw_wait_queues_open(struct tw_wait_queues *queues);

/* tw_wait_queue_lock - lock the queue of @object, which others share.  tw_wait_queue_unlock - unlock it. */
struct tw_wait_queue *tw_wait_queue_lock(const volatile void *object);
void tw_wait_queue_unlock(struct tw_wait_queue *queue);
/* tw_wait_queue_join - with the lock: this processor waits for @object from now on.  Returns the ticket. */
uint64_t tw_wait_queue_join(struct tw_wait_queue *queue, const volatile void *object);
/* tw_wait_queue_wait - without the lock, until a wake of @object that comes after the join; not beyond @until_ns (as of tw_wait_until; 0: no
 * limit).  False: the time is over, and no wake was for this wait. */
bool tw_wait_queue_wait(const volatile void *object, uint64_t ticket, uint64_t until_ns);
/* tw_wait_queue_wake - with the lock, which is released: wake those that wait for @object, the longest waiting first, at most @most. */
void tw_wait_queue_wake(struct tw_wait_queue *queue, const volatile void *object, unsigned most);

#endif
