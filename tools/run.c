/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - `tweed run`: everything is checked before anything is started. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "tools/tools.h"
#include "tweed/driver/fault.h"
#include "tweed/driver/protocol.h"
#include "tweed/driver/transport.h"

static void run_usage(void)
{
	printf("usage: tweed run [OPTIONS] [--] PROGRAM ARGS...\n\n"
	       "Runs PROGRAM on NODES emulated nodes of PROCESSORS processors each.\n\n");
	for (const struct tw_setting *s = tw_settings; s->name; s++) {
		char name[64];
		if (!s->option)
			continue;
		snprintf(name, sizeof(name), "%c%c%c --%s%s", s->letter ? '-' : ' ', s->letter ? s->letter : ' ',
		         s->letter ? ',' : ' ', s->option, s->type == TW_SETTING_SWITCH ? "" : " VALUE");
		printf("  %-26s %s (%s)\n", name, s->help, s->initial[0] ? s->initial : "-");
	}
	printf("\nEach is also an environment variable, TWEED_NODES and so on: see 'tweed info'.\n");
}

static const struct tw_setting *run_find(const char *name, size_t len)
{
	for (const struct tw_setting *s = tw_settings; s->name; s++)
		if (s->option && strlen(s->option) == len && memcmp(s->option, name, len) == 0)
			return s;
	return NULL;
}

static int run_unknown(const char *arg)
{
	const char *names[TOOL_SETTINGS_MAX + 1];
	char text[64];
	size_t n = 0;

	for (const struct tw_setting *s = tw_settings; s->name && n < TOOL_SETTINGS_MAX; s++)
		if (s->option)
			names[n++] = s->option;
	names[n] = NULL;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(arg, "="), arg);
	const char *near = strncmp(text, "--", 2) == 0 ? tw_nearest(text + 2, names) : NULL;
	if (near)
		tool_say("%s is no option of 'tweed run'; did you mean --%s?", text, near);
	else
		tool_say("%s is no option of 'tweed run'; 'tweed run --help' lists them", text);
	return -EINVAL;
}

static int run_set(struct tool_job *job, const struct tw_setting *s, const char *value)
{
	char error[1024];
	int status = tw_config_set(&job->config, job->origins, s, value, TW_ORIGIN_OPTION, error, sizeof(error));
	if (status < 0)
		tool_say("%s", error);
	return status;
}

/* One option at argv[0], perhaps with its value at argv[1].  Returns how many arguments it took, or -EINVAL, printed. */
static int run_option(struct tool_job *job, char **argv)
{
	const char *arg = argv[0], *value = NULL;
	const struct tw_setting *s = NULL;

	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");
		s = run_find(arg + 2, len);
		value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
	} else {
		for (const struct tw_setting *t = tw_settings; t->name && !s; t++)
			s = t->letter && t->letter == arg[1] ? t : NULL;
		value = arg[2] ? arg + 2 : NULL;
	}
	if (!s)
		return run_unknown(arg);
	if (value)
		return run_set(job, s, value) < 0 ? -EINVAL : 1;
	if (s->type == TW_SETTING_SWITCH)
		return run_set(job, s, s->choices()[1]) < 0 ? -EINVAL : 1;
	if (!argv[1]) {
		tool_say("%s needs a value: %s", arg, s->help);
		return -EINVAL;
	}
	return run_set(job, s, argv[1]) < 0 ? -EINVAL : 2;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

/* Is @path a file that can be executed?  Complains about @program if not, unless @quiet. */
static bool run_executable(const char *path, const char *program, bool quiet)
{
	struct stat st;
	const char *why = NULL;

	if (stat(path, &st) < 0)
		why = errno == ENOENT ? "does not exist; check the name" : strerror(errno);
	else if (S_ISDIR(st.st_mode))
		why = "is a directory; name a program in it";
	else if (!S_ISREG(st.st_mode))
		why = "is not a regular file; name a program";
	else if (access(path, X_OK) < 0)
		why = "is not executable; chmod +x it, or name a program";
	if (why && !quiet)
		tool_say("cannot run '%s': it %s", program, why);
	return !why;
}

/* The file of @program, as the shell would find it; NULL, printed, when there is none.  The caller frees it. */
static char *run_find_program(const char *program)
{
	char path[PATH_MAX];
	struct stat st;

	if (strchr(program, '/'))
		return run_executable(program, program, false) ? strdup(program) : NULL;
	const char *dirs = getenv("PATH");
	for (const char *at = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; *program && at; at = *at ? at + 1 : NULL) {
		size_t len = strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s%s%s", (int)len, at, len ? "/" : "./", program);
		if (run_executable(path, program, true))
			return strdup(path);
		at += len;
	}
	if (*program && stat(program, &st) == 0)
		tool_say("there is no program '%s' in PATH; for the one in this directory write './%s'", program,
		         program);
	else
		tool_say("there is no program '%s' in PATH; check the name, or give its path", program);
	return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------------------------- */

static int run_check_drivers(struct tool_job *job)
{
	char why[256] = "";
	const struct tw_transport *transport = tw_transport_find(job->config.transport);
	const struct tw_fault_ops *fault = tw_fault_find(job->config.fault);

	if (!transport || transport->probe(why, sizeof(why)) < 0) {
		tool_say("transport %s does not work here, because %s; 'tweed info' lists those that do",
		         job->config.transport, why);
		return -ENOTSUP;
	}
	if (!fault || fault->probe(why, sizeof(why)) < 0) {
		tool_say("fault backend %s does not work here, because %s; use --fault auto", job->config.fault, why);
		return -ENOTSUP;
	}
	snprintf(job->fault, sizeof(job->fault), "%s", fault->name);
	return 0;
}

/* auto becomes what is used, where the protocol shoots. */
static int run_check_shootdown(struct tool_job *job)
{
	const struct tw_protocol *protocol = tw_protocol_find(job->config.protocol);
	const char *name = job->config.shootdown;
	bool remote = tw_fault_find(job->fault)->caps & TW_FAULT_REMOTE;

	if (strcmp(name, "protect") == 0 && !remote) {
		tool_say("shootdown by protect is not usable here, because no process can change another's rights with fault "
		         "backend %s; use --shootdown polled, or --fault uffd",
		         job->fault);
		return -ENOTSUP;
	}
	if (strcmp(name, "auto") == 0 && (protocol->flags & TW_PROTOCOL_SHOOTDOWN))
		name = remote ? "protect" : "polled";
	snprintf(job->shootdown, sizeof(job->shootdown), "%s", name);
	return 0;
}

static int run_check(struct tool_job *job)
{
	char error[1024];

	if (tw_config_check(&job->config, error, sizeof(error)) < 0 ||
	    tool_report_check(job, error, sizeof(error)) < 0) {
		tool_say("%s", error);
		return -EINVAL;
	}
	if (!job->argv[0]) {
		tool_say("no program is named: tweed run [OPTIONS] PROGRAM ARGS...");
		return -EINVAL;
	}
	job->path = run_find_program(job->argv[0]);
	if (!job->path)
		return -EINVAL;
	int status = run_check_drivers(job);
	return status < 0 ? status : run_check_shootdown(job);
}

/* To a one-level protocol every processor is a node, of which some share a host. */
static void run_levels(struct tw_config *config)
{
	const struct tw_protocol *protocol = tw_protocol_find(config->protocol);

	if (!(protocol->flags & TW_PROTOCOL_ONE_LEVEL))
		return;
	config->host_nodes = config->processors;
	config->nodes *= config->processors;
	config->processors = 1;
}

/* A protocol that is only for measurements must not pass for a real one. */
static void run_warn(const struct tool_job *job)
{
	const struct tw_protocol *protocol = tw_protocol_find(job->config.protocol);

	if (protocol && (protocol->flags & TW_PROTOCOL_INCOHERENT) && job->config.nodes > 1)
		tool_say("warning: under protocol %s no node sees what another writes: answers will be wrong where nodes "
		         "share memory; it is for measuring the core",
		         protocol->name);
}

int tool_run(int argc, char **argv)
{
	static struct tool_job job;

	if (tool_configure(&job.config, job.origins) < 0)
		return TOOL_USAGE;
	int i = 1;
	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (strcmp(argv[i], "--help") == 0) {
			run_usage();
			return 0;
		}
		int took = run_option(&job, argv + i);
		if (took < 0)
			return TOOL_USAGE;
		i += took;
	}
	job.argv = argv + i;
	if (run_check(&job) < 0)
		return TOOL_USAGE;
	run_warn(&job);
	run_levels(&job.config);
	int status = tool_launch(&job);
	if (tool_report(&job) < 0 && status == 0)
		status = 1;
	free(job.stats);
	free(job.path);
	return status;
}
