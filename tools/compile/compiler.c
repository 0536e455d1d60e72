/* SPDX-License-Identifier: BSD-3-Clause */
/* compiler.c - the compiler that CC or CXX names, which may be a script that calls this command again.
 *
 * CMake exports CC as the compiler that it was given: a script `exec tweed omp cc "$@"` then asks for a compiler that
 * is the script.  So every compiler is started with a mark in its environment that names the command that started it.
 * When that command is called again below itself, the arguments already contain all that Tweed adds, and it passes them
 * to its default compiler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tools/tools.h"

#define COMPILER_MARK "TWEED_COMPILING"

bool tool_compiles_below(const char *command)
{
	const char *mark = getenv(COMPILER_MARK);
	char name[32], *more;

	snprintf(name, sizeof(name), " %s ", command);
	if (mark && strstr(mark, name))
		return true;
	if (asprintf(&more, "%s%s", mark ? mark : "", name) < 0)
		tw_fatal("out of memory");
	setenv(COMPILER_MARK, more, 1);
	free(more);
	return false;
}
