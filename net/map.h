/* SPDX-License-Identifier: BSD-3-Clause */
/* map.h - mapping a node's exported memory from its file. */
#ifndef TW_NET_MAP_H
#define TW_NET_MAP_H

#include "tweed/driver/transport.h"

/* tw_net_map - map @node's memory, whose file is config->fd[node], readable and writable at an address of huge page alignment,
 * without which huge pages of the file cannot be mapped.  Undone by munmap(*@map, config->bytes).  Not in fault
 * context.  Returns 0 or -errno, logged. */
int tw_net_map(const struct tw_net_config *config, unsigned node, char **map);

#endif
