/* SPDX-License-Identifier: BSD-3-Clause */
/* script.c - commands that are Python programs in results/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/tools.h"

int tool_script(int argc, char **argv)
{
	char *folder = tool_results();
	const char **words = calloc((size_t)argc + 5, sizeof(*words));
	char *script;

	if (!folder || !words || asprintf(&script, "%s/%s.py", folder, argv[0]) < 0)
		tw_fatal("out of memory");
	if (access(script, R_OK) < 0) {
		tool_say("there is no %s beside this command: install Tweed as a whole", script);
		return TOOL_USAGE;
	}
	words[0] = "python3";
	words[1] = script;
	words[2] = "--tweed";
	words[3] = tool_self();
	memcpy(words + 4, argv + 1, (size_t)(argc - 1) * sizeof(*words));
	execvp(words[0], (char **)(uintptr_t)words);
	tool_say("python3 cannot be run: %s; install it, or put it on the PATH", strerror(errno));
	return TOOL_USAGE;
}
