/* SPDX-License-Identifier: BSD-3-Clause */
/* alias.c - links by which builds that name gcc find this command, as ~/bin/gcc -> /usr/bin/tweed-omp-gcc. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/tools.h"

#define ALIAS_LINKS 8 /* a longer chain has no end, perhaps */

/* Set @path to the file that a shell starts as @called.  Returns whether there is one. */
static bool alias_find(const char *called, char path[PATH_MAX])
{
	if (strchr(called, '/'))
		return snprintf(path, PATH_MAX, "%s", called) < PATH_MAX;
	for (const char *at = getenv("PATH"), *end; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - at), at, called) < PATH_MAX &&
		    access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* Does the folder have such a link? */
static bool alias_in(const char *folder, int length)
{
	static const char *const compilers[] = {"gcc", "g++", "cc", "c++"};
	char path[PATH_MAX], real[PATH_MAX];

	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++)
		if (snprintf(path, sizeof(path), "%.*s/%s", length, folder, compilers[i]) < (int)sizeof(path) &&
		    realpath(path, real) && strcmp(real, tool_self()) == 0)
			return true;
	return false;
}

/* The compiler itself is in another folder. */
static void alias_leave_path(void)
{
	const char *at = getenv("PATH");
	char *left = calloc(1, strlen(at ? at : "") + 1), *to = left;

	if (!left)
		tw_fatal("out of memory");
	while (at) {
		const char *end = strchrnul(at, ':');
		if (!alias_in(at, (int)(end - at))) {
			if (to != left)
				*to++ = ':';
			to = mempcpy(to, at, (size_t)(end - at));
		}
		at = *end ? end + 1 : NULL;
	}
	setenv("PATH", left, 1);
	free(left);
}

const char *tool_alias(const char *called)
{
	static char path[PATH_MAX], target[PATH_MAX];
	const char *name = basename(called);

	if (strncmp(name, "tweed", 5) == 0 || !alias_find(called, path))
		return name;
	for (unsigned i = 0; i < ALIAS_LINKS; i++) {
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			break;
		target[n] = '\0';
		if (strncmp(basename(target), "tweed-", 6) == 0) {
			alias_leave_path();
			return basename(target);
		}
		size_t folder = *target == '/' ? 0 : (size_t)(basename(path) - path);
		if (folder + (size_t)n >= sizeof(path))
			break;
		memcpy(path + folder, target, (size_t)n + 1);
	}
	return name;
}
