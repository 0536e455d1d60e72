/* SPDX-License-Identifier: BSD-3-Clause */
/* oshrun.c - `tweed oshrun`: `tweed run` with OpenSHMEM's terms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pgas/shmem/size.h"
#include "tools/run/program.h"
#include "tools/run/run.h"
#include "tools/tools.h"
#include "tweed/driver/transport.h"

#define OSH_PINNED_MEMORY ((uint64_t)64 << 20)

static unsigned long osh_pes, osh_ppn; /* 0: not given */

static void osh_usage(void)
{
	printf(
	    "usage: tweed oshrun -n PES [--ppn PES] [-x NAME[=VALUE]] [OPTIONS OF tweed run] [--] PROGRAM ARGS...\n\n"
	    "Runs the OpenSHMEM program on PES processing elements: of one node here, or spread over the hosts that "
	    "are\n"
	    "named.\n\n"
	    "  -n, -np PES         processing elements of the job\n"
	    "  --ppn PES           of each node; emulated nodes, where no hosts are named\n"
	    "  -x NAME[=VALUE]     a variable for their environment, as --env\n"
	    "  --segment BYTES     symmetric memory of each, in place of what SHMEM_SYMMETRIC_SIZE asks for\n");
}

static int osh_number(const char *name, const char *text, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	if (!*number || *end || errno || *number > TW_MAX_NODES * TW_MAX_PROCESSORS) {
		tool_say("%s is '%s', but must be a whole number from 1 to %d", name, text ? text : "",
		         TW_MAX_NODES * TW_MAX_PROCESSORS);
		return -EINVAL;
	}
	return 2;
}

/* An option that `tweed run` does not have, or has otherwise.  Returns how many arguments it took, or -EINVAL,
 * printed. */
static int osh_option(struct tool_job *job, char **argv)
{
	if (strcmp(argv[0], "-n") == 0 || strcmp(argv[0], "-np") == 0)
		return osh_number(argv[0], argv[1], &osh_pes);
	if (strcmp(argv[0], "--ppn") == 0)
		return osh_number(argv[0], argv[1], &osh_ppn);
	if (strcmp(argv[0], "-x") != 0)
		return 0;
	if (!argv[1]) {
		tool_say("-x needs a value: NAME or NAME=VALUE, for the environment");
		return -EINVAL;
	}
	return run_variable(job, argv[1]) < 0 ? -EINVAL : 2;
}

/* The shape: the PEs of a node are its processors. */
static int osh_shape(struct tool_job *job)
{
	char error[1024], number[24];
	struct tool_hosts hosts = {0};

	if (!osh_pes) {
		tool_say("-n is missing: how many processing elements?");
		return -EINVAL;
	}
	if (hosts_read(&job->settings.launch, &hosts, error, sizeof(error)) < 0) {
		tool_say("%s", error);
		return -EINVAL;
	}
	unsigned nodes = hosts.nodes;
	bool given = osh_ppn;
	if (!osh_ppn)
		osh_ppn = hosts.nodes && osh_pes > hosts.nodes ? (osh_pes + hosts.nodes - 1) / hosts.nodes
		          : hosts.nodes                        ? 1
		                                               : osh_pes;
	hosts_free(&hosts);
	if (osh_pes % osh_ppn) {
		if (given)
			tool_say(
			    "--ppn %lu does not divide the %lu PEs of -n: each node has as many; choose another --ppn",
			    osh_ppn, osh_pes);
		else
			tool_say("the %lu PEs of -n are not the same number for each of %u nodes; choose another -n, "
			         "or --ppn",
			         osh_pes, nodes);
		return -EINVAL;
	}
	snprintf(number, sizeof(number), "%lu", osh_pes / osh_ppn);
	if (run_set(job, run_find("nodes", 5), number) < 0)
		return -EINVAL;
	snprintf(number, sizeof(number), "%lu", osh_ppn);
	return run_set(job, run_find("processors", 10), number);
}

static int osh_segment(struct tool_job *job)
{
	size_t heap;
	char *path;

	if (!sh_heap_size(&heap)) {
		tool_say("SHMEM_SYMMETRIC_SIZE is '%s', but " SH_SIZE_MEANS, getenv("SHMEM_SYMMETRIC_SIZE"));
		return -EINVAL;
	}
	if (job->settings.config.segment != UINT64_MAX || !job->argv[0])
		return 0;
	if (!(path = run_find_program(job->argv[0])))
		return -EINVAL;
	job->settings.config.segment = sh_segment_size(heap, program_data(path));
	free(path);
	return 0;
}

/* Only programs that also call tw_init use shared memory.  Where all of it is resident, the default is small. */
static void osh_memory(struct tool_job *job)
{
	const struct tw_transport *transport = tw_transport_find(job->settings.config.transport);
	const struct tw_setting *memory = run_find("memory", 6);

	if (transport && transport->caps & TW_NET_PINNED && job->origins[memory - tw_settings] == TW_ORIGIN_DEFAULT)
		job->settings.config.memory = OSH_PINNED_MEMORY;
}

int tool_oshrun(int argc, char **argv)
{
	static struct tool_job job;

	if (tool_configure(&job.settings, job.origins) < 0)
		return TOOL_USAGE;
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "SHMEM_", 6) == 0 && run_variable(&job, *e) < 0)
			return TOOL_USAGE;
	int program = run_options(&job, argc, argv, osh_usage, osh_option);
	if (program <= 0)
		return program < 0 ? TOOL_USAGE : 0;
	job.argv = argv + program;
	osh_memory(&job);
	if (osh_shape(&job) < 0 || osh_segment(&job) < 0 || tool_prepare(&job, argv + program, 0) < 0)
		return TOOL_USAGE;
	return tool_launch_and_report(&job);
}
