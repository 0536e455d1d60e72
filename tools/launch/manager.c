/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/launch/manager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tools/agent/agent.h"
#include "tools/agent/supervisor.h"
#include "tools/launch/rendezvous.h"
#include "tools/launch/pmix.h"
#include "tools/tools.h"

#define MANAGER_RENDEZVOUS_S 60

/* What the first process publishes: where it listens; "": it has failed and printed why.  Neither secret is sent over
 * the connections that follow. */
struct manager_rendezvous {
	uint8_t secret[TW_NET_SECRET_BYTES], job_secret[TW_NET_SECRET_BYTES];
	char place[RENDEZVOUS_PLACE_BYTES];
};

static int manager_agent(const struct manager_rendezvous *m, unsigned rank)
{
	if (!m->place[0])
		return TOOL_USAGE;
	int fd = rendezvous_connect(m->place, m->secret, rank);
	if (fd < 0) {
		tool_say("agent %u cannot reach the launcher at port and addresses %s: %s; do the hosts have a network "
		         "in common?",
		         rank, m->place, fd == -EACCES ? "it does not hold the job's secret" : strerror(-fd));
		return TOOL_USAGE;
	}
	if (supervisor_start(fd, fd) < 0) {
		tool_say("cannot start agent %u: %s", rank, strerror(errno));
		return TOOL_USAGE;
	}
	agent_run(fd, fd, m->job_secret);
}

static int manager_launch(struct tool_job *job, const struct manager_rendezvous *m, int listener)
{
	int connection[TW_MAX_NODES];
	unsigned nodes = (unsigned)job->settings.config.nodes, refused;
	int status = rendezvous_accept(listener, m->secret, nodes, MANAGER_RENDEZVOUS_S, connection, &refused);

	if (refused)
		tool_say("%u connections without the job's secret were refused", refused);
	for (unsigned i = 1; i < nodes && status < 0; i++)
		if (connection[i] < 0) {
			tool_say("agent %u has not come within %u s; do the hosts have a network in common?", i,
			         MANAGER_RENDEZVOUS_S);
			return TOOL_USAGE;
		}
	job->connection = connection;
	job->secret = m->job_secret;
	return tool_launch_and_report(job);
}

int manager_run(char **argv)
{
	static struct tool_job job;
	struct manager_rendezvous m = {0};
	unsigned rank, size;
	char error[1024];
	int listener = -1;

	if (pmix_open(&rank, &size, error, sizeof(error)) < 0) {
		tool_say("%s", error);
		return TOOL_USAGE;
	}
	if (rank == 0 && tool_prepare(&job, argv, size) == 0) {
		listener = rendezvous_listen(m.place);
		if (listener < 0 || getrandom(m.secret, sizeof(m.secret), 0) != (ssize_t)sizeof(m.secret) ||
		    getrandom(m.job_secret, sizeof(m.job_secret), 0) != (ssize_t)sizeof(m.job_secret)) {
			tool_say("cannot prepare the rendezvous with the agents: %s", strerror(errno));
			m.place[0] = '\0';
		}
	}
	int shared = pmix_share(&m, sizeof(m), error, sizeof(error));
	pmix_close();
	if (shared != (int)sizeof(m)) {
		tool_say("%s",
		         shared < 0 ? error : "the agents are not of the same build; install the same on every host");
		return TOOL_USAGE;
	}
	if (rank)
		return manager_agent(&m, rank);
	return m.place[0] ? manager_launch(&job, &m, listener) : TOOL_USAGE;
}
