/* SPDX-License-Identifier: BSD-3-Clause */
/* compare.c - the second part of `tweed bench`: basic operations of several protocols, with the columns of
 * Cashmere-2L's table 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tools/bench/jobs.h"
#include "tools/tools.h"
#include "tweed/driver/protocol.h"

#define COMPARE_MAX 16

/* A row: one line of tweed-bench at one shape. */
static const struct compare_row {
	const char *label, *shape, *line;
} compare_rows[] = {
    {"lock acquire, from another node", "2x1", "lock hand-over"},
    {"lock acquire, on one host", "1x2", "lock hand-over"},
    {"barrier of 2 processors, two nodes", "2x1", "barrier"},
    {"barrier of 2 processors, one host", "1x2", "barrier"},
    {"barrier of 32 processors, 8 hosts", "8x4", "barrier"},
    {"page transfer, remote", "2x1", "remote page read miss, any order"},
    {"page transfer, on one host", "1x2", "remote page read miss, any order"},
    {"page transfer, remote, sequential", "2x1", "remote page read miss, sequential"},
    {"write miss on another node's page (migration)", "2x1", "cold write miss"},
    {"write to a page that is here", "2x1", "write upgrade"},
};
#define COMPARE_ROWS (sizeof(compare_rows) / sizeof(*compare_rows))

static const struct bench_job compare_jobs[] = {
    {"2", "1", "2x1", "auto", NULL, "basic"},
    {"1", "2", "1x2", "auto", NULL, "basic"},
    {"8", "4", "8x4", "auto", NULL, "basic"},
};

struct compare {
	char *protocol[COMPARE_MAX];
	unsigned protocols, at; /* at: the current one */
	double value[COMPARE_ROWS][COMPARE_MAX];
	bool known[COMPARE_ROWS][COMPARE_MAX];
};

static void compare_take(void *ctx, const struct bench_job *job, const struct bench_result *r)
{
	struct compare *c = ctx;

	for (size_t i = 0; i < COMPARE_ROWS; i++)
		if (strcmp(compare_rows[i].shape, job->shape) == 0 && strcmp(compare_rows[i].line, r->name) == 0) {
			c->value[i][c->at] = r->value;
			c->known[i][c->at] = true;
		}
}

static void compare_print(const struct compare *c)
{
	printf("\n  %-46s", "microseconds");
	for (unsigned p = 0; p < c->protocols; p++)
		printf(" %9s", c->protocol[p]);
	printf("\n");
	for (size_t i = 0; i < COMPARE_ROWS; i++) {
		printf("  %-46s", compare_rows[i].label);
		for (unsigned p = 0; p < c->protocols; p++)
			if (c->known[i][p])
				printf(" %9.4g", c->value[i][p]);
			else
				printf(" %9s", "-");
		printf("\n");
	}
}

static void compare_append(const struct compare *c, json_t *rows)
{
	for (size_t i = 0; i < COMPARE_ROWS; i++)
		for (unsigned p = 0; p < c->protocols; p++)
			if (c->known[i][p])
				json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:f, s:s}", "protocol",
				                                      c->protocol[p], "shape", compare_rows[i].shape,
				                                      "name", compare_rows[i].label, "value",
				                                      c->value[i][p], "unit", "us"));
}

/* Split @text at blanks.  0, or TOOL_USAGE, printed. */
static int compare_split(struct compare *c, char *text)
{
	for (char *word, *next = text; (word = strsep(&next, " "));) {
		if (!*word)
			continue;
		if (c->protocols == COMPARE_MAX) {
			tool_say("--protocols names more than %d protocols; name fewer", COMPARE_MAX);
			return TOOL_USAGE;
		}
		if (!tw_protocol_find(word)) {
			tool_say("--protocols: %s", tw_protocol_why());
			return TOOL_USAGE;
		}
		c->protocol[c->protocols++] = word;
	}
	return 0;
}

int bench_compare(const char *list, int argc, char **argv, json_t *rows)
{
	struct compare *c = calloc(1, sizeof(*c));
	char *text = strdup(list);
	int status = c && text ? compare_split(c, text) : 1;

	for (; status == 0 && c->at < c->protocols; c->at++)
		for (size_t j = 0; j < sizeof(compare_jobs) / sizeof(*compare_jobs) && status == 0; j++) {
			struct bench_job job = compare_jobs[j];
			job.protocol = c->protocol[c->at];
			status = bench_run(&job, argc, argv, compare_take, c);
		}
	if (status == 0 && rows)
		compare_append(c, rows);
	else if (status == 0)
		compare_print(c);
	free(text);
	free(c);
	return status;
}
