/* SPDX-License-Identifier: BSD-3-Clause */
/* where.c - `tweed where`, executed by an agent: where the threads of its processors are.
 *
 * Arguments: PROCESSOR:PID each.  Standard output: a line PROCESSOR<tab>text for each of the program's threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "tools/crash/stack.h"
#include "tools/tools.h"

struct where {
	unsigned processor, threads;
	pid_t pid;
};

/* Print where a thread of the process is. */
static void where_thread(void *ctx, const struct tw_frame *frame, unsigned frames)
{
	unsigned first = stack_program(frame, frames);
	char in[512], callers[1200];
	struct where *w = ctx;

	if (first == frames)
		return; /* one of Tweed's own */
	w->threads++;
	bool called = stack_called(w->pid, frame, first, in, sizeof(in));
	if (!called)
		tw_symbol_of_process(w->pid, frame[first].ip, in, sizeof(in));
	stack_callers(w->pid, frame, frames, called ? first : first + 1, callers, sizeof(callers));
	printf("%u\tin %s%s%s\n", w->processor, in, *callers ? ", called from " : "", callers);
}

static const char *where_error(int error)
{
	return error == -ENOSYS  ? "libdw is missing"
	       : error == -EPERM ? "this host does not allow to look at processes (ptrace)"
	                         : strerror(-error);
}

int tool_where(int argc, char **argv)
{
	bool right = argc > 1;

	tw_symbol_built = TOOL_BUILD_ROOT;
	for (int i = 1; i < argc; i++) {
		struct where w = {0};

		right = sscanf(argv[i], "%u:%d", &w.processor, &w.pid) == 2;
		if (!right)
			break;
		int error = w.pid ? tw_symbol_threads(w.pid, where_thread, &w) : 0;
		if (error)
			printf("%u\tunknown: %s\n", w.processor, where_error(error));
		else if (!w.threads)
			printf("%u\t%s\n", w.processor, w.pid ? "without a thread of the program" : "not begun");
		fflush(stdout);
	}
	if (right)
		return 0;
	tool_say("'tweed where' is for agents: send SIGUSR1 to 'tweed run'");
	return TOOL_USAGE;
}
