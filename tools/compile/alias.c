/* SPDX-License-Identifier: BSD-3-Clause */
/* alias.c - links by which builds that name gcc find this command, as ~/links/gcc -> /usr/bin/tweed-omp-gcc. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/compile/compile.h"
#include "tools/tools.h"

#define ALIAS_LINKS 40 /* of a chain, as the kernel follows at most */

/* Does the folder have a compiler that is this command? */
static bool alias_in(const char *folder)
{
	static const char *const compilers[] = {"gcc", "g++", "cc", "c++"};
	bool found = false;

	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers) && !found; i++) {
		char *path = compile_join(*folder ? folder : ".", "/", compilers[i]), real[PATH_MAX];
		found = realpath(path, real) && strcmp(real, tool_self()) == 0;
		free(path);
	}
	return found;
}

/* Take the folders with such links out of PATH, where the compiler itself is looked for. */
static void alias_leave_path(void)
{
	const char *path = getenv("PATH");
	char *all = strdup(path ? path : ""), *next = all, *left = NULL;

	if (!all)
		tw_fatal("out of memory");
	for (char *folder; (folder = strsep(&next, ":"));) {
		if (alias_in(folder))
			continue;
		char *more = left ? compile_join(left, ":", folder) : compile_join(folder, "", "");
		free(left);
		left = more;
	}
	setenv("PATH", left ? left : "", 1);
	free(left);
	free(all);
}

const char *tool_alias(const char *called)
{
	static char target[PATH_MAX];
	char *file = strncmp(basename(called), "tweed", 5) != 0 ? compiler_file(called) : NULL;
	const char *name = basename(called);

	for (unsigned i = 0; file && i < ALIAS_LINKS; i++) {
		ssize_t n = readlink(file, target, sizeof(target) - 1);
		if (n < 0)
			break;
		target[n] = '\0';
		if (strncmp(basename(target), "tweed-", 6) == 0) {
			alias_leave_path();
			name = basename(target);
			break;
		}
		*basename(file) = '\0';
		char *next = compile_join(*target == '/' ? "" : file, "", target);
		free(file);
		file = next;
	}
	free(file);
	return name;
}
