/* SPDX-License-Identifier: BSD-3-Clause */
/* metadata.c - memory that coherence costs each node, besides pages and their twins, as the number of nodes grows: TS
 * must stay as it is; 2L, whose directory has a word for each node, is the control. */
#include <stdio.h>
#include <string.h>

#include "core/memory/regions.h"
#include "tweed/driver/protocol.h"

#define GIB ((size_t)1 << 30)

struct cost {
	size_t page, fixed;
};

/* Directory, homes, queues of notices, page entries, page sets, the protocol's own. */
static size_t coherence_bytes(const char *protocol, unsigned nodes, size_t memory, size_t *pages)
{
	struct tw_config config = {.nodes = nodes,
	                           .processors = 4,
	                           .page_size = 4096,
	                           .superpage = 1,
	                           .memory = memory,
	                           .sync_objects = 65536};
	struct tw_layout l;

	strcpy(config.protocol, protocol);
	strcpy(config.transport, "shm");
	tw_layout_compute(&l, &config);
	*pages = l.pages;
	return (l.heap - l.directory) + l.protocol_bytes + (l.shadows - l.page_table) + l.protocol_private_bytes;
}

static struct cost cost(const char *protocol, unsigned nodes)
{
	size_t few, many, copies = strcmp(protocol, "TS") ? 0 : 2 * 4096; /* the public copy, and the shared one */
	size_t less = coherence_bytes(protocol, nodes, GIB, &few),
	       more = coherence_bytes(protocol, nodes, 2 * GIB, &many);
	size_t page = (more - less) / (many - few);

	return (struct cost){page - copies, less - page * few};
}

int main(void)
{
	static const unsigned nodes[] = {2, 8, 32};
	static const char *const protocol[] = {"TS", "2L"};
	struct cost c[2][3];

	printf("| nodes | TS: bytes per page | TS: fixed | 2L: bytes per page | 2L: fixed |\n|---|---|---|---|---|\n");
	for (unsigned n = 0; n < 3; n++) {
		for (unsigned p = 0; p < 2; p++)
			c[p][n] = cost(protocol[p], nodes[n]);
		printf("| %u | %zu | %zu KiB | %zu | %zu KiB |\n", nodes[n], c[0][n].page, c[0][n].fixed >> 10,
		       c[1][n].page, c[1][n].fixed >> 10);
	}
	if (c[0][0].page != c[0][2].page || c[0][0].fixed >> 10 != c[0][2].fixed >> 10) {
		printf("FAILED: TS needs more for more nodes\n");
		return 1;
	}
	if (c[1][0].page == c[1][2].page) {
		printf("FAILED: the directory of 2L was not seen to grow\n");
		return 1;
	}
	return 0;
}
