/* SPDX-License-Identifier: BSD-3-Clause */
/* commandline.c - a program's arguments, how getopt goes through them, and where the environment is. */
#include <getopt.h>
#include "process.h"

/* As the kernel arranges them: the environment follows the arguments. */
static void environment_step(void *arg, int me)
{
	(void)arg;
	const char *last = environ[-2];
	say("%d: an end %d; texts in a row %d\n", me, !environ[-1], environ[0] == last + strlen(last) + 1);
}

CASE(arguments_then_environment)
{
	turns(environment_step, NULL);
}

static char *options[] = {(char *)"name", (char *)"-a",   (char *)"-b", (char *)"value",
                          (char *)"-c",   (char *)"rest", NULL};

static void getopt_step(void *arg, int me)
{
	(void)arg;
	int c = getopt(6, options, "ab:c");
	say("%d option %d, optarg %s, optind %d\n", me, c, optarg ? optarg : "-", optind);
}

CASE(getopt_in_turn)
{
	optind = 1;
	getopt_step(NULL, 0);
	turns(getopt_step, NULL);
	getopt_step(NULL, 0);
	optind = 0;
}

static void getopt_all_step(void *arg, int me)
{
	int c;

	(void)arg;
	if (me != threads)
		return;
	while ((c = getopt(6, options, "+ab:")) != -1)
		say("%d option %c\n", me, c);
}

CASE(getopt_in_thread)
{
	optind = 0;
	opterr = 0;
	turns(getopt_all_step, NULL);
	say("optind %d, optopt %c, then %s\n", optind, optopt, options[optind]);
	optind = 0;
}

static void getopt_long_step(void *arg, int me)
{
	static char *words[] = {
	    (char *)"name", (char *)"--size=5", (char *)"--fast", (char *)"-x", (char *)"--size", (char *)"6", NULL};
	static const struct option longs[] = {{"size", 1, NULL, 's'}, {"fast", 0, NULL, 'f'}, {NULL, 0, NULL, 0}};

	(void)arg;
	opterr = 0;
	int c = getopt_long(6, words, "", longs, NULL);
	say("%d option %d, optarg %s, optind %d, optopt %d\n", me, c, optarg ? optarg : "-", optind, optopt);
}

CASE(getopt_long_in_turn)
{
	optind = 0;
	turns(getopt_long_step, NULL);
	getopt_long_step(NULL, 0);
	optind = 0;
	turns(getopt_long_step, NULL);
	optind = 0;
}

MAIN(ALONE(arguments_then_environment), T(getopt_in_turn), T(getopt_long_in_turn), T(getopt_in_thread))
