/* SPDX-License-Identifier: BSD-3-Clause */
/* reserved.c - the registry of layers above the core that reserve memory of each node. Agents use it too, although
 * runtime/openmp is linked to programs only. */
#include "core/memory/regions.h"

#include "runtime/openmp/reserve.h"
#include "sync/sync.h"

static size_t threads_exported_bytes(const struct tw_config *config)
{
	(void)config;
	return OMP_EXPORTED_BYTES + LOCALE_BYTES + EXECUTABLE_BYTES;
}

static size_t threads_private_bytes(const struct tw_config *config)
{
	return OMP_NODE_BYTES + config->processors * OMP_PROCESSOR_BYTES;
}

const struct tw_reservation tw_reservations[TW_RESERVED_KINDS] = {
    [TW_RESERVED_SYNC] = {tw_sync_exported_bytes, tw_sync_private_bytes},
    [TW_RESERVED_THREADS] = {threads_exported_bytes, threads_private_bytes},
};
