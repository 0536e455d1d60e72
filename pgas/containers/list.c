/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c - all containers, found by name. */
#include <string.h>

#include "tweed/pgas.h"

static const struct tw_map_ops *const maps[] = {&tw_lazy_list,
                                                &tw_harris_list,
                                                &tw_hinted_list,
                                                &tw_hash_map,
                                                &tw_interlocked_map,
                                                &tw_local_lazy_list,
                                                &tw_local_harris_list,
                                                &tw_local_hinted_list,
                                                &tw_local_hash_map,
                                                &tw_local_interlocked_map,
                                                NULL};

static const struct tw_queue_ops *const queues[] = {&tw_treiber_stack,
                                                    &tw_michael_scott_queue,
                                                    &tw_ring_queue,
                                                    &tw_local_treiber_stack,
                                                    &tw_local_michael_scott_queue,
                                                    &tw_local_ring_queue,
                                                    NULL};

const struct tw_map_ops *const *tw_map_list(void)
{
	return maps;
}

const struct tw_map_ops *tw_map_find(const char *name)
{
	unsigned i = 0;

	while (maps[i] && strcmp(maps[i]->name, name) != 0)
		i++;
	return maps[i];
}

const struct tw_queue_ops *const *tw_queue_list(void)
{
	return queues;
}

const struct tw_queue_ops *tw_queue_find(const char *name)
{
	unsigned i = 0;

	while (queues[i] && strcmp(queues[i]->name, name) != 0)
		i++;
	return queues[i];
}
