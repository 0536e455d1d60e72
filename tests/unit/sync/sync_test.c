/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_test.c - locks, barriers and flags between real processes, without a protocol.
 * Arguments: [transport] [bench]. */
#include "job.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

static const struct job_shape shapes[] = {{1, 2, "queue"}, {2, 1, "queue"}, {2, 2, "queue"}, {4, 2, "queue"},
                                          {8, 4, "queue"}, {1, 2, "array"}, {2, 1, "array"}, {2, 2, "array"},
                                          {4, 2, "array"}, {8, 4, "array"}};
#define SHAPES       (sizeof(shapes) / sizeof(*shapes))
#define QUEUE_SHAPES 5

static void run_shapes(unsigned count, void (*body)(struct tw_proc *))
{
	for (unsigned i = 0; i < count; i++) {
		for (job_jitter = 0; job_jitter <= 5; job_jitter += 5) {
			int failed = job_run(&shapes[i], body);

			if (failed)
				fprintf(stderr, "%ux%u %s jitter %u: %d failed\n", shapes[i].nodes, shapes[i].locals,
				        shapes[i].lock, job_jitter, failed);
			CU_ASSERT_EQUAL(failed, 0);
		}
	}
	job_jitter = 0;
}

static unsigned rounds(const struct tw_proc *me, unsigned total)
{
	return total / (me->nodes * me->locals);
}

/* ---- locks ------------------------------------------------------------------------------------------------------ */

/* Three locks with different homes: the first processors of the first three nodes, or of the only one. */
static void locks_create(struct tw_proc *me)
{
	for (unsigned i = 0; i < 3; i++) {
		if (me->id == i % me->nodes * me->locals)
			job_shared->id[i] = tw_lock_create().id;
	}
	tw_barrier_all();
}

/* What a lock guards: a plain read and write, with a chance of preemption in between. */
static void count_up(unsigned which, bool yield)
{
	volatile uint64_t *plain = &job_shared->plain[which];
	uint64_t seen = *plain;

	if (yield)
		sched_yield();
	*plain = seen + 1;
}

static void body_exclusion(struct tw_proc *me)
{
	unsigned n = rounds(me, 4000), mine = 0;

	locks_create(me);
	for (unsigned r = 0; r < n; r++) {
		unsigned which = r % 7 == 0 ? 1 + r % 2 : 0;
		tw_lock_t lock = {job_shared->id[which]};

		if (r % 5 == 3) {
			if (!tw_lock_try_acquire(lock))
				continue;
		} else {
			tw_lock_acquire(lock);
		}
		JOB_CHECK(job_shared->plain[4 + which] == 0);
		job_shared->plain[4 + which] = me->id + 1;
		count_up(which, r % 16 == 1);
		JOB_CHECK(job_shared->plain[4 + which] == me->id + 1);
		job_shared->plain[4 + which] = 0;
		tw_lock_release(lock);
		mine++;
	}
	atomic_fetch_add(&job_shared->gate[0], mine);
	JOB_CHECK(me->stats->now.lock_acquires == mine);
	JOB_CHECK(job_releases == mine && job_acquires == mine + 1); /* the barrier acquires as well */
	tw_barrier_all();
	JOB_CHECK(job_shared->plain[0] + job_shared->plain[1] + job_shared->plain[2] == job_shared->gate[0]);
	if (me->id == 0) {
		for (unsigned i = 0; i < 3; i++)
			tw_lock_destroy((tw_lock_t){job_shared->id[i]});
	}
}

static void test_exclusion(void)
{
	run_shapes(SHAPES, body_exclusion);
}

/* Control: without the lock, the same counting loses updates, so the test above can fail. All have read before one
 * writes; otherwise they might take turns on a busy machine. */
static void body_unlocked(struct tw_proc *me)
{
	volatile uint64_t *plain = &job_shared->plain[0];

	for (unsigned r = 0; r < 10; r++) {
		uint64_t seen = *plain;
		tw_sync_barrier_job(me, TW_WAIT_BARRIER_ALL);
		*plain = seen + 1;
		tw_sync_barrier_job(me, TW_WAIT_BARRIER_ALL);
	}
	atomic_fetch_add(&job_shared->gate[0], 10);
	tw_sync_barrier_job(me, TW_WAIT_BARRIER_ALL);
}

static void test_control(void)
{
	CU_ASSERT_EQUAL(job_run(&shapes[2], body_unlocked), 0);
	CU_ASSERT(job_shared->plain[0] < job_shared->gate[0]);
}

static uint64_t linked_at;
static void note_linked(void)
{
	linked_at = *(volatile uint64_t *)&job_shared->plain[0];
}

/* Two processors of node 0 use the lock continuously, one of node 1 sometimes: how often was it passed over?  No node
 * keeps the lock here: it may do so for a time, whatever the number of sections. */
static void body_fairness(struct tw_proc *me)
{
	locks_create(me);
	tw_sync_waits_next = true;
	tw_lock_t lock = {job_shared->id[0]};

	if (me->id == 2) {
		job_after_fadd = note_linked;
		for (unsigned r = 0; r < 300; r++) {
			/* A round begins when node 0 is busy again. */
			while (*(volatile uint64_t *)&job_shared->plain[0] < 4 * (r + 1))
				sched_yield();
			linked_at = UINT64_MAX;
			tw_lock_acquire(lock);
			/* 16 hand-overs, and the holder at the time of linking */
			JOB_CHECK(linked_at == UINT64_MAX || job_shared->plain[0] - linked_at <= 18);
			tw_lock_release(lock);
			sched_yield();
		}
		job_after_fadd = NULL;
		atomic_store(&job_shared->gate[0], 1);
	}
	while (me->node == 0 && !atomic_load(&job_shared->gate[0])) {
		tw_lock_acquire(lock);
		job_shared->plain[0]++;
		sched_yield();
		tw_lock_release(lock);
	}
}

static void test_fairness(void)
{
	CU_ASSERT_EQUAL(job_run(&shapes[2], body_fairness), 0);
	CU_ASSERT(job_shared->plain[0] >= 1200);
}

/* A lock whose home is the other node: only the first acquire needs that node. */
static void body_retained(struct tw_proc *me)
{
	if (me->id == 1)
		job_shared->id[0] = tw_lock_create().id;
	tw_barrier_all();
	if (me->id == 0) {
		tw_lock_t lock = {job_shared->id[0]};

		tw_lock_acquire(lock);
		tw_lock_release(lock);
		JOB_CHECK(me->stats->now.lock_remote == 1);
		uint64_t before = job_remote_ops;
		for (unsigned r = 0; r < 1000; r++) {
			tw_lock_acquire(lock);
			tw_lock_release(lock);
			JOB_CHECK(tw_lock_try_acquire(lock));
			tw_lock_release(lock);
		}
		JOB_CHECK(job_remote_ops == before && me->net->traffic->messages == 0);
		JOB_CHECK(me->stats->now.lock_remote == 1 && me->stats->now.lock_acquires == 2001);
	}
	tw_barrier_all();
	/* One-sided: processor 0 now only waits at the end. */
	if (me->id == 1) {
		tw_lock_acquire((tw_lock_t){job_shared->id[0]});
		JOB_CHECK(me->stats->now.lock_remote == 1);
		tw_lock_release((tw_lock_t){job_shared->id[0]});
	}
}

/* Two nodes want a lock all the time, and releases take longer than a hand-over: each keeps the lock for a while. */
#define KEPT_ROUNDS 3000u
static void body_kept(struct tw_proc *me)
{
	locks_create(me);
	job_release_us = 12;
	for (unsigned r = 0; r < KEPT_ROUNDS; r++) {
		tw_lock_acquire((tw_lock_t){job_shared->id[0]});
		tw_lock_release((tw_lock_t){job_shared->id[0]});
	}
	job_release_us = 0;
	atomic_fetch_add(&job_shared->gate[0], me->stats->now.lock_remote);
	tw_barrier_all();
}

static void test_kept(void)
{
	bool kept = strcmp(job_transport, "sim") == 0; /* whose delays leave it to chance */

	for (unsigned tries = 0; tries < 40 && !kept; tries++) { /* beside others a node may not be back soon */
		CU_ASSERT_EQUAL(job_run(&shapes[1], body_kept), 0);
		kept = job_shared->gate[0] < KEPT_ROUNDS; /* of twice as many */
		if (!kept)
			usleep(50000);
	}
	CU_ASSERT(kept);
}

static void test_retained(void)
{
	CU_ASSERT_EQUAL(job_run(&shapes[1], body_retained), 0);
}

static void body_try(struct tw_proc *me)
{
	unsigned last = me->nodes * me->locals - 1;

	locks_create(me);
	for (unsigned r = 0; r < 60; r++) {
		tw_lock_t lock = {job_shared->id[r % 3]};
		unsigned holder = r % 2 ? last : 0, other = last - holder;

		if (me->id == holder)
			JOB_CHECK(tw_lock_try_acquire(lock));
		tw_barrier_all();
		if (me->id == other)
			JOB_CHECK(!tw_lock_try_acquire(lock));
		tw_barrier_all();
		if (me->id == holder)
			tw_lock_release(lock);
		tw_barrier_all();
		if (me->id == other) {
			JOB_CHECK(tw_lock_try_acquire(lock));
			tw_lock_release(lock);
		}
		tw_barrier_all();
	}
}

static void test_try(void)
{
	run_shapes(SHAPES, body_try);
}

/* ---- barriers --------------------------------------------------------------------------------------------------- */

static void round_check(struct tw_proc *me, uint64_t r)
{
	for (unsigned i = 0; i < me->nodes * me->locals; i++) {
		uint64_t other = atomic_load(&job_shared->round[i]);
		JOB_CHECK(other == r || other == r + 1);
	}
}

static void body_barrier(struct tw_proc *me)
{
	unsigned n = rounds(me, 4000);

	if (me->id == 0)
		job_shared->id[0] = tw_barrier_create((int)(me->nodes * me->locals)).id;
	tw_barrier_all();
	JOB_CHECK(me->n->barriers_done >= 1);
	for (unsigned r = 1; r <= n; r++) {
		atomic_store(&job_shared->round[me->id], r);
		if (r % 3 == 0)
			tw_barrier_wait((tw_barrier_t){job_shared->id[0]});
		else
			tw_barrier_all();
		round_check(me, r);
	}
	JOB_CHECK(me->stats->now.barriers == n + 1 && job_arrivals == n + 1);
	JOB_CHECK(me->n->barriers_done == n + 1 - n / 3);
}

static void test_barrier(void)
{
	run_shapes(QUEUE_SHAPES, body_barrier);
}

/* A fixed subset: the processors of even number. */
static void body_subset(struct tw_proc *me)
{
	unsigned count = me->nodes * me->locals, n = (count + 1) / 2;

	if (me->id == count - 1)
		job_shared->id[0] = tw_barrier_create((int)n).id;
	tw_barrier_all();
	for (unsigned r = 1; me->id % 2 == 0 && r <= rounds(me, 3000); r++) {
		atomic_store(&job_shared->round[me->id], r);
		tw_barrier_wait((tw_barrier_t){job_shared->id[0]});
		for (unsigned i = 0; i < count; i += 2) {
			uint64_t other = atomic_load(&job_shared->round[i]);
			JOB_CHECK(other == r || other == r + 1);
		}
	}
	tw_barrier_all();
	if (me->id == 0)
		tw_barrier_destroy((tw_barrier_t){job_shared->id[0]});
}

static void test_subset(void)
{
	run_shapes(QUEUE_SHAPES, body_subset);
}

/* Any two processors: a barrier of 2 that all processors use, 3000 arrivals in all. */
static void body_anybody(struct tw_proc *me)
{
	if (me->id == 0)
		job_shared->id[0] = tw_barrier_create(2).id;
	tw_barrier_all();
	while (atomic_fetch_add(&job_shared->gate[0], 1) < 3000) {
		atomic_fetch_add(&job_shared->gate[1], 1);
		tw_barrier_wait((tw_barrier_t){job_shared->id[0]});
		uint64_t left = atomic_fetch_add(&job_shared->gate[2], 1) + 1;
		JOB_CHECK(left <= atomic_load(&job_shared->gate[1]) / 2 * 2);
	}
}

static void test_any(void)
{
	run_shapes(QUEUE_SHAPES, body_anybody);
}

/* ---- flags ------------------------------------------------------------------------------------------------------ */

/* A chain: processor i passes each value on from flag i to flag i + 1; the last flag releases the first processor. */
static void body_flags(struct tw_proc *me)
{
	unsigned count = me->nodes * me->locals, n = rounds(me, 3000);

	job_shared->id[me->id] = tw_flag_create().id;
	tw_barrier_all();
	tw_flag_t mine = {job_shared->id[me->id]}, next = {job_shared->id[(me->id + 1) % count]};
	JOB_CHECK(tw_flag_get(mine) == 0);
	tw_barrier_all();
	for (uint64_t r = 1; r <= n; r++) {
		if (me->id != 0)
			JOB_CHECK(tw_flag_wait(mine, r) == r);
		JOB_CHECK(job_shared->plain[0]++ == (r - 1) * count + me->id);
		tw_flag_set(next, r);
		if (me->id == 0)
			JOB_CHECK(tw_flag_wait(mine, r) == r);
	}
	JOB_CHECK(tw_flag_wait(mine, 1) == n && tw_flag_get(mine) == n);
	JOB_CHECK(me->stats->now.flag_acquires == n + 1);
	tw_barrier_all();
	tw_flag_destroy(next);
}

static void test_flags(void)
{
	run_shapes(QUEUE_SHAPES, body_flags);
}

/* ---- objects ---------------------------------------------------------------------------------------------------- */

/* Destroyed as early as a program may: by a released processor, while others are about to be released. */
static void body_destroy_early(struct tw_proc *me)
{
	unsigned count = me->nodes * me->locals, n = rounds(me, 1500);

	for (unsigned r = 0; r < n; r++) {
		if (me->id == r % count) {
			job_shared->id[0] = tw_barrier_create((int)count).id;
			job_shared->id[1] = tw_flag_create().id;
		}
		tw_barrier_all();
		tw_barrier_t barrier = {job_shared->id[0]};
		tw_flag_t flag = {job_shared->id[1]};

		tw_barrier_wait(barrier);
		if (me->id == (r + 1) % count)
			tw_barrier_destroy(barrier);
		if (me->id == r % count)
			tw_flag_set(flag, 7);
		if (me->id == (r + 3) % count) {
			tw_flag_wait(flag, 7);
			tw_flag_destroy(flag);
		}
		tw_barrier_all();
	}
}

static void test_destroy_early(void)
{
	run_shapes(QUEUE_SHAPES, body_destroy_early);
}

static void body_many(struct tw_proc *me)
{
	unsigned count = me->nodes * me->locals, each = job_objects / me->locals;
	uint64_t *ids = &job_shared->id[me->id * each];

	for (unsigned r = 0; r < 6; r++) {
		for (unsigned i = 0; i < each; i++) {
			if ((i + r) % 3 == 0)
				ids[i] = tw_lock_create().id;
			else if ((i + r) % 3 == 1)
				ids[i] = tw_flag_create().id;
			else
				ids[i] = tw_barrier_create(1).id;
		}
		tw_barrier_all();
		/* Another processor's objects are used and destroyed here. */
		uint64_t *theirs = &job_shared->id[(me->id + 1) % count * each];
		for (unsigned i = 0; i < each; i++) {
			if ((i + r) % 3 == 0) {
				tw_lock_acquire((tw_lock_t){theirs[i]});
				tw_lock_release((tw_lock_t){theirs[i]});
				tw_lock_destroy((tw_lock_t){theirs[i]});
			} else if ((i + r) % 3 == 1) {
				JOB_CHECK(tw_flag_get((tw_flag_t){theirs[i]}) == 0);
				tw_flag_set((tw_flag_t){theirs[i]}, 5);
				JOB_CHECK(tw_flag_wait((tw_flag_t){theirs[i]}, 4) == 5);
				tw_flag_destroy((tw_flag_t){theirs[i]});
			} else {
				tw_barrier_wait((tw_barrier_t){theirs[i]});
				tw_barrier_wait((tw_barrier_t){theirs[i]});
				tw_barrier_destroy((tw_barrier_t){theirs[i]});
			}
		}
		tw_barrier_all();
	}
}

static void test_many(void)
{
	run_shapes(SHAPES, body_many);
}

/* More evictable locks than slots, while a barrier of all waits for the processor that creates them. */
static void body_evictable(struct tw_proc *me)
{
	uint64_t id = 0;

	if (me->id == 0)
		job_shared->id[0] = tw_barrier_create((int)(me->nodes * me->locals)).id;
	tw_barrier_all();
	if (me->id == me->locals - 1) {
		usleep(2000);
		for (unsigned i = 0; i < 4 * job_objects; i++) {
			id = tw_sync_evictable_create(me);
			JOB_CHECK(tw_sync_evictable_lives(me, id));
		}
		tw_lock_acquire((tw_lock_t){id});
		JOB_CHECK(tw_sync_evictable_lives(me, id));
		tw_sync_evictable_destroy(me, id);
		JOB_CHECK(!tw_sync_evictable_lives(me, id));
	}
	tw_barrier_wait((tw_barrier_t){job_shared->id[0]});
	tw_barrier_all();
	if (me->id == 0)
		tw_barrier_destroy((tw_barrier_t){job_shared->id[0]});
}

static void test_evictable(void)
{
	run_shapes(SHAPES, body_evictable);
}

/* A processor takes a lock again and again, which another one of its node releases for it each time.  On one node: that
 * one asks the agents of others, of which there are none here. */
static void body_released(struct tw_proc *me)
{
	static const bool others = true;

	tw_sync_others = &others;
	if (me->id == 0)
		job_shared->id[0] = tw_lock_create().id;
	tw_barrier_all();
	tw_lock_t lock = {job_shared->id[0]};
	for (unsigned i = 0; i < 3000 && me->nodes == 1 && me->id < 2; i++) {
		if (me->id == 0)
			tw_lock_acquire(lock);
		else
			while (!tw_sync_lock_release_any(me, lock))
				sched_yield();
	}
	tw_barrier_all();
	if (me->id == 0)
		tw_lock_destroy(lock);
}

static void test_released(void)
{
	run_shapes(SHAPES, body_released);
}

/* ---- mistakes --------------------------------------------------------------------------------------------------- */

static void die_zero(struct tw_proc *me)
{
	(void)me;
	tw_lock_acquire((tw_lock_t){0});
}

static void die_kind(struct tw_proc *me)
{
	(void)me;
	tw_flag_wait((tw_flag_t){tw_lock_create().id}, 1);
}

static void die_garbage(struct tw_proc *me)
{
	(void)me;
	tw_barrier_wait((tw_barrier_t){0xdeadbeefdeadbeefull});
}

static void die_range(struct tw_proc *me)
{
	(void)me;
	tw_flag_set((tw_flag_t){tw_flag_create().id | 0xffull << 52}, 1);
}

static void die_destroyed(struct tw_proc *me)
{
	(void)me;
	tw_lock_t lock = tw_lock_create();
	tw_lock_destroy(lock);
	tw_lock_acquire(lock);
}

static void die_recycled(struct tw_proc *me)
{
	(void)me;
	tw_flag_t flag = tw_flag_create();
	tw_flag_destroy(flag);
	JOB_CHECK(tw_flag_create().id != flag.id);
	tw_flag_get(flag);
}

static void die_not_held(struct tw_proc *me)
{
	(void)me;
	tw_lock_release(tw_lock_create());
}

static void die_recursive(struct tw_proc *me)
{
	(void)me;
	tw_lock_t lock = tw_lock_create();
	tw_lock_acquire(lock);
	JOB_CHECK(!tw_lock_try_acquire(lock));
	tw_lock_acquire(lock);
}

static void die_held(struct tw_proc *me)
{
	(void)me;
	tw_lock_t lock = tw_lock_create();
	tw_lock_acquire(lock);
	tw_lock_destroy(lock);
}

static void die_barrier_size(struct tw_proc *me)
{
	(void)me;
	tw_barrier_create(2);
}

static void die_full(struct tw_proc *me)
{
	(void)me;
	for (unsigned i = 0; i <= job_objects; i++)
		tw_flag_create();
}

static void test_mistakes(void)
{
	CU_ASSERT(job_dies(die_zero, "tw_lock_acquire: the handle is zero"));
	CU_ASSERT(job_dies(die_kind, "tw_flag_wait: the handle is that of a lock, not of a flag"));
	CU_ASSERT(job_dies(die_garbage, "is not the handle of a barrier"));
	CU_ASSERT(job_dies(die_range, "is not the handle of a flag"));
	CU_ASSERT(job_dies(die_destroyed, "tw_lock_acquire: this lock was destroyed"));
	CU_ASSERT(job_dies(die_recycled, "tw_flag_get: this flag was destroyed"));
	CU_ASSERT(job_dies(die_not_held, "tw_lock_release: this processor does not hold the lock"));
	CU_ASSERT(job_dies(die_recursive, "locks are not recursive"));
	CU_ASSERT(job_dies(die_held, "tw_lock_destroy: the lock is held"));
	CU_ASSERT(job_dies(die_barrier_size, "tw_barrier_create: a barrier for 2 processors in a job of 1"));
	CU_ASSERT(job_dies(die_full, "raise TWEED_SYNC_OBJECTS"));
}

/* ---- times ------------------------------------------------------------------------------------------------------ */

/* The best of several batches: other work on the machine does not matter. */
static void bench(struct tw_proc *me, const char *what, bool all, void (*once)(struct tw_proc *))
{
	unsigned count = me->nodes * me->locals, n = count > 2 ? 50 : 2000;
	uint64_t best = UINT64_MAX;

	for (unsigned batch = 0; batch < 40; batch++) {
		tw_sync_barrier_job(me, TW_WAIT_BARRIER_ALL);
		uint64_t since = tw_time_ns();
		for (unsigned r = 0; r < n && (all || me->id == 0); r++)
			once(me);
		best = TW_MIN(best, (tw_time_ns() - since) / n);
	}
	if (me->id == 0)
		fprintf(stderr, "%ux%u %s %s: %u ns\n", me->nodes, me->locals, me->config.lock, what, (unsigned)best);
}

static void once_barrier(struct tw_proc *me)
{
	tw_sync_barrier_job(me, TW_WAIT_BARRIER_ALL);
}

static void once_lock(struct tw_proc *me)
{
	(void)me;
	tw_lock_acquire((tw_lock_t){job_shared->id[0]});
	tw_lock_release((tw_lock_t){job_shared->id[0]});
}

static void body_bench(struct tw_proc *me)
{
	locks_create(me);
	bench(me, "barrier", true, once_barrier);
	bench(me, "lock, alone", false, once_lock);
}

int main(int argc, char **argv)
{
	CU_TestInfo tests[] = {{"mutual exclusion", test_exclusion},
	                       {"control: no lock", test_control},
	                       {"fairness", test_fairness},
	                       {"kept locks", test_retained},
	                       {"locks kept though another node waits", test_kept},
	                       {"try_acquire", test_try},
	                       {"barriers of all", test_barrier},
	                       {"barriers of a subset", test_subset},
	                       {"barriers of any processors", test_any},
	                       {"flags", test_flags},
	                       {"early destruction", test_destroy_early},
	                       {"many objects", test_many},
	                       {"evictable locks", test_evictable},
	                       {"locks released by others", test_released},
	                       {"mistakes", test_mistakes},
	                       CU_TEST_INFO_NULL};

	if (argc > 1)
		job_transport = argv[1];
	if (argc > 2 && strcmp(argv[2], "bench") == 0) {
		int failed = 0;
		for (unsigned i = 0; i < SHAPES; i++)
			failed += job_run(&shapes[i], body_bench);
		return failed != 0;
	}
	return unit_main("sync", tests);
}
