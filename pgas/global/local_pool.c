/* SPDX-License-Identifier: BSD-3-Clause */
/* local_pool.c - stamped objects: cut from chunks that are freed with the manager.
 *
 * A free object's first word links it to the next.  In use, it is a list node's next.  So a free object carries a mark
 * in it, which shows a late reader that the node has been removed (pgas/containers/harris_list.c). */
#include "pgas/global/local_pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define MARK        UINT64_C(1)
#define MARKS       UINT64_C(15)

struct local_chunk {
	struct local_chunk *next;
	uint64_t room[3]; /* objects are aligned to their size */
};

void local_pool_init(struct local_pool *pool)
{
	*pool = (struct local_pool){.stamps = 0};
	pthread_mutex_init(&pool->mutex, NULL);
}

void local_pool_fini(struct local_pool *pool)
{
	for (struct local_chunk *c = pool->chunk, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	pthread_mutex_destroy(&pool->mutex);
}

static _Atomic uint64_t *pool_link(uint64_t object)
{
	return (_Atomic uint64_t *)(uintptr_t)(object & ~MARKS);
}

static void pool_add(struct local_pool *pool, uint64_t object)
{
	atomic_store_explicit(pool_link(object), pool->free | MARK, memory_order_release);
	pool->free = object;
}

static void pool_grow(struct local_pool *pool)
{
	struct local_chunk *c = aligned_alloc(LOCAL_STAMPED_BYTES, CHUNK_BYTES);

	if (!c)
		return;
	memset(c, 0, CHUNK_BYTES);
	c->next = pool->chunk;
	pool->chunk = c;
	for (size_t at = sizeof(*c); at < CHUNK_BYTES; at += LOCAL_STAMPED_BYTES)
		pool_add(pool, (uintptr_t)c + at);
}

uint64_t local_pool_new(struct local_pool *pool)
{
	uint64_t object;

	pthread_mutex_lock(&pool->mutex);
	if (!pool->free)
		pool_grow(pool);
	if ((object = pool->free))
		pool->free = atomic_load_explicit(pool_link(object), memory_order_relaxed) & ~MARK;
	pthread_mutex_unlock(&pool->mutex);
	return object;
}

void local_pool_delete(struct local_pool *pool, uint64_t object)
{
	pthread_mutex_lock(&pool->mutex);
	pool_add(pool, object & ~MARK);
	pthread_mutex_unlock(&pool->mutex);
}
