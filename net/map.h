/* SPDX-License-Identifier: BSD-3-Clause */
/* map.h - mapping a node's exported memory from its file. */
#ifndef TW_NET_MAP_H
#define TW_NET_MAP_H

#include "tweed/driver/transport.h"

/* tw_net_map - map @node's memory, whose file is config->fd[node], readable and writable at an address with the
 * alignment of huge pages, without which the file's huge pages cannot be mapped.  Undone by munmap(*@map,
 * config->bytes).  Not in fault context.  Returns 0 or -errno, logged. */
int tw_net_map(const struct tw_net_config *config, unsigned node, char **map);

/* tw_net_map_all - the same for all nodes, in one area: node's memory is at *@map + node * tw_net_map_stride().  It
 * costs one mmap for each node.  tw_net_unmap_all - undo it. */
int tw_net_map_all(const struct tw_net_config *config, char **map);
void tw_net_unmap_all(const struct tw_net_config *config, char *map);
size_t tw_net_map_stride(const struct tw_net_config *config);

#endif
