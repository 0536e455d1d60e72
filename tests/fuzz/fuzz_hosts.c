/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_hosts.c - any text as a list of hosts: names that no shell or option can be hidden in, or one sentence. */
#include <string.h>

#include "base/util.h"
#include "tools/hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_config config;
	struct tool_hosts hosts;
	char error[1024] = "";

	memset(&config, 0, sizeof(config));
	memcpy(config.hosts, data, TW_MIN(size, sizeof(config.hosts) - 1));
	if (!config.hosts[0])
		return 0;
	if (hosts_read(&config, &hosts, error, sizeof(error)) < 0) {
		TW_ASSERT(error[0] && !hosts.host);
		return 0;
	}
	TW_ASSERT(hosts.count >= 1 && hosts.nodes >= 1 && hosts.nodes <= TW_MAX_NODES);
	for (unsigned i = 0; i < hosts.nodes; i++) {
		const char *name = hosts_of(&hosts, i)->name;
		TW_ASSERT(name[0] && name[0] != '-' && !strpbrk(name, " ;&|<>$`'\"\\\n\t*?()"));
	}
	hosts_free(&hosts);
	return 0;
}
