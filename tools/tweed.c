/* SPDX-License-Identifier: BSD-3-Clause */
/* tweed.c - the `tweed` command: a table of subcommands. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "tools/tools.h"

static const struct tool_command commands[] = {
    {"run", "[OPTIONS] [--] PROGRAM ARGS...", "run a program on several hosts, or on emulated nodes", tool_run},
    {"info", "[--json | --hosts LIST]", "show settings, protocols, fault backends and transports", tool_info},
    {"bench", "[--json] [OPTIONS]", "measure basic operations, beside their floors", tool_bench},
    {"compare", "PLAN [--out DIR] [--jobs N]", "run protocols, applications, shapes, networks; tables, figures",
     tool_script},
    {"report", "FILE [--out DIR | --text]", "draw what --trace FILE of a run has recorded", tool_script},
    {"cc", "[--poll] [--show] ARGS...", "compile and link a program that announces its stores", tool_cc},
    {"c++", "[--poll] [--show] ARGS...", "the same for C++", tool_cc},
    {"oshrun", "-n PES [--ppn P] [OPTIONS] PROGRAM ARGS...", "run an OpenSHMEM program", tool_oshrun},
    {"oshcc", "[--show] ARGS...", "compile and link an OpenSHMEM program", tool_oshcc},
    {"oshc++", "[--show] ARGS...", "the same for C++", tool_oshcc},
    {"omp", "cc | c++ [--show] ARGS...", "compile and link an OpenMP program, for threads on several nodes", tool_omp},
    {"agent", "", NULL, tool_agent}, /* a node's own process, started by run */
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

void tool_say(const char *format, ...)
{
	char line[1000];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	for (char *p = line; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	tw_log("%s", line);
}

const char *const tool_origins[] = {"default", "program", "environment", "option"};

int tool_configure(struct tw_config *config, enum tw_origin *origins)
{
	char error[1024];

	tw_config_init(config, origins);
	int status = tw_config_environment(config, origins, environ, error, sizeof(error));
	if (status < 0)
		tool_say("%s", error);
	return status;
}

static int usage(void)
{
	printf("usage: tweed COMMAND ARGS...\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		if (commands[i].help)
			printf("  tweed %s %s\n        %s\n", commands[i].name, commands[i].arguments,
			       commands[i].help);
	printf("  tweed --version | --help\n\nEach command also takes --help.\n");
	return 0;
}

static int unknown(const char *name)
{
	const char *names[COMMANDS + 1];
	size_t n = 0;

	for (size_t i = 0; i < COMMANDS; i++)
		if (commands[i].help)
			names[n++] = commands[i].name;
	names[n] = NULL;
	const char *near = tw_nearest(name, names);
	if (near)
		tool_say("'%s' is no command; did you mean 'tweed %s'?", name, near);
	else
		tool_say("'%s' is no command; 'tweed --help' lists them", name);
	return TOOL_USAGE;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		tool_say("no command is named; 'tweed --help' lists them");
		return TOOL_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return usage();
	if (strcmp(argv[1], "--version") == 0) {
		printf("tweed %s\n", TWEED_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	return unknown(argv[1]);
}
