/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.c - worksharing loops whose chunks are assigned at run time, and ordered regions.
 *
 * The compiler computes static schedules itself, unless a clause needs the run-time. Dynamic chunks are taken from the
 * construct's counter at node 0; no page is touched, and nothing is released or acquired.
 *
 * Ordered. The construct's turn is the number of iterations whose chunks have ended. The thread whose chunk begins
 * there may enter ordered regions, and advances the turn behind its chunk when the chunk ends. The lock that is held in
 * between is always free: it makes one chunk's stores visible to the next. */
#include "runtime/openmp/team.h"

void omp_loop_begin(const struct omp_loop *loop)
{
	struct omp_loop *mine = &omp_team->loop;

	*mine = *loop;
	if (mine->kind == OMP_AUTO)
		mine->kind = OMP_STATIC;
	if (omp_team->n == 1) {
		mine->kind = OMP_STATIC;
		mine->ordered = false;
	} else {
		mine->share = omp_share();
	}
	mine->turn = 0;
	mine->first = mine->end = 0;
	mine->inside = false;
}

/* ---- schedules: set first and end to the next chunk; false: there is none --------------------------- */

static bool loop_static(struct omp_loop *l)
{
	uint64_t n = omp_team->n, id = omp_team->id, turn = l->turn++;

	if (l->chunk) {
		uint64_t at;
		if (__builtin_mul_overflow(turn * n + id, l->chunk, &at) || at >= l->n)
			return false;
		l->first = at;
		l->end = at + TW_MIN(l->chunk, l->n - at);
		return true;
	}
	uint64_t each = l->n / n, more = l->n % n;
	l->first = each * id + TW_MIN(id, more);
	l->end = l->first + each + (id < more);
	return !turn && l->first < l->end;
}

static bool loop_dynamic(struct omp_loop *l)
{
	uint64_t chunks = (l->n - 1) / l->chunk + 1, got = l->n ? omp_share_take(l->share, OMP_NEXT) : 0;

	if (!l->n || got >= chunks)
		return false;
	l->first = got * l->chunk;
	l->end = l->first + TW_MIN(l->chunk, l->n - l->first);
	return true;
}

static bool loop_guided(struct omp_loop *l)
{
	uint64_t taken = omp_share_get(l->share, OMP_NEXT), seen, take;

	do {
		seen = taken;
		if (seen >= l->n)
			return false;
		take = TW_MIN(TW_MAX((l->n - seen) / (2 * omp_team->n), l->chunk), l->n - seen);
		taken = omp_share_raise(l->share, OMP_NEXT, seen, seen + take);
	} while (taken != seen);
	l->first = seen;
	l->end = seen + take;
	return true;
}

/* ---- ordered ---------------------------------------------------------------------------------------------------- */

static void loop_turn(struct omp_loop *l)
{
	omp_share_wait(l->share, OMP_TURN, l->first, 0);
}

/* The current chunk has ended. */
static void loop_pass(struct omp_loop *l)
{
	if (!l->ordered || l->first == l->end)
		return;
	if (l->inside)
		tw_lock_release(omp_locks.ordered);
	else
		loop_turn(l);
	l->inside = false;
	omp_share_raise(l->share, OMP_TURN, l->first, l->end);
	l->first = l->end = 0;
}

void GOMP_ordered_start(void)
{
	struct omp_loop *l = &omp_team->loop;

	if (!l->ordered || l->inside)
		return;
	th_stack_reserve();
	loop_turn(l);
	tw_lock_acquire(omp_locks.ordered);
	l->inside = true;
}

/* The turn is passed when the chunk ends. */
void GOMP_ordered_end(void) {}

bool omp_loop_next(uint64_t *first, uint64_t *end)
{
	struct omp_loop *l = &omp_team->loop;

	th_stack_reserve();
	loop_pass(l);
	bool got = l->kind == OMP_DYNAMIC ? loop_dynamic(l) : l->kind == OMP_GUIDED ? loop_guided(l) : loop_static(l);
	if (!got) {
		l->first = l->end = 0;
		return false;
	}
	*first = l->start + l->first * l->step;
	*end = l->start + l->end * l->step;
	return true;
}

void omp_loop_end(void)
{
	th_stack_reserve();
	loop_pass(&omp_team->loop);
}

/* ---- what the compiler calls ------------------------------------------------------------------------------------ */

/* With more chunks than this, the counter could overflow. */
#define LOOP_CHUNKS ((uint64_t)1 << 39)

struct omp_loop omp_loop_make(uint64_t start, uint64_t step, uint64_t n, unsigned kind, uint64_t chunk, bool ordered)
{
	struct omp_loop l = {.start = start, .step = step, .n = n, .chunk = chunk, .ordered = ordered};

	if (kind == OMP_NONE) {
		kind = omp_team->icv.schedule;
		l.chunk = omp_team->icv.chunk;
	}
	l.kind = kind & ~OMP_MONOTONIC;
	if (l.kind == OMP_AUTO)
		l.chunk = 0;
	if (l.kind == OMP_GUIDED && n >= LOOP_CHUNKS)
		l.kind = OMP_DYNAMIC;
	if (l.kind != OMP_STATIC)
		l.chunk = TW_MAX(l.chunk, n / LOOP_CHUNKS + 1);
	return l;
}

static uint64_t loop_count(long start, long end, long step)
{
	if (step > 0 ? start >= end : start <= end)
		return 0;
	uint64_t span = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
	uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
	return (span - 1) / stride + 1;
}

static uint64_t loop_count_ull(bool up, uint64_t start, uint64_t end, uint64_t step)
{
	if (up ? start >= end : start <= end)
		return 0;
	return up ? (end - start - 1) / step + 1 : (start - end - 1) / -step + 1;
}

static bool loop_start(struct omp_loop l, uint64_t *first, uint64_t *end)
{
	omp_loop_begin(&l);
	return omp_loop_next(first, end);
}

/* Each schedule, for both integer types, with its function for the next chunk. */
#define LOOP_NEXT(name)                                                                                                \
	bool GOMP_loop_##name##_next(long *first, long *end)                                                           \
	{                                                                                                              \
		return omp_loop_next((uint64_t *)first, (uint64_t *)end);                                              \
	}                                                                                                              \
	bool GOMP_loop_ull_##name##_next(unsigned long long *first, unsigned long long *end)                           \
	{                                                                                                              \
		return omp_loop_next((uint64_t *)first, (uint64_t *)end);                                              \
	}

#define LOOP_CHUNKED(name, kind, ordered)                                                                              \
	bool GOMP_loop_##name##_start(long start, long stop, long step, long chunk, long *first, long *end)            \
	{                                                                                                              \
		return loop_start(omp_loop_make((uint64_t)start, (uint64_t)step, loop_count(start, stop, step), kind,  \
		                                (uint64_t)chunk, ordered),                                             \
		                  (uint64_t *)first, (uint64_t *)end);                                                 \
	}                                                                                                              \
	bool GOMP_loop_ull_##name##_start(bool up, unsigned long long start, unsigned long long stop,                  \
	                                  unsigned long long step, unsigned long long chunk,                           \
	                                  unsigned long long *first, unsigned long long *end)                          \
	{                                                                                                              \
		return loop_start(                                                                                     \
		    omp_loop_make(start, step, loop_count_ull(up, start, stop, step), kind, chunk, ordered),           \
		    (uint64_t *)first, (uint64_t *)end);                                                               \
	}                                                                                                              \
	LOOP_NEXT(name)

#define LOOP_RUNTIME(name, ordered)                                                                                    \
	bool GOMP_loop_##name##_start(long start, long stop, long step, long *first, long *end)                        \
	{                                                                                                              \
		return loop_start(omp_loop_make((uint64_t)start, (uint64_t)step, loop_count(start, stop, step),        \
		                                OMP_NONE, 0, ordered),                                                 \
		                  (uint64_t *)first, (uint64_t *)end);                                                 \
	}                                                                                                              \
	bool GOMP_loop_ull_##name##_start(bool up, unsigned long long start, unsigned long long stop,                  \
	                                  unsigned long long step, unsigned long long *first, unsigned long long *end) \
	{                                                                                                              \
		return loop_start(                                                                                     \
		    omp_loop_make(start, step, loop_count_ull(up, start, stop, step), OMP_NONE, 0, ordered),           \
		    (uint64_t *)first, (uint64_t *)end);                                                               \
	}                                                                                                              \
	LOOP_NEXT(name)

LOOP_CHUNKED(static, OMP_STATIC, false)
LOOP_CHUNKED(dynamic, OMP_DYNAMIC, false)
LOOP_CHUNKED(guided, OMP_GUIDED, false)
LOOP_CHUNKED(nonmonotonic_dynamic, OMP_DYNAMIC, false)
LOOP_CHUNKED(nonmonotonic_guided, OMP_GUIDED, false)
LOOP_CHUNKED(ordered_static, OMP_STATIC, true)
LOOP_CHUNKED(ordered_dynamic, OMP_DYNAMIC, true)
LOOP_CHUNKED(ordered_guided, OMP_GUIDED, true)
LOOP_RUNTIME(runtime, false)
LOOP_RUNTIME(nonmonotonic_runtime, false)
LOOP_RUNTIME(maybe_nonmonotonic_runtime, false)
LOOP_RUNTIME(ordered_runtime, true)

/* Loops with clauses that need preparation. @memory: zeroed and common to the team. @first NULL: the compiler computes
 * the chunks. */
static bool loop_start_more(struct omp_loop l, uint64_t *first, uint64_t *end, uintptr_t *reductions, void **memory)
{
	omp_loop_prepare(reductions, memory);
	if (first)
		return loop_start(l, first, end);
	omp_loop_begin(&l);
	return true;
}

#define LOOP_MORE(name, ordered)                                                                                       \
	bool GOMP_loop_##name(long start, long stop, long step, long schedule, long chunk, long *first, long *end,     \
	                      uintptr_t *reductions, void **memory)                                                    \
	{                                                                                                              \
		return loop_start_more(omp_loop_make((uint64_t)start, (uint64_t)step, loop_count(start, stop, step),   \
		                                     (unsigned)schedule & ~OMP_MONOTONIC, (uint64_t)chunk, ordered),   \
		                       (uint64_t *)first, (uint64_t *)end, reductions, memory);                        \
	}                                                                                                              \
	bool GOMP_loop_ull_##name(bool up, unsigned long long start, unsigned long long stop, unsigned long long step, \
	                          long schedule, unsigned long long chunk, unsigned long long *first,                  \
	                          unsigned long long *end, uintptr_t *reductions, void **memory)                       \
	{                                                                                                              \
		return loop_start_more(omp_loop_make(start, step, loop_count_ull(up, start, stop, step),               \
		                                     (unsigned)schedule & ~OMP_MONOTONIC, chunk, ordered),             \
		                       (uint64_t *)first, (uint64_t *)end, reductions, memory);                        \
	}
LOOP_MORE(start, false)
LOOP_MORE(ordered_start, true)

/* *@memory: on entry the number of bytes, on return their address. */
void omp_loop_memory(void **memory)
{
	size_t bytes = (uintptr_t)*memory;
	void *mine = omp_team->id == 0 ? tw_calloc(1, bytes) : NULL; /* freed at the end of the job */
	uint64_t share;

	if (omp_team->id == 0 && !mine)
		th_refuse("no %zu bytes are left of TWEED_MEMORY: raise it", bytes);
	if (omp_team->n > 1) {
		share = omp_share();
		if (mine)
			omp_share_put(share, mine);
		omp_meet();
		mine = omp_share_pointer(share);
	}
	*memory = mine;
}

void omp_loop_prepare(uintptr_t *reductions, void **memory)
{
	if (reductions)
		omp_reductions_share(reductions);
	if (memory)
		omp_loop_memory(memory);
}

void GOMP_loop_end(void)
{
	omp_loop_end();
	omp_barrier();
}

void GOMP_loop_end_nowait(void)
{
	omp_loop_end();
}

static void loop_parallel(void (*function)(void *), void *data, unsigned threads, long start, long stop, long step,
                          int kind, long chunk)
{
	omp_run(
	    &(struct omp_order){.function = function,
	                        .data = data,
	                        .n = threads,
	                        .loop = omp_loop_make((uint64_t)start, (uint64_t)step, loop_count(start, stop, step),
	                                              kind, (uint64_t)chunk, false)});
}

#define LOOP_PARALLEL(name, kind)                                                                                      \
	void GOMP_parallel_loop_##name(void (*function)(void *), void *data, unsigned threads, long start, long stop,  \
	                               long step, long chunk, unsigned flags)                                          \
	{                                                                                                              \
		(void)flags;                                                                                           \
		loop_parallel(function, data, threads, start, stop, step, kind, chunk);                                \
	}
#define LOOP_PARALLEL_RUNTIME(name)                                                                                    \
	void GOMP_parallel_loop_##name(void (*function)(void *), void *data, unsigned threads, long start, long stop,  \
	                               long step, unsigned flags)                                                      \
	{                                                                                                              \
		(void)flags;                                                                                           \
		loop_parallel(function, data, threads, start, stop, step, OMP_NONE, 0);                                \
	}
LOOP_PARALLEL(static, OMP_STATIC)
LOOP_PARALLEL(dynamic, OMP_DYNAMIC)
LOOP_PARALLEL(guided, OMP_GUIDED)
LOOP_PARALLEL(nonmonotonic_dynamic, OMP_DYNAMIC)
LOOP_PARALLEL(nonmonotonic_guided, OMP_GUIDED)
LOOP_PARALLEL_RUNTIME(runtime)
LOOP_PARALLEL_RUNTIME(nonmonotonic_runtime)
LOOP_PARALLEL_RUNTIME(maybe_nonmonotonic_runtime)
