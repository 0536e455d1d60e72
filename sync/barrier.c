/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier.c - barriers of all processors, in two levels, and of any n processors, with a counter.
 *
 * All (Cashmere-2L, section 2.3). A counter in the node's memory counts local arrivals. It only grows, so it gives the
 * epoch and is never reset. The last arriver of a node writes the epoch into the node's word of an array, at every
 * node. All wait until every word in their own node's array has reached the epoch.
 *
 * Some. Arrivals are counted by a fetch-and-add at the barrier's home. Arrival number a belongs to generation a / n +
 * 1. The processor that completes a generation writes the generation's number to every node.
 *
 * Waking at a barrier of all. Each node's last arriver writes everywhere, flushes, then reads its own array and rings
 * only if all have arrived. The one whose flush returns last sees all words, because the others' words were visible
 * everywhere by then. So at least one rings, after all words are everywhere. Where the release trails (trail.h), a node
 * that finds the other one's word there rings behind its own, without a flush (tests/models/meet.pml).
 *
 * Overtaking. In a barrier of some, the last arriver of generation g may be slow while other processors complete g + 1.
 * Its late write of g would overwrite g + 1. So it reads the counter after its flush, and while the counter shows a
 * later complete generation, it writes that one. A generation that is completed after that read is written after it.
 *
 * Different calls. The calls that meet at the job's barrier must be equal. Local arrivals compare their call with that
 * of the epoch's first arrival. Between nodes, each released processor compares the words that still belong to its
 * epoch. If nodes A and B make different calls, this is detected: a node's word moves to the next epoch only after all
 * of its processors have compared, so the first processor of the two nodes to finish finds the other node's word
 * unchanged.
 *
 * Any participant may destroy the barrier right after the wait: see sync_settle() and object.c. */
#include <unistd.h>

#include "core/coherence/lazy.h"
#include "core/coherence/trail.h"
#include "sync/object.h"
#include "tweed/tweed.h"

/* A node's word of the job's barrier: call 63-56 | local processor 55-48 | epoch. */
#define BARRIER_EPOCH(word) ((word) & ((1ull << 48) - 1))
#define BARRIER_CALL(word)  ((unsigned)((word) >> 56))
#define BARRIER_LOCAL(word) ((unsigned)((word) >> 48) & 0xff)
#define BARRIER_COUNT(word) ((word) & ((1ull << 40) - 1))

/* In a handle's n: the barrier is one of threads, of which a processor may have several. */
#define BARRIER_THREADS 0x8000u
#define BARRIER_N(o)    ((o)->n & ~BARRIER_THREADS)
_Static_assert(TW_MAX_NODES *TW_MAX_PROCESSORS < BARRIER_THREADS, "a barrier of all processors is no such barrier");

struct barrier_wait {
	const struct sync_object *object; /* NULL: the job's */
	_Atomic uint64_t *word;           /* all: array of [nodes]; some: the value */
	unsigned words;
	uint64_t epoch;
	enum tw_wait_call call;
};

static bool barrier_ready(void *arg)
{
	const struct barrier_wait *w = arg;

	for (unsigned i = 0; i < w->words; i++) {
		if (BARRIER_EPOCH(atomic_load_explicit(&w->word[i], memory_order_acquire)) < w->epoch)
			return w->object &&
			       atomic_load_explicit(&w->object->own->gen, memory_order_acquire) != w->object->gen;
	}
	return true;
}

static void barrier_wake(struct tw_proc *me)
{
	for (unsigned node = 0; node < me->nodes; node++)
		sync_notify(me, node);
}

/* One of the processors that detect it prints the message; the others wait for the job's end. */
static void __attribute__((noreturn, cold))
barrier_refuse(struct tw_proc *me, enum tw_wait_call call, unsigned node, unsigned local, enum tw_wait_call other)
{
	while (tw_net_fadd(me->net, 0, sync_job_sentences(me), 1))
		pause();
	tw_fatal("%s was called, but processor %u.%u has called %s: all processors must make the same call",
	         tw_sync_call_name(call), node, local, tw_sync_call_name(other));
}

/* Before arrival at the job's barrier in @epoch: compare @call with that of the node's first arrival. */
static void barrier_compare_local(struct tw_proc *me, enum tw_wait_call call, uint64_t epoch)
{
	_Atomic uint64_t *word = &sync_private(me)->call;
	uint64_t mine = epoch << 16 | me->local << 8 | call, seen = atomic_load_explicit(word, memory_order_relaxed);

	if (seen >> 16 != epoch && atomic_compare_exchange_strong(word, &seen, mine))
		return;
	if ((seen & 0xff) != call)
		barrier_refuse(me, call, me->node, seen >> 8 & 0xff, seen & 0xff);
}

static void barrier_compare(struct tw_proc *me, const struct barrier_wait *w)
{
	for (unsigned i = 0; !w->object && i < w->words; i++) {
		uint64_t word = atomic_load_explicit(&w->word[i], memory_order_relaxed);

		if (BARRIER_EPOCH(word) == w->epoch && BARRIER_CALL(word) != w->call)
			barrier_refuse(me, w->call, i, BARRIER_LOCAL(word), BARRIER_CALL(word));
	}
}

/* The two-level barrier. @o: the barrier object, or NULL: the job's barrier, called from @call. @passed: incremented by
 * the node's last arriver, or NULL. @last: set for node 0's last arriver, or NULL. The caller's earlier writes are
 * visible everywhere afterwards. Returns the epoch. */
static uint64_t barrier_all(struct tw_proc *me, const struct sync_object *o, enum tw_wait_call call,
                            _Atomic uint64_t *passed, bool *last)
{
	size_t array = o ? sync_array(me, o) : sync_job_array(me);
	_Atomic uint64_t *local = o ? &o->own->local : &sync_private(me)->local;
	uint64_t word = o ? 0 : (uint64_t)call << 56 | (uint64_t)me->local << 48;
	struct barrier_wait wait = {o, sync_words(me, array), me->nodes, 0, call};

	bool trails = me->successor;

	tw_trail_end(me);
	if (!o && me->locals > 1)
		barrier_compare_local(me, call, atomic_load_explicit(local, memory_order_relaxed) / me->locals + 1);
	uint64_t before = atomic_fetch_add(local, 1);
	wait.epoch = before / me->locals + 1;
	if ((before + 1) % me->locals == 0) {
		if (last)
			*last = me->node == 0;
		/* No local processor leaves before this node's word is written. */
		if (passed)
			atomic_store(passed, atomic_load_explicit(passed, memory_order_relaxed) + 1);
		tw_net_broadcast64(me->net, array + me->node * sizeof(uint64_t), word | wait.epoch);
		if (!trails || !barrier_ready(&wait))
			tw_net_flush(me->net, TW_NET_ALL);
		if (barrier_ready(&wait))
			barrier_wake(me);
	}
	sync_wait(me, call, o ? o->id : SYNC_JOB_ID, 0, barrier_ready, &wait);
	barrier_compare(me, &wait);
	return wait.epoch;
}

static void barrier_publish(struct tw_proc *me, const struct sync_object *o, uint64_t generation)
{
	for (;;) {
		tw_net_broadcast64(me->net, SYNC_WORD(o, value), generation);
		tw_net_flush(me->net, TW_NET_ALL);
		uint64_t count = tw_net_read64(me->net, o->home, SYNC_WORD(o, count));
		if (count >> 40 != o->gen || BARRIER_COUNT(count) / BARRIER_N(o) <= generation)
			break;
		generation = BARRIER_COUNT(count) / BARRIER_N(o);
	}
	barrier_wake(me);
}

/* Returns the generation. */
static uint64_t barrier_some(struct tw_proc *me, const struct sync_object *o, bool *last)
{
	uint64_t before = tw_net_fadd(me->net, o->home, SYNC_WORD(o, count), 1);
	struct barrier_wait wait = {o, &o->own->value, 1, BARRIER_COUNT(before) / BARRIER_N(o) + 1, TW_WAIT_BARRIER};

	if (before >> 40 != o->gen)
		tw_fatal("tw_barrier_wait: this barrier was destroyed");
	*last = (BARRIER_COUNT(before) + 1) % BARRIER_N(o) == 0;
	if (*last)
		barrier_publish(me, o, wait.epoch);
	else
		sync_wait(me, TW_WAIT_BARRIER, o->id, 0, barrier_ready, &wait);
	return wait.epoch;
}

static void barrier_arrived(struct tw_proc *me, uint64_t id)
{
	tw_trace(me, TW_TRACE_barrier_arrive, TW_TRACE_NONE, TW_TRACE_NO_PAGE, id, 0);
}

/* Of two nodes, each learns of the other's arrival from that one alone: the release trails. */
static void barrier_arrive(struct tw_proc *me, uint64_t id)
{
	tw_lazy_idle(me);
	if (me->nodes == 2 && tw_release_trails())
		tw_trail_begin(me, 1 - me->node);
	tw_arrive(me, id);
}

static void barrier_passed(struct tw_proc *me, uint64_t id, uint64_t epoch)
{
	me->stats->now.barriers++;
	tw_trace(me, TW_TRACE_barrier_leave, TW_TRACE_NONE, TW_TRACE_NO_PAGE, id, epoch);
	tw_acquire(me, TW_SYNC_BARRIER, id);
}

uint64_t tw_sync_barrier_job(struct tw_proc *me, enum tw_wait_call call)
{
	return barrier_all(me, NULL, call, NULL, NULL);
}

void tw_barrier_all(void)
{
	struct tw_proc *me = tw_me_checked("tw_barrier_all");

	sync_alone("tw_barrier_all");
	barrier_arrived(me, SYNC_JOB_ID);
	barrier_arrive(me, SYNC_JOB_ID);
	barrier_passed(me, SYNC_JOB_ID, barrier_all(me, NULL, TW_WAIT_BARRIER_ALL, &me->n->barriers_done, NULL));
}

tw_barrier_t tw_barrier_create(int n)
{
	struct tw_proc *me = tw_me_checked("tw_barrier_create");
	unsigned count = me->nodes * me->locals;

	if (n < 1 || (unsigned)n > count)
		tw_fatal("tw_barrier_create: a barrier for %d processors in a job of %u", n, count);
	return (tw_barrier_t){sync_create(me, SYNC_BARRIER, (unsigned)n, "tw_barrier_create")};
}

tw_barrier_t tw_sync_barrier_threads(struct tw_proc *me, unsigned n)
{
	TW_ASSERT(n && n < BARRIER_THREADS);
	return (tw_barrier_t){sync_create(me, SYNC_BARRIER, n | BARRIER_THREADS, "tw_barrier_create")};
}

bool tw_sync_barrier_wait(struct tw_proc *me, uint64_t id)
{
	struct sync_object o = sync_find(me, id, SYNC_BARRIER, "tw_barrier_wait");
	bool last = false;

	if (o.n == 0 || (o.n > me->nodes * me->locals && o.n < BARRIER_THREADS))
		tw_fatal("tw_barrier_wait: %lx is not the handle of a barrier", (unsigned long)id);
	sync_alone("tw_barrier_wait");
	barrier_arrived(me, id);
	if (o.n == me->nodes * me->locals) {
		barrier_arrive(me, id);
		barrier_passed(me, id, barrier_all(me, &o, TW_WAIT_BARRIER, NULL, &last));
	} else {
		sync_release(me, TW_SYNC_BARRIER, id);
		barrier_passed(me, id, barrier_some(me, &o, &last));
	}
	return last;
}

void tw_barrier_wait(tw_barrier_t barrier)
{
	tw_sync_barrier_wait(tw_me_checked("tw_barrier_wait"), barrier.id);
}

void tw_barrier_destroy(tw_barrier_t barrier)
{
	static const char *const function = "tw_barrier_destroy";
	struct tw_proc *me = tw_me_checked(function);
	struct sync_object o = sync_find(me, barrier.id, SYNC_BARRIER, function);

	tw_net_flush(me->net, TW_NET_ALL);
	if (o.n == me->nodes * me->locals) {
		for (unsigned node = 0; node < me->nodes; node++)
			sync_settle(me, sync_array(me, &o) + node * sizeof(uint64_t), function);
		uint64_t arrived = *sync_words(me, sync_array(me, &o)) * me->locals;
		for (unsigned node = 0; node < me->nodes; node++) {
			if (tw_net_read64(me->net, node, SYNC_WORD(&o, local)) != arrived)
				tw_fatal("%s: processors wait at the barrier", function);
		}
	} else {
		uint64_t count = BARRIER_COUNT(tw_net_read64(me->net, o.home, SYNC_WORD(&o, count)));
		if (o.n == 0 || count % BARRIER_N(&o))
			tw_fatal("%s: processors wait at the barrier", function);
		sync_settle(me, SYNC_WORD(&o, value), function);
	}
	sync_destroy(me, &o);
}
