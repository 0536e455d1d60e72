/* SPDX-License-Identifier: BSD-3-Clause */
/* installed.c - where the files of this command's build or installation are. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/tools.h"

const char *tool_self(void)
{
	static char self[PATH_MAX];

	if (!*self && readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
		tool_say(
		    "/proc is not there, by which agents are started and watched: mount it (mount -t proc proc /proc)");
		exit(TOOL_USAGE);
	}
	return self;
}

bool tool_in_build(void)
{
	return strcmp(tool_self(), TOOL_BUILD_ROOT "/tools/tweed") == 0;
}

char *tool_installed(const char *folder)
{
	const char *self = tool_self(), *tail = "/" TOOL_BINDIR "/tweed";
	size_t n = strlen(self), t = strlen(tail);
	char *path;

	bool relative = folder[0] != '/' && n > t && strcmp(self + n - t, tail) == 0;
	if (asprintf(&path, "%.*s%s%s", relative ? (int)(n - t) : 0, self, relative ? "/" : "", folder) < 0)
		tw_fatal("out of memory");
	return path;
}

char *tool_results(void)
{
	return tool_in_build() ? strdup(TOOL_SOURCE_ROOT "/results") : tool_installed(TOOL_LIBEXECDIR "/tweed");
}
