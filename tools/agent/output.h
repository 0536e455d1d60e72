/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h - a processor's output stream, passed by the agent to the launcher within the wire's window.
 *
 * Output beyond the window stays in the pipe, and the processor blocks in its write: no buffer grows. */
#ifndef TW_TOOLS_AGENT_OUTPUT_H
#define TW_TOOLS_AGENT_OUTPUT_H

#include "tools/wire/wire.h"

struct output {
	int fd;          /* read end, non-blocking; -1 when closed */
	unsigned stream; /* 1 or 2 */
	bool lines;      /* whole lines, with the prefix */
	char prefix[32];
	char *held; /* read but not sent; WIRE_PIECE bytes */
	size_t length;
};

/* output_open - create the pipe; @*write_end (close-on-exec) is for the processor.  0 or -errno. */
int output_open(struct output *o, unsigned stream, bool tag, unsigned node, unsigned processor, int *write_end);
/* output_pump - read once and send what @*window allows, which is reduced.  @last: no more will arrive: send an
 * incomplete line too, and close.  Returns whether more may be available, now or when the window opens. */
bool output_pump(struct output *o, struct wire *wire, size_t *window, bool last);
/* output_close - the output is not wanted any more: the processor's next write fails. */
void output_close(struct output *o);

#endif
