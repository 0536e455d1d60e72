/* SPDX-License-Identifier: BSD-3-Clause */
/* queue.c - the queues of a node's processors, and waiting.
 *
 * Each processor appends its tasks to its own queue and takes them from the end: the youngest, whose data are in its
 * cache. Other processors take the oldest, which usually have the most work.
 *
 * No lost wake-up. A waiting processor enters itself into the node's mask, then searches the queues, then sleeps on its
 * bell. A processor that puts a task into a queue reads the mask afterwards (all sequentially consistent). A waiting
 * processor is rung once, until it searches again. */
#include <string.h>

#include "runtime/openmp/reserve.h"
#include "runtime/openmp/task.h"
#include "runtime/threads/baton.h"

struct queue {
	_Alignas(64) struct tw_mutex lock;
	uint32_t first, last; /* numbers */
	_Atomic uint32_t length;
	_Atomic uint32_t puts;     /* tasks ever put */
	_Atomic uint32_t returned; /* records returned by other processors, a list by next */
};

/* The node's state. */
struct queue_node {
	_Alignas(64) _Atomic uint64_t idle; /* local processors that wait at a barrier for tasks, one bit each */
	_Atomic uint64_t waiting;           /* the same for those that wait in a task */
	uint64_t object;                    /* a lock's handle, for releases and acquires */
	_Alignas(64) _Atomic uint32_t unfinished;
	_Atomic uint32_t events; /* unfinished tasks with an event */
	_Alignas(64) _Atomic uint32_t arrived;
	_Atomic uint32_t round; /* barriers completed */
	struct queue queue[TW_MAX_PROCESSORS];
};

static uint32_t queue_free;  /* this processor's free records, a list */
static uint32_t queue_fresh; /* records ever used */
static uint32_t queue_peers; /* processors whose tasks the waiting thread executes; others test its condition */

static struct queue_node *queue_node(void)
{
	return (struct queue_node *)(void *)(tw_me->private_mem + tw_me->layout.reserved_private[TW_RESERVED_THREADS]);
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

struct omp_task *omp_task_at(uint32_t number)
{
	struct omp_task *all = (struct omp_task *)(void *)(queue_node() + 1);

	return number ? &all[number - 1] : NULL;
}

_Static_assert(sizeof(struct queue_node) <= OMP_NODE_BYTES, "room in the layout");
_Static_assert(OMP_TASKS * sizeof(struct omp_task) <= OMP_PROCESSOR_BYTES, "room in the layout");

static struct omp_task *queue_record(void)
{
	if (!queue_free)
		queue_free = atomic_exchange(&queue_node()->queue[tw_me->local].returned, 0);
	struct omp_task *t = omp_task_at(queue_free);
	if (t) {
		queue_free = t->next;
	} else if (queue_fresh < OMP_TASKS) {
		t = omp_task_at(tw_me->local * OMP_TASKS + ++queue_fresh);
		t->number = tw_me->local * OMP_TASKS + queue_fresh;
	}
	return t;
}

static void queue_return(struct omp_task *t)
{
	uint32_t owner = (t->number - 1) / OMP_TASKS;
	_Atomic uint32_t *list = &queue_node()->queue[owner].returned;

	if (owner == tw_me->local) {
		t->next = queue_free;
		queue_free = t->number;
		return;
	}
	uint32_t head = atomic_load(list);
	do
		t->next = head;
	while (!atomic_compare_exchange_weak(list, &head, t->number));
}

struct omp_task *omp_task_new(struct omp_task *parent, size_t bytes)
{
	struct omp_task *t = queue_record();

	if (!t)
		return NULL;
	if (bytes > t->room) {
		tw_free(t->buffer);
		t->buffer = tw_malloc(TW_MAX(bytes, (size_t)128));
		t->room = t->buffer ? TW_MAX(bytes, (size_t)128) : 0;
		if (!t->buffer) {
			queue_return(t);
			return NULL;
		}
	}
	t->parent = parent ? parent->number : 0;
	t->group = 0;
	t->maker = t->runner = tw_me->local;
	t->references = 1;
	t->unfinished = 0;
	t->awaited = 0;
	t->away = false;
	t->depends = 0;
	if (parent)
		atomic_fetch_add(&parent->references, 1);
	return t;
}

void omp_task_unref(struct omp_task *t)
{
	while (t && atomic_fetch_sub(&t->references, 1) == 1) {
		struct omp_task *parent = omp_task_at(t->parent);
		queue_return(t);
		t = parent;
	}
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

void omp_task_publish(void)
{
	if (!th_far)
		return;
	tw_release(tw_me, TW_SYNC_LOCK, queue_node()->object);
	tw_net_flush(tw_me->net, TW_NET_ALL);
}

void omp_task_learn(void)
{
	if (th_far)
		tw_acquire(tw_me, TW_SYNC_LOCK, queue_node()->object);
}

/* ---- queues ----------------------------------------------------------------------------------------------------- */

bool omp_task_full(void)
{
	struct queue_node *node = queue_node();
	uint32_t length = atomic_load_explicit(&node->queue[tw_me->local].length, memory_order_relaxed);

	if (length < OMP_QUEUED)
		return false;
	return length >= OMP_QUEUED * omp_team->peers || !(atomic_load_explicit(&node->idle, memory_order_relaxed) |
	                                                   atomic_load_explicit(&node->waiting, memory_order_relaxed));
}

void omp_task_wake(uint32_t local)
{
	if (local != tw_me->local)
		tw_net_notify(tw_me->net, tw_me->node, local);
}

/* Wake one processor that takes any task, or else all that may take this one. */
static void queue_ring(struct queue_node *node)
{
	uint64_t idle = atomic_load(&node->idle), waiting;

	while (idle) {
		uint64_t one = idle & -idle;
		if (atomic_fetch_and(&node->idle, ~one) & one) {
			omp_task_wake((uint32_t)__builtin_ctzll(one));
			return;
		}
		idle = atomic_load(&node->idle);
	}
	if (!atomic_load(&node->waiting))
		return;
	for (waiting = atomic_exchange(&node->waiting, 0); waiting; waiting &= waiting - 1)
		omp_task_wake((uint32_t)__builtin_ctzll(waiting));
}

void omp_task_put(struct omp_task *t)
{
	struct queue_node *node = queue_node();
	struct queue *q = &node->queue[tw_me->local];

	tw_mutex_lock(&q->lock);
	t->next = 0;
	t->before = q->last;
	if (q->last)
		omp_task_at(q->last)->next = t->number;
	else
		q->first = t->number;
	q->last = t->number;
	atomic_store_explicit(&q->length, q->length + 1, memory_order_relaxed);
	tw_mutex_unlock(&q->lock);
	atomic_fetch_add(&q->puts, 1);
	queue_ring(node);
}

/* Called with the queue locked. */
static void queue_remove(struct queue *q, struct omp_task *t)
{
	if (t->before)
		omp_task_at(t->before)->next = t->next;
	else
		q->first = t->next;
	if (t->next)
		omp_task_at(t->next)->before = t->before;
	else
		q->last = t->before;
	atomic_store_explicit(&q->length, q->length - 1, memory_order_relaxed);
}

static bool queue_descends(const struct omp_task *t, const struct omp_task *above)
{
	if (!above)
		return true;
	while (t->parent && t->parent != above->number)
		t = omp_task_at(t->parent);
	return t->parent;
}

static struct omp_task *queue_take(struct queue *q, bool own, const struct omp_task *above)
{
	struct omp_task *t;

	if (!atomic_load_explicit(&q->length, memory_order_relaxed))
		return NULL;
	tw_mutex_lock(&q->lock);
	t = omp_task_at(own ? q->last : q->first);
	while (t && !queue_descends(t, above))
		t = omp_task_at(own ? t->before : t->next);
	if (t)
		queue_remove(q, t);
	tw_mutex_unlock(&q->lock);
	return t;
}

static struct omp_task *queue_find(struct queue_node *node, const struct omp_task *above)
{
	struct omp_task *t = queue_take(&node->queue[tw_me->local], true, above);

	for (unsigned k = 1; !t && k < queue_peers; k++)
		t = queue_take(&node->queue[(tw_me->local + k) % queue_peers], false, above);
	return t;
}

/* ---- carrying out ----------------------------------------------------------------------------------------------- */

/* Decrement what @t's runner waits for. @t may be gone afterwards. */
static void task_count_down(struct omp_task *t)
{
	uint32_t runner = t->runner;

	if (runner != tw_me->local)
		atomic_store(&t->away, true);
	if (atomic_fetch_sub(&t->unfinished, 1) == 1)
		omp_task_wake(runner);
}

static void task_end(struct omp_task *t)
{
	struct omp_task *group = omp_task_at(t->group);

	if (t->maker != tw_me->local || t->depends || (group && group->runner != tw_me->local))
		omp_task_publish();
	if (t->depends)
		omp_depend_end(t);
	task_count_down(omp_task_at(t->parent));
	if (group)
		task_count_down(group);
	atomic_fetch_sub(&queue_node()->unfinished, 1);
	omp_task_unref(t);
}

/* Those that wait for it cannot know where it will end, so they acquire in any case. */
static void task_end_late(struct omp_task *t)
{
	struct omp_task *group = omp_task_at(t->group);

	atomic_store(&omp_task_at(t->parent)->away, true);
	if (group)
		atomic_store(&group->away, true);
	task_end(t);
	atomic_fetch_sub(&queue_node()->events, 1);
	for (uint32_t k = 0; k < tw_me->locals; k++)
		omp_task_wake(k); /* those that wait at a barrier, or for events */
}

void omp_task_returned(struct omp_task *t)
{
	if (!atomic_load(&t->awaited)) {
		task_end(t);
		return;
	}
	omp_task_publish();
	if (atomic_fetch_sub(&t->awaited, 1) == 1)
		task_end_late(t);
}

void omp_task_call(struct omp_running *task, void (*function)(void *data), void *data)
{
	struct omp_icv icv = omp_team->icv;

	omp_team->task = task;
	th_call(TH_CALLED(function), data, NULL, NULL);
	omp_team->task = task->outer;
	omp_team->icv = icv;
}

static void task_run(struct omp_task *t)
{
	struct omp_running now = {.outer = omp_team->task,
	                          .record = t,
	                          .group = omp_task_at(t->group),
	                          .reductions = t->reductions,
	                          .final = t->final};

	t->runner = tw_me->local;
	if (t->maker != tw_me->local || t->depends)
		omp_task_learn();
	omp_task_call(&now, t->function, t->data);
	omp_task_returned(t);
}

void omp_task_made(struct omp_task *t)
{
	struct omp_task *group = omp_task_at(t->group);

	atomic_fetch_add(&omp_task_at(t->parent)->unfinished, 1);
	if (group)
		atomic_fetch_add(&group->unfinished, 1);
	atomic_fetch_add(&queue_node()->unfinished, 1);
	if (atomic_load_explicit(&t->awaited, memory_order_relaxed))
		atomic_fetch_add(&queue_node()->events, 1);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

struct queue_wait {
	bool (*done)(void *arg);
	void *arg;
	const struct omp_task *above;
	uint32_t seen; /* queue_puts() when the last search found nothing */
	bool searched;
	struct omp_task *found;
};

static uint32_t queue_puts(const struct queue_node *node)
{
	uint32_t puts = 0;

	for (unsigned k = 0; k < queue_peers; k++)
		puts += atomic_load(&node->queue[k].puts);
	return puts;
}

static bool queue_ready(void *arg)
{
	struct queue_wait *w = arg;
	struct queue_node *node = queue_node();

	_Atomic uint64_t *mask = w->above ? &node->waiting : &node->idle;
	uint64_t bit = (uint64_t)1 << tw_me->local;

	if (w->done(w->arg))
		return true;
	if (!(atomic_load_explicit(mask, memory_order_relaxed) & bit))
		atomic_fetch_or(mask, bit);
	uint32_t puts = queue_puts(node);
	if (w->searched && puts == w->seen)
		return false;
	w->seen = puts;
	w->searched = true;
	w->found = queue_find(node, w->above);
	return w->found;
}

void omp_task_wait(bool (*done)(void *arg), void *arg, const struct omp_task *above, _Atomic bool *away)
{
	struct queue_node *node = queue_node();
	uint64_t bit = (uint64_t)1 << tw_me->local;

	queue_peers = omp_team->peers == 1 && omp_team->events ? tw_me->locals : omp_team->peers;
	while (!done(arg)) {
		struct queue_wait w = {.done = done, .arg = arg, .above = above, .found = queue_find(node, above)};
		if (!w.found) {
			th_wait(queue_ready, &w, 0);
			atomic_fetch_and(above ? &node->waiting : &node->idle, ~bit);
		}
		if (w.found)
			task_run(w.found);
	}
	if (away && atomic_load(away)) {
		atomic_store(away, false);
		omp_task_learn();
	}
}

static bool queue_over(void *arg)
{
	(void)arg;
	return !atomic_load(&queue_node()->unfinished);
}

static bool queue_no_events(void *arg)
{
	(void)arg;
	return !atomic_load(&queue_node()->events);
}

void omp_task_events_wait(const struct omp_task *above)
{
	omp_task_wait(queue_no_events, NULL, above, NULL);
	omp_task_learn();
}

/* ---- barriers --------------------------------------------------------------------------------------------------- */

static bool queue_round_over(void *arg)
{
	struct queue_node *node = queue_node();
	uint32_t *round = arg, all = queue_peers;

	if (atomic_load(&node->round) != *round)
		return true;
	/* When all have arrived and no task is unfinished, no more tasks can be created. */
	if (atomic_load(&node->arrived) != all || atomic_load(&node->unfinished) ||
	    !atomic_compare_exchange_strong(&node->arrived, &all, 0))
		return false;
	atomic_store(&node->round, *round + 1);
	for (uint32_t k = 0; k < queue_peers; k++)
		omp_task_wake(k);
	return true;
}

void omp_tasks_finish(void)
{
	struct queue_node *node = queue_node();
	uint32_t round = atomic_load(&node->round);

	if (omp_team->peers == 1) {
		omp_task_wait(queue_over, NULL, NULL, NULL);
		omp_task_learn();
	} else {
		atomic_fetch_add(&node->arrived, 1);
		omp_task_wait(queue_round_over, &round, NULL, NULL);
	}
	omp_team->events = false;
	omp_task_unref(omp_team->task->record);
	omp_team->task->record = NULL;
}

void omp_tasks_open(void)
{
	if (tw_me->local == 0)
		queue_node()->object = tw_lock_create().id;
}
