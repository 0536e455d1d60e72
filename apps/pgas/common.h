/* SPDX-License-Identifier: BSD-3-Clause */
/* common.h - shared by the programs of this folder: options, random numbers, counted costs. */
#ifndef TW_APPS_PGAS_COMMON_H
#define TW_APPS_PGAS_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "tweed/pgas.h"

/* An option --name VALUE; or, with @flag, --name alone.  A number, unless @word is set. */
struct option {
	const char *name;
	uint64_t *number;
	const char **word;
	bool *flag;
	const char *help;
};

/* options_read - read the command line by @options, ended by a NULL name.  Before tw_pgas_init().  A mistake ends the
 * process with a sentence and status 2; --help prints the list and ends it with status 0. */
void options_read(int argc, char **argv, const char *help, const struct option *options);

/* pgas_begin - tw_pgas_init(); on failure, ends the process with status 2. */
void pgas_begin(const struct tw_pgas_options *options);

/* need - end the job with a sentence unless @good. */
void need(bool good, const char *what);

/* A random number below @n, by splitmix64. */
uint64_t draw(uint64_t *state, uint64_t n);

/* Seconds since a fixed moment. */
double now(void);

/* costs_print - on PE 0: the total costs of @ops operations. */
void costs_print(const struct tw_pgas_stats *sum, uint64_t ops);

#endif
