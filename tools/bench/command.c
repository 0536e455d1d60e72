/* SPDX-License-Identifier: BSD-3-Clause */
/* command.c - `tweed bench`: runs tweed-bench in several shapes and prints its lines as a table or as JSON. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/bench/jobs.h"
#include "tools/tools.h"
#include "tweed/driver/fault.h"
#include "tweed/driver/protocol.h"

#define BENCH_BUSY 10 /* percent of the processors' time that other programs may use */

static int bench_usage(void)
{
	printf(
	    "usage: tweed bench [--json] [--network | --protocols LIST] [OPTIONS OF tweed run]\n\n"
	    "Measures locks, barriers, page faults, twins, diffs and streams at 2x1 and 1x2, shootdowns at 1x2 and "
	    "1x4,\n"
	    "beside what the machine alone would need (the floor), and then the basic operations of several protocols\n"
	    "beside each other.  Both cores should be idle otherwise.\n\n"
	    "  --json            print JSON\n"
	    "  --network         only the transport, between two nodes: its operations' latencies and bandwidths\n"
	    "  --protocols LIST  only the comparison, of these protocols, separated by blanks\n");
	return 0;
}

static bool bench_parse(char *line, struct bench_result *r)
{
	char *field[5], *next = line;
	for (int i = 0; i < 5; i++) {
		field[i] = strsep(&next, i < 4 ? "|" : "\n");
		if (!field[i])
			return false;
	}
	snprintf(r->name, sizeof(r->name), "%s", field[0]);
	r->value = strtod(field[1], NULL);
	snprintf(r->unit, sizeof(r->unit), "%s", field[2]);
	r->floor = strtod(field[3], NULL);
	snprintf(r->floor_name, sizeof(r->floor_name), "%s", field[4]);
	return true;
}

/* The header is printed with the first result, because options may be refused before. */
static void bench_print(void *ctx, const struct bench_job *job, const struct bench_result *r)
{
	static bool headed;

	(void)ctx;
	if (!headed && strcmp(job->part ? job->part : "", "network") != 0)
		printf("  %-46s %10s %-6s %9s\n", "", "", "", "floor");
	headed = true;
	printf("  %-46s %10.4g %-6s", r->name, r->value, r->unit);
	if (r->floor >= 0)
		printf(" %9.4g  %s", r->floor, r->floor_name);
	printf("\n");
	fflush(stdout);
}

static void bench_append(void *rows, const struct bench_job *job, const struct bench_result *r)
{
	json_array_append_new(rows,
	                      json_pack("{s:s, s:s, s:f, s:s, s:o, s:s}", "shape", job->shape, "name", r->name, "value",
	                                r->value, "unit", r->unit, "floor",
	                                r->floor < 0 ? json_null() : json_real(r->floor), "floor_is", r->floor_name));
}

static const struct bench_job bench_jobs[] = {
    {"2", "1", "2x1", "auto", NULL, NULL},      {"1", "2", "1x2", "auto", NULL, NULL},
    {"1", "2", "1x2", "protect", NULL, NULL},   {"1", "2", "1x2", "polled", NULL, NULL},
    {"1", "2", "1x2", "interrupt", NULL, NULL}, {"1", "4", "1x4", "protect", NULL, NULL},
    {"1", "4", "1x4", "polled", NULL, NULL},    {"1", "4", "1x4", "interrupt", NULL, NULL},
};

static const struct bench_job bench_network_job = {"2", "1", "2x1", "auto", NULL, "network"};

/* Can the fault backend that the options or the environment name protect pages? */
static bool bench_can_protect(int argc, char **argv)
{
	const char *name = getenv("TWEED_FAULT");
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--fault=", 8) == 0)
			name = argv[i] + 8;
		else if (strcmp(argv[i], "--fault") == 0 && i + 1 < argc)
			name = argv[i + 1];
	}
	const struct tw_fault_ops *fault = tw_fault_find(name);
	return fault && (fault->caps & TW_FAULT_REMOTE);
}

/* The protocol of the job, such that misses are measured: copies are not updated before a miss, and no page stays
 * writable, unless the user says so. */
static void bench_protocol(const struct bench_job *job, int argc, char **argv, char *text, size_t bytes)
{
	const char *environment = getenv("TWEED_PROTOCOL"), *name = environment ? environment : "2L";

	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--protocol") == 0)
			name = argv[i + 1];
	if (job->protocol)
		name = job->protocol;
	int len = (int)strcspn(name, ":");
	snprintf(text, bytes, "%.*s:refresh=0,retention=0%s%s", len, name, name[len] ? "," : "",
	         name + len + (name[len] == ':'));
	if (!tw_protocol_find(text))
		snprintf(text, bytes, "%s", name);
}

/* In the child: run `tweed run` in the shape, with the caller's options. */
static void bench_exec(const struct bench_job *job, int argc, char **argv)
{
	char self[PATH_MAX - 32], program[PATH_MAX], text[160];
	const char **args = calloc((size_t)argc + 24, sizeof(*args));
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int a = 0;

	if (!args || n < 0)
		_exit(1);
	self[n] = '\0';
	bench_protocol(job, argc, argv, text, sizeof(text));
	const struct tw_protocol *protocol = tw_protocol_find(text);
	bool stores = protocol && protocol->flags & TW_PROTOCOL_NEEDS_STORES;
	snprintf(program, sizeof(program), "%s-bench%s", self, stores ? "-stores" : "");
	const char *const after[] = {"-n",          job->nodes,     "-p", job->processors, "--protocol", text,
	                             "--shootdown", job->shootdown, "--", program,         job->part,    NULL};

	args[a++] = self;
	args[a++] = "run";
	for (int i = 1; i < argc; i++)
		args[a++] = argv[i];
	for (const char *const *w = after; *w; w++)
		args[a++] = *w;
	execv(self, (char *const *)(uintptr_t)args);
	_exit(1);
}

int bench_run(const struct bench_job *job, int argc, char **argv, bench_take *take, void *ctx)
{
	int out[2], status;
	char *line = NULL;
	size_t room = 0;
	struct bench_result r;

	if (pipe(out))
		return 1;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		bench_exec(job, argc, argv);
	}
	close(out[1]);
	FILE *in = fdopen(out[0], "r");
	while (in && getline(&line, &room, in) > 0)
		if (bench_parse(line, &r))
			take(ctx, job, &r);
	free(line);
	if (in)
		fclose(in);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Measure the protocol of the options, with the floors. */
static int bench_details(int argc, char **argv, json_t *rows)
{
	bool protect = bench_can_protect(argc, argv);
	int status = 0;

	for (size_t i = 0; i < sizeof(bench_jobs) / sizeof(*bench_jobs) && status == 0; i++)
		if (protect || strcmp(bench_jobs[i].shootdown, "protect") != 0)
			status = bench_run(&bench_jobs[i], argc, argv, rows ? bench_append : bench_print, rows);
	return status;
}

/* Processor time used, and total, since the machine was started, in hundredths of seconds. */
static bool bench_worked(unsigned long long worked[2])
{
	unsigned long long t[8] = {0};
	FILE *f = fopen("/proc/stat", "r");
	bool known = f && fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", t, t + 1, t + 2, t + 3, t + 4, t + 5,
	                         t + 6, t + 7) == 8;

	if (f)
		fclose(f);
	worked[0] = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
	worked[1] = worked[0] + t[3] + t[4];
	return known;
}

/* The percentage of the processors' time that other programs use now; 0 where it is unknown. */
static double bench_others(void)
{
	unsigned long long before[2], after[2];

	if (!bench_worked(before) || usleep(300000) < 0 || !bench_worked(after) || after[1] <= before[1])
		return 0;
	return 100.0 * (double)(after[0] - before[0]) / (double)(after[1] - before[1]);
}

int tool_bench(int argc, char **argv)
{
	bool json = false, network = false;
	const char *protocols = NULL;
	int kept = 1, status = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return bench_usage();
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--network") == 0)
			network = true;
		else if (strcmp(argv[i], "--protocols") == 0 && i + 1 < argc)
			protocols = argv[++i];
		else
			argv[kept++] = argv[i];
	}
	double others = bench_others();
	json_t *rows = json ? json_array() : NULL;
	if (network)
		status = bench_run(&bench_network_job, kept, argv, rows ? bench_append : bench_print, rows);
	else if (!protocols)
		status = bench_details(kept, argv, rows);
	if (status == 0 && !network)
		status = bench_compare(protocols ? protocols : BENCH_PROTOCOLS, kept, argv, rows);
	if (json && status == 0) {
		json_dumpf(rows, stdout, JSON_INDENT(1));
		printf("\n");
	}
	json_decref(rows);
	if (status == 0 && others > BENCH_BUSY)
		tool_say("warning: other programs used %.0f %% of the processors: these times say little", others);
	return status;
}
