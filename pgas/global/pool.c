/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c - objects in segments: chunks, pools, and the return of objects that another PE has freed.
 *
 * A segment is cut into chunks of 64 KiB by a fetch-and-add on its bump word.  A chunk belongs to the PE that took it,
 * in whatever segment it is, until its objects are freed, and to one pool for ever, as its first words say.  So an
 * allocation needs no other PE, wherever the object is placed.
 *
 * A PE puts an object that it frees on a list of its own, one per pool and segment, and allocates from there.  Surplus
 * objects of a list are returned in batches: a compare-and-swap on the owner's ring_tail, and one put.  The owner takes
 * them in when its own list is empty.  Memory PEs that do not compute take nothing in; nothing is returned to them.
 *
 * The ring: senders reserve [tail, tail + batch) only while tail + batch - head <= POOL_RING.  So the slots that they
 * write are zero, because the owner zeroes a slot before it increments head. */
#include "pgas/global/pool.h"

#include <errno.h>
#include <stdlib.h>

#if TW_ASAN
#include <sanitizer/asan_interface.h>
#endif

#define POOLS        256u
#define POOL_SIZES   24u                   /* of tw_new(): two for each power of two, 16 bytes to 32 KiB */
#define POOL_STAMPED POOL_SIZES            /* the first of EPOCHS, one for each manager */
#define POOL_FIRST   (POOL_SIZES + EPOCHS) /* the first of tw_pool_create() */
#define POOL_LARGE   (POOLS - 1)           /* objects of whole chunks, which are never cut */
#define CHUNK_HEAD   ((size_t)64)
#define CHUNK_MAGIC  UINT64_C(0x4b4e554843475754)

struct chunk {
	uint64_t magic;
	uint32_t pool, chunks; /* chunks: of a large object */
};

/* Free objects of one pool in one segment, and the chunk that is being cut. */
struct pool_list {
	uint64_t *raw;
	size_t n, room;
	uint64_t next, end;
	size_t send_at; /* length at which a batch is returned */
};

struct tw_pool {
	unsigned number;
	size_t bytes;            /* of an object; 0: the pool does not exist */
	struct pool_list **list; /* [pes], each NULL before its first use */
};

/* This PE's knowledge of another segment. */
struct pool_target {
	uint8_t *pool_of;    /* [chunks] pool + 1; 0: unknown */
	uint64_t tail, head; /* of its ring, when last read */
};

static struct tw_pool pool_all[POOLS];
static struct pool_target *pool_targets;
static unsigned pool_users; /* pools created by tw_pool_create */
static uint64_t pool_stamps, pool_random;
static unsigned pool_turn;

static const uint16_t pool_sizes[POOL_SIZES] = {16,   32,   48,   64,    80,    96,    128,   192,
                                                256,  384,  512,  768,   1024,  1536,  2048,  3072,
                                                4096, 6144, 8192, 10912, 13088, 16368, 21824, 32736};

static void *pool_memory(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);

	if (!p)
		tw_fatal("no memory for the lists of free objects");
	return p;
}

int pool_open(void)
{
	if (tw_segment.pe - tw_pgas.options.memory_first < tw_pgas.options.memory_pes)
		pool_own()->bump = TW_ALIGN_UP(tw_pgas.at + sizeof(struct pool_control), POOL_CHUNK);
	else
		pool_own()->bump = tw_pgas.at + tw_pgas.options.bytes;
	pool_targets = pool_memory(tw_segment.pes, sizeof(*pool_targets));
	memset(pool_all, 0, sizeof(pool_all));
	for (unsigned i = 0; i < POOL_SIZES; i++)
		pool_all[i].bytes = pool_sizes[i];
	for (unsigned i = POOL_STAMPED; i < POOL_FIRST; i++)
		pool_all[i].bytes = POOL_STAMPED_BYTES;
	for (unsigned i = 0; i < POOLS; i++) {
		pool_all[i].number = i;
		pool_all[i].list = pool_memory(tw_segment.pes, sizeof(pool_all[i].list[0]));
	}
	pool_users = 0;
	pool_stamps = 0;
	pool_turn = tw_segment.pe;
	pool_random = (tw_pgas.options.seed + tw_segment.pe) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	return 0;
}

void pool_close(void)
{
	for (unsigned i = 0; i < POOLS; i++) {
		for (unsigned pe = 0; pe < tw_segment.pes; pe++)
			if (pool_all[i].list[pe]) {
				free(pool_all[i].list[pe]->raw);
				free(pool_all[i].list[pe]);
			}
		free(pool_all[i].list);
	}
	for (unsigned pe = 0; pe < tw_segment.pes; pe++)
		free(pool_targets[pe].pool_of);
	free(pool_targets);
}

static struct pool_list *pool_list(struct tw_pool *pool, unsigned pe)
{
	if (!pool->list[pe]) {
		pool->list[pe] = pool_memory(1, sizeof(struct pool_list));
		pool->list[pe]->send_at = 2 * POOL_BATCH;
	}
	return pool->list[pe];
}

static void list_add(struct pool_list *list, uint64_t raw)
{
	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 128;
		list->raw = realloc(list->raw, list->room * sizeof(list->raw[0]));
		if (!list->raw)
			tw_fatal("no memory for the lists of free objects");
	}
	list->raw[list->n++] = raw;
}

/* ---- which pool ---- */

static size_t chunk_of(uint64_t raw)
{
	return tw_gptr_offset(tw_gptr_of_raw(raw)) & ~(POOL_CHUNK - 1);
}

static void chunk_begin(unsigned pe, size_t at, unsigned pool, unsigned chunks)
{
	struct chunk head = {CHUNK_MAGIC, pool, chunks};

	access_put(pe, at, &head, sizeof(head));
}

static struct chunk chunk_read(unsigned pe, size_t at)
{
	struct chunk head;

	access_get(pe, at, &head, sizeof(head), true);
	if (tw_segment_lost(pe))
		return (struct chunk){CHUNK_MAGIC, POOL_LARGE, 0};
	if (head.magic != CHUNK_MAGIC || head.pool >= POOLS)
		tw_fatal("tw_delete: no object was allocated at %zu of PE %u", at, pe);
	return head;
}

/* The pool of the object; reads the head of each chunk of another node once. */
static struct tw_pool *pool_of(unsigned pe, uint64_t raw)
{
	size_t at = chunk_of(raw);

	if (tw_segment_near(pe))
		return &pool_all[chunk_read(pe, at).pool];
	struct pool_target *target = &pool_targets[pe];
	if (!target->pool_of)
		target->pool_of = pool_memory(tw_segment.bytes / POOL_CHUNK + 1, 1);
	uint8_t *known = &target->pool_of[at / POOL_CHUNK];
	if (!*known) {
		struct chunk head = chunk_read(pe, at);
		if (head.pool == POOL_LARGE)
			return &pool_all[POOL_LARGE];
		*known = (uint8_t)(head.pool + 1);
	}
	return &pool_all[*known - 1];
}

/* ---- allocation ---- */

/* Take returned objects in, up to @end or the first empty slot. */
static void pool_take_in_to(uint64_t end)
{
	struct pool_control *own = pool_own();
	_Atomic uint64_t *slot;
	uint64_t raw, head = own->ring_head;

	while (slot = (_Atomic uint64_t *)&own->ring[head % POOL_RING],
	       (raw = atomic_load_explicit(slot, memory_order_acquire)) || head < end) {
		atomic_store_explicit(slot, 0, memory_order_relaxed);
		if (raw)
			list_add(pool_list(pool_of(tw_segment.pe, raw), tw_segment.pe), raw);
		atomic_store_explicit((_Atomic uint64_t *)&own->ring_head, ++head, memory_order_release);
	}
}

static void pool_take_in(void)
{
	pool_take_in_to(0);
}

void pool_mend(void)
{
	pool_take_in_to(access_load(tw_segment.pe, POOL_CONTROL(ring_tail)));
}

/* Take @chunks adjacent chunks of the segment of @pe.  0: it is full, or lost. */
static size_t chunks_take(unsigned pe, size_t chunks)
{
	size_t end = tw_pgas.at + tw_pgas.options.bytes, bytes = chunks * POOL_CHUNK, at = 0;

	access_pardon();
	if (bytes <= tw_pgas.options.bytes && access_load(pe, POOL_CONTROL(bump)) <= end - bytes)
		at = access_amo(pe, POOL_CONTROL(bump), TW_AMO_ADD, bytes, 0);
	access_pardon_end();
	return at > end - bytes || tw_segment_lost(pe) ? 0 : at;
}

static bool pool_cut(struct tw_pool *pool, struct pool_list *list, unsigned pe)
{
	size_t at = chunks_take(pe, 1);

	if (!at)
		return false;
	chunk_begin(pe, at, pool->number, 1);
	list->next = at + CHUNK_HEAD;
	list->end = list->next + (POOL_CHUNK - CHUNK_HEAD) / pool->bytes * pool->bytes;
	return true;
}

static tw_gptr pool_given(uint64_t raw, size_t bytes)
{
	(void)bytes;
	tw_pgas.stats.allocated++;
#if TW_ASAN
	if (tw_gptr_local(tw_gptr_of_raw(raw)))
		ASAN_UNPOISON_MEMORY_REGION(tw_gptr_local(tw_gptr_of_raw(raw)), bytes);
#endif
	return tw_gptr_of_raw(raw);
}

tw_gptr tw_pool_new_at(struct tw_pool *pool, unsigned pe)
{
	if (pe >= tw_segment.pes)
		tw_fatal("there is no PE %u to allocate in", pe);
	if (tw_segment_lost(pe))
		return tw_null();
	struct pool_list *list = pool_list(pool, pe);
	if (!list->n && pe == tw_segment.pe)
		pool_take_in();
	if (list->n)
		return pool_given(list->raw[--list->n], pool->bytes);
	if (list->next == list->end && !pool_cut(pool, list, pe))
		return tw_null();
	uint64_t raw = (uint64_t)pe << 40 | list->next;
	list->next += pool->bytes;
	return pool_given(raw, pool->bytes);
}

static tw_gptr large_new_at(unsigned pe, size_t bytes)
{
	unsigned chunks = (unsigned)((bytes + CHUNK_HEAD + POOL_CHUNK - 1) / POOL_CHUNK);
	struct pool_list *list = pool_list(&pool_all[POOL_LARGE], pe);

	for (size_t i = 0; i < list->n; i++)
		if (chunk_read(pe, chunk_of(list->raw[i])).chunks == chunks) {
			uint64_t raw = list->raw[i];
			list->raw[i] = list->raw[--list->n];
			return pool_given(raw, bytes);
		}
	size_t at = chunks_take(pe, chunks);
	if (!at)
		return tw_null();
	chunk_begin(pe, at, POOL_LARGE, chunks);
	return pool_given((uint64_t)pe << 40 | (at + CHUNK_HEAD), bytes);
}

tw_gptr tw_new_at(unsigned pe, size_t bytes)
{
	unsigned size = 0;

	if (pe >= tw_segment.pes)
		tw_fatal("there is no PE %u to allocate in", pe);
	if (tw_segment_lost(pe))
		return tw_null();
	if (bytes > pool_sizes[POOL_SIZES - 1])
		return bytes > tw_pgas.options.bytes ? tw_null() : large_new_at(pe, bytes);
	while (pool_sizes[size] < bytes)
		size++;
	return tw_pool_new_at(&pool_all[size], pe);
}

/* ---- placement ---- */

/* The memory PEs of this node, or all if it has none: [*first, *first + n). */
static unsigned place_here(unsigned *first)
{
	unsigned begin = TW_MAX(tw_segment.first, tw_pgas.options.memory_first);
	unsigned end =
	    TW_MIN(tw_segment.first + tw_segment.locals, tw_pgas.options.memory_first + tw_pgas.options.memory_pes);

	*first = begin < end ? begin : tw_pgas.options.memory_first;
	return begin < end ? end - begin : tw_pgas.options.memory_pes;
}

static unsigned place_by_policy(void)
{
	unsigned first = tw_pgas.options.memory_first, n = tw_pgas.options.memory_pes;

	switch (tw_pgas.options.place) {
	case TW_PLACE_OWN:
		if (tw_segment.pe - first < n)
			return tw_segment.pe;
		n = place_here(&first);
		return first + tw_segment.pe % n;
	case TW_PLACE_RAND:
		pool_random ^= pool_random << 13;
		pool_random ^= pool_random >> 7;
		pool_random ^= pool_random << 17;
		return first + (unsigned)(pool_random % n);
	case TW_PLACE_GLOBAL_RR:
		return first + pool_turn++ % n;
	case TW_PLACE_GLOBAL_MOD:
		return first + tw_segment.pe % n;
	case TW_PLACE_LOCAL_RR:
		n = place_here(&first);
		return first + pool_turn++ % n;
	default:
		n = place_here(&first);
		return first + tw_segment.pe % n;
	}
}

/* Skips lost PEs. */
static unsigned place_choose(void)
{
	unsigned first = tw_pgas.options.memory_first, n = tw_pgas.options.memory_pes, pe = place_by_policy();

	for (unsigned i = 0; i < n && tw_segment_lost(pe); i++)
		pe = first + (pe - first + 1) % n;
	return pe;
}

tw_gptr tw_new(size_t bytes)
{
	return tw_new_at(place_choose(), bytes);
}

tw_gptr tw_pool_new(struct tw_pool *pool)
{
	return tw_pool_new_at(pool, place_choose());
}

tw_gptr pool_new_stamped(unsigned manager, unsigned pe)
{
	return tw_pool_new_at(&pool_all[POOL_STAMPED + manager], pe ? pe - 1 : place_choose());
}

/* ---- return of objects ---- */

/* Reserve a batch of the ring of @pe; false: it is full. */
static bool ring_reserve(unsigned pe, uint64_t *at)
{
	struct pool_target *target = &pool_targets[pe];

	for (unsigned tries = 0; tries < 3; tries++) {
		if (target->tail + POOL_BATCH - target->head > POOL_RING || tries) {
			uint64_t seen[2];
			access_get(pe, POOL_CONTROL(ring_tail), seen, sizeof(seen), true);
			target->tail = seen[0];
			target->head = seen[1];
			if (target->tail + POOL_BATCH - target->head > POOL_RING)
				return false;
		}
		uint64_t was = access_cas(pe, POOL_CONTROL(ring_tail), target->tail, target->tail + POOL_BATCH);
		if (was == target->tail) {
			*at = was;
			target->tail += POOL_BATCH;
			return true;
		}
	}
	return false;
}

static void pool_send_home(struct pool_list *list, unsigned pe)
{
	uint64_t at;

	if (!ring_reserve(pe, &at)) {
		list->send_at = list->n + POOL_BATCH;
		return;
	}
	list->send_at = 2 * POOL_BATCH;
	list->n -= POOL_BATCH;
#if TW_ASAN
	/* Unpoisoned here, because the allocation by another process does not do it in this one. */
	for (size_t i = list->n; i < list->n + POOL_BATCH; i++)
		if (tw_gptr_local(tw_gptr_of_raw(list->raw[i])))
			ASAN_UNPOISON_MEMORY_REGION(tw_gptr_local(tw_gptr_of_raw(list->raw[i])),
			                            pool_of(pe, list->raw[i])->bytes);
#endif
	/* Batches do not wrap: the ring's size is a multiple of theirs. */
	access_put(pe, POOL_CONTROL(ring) + at % POOL_RING * sizeof(uint64_t), &list->raw[list->n],
	           POOL_BATCH * sizeof(uint64_t));
}

static bool pool_serves(unsigned pe)
{
	return pe - tw_pgas.options.compute_first < tw_pgas.options.compute_pes && !tw_segment_dead(pe);
}

static bool pool_stamped(const struct tw_pool *pool)
{
	return pool->number - POOL_STAMPED < EPOCHS;
}

void tw_delete(tw_gptr p)
{
	unsigned pe = tw_gptr_pe(p);

	access_check(pe, tw_gptr_offset(p), 16);
	if (tw_segment_lost(pe))
		return;
	access_pardon();
	struct tw_pool *pool = pool_of(pe, p.raw);
	struct pool_list *list = pool_list(pool, pe);
	uint64_t raw = pool_stamped(pool) ? p.raw : tw_unmarked(p).raw;

#if TW_ASAN
	/* Stamped objects may be read after they were freed. */
	if (tw_gptr_local(p) && !pool_stamped(pool))
		ASAN_POISON_MEMORY_REGION(tw_gptr_local(p), pool->bytes);
#endif
	list_add(list, raw);
	/* Objects that this PE frees and allocates again stay; a surplus batch is returned. */
	if (list->n >= list->send_at && pe != tw_segment.pe && pool->number != POOL_LARGE && pool_serves(pe))
		pool_send_home(list, pe);
	access_pardon_end();
}

/* ---- pools ---- */

int tw_pool_create(size_t bytes, struct tw_pool **pool)
{
	tw_control_barrier();
	if (bytes == 0 || bytes > pool_sizes[POOL_SIZES - 1] || pool_users == POOL_LARGE - POOL_FIRST) {
		if (tw_segment.pe == 0)
			tw_log("tw_pool_create: objects of %zu bytes, pool %u: 1 to %u bytes, %u pools", bytes,
			       pool_users, pool_sizes[POOL_SIZES - 1], POOL_LARGE - POOL_FIRST);
		return -EINVAL;
	}
	*pool = &pool_all[POOL_FIRST + pool_users++];
	(*pool)->bytes = TW_ALIGN_UP(bytes, (size_t)16);
	return 0;
}

void tw_pool_destroy(struct tw_pool *pool)
{
	(void)pool;
	tw_control_barrier();
}

uint64_t tw_pool_stamp(void)
{
	return (uint64_t)tw_segment.pe << 40 | ++pool_stamps;
}
