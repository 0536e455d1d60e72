/* SPDX-License-Identifier: BSD-3-Clause */
/* oshcc.c - `tweed oshcc` and `tweed oshc++`: run the compiler with the options that OpenSHMEM programs need. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "pgas/shmem/size.h"
#include "tools/compile/compile.h"
#include "tools/tools.h"

#define OSH_WORDS 40 /* maximum of added arguments */

static int osh_help(const char *name)
{
	printf("usage: tweed %s [--count] [--show] ARGUMENTS OF THE COMPILER...\n\n"
	       "Compiles and links OpenSHMEM programs (%s): #include <shmem.h>, and Tweed's library.\n"
	       "With -shared: a library whose global variables are symmetric in programs that were linked so.\n\n"
	       "  --count  instructions that count the program's work, for virtual time\n"
	       "  --show   print the command in place of running it\n",
	       name, !strstr(name, "++") ? "CC, else cc" : "CXX, else c++");
	return 0;
}

enum osh_makes { OSH_NO_LINK, OSH_LIBRARY, OSH_PROGRAM };

static enum osh_makes osh_makes(char **argv)
{
	static const char *const no_link[] = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"};
	bool input = false, library = false;

	for (; *argv; argv++) {
		for (size_t i = 0; i < sizeof(no_link) / sizeof(no_link[0]); i++)
			if (strcmp(*argv, no_link[i]) == 0)
				return OSH_NO_LINK;
		library = library || strcmp(*argv, "-shared") == 0 || strcmp(*argv, "--shared") == 0;
		input = input || **argv != '-' || strncmp(*argv, "-l", 2) == 0;
	}
	return !input ? OSH_NO_LINK : library ? OSH_LIBRARY : OSH_PROGRAM;
}

int tool_oshcc(int argc, char **argv)
{
	const char *name = argv[0];
	bool cxx = strstr(name, "++"), show = false, count = false;
	const char **command = calloc((size_t)argc + OSH_WORDS, sizeof(*command));
	char *include, *libraries;
	size_t n = 0;

	for (argv++; *argv; argv++) {
		bool shows = strcmp(*argv, "--show") == 0, counts = strcmp(*argv, "--count") == 0;
		if (!shows && !counts)
			break;
		show |= shows;
		count |= counts;
	}
	if (!*argv || strcmp(*argv, "--help") == 0)
		return osh_help(name);
	if (!command)
		tw_fatal("out of memory");
	bool below = tool_compiles_below("oshcc");
	if (below)
		command[n++] = cxx ? "c++" : "cc";
	else
		n = compiler_words(cxx, cxx ? "c++" : "cc", command, OSH_WORDS / 2);
	if (count) {
		enum compiler_kind kind = compiler_kind(cxx, command, n);
		if (kind == COMPILER_UNKNOWN)
			return 2;
		command[n++] = compiler_count(kind);
	}
	enum osh_makes makes = below ? OSH_NO_LINK : osh_makes(argv);
	include = tool_in_build() ? compile_join(TOOL_SOURCE_ROOT, "/include", "") : tool_installed(TOOL_INCLUDEDIR);
	libraries = tool_in_build() ? compile_join(TOOL_BUILD_ROOT, "", "") : tool_installed(TOOL_LIBDIR);
	command[n++] = compile_join("-I", include, "");
	command[n++] = compile_join("-I", include, "/tweed");
	while (*argv)
		command[n++] = *argv++;
	if (makes == OSH_LIBRARY)
		tool_say("a shared library finds OpenSHMEM's functions in a program that 'tweed oshcc' has linked; a "
		         "program that was "
		         "linked otherwise, as python, cannot load it");
	if (makes == OSH_LIBRARY)
		command[n++] = "-Wl,--defsym=" SH_LIBRARY_MARK "=0";
	if (makes == OSH_PROGRAM) {
		static const char *const more[] = {"-pthread", "-ljemalloc", "-lm"};
		command[n++] = compiler_linker();
		command[n++] = "-xnone";
		command[n++] = compile_join(libraries, "/libtweed.a", "");
		for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			command[n++] = more[i];
	}
	if (show) {
		for (size_t i = 0; i < n; i++)
			printf("%s%s", command[i], i + 1 < n ? " " : "\n");
		return 0;
	}
	execvp(command[0], (char *const *)(uintptr_t)command);
	tool_say("cannot run '%s': %s; install it, or name another by %s", command[0], strerror(errno),
	         cxx ? "CXX" : "CC");
	return 1;
}
