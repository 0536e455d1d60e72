/* SPDX-License-Identifier: BSD-3-Clause */
/* under.c - `tweed run --gdb`, `--valgrind`, `--perf`: processors under another command.  A shell in each processor's
 * place executes it, because the command may depend on the rank. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tools/run/run.h"

#define UNDER_NEEDS 2u

struct tool_under {
	const char *option, *command;
	const char *file;   /* of results/, its path comes first in $@; NULL: none */
	const char *script; /* $0: the program, $@: its arguments */
	struct {
		const char *option, *value;
	} needs[UNDER_NEEDS]; /* settings, if they are not given */
	const char *only;     /* why no other value of the first one can be given; NULL: it can */
};

static const struct tool_under under_list[] = {
    /* Faults on shared memory are signals. */
    {"gdb",
     "gdb",
     "gdb.py",
     "file=$1\nshift\n[ \"$TWEED_RANK\" = 0 ] && exec gdb -q -x \"$file\" --args \"$0\" \"$@\"\n"
     "exec \"$0\" \"$@\"",
     {{"watch", "0"}},
     NULL},
    /* Its registers must be right at every access, because the handler of a fault returns to it.  It does not know
     * userfaultfd, and keeps much for each byte that may be used. */
    {"valgrind",
     "valgrind",
     NULL,
     "exec valgrind -q --px-default=allregs-at-mem-access --px-file-backed=allregs-at-mem-access \"$0\" \"$@\"",
     {{"fault", "mprotect"}, {"memory", "1G"}},
     "valgrind does not know userfaultfd: use --fault mprotect, or leave it out"},
    {"perf", "perf", NULL, "exec perf record -q -o \"perf.data.$TWEED_RANK\" -- \"$0\" \"$@\"", {{0}}, NULL},
};

const struct tool_under *under_find(const char *option)
{
	for (size_t i = 0; i < sizeof(under_list) / sizeof(*under_list); i++)
		if (strcmp(under_list[i].option, option) == 0)
			return &under_list[i];
	return NULL;
}

/* Apply what the command needs.  Returns 0 or -EINVAL, printed. */
static int under_settings(struct tool_job *job, const struct tool_under *u)
{
	for (size_t i = 0; i < UNDER_NEEDS && u->needs[i].option; i++) {
		const struct tw_setting *s = run_find(u->needs[i].option, strlen(u->needs[i].option));
		char given[64];

		if (job->origins[s - tw_settings] <= TW_ORIGIN_PROGRAM && run_set(job, s, u->needs[i].value) < 0)
			return -EINVAL;
		tw_setting_text(&job->settings, s, given, sizeof(given));
		if (i == 0 && u->only && strcmp(given, u->needs[0].value) != 0) {
			tool_say("%s", u->only);
			return -EINVAL;
		}
	}
	return 0;
}

int under_apply(struct tool_job *job)
{
	const struct tool_under *u = job->under;
	size_t n = 0;

	if (!u)
		return 0;
	if (job->settings.launch.hosts[0] || job->settings.launch.hostfile[0]) {
		tool_say("--%s is for emulated nodes of this host: leave --hosts and --hostfile out", u->option);
		return -EINVAL;
	}
	char *command = run_find_program(u->command);
	if (!command || under_settings(job, u) < 0) {
		free(command);
		return -EINVAL;
	}
	free(command);
	while (job->argv[n])
		n++;
	const char **argv = calloc(n + 5, sizeof(*argv));
	char *folder = u->file ? tool_results() : NULL, *file = NULL;
	if (!argv || (folder && asprintf(&file, "%s/%s", folder, u->file) < 0)) {
		tool_say("out of memory");
		return -ENOMEM;
	}
	free(folder);
	argv[0] = job->executed = "/bin/sh";
	argv[1] = "-c";
	argv[2] = u->script;
	argv[3] = job->path;
	if (file)
		argv[4] = file;
	memcpy(argv + 4 + (file != NULL), job->argv + 1, (n - 1) * sizeof(*argv));
	job->argv = (char **)argv;
	return 0;
}
