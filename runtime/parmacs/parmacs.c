/* SPDX-License-Identifier: BSD-3-Clause */
/* parmacs.c - parmacs.h: the threads of SPLASH programs, on processors.
 *
 * A constructor joins the job.  Processor 0 continues to main().  The workers stay in the constructor; each waits at a
 * flag of its own for functions to run.  Where global variables are private, CREATE copies them into shared memory
 * (their image), and workers copy them from there before they run the function.
 *
 * Turns.  Programs number their processors by a counter under a lock.  To make these numbers the job's, the workers of
 * one CREATE start one after another: each passes the turn on at its first synchronization, or when its function
 * returns.  Turns are values of one flag; a CREATE uses as many as it has processors. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "core/process/fork.h"
#include "core/memory/globals.h"
#include "core/memory/heap.h"
#include "core/job/job.h"
#include "core/memory/stores.h"
#include "sync/sync.h"
#include "sync/wait_queue.h"
#include "tweed/parmacs.h"

#define PM_PAGE 4096

/* Global variables at a CREATE: a bit for each page, set when its contents follow; the others are zero. */
struct pm_image {
	size_t users; /* workers that may not have copied it yet; processor 0's */
	size_t content;
	uint64_t filled[];
};

/* What a worker is to do.  Processor 0 writes it before it raises @go. */
struct pm_order {
	void (*function)(void); /* NULL: end */
	const struct pm_image *image;
	uint64_t turn;
	uint64_t measured;
};

struct pm_worker {
	tw_flag_t go, done; /* number of orders given, and of those completed */
	struct pm_order order;
};

struct pm_shared {
	tw_lock_t lock; /* for the barriers' lists */
	tw_flag_t turn;
	struct pm_worker worker[];
};

static struct {
	struct pm_shared *shared;
	uint64_t next_turn; /* to be passed on at the next synchronization; 0: done */
	bool leaving;       /* a worker ends in order */
	/* of processor 0 */
	bool open; /* the workers have been released from the job's first barrier */
	bool measuring;
	uint64_t turns;
	uint64_t *orders;         /* per worker */
	struct pm_image **images; /* the image that each worker uses */
} pm;

/* A store, announced for protocols that need it. */
#define PM_STORE(field, value) (tw_stores_add(&(field), sizeof(field)), (field) = (value))

static void pm_pass_turn(void)
{
	uint64_t turn = pm.next_turn;

	pm.next_turn = 0;
	if (turn)
		tw_flag_set(pm.shared->turn, turn);
}

static void __attribute__((format(printf, 1, 2), noreturn)) pm_refuse(const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	tw_abort(2, text);
}

/* End the job unless @ptr, an object that all processors use, is in shared memory. */
static void pm_need_shared(const void *ptr, const char *macro)
{
	const struct tw_proc *me = tw_me_checked(macro);
	if ((uintptr_t)ptr - tw_space_base() >= me->config.memory)
		pm_refuse(
		    "%s: %p is not shared memory: take it from G_MALLOC, or link with 'tweed cc --shared-globals'",
		    macro, ptr);
}

/* ---- global variables ----------------------------------------------------------------------------------------- */

static size_t pm_global_pages(void)
{
	return (size_t)(tw_globals_end - tw_globals_start) / PM_PAGE;
}

static bool pm_blank(const char *page)
{
	const uint64_t *word = (const void *)page;
	uint64_t some = 0;

	for (size_t i = 0; i < PM_PAGE / sizeof(*word) && !some; i += 8)
		for (size_t k = 0; k < 8; k++)
			some |= word[i + k];
	return !some;
}

static struct pm_image *pm_image_make(size_t users)
{
	size_t pages = pm_global_pages(), words = (pages + 63) / 64, filled = 0;
	size_t content = TW_ALIGN_UP(sizeof(struct pm_image) + words * sizeof(uint64_t), (size_t)PM_PAGE);

	if (tw_globals_shared || !users)
		return NULL;
	for (size_t i = 0; i < pages; i++)
		filled += !pm_blank(tw_globals_start + i * PM_PAGE);
	struct pm_image *image = tw_malloc(content + filled * PM_PAGE);
	if (!image)
		pm_refuse("CREATE: no %zu bytes are left of TWEED_MEMORY for the global variables: raise it",
		          filled * PM_PAGE);
	tw_stores_add(image, content + filled * PM_PAGE);
	image->users = users;
	image->content = content;
	memset(image->filled, 0, words * sizeof(uint64_t));
	char *to = (char *)image + content;
	for (size_t i = 0; i < pages; i++) {
		const char *page = tw_globals_start + i * PM_PAGE;
		if (pm_blank(page))
			continue;
		image->filled[i / 64] |= (uint64_t)1 << i % 64;
		memcpy(to, page, PM_PAGE);
		to += PM_PAGE;
	}
	return image;
}

static void pm_image_take(const struct pm_image *image)
{
	const char *from = (const char *)image + image->content;

	for (size_t i = 0; i < pm_global_pages(); i++) {
		char *page = tw_globals_start + i * PM_PAGE;
		if (image->filled[i / 64] >> i % 64 & 1) {
			memcpy(page, from, PM_PAGE);
			from += PM_PAGE;
		} else if (!pm_blank(page)) {
			memset(page, 0, PM_PAGE);
		}
	}
}

/* ---- workers ---------------------------------------------------------------------------------------------------- */

static void __attribute__((noreturn)) pm_work(void)
{
	struct pm_worker *w = &pm.shared->worker[tw_id()];

	tw_barrier_all();
	for (uint64_t round = 1;; round++) {
		tw_flag_wait(w->go, round);
		struct pm_order order = w->order;
		if (!order.function)
			break;
		if (order.image)
			pm_image_take(order.image);
		if (order.measured)
			tw_stats_reset();
		tw_flag_wait(pm.shared->turn, order.turn);
		pm.next_turn = order.turn + 1;
		order.function();
		pm_pass_turn();
		if (order.measured)
			tw_stats_stop();
		fflush(NULL);
		tw_flag_set(w->done, round);
	}
	pm.leaving = true;
	exit(0);
}

static void pm_order(unsigned k, const struct pm_order *order)
{
	struct pm_worker *w = &pm.shared->worker[k];

	PM_STORE(w->order, *order);
	pm.images[k] = (struct pm_image *)(uintptr_t)order->image;
	tw_flag_set(w->go, ++pm.orders[k]);
}

static bool pm_busy(unsigned k)
{
	return pm.orders[k] && tw_flag_get(pm.shared->worker[k].done) < pm.orders[k];
}

/* Wait until worker @k has completed all its orders. */
static void pm_finish(unsigned k)
{
	struct pm_image *image = pm.images[k];

	if (pm.orders[k])
		tw_flag_wait(pm.shared->worker[k].done, pm.orders[k]);
	pm.images[k] = NULL;
	if (image && PM_STORE(image->users, image->users - 1) == 0)
		tw_free(image);
}

/* The end of the program's initialization, for TWEED_HOME=after-init. */
static void pm_open(void)
{
	if (!pm.open)
		tw_barrier_all();
	pm.open = true;
}

void tw_parmacs_join(void)
{
	unsigned count = (unsigned)tw_count();

	pm_pass_turn();
	if (tw_id())
		pm_refuse("WAIT_FOR_END is for the processor that runs main()");
	for (unsigned k = 1; k < count; k++)
		pm_finish(k);
}

static unsigned pm_idle(void)
{
	unsigned count = (unsigned)tw_count(), k = 1;

	while (k < count && pm_busy(k))
		k++;
	if (k >= count)
		pm_refuse("CREATE: all %u processors of the job are at work: start it with more (tweed run -n NODES -p "
		          "PROCESSORS)",
		          count);
	return k;
}

void tw_parmacs_create(void (*function)(void), long n)
{
	struct pm_order order = {.function = function, .measured = pm.measuring};
	unsigned first = 1, last = (unsigned)n;

	if (tw_id())
		pm_refuse("CREATE is for the processor that runs main()");
	if (n < 0 || n > tw_count())
		pm_refuse(
		    "the program wants %ld processors, and the job has %d: start it with more (tweed run -n NODES -p "
		    "PROCESSORS), or ask the program for fewer",
		    n, tw_count());
	pm_pass_turn();
	fflush(NULL);
	if (!n) {
		first = pm_idle();
		last = first + 1;
	}
	for (unsigned k = first; k < last; k++)
		pm_finish(k);
	order.image = pm_image_make(last - first);
	order.turn = pm.turns;
	pm.turns += last - first + 1;
	pm_open();
	for (unsigned k = first; k < last; k++) {
		order.turn++;
		pm_order(k, &order);
	}
	if (last > first)
		pm.next_turn = order.turn - (last - first) + 1;
	if (!n)
		return;
	function();
	pm_pass_turn();
}

void tw_parmacs_measure(int begin)
{
	if (tw_id() == 0)
		pm.measuring = begin != 0;
	if (begin)
		tw_stats_reset();
	else
		tw_stats_stop();
}

/* ---- begin and end ---------------------------------------------------------------------------------------------- */

static void pm_end_worker(int status)
{
	if (!pm.leaving) {
		char text[96];
		tw_format(text, sizeof(text), "a worker called exit(%d), which ends the job", status);
		tw_abort(status & 255, text);
	}
	tw_sync_held_forget(tw_me);
	tw_finalize();
}

/* As with threads, the end of main() ends the others, too; but functions that return in time may complete. */
static void pm_end(int status, void *arg)
{
	unsigned count;

	(void)arg;
	if (!tw_me || tw_forked())
		return;
	if (tw_id()) {
		pm_end_worker(status);
		return;
	}
	count = (unsigned)tw_count();
	for (unsigned k = 1; status && k < count; k++)
		if (pm_busy(k))
			tw_abort(status & 255,
			         "main() has ended, with a status other than 0, while other processors are at work");
	tw_parmacs_join();
	pm_open();
	for (unsigned k = 1; k < count; k++)
		pm_order(k, &(struct pm_order){0});
	tw_sync_held_forget(tw_me);
	tw_finalize();
}

static void pm_prepare(void)
{
	struct pm_shared *s = pm.shared;
	unsigned count = (unsigned)tw_count();

	tw_stores_add(s, sizeof(*s) + count * sizeof(s->worker[0]));
	s->lock = tw_lock_create();
	s->turn = tw_flag_create();
	for (unsigned k = 1; k < count; k++) {
		s->worker[k].go = tw_flag_create();
		s->worker[k].done = tw_flag_create();
	}
	pm.orders = calloc(count, sizeof(*pm.orders));
	pm.images = calloc(count, sizeof(struct pm_image *));
	if (!pm.orders || !pm.images)
		tw_fatal("out of private memory");
}

static void __attribute__((constructor)) pm_begin(void)
{
	tw_init(NULL, NULL);
	if (!tw_globals_start && tw_id() == 0)
		pm_refuse("this program uses the PARMACS macros: link it with 'tweed cc --parmacs'");
	pm.shared = tw_malloc_all(sizeof(*pm.shared) + (size_t)tw_count() * sizeof(struct pm_worker));
	struct tw_wait_queues *queues = tw_malloc_all(tw_wait_queues_bytes(tw_me));
	if (!pm.shared || !queues)
		pm_refuse("no memory is left of TWEED_MEMORY: raise it");
	tw_wait_queues_open(queues);
	if (tw_id() == 0) {
		tw_wait_queues_make(queues);
		pm_prepare();
	}
	on_exit(pm_end, NULL);
	if (tw_id())
		pm_work();
}

/* ---- the other macros ------------------------------------------------------------------------------------------- */

void *tw_parmacs_malloc(size_t bytes)
{
	/* A trace shows the program's line. */
	void *block = tw_heap_calloc(1, bytes, __builtin_return_address(0));
	if (!block)
		pm_refuse("G_MALLOC: no %zu bytes are left of TWEED_MEMORY: raise it (tweed run --memory SIZE)", bytes);
	return block;
}

void tw_parmacs_locks_init(tw_lock_t *locks, long n)
{
	for (long i = 0; i < n; i++)
		PM_STORE(locks[i], tw_lock_create());
}

void tw_parmacs_unlock(tw_lock_t lock)
{
	tw_lock_release(lock);
	pm_pass_turn();
}

void tw_parmacs_barrier_init(tw_parmacs_barrier_t *barrier, long n)
{
	tw_parmacs_barrier_t made = {.n = n};

	if (n > tw_count())
		pm_refuse("BARINIT: the program wants %ld processors, and the job has %d: start it with more", n,
		          tw_count());
	if (n > 0)
		made.barrier = tw_barrier_create((int)n);
	else
		pm_need_shared(barrier, "BARINIT without a count");
	PM_STORE(*barrier, made);
}

/* A barrier for each count that BARINIT did not name; the lock protects the list. */
static tw_barrier_t pm_barrier_more(tw_parmacs_barrier_t *barrier, long n)
{
	pm_need_shared(barrier, "BARRIER with another count than BARINIT");
	tw_lock_acquire(pm.shared->lock);
	tw_parmacs_barrier_t *b = barrier->more;
	while (b && b->n != n)
		b = b->more;
	if (!b) {
		b = tw_parmacs_malloc(sizeof(*b));
		PM_STORE(*b, ((tw_parmacs_barrier_t){tw_barrier_create((int)n), n, barrier->more}));
		PM_STORE(barrier->more, b);
	}
	tw_barrier_t found = b->barrier;
	tw_lock_release(pm.shared->lock);
	return found;
}

void tw_parmacs_barrier_wait(tw_parmacs_barrier_t *barrier, long n)
{
	pm_pass_turn();
	tw_barrier_wait(barrier->n == n ? barrier->barrier : pm_barrier_more(barrier, n));
}

void tw_parmacs_pause_init(tw_parmacs_pause_t *pause)
{
	pm_need_shared(pause, "PAUSEINIT");
	PM_STORE(*pause, ((tw_parmacs_pause_t){.lock = tw_lock_create(), .posted = tw_flag_create()}));
}

void tw_parmacs_pause_set(tw_parmacs_pause_t *pause)
{
	tw_lock_acquire(pause->lock);
	uint64_t posts = PM_STORE(pause->posts, pause->posts + 1);
	tw_lock_release(pause->lock);
	tw_flag_set(pause->posted, posts);
	pm_pass_turn();
}

void tw_parmacs_pause_wait(tw_parmacs_pause_t *pause)
{
	pm_pass_turn();
	tw_lock_acquire(pause->lock);
	uint64_t waits = PM_STORE(pause->waits, pause->waits + 1);
	tw_lock_release(pause->lock);
	tw_flag_wait(pause->posted, waits);
}

void tw_parmacs_condition_init(long *waiting)
{
	pm_need_shared(waiting, "CONDVARINIT");
	PM_STORE(*waiting, 0);
}

/* A signal takes the queue's lock only if there are waiters: *@waiting counts them, under the caller's lock. */
void tw_parmacs_condition_wait(long *waiting, tw_lock_t lock)
{
	struct tw_wait_queue *queue = tw_wait_queue_lock(waiting);
	uint64_t ticket = tw_wait_queue_join(queue, waiting);

	PM_STORE(*waiting, *waiting + 1);
	tw_wait_queue_unlock(queue);
	tw_parmacs_unlock(lock);
	tw_wait_queue_wait(waiting, ticket, 0);
	tw_lock_acquire(lock);
}

void tw_parmacs_condition_signal(long *waiting)
{
	if (!*waiting)
		return;
	PM_STORE(*waiting, *waiting - 1);
	tw_wait_queue_wake(tw_wait_queue_lock(waiting), waiting, 1);
}

void tw_parmacs_condition_broadcast(long *waiting)
{
	if (!*waiting)
		return;
	PM_STORE(*waiting, 0);
	tw_wait_queue_wake(tw_wait_queue_lock(waiting), waiting, TW_WAKE_ALL);
}

unsigned long tw_parmacs_atomic(volatile void *word, size_t bytes, enum tw_parmacs_op op, unsigned long value,
                                unsigned long expect)
{
	static const enum tw_amo what[] = {
	    [TW_PARMACS_LOAD] = TW_AMO_FETCH,
	    [TW_PARMACS_STORE] = TW_AMO_SWAP,
	    [TW_PARMACS_ADD] = TW_AMO_ADD,
	    [TW_PARMACS_ADD_REAL] = TW_AMO_ADD_REAL,
	    [TW_PARMACS_COMPARE_EXCHANGE] = TW_AMO_CAS,
	};
	struct tw_atomic a = {{what[op], (unsigned)bytes, value, expect}, TW_SEQ_CST, .stores = op == TW_PARMACS_STORE};
	unsigned long old = tw_sync_atomic(tw_me_checked("FETCH_ADD"), word, &a, "FETCH_ADD");

	if (op != TW_PARMACS_LOAD)
		pm_pass_turn();
	return old;
}

unsigned long tw_parmacs_clock(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (unsigned long)now.tv_sec * 1000000u + (unsigned long)now.tv_usec;
}
