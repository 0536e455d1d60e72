/* SPDX-License-Identifier: BSD-3-Clause */
/* reduction.c - reductions over tasks: task_reduction, in_reduction, and reduction with the modifier task.
 *
 * Each thread of the team has a copy of the variables, in memory that begins zeroed. A task finds the copy of the
 * thread that executes it; the compiler's code initialises copies, and combines them at the end. */
#include "runtime/openmp/task.h"

/* The compiler's description of reductions, a list: words of each element. */
enum {
	RED_COUNT,  /* variables */
	RED_BYTES,  /* of a thread's copies */
	RED_MEMORY, /* of the first thread's copies; before that, their alignment */
	RED_FALLBACK,
	RED_NEXT,
	RED_BLOCK, /* in the first element: the memory of all; in the others 0 */
	RED_END,   /* of the memory */
	RED_VARIABLES
};
/* Words of each variable, in ascending order of their offsets in a copy. */
enum { VAR_ADDRESS, VAR_OFFSET, VAR_UNUSED, VAR_WORDS };

static uintptr_t *reduction_next(const uintptr_t *d)
{
	return (uintptr_t *)d[RED_NEXT];
}

static const uintptr_t *reduction_variable(const uintptr_t *d, size_t k)
{
	return d + RED_VARIABLES + k * VAR_WORDS;
}

static size_t reduction_bytes(const uintptr_t *data, unsigned threads)
{
	size_t bytes = 0;

	for (const uintptr_t *d = data; d; d = reduction_next(d))
		bytes += d[RED_BYTES] * threads + d[RED_MEMORY];
	return bytes;
}

/* @block: zeroed, of reduction_bytes. Put @data before @older. */
static void reduction_place(uintptr_t *data, void *block, unsigned threads, uintptr_t *older)
{
	uintptr_t at = (uintptr_t)block;

	for (uintptr_t *d = data;; d = reduction_next(d)) {
		at = TW_ALIGN_UP(at, d[RED_MEMORY]);
		d[RED_MEMORY] = at;
		at += d[RED_BYTES] * threads;
		d[RED_END] = at;
		d[RED_BLOCK] = d == data ? (uintptr_t)block : 0;
		if (!d[RED_NEXT]) {
			d[RED_NEXT] = (uintptr_t)older;
			return;
		}
	}
}

static void *reduction_block(const uintptr_t *data, unsigned threads)
{
	size_t bytes = reduction_bytes(data, threads);
	void *block = tw_calloc(1, bytes);

	if (!block)
		th_refuse("no %zu bytes are left of TWEED_MEMORY: raise it", bytes);
	return block;
}

/* What @at, a variable or some thread's copy of one, is: its description in *@of, its offset in a copy. Returns its
 * words, or NULL inside of a variable; *@of NULL: unknown. */
static const uintptr_t *reduction_find(uintptr_t at, const uintptr_t **of, uintptr_t *offset)
{
	for (const uintptr_t *d = *of = omp_team->task->reductions; d; d = *of = reduction_next(d)) {
		bool copy = at >= d[RED_MEMORY] && at < d[RED_END];
		*offset = copy ? (at - d[RED_MEMORY]) % d[RED_BYTES] : 0;
		for (size_t k = 0; k < d[RED_COUNT]; k++) {
			const uintptr_t *v = reduction_variable(d, k);
			if (copy ? v[VAR_OFFSET] != *offset : v[VAR_ADDRESS] != at)
				continue;
			*offset = v[VAR_OFFSET];
			return v;
		}
		if (copy)
			return NULL;
	}
	return NULL;
}

/* Replace the addresses of @n variables, or of some thread's copies, by those of this thread's copies. For the first
 * @wanted of them, the variables' own addresses follow behind all. */
void GOMP_task_reduction_remap(size_t n, size_t wanted, void **address)
{
	for (size_t i = 0; i < n; i++) {
		uintptr_t offset;
		const uintptr_t *d, *v = reduction_find((uintptr_t)address[i], &d, &offset);
		if (!d || (!v && i < wanted))
			th_refuse("in_reduction: no task_reduction, or reduction with the modifier task, has the "
			          "variable at %p",
			          address[i]);
		if (i < wanted)
			address[n + i] = (void *)v[VAR_ADDRESS];
		address[i] = (void *)(d[RED_MEMORY] + omp_team->id * d[RED_BYTES] + offset);
	}
}

/* ---- task groups ------------------------------------------------------------------------------------------------- */

void GOMP_taskgroup_reduction_register(uintptr_t *data)
{
	struct omp_running *now = omp_team->task;

	th_stack_reserve();
	reduction_place(data, reduction_block(data, omp_team->n), omp_team->n, now->reductions);
	now->reductions = data;
}

/* The current task's description is no longer @data, but the one before. */
static void reduction_leave(const uintptr_t *data)
{
	struct omp_running *now = omp_team->task;
	uintptr_t *older = reduction_next(data);

	while (older && !older[RED_BLOCK])
		older = reduction_next(older);
	if (now->reductions == data)
		now->reductions = older;
}

/* The group has ended, and the copies were combined. */
void GOMP_taskgroup_reduction_unregister(uintptr_t *data)
{
	th_stack_reserve();
	reduction_leave(data);
	tw_free((void *)data[RED_BLOCK]);
}

/* ---- worksharing constructs and regions -------------------------------------------------------------------------- */

/* Each thread has a description of its own; the memory is common. */
void omp_reductions_share(uintptr_t *data)
{
	struct omp_running *now = omp_team->task;
	void *block = (void *)reduction_bytes(data, omp_team->n);

	th_stack_reserve();
	omp_loop_memory(&block);
	GOMP_taskgroup_start();
	reduction_place(data, block, omp_team->n, now->reductions);
	now->reductions = data;
}

void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
	uintptr_t *data = omp_team->task->reductions;

	GOMP_taskgroup_end();
	if (!cancelled)
		omp_barrier();
	if (omp_team->id == 0)
		GOMP_taskgroup_reduction_unregister(data);
	else
		reduction_leave(data);
}

void omp_reductions_region(struct omp_order *order)
{
	reduction_place(order->reductions, reduction_block(order->reductions, order->n), order->n, NULL);
}

unsigned GOMP_parallel_reductions(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
	struct omp_order order = {.function = function, .data = data, .n = threads, .reductions = *(uintptr_t **)data};

	(void)flags;
	omp_run(&order);
	return order.n;
}
