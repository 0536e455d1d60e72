/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_hosts.c - any text as a list of hosts, or as a file of them: the result is names that can hide no shell syntax
 * or option, or one sentence.  The first byte of the input says which. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/run/hosts.h"

static int fuzz_file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_file = memfd_create("hosts", MFD_CLOEXEC);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	struct tw_launch launch;
	struct tool_hosts hosts;
	char error[1024] = "";

	memset(&launch, 0, sizeof(launch));
	if (fuzz_byte(&in) & 1) {
		snprintf(launch.hostfile, sizeof(launch.hostfile), "/proc/self/fd/%d", fuzz_file);
		TW_ASSERT(ftruncate(fuzz_file, 0) == 0);
		TW_ASSERT(pwrite(fuzz_file, in.data, in.bytes, 0) == (ssize_t)in.bytes);
	} else {
		memcpy(launch.hosts, in.data, TW_MIN(in.bytes, sizeof(launch.hosts) - 1));
		if (!launch.hosts[0])
			return 0;
	}
	if (hosts_read(&launch, &hosts, error, sizeof(error)) < 0) {
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
