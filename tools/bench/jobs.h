/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h - jobs of tweed-bench, and their results (command.c, compare.c). */
#ifndef TW_TOOLS_BENCH_JOBS_H
#define TW_TOOLS_BENCH_JOBS_H

#include <jansson.h>
#include <stdbool.h>

/* The default of a comparison. */
#define BENCH_PROTOCOLS "2L 2LS 2LMigr 1LD 1L TS"

struct bench_result {
	char name[64], unit[16], floor_name[64];
	double value, floor; /* floor < 0: none */
};

struct bench_job {
	const char *nodes, *processors, *shape, *shootdown;
	const char *protocol; /* NULL: that of the options */
	const char *part;     /* of tweed-bench: "basic" (for comparisons), "network"; NULL: all others */
};

typedef void bench_take(void *ctx, const struct bench_job *job, const struct bench_result *r);

/* bench_run - run one job with the options of `tweed run` in @argv, after argv[0], and pass each result to @take.
 * Returns its exit status. */
int bench_run(const struct bench_job *job, int argc, char **argv, bench_take *take, void *ctx);

/* bench_compare - run the protocols of @list, separated by blanks.  Print their basic operations side by side, or
 * append them to @rows, if not NULL.  Returns an exit status.  Prints a protocol that does not exist or is refused. */
int bench_compare(const char *list, int argc, char **argv, json_t *rows);

#endif
