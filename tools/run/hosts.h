/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts.h - which host runs which node. */
#ifndef TW_TOOLS_RUN_HOSTS_H
#define TW_TOOLS_RUN_HOSTS_H

#include "core/job/settings.h"

struct tool_host {
	char name[256];
	unsigned nodes;
};

struct tool_hosts {
	struct tool_host *host; /* NULL: emulated nodes */
	unsigned count, nodes;  /* nodes: of all hosts */
};

/* hosts_read - read the launch's hosts or hostfile.  0, or -errno with a sentence in @error; then nothing needs to be
 * freed. */
int hosts_read(const struct tw_launch *launch, struct tool_hosts *hosts, char *error, size_t error_bytes);
/* hosts_of - the host of @node; nodes are assigned in the list's order. */
const struct tool_host *hosts_of(const struct tool_hosts *hosts, unsigned node);
void hosts_free(struct tool_hosts *hosts);

#endif
