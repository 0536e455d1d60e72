/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c - `tweed agent`: owns a node's memories, starts and watches its processors; this file is its loop.
 *
 * The agent leaves no process behind: it is the subreaper of all processes that its processors start, and kills the
 * rest before it exits.  If the agent itself is killed, its processors die by their parent-death signal, and the
 * process above it, the launcher or a supervisor (supervisor.h), kills the rest.  If the launcher dies, the connection
 * closes.  If the launcher cannot be reached, no messages arrive.
 *
 * Exit status: 0; 2 after FAILED; 1 from tw_fatal.  In the last two cases the agent has printed the reason. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/agent/agent.h"
#include "tools/agent/agent_parts.h"
#include "tools/agent/supervisor.h"
#include "tools/inherited.h"
#include "tools/nofile.h"
#include "tools/launch/manager.h"

/* Time for the launcher to detect a broken connection first and to end the other agents, before this agent's end breaks
 * their connections. */
#define AGENT_LATER_NS ((uint64_t)1500000000)

void agent_fail(struct agent *a)
{
	wire_send(&a->wire, WIRE_FAILED, &(uint32_t){TOOL_USAGE}, sizeof(uint32_t), NULL, 0);
	tool_kill_descendants();
	_exit(TOOL_USAGE);
}

void agent_leave(void)
{
	tool_kill_descendants();
	_exit(0);
}

/* ---- watching the launcher ------------------------------------------------------------------------------------- */

/* Report to the launcher, at every tick, each node whose beats have stopped. */
static void agent_watch_peers(struct agent *a, uint64_t limit_ns)
{
	for (uint32_t i = 0; a->peer && limit_ns && !a->finishing && i < a->boot.config.nodes; i++) {
		struct agent_peer *p = &a->peer[i];
		uint64_t beats = tw_service_beat(i);
		if (beats != p->beats || a->paused || tw_deaths_lost(a->deaths, i))
			watch_received(&p->watch);
		p->beats = beats;
		if (i != a->boot.node && watch_tick(&p->watch) > limit_ns && !wire_waits(&a->wire))
			wire_send(&a->wire, WIRE_CUT, &i, sizeof(i), NULL, 0);
	}
}

void agent_tick(struct agent *a)
{
	struct wire_beat beat = {0};
	uint64_t limit_ns = a->boot.config.watch * 1000000000u;
	uint64_t silent_ns = watch_tick(&a->launcher);

	for (unsigned k = 0; a->processor && k < a->boot.config.processors && !beat.stopped; k++)
		beat.stopped = a->processor[k].pid && tool_stopped(a->processor[k].pid);
	for (unsigned k = 0; a->processor && k < a->boot.config.processors; k++)
		beat.joined = beat.joined || a->stats[k].started_ns;
	beat.waits = agent_waits_look(a, &beat.begun);
	agent_waits_tick(a, beat.waits, beat.begun);
	supervisor_beat(limit_ns ? 2 * limit_ns + 1000000000u : 0);
	if (!wire_waits(&a->wire))
		wire_send(&a->wire, WIRE_BEAT, &beat, sizeof(beat), NULL, 0);
	agent_watch_peers(a, limit_ns);
	if (a->watched && !a->paused && limit_ns && silent_ns > limit_ns + AGENT_LATER_NS) {
		tool_say("the launcher has been silent for %u s; the node's processes are ended",
		         (unsigned)a->boot.config.watch);
		agent_leave();
	}
}

/* ---- the launcher's commands ----------------------------------------------------------------------------------- */

/* From here on the agent only sends what is pending, and exits. */
static void agent_finish(struct agent *a)
{
	if (a->finishing)
		return;
	tool_kill_descendants();
	agent_input_close(a);
	a->running = 0;
	a->finishing = true;
	if (!a->stopped)
		trace_begin(&a->trace, &a->boot.config, &a->layout);
}

static void agent_stop(struct agent *a)
{
	free(a->peer);
	a->peer = NULL;
	tw_service_stop();
	a->stopped = true;
	trace_begin(&a->trace, &a->boot.config, &a->layout);
}

/* The numbers of processors that the job's end has killed are those of now. */
static void agent_account_killed(struct agent *a)
{
	for (unsigned k = 0; k < a->boot.config.processors; k++)
		if (a->stats[k].started_ns && !a->stats[k].stopped)
			tw_stats_end(&a->stats[k]);
}

/* The numbers of now, of processors that count. */
static void agent_top(struct agent *a)
{
	static struct tw_stats now[TW_MAX_PROCESSORS + 1];
	size_t slots = a->boot.config.processors + 1;

	if (!a->stats)
		return;
	memcpy(now, a->stats, slots * sizeof(now[0]));
	for (size_t k = 0; k < slots; k++)
		if (now[k].started_ns && !now[k].stopped)
			tw_stats_end(&now[k]);
	wire_send(&a->wire, WIRE_TOP, now, slots * sizeof(now[0]), NULL, 0);
}

/* Send as much of the trace as the stream takes, and after all of it the statistics.  Returns whether there is more. */
static bool agent_account(struct agent *a)
{
	if (trace_pump(&a->trace, &a->wire))
		return true;
	if ((a->stopped || a->finishing) && a->stats && !a->accounted) {
		a->accounted = true;
		if (a->finishing)
			agent_account_killed(a);
		wire_send(&a->wire, WIRE_STATS, a->stats, (a->boot.config.processors + 1) * sizeof(struct tw_stats),
		          NULL, 0);
	}
	return false;
}

static void agent_end(struct agent *a)
{
	agent_finish(a);
	if (a->stopped && a->server) /* no endpoint of any node uses it any more */
		a->transport->serve_end(a->server, NULL);
	a->server = NULL;
}

static void agent_pause(struct agent *a, bool paused)
{
	a->paused = paused;
	tool_signal_below(getpid(), paused ? SIGSTOP : SIGCONT);
}

/* The ports [first, end) of a node that a SHUT or DEAD names; no ports: the number is not valid. */
struct agent_named {
	unsigned node, first, end;
	bool whole;
};

static struct agent_named agent_named(const struct agent *a, uint32_t who)
{
	unsigned nodes = (unsigned)a->boot.config.nodes, locals = (unsigned)a->boot.config.processors;
	bool whole = who >= nodes * locals;

	if (who >= nodes * locals + nodes)
		return (struct agent_named){0};
	return whole ? (struct agent_named){who - nodes * locals, 0, locals + 1, true}
	             : (struct agent_named){who / locals, who % locals, who % locals + 1, false};
}

/* The named processors have ended.  After the answer, none of their accesses reaches this node's memory. */
static void agent_shut_out(struct agent *a, uint32_t who)
{
	struct agent_named named = agent_named(a, who);

	for (unsigned port = named.first; a->server && a->transport->shut_out && port < named.end; port++)
		a->transport->shut_out(a->server, named.node, port);
	wire_send(&a->wire, WIRE_SHUT, &who, sizeof(who), NULL, 0);
}

/* No access of the named processors is in flight anywhere. */
static void agent_dead(struct agent *a, uint32_t who)
{
	struct agent_named named = agent_named(a, who);
	unsigned locals = (unsigned)a->boot.config.processors;

	if (!a->deaths)
		return;
	if (named.whole)
		tw_deaths_lose(a->deaths, named.node);
	for (unsigned k = named.first; k < TW_MIN(named.end, locals); k++)
		tw_deaths_add(a->deaths, named.node * locals + k);
	if (!a->stopped)
		tw_service_ring();
}

static void agent_command(struct agent *a)
{
	const struct wire_msg *msg = a->wire.msg;

	switch (msg->type) {
	case WIRE_BEAT:
		break;
	case WIRE_CREDIT:
		a->window = TW_MIN(a->window + msg->number, WIRE_WINDOW);
		break;
	case WIRE_INPUT:
		agent_take_input(a, msg);
		break;
	case WIRE_DEAF:
		for (unsigned k = 0; a->output && k < a->boot.config.processors; k++)
			output_close(&a->processor[k].output[msg->number - 1]);
		break;
	case WIRE_SHUT:
		agent_shut_out(a, msg->number);
		break;
	case WIRE_DEAD:
		agent_dead(a, msg->number);
		break;
	case WIRE_PAUSE:
	case WIRE_RESUME:
		agent_pause(a, msg->type == WIRE_PAUSE);
		break;
	case WIRE_WAITS:
		a->asked = 2; /* by then, a processor that polls has polled since now */
		break;
	case WIRE_SIGNAL:
		agent_signal(a, msg->number);
		break;
	case WIRE_WHERE:
		agent_where(a);
		break;
	case WIRE_TOP:
		agent_top(a);
		break;
	case WIRE_STOP:
		agent_stop(a);
		break;
	default:
		agent_end(a);
		break;
	}
}

void agent_receive(struct agent *a)
{
	int got;

	while ((got = wire_recv(&a->wire)) == 1) {
		watch_received(&a->launcher);
		agent_command(a);
	}
	if (got != -EAGAIN || (wire_push(&a->wire) < 0 && errno != EAGAIN))
		agent_leave(); /* closed or damaged */
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static int agent_wait(struct agent *a, bool more)
{
	struct pollfd poller[5 + 2 * TW_MAX_PROCESSORS];
	bool open = a->output && a->window >= WIRE_PIECE;
	nfds_t n = 5;

	wire_events(&a->wire, poller);
	poller[2] = (struct pollfd){a->signals, POLLIN, 0};
	poller[3] = (struct pollfd){a->input.length ? a->input.fd : -1, POLLOUT, 0};
	poller[4] = (struct pollfd){a->where, POLLIN, 0};
	for (unsigned k = 0; open && k < a->boot.config.processors; k++)
		for (unsigned i = 0; i < 2; i++)
			poller[n++] = (struct pollfd){a->processor[k].output[i].fd, POLLIN, 0};
	return poll(poller, n, more && open ? 0 : watch_ms(&a->launcher));
}

static void agent_loop(struct agent *a)
{
	for (;;) {
		bool more = agent_outputs(a);

		if (a->running == 0 && !more && !a->exited) {
			a->exited = true;
			wire_send(&a->wire, WIRE_EXITED, NULL, 0, NULL, 0);
		}
		bool accounts = agent_account(a);
		if (a->finishing && !more && !accounts && !a->parted) {
			a->parted = true;
			wire_send(&a->wire, WIRE_END, NULL, 0, NULL, 0);
		}
		if (a->parted && !wire_waits(&a->wire))
			_exit(0);
		agent_wait(a, more);
		agent_receive(a);
		if (a->input.length)
			agent_input_write(a);
		agent_reap(a);
		if (a->where >= 0)
			agent_where_read(a);
		if (watch_due(&a->launcher))
			agent_tick(a);
	}
}

void agent_run(int in, int out, const uint8_t *secret)
{
	static struct agent a = {
	    .input.fd = -1, .where = -1, .boot = {.magic = TW_BOOT_MAGIC, .bytes = sizeof(struct tw_boot)}};
	sigset_t child, keys;

	a.boot.interface = tw_boot_interface;
	nofile_raise();
	a.secret = secret;
	if (wire_open(&a.wire, in, out) < 0) {
		tool_say("cannot use the connection to the launcher: %s", strerror(errno));
		_exit(TOOL_USAGE);
	}
	prctl(PR_SET_NAME, "tweed-agent");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &a.mask);
	a.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	/* What a terminal sends to all its processes is for the launcher, which hands it on, and for processors. */
	sigemptyset(&keys);
	sigaddset(&keys, SIGINT);
	sigaddset(&keys, SIGQUIT);
	sigaddset(&keys, SIGHUP);
	sigprocmask(SIG_BLOCK, &keys, NULL);

	agent_bring_up(&a);
	agent_start_processors(&a);
	agent_loop(&a);
	_exit(0);
}

/* The remote shell's standard input and output become the wire; the agent and its processors get other ones. */
static void agent_over_stdio(void)
{
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (in < 0 || out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
	    supervisor_start(in, out) < 0) {
		tool_say("cannot prepare the agent: %s", strerror(errno));
		_exit(TOOL_USAGE);
	}
	agent_run(in, out, NULL);
}

/* argv: agent --socket NUMBER, from the launcher | --stdio, from a remote shell | [--] PROGRAM ARGS..., from a resource
 * manager */
int tool_agent(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--socket") == 0) {
		int sock = atoi(argv[2]), type = 0;
		if (getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof(type)}) == 0) {
			/* A launcher's death closes the connection; the signal only resumes an agent that is
			 * stopped. */
			prctl(PR_SET_PDEATHSIG, SIGCONT);
			inherited_find(sock);
			agent_run(sock, sock, NULL);
		}
	}
	if (argc == 2 && strcmp(argv[1], "--stdio") == 0 && !isatty(STDIN_FILENO))
		agent_over_stdio();
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		printf("usage: tweed agent [--] PROGRAM ARGS...\n\n"
		       "One node of a job whose nodes a resource manager starts (PMIx), one process each, with "
		       "settings from "
		       "the\nenvironment:\n\n"
		       "  TWEED_TRANSPORT=ofi TWEED_PROCESSORS=16 srun --mpi=pmix -N 4 --ntasks-per-node=1 tweed agent "
		       "./sor\n"
		       "  mpirun -n 4 --map-by node --bind-to none -x TWEED_TRANSPORT tweed agent ./sor\n\n"
		       "Elsewhere 'tweed run' starts the nodes itself.\n");
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "--") == 0)
		argv++;
	else if (argc > 1 && argv[1][0] == '-') {
		tool_say(
		    "'tweed agent' takes no options; settings are environment variables, as in TWEED_PROCESSORS=4");
		return TOOL_USAGE;
	}
	return manager_run(argv + 1);
}
