/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.h - jobs of tweed-bench, and what is made of their lines (bench.c, compare.c). */
#ifndef TW_TOOLS_BENCH_JOBS_H
#define TW_TOOLS_BENCH_JOBS_H

#include <jansson.h>
#include <stdbool.h>

/* What is compared when nothing else is said. */
#define BENCH_PROTOCOLS "2L 2LS 2LMigr 1LD 1L TS"

struct bench_result {
	char name[64], unit[16], floor_name[64];
	double value, floor; /* floor < 0: none */
};

struct bench_job {
	const char *nodes, *processors, *shape, *shootdown;
	const char *protocol; /* NULL: the options' */
	const char *part;     /* of tweed-bench: "basic", what protocols are compared by; "network"; NULL: the details */
};

typedef void bench_take(void *ctx, const struct bench_job *job, const struct bench_result *r);

/* bench_run - run one job with the options of `tweed run` in @argv, after argv[0]; hand each of its results to @take.
 * Returns its exit status. */
int bench_run(const struct bench_job *job, int argc, char **argv, bench_take *take, void *ctx);

/* bench_compare - run the protocols of @list, separated by blanks, and print their basic operations beside each other, or append them to
 * @rows, if not NULL.  Returns an exit status; a protocol that does not exist, or is refused, is said. */
int bench_compare(const char *list, int argc, char **argv, json_t *rows);

#endif
