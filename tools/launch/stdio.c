/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.c - the launcher's side of output and input.
 *
 * An agent may have WIRE_WINDOW bytes of output in flight, and gets credit for what output_writer.c has written.  So
 * the launcher holds at most that much of each node and always reads its wires: no other message waits for a pager.
 * Input is sent to node 0's agent in the same way. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tools/launch/output_writer.h"
#include "tools/launch/launch.h"

#define STDIO_CREDIT (WIRE_WINDOW / 4) /* the smallest credit that is sent */

int stdio_start(struct launch *l)
{
	l->output_event = -1;
	l->output = l->job->hosts.host || l->job->settings.launch.tag;
	l->input = l->job->hosts.host;
	l->window = WIRE_WINDOW;
	if (l->output && (l->output_event = writer_start()) < 0) {
		tool_say("cannot prepare to pass output on: %s", strerror(-l->output_event));
		return l->output_event;
	}
	return 0;
}

void stdio_output(struct launch *l, unsigned node, const struct wire_msg *msg)
{
	size_t bytes = msg->bytes - offsetof(struct wire_output, bytes);

	l->node[node].window -= bytes;
	if (writer_put(node, msg->output.stream, msg->output.bytes, bytes) < 0) {
		tool_say("out of memory; the job is ended");
		launch_end(l, 1);
	}
}

static void stdio_written(struct launch *l)
{
	eventfd_t value;

	eventfd_read(l->output_event, &value);
	for (unsigned i = 0; i < l->nodes; i++) {
		struct launch_node *n = &l->node[i];
		uint32_t credit;
		n->credit += writer_written(i);
		if (n->credit < STDIO_CREDIT)
			continue;
		credit = (uint32_t)n->credit;
		n->window += credit;
		n->credit = 0;
		launch_send(l, i, WIRE_CREDIT, &credit, sizeof(credit));
	}
	for (uint32_t stream = 1; stream <= 2; stream++)
		for (unsigned i = 0, deaf = writer_deaf(stream); deaf && i < l->nodes; i++)
			launch_send(l, i, WIRE_DEAF, &stream, sizeof(stream));
}

/* Only the foreground process group may read a terminal; others would be stopped. */
static bool stdio_may_read(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);
	return group < 0 || group == getpgrp();
}

void stdio_events(const struct launch *l, struct pollfd poller[2])
{
	bool read = l->input && l->going && l->window && stdio_may_read();

	poller[0] = (struct pollfd){l->output_event, POLLIN, 0};
	poller[1] = (struct pollfd){read ? STDIN_FILENO : -1, POLLIN, 0};
}

void stdio_act(struct launch *l, const struct pollfd poller[2])
{
	char text[WIRE_PIECE];

	if (poller[0].revents)
		stdio_written(l);
	if (!poller[1].revents)
		return;
	ssize_t n = read(STDIN_FILENO, text, TW_MIN(sizeof(text), l->window));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		l->input = false; /* end of input */
	else
		l->window -= (size_t)n;
	launch_send(l, 0, WIRE_INPUT, text, n > 0 ? (size_t)n : 0);
}
