/* SPDX-License-Identifier: BSD-3-Clause */
/* rules - threads replace shared objects, and read them; what is reclaimed is poisoned at once, so that a rule that
 * frees too early is caught, by the poison or by asan.
 *
 *     rules safe [SECONDS]         LocalEpochManager: must not be caught
 *     rules published [SECONDS]    the rule of Dewan and Jenkins: must be caught (exit status 1, or asan's)
 *
 * The published rule: an object is tagged with its token's epoch, three lists modulo three, list e - 2 is freed when
 * the epoch becomes e, pin stores what it read and does not look again, one elected thread advances. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tweed/pgas.h"

#define THREADS 4u
#define SHARED  2u
#define ALIVE   UINT64_C(0xa11fe)

struct object {
	_Atomic uint64_t state;
};

static _Atomic(struct object *) shared[SHARED];
static _Atomic bool stop;
static _Atomic uint64_t caught, done;
static bool published;
static struct tw_local_epoch *epoch;

static void reclaim(void *p)
{
	struct object *o = p;

	atomic_store_explicit(&o->state, 0, memory_order_relaxed);
	free(o);
}

/* ---- the published rule, epochs 1 to 3 ---- */

struct list {
	struct object *object[4096];
	unsigned n;
};

static _Atomic unsigned global = 1, local[THREADS];
static _Atomic bool advancing;
static struct list limbo[THREADS][4];
static pthread_mutex_t limbo_mutex[THREADS]; /* the list itself is not what is tested here */

static void published_pin(unsigned me)
{
	unsigned e = atomic_load(&global);

	if (rand_r(&(unsigned){e + (unsigned)tw_time_ns()}) % 4 == 0)
		sched_yield();
	atomic_store(&local[me], e);
}

static void published_retire(unsigned me, struct object *o)
{
	struct list *l = &limbo[me][atomic_load(&local[me])];

	pthread_mutex_lock(&limbo_mutex[me]);
	if (l->n < 4096)
		l->object[l->n++] = o;
	pthread_mutex_unlock(&limbo_mutex[me]);
}

static void published_try_reclaim(void)
{
	if (atomic_exchange(&advancing, true))
		return;
	unsigned e = atomic_load(&global), next = e % 3 + 1;
	bool safe = true;
	for (unsigned t = 0; t < THREADS; t++) {
		unsigned seen = atomic_load(&local[t]);
		safe = safe && (seen == 0 || seen == e);
	}
	if (safe) {
		atomic_store(&global, next);
		/* The epoch two before the new one is the one after it, modulo three. */
		for (unsigned t = 0; t < THREADS; t++) {
			struct list *l = &limbo[t][next % 3 + 1];
			pthread_mutex_lock(&limbo_mutex[t]);
			for (unsigned i = 0; i < l->n; i++)
				reclaim(l->object[i]);
			l->n = 0;
			pthread_mutex_unlock(&limbo_mutex[t]);
		}
	}
	atomic_store(&advancing, false);
}

/* ---- the load ---- */

static struct object *object_new(void)
{
	struct object *o = malloc(sizeof(*o));

	if (!o)
		exit(2);
	atomic_init(&o->state, ALIVE);
	return o;
}

static void look(unsigned *seed)
{
	struct object *o = atomic_load(&shared[rand_r(seed) % SHARED]);

	if (rand_r(seed) % 8 == 0)
		sched_yield();
	if (atomic_load_explicit(&o->state, memory_order_relaxed) != ALIVE)
		atomic_fetch_add(&caught, 1);
}

static void *work(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, seed = me + 1;
	struct tw_local_token *token = published ? NULL : tw_local_epoch_register(epoch);

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		if (published)
			published_pin(me);
		else
			tw_local_token_pin(token);
		if (rand_r(&seed) % 2) {
			look(&seed);
		} else {
			struct object *old = atomic_exchange(&shared[rand_r(&seed) % SHARED], object_new());
			if (published)
				published_retire(me, old);
			else
				tw_local_token_defer_delete(token, old);
		}
		if (published)
			atomic_store(&local[me], 0);
		else
			tw_local_token_unpin(token);
		if (published)
			published_try_reclaim();
		else
			tw_local_token_try_reclaim(token);
		atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
		if (atomic_load_explicit(&caught, memory_order_relaxed))
			break;
	}
	tw_local_token_unregister(token);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	double seconds = argc > 2 ? atof(argv[2]) : 2;
	uint64_t begun = tw_time_ns();

	if (argc < 2)
		return 2;
	published = strcmp(argv[1], "published") == 0;
	if (tw_local_epoch_create(&(struct tw_local_epoch_options){.free = reclaim}, &epoch))
		return 2;
	for (unsigned i = 0; i < SHARED; i++)
		atomic_init(&shared[i], object_new());
	for (unsigned t = 0; t < THREADS; t++)
		pthread_mutex_init(&limbo_mutex[t], NULL);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_create(&thread[t], NULL, work, (void *)(uintptr_t)t);
	while (!atomic_load(&caught) && (double)(tw_time_ns() - begun) < seconds * 1e9)
		sched_yield();
	atomic_store(&stop, true);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	printf("%s: %llu sections, %s after %.2f s\n", argv[1], (unsigned long long)done,
	       caught ? "an object was used after it was freed" : "nothing was caught",
	       (double)(tw_time_ns() - begun) * 1e-9);
	tw_local_epoch_clear(epoch);
	if (tw_local_epoch_garbage(epoch))
		return 2;
	tw_local_epoch_destroy(epoch);
	for (unsigned i = 0; i < SHARED; i++)
		free(shared[i]);
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned e = 1; e <= 3; e++)
			while (limbo[t][e].n)
				free(limbo[t][e].object[--limbo[t][e].n]);
	return caught != 0;
}
