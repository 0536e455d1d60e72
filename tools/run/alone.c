/* SPDX-License-Identifier: BSD-3-Clause */
/* alone.c - `tweed alone PROGRAM ARGUMENTS-FROM-ZERO...`: the job of a program that was started without `tweed run`
 * (runtime/process/alone.c).  The process ends as the program has: by the same signal, too. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/run/run.h"

static void alone_note(const struct tool_job *job)
{
	const struct tw_config *c = &job->settings.config;

	if (isatty(STDERR_FILENO))
		tool_say("note: '%s' was started without 'tweed run', so it has %u node%s of %u processor%s",
		         job->argv[0], (unsigned)c->nodes, c->nodes == 1 ? "" : "s", (unsigned)c->processors,
		         c->processors == 1 ? "" : "s");
}

/* End by the signal that ended the program. */
static void alone_end(int number)
{
	struct rlimit none = {0, 0};
	sigset_t one;

	setrlimit(RLIMIT_CORE, &none); /* the program itself has left one */
	sigemptyset(&one);
	sigaddset(&one, number);
	signal(number, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(number);
}

int tool_alone(int argc, char **argv)
{
	static struct tool_job job;

	if (argc < 3) {
		tool_say("'tweed alone' is for programs that were started without 'tweed run': use that");
		return TOOL_USAGE;
	}
	job.path = strdup(argv[1]);
	if (tool_configure(&job.settings, job.origins) < 0 || tool_prepare(&job, argv + 2, 0) < 0)
		return TOOL_USAGE;
	alone_note(&job);
	int status = tool_launch_and_report(&job);
	if (job.killed)
		alone_end(job.killed);
	return status;
}
