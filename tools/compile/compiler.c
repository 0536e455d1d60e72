/* SPDX-License-Identifier: BSD-3-Clause */
/* compiler.c - the compiler that CC or CXX names.
 *
 * make and CMake export CC as the compiler that they were given, which is this command, or a script that calls it.  A
 * name of this command counts as none.  For scripts, every compiler is started with a mark in its environment that
 * names the command that started it.  When that command is called again below itself, the arguments already contain all
 * that Tweed adds, and it passes them to its default compiler. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/compile/compile.h"
#include "tools/tools.h"

#define COMPILER_MARK "TWEED_COMPILING"

bool tool_compiles_below(const char *command)
{
	const char *mark = getenv(COMPILER_MARK);
	char name[32], *more;

	snprintf(name, sizeof(name), " %s ", command);
	if (mark && strstr(mark, name))
		return true;
	more = compile_join(mark ? mark : "", name, "");
	setenv(COMPILER_MARK, more, 1);
	free(more);
	return false;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

char *compiler_file(const char *name)
{
	char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), *next = path, *found = NULL;

	if (strchr(name, '/'))
		found = access(name, X_OK) == 0 ? strdup(name) : NULL;
	else
		for (char *folder; path && !found && (folder = strsep(&next, ":"));) {
			found = compile_join(*folder ? folder : ".", "/", name);
			if (access(found, X_OK) == 0)
				continue;
			free(found);
			found = NULL;
		}
	free(path);
	return found;
}

bool compiler_in_path(const char *name)
{
	char *file = compiler_file(name);

	free(file);
	return file;
}

static const char *compiler_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Is @file a script that names this command? */
static bool compiler_calls_this(const char *file)
{
	char text[4096];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 2 && memcmp(text, "#!", 2) == 0 && memmem(text, (size_t)n, "tweed", 5);
}

/* Is @word this command, or a link to it, or a script that calls it? */
static bool compiler_is_this(const char *word)
{
	char *file = compiler_file(word), real[PATH_MAX];
	bool is = file && ((realpath(file, real) && strcmp(real, tool_self()) == 0) || compiler_calls_this(file));

	free(file);
	return is || strcmp(compiler_base(word), "tweed") == 0 || strncmp(compiler_base(word), "tweed-", 6) == 0;
}

/* Commands that run the compiler named by their next argument. */
static bool compiler_is_launcher(const char *word)
{
	static const char *const launchers[] = {"ccache", "sccache", "distcc", "icecc", "env", "nice", NULL};

	for (size_t i = 0; launchers[i]; i++)
		if (strcmp(compiler_base(word), launchers[i]) == 0)
			return true;
	return strchr(word, '=') != NULL;
}

/* ---- what CC names ----------------------------------------------------------------------------------------------- */

static size_t compiler_split(const char *text, const char **words, size_t max)
{
	char *copy = strdup(text), *next = copy;
	size_t n = 0;

	if (!copy)
		tw_fatal("out of memory");
	for (char *w; (w = strsep(&next, " \t"));)
		if (*w && n < max)
			words[n++] = w;
	return n;
}

size_t compiler_words(bool cxx, const char *fallback, const char **words, size_t max)
{
	const char *text = getenv(cxx ? "CXX" : "CC");
	size_t n = compiler_split(text ? text : "", words, max), i = 0;

	while (i < n && compiler_is_launcher(words[i]))
		i++;
	return i < n && !compiler_is_this(words[i]) ? n : compiler_split(fallback, words, max);
}

/* By its name, without a version. */
static enum compiler_kind compiler_named(const char *name)
{
	static const struct {
		const char *name;
		enum compiler_kind kind;
	} names[] = {
	    {"gcc", COMPILER_GCC}, {"g++", COMPILER_GCC}, {"clang", COMPILER_CLANG}, {"clang++", COMPILER_CLANG}};
	const char *base = compiler_base(name);
	size_t n = strlen(base);

	while (n && (isdigit((unsigned char)base[n - 1]) || base[n - 1] == '.'))
		n--;
	n = base[n] && n && base[n - 1] == '-' ? n - 1 : strlen(base);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t m = strlen(names[i].name);
		if (n >= m && memcmp(base + n - m, names[i].name, m) == 0 && (n == m || base[n - m - 1] == '-'))
			return names[i].kind;
	}
	return COMPILER_UNKNOWN;
}

/* Run it. */
static enum compiler_kind compiler_ask(const char *const *words, size_t n)
{
	static const char *const question[] = {"-dM", "-E", "-x", "c", "/dev/null"};
	enum compiler_kind kind = COMPILER_UNKNOWN;
	const char *command[n + 6];
	size_t room = 0;
	char *line = NULL;
	int out[2], status;

	memcpy(command, words, n * sizeof(*command));
	memcpy(command + n, question, sizeof(question));
	command[n + 5] = NULL;
	if (pipe2(out, O_CLOEXEC) < 0)
		return kind;
	pid_t child = fork();
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		int null = open("/dev/null", O_WRONLY);
		if (null >= 0)
			dup2(null, STDERR_FILENO);
		execvp(command[0], (char *const *)(uintptr_t)command);
		_exit(127);
	}
	close(out[1]);
	FILE *in = fdopen(out[0], "r");
	while (in && getline(&line, &room, in) > 0) {
		if (strncmp(line, "#define __clang__ ", 18) == 0)
			kind = COMPILER_CLANG;
		else if (strncmp(line, "#define __GNUC__ ", 17) == 0 && kind == COMPILER_UNKNOWN)
			kind = COMPILER_GCC;
	}
	free(line);
	if (in)
		fclose(in);
	bool right = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return right ? kind : COMPILER_UNKNOWN;
}

enum compiler_kind compiler_kind(bool cxx, const char *const *words, size_t n)
{
	const char *variable = cxx ? "CXX" : "CC";
	enum compiler_kind kind;
	char real[PATH_MAX];
	size_t i = 0;

	while (i + 1 < n && compiler_is_launcher(words[i]))
		i++;
	char *file = compiler_file(words[i]);
	if (!file) {
		tool_say("there is no compiler '%s': install it, or name another by %s", words[i], variable);
		return COMPILER_UNKNOWN;
	}
	kind = compiler_named(words[i]);
	if (kind == COMPILER_UNKNOWN && realpath(file, real))
		kind = compiler_named(real);
	free(file);
	if (kind == COMPILER_UNKNOWN)
		kind = compiler_ask(words, n);
	if (kind == COMPILER_UNKNOWN)
		tool_say("'%s' is neither gcc nor clang, the compilers whose programs Tweed can run: name one of them "
		         "by %s",
		         words[i], variable);
	return kind;
}

const char *compiler_count(enum compiler_kind kind)
{
	return kind == COMPILER_GCC ? "-fsanitize-coverage=trace-pc" : "-fsanitize-coverage=bb,no-prune,trace-pc";
}

char *compiler_linker(void)
{
	if (tool_in_build())
		return compile_join("-B", TOOL_BUILD_ROOT, "/tools/compile/");
	return compile_join("-B", tool_installed(TOOL_LIBEXECDIR), "/tweed/ld/");
}
