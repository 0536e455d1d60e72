/* SPDX-License-Identifier: BSD-3-Clause */
/* local_pool.h - stamped objects (epoch.h) of a LocalEpochManager, for all its threads. */
#ifndef TW_PGAS_LOCAL_POOL_H
#define TW_PGAS_LOCAL_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define LOCAL_STAMPED_BYTES 32u

struct local_pool {
	pthread_mutex_t mutex;
	struct local_chunk *chunk; /* all chunks, the newest first */
	uint64_t free;             /* the first free object, with its marks */
	_Atomic uint64_t stamps;
};

void local_pool_init(struct local_pool *pool);
void local_pool_fini(struct local_pool *pool);
/* local_pool_new - an object, with the marks with which it was deleted; 0: no memory. */
uint64_t local_pool_new(struct local_pool *pool);
void local_pool_delete(struct local_pool *pool, uint64_t object);

#endif
