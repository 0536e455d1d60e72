/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/agent/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/tools.h"
#include "tools/wire/wire.h"

#define SUPERVISOR_POLL_MS  250
#define SUPERVISOR_GRACE_NS ((uint64_t)1500000000) /* time for the agent to end by itself */

/* Shared by supervisor and agent. */
struct supervisor_words {
	_Atomic uint64_t beats, within_ns;
};
static struct supervisor_words *supervisor_words;

void supervisor_beat(uint64_t within_ns)
{
	if (!supervisor_words)
		return;
	atomic_store(&supervisor_words->within_ns, within_ns);
	atomic_fetch_add(&supervisor_words->beats, 1);
}

/* Is the agent lost?  @silent_ns: time without a beat during which the supervisor itself was running. */
static bool supervisor_lost(uint64_t silent_ns)
{
	uint64_t within_ns = atomic_load(&supervisor_words->within_ns);
	return within_ns && silent_ns > within_ns;
}

/* Send the last frame.  It is lost if the agent was inside a frame, or the stream is full; neither matters then. */
static void supervisor_send(int out, int status)
{
	const uint32_t frame[] = {WIRE_GONE, sizeof(uint32_t), (uint32_t)status};
	ssize_t sent = write(out, frame, sizeof(frame));
	(void)sent;
}

static void supervisor_watch(pid_t agent, int in, int out)
{
	uint64_t closed_ns = 0, silent_ns = 0, before_ns = tw_time_ns(), seen = 0;
	int status = 0, ended = pidfd_open(agent, 0);

	while (waitpid(agent, &status, WNOHANG) != agent) {
		struct pollfd p[2] = {{closed_ns ? -1 : in, POLLRDHUP, 0}, {ended, POLLIN, 0}};
		poll(p, 2, SUPERVISOR_POLL_MS);
		uint64_t now = tw_time_ns(), beats = atomic_load(&supervisor_words->beats);
		if (!closed_ns && (p[0].revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)))
			closed_ns = now;
		/* A late poll means that the supervisor was stopped; it does not count fully as the agent's silence. */
		silent_ns =
		    beats == seen ? silent_ns + TW_MIN(now - before_ns, (uint64_t)2 * SUPERVISOR_POLL_MS * 1000000) : 0;
		seen = beats;
		before_ns = now;
		if ((closed_ns && now > closed_ns + SUPERVISOR_GRACE_NS) || supervisor_lost(silent_ns))
			kill(agent, SIGKILL);
	}
	tool_kill_descendants();
	if (status)
		supervisor_send(out, status);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int supervisor_start(int in, int out)
{
	struct supervisor_words *words =
	    mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid();

	if (words == MAP_FAILED)
		return -errno;
	supervisor_words = words;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t agent = fork();
	if (agent < 0)
		return -errno;
	if (agent > 0) {
		prctl(PR_SET_NAME, "tweed-supervise");
		signal(SIGPIPE, SIG_IGN);
		supervisor_watch(agent, in, out);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	return 0;
}
