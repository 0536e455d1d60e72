/* SPDX-License-Identifier: BSD-3-Clause */
/* info.h - the part of `tweed info` about this host. */
#ifndef TW_TOOLS_INFO_INFO_H
#define TW_TOOLS_INFO_INFO_H

#include <jansson.h>

/* tool_host_json - name, build, cores, memory, limit of locked memory (-1: none), interfaces. */
json_t *tool_host_json(void);

#endif
