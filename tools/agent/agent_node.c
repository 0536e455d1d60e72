/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_node.c - setup of an agent's node. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/base.h"
#include "core/job/message.h"
#include "sync/sync.h"
#include "tools/agent/agent_parts.h"
#include "tools/agent/bind.h"
#include "tools/wire/handshake.h"
#include "tools/inherited.h"
#include "tools/nofile.h"

#define AGENT_FILES 24u /* open in any case */

/* agent_own_files - the agent's descriptors that each processor has.  agent_low_files - the agent's descriptors below
 * them. */
static unsigned agent_own_files(const struct agent *a)
{
	const struct tw_config *c = &a->boot.config;
	unsigned nodes = (unsigned)c->nodes, processors = (unsigned)c->processors, own = AGENT_FILES + processors;

	if (strcmp(c->shootdown, "protect") == 0)
		own += 2 * (processors + 1);
	if (a->transport && a->transport->serve)
		own += (nodes - 1) * (1 + (c->segment ? 2 * processors : 0));
	else
		own += nodes;
	return TW_MIN(own, (unsigned)TW_FD_MOST);
}

static unsigned agent_low_files(const struct agent *a)
{
	const struct tw_config *c = &a->boot.config;
	unsigned nodes = (unsigned)c->nodes, processors = (unsigned)c->processors;

	return AGENT_FILES + 2 * processors + (a->transport && a->transport->serve ? nodes * processors : 0);
}

/* The first descriptor number of those that processors have. */
static void agent_plan_files(struct agent *a)
{
	a->transport = tw_transport_find(a->boot.config.transport);
	a->soft_files = nofile_given();
	unsigned own = agent_own_files(a), low = agent_low_files(a);
	int first = tw_fd_plan(own, &a->soft_files);
	if (first < 0 || (unsigned)first < low) {
		nofile_short(own + TW_MAX(low, TW_FD_LEAST), "a node");
		agent_fail(a);
	}
	a->boot.first_fd = first;
	inherited_numbers(a->boot.inherited, (unsigned)first);
}

/* Give @fd a number among the processors'. */
static int agent_keep(struct agent *a, int fd)
{
	int kept = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, a->boot.first_fd);

	if (fd < 0 || kept >= 0) {
		if (fd >= 0)
			close(fd);
		return kept;
	}
	nofile_short((unsigned)a->boot.first_fd + agent_own_files(a), "a node");
	agent_fail(a);
}

static int agent_memory(struct agent *a, const char *kind, size_t bytes)
{
	char name[64];
	snprintf(name, sizeof(name), "tweed-%s-%u", kind, a->boot.node);
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0) {
		tool_say("cannot make a memory file of %zu bytes: %s; lower TWEED_MEMORY", bytes, strerror(errno));
		agent_fail(a);
	}
	return agent_keep(a, fd);
}

static void *agent_map(struct agent *a, int fd, size_t offset, size_t bytes)
{
	size_t aligned = offset & ~(size_t)4095;
	char *p = mmap(NULL, bytes + offset - aligned, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)aligned);
	if (p == MAP_FAILED) {
		tool_say("cannot map %zu bytes: %s", bytes, strerror(errno));
		agent_fail(a);
	}
	madvise(p, bytes + offset - aligned, MADV_DONTDUMP);
	return p + (offset - aligned);
}

/* Handle a message that may arrive between any two others. */
static bool agent_expects_always(struct agent *a)
{
	struct wire_clock clock = a->wire.msg->clock;

	if (a->wire.msg->type == WIRE_CLOCK) {
		clock.agent_ns = tw_time_ns();
		wire_send(&a->wire, WIRE_CLOCK, &clock, sizeof(clock), NULL, 0);
	}
	return a->wire.msg->type == WIRE_CLOCK || a->wire.msg->type == WIRE_BEAT;
}

/* Receive the next message, which must be of @type.  An END or a closed connection ends the agent. */
static void agent_expect(struct agent *a, enum wire_type type)
{
	struct pollfd poller[2];
	int got;

	for (;;) {
		while ((got = wire_recv(&a->wire)) == 1 && agent_expects_always(a))
			watch_received(&a->launcher);
		if (got == 1 && a->wire.msg->type == type)
			return;
		if (got == 1) /* END */
			wire_send(&a->wire, WIRE_END, NULL, 0, NULL, 0);
		if (got == -EMFILE) {
			nofile_short((unsigned)a->boot.first_fd + agent_own_files(a), "a node");
			agent_fail(a);
		}
		if (got != -EAGAIN)
			agent_leave();
		wire_events(&a->wire, poller);
		poll(poller, 2, watch_ms(&a->launcher));
		if (wire_push(&a->wire) < 0 && errno != EAGAIN)
			agent_leave();
		if (watch_due(&a->launcher))
			agent_tick(a);
	}
}

/* Receive the program's file, arguments, variables and directory, and change to the directory. */
static void agent_take_program(struct agent *a, const struct wire_job *job)
{
	size_t whole = job->program_bytes, have = 0, strings = 0;
	char **list = calloc((size_t)job->arguments + job->variables + 2, sizeof(*list));

	a->program = malloc(whole);
	if (!a->program || !list) {
		tool_say("out of memory");
		agent_fail(a);
	}
	while (have < whole) {
		agent_expect(a, WIRE_PROGRAM);
		size_t bytes = TW_MIN((size_t)a->wire.msg->bytes, whole - have);
		memcpy(a->program + have, a->wire.msg->program, bytes);
		have += bytes;
	}
	for (size_t i = 0; i < whole; i++)
		strings += a->program[i] == '\0';
	if (strings != (size_t)job->arguments + job->variables + 2 || a->program[whole - 1] != '\0') {
		tool_say("the launcher's message about the program is damaged");
		agent_fail(a);
	}
	const char *directory = a->program;
	char *at = a->program + strlen(a->program) + 1;
	a->path = at;
	at += strlen(at) + 1;
	a->argv = list;
	a->variables = list + job->arguments + 1;
	for (uint32_t i = 0; i < job->arguments + job->variables; i++, at += strlen(at) + 1)
		list[i + (i >= job->arguments)] = at;
	if (directory[0] && chdir(directory) < 0) {
		tool_say("cannot enter the directory '%s': %s; start from one that all hosts have", directory,
		         strerror(errno));
		agent_fail(a);
	}
	if (!tool_executable(a->path, a->path, false))
		agent_fail(a);
}

/* Offer this node's memory to the others: the server's address, or the file itself. */
static void agent_offer(struct agent *a, int exported)
{
	struct tw_net_address own = {0};
	struct tw_net_config config;

	if (!a->transport || !a->transport->serve) {
		wire_send(&a->wire, WIRE_MEMORY, &own, sizeof(own), &exported, 1);
		close(exported);
		return;
	}
	a->boot.exported_fd[a->boot.node] = exported;
	tw_job_net_config(&a->boot, &a->layout, &config);
	config.near = !a->watched;
	if (a->transport->serve(&config, &a->server, &own) < 0)
		agent_fail(a);
	wire_send(&a->wire, WIRE_MEMORY, &own, sizeof(own), NULL, 0);
}

static void agent_take_nodes(struct agent *a)
{
	const struct wire_msg *msg = a->wire.msg;

	for (unsigned have = 0; have < a->boot.config.nodes;) {
		agent_expect(a, WIRE_NODES);
		for (unsigned i = 0; i < msg->nodes.count; i++, have++) {
			unsigned node = msg->nodes.first + i;
			memcpy(a->boot.host[node], msg->nodes.host[i], sizeof(a->boot.host[node]));
			if (msg->fds)
				a->boot.exported_fd[node] = agent_keep(a, msg->fd[i]);
			else
				a->boot.address[node] = msg->nodes.address[i];
		}
	}
}

static void agent_write_boot(struct agent *a)
{
	a->boot_fd = agent_keep(a, memfd_create("tweed-boot", MFD_CLOEXEC));
	if (a->boot_fd < 0 || write(a->boot_fd, &a->boot, sizeof(a->boot)) != (ssize_t)sizeof(a->boot)) {
		tool_say("cannot write the boot file: %s", strerror(errno));
		agent_fail(a);
	}
}

/* Create the socket pairs by which the node's processes pass each other their views. */
static void agent_handles(struct agent *a)
{
	for (unsigned k = 0; k <= TW_MAX_PROCESSORS; k++) {
		int32_t *pair = a->boot.handle_fd[k];
		pair[0] = pair[1] = -1;
		if (k > a->boot.config.processors || strcmp(a->boot.config.shootdown, "protect") != 0)
			continue;
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
			tool_say("cannot make a socket pair for each processor: %s; use fewer processors, or "
			         "--shootdown polled",
			         strerror(errno));
			agent_fail(a);
		}
		for (unsigned i = 0; i < 2; i++)
			pair[i] = agent_keep(a, pair[i]);
	}
}

static void agent_take_job(struct agent *a)
{
	const struct wire_job *job = &a->wire.msg->job;

	a->boot.config = job->settings.config;
	a->settings = job->settings;
	a->boot.node = job->node;
	a->boot.agent = getpid();
	a->boot.host_processes = job->host_processes;
	memcpy(a->boot.secret, a->secret ? a->secret : job->secret, sizeof(a->boot.secret));
	a->output = job->output;
	a->takes_input = job->input;
	a->watched = job->watch;
	a->window = WIRE_WINDOW;
	for (unsigned i = 0; i < TW_MAX_NODES; i++)
		a->boot.exported_fd[i] = -1;
}

void agent_bring_up(struct agent *a)
{
	char who[32];

	watch_set(&a->launcher);
	handshake_send(&a->wire);
	agent_expect(a, WIRE_JOB);
	agent_take_job(a);
	struct wire_job job = a->wire.msg->job;
	if (a->watched)
		snprintf(who, sizeof(who), "agent %u on %.16s", a->boot.node, handshake_host());
	else
		snprintf(who, sizeof(who), "agent %u", a->boot.node);
	tw_log_who(who);
	agent_take_program(a, &job);
	if (tool_resolve(&a->boot.config) < 0)
		agent_fail(a);
	if (bind_choose(&a->settings, a->boot.node, job.cores_first, job.cores_processes, &a->cpus) < 0)
		agent_fail(a);
	/* Where processors have all cores, a node's server shares its own processors' cores: when it is busy, these
	 * processors wait anyway. */
	if (a->cpus && job.cores_processes >= (unsigned)sysconf(_SC_NPROCESSORS_ONLN))
		bind_apply_all(a->cpus, (unsigned)a->boot.config.processors);

	tw_layout_compute(&a->layout, &a->boot.config);
	agent_plan_files(a);
	int exported = agent_memory(a, "exported", a->layout.exported_bytes);
	a->boot.private_fd = agent_memory(a, "private", a->layout.private_bytes);
	agent_offer(a, exported);
	agent_take_nodes(a);
	agent_handles(a);
	agent_write_boot(a);

	size_t processors = a->boot.config.processors;
	a->stats = agent_map(a, a->boot.private_fd, a->layout.stats, (processors + 1) * sizeof(struct tw_stats));
	if (a->boot.config.survive)
		a->deaths = agent_map(a, a->boot.private_fd, a->layout.deaths, sizeof(*a->deaths));
	if (a->layout.trace_bytes)
		a->trace.rings =
		    agent_map(a, a->boot.private_fd, a->layout.trace, a->layout.ports * a->layout.trace_bytes);
	a->exec_errno = mmap(NULL, processors * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	a->processor = calloc(processors, sizeof(*a->processor));
	if (a->exec_errno == MAP_FAILED || !a->processor) {
		tool_say("out of memory");
		agent_fail(a);
	}
	tw_message_lock = tw_sync_lock_serve;
	if (tw_service_start(&a->boot) < 0)
		agent_fail(a);
	struct wire_ready ready = {0};
	memcpy(ready.fault, a->boot.config.fault, sizeof(ready.fault));
	memcpy(ready.shootdown, a->boot.config.shootdown, sizeof(ready.shootdown));
	wire_send(&a->wire, WIRE_READY, &ready, sizeof(ready), NULL, 0);
	agent_expect(a, WIRE_GO);
	/* By now every node's service has started. */
	if (!(a->transport->caps & TW_NET_ONE_HOST)) {
		a->peer = calloc(a->boot.config.nodes, sizeof(*a->peer));
		for (unsigned i = 0; a->peer && i < a->boot.config.nodes; i++)
			watch_set(&a->peer[i].watch);
	}
}
