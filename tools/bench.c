/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.c - `tweed bench`: runs tweed-bench at 2x1 and 1x2, gathers its lines, prints them as a table or as JSON. */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "tools/tools.h"

struct bench_result {
	char name[64], unit[16], floor_name[64];
	double value, floor; /* floor < 0: none */
};

static int bench_usage(void)
{
	printf(
	    "usage: tweed bench [--json] [OPTIONS OF tweed run]\n\n"
	    "Measures locks, barriers, page faults, twins, diffs and streams at 2x1 and 1x2, beside what the machine\n"
	    "alone would need (the floor).  Both cores should be idle otherwise.\n");
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

static void bench_print(const struct bench_result *r)
{
	printf("  %-46s %10.4g %-6s", r->name, r->value, r->unit);
	if (r->floor >= 0)
		printf(" %9.4g  %s", r->floor, r->floor_name);
	printf("\n");
	fflush(stdout);
}

/* The child: tweed run at the shape, with the caller's options. */
static void bench_exec(const char *nodes, const char *processors, int argc, char **argv)
{
	char self[PATH_MAX - 16], program[PATH_MAX];
	const char **args = calloc((size_t)argc + 14, sizeof(*args));
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int a = 0;

	if (!args || n < 0)
		_exit(1);
	self[n] = '\0';
	snprintf(program, sizeof(program), "%s-bench", self);
	args[a++] = self;
	args[a++] = "run";
	/* Misses are what is measured: no copy may be updated before it is missed, no page stay writable. */
	args[a++] = "--updates";
	args[a++] = "0";
	args[a++] = "--keep";
	args[a++] = "0";
	for (int i = 1; i < argc; i++)
		args[a++] = argv[i];
	args[a++] = "-n";
	args[a++] = nodes;
	args[a++] = "-p";
	args[a++] = processors;
	args[a++] = "--";
	args[a++] = program;
	execv(self, (char *const *)(uintptr_t)args);
	_exit(1);
}

/* Runs one shape; appends to @rows when it is not NULL, else prints.  Returns the exit status. */
static int bench_shape(const char *nodes, const char *processors, int argc, char **argv, json_t *rows)
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
		bench_exec(nodes, processors, argc, argv);
	}
	close(out[1]);
	FILE *in = fdopen(out[0], "r");
	while (in && getline(&line, &room, in) > 0) {
		if (!bench_parse(line, &r))
			continue;
		if (rows)
			json_array_append_new(
			    rows, json_pack("{s:s, s:s, s:f, s:s, s:o, s:s}", "shape", nodes[0] == '2' ? "2x1" : "1x2",
			                    "name", r.name, "value", r.value, "unit", r.unit, "floor",
			                    r.floor < 0 ? json_null() : json_real(r.floor), "floor_is", r.floor_name));
		else
			bench_print(&r);
	}
	free(line);
	if (in)
		fclose(in);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tool_bench(int argc, char **argv)
{
	bool json = false;
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return bench_usage();
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else
			argv[kept++] = argv[i];
	}
	json_t *rows = json ? json_array() : NULL;
	if (!json)
		printf("  %-46s %10s %-6s %9s\n", "", "", "", "floor");
	int status = bench_shape("2", "1", kept, argv, rows);
	if (status == 0)
		status = bench_shape("1", "2", kept, argv, rows);
	if (json) {
		if (status == 0)
			json_dumpf(rows, stdout, JSON_INDENT(1));
		printf("\n");
		json_decref(rows);
	}
	return status;
}
