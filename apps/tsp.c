/* SPDX-License-Identifier: BSD-3-Clause */
/* tsp - the shortest round trip through all cities, by branch and bound (a program of the early software DSM systems,
 * such as TreadMarks).
 *
 * A tour is an incomplete path from city 0.  Its bound is its length plus a minimum spanning tree of its last city,
 * city 0 and the remaining cities, because the rest of a round trip is such a tree.  Tours wait in a priority queue,
 * lowest bound first.  A processor takes a tour under the queue's lock and extends it by each remaining city.  It
 * inserts the results when it takes the next tour.  When few cities remain, it searches all completions itself.
 *
 * The best round trip has a lock of its own.  Each processor prunes by a private copy, which it synchronizes with the
 * shared one after every tour that it took: a late bound costs time but does not change the result.  A processor that
 * finds the queue empty while others are busy waits for a flag.  When no processor is busy, the search is over.
 *
 * The distribution of tours depends on timing, and of several best round trips any may be found.  The length of the
 * best is the same in every run. */
#include "apps/kernel.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

#define TSP_CITIES 32    /* a set of cities is a 32-bit mask */
#define TSP_QUEUE  32768 /* from so many queued tours on, tours are searched, not extended */
#define TSP_EXACT  18    /* up to so many cities, dynamic programming checks the result */

struct tsp_tour {
	int length, bound;
	int cities; /* in the tour */
	uint8_t city[TSP_CITIES];
};

/* A binary heap of tour numbers by bound; tours themselves are not moved.  Beyond the heap, entry[].tour are the
 * numbers of free places for tours. */
struct tsp_queue {
	long count;
	struct tsp_tour *tour;
	struct {
		int bound, tour;
	} entry[];
};

/* Protected by the queue's lock, as is the queue. */
struct tsp_workers {
	long busy;       /* processors that have a tour, or have not yet asked for one */
	long waiting;    /* processors that wait for `event` to become `events` + 1 */
	uint64_t events; /* number of times that waiting processors were released; over all repetitions */
};

struct tsp_problem {
	int (*distance)[TSP_CITIES];
	struct tsp_queue *queue;
	struct tsp_tour *tour; /* the queue's */
	struct tsp_tour *best; /* complete */
};

/* Only the shared problem has these. */
struct tsp_sync {
	tw_lock_t queue, best;
	tw_flag_t event;
	struct tsp_workers workers;
};

static long cities, grain, seed;
static struct tsp_problem shared, plain;
static struct tsp_sync *sync_shared;

/* ---- tours ------------------------------------------------------------------------------------------------------- */

static uint32_t tsp_all(void)
{
	return (uint32_t)((UINT64_C(1) << cities) - 1);
}

static uint32_t tsp_visited(const struct tsp_tour *tour)
{
	uint32_t set = 0;

	for (int i = 0; i < tour->cities; i++)
		set |= UINT32_C(1) << tour->city[i];
	return set;
}

/* The length of a minimum spanning tree of city @root and the cities of @set (Prim's algorithm). */
static int tsp_tree(int (*distance)[TSP_CITIES], int root, uint32_t set)
{
	int from[TSP_CITIES], left[TSP_CITIES], n = 0, length = 0;

	for (; set; set &= set - 1) {
		left[n] = __builtin_ctz(set);
		from[n] = distance[root][left[n]];
		n++;
	}
	while (n > 0) {
		int next = 0, city;

		for (int i = 1; i < n; i++)
			if (from[i] < from[next])
				next = i;
		length += from[next];
		city = left[next];
		left[next] = left[--n];
		from[next] = from[n];
		for (int i = 0; i < n; i++)
			if (distance[city][left[i]] < from[i])
				from[i] = distance[city][left[i]];
	}
	return length;
}

/* Append @city to @tour, whose cities are @visited, and update its bound.  A tour of all cities is closed. */
static void tsp_append(int (*distance)[TSP_CITIES], struct tsp_tour *tour, uint32_t visited, int city)
{
	uint32_t left = tsp_all() & ~visited & ~(UINT32_C(1) << city);

	tour->length += distance[tour->city[tour->cities - 1]][city];
	tour->city[tour->cities++] = (uint8_t)city;
	if (!left)
		tour->length += distance[city][0];
	tour->bound = tour->length + (left ? tsp_tree(distance, city, left | 1) : 0);
}

/* Store in @out all tours that extend @tour by one city and can be shorter than @limit.  Returns their number. */
static int tsp_extend(int (*distance)[TSP_CITIES], const struct tsp_tour *tour, int limit, struct tsp_tour *out)
{
	uint32_t visited = tsp_visited(tour);
	int n = 0;

	for (uint32_t left = tsp_all() & ~visited; left; left &= left - 1) {
		out[n] = *tour;
		tsp_append(distance, &out[n], visited, __builtin_ctz(left));
		n += out[n].bound < limit;
	}
	return n;
}

static int tsp_compare(const void *a, const void *b)
{
	return ((const struct tsp_tour *)a)->bound - ((const struct tsp_tour *)b)->bound;
}

/* Search all completions of @tour; a shorter one than @best replaces it. */
static void tsp_search(int (*distance)[TSP_CITIES], const struct tsp_tour *tour, struct tsp_tour *best)
{
	struct tsp_tour next[TSP_CITIES];
	int n;

	if (tour->cities == cities) {
		if (tour->length < best->length)
			*best = *tour;
		return;
	}
	n = tsp_extend(distance, tour, best->length, next);
	qsort(next, (size_t)n, sizeof(*next), tsp_compare);
	for (int i = 0; i < n && next[i].bound < best->length; i++)
		tsp_search(distance, &next[i], best);
}

/* The round trip that always continues to the nearest remaining city. */
static struct tsp_tour tsp_greedy(int (*distance)[TSP_CITIES])
{
	struct tsp_tour tour = {.cities = 1};

	while (tour.cities < cities) {
		uint32_t visited = tsp_visited(&tour);
		const int *from = distance[tour.city[tour.cities - 1]];
		int nearest = -1;

		for (int c = 0; c < cities; c++)
			if (!(visited >> c & 1) && (nearest < 0 || from[c] < from[nearest]))
				nearest = c;
		tsp_append(distance, &tour, visited, nearest);
	}
	return tour;
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static void tsp_push(struct tsp_queue *queue, const struct tsp_tour *tour)
{
	long at = queue->count++;
	int place = queue->entry[at].tour;

	queue->tour[place] = *tour;
	for (; at > 0 && queue->entry[(at - 1) / 2].bound > tour->bound; at = (at - 1) / 2)
		queue->entry[at] = queue->entry[(at - 1) / 2];
	queue->entry[at].bound = tour->bound;
	queue->entry[at].tour = place;
}

/* Take the tour of the lowest bound; if none can be shorter than @limit, empty the queue and return false. */
static bool tsp_pop(struct tsp_queue *queue, int limit, struct tsp_tour *tour)
{
	int place = queue->entry[0].tour, bound;
	long at = 0, last;

	if (queue->count == 0 || queue->entry[0].bound >= limit) {
		queue->count = 0;
		return false;
	}
	*tour = queue->tour[place];
	last = --queue->count;
	bound = queue->entry[last].bound;
	for (;;) {
		long below = 2 * at + 1;

		if (below + 1 < last && queue->entry[below + 1].bound < queue->entry[below].bound)
			below++;
		if (below >= last || queue->entry[below].bound >= bound)
			break;
		queue->entry[at] = queue->entry[below];
		at = below;
	}
	queue->entry[at] = queue->entry[last];
	queue->entry[last].tour = place;
	return true;
}

/* Should @tour be searched to its end, not extended? */
static bool tsp_is_grain(const struct tsp_tour *tour, long queued)
{
	return cities - tour->cities <= grain || queued >= TSP_QUEUE;
}

/* ---- parallel ---------------------------------------------------------------------------------------------------- */

/* Set both @mine and the shared best to the shorter of the two. */
static void tsp_update_best(struct tsp_tour *mine)
{
	tw_lock_acquire(sync_shared->best);
	if (mine->length < shared.best->length)
		*shared.best = *mine;
	else
		*mine = *shared.best;
	tw_lock_release(sync_shared->best);
}

/* Let all waiting processors check again.  Needs the queue's lock. */
static void tsp_wake(struct tsp_workers *workers)
{
	if (workers->waiting == 0)
		return;
	workers->waiting = 0;
	tw_flag_set(sync_shared->event, ++workers->events);
}

/* Insert the @n tours at @found and take another that can be shorter than @limit, or wait for one.  *queued is the
 * number left.  Returns false when the search is over. */
static bool tsp_take(const struct tsp_tour *found, int n, int limit, struct tsp_tour *tour, long *queued)
{
	struct tsp_workers *workers = &sync_shared->workers;
	bool taken;

	tw_lock_acquire(sync_shared->queue);
	for (int i = 0; i < n; i++)
		tsp_push(shared.queue, &found[i]);
	workers->busy--;
	if (n > 0)
		tsp_wake(workers);
	while (!(taken = tsp_pop(shared.queue, limit, tour)) && workers->busy > 0) {
		uint64_t event = workers->events + 1;

		workers->waiting++;
		tw_lock_release(sync_shared->queue);
		tw_flag_wait(sync_shared->event, event);
		tw_lock_acquire(sync_shared->queue);
	}
	if (taken)
		workers->busy++;
	else
		tsp_wake(workers);
	*queued = shared.queue->count;
	tw_lock_release(sync_shared->queue);
	return taken;
}

static void tsp_parallel(unsigned round)
{
	struct tsp_tour tour, found[TSP_CITIES], best = {.length = INT_MAX};
	long queued;
	int n = 0;

	(void)round;
	tsp_update_best(&best);
	while (tsp_take(found, n, best.length, &tour, &queued)) {
		n = 0;
		if (tsp_is_grain(&tour, queued))
			tsp_search(shared.distance, &tour, &best);
		else
			n = tsp_extend(shared.distance, &tour, best.length, found);
		tsp_update_best(&best);
	}
}

static void tsp_sequential(void)
{
	struct tsp_tour tour, found[TSP_CITIES];

	while (tsp_pop(plain.queue, plain.best->length, &tour)) {
		if (tsp_is_grain(&tour, plain.queue->count)) {
			tsp_search(plain.distance, &tour, plain.best);
			continue;
		}
		for (int i = tsp_extend(plain.distance, &tour, plain.best->length, found); i > 0; i--)
			tsp_push(plain.queue, &found[i - 1]);
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Cities are in a square of 1000 x 1000; distances are rounded. */
static int tsp_distance(int a, int b)
{
	uint64_t row = (uint64_t)seed;
	double x = kernel_random(row, (uint64_t)a * 2) - kernel_random(row, (uint64_t)b * 2);
	double y = kernel_random(row, (uint64_t)a * 2 + 1) - kernel_random(row, (uint64_t)b * 2 + 1);

	return (int)lrint(1000 * sqrt(x * x + y * y));
}

/* Places for tours: the queue's limit, plus those that @processors may still insert when it is reached. */
static int tsp_places(int processors)
{
	return TSP_QUEUE + processors * TSP_CITIES;
}

static void tsp_init_problem(const struct tsp_problem *p, int processors)
{
	struct tsp_tour root = {.cities = 1};

	for (int a = 0; a < cities; a++)
		for (int b = 0; b < cities; b++)
			p->distance[a][b] = tsp_distance(a, b);
	p->queue->count = 0;
	p->queue->tour = p->tour;
	for (int i = 0; i < tsp_places(processors); i++)
		p->queue->entry[i].tour = i;
	tsp_push(p->queue, &root);
	*p->best = tsp_greedy(p->distance);
}

static void tsp_init(int id)
{
	if (id != 0)
		return;
	tsp_init_problem(&shared, tw_count());
	sync_shared->workers.busy = tw_count();
	sync_shared->workers.waiting = 0;
}

/* Allocate @p by @alloc; false when there is no memory. */
static bool tsp_alloc(struct tsp_problem *p, void *(*alloc)(size_t bytes), int processors)
{
	size_t places = (size_t)tsp_places(processors);

	p->distance = alloc(TSP_CITIES * sizeof(*p->distance));
	p->queue = alloc(sizeof(*p->queue) + places * sizeof(*p->queue->entry));
	p->best = alloc(sizeof(*p->best));
	p->tour = alloc(places * sizeof(*p->tour));
	return p->distance && p->queue && p->tour && p->best;
}

static bool tsp_share(void)
{
	sync_shared = kernel_share(sizeof(*sync_shared));
	if (!tsp_alloc(&shared, kernel_share, tw_count()) || !sync_shared)
		return false;
	if (tw_id() == 0) {
		sync_shared->queue = tw_lock_create();
		sync_shared->best = tw_lock_create();
		sync_shared->event = tw_flag_create();
	}
	tw_barrier_all();
	return true;
}

static void tsp_plain(void)
{
	tsp_alloc(&plain, kernel_alloc, 1);
}

static void tsp_plain_init(void)
{
	tsp_init_problem(&plain, 1);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* Does @best visit every city once, and is its length right? */
static bool tsp_is_round_trip(const struct tsp_tour *best)
{
	int length = 0;

	if (best->cities != cities || tsp_visited(best) != tsp_all())
		return false;
	for (int i = 0; i < cities; i++)
		length += tsp_distance(best->city[i], best->city[(i + 1) % cities]);
	return length == best->length;
}

/* The length of the shortest round trip, by dynamic programming over the sets of cities without city 0 (Held and
 * Karp). */
static int tsp_exact(void)
{
	size_t n = (size_t)cities - 1, sets = (size_t)1 << n;
	int *shortest = kernel_alloc(sets * n * sizeof(int)), best = INT_MAX;

	for (size_t set = 1; set < sets; set++)
		for (size_t last = 0; last < n; last++) {
			size_t before = set & ~((size_t)1 << last);
			int length = before ? INT_MAX : plain.distance[0][last + 1];

			if (before == set)
				continue;
			for (size_t c = 0; c < n; c++)
				if (before >> c & 1) {
					int through = shortest[before * n + c] + plain.distance[c + 1][last + 1];

					length = through < length ? through : length;
				}
			shortest[set * n + last] = length;
			length += plain.distance[last + 1][0];
			if (set == sets - 1 && length < best)
				best = length;
		}
	free(shortest);
	return best;
}

static bool tsp_verify(bool compare)
{
	int exact = cities <= TSP_EXACT ? tsp_exact() : plain.best->length;

	if (plain.best->length != exact)
		fprintf(stderr, "tsp: sequentially %d, by dynamic programming %d.\n", plain.best->length, exact);
	else if (compare && shared.best->length != exact)
		fprintf(stderr, "tsp: the best length is %d, sequentially %d.\n", shared.best->length, exact);
	else if (!tsp_is_round_trip(plain.best) || (compare && !tsp_is_round_trip(shared.best)))
		fprintf(stderr, "tsp: the best is no round trip of its length.\n");
	else
		return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"cities", &cities, 22, 26, 3, TSP_CITIES, "cities to visit"},
	    {"grain", &grain, 18, 22, 1, TSP_CITIES, "with so many cities left, a tour is searched and not extended"},
	    {"seed", &seed, 1, 1, 0, 1 << 30, "which map"},
	    {.name = NULL},
	};
	static const struct kernel tsp = {
	    .name = "tsp",
	    .help = "the shortest round trip by branch and bound",
	    .options = options,
	    .share = tsp_share,
	    .init = tsp_init,
	    .parallel = tsp_parallel,
	    .plain = tsp_plain,
	    .plain_init = tsp_plain_init,
	    .sequential = tsp_sequential,
	    .verify = tsp_verify,
	};

	return kernel_main(&tsp, argc, argv);
}
