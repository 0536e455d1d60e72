/* SPDX-License-Identifier: BSD-3-Clause */
/* tweed.c - the `tweed` command: a table of subcommands. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/tools.h"

static const struct tool_command commands[] = {
    {"run", "[OPTIONS] [--] PROGRAM ARGS...", "run a program on several hosts, or on emulated nodes", tool_run},
    {"info", "[--json] [--changed] [PROGRAM | NAME] | --hosts LIST",
     "show settings, protocols, fault backends and transports", tool_info},
    {"bench", "[--json] [OPTIONS]", "measure basic operations, beside their floors", tool_bench},
    {"machine", "measure [OPTIONS]", "print this host's machine file, for virtual time", tool_script},
    {"compare", "PLAN [--out DIR] [--jobs N]", "run protocols, applications, shapes, networks; tables, figures",
     tool_script},
    {"try", "[OPTIONS] FOLDER -- COMMAND ARGS...", "try a program of one's own: right, refused, wrong, crash, hang",
     tool_script},
    {"top", "[JOB] [--once | --json | --prometheus ADDRESS]", "look at a running job: rates, times, waits",
     tool_script},
    {"report", "FILE [--out DIR | --text]", "draw what --trace FILE of a run has recorded", tool_script},
    {"cc", "[--poll] [--show] ARGS...", "compile and link a program that announces its stores", tool_cc},
    {"c++", "[--poll] [--show] ARGS...", "the same for C++", tool_cc},
    {"gcc", NULL, NULL, tool_cc},
    {"g++", NULL, NULL, tool_cc},
    {"pthreads", NULL, NULL, tool_pthreads},
    {"oshrun", "-n PES [--ppn P] [OPTIONS] PROGRAM ARGS...", "run an OpenSHMEM program", tool_oshrun},
    {"oshcc", "[--count] [--show] ARGS...", "compile and link an OpenSHMEM program", tool_oshcc},
    {"oshc++", "[--show] ARGS...", "the same for C++", tool_oshcc},
    {"oshgcc", NULL, NULL, tool_oshcc},
    {"oshg++", NULL, NULL, tool_oshcc},
    {"omp", "cc | c++ [--show] ARGS...", "compile and link an OpenMP program, for threads on several nodes", tool_omp},
    {"alone", NULL, NULL, tool_alone},
    {"crash", NULL, NULL, tool_crash},
    {"where", NULL, NULL, tool_where},
    {"agent", "[--] PROGRAM ARGS...", "a node of a job that a resource manager starts: mpirun, srun", tool_agent},
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

int tool_configure(struct tw_settings *settings, enum tw_origin *origins)
{
	char error[1024];

	tw_settings_init(settings, origins);
	int status = tw_settings_environment(settings, origins, environ, error, sizeof(error));
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
	printf("  tweed --version | --help\n\nEach command also takes --help.  A link to this command that is called "
	       "tweed-cc is 'tweed cc' in one\nword, for makefiles and CMake; so are tweed-omp-cc and the others.\n");
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

static const struct tool_command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	return NULL;
}

/* Split a link's name, as tweed-omp-cc, into arguments, if it names a command. */
static int split_name(int argc, char ***argv)
{
	char *name = strdup(tool_alias(argc ? **argv : ""));
	static char **words; /* allocated until the end */
	int n = 0;

	words = calloc((size_t)argc + 4, sizeof(*words));
	if (!name || !words)
		tw_fatal("out of memory");
	for (char *w = strtok(name, "-"); w && n < 4; w = strtok(NULL, "-"))
		words[n++] = w;
	if (n == 1 && find(words[0]) && find(words[0])->main == tool_cc) {
		tool_say("'%s' is a link to tweed: link it to tweed-omp-gcc, tweed-pthreads-g++ or the like", words[0]);
		exit(TOOL_USAGE);
	}
	if (n < 2 || strcmp(words[0], "tweed") != 0 || !find(words[1])) {
		free(words);
		free(name);
		return argc;
	}
	memcpy(words + n, *argv + 1, (size_t)(argc - 1) * sizeof(*words));
	*argv = words;
	return argc - 1 + n;
}

int main(int argc, char **argv)
{
	char help[] = "--help";

	argc = split_name(argc, &argv);
	if (argc < 2) {
		tool_say("no command is named; 'tweed --help' lists them");
		return TOOL_USAGE;
	}
	bool about = strcmp(argv[1], "help") == 0;
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (about && argc != 3))
		return usage();
	if (about) { /* help COMMAND */
		argv[1] = argv[2];
		argv[2] = help;
	} else if (argc == 3 && strcmp(argv[2], "-h") == 0) {
		argv[2] = help;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		printf("tweed %s\n", TWEED_VERSION);
		return 0;
	}
	const struct tool_command *command = find(argv[1]);
	return command ? command->main(argc - 1, argv + 1) : unknown(argv[1]);
}
