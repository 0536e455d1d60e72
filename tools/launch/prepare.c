/* SPDX-License-Identifier: BSD-3-Clause */
/* prepare.c - the steps of the setup, from an agent's HANDSHAKE to GO (wire.h).  Node 0 goes first in each step, so
 * that a failure common to all nodes is reported once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/wire/handshake.h"
#include "tools/launch/launch.h"
#include "tools/nofile.h"

#define PREPARE_FILES 3u /* of a node, while messages wait */

/* The node's position among the job's processors that share its cores. */
static void prepare_count_cores(const struct launch *l, unsigned node, struct wire_job *job)
{
	const struct wire_handshake *mine = &l->node[node].handshake;
	uint32_t processors = (uint32_t)l->job->settings.config.processors;

	job->host_processes = job->cores_first = job->cores_processes = 0;
	for (unsigned i = 0; i < l->nodes; i++) {
		const struct wire_handshake *h = &l->node[i].handshake;
		if (strcmp(h->boot, mine->boot) != 0)
			continue;
		job->host_processes += processors;
		if (h->cpus != mine->cpus)
			continue;
		job->cores_processes += processors;
		if (i < node)
			job->cores_first += processors;
	}
}

static void prepare_send_jobs(struct launch *l, unsigned first, unsigned end)
{
	struct wire_job job = {.output = l->output,
	                       .input = l->input,
	                       .program_bytes = (uint32_t)l->program_bytes,
	                       .variables = (uint32_t)l->job->variables,
	                       .settings = l->job->settings};

	while (l->job->argv[job.arguments])
		job.arguments++;
	for (unsigned i = first; i < end; i++) {
		bool holds = l->job->connection && l->job->connection[i] >= 0; /* over a network without encryption */
		memcpy(job.secret, holds ? (const uint8_t[sizeof(job.secret)]){0} : l->secret, sizeof(job.secret));
		job.node = i;
		job.watch = l->node[i].host || !l->node[i].child;
		prepare_count_cores(l, i, &job);
		l->node[i].step = LAUNCH_CONFIGURED;
		launch_send(l, i, WIRE_JOB, &job, sizeof(job));
		for (size_t at = 0; at < l->program_bytes; at += WIRE_PIECE)
			launch_send(l, i, WIRE_PROGRAM, l->program + at, TW_MIN(l->program_bytes - at, WIRE_PIECE));
	}
}

void prepare_connected(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	struct launch_node *n = &l->node[i];
	char error[512];

	n->handshake = msg->handshake;
	n->connected = true;
	n->step = LAUNCH_CONNECTED;
	l->connected++;
	if (handshake_check(&n->handshake, launch_where(l, i), error, sizeof(error)) < 0) {
		if (!l->ending)
			tool_say("%s", error);
		launch_end(l, TOOL_USAGE);
	} else if (start_agents(l) < 0) {
		launch_end(l, TOOL_USAGE);
	} else if (l->connected == l->nodes) {
		prepare_send_jobs(l, 0, 1);
	}
}

static void prepare_send_part(struct launch *l, unsigned i, const struct wire_nodes *part)
{
	int fd[WIRE_NODES_MOST], status = 0;

	for (unsigned n = 0; n < part->count; n++)
		fd[n] = l->node[part->first + n].memory;
	if (l->node[i].wire.in >= 0)
		status = wire_send(&l->node[i].wire, WIRE_NODES, part, sizeof(*part), fd, fd[0] >= 0 ? part->count : 0);
	if (status != -EMFILE || l->ending)
		return;
	nofile_short(PREPARE_FILES * l->nodes, "the launcher");
	launch_end(l, TOOL_USAGE);
}

static void prepare_describe(const struct launch *l, unsigned node, struct tw_net_address *address,
                             char host[TW_HOST_BYTES])
{
	const char *name = launch_host(l, node);

	*address = l->node[node].address;
	snprintf(host, TW_HOST_BYTES, "%s", name ? name : "");
}

/* All memories exist: send their descriptors, or addresses, to agents. */
static void prepare_send_nodes(struct launch *l, unsigned first, unsigned end)
{
	static struct wire_nodes part;

	for (part.first = 0; part.first < l->nodes; part.first += part.count) {
		part.count = TW_MIN(l->nodes - part.first, (unsigned)WIRE_NODES_MOST);
		for (unsigned n = 0; n < part.count; n++)
			prepare_describe(l, part.first + n, &part.address[n], part.host[n]);
		for (unsigned i = first; i < end; i++)
			prepare_send_part(l, i, &part);
	}
	for (unsigned i = first; i < end; i++)
		l->node[i].step = LAUNCH_JOINED;
}

void prepare_have_memory(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	l->node[i].memory = msg->fds ? msg->fd[0] : -1;
	l->node[i].address = msg->memory;
	l->node[i].step = LAUNCH_MEMORY;
	l->have_memory++;
	if (i == 0)
		prepare_send_jobs(l, 1, l->nodes);
	if (l->have_memory == l->nodes)
		prepare_send_nodes(l, 0, 1);
}

static void prepare_have_ready(struct launch *l, unsigned i)
{
	l->node[i].step = LAUNCH_READY;
	l->ready++;
	if (i == 0) {
		prepare_send_nodes(l, 1, l->nodes);
		for (unsigned n = 0; n < l->nodes; n++)
			if (l->node[n].memory >= 0)
				close(l->node[n].memory);
	}
	if (l->ready == l->nodes) {
		l->began_ns = tw_time_ns();
		l->going = true;
		launch_send_all(l, WIRE_GO);
	}
}

/* Times from another host's agent are useful in a trace only if its clock's offset is known. */
void prepare_agent_ready(struct launch *l, unsigned i)
{
	struct launch_node *n = &l->node[i];
	struct wire_clock clock = {.launcher_ns = tw_time_ns()};

	if (l->job->settings.config.trace[0] && (n->host || !n->child) && trace_clock_asks(&l->trace, i)) {
		n->step = LAUNCH_CLOCK;
		launch_send(l, i, WIRE_CLOCK, &clock, sizeof(clock));
	} else {
		prepare_have_ready(l, i);
	}
}
